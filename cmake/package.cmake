# Debian packages by CPack: stereodem, libstereodem1, libstereodem-dev, python3-stereodem.  For `cmake --preset package`,
# whose prefix is /usr; scripts/package makes them.
# SPDX-License-Identifier: Apache-2.0
# .invalid is no domain, by RFC 2606: nobody gets what is sent there
set(SDM_MAINTAINER "stereodem developers <stereodem@stereodem.invalid>" CACHE STRING "maintainer of the packages: Name <address>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stereodem)
set(CPACK_PACKAGE_VENDOR stereodem)
set(CPACK_COMPONENTS_ALL program library development python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${SDM_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(library libstereodem${SDM_ABI})
set(about "Turns a stereo pair of satellite images (ASTER level 1A, any pair with
RPC cameras) into a georeferenced digital elevation model with a
quality layer, an orthoimage and a report.")

function(sdm_package component name section summary more)
    string(TOUPPER ${component} key)
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${about}\n.\n${more}" PARENT_SCOPE)
    set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian_copyright DESTINATION ${doc} RENAME copyright COMPONENT ${component})
    install(FILES ${PROJECT_BINARY_DIR}/debian_changelog DESTINATION ${doc} RENAME changelog COMPONENT ${component})
endfunction()
string(TIMESTAMP SDM_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where that is set
configure_file(cmake/debian_changelog.in debian_changelog @ONLY)
sdm_package(program stereodem science "DEM from a stereo pair of satellite images"
            "This package contains the program.")
sdm_package(library ${library} libs "DEM from a stereo pair of satellite images - shared library"
            "This package contains the shared library.")
sdm_package(development libstereodem-dev libdevel "DEM from a stereo pair of satellite images - development files"
            "This package contains the header, the static library and what\npkg-config and CMake need.")
sdm_package(python python3-stereodem python "DEM from a stereo pair of satellite images - Python 3 module"
            "This package contains the Python 3 module, whose arrays are NumPy's.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS proj-data)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS proj-data)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libgdal-dev, libproj-dev, libcjson-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.8), python3-numpy, ${library} (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/python3-stereodem/postinst
    ${PROJECT_SOURCE_DIR}/cmake/python3-stereodem/prerm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/stereodem/prerm)
file(CONFIGURE OUTPUT shlibs CONTENT "libstereodem ${SDM_ABI} ${library} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/shlibs ${PROJECT_BINARY_DIR}/triggers)
include(CPack)
