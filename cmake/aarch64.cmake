# Cross-compile for aarch64 with Debian's tools (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross); the core needs
# nothing else but SIMDe (libsimde-dev).
# SPDX-License-Identifier: Apache-2.0
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(SDM_QEMU NAMES qemu-aarch64-static qemu-aarch64) # the tests run there; without it none are
if(SDM_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${SDM_QEMU} -L /usr/aarch64-linux-gnu)
endif()
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
