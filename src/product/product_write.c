/* A block of heights above the ellipsoid -> rows of the raw rasters, in the vertical datum of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <math.h>

enum { STRIP_ROWS = 256 };

typedef struct Strip { /* rows of a block, as stored: in the rasters themselves, or beside them */
    float *height_m, *ortho;
    uint16_t *qa;        /* cells x bands of the QA raster */
    float *undulation_m; /* rows of the block's width */
    int64_t pitch;       /* cells from row to row of the others */
} Strip;

/* The C library's fminf, fmaxf and nearbyintf are calls. */
static inline uint16_t to_steps(float value, float inverse)
{
    const float steps = value * inverse, above = steps > 0.0F ? steps : 0.0F;
    const uint16_t n = (uint16_t)((above < 65534.0F ? above : 65534.0F) + 0.5F);
    return isnan(value) ? SDM_QA_NODATA : n;
}

/* To the nearest whole number, halves to the even one: adding 2^23 leaves a float no place for more. */
static inline float round_even(float x)
{
    const float whole = 0x1p23F, size = fabsf(x), rounded = (size + whole) - whole;
    return copysignf(size < whole ? rounded : size, x);
}

static void convert_heights(const SdmProduct *p, const SdmBlock *b, int64_t row, int64_t r, const Strip *s)
{
    const float step = (float)p->survey.step_m, inverse = 1.0F / step; /* powers of two: exact */
    const float *const in = b->height_m + row * b->w;
    const float *const n = p->undulation.geoid ? s->undulation_m + r * b->w : NULL;
    float *const out = s->height_m + r * s->pitch;
    for (int64_t c = 0; c < b->w; c++) {
        const float h = n ? in[c] - n[c] : in[c];
        out[c] = isnan(h) ? SDM_NODATA : round_even(h * inverse) * step;
    }
}

/* Row `row` of the block into row r of the strip. */
static void convert_row(const SdmProduct *p, const SdmBlock *b, int64_t row, int64_t r, const Strip *s)
{
    const float per_gap = (float)(1.0 / p->ray_error_step_m), per_score = (float)(1.0 / SDM_SCORE_STEP);
    const int bands = p->bands, first = SDM_QA_BANDS - bands; /* a stack has the last ones */
    convert_heights(p, b, row, r, s);
    for (int64_t c = 0; c < b->w; c++) {
        const int64_t i = row * b->w + c, o = r * s->pitch + c;
        const bool none = s->height_m[o] == SDM_NODATA;
        uint16_t *const qa = s->qa + o * bands;
        if (first == 0) {
            s->ortho[o] = isnan(b->ortho[i]) ? SDM_NODATA : b->ortho[i];
            qa[SDM_BAND_SCORE] = none ? SDM_QA_NODATA : to_steps(b->score[i], per_score);
            qa[SDM_BAND_GAP] = none ? SDM_QA_NODATA : to_steps(b->ray_error_m[i], per_gap);
        }
        qa[SDM_BAND_SPREAD - first] = none ? SDM_QA_NODATA : to_steps(b->spread_m[i], per_gap);
        qa[SDM_BAND_COUNT - first] = b->count[i] == SDM_QA_NODATA ? SDM_QA_NODATA - 1 : b->count[i];
        qa[SDM_BAND_MASK - first] = b->mask[i];
    }
}

static SdmStatus store(SdmContext *ctx, SdmProduct *p, const SdmBlock *b, int64_t row, int64_t h,
                       const Strip *s)
{
    SdmGdalErrors trap;
    const int x = (int)b->col0, y = (int)(b->row0 + row), w = (int)b->w, n = (int)h;
    int file = SDM_FILE_DEM;
    sdm_gdal_errors_begin(&trap);
    CPLErr e = GDALRasterIO(GDALGetRasterBand(p->raw[file], 1), GF_Write, x, y, w, n, s->height_m, w, n,
                            GDT_Float32, 0, 0);
    if (e == CE_None && !trap.failed && p->raw[SDM_FILE_ORTHO]) {
        file = SDM_FILE_ORTHO;
        e = GDALRasterIO(GDALGetRasterBand(p->raw[file], 1), GF_Write, x, y, w, n, s->ortho, w, n,
                         GDT_Float32, 0, 0);
    }
    if (e == CE_None && !trap.failed) {
        file = SDM_FILE_QA;
        const GSpacing pixel = p->bands * (GSpacing)sizeof(uint16_t);
        e = GDALDatasetRasterIOEx(p->raw[file], GF_Write, x, y, w, n, s->qa, w, n, GDT_UInt16, p->bands,
                                  NULL, pixel, pixel * w, sizeof(uint16_t), NULL);
    }
    sdm_gdal_errors_end(&trap);
    return e == CE_None && !trap.failed ? SDM_OK : sdm_fail_write(ctx, p->names->path[file], trap.text);
}

