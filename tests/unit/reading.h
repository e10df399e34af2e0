/* Shared by the tests of cameras and readers: where data lies. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"
#include "tests/case.h"

#include <gdal.h>

#define DATA SDM_SOURCE_DIR "/../shared/data/"

static inline bool have(const char *path)
{
    return access(path, R_OK) == 0;
}

/* Skip the running test when its data is not there. */
#define NEED(path)                                                                                           \
    do {                                                                                                     \
        if (!have(path)) {                                                                                   \
            print_message("no %s: skipped\n", (path));                                                       \
            skip();                                                                                          \
        }                                                                                                    \
    } while (0)
