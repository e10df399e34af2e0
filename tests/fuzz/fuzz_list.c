/* Fuzz the list of DEMs: the input is the file.  What is accepted has names that are text, without blanks
 * around them, and in the folder of the list unless they are absolute. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "coreg/stack_layer.h"

#include <string.h>

FUZZ_IN(ctx)
{
    SdmPaths paths = {0};
    const char *const path = fuzz_file("list.txt");
    fuzz_write(path, data, size);
    const SdmStatus st = sdm_stack_paths(ctx, NULL, 0, path, &paths);
    if (st == SDM_OK ? paths.count == 0 : st != SDM_ERR_INPUT || !strstr(sdm_error(ctx), path))
        abort();
    for (int i = 0; i < paths.count; i++) {
        const char *const name = paths.path[i];
        const size_t n = strlen(name);
        if (n == 0 || *name != '/' || strchr(" \t\r\n", name[n - 1]) || strpbrk(name, "\n\r\x01\x1f\x7f"))
            abort();
    }
    sdm_paths_free(&paths);
}
