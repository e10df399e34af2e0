# The GPU back ends, part of sdm_core.  Neither needs an SDK: OpenCL's loader and CUDA's driver are opened at run time.
# SDM_OPENCL, SDM_CUDA: ON, OFF or AUTO (what can be built); CUDA needs nvcc, in PATH or /usr/local/cuda.
set(SDM_OPENCL AUTO CACHE STRING "OpenCL back end: ON, OFF, AUTO")
set(SDM_CUDA AUTO CACHE STRING "CUDA back end: ON, OFF, AUTO (where nvcc is)")
file(GLOB SDM_KERNELS CONFIGURE_DEPENDS gpu/*.cl)
file(GLOB host CONFIGURE_DEPENDS gpu/*.c)
list(FILTER host EXCLUDE REGEX "/(opencl|cuda)[a-z_]*\\.c$")
set(SDM_HAVE_OPENCL 0)
set(SDM_HAVE_CUDA 0)
set(portable ${PROJECT_SOURCE_DIR}/gpu/portable.h)
if(SDM_OPENCL)
    set(SDM_HAVE_OPENCL 1)
    set(text ${PROJECT_BINARY_DIR}/gpu/kernels_text.c)
    string(REPLACE ";" "|" files "${portable};${SDM_KERNELS}")
    add_custom_command(OUTPUT ${text}
        COMMAND ${CMAKE_COMMAND} -DOUT=${text} -DNAME=sdm_kernels_text -DLINES=ON "-DFILES=${files}"
                -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${portable} ${SDM_KERNELS} cmake/embed.cmake VERBATIM)
    file(GLOB found CONFIGURE_DEPENDS gpu/opencl*.c)
    list(APPEND host ${found} ${text})
endif()
if(SDM_CUDA)
    find_program(SDM_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(NOT SDM_NVCC AND NOT SDM_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "SDM_CUDA=${SDM_CUDA}: nvcc was not found, in PATH or /usr/local/cuda/bin")
    endif()
endif()
if(SDM_CUDA AND SDM_NVCC)
    set(SDM_HAVE_CUDA 1)
    set(unit ${PROJECT_BINARY_DIR}/gpu/kernels.cu)
    set(lines "#include \"${portable}\"\n")
    foreach(kernel ${SDM_KERNELS})
        string(APPEND lines "#include \"${kernel}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${unit} CONTENT "${lines}" @ONLY)
    set(SDM_NVCC_FLAGS -std=c++17 -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false
        -gencode=arch=compute_75,code=[sm_75,compute_75] -gencode=arch=compute_80,code=sm_80
        -gencode=arch=compute_90,code=sm_90)
    set(fatbin ${PROJECT_BINARY_DIR}/gpu/kernels.fatbin)
    set(bytes ${PROJECT_BINARY_DIR}/gpu/kernels_fatbin.c)
    set(werror)
    if(SDM_WERROR)
        set(werror -Werror all-warnings)
    endif()
    add_custom_command(OUTPUT ${fatbin}
        COMMAND ${SDM_NVCC} ${SDM_NVCC_FLAGS} ${werror} -Xptxas -v -fatbin -o ${fatbin} ${unit} 2> ${fatbin}.log ||
                ${CMAKE_COMMAND} -DLOG=${fatbin}.log -P ${PROJECT_SOURCE_DIR}/gpu/show_log.cmake
        DEPENDS ${unit} ${portable} ${SDM_KERNELS} VERBATIM)
    add_custom_command(OUTPUT ${bytes}
        COMMAND ${CMAKE_COMMAND} -DOUT=${bytes} -DNAME=sdm_kernels_fatbin -DFILES=${fatbin}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${fatbin} cmake/embed.cmake VERBATIM)
    file(GLOB found CONFIGURE_DEPENDS gpu/cuda*.c)
    list(APPEND host ${found} ${bytes})
endif()
target_sources(sdm_core PRIVATE ${host})
target_include_directories(sdm_core PRIVATE gpu)
target_compile_definitions(sdm_core PRIVATE SDM_HAVE_OPENCL=${SDM_HAVE_OPENCL} SDM_HAVE_CUDA=${SDM_HAVE_CUDA})
target_link_libraries(sdm_core PRIVATE ${CMAKE_DL_LIBS})
