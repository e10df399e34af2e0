/* Pieces of text -> one text in memory: formatted, escaped for HTML. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* A text that grows.  Begin with {.ctx = ctx}; the first failure stays in `st` and later calls do nothing, so
 * one check at the end is enough.  `data` ends with a zero that `size` does not count; NULL while nothing was
 * added. */
typedef struct SdmText {
    SdmContext *ctx;
    char *data;
    size_t size, capacity; /* bytes */
    SdmStatus st;          /* SDM_OK or SDM_ERR_MEMORY */
} SdmText;

void sdm_text_add(SdmText *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sdm_text_raw(SdmText *t, const char *data, size_t size);
/* Escape &, <, > and quotes for HTML and XML; replace bytes that are no UTF-8 by U+FFFD, drop control
 * characters. */
void sdm_text_escape(SdmText *t, const char *text);
void sdm_text_close(SdmText *t); /* frees the text; `st` stays */
