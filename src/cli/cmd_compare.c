/* stereodem compare: error statistics of a DEM against a reference. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* --json: the result alone, one object; --log json: its fields in the last line. */
static SdmStatus print_json(SdmCall *call, const SdmCompareResult *result)
{
    char *const text = sdm_compare_json(result);
    cJSON *const object = text && call->summary ? cJSON_Parse(text) : NULL;
    if (text && !call->summary)
        puts(text);
    free(text);
    if (!text || (call->summary && !object))
        return sdm_fail(call->ctx, SDM_ERR_MEMORY, "out of memory: the result as JSON");
    if (call->summary)
        sdm_json_move(call->summary, object);
    return SDM_OK;
}

SdmStatus sdm_command_compare(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    SdmCompareResult result = {.cells = 0};
    SdmText text = {.ctx = call->ctx};
    call->own.compare.memory_bytes = call->options.memory_bytes;
    call->own.compare.overwrite = call->options.overwrite;
    TRY(sdm_compare_dems(call->ctx, call->line.positional[0], call->line.positional[1], &call->own.compare,
                         &result));
    if (call->summary || call->own.compare.json) {
        TRY(print_json(call, &result));
    } else {
        sdm_compare_text(&result, &text);
        TRY(text.st);
        sdm_screen_print(&call->screen, "%.*s", (int)text.size - 1, text.data);
    }
done:
    sdm_text_close(&text);
    return st;
}
