/* Fuzz the records of tries: the input is a gathered file.  What is read can be counted: names end, no number
 * is negative, no try is there twice, and they are in their order. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "job/tries.h"

#include <string.h>

static void look_at(const SdmTry *t)
{
    const int64_t number[] = {t->unit,    t->wall_ms,    t->user_ms,    t->system_ms, t->waited_ms,
                              t->process, t->started_ms, t->peak_bytes, t->threads,   t->ended_ms};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i] < 0)
            abort();
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        if (t->stage_ms[i] < 0)
            abort();
    if (strlen(t->id) != 16 || strlen(t->key) != 16 || strlen(t->fingerprint) != 16 ||
        !sdm_try_kind_name(t->kind) || !sdm_try_state_name(t->state))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SdmContext *ctx = NULL;
    SdmTries tries;
    static SdmJob job;
    FILE *const f = fopen(fuzz_file("scene_0123456789abcdef.tries"), "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) || sdm_open(&ctx, NULL) != SDM_OK)
        abort();
    snprintf(job.folder, sizeof job.folder, "%s", fuzz_folder);
    if (sdm_tries_read(ctx, &job, &tries) != SDM_OK)
        abort();
    for (int64_t i = 0; i < tries.count; i++) {
        look_at(&tries.item[i]);
        if (i > 0 && strcmp(tries.item[i].key, tries.item[i - 1].key) < 0)
            abort();
        for (int64_t k = 0; k < i; k++)
            if (strcmp(tries.item[i].id, tries.item[k].id) == 0 &&
                memcmp(&tries.item[i], &tries.item[k], sizeof(SdmTry)) == 0)
                abort();
    }
    sdm_tries_close(&tries);
    sdm_close(&ctx);
    return 0;
}
