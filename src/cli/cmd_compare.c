/* stereodem compare: error statistics of a DEM against a reference. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

/* --json: the result alone, one object; --log json: its fields in the last line. */
static SdmStatus print_json(SdmCall *call, const SdmCompareResult *result)
{
    cJSON *const own = call->summary ? NULL : cJSON_CreateObject();
    sdm_compare_json(result, own ? own : call->summary);
    char *const text = own ? cJSON_PrintUnformatted(own) : NULL;
    cJSON_Delete(own);
    if (text)
        puts(text);
    cJSON_free(text);
    return text || call->summary ? SDM_OK
                                 : sdm_fail(call->ctx, SDM_ERR_MEMORY, "out of memory: the result as JSON");
}

SdmStatus sdm_command_compare(SdmCall *call)
{
    SdmCompareResult result = {.cells = 0};
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = call->ctx};
    call->own.compare.memory_bytes = call->options.memory_bytes;
    call->own.compare.overwrite = call->options.overwrite;
    PASS(sdm_compare_dems(call->ctx, call->line.positional[0], call->line.positional[1], &call->own.compare,
                          &result));
    if (call->summary || call->own.compare.json)
        return print_json(call, &result);
    sdm_compare_text(&result, &text);
    PASS(text.st);
    sdm_screen_print(&call->screen, "%.*s", (int)text.size - 1, text.data);
    return SDM_OK;
}
