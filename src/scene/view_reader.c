/* A window of an image -> its pixels, and what is wrong with them. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/view_reader.h"

#include "matching/pyramid.h"

#include <string.h>

void sdm_view_size(const SdmViewReader *r, int64_t size[2])
{
    size[r->turned] = sdm_image_width(r->image);
    size[1 - r->turned] = sdm_image_height(r->image);
}

/* The window and `margin` px around it. */
static SdmImageWindow around(SdmImageWindow at, int64_t margin)
{
    return (SdmImageWindow){at.x - margin, at.y - margin, at.w + 2 * margin, at.h + 2 * margin};
}

static SdmImageWindow turn_window(SdmImageWindow at)
{
    return (SdmImageWindow){at.y, at.x, at.h, at.w};
}

/* ---- saturated areas ---- */

enum { RIM = 3, SIDE = 2 * RIM + 1 };

/* SDM_DEFECT_SATURATED in defect (h x w) where all of the SIDE x SIDE pixels around are saturated.  flaws:
 * SdmFlaw of the pixels with a rim of RIM pixels; columns: w counters, 0. */
static void find_saturated(const uint8_t *flaws, int64_t w, int64_t h, uint8_t *columns, uint8_t *defect)
{
    for (int64_t y = 0; y < h + 2 * RIM; y++) {
        const uint8_t *const row = flaws + y * (w + 2 * RIM);
        int run = 0;
        for (int64_t x = 0; x < w + 2 * RIM; x++) {
            run = row[x] & SDM_FLAW_SATURATED ? run + 1 : 0;
            if (x < 2 * RIM)
                continue;
            uint8_t *const rows = &columns[x - 2 * RIM]; /* up to here whose SIDE pixels are saturated */
            *rows = (uint8_t)(run < SIDE ? 0 : *rows < SIDE ? *rows + 1 : SIDE);
            if (y >= 2 * RIM && *rows == SIDE)
                defect[(y - 2 * RIM) * w + x - 2 * RIM] |= SDM_DEFECT_SATURATED;
        }
    }
}

/* SDM_DEFECT_MASKED in defect (h x w). */
static void find_masked(const uint8_t *flaws, int64_t w, int64_t h, uint8_t *defect)
{
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            if (flaws[(y + RIM) * (w + 2 * RIM) + x + RIM] & SDM_FLAW_MASKED)
                defect[y * w + x] |= SDM_DEFECT_MASKED;
}

static SdmStatus turn_defects(SdmContext *ctx, SdmImageWindow at, uint8_t *defect)
{
    uint8_t *turned = NULL;
    const SdmStatus st = sdm_alloc_raw(ctx, &turned, (size_t)(at.w * at.h), 1, "defects of an image");
    if (st != SDM_OK)
        return st;
    for (int64_t x = 0; x < at.w; x++)
        for (int64_t y = 0; y < at.h; y++)
            turned[x * at.h + y] = defect[y * at.w + x];
    memcpy(defect, turned, (size_t)(at.w * at.h));
    sdm_free(&turned);
    return SDM_OK;
}

/* What is saturated and what the user's mask leaves out.  at: as the file has it. */
static SdmStatus find_flaws(SdmContext *ctx, const SdmViewReader *r, SdmImageWindow at, uint8_t *defect)
{
    SdmStatus st = SDM_OK;
    const SdmImageWindow wide = around(at, RIM);
    const size_t n = (size_t)(wide.w * wide.h);
    int16_t *pixels = NULL;
    uint8_t *flaws = NULL, *columns = NULL;
    TRY(sdm_alloc(ctx, &pixels, n, sizeof *pixels, "image window"));
    TRY(sdm_alloc(ctx, &flaws, n, 1, "defects of an image"));
    TRY(sdm_alloc(ctx, &columns, (size_t)at.w, 1, "defects of an image"));
    TRY(sdm_image_read(ctx, r->image, wide, pixels, flaws, NULL));
    find_saturated(flaws, at.w, at.h, columns, defect);
    find_masked(flaws, at.w, at.h, defect);
    if (r->turned)
        TRY(turn_defects(ctx, at, defect));
done:
    sdm_free(&pixels);
    sdm_free(&flaws);
    sdm_free(&columns);
    return st;
}

