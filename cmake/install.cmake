# The library for other programs, static and shared, and what `cmake --install` and CPack lay down.
# BUILD_SHARED_LIBS: ON builds the shared library alone, OFF the static one alone; not set: both.
# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(objects $<TARGET_OBJECTS:sdm_chain> $<TARGET_OBJECTS:sdm_core> ${SDM_CPU_OBJECTS})
set(needs PkgConfig::GDAL PkgConfig::PROJ ${cjson} OpenMP::OpenMP_C Threads::Threads ${CMAKE_DL_LIBS} m)
set(libraries)

function(sdm_public_library kind type)
    add_library(stereodem_${kind} ${type} ${objects})
    add_library(stereodem::${kind} ALIAS stereodem_${kind})
    set_target_properties(stereodem_${kind} PROPERTIES OUTPUT_NAME stereodem EXPORT_NAME ${kind})
    target_include_directories(stereodem_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set(libraries ${libraries} stereodem_${kind} PARENT_SCOPE)
endfunction()

if(NOT DEFINED BUILD_SHARED_LIBS OR NOT BUILD_SHARED_LIBS)
    sdm_public_library(static STATIC)
    foreach(one ${needs})                 # for add_subdirectory; stereodem-config.cmake finds them again
        target_link_libraries(stereodem_static INTERFACE $<BUILD_INTERFACE:${one}>)
    endforeach()
    set(preferred static)
endif()
if(NOT DEFINED BUILD_SHARED_LIBS OR BUILD_SHARED_LIBS)
    sdm_public_library(shared SHARED)
    set(map ${PROJECT_SOURCE_DIR}/cmake/stereodem.map)
    set_target_properties(stereodem_shared PROPERTIES VERSION ${SDM_ABI}.${PROJECT_VERSION} SOVERSION ${SDM_ABI}
                          LINK_DEPENDS ${map})
    target_link_libraries(stereodem_shared PRIVATE ${needs} sdm_flags)
    set(shown -Wl,--version-script=${map})
    if(WIN32)                             # stereodem.dll; the map as a list of names
        file(STRINGS ${map} names REGEX "^ *sdm_[a-z0-9_]*;$")
        string(REGEX REPLACE ";+ *" "\n" names "EXPORTS;${names}")
        set(shown ${PROJECT_BINARY_DIR}/stereodem.def)
        file(CONFIGURE OUTPUT ${shown} CONTENT "${names}\n" @ONLY)
        set_target_properties(stereodem_shared PROPERTIES PREFIX "")
    endif()
    if(SDM_SANITIZE)
        set(check -fsanitize=${SDM_SANITIZE})
    else()
        set(check -Wl,--no-undefined)
    endif()
    target_link_options(stereodem_shared PRIVATE ${shown} ${check})
    set(preferred shared)
endif()
add_library(stereodem::stereodem ALIAS stereodem_${preferred})
if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()

# ---- what other programs find ----
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" up "${up}")
set(SDM_PC_PREFIX "\${pcfiledir}/${up}")  # follows the files, wherever --prefix puts them
set(SDM_PC_PRIVATE " ${OpenMP_C_FLAGS} -pthread -ldl -lm") # for --static alone: the shared library links it by itself
set(SDM_PC_REQUIRES)
set(SDM_PC_CJSON)
if(NOT SDM_CJSON_SOURCE)
    set(SDM_PC_CJSON " libcjson")
endif()
string(REPLACE " lib" " -l" SDM_PC_CJSON_LIB "${SDM_PC_CJSON}")
set(SDM_PC_LIBS)
if(preferred STREQUAL "static")
    set(SDM_PC_REQUIRES "gdal proj${SDM_PC_CJSON}")
    set(SDM_PC_LIBS ${SDM_PC_PRIVATE})
endif()
configure_file(cmake/stereodem.pc.in stereodem.pc @ONLY)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stereodem)
configure_package_config_file(cmake/stereodem-config.cmake.in stereodem-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(stereodem-config-version.cmake COMPATIBILITY SameMinorVersion)

# ---- components: program, library, development, python ----
install(TARGETS stereodem RUNTIME COMPONENT program)
install(TARGETS ${libraries} EXPORT stereodem-targets
        LIBRARY COMPONENT library NAMELINK_COMPONENT development
        RUNTIME COMPONENT library
        ARCHIVE COMPONENT development)
install(EXPORT stereodem-targets NAMESPACE stereodem:: DESTINATION ${package} COMPONENT development)
install(DIRECTORY include/stereodem TYPE INCLUDE COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/stereodem-config.cmake ${PROJECT_BINARY_DIR}/stereodem-config-version.cmake
        DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/stereodem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
# scripts/generate asks the program for its manual page and completions; for another machine by an emulator.
set(made ${PROJECT_BINARY_DIR}/made)
find_program(SDM_PYTHON3 python3)
if(SDM_PYTHON3 AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
    add_custom_command(TARGET stereodem POST_BUILD VERBATIM
                       COMMAND ${SDM_PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/generate $<TARGET_FILE:stereodem> ${made} ${CMAKE_CROSSCOMPILING_EMULATOR})
    install(FILES ${made}/stereodem.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    set(shares ${CMAKE_INSTALL_DATADIR})
    install(FILES ${made}/stereodem.bash DESTINATION ${shares}/bash-completion/completions COMPONENT program RENAME stereodem)
    install(FILES ${made}/stereodem.zsh DESTINATION ${shares}/zsh/vendor-completions COMPONENT program RENAME _stereodem)
    install(FILES ${made}/stereodem.fish DESTINATION ${shares}/fish/vendor_completions.d COMPONENT program)
endif()
# not named as the Python module is: QGIS would import the one for the other
install(DIRECTORY qgis/stereodem/ DESTINATION ${CMAKE_INSTALL_DATADIR}/qgis/python/plugins/stereodem_processing COMPONENT program
        PATTERN __pycache__ EXCLUDE)
set(SDM_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "where the Python module goes, below the prefix")
install(DIRECTORY python/stereodem DESTINATION ${SDM_PYTHON_FOLDER} COMPONENT python PATTERN __pycache__ EXCLUDE)
install(FILES examples/dem_from_arrays.c examples/dem_from_arrays.py DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development)
include(cmake/package.cmake)