static SdmStatus check_block(SdmContext *ctx, const SdmProduct *p, const SdmBlock *b)
{
    if (b->w > 0 && b->h > 0 && b->col0 >= 0 && b->row0 >= 0 && b->w <= p->grid.cols - b->col0 &&
        b->h <= p->grid.rows - b->row0)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA,
                    "block of %lld x %lld cells at (%lld, %lld) lies outside the DEM of %lld x %lld",
                    (long long)b->w, (long long)b->h, (long long)b->col0, (long long)b->row0,
                    (long long)p->grid.cols, (long long)p->grid.rows);
}

static SdmStatus write_strip(SdmContext *ctx, SdmProduct *p, const SdmBlock *b, int64_t row, int64_t h,
                             const Strip *s)
{
    SdmStatus st = SDM_OK;
    const SdmSurveyCells seen = {.col0 = b->col0, .row0 = b->row0 + row, .w = b->w, .h = h,
                                 .height_m = s->height_m, .height_pitch = s->pitch,
                                 .mask = b->mask + row * b->w,
                                 .ortho = b->ortho ? b->ortho + row * b->w : NULL};
    if (p->undulation.geoid)
        TRY(sdm_undulation_window(ctx, &p->undulation, b->col0, b->row0 + row, b->w, h, s->undulation_m));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < h; r++)
        convert_row(p, b, row + r, r, s);
    if (!p->cells[SDM_FILE_DEM])
        TRY(store(ctx, p, b, row, h, s));
    sdm_survey_add(&p->survey, &seen);
done:
    return st;
}

/* Where the rasters lie in memory: their own cells from this row of the block on. */
static void point_into(const SdmProduct *p, const SdmBlock *b, int64_t row, Strip *s)
{
    const int64_t at = (b->row0 + row) * p->grid.cols + b->col0;
    s->pitch = p->grid.cols;
    s->height_m = (float *)p->cells[SDM_FILE_DEM] + at;
    s->ortho = b->ortho ? (float *)p->cells[SDM_FILE_ORTHO] + at : NULL;
    s->qa = (uint16_t *)p->cells[SDM_FILE_QA] + at * p->bands;
}

SdmStatus sdm_product_write(SdmContext *ctx, SdmProduct *p, const SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    Strip own = {.pitch = b->w}, s;
    const bool in_memory = p->cells[SDM_FILE_DEM] != NULL;
    const int around = sdm_stage_enter(ctx, 9);
    TRY(check_block(ctx, p, b));
    const size_t rows = (size_t)(b->h < STRIP_ROWS ? b->h : STRIP_ROWS), n = rows * (size_t)b->w;
    if (!in_memory) {
        TRY(sdm_alloc(ctx, &own.height_m, n, sizeof *own.height_m, "rows to write"));
        if (b->ortho)
            TRY(sdm_alloc(ctx, &own.ortho, n, sizeof *own.ortho, "rows to write"));
        TRY(sdm_alloc(ctx, &own.qa, n, (size_t)p->bands * sizeof *own.qa, "rows to write"));
    }
    if (p->undulation.geoid)
        TRY(sdm_alloc(ctx, &own.undulation_m, n, sizeof *own.undulation_m, "rows to write"));
    s = own;
    for (int64_t row = 0; row < b->h; row += STRIP_ROWS) {
        if (in_memory)
            point_into(p, b, row, &s);
        TRY(write_strip(ctx, p, b, row, b->h - row < STRIP_ROWS ? b->h - row : STRIP_ROWS, &s));
    }
done:
    sdm_free(&own.undulation_m);
    sdm_free(&own.qa);
    sdm_free(&own.ortho);
    sdm_free(&own.height_m);
    sdm_stage_leave(ctx, around);
    return st;
}
