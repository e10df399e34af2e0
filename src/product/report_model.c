/* Figures of a DEM -> a report of sections.  report_model.h says how to add a section. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report_model.h"
#include "core/secrets.h"
#include "core/system.h"

#include <string.h>

/* ---- memory: blocks that are freed together ---- */

typedef struct SdmReportBlock {
    struct SdmReportBlock *next;
    size_t used, size; /* bytes behind this header */
} SdmReportBlock;

enum { BLOCK_BYTES = 16384, ALIGN = 16, HEADER = (sizeof(SdmReportBlock) + ALIGN - 1) / ALIGN * ALIGN };

/* Zeroed memory; NULL once anything failed. */
static void *take(SdmReport *r, size_t bytes)
{
    SdmReportBlock *block = r->blocks;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (r->st)
        return NULL;
    if (!block || block->size - block->used < bytes) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        r->st = sdm_alloc(r->ctx, &block, HEADER + size, 1, "report");
        if (r->st)
            return NULL;
        block->next = r->blocks;
        block->size = size;
        r->blocks = block;
    }
    void *const out = (char *)block + HEADER + block->used;
    block->used += bytes;
    return out;
}

static const char *copy(SdmReport *r, const char *text)
{
    const size_t n = text ? strlen(text) + 1 : 0;
    char *const out = text ? take(r, n) : NULL;
    if (out) {
        memcpy(out, text, n);
        sdm_hide_secrets(out, false);
    }
    return out;
}

static const char *format(SdmReport *r, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *const out = n < 0 ? NULL : take(r, (size_t)n + 1);
    if (out) {
        vsnprintf(out, (size_t)n + 1, fmt, ap);
        sdm_hide_secrets(out, false);
    }
    return out;
}

const char *sdm_report_printf(SdmReport *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *const out = format(r, fmt, ap);
    va_end(ap);
    return out;
}

double *sdm_report_room(SdmReport *r, int n)
{
    return take(r, (size_t)n * sizeof(double));
}

/* ---- items ---- */

static SdmReportItem *add(SdmReport *r, SdmReportItem *to, SdmReportKind kind, const char *key,
                          const char *label)
{
    SdmReportItem *const item = take(r, sizeof *item);
    if (!item)
        return NULL;
    *item = (SdmReportItem){
        .kind = kind, .key = copy(r, key), .label = copy(r, label), .share = -1.0, .report = r};
    if (to && to->last)
        to->last->next = item;
    else if (to)
        to->first = item;
    if (to)
        to->last = item;
    return item;
}

void sdm_report_open(SdmContext *ctx, SdmReport *r)
{
    *r = (SdmReport){.ctx = ctx};
    r->root = add(r, NULL, SDM_REPORT_GROUP, NULL, NULL);
}

void sdm_report_close(SdmReport *r)
{
    while (r->blocks) {
        SdmReportBlock *block = r->blocks;
        r->blocks = block->next;
        sdm_free(&block);
    }
    r->root = NULL;
}

void sdm_report_title(SdmReport *r, const char *output, const char *fmt, ...)
{
    va_list ap;
    const char *const slash = output ? sdm_system_slash(output) : NULL;
    r->title = copy(r, slash ? slash + 1 : output ? output : "DEM in memory");
    va_start(ap, fmt);
    r->subtitle = format(r, fmt, ap);
    va_end(ap);
}

/* As add(), to an item that may be missing since something failed. */
static SdmReportItem *add_to(SdmReportItem *to, SdmReportKind kind, const char *key, const char *label)
{
    return to ? add(to->report, to, kind, key, label) : NULL;
}

SdmReportItem *sdm_report_section(SdmReport *r, const char *key, const char *title, SdmReportPlace place,
                                  SdmReportStyle style)
{
    SdmReportItem *const item = add_to(r->root, SDM_REPORT_GROUP, key, title);
    if (item) {
        item->place = place;
        item->style = style;
    }
    return item;
}

void sdm_report_number(SdmReportItem *to, const char *key, double value)
{
    (void)sdm_report_figure(to, key, NULL, value, NULL, 0);
}

void sdm_report_text(SdmReportItem *to, const char *key, const char *value)
{
    (void)sdm_report_entry(to, key, NULL, value);
}

