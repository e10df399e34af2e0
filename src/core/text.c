/* Pieces of text -> one text in memory: formatted, escaped for HTML. */
// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include <string.h>

static bool reserve(SdmText *t, size_t more)
{
    if (t->st)
        return false;
    if (t->size + more < t->capacity)
        return true;
    char *bigger = NULL;
    const size_t capacity = 2 * (t->size + more) + 4096;
    t->st = sdm_alloc(t->ctx, &bigger, capacity, 1, "text");
    if (t->st)
        return false;
    if (t->size)
        memcpy(bigger, t->data, t->size);
    sdm_free(&t->data);
    t->data = bigger;
    t->capacity = capacity;
    return true;
}

void sdm_text_raw(SdmText *t, const char *data, size_t size)
{
    if (!reserve(t, size + 1))
        return;
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void sdm_text_add(SdmText *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(t, (size_t)n + 1))
        return;
    va_start(ap, fmt);
    vsnprintf(t->data + t->size, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->size += (size_t)n;
}

void sdm_text_escape(SdmText *t, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (const char *c = text; *c; c++) {
        const char *const found = strchr(special, *c);
        if (found) {
            sdm_text_raw(t, escaped[found - special], strlen(escaped[found - special]));
        } else if ((unsigned char)*c >= 0x80) {
            const int n = sdm_utf8_length(c);
            sdm_text_raw(t, n ? c : "\xEF\xBF\xBD", n ? (size_t)n : 3);
            c += n ? n - 1 : 0;
        } else if ((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t') {
            sdm_text_raw(t, c, 1);
        }
    }
}

void sdm_text_close(SdmText *t)
{
    sdm_free(&t->data);
    t->size = t->capacity = 0;
}