/* ---- holes ---- */

enum {
    REACH = 5,
    SIDES = 4, /* half of the window that tells whether data are on all sides: that of a match */
    MOST_TAPS = (2 * REACH + 1) * (2 * REACH + 1)
};

/* Pixels within reach of a hole's. */
typedef struct Taps {
    int count;
    int64_t offset[MOST_TAPS];
    int32_t weight[MOST_TAPS];
} Taps;

static void list_taps(int64_t pitch, Taps *t)
{
    t->count = 0;
    for (int j = -REACH; j <= REACH; j++)
        for (int i = -REACH; i <= REACH; i++) {
            const int square = i * i + j * j;
            if (square == 0 || square > REACH * REACH)
                continue;
            t->offset[t->count] = j * pitch + i;
            t->weight[t->count++] = 65536 / (square * square * square);
        }
}

/* The mean of the pixels with data around p, rounded; nodata without any. */
static int16_t fill_pixel(const Taps *t, const int16_t *p)
{
    int64_t sum = 0, weight = 0;
    for (int k = 0; k < t->count; k++) {
        const int16_t v = p[t->offset[k]];
        const int32_t one = v == SDM_Q_NODATA ? 0 : t->weight[k];
        sum += (int64_t)one * v;
        weight += one;
    }
    return weight ? (int16_t)((sum + (sum < 0 ? -weight : weight) / 2) / weight) : SDM_Q_NODATA;
}

/* Have less than half of the pixels around p data? */
static bool is_beyond(const int16_t *p, int64_t pitch)
{
    enum { ALL = (2 * SIDES + 1) * (2 * SIDES + 1) };
    int count = 0;
    for (int j = -SIDES; j <= SIDES; j++)
        for (int i = -SIDES; i <= SIDES; i++)
            count += p[j * pitch + i] != SDM_Q_NODATA;
    return 2 * count < ALL;
}

/* A window that is read, with REACH px around. */
typedef struct Holes {
    SdmImageWindow at;
    int64_t size[2]; /* of the image */
    const int16_t *wide;
    Taps taps;
    int16_t *out;
    uint8_t *defect; /* NULL: nobody asks */
} Holes;

/* Count the pixels of row y of `wide` that have data, with a sign, by column. */
static void count_row(const Holes *q, int64_t y, int sign, int16_t *restrict count)
{
    const int64_t pitch = q->at.w + 2 * REACH;
    const int16_t *restrict const row = q->wide + y * pitch;
    for (int64_t x = 0; x < pitch; x++)
        count[x] = (int16_t)(count[x] + (row[x] == SDM_Q_NODATA ? 0 : sign));
}

/* Row y; count: pixels with data in each column of the rows within reach. */
static void fill_row(const Holes *q, int64_t y, const int16_t *count)
{
    const int64_t pitch = q->at.w + 2 * REACH, first = q->at.x < 0 ? -q->at.x : 0,
                  end = q->size[0] - q->at.x < q->at.w ? q->size[0] - q->at.x : q->at.w;
    int near = 0;
    for (int64_t x = first; x < first + 2 * REACH; x++)
        near += count[x];
    for (int64_t x = first; x < end; near -= count[x], x++) {
        const int16_t *const p = q->wide + (y + REACH) * pitch + x + REACH;
        near += count[x + 2 * REACH];
        if (*p != SDM_Q_NODATA || near == 0)
            continue;
        q->out[y * q->at.w + x] = fill_pixel(&q->taps, p);
        if (q->defect)
            q->defect[y * q->at.w + x] |=
                (uint8_t)(SDM_DEFECT_FILLED | (is_beyond(p, pitch) ? SDM_DEFECT_BEYOND : 0));
    }
}

