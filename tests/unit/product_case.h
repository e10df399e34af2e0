/* A pattern of known heights, and a run over it; for the tests of the products. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/gridding.h"
#include "product/dem_report.h"
#include "tests/folder.h"

#include <gdal.h>

enum { COLS = 1300, ROWS = 1100, BLOCK = 417 };

static inline bool hole(int64_t c, int64_t r)
{
    return (c > 600 && c < 640 && r > 200) || r < 20;
}

static inline float height(int64_t c, int64_t r)
{
    return (float)(400.0 + 300.0 * sin((double)c / 90.0) * cos((double)r / 70.0) +
                   0.1 * (double)((c * 7 + r * 13) % 11));
}

static inline SdmStatus make_block(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h,
                                   float dn, SdmBlock *b)
{
    PASS(sdm_block_alloc(ctx, col0, row0, w, h, b));
    for (int64_t i = 0; i < w * h; i++) {
        const int64_t c = col0 + i % w, r = row0 + i / w;
        const bool none = hole(c, r);
        b->height_m[i] = none ? NAN : height(c, r);
        b->score[i] = none ? NAN : (float)(c % 101) * 0.01F;
        b->ray_error_m[i] = none ? NAN : (float)(r % 50) * 0.5F;
        b->spread_m[i] = none ? NAN : 3.0F;
        b->ortho[i] = r < 20 ? NAN : dn * (float)((c + r) % 200) / 200.0F;
        b->count[i] = none ? 0 : (uint16_t)(4 + c % 3);
        b->mask[i] = (uint16_t)(r < 20 ? SDM_QA_OUTSIDE : none ? SDM_QA_LOW_SCORE : SDM_QA_VALID);
    }
    return SDM_OK;
}

typedef struct Case {
    const char *name;
    int64_t cols, rows; /* 0: COLS, ROWS */
    bool overwrite;
    float dn;
} Case;

static const SdmPrepared plain_scene = {.frame = {.lon_deg = -3.0,
                                                  .lat_deg = 16.8,
                                                  .base_height = 0.6,
                                                  .gsd_m = 15.0,
                                                  .hmin_m = -500.0,
                                                  .hmax_m = 9000.0}};

static inline SdmSceneReport report_of(void)
{
    return (SdmSceneReport){.scene_id = "AST_L1A_<test> & \"more\"",
                            .time_utc = "2004-05-06T10:11:12Z",
                            .scene_kind = "test",
                            .prepared = &plain_scene,
                            .work = {.wall_s = 1.0, .blocks = 12}};
}

static inline SdmStatus produce(SdmContext *ctx, const Case *k, const SdmSceneReport *report)
{
    SDM_CLOSED_BY(sdm_dem_result_free) SdmDemResult result = {.known = false};
    SdmGrid g;
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *p = NULL;
    SDM_CLOSED_BY(sdm_block_free) SdmBlock b = {0};
    const int64_t cols = k->cols ? k->cols : COLS, rows = k->rows ? k->rows : ROWS;
    const int64_t across = (cols + BLOCK - 1) / BLOCK, n = across * ((rows + BLOCK - 1) / BLOCK);
    PASS(sdm_grid_choose(ctx, sdm_options(ctx), -3.0, 16.8, 15.0, &g));
    const double bounds[4] = {500000.0, 1860000.0 - ((double)rows - 0.5) * g.spacing,
                              500000.0 + ((double)cols - 0.5) * g.spacing, 1860000.0};
    PASS(sdm_grid_cover(ctx, bounds, &g));
    g.cols = cols;
    g.rows = rows;
    PASS(sdm_scene_product_open(ctx, sdm_options(ctx), &g, report, &p));
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = i % across * BLOCK, r = i / across * BLOCK;
        PASS(make_block(ctx, c, r, c + BLOCK < cols ? BLOCK : cols - c, r + BLOCK < rows ? BLOCK : rows - r,
                        k->dn > 0.0F ? k->dn : 250.0F, &b));
        PASS(sdm_product_write(ctx, p, &b));
        sdm_block_free(&b);
    }
    return sdm_scene_product_finish(ctx, p, report, NULL, &result);
}

static inline SdmStatus run_case(const Case *k, char *why)
{
    const SdmSceneReport report = report_of();
    SdmOptions opt = default_options();
    opt.output = in_folder(k->name);
    opt.threads = 2;
    opt.overwrite = k->overwrite;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    const SdmStatus st = produce(ctx, k, &report);
    if (why)
        snprintf(why, 1024, "%s", sdm_error(ctx));
    else if (st)
        print_error("%s\n", sdm_error(ctx));
    return st;
}

static inline GDALDatasetH reopen(const char *name)
{
    GDALDatasetH ds = GDALOpen(in_folder(name), GA_ReadOnly);
    assert_non_null(ds);
    return ds;
}

FIXTURE(set_up)
{
    GDALAllRegister();
    return make_folder(state);
}