void sdm_report_flag(SdmReportItem *to, const char *key, bool value)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_FLAG, key, NULL);
    if (item)
        item->number = value;
}

void sdm_report_numbers(SdmReportItem *to, const char *key, const double *values, int n)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_NUMBERS, key, NULL);
    double *const copied = item && values && n > 0 ? sdm_report_room(to->report, n) : NULL;
    if (!copied)
        return;
    memcpy(copied, values, (size_t)n * sizeof *values);
    item->numbers = copied;
    item->count = n;
}

SdmReportItem *sdm_report_group(SdmReportItem *to, const char *key)
{
    return add_to(to, SDM_REPORT_GROUP, key, NULL);
}

SdmReportItem *sdm_report_list(SdmReportItem *to, const char *key)
{
    return add_to(to, SDM_REPORT_LIST, key, NULL);
}

SdmReportItem *sdm_report_figure(SdmReportItem *to, const char *key, const char *label, double value,
                                 const char *unit, int digits)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_NUMBER, key, label);
    if (item) {
        item->number = value;
        item->unit = copy(to->report, unit);
        item->digits = digits;
    }
    return item;
}

void sdm_report_judge(SdmReportItem *item, double good, double poor, const char *scale)
{
    if (!item || !(item->number == item->number))
        return;
    const double v = item->number;
    const bool rises = good > poor;
    item->verdict = (rises ? v >= good : v <= good) ? SDM_GOOD
                    : (rises ? v < poor : v > poor) ? SDM_POOR
                                                    : SDM_FAIR;
    item->scale = copy(item->report, scale);
}

SdmReportItem *sdm_report_entry(SdmReportItem *to, const char *key, const char *label, const char *value)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_TEXT, key, label);
    if (item)
        item->text = copy(to->report, value ? value : "");
    return item;
}

SdmReportItem *sdm_report_bullets(SdmReportItem *to, const char *key)
{
    return add_to(to, SDM_REPORT_LIST, key, "");
}

SdmReportItem *sdm_report_row(SdmReportItem *to)
{
    return add_to(to, SDM_REPORT_ROW, NULL, "");
}

void sdm_report_cell(SdmReportItem *row, const char *fmt, ...)
{
    va_list ap;
    SdmReportItem *const item = add_to(row, SDM_REPORT_NOTE, NULL, "");
    va_start(ap, fmt);
    if (item)
        item->text = format(row->report, fmt, ap);
    va_end(ap);
}

void sdm_report_note(SdmReportItem *to, const char *fmt, ...)
{
    va_list ap;
    SdmReportItem *const item = add_to(to, SDM_REPORT_NOTE, NULL, "");
    va_start(ap, fmt);
    if (item)
        item->text = format(to->report, fmt, ap);
    va_end(ap);
}

void sdm_report_picture(SdmReportItem *to, const char *label, const SdmPng *picture, double pixel_m)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_PICTURE, NULL, label);
    if (item) {
        item->picture = picture;
        item->pixel_m = pixel_m;
    }
}

SdmReportItem *sdm_report_fold(SdmReportItem *to, const char *fmt, ...)
{
    va_list ap;
    SdmReportItem *const item = add_to(to, SDM_REPORT_GROUP, NULL, NULL);
    va_start(ap, fmt);
    if (item)
        item->label = format(to->report, fmt, ap);
    va_end(ap);
    return item;
}

SdmReportItem *sdm_report_legend(SdmReportItem *to)
{
    return add_to(to, SDM_REPORT_LEGEND, NULL, "");
}

void sdm_report_colour(SdmReportItem *legend, const unsigned char rgb[3], const char *label)
{
    SdmReportItem *const item = add_to(legend, SDM_REPORT_COLOUR, NULL, label ? label : "");
    if (item && rgb) {
        memcpy(item->rgb, rgb, sizeof item->rgb);
        item->coloured = true;
    }
}

SdmPlot *sdm_report_plot(SdmReportItem *to, const char *label)
{
    SdmReportItem *const item = add_to(to, SDM_REPORT_PLOT, NULL, label);
    SdmPlot *const plot = item ? take(to->report, sizeof *plot) : NULL;
    if (plot)
        item->plot = plot;
    return plot;
}
