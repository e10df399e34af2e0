/* A block of heights above the ellipsoid -> rows of the raw rasters, in the vertical datum of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product_inside.h"

#include <math.h>

enum { STRIP_ROWS = 256 };

typedef struct Strip { /* rows of a block, as stored */
    float *height_m, *undulation_m, *ortho;
    uint16_t *qa; /* h x w x bands of the QA raster */
} Strip;

static uint16_t to_steps(float value, float inverse)
{
    return isnan(value) ? SDM_QA_NODATA : (uint16_t)(fminf(fmaxf(value * inverse, 0.0F), 65534.0F) + 0.5F);
}

/* Row `row` of the block into row r of the strip. */
static void convert_row(const SdmProduct *p, const SdmBlock *b, int64_t row, int64_t r, const Strip *s)
{
    const float step = (float)p->survey.step_m, inverse = 1.0F / step; /* powers of two: exact */
    const float per_gap = (float)(1.0 / p->gap_step_m), per_score = (float)(1.0 / SDM_SCORE_STEP);
    const int bands = p->bands, first = SDM_QA_BANDS - bands; /* a stack has the last ones */
    for (int64_t c = 0; c < b->w; c++) {
        const int64_t i = row * b->w + c, o = r * b->w + c;
        const float n = p->undulation.geoid ? s->undulation_m[o] : 0.0F, h = b->height_m[i] - n;
        const bool none = isnan(h);
        uint16_t *const qa = s->qa + o * bands;
        s->height_m[o] = none ? SDM_NODATA : nearbyintf(h * inverse) * step;
        if (first == 0) {
            s->ortho[o] = isnan(b->ortho[i]) ? SDM_NODATA : b->ortho[i];
            qa[SDM_BAND_SCORE] = to_steps(none ? NAN : b->score[i], per_score);
            qa[SDM_BAND_GAP] = to_steps(none ? NAN : b->gap_m[i], per_gap);
        }
        qa[SDM_BAND_SPREAD - first] = to_steps(none ? NAN : b->spread_m[i], per_gap);
        qa[SDM_BAND_COUNT - first] = b->count[i] == SDM_QA_NODATA ? SDM_QA_NODATA - 1 : b->count[i];
        qa[SDM_BAND_MASK - first] = b->mask[i];
    }
}

static SdmStatus store(SdmContext *ctx, SdmProduct *p, const SdmBlock *b, int64_t row, int64_t h,
                       const Strip *s)
{
    SdmTrap trap;
    const int x = (int)b->col0, y = (int)(b->row0 + row), w = (int)b->w, n = (int)h;
    int file = SDM_FILE_DEM;
    sdm_trap_begin(&trap);
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
    sdm_trap_end(&trap);
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
    if (p->undulation.geoid)
        TRY(sdm_undulation_window(ctx, &p->undulation, b->col0, b->row0 + row, b->w, h, s->undulation_m));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < h; r++)
        convert_row(p, b, row + r, r, s);
    TRY(store(ctx, p, b, row, h, s));
    sdm_survey_add(&p->survey, b->col0, b->row0 + row, b->w, h, s->height_m, b->mask + row * b->w,
                   b->ortho ? b->ortho + row * b->w : NULL);
done:
    return st;
}

SdmStatus sdm_product_write(SdmContext *ctx, SdmProduct *p, const SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    Strip s = {0};
    const int around = sdm_stage_enter(ctx, 9);
    TRY(check_block(ctx, p, b));
    const size_t rows = (size_t)(b->h < STRIP_ROWS ? b->h : STRIP_ROWS), n = rows * (size_t)b->w;
    TRY(sdm_alloc(ctx, &s.height_m, n, sizeof *s.height_m, "rows to write"));
    if (b->ortho)
        TRY(sdm_alloc(ctx, &s.ortho, n, sizeof *s.ortho, "rows to write"));
    TRY(sdm_alloc(ctx, &s.qa, n, (size_t)p->bands * sizeof *s.qa, "rows to write"));
    if (p->undulation.geoid)
        TRY(sdm_alloc(ctx, &s.undulation_m, n, sizeof *s.undulation_m, "rows to write"));
    for (int64_t row = 0; row < b->h; row += STRIP_ROWS)
        TRY(write_strip(ctx, p, b, row, b->h - row < STRIP_ROWS ? b->h - row : STRIP_ROWS, &s));
done:
    sdm_free(&s.undulation_m);
    sdm_free(&s.qa);
    sdm_free(&s.ortho);
    sdm_free(&s.height_m);
    sdm_stage_leave(ctx, around);
    return st;
}
