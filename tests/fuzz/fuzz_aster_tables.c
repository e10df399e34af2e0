/* Fuzz ASTER's text tables: the input is several files, each after a line "=== SUFFIX". */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "input/aster_files.h"

#include <cpl_error.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

#define BASE "/vsimem/fuzz/scene"

/* Write the files that the input holds. */
static void write_files(const char *text, size_t size)
{
    const char *const end = text + size;
    while (size > 4 && text + 4 < end && memcmp(text, "=== ", 4) == 0) {
        char path[256];
        const char *const name = text + 4;
        const char *const line = memchr(name, '\n', (size_t)(end - name));
        const char *body = line ? line + 1 : end, *next = body;
        while (next < end && !(end - next > 4 && memcmp(next, "=== ", 4) == 0 && next[-1] == '\n'))
            next++;
        if (!line || line - name > 64)
            return;
        snprintf(path, sizeof path, BASE ".VNIR_Band3N.%.*s", (int)(line - name), name);
        VSILFILE *const file = VSIFOpenL(path, "wb");
        if (file) {
            VSIFWriteL(body, 1, (size_t)(next - body), file);
            VSIFCloseL(file);
        }
        text = next;
    }
}

FUZZ_IN(ctx)
{
    SdmCamera *camera = NULL;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    write_files((const char *)data, size);
    const SdmStatus st = sdm_aster_open_tables(ctx, BASE, "3N", &camera);
    if (st != SDM_OK && (camera || !*sdm_error(ctx)))
        abort();
    if (st == SDM_OK) {
        const double image[6] = {0.0, 0.0, 100.0, 400.0, 500.0, -500.0};
        double ground[6], back[4];
        sdm_camera_locate(camera, 2, image, ground);
        sdm_camera_project(camera, 2, ground, back);
    }
    sdm_camera_close(&camera);
    VSIRmdirRecursive("/vsimem/fuzz");
    CPLPopErrorHandler();
}