static SdmStatus fill_holes(SdmContext *ctx, const SdmViewReader *r, Holes *q)
{
    enum { BAND = 64 /* rows */ };
    SdmStatus st = SDM_OK;
    const SdmImageWindow wide = around(q->at, REACH);
    const int64_t first = q->at.y < 0 ? -q->at.y : 0,
                  end = q->size[1] - q->at.y < q->at.h ? q->size[1] - q->at.y : q->at.h;
    int16_t *pixels = NULL, *counts = NULL;
    const int threads = sdm_threads(ctx);
    TRY(sdm_alloc_raw(ctx, &pixels, (size_t)(wide.w * wide.h), sizeof *pixels, "image window"));
    TRY(sdm_alloc(ctx, &counts, (size_t)(threads * wide.w), sizeof *counts, "image window"));
    TRY(r->turned ? sdm_image_read_turned(ctx, r->image, turn_window(wide), pixels, NULL)
                  : sdm_image_read(ctx, r->image, wide, pixels, NULL, NULL));
    q->wide = pixels;
    list_taps(wide.w, &q->taps);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t y0 = first; y0 < end; y0 += BAND) {
        int16_t *const count = counts + sdm_thread() * wide.w;
        const int64_t y1 = y0 + BAND < end ? y0 + BAND : end;
        memset(count, 0, (size_t)wide.w * sizeof *count);
        for (int64_t y = y0; y < y0 + 2 * REACH; y++)
            count_row(q, y, 1, count);
        for (int64_t y = y0; y < y1; y++) {
            count_row(q, y + 2 * REACH, 1, count);
            fill_row(q, y, count);
            count_row(q, y, -1, count);
        }
    }
done:
    sdm_free(&pixels);
    sdm_free(&counts);
    return st;
}

/* ---- borders ---- */

/* A column or row beside the image, and the image's own next to it, counted from the window's first. */
typedef struct Border {
    int64_t outside, inside;
} Border;

/* The outermost pixels of the image once more beyond its border: taps for what the warp samples between the
 * image's last two columns or rows.  Beyond the image there is still no data, as more taps are missing. */
static void repeat_border(const int64_t size[2], SdmImageWindow at, int16_t *out)
{
    const Border column[2] = {{-1 - at.x, -at.x}, {size[0] - at.x, size[0] - 1 - at.x}};
    const Border row[2] = {{-1 - at.y, -at.y}, {size[1] - at.y, size[1] - 1 - at.y}};
    for (int k = 0; k < 2; k++) {
        const int64_t to = column[k].outside, from = column[k].inside;
        for (int64_t y = 0; y < at.h && to >= 0 && from >= 0 && to < at.w && from < at.w; y++)
            out[y * at.w + to] = out[y * at.w + from];
    }
    for (int k = 0; k < 2; k++) {
        const int64_t to = row[k].outside, from = row[k].inside;
        if (to >= 0 && from >= 0 && to < at.h && from < at.h)
            memcpy(out + to * at.w, out + from * at.w, (size_t)at.w * sizeof *out);
    }
}

SdmStatus sdm_view_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                        int16_t *out)
{
    SdmStatus st = SDM_OK;
    SdmViewReader *const r = user;
    const SdmImageWindow at = {x0, y0, w, h}, in_file = r->turned ? turn_window(at) : at;
    const size_t n = (size_t)(w * h);
    uint8_t *defect = NULL;
    unsigned flaws = 0;
    Holes holes = {.at = at, .out = out};
    sdm_free(&r->defect);
    TRY(r->turned ? sdm_image_read_turned(ctx, r->image, in_file, out, &flaws)
                  : sdm_image_read(ctx, r->image, in_file, out, NULL, &flaws));
    sdm_view_size(r, holes.size);
    if (flaws & SDM_FLAW_SATURATED || (flaws && r->keep))
        TRY(sdm_alloc(ctx, &defect, n, 1, "defects of an image"));
    if (flaws & SDM_FLAW_SATURATED || (flaws & SDM_FLAW_MASKED && r->keep))
        TRY(find_flaws(ctx, r, in_file, defect));
    holes.defect = r->keep ? defect : NULL;
    if (flaws & SDM_FLAW_NODATA)
        TRY(fill_holes(ctx, r, &holes));
    repeat_border(holes.size, at, out);
    for (size_t i = 0; defect && i < n; i++)
        out[i] = defect[i] & SDM_DEFECT_SATURATED ? (int16_t)SDM_Q_NODATA : out[i];
    for (size_t i = 0; r->keep && defect && i < n && !r->defect; i++)
        if (defect[i]) {
            r->defect = defect;
            defect = NULL;
            break;
        }
done:
    sdm_free(&defect);
    return st;
}
