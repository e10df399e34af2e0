/* Images and cameras in memory; a DEM or disparities in memory. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "api/results.h"
#include "geo/geoid.h"
#include "product/height_step.h"
#include "scene/scene.h"

#include <math.h>
#include <string.h>

struct SdmDem {
    SdmGrid grid;
    SdmBlock cells; /* of the whole grid */
};

/* A DEM in work. */
typedef struct Making {
    SdmScene *scene;
    SdmPrepared prepared;
    SdmTiling tiling;
    SdmMatchQueue *queue;
    SdmQualitySums sums;
    int64_t valid;              /* cells with a height */
    SdmUndulation undulation;   /* of the heights' datum */
    float *undulation_m;        /* of a block's rows; NULL: heights above the ellipsoid */
    SdmDem *dem;
} Making;

/* ---- images and cameras ---- */

static SdmStatus check_side(SdmContext *ctx, SdmSide side, bool needs_image)
{
    const SdmFace *const f = ctx->face;
    if (side != SDM_LEFT && side != SDM_RIGHT)
        return sdm_fail(ctx, SDM_ERR_USAGE, "found view %d, expected SDM_LEFT or SDM_RIGHT", (int)side);
    if (needs_image && !f->image[side].samples)
        return sdm_fail(ctx, SDM_ERR_USAGE, "the %s view has no image yet", side ? "right" : "left");
    return SDM_OK;
}

SdmStatus sdm_set_image(SdmContext *ctx, SdmSide side, SdmSampleType type, const void *samples, int64_t width,
                        int64_t height, int64_t row_bytes)
{
    SdmStatus st = SDM_OK;
    static const int sizes[] = {1, 2, 2, 4};
    SdmFace *const f = ctx->face;
    TRY(check_side(ctx, side, false));
    const char *const which = side ? "right" : "left";
    if (!samples || (unsigned)type > SDM_SAMPLE_FLOAT32 || width < 1 || height < 1 || width > INT32_MAX ||
        height > INT32_MAX)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s image: %lld x %lld samples of type %d%s, expected samples of a known type and 1 to %d columns "
                        "and rows",
                        which, (long long)width, (long long)height, (int)type, samples ? "" : " at NULL", INT32_MAX);
    if (row_bytes != 0 && row_bytes < width * sizes[type])
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s image: rows of %lld bytes, expected 0 or at least %lld", which,
                        (long long)row_bytes, (long long)(width * sizes[type]));
    f->image[side] =
        (SdmImageArray){.type = type, .samples = samples, .width = width, .height = height, .row_bytes = row_bytes};
done:
    return st;
}

SdmStatus sdm_set_image_nodata(SdmContext *ctx, SdmSide side, double nodata)
{
    SdmStatus st = SDM_OK;
    SdmFace *const f = ctx->face;
    TRY(check_side(ctx, side, true));
    f->image[side].has_nodata = true;
    f->image[side].nodata = nodata;
done:
    return st;
}

SdmStatus sdm_set_image_mask(SdmContext *ctx, SdmSide side, const uint8_t *mask, int64_t row_bytes)
{
    SdmStatus st = SDM_OK;
    SdmFace *const f = ctx->face;
    TRY(check_side(ctx, side, true));
    if (mask && row_bytes != 0 && row_bytes < f->image[side].width)
        return sdm_fail(ctx, SDM_ERR_USAGE, "mask of the %s image: rows of %lld bytes, expected 0 or at least %lld",
                        side ? "right" : "left", (long long)row_bytes, (long long)f->image[side].width);
    f->image[side].mask = mask;
    f->image[side].mask_row_bytes = row_bytes;
done:
    return st;
}

SdmStatus sdm_set_rpc(SdmContext *ctx, SdmSide side, const SdmRpc *rpc)
{
    SdmStatus st = SDM_OK;
    SdmFace *const f = ctx->face;
    TRY(check_side(ctx, side, false));
    f->has_rpc[side] = rpc != NULL;
    if (rpc)
        f->rpc[side] = *rpc;
done:
    return st;
}

SdmStatus sdm_face_source(SdmContext *ctx, const SdmFace *face, const char *left, const char *right, bool *in_memory)
{
    *in_memory = !left && !right && (face->image[0].samples || face->image[1].samples);
    for (int k = 0; *in_memory && k < 2; k++)
        if (!face->image[k].samples)
            return sdm_fail(ctx, SDM_ERR_USAGE, "the %s view has no image yet", k ? "right" : "left");
    return SDM_OK;
}

SdmStatus sdm_face_open_scene(SdmContext *ctx, SdmFace *face, const char *left, const char *right, SdmScene **out)
{
    SdmStatus st = SDM_OK;
    bool in_memory;
    TRY(sdm_face_source(ctx, face, left, right, &in_memory));
    if (!in_memory)
        return sdm_scene_open(ctx, &face->values.common, left, right, out);
    SdmViewInput view[2];
    for (int k = 0; k < 2; k++)
        view[k] = (SdmViewInput){.image = face->image[k], .rpc = face->has_rpc[k] ? &face->rpc[k] : NULL};
    TRY(sdm_scene_open_arrays(ctx, &face->values.common, view, out));
done:
    return st;
}

/* ---- a DEM ---- */

/* Every layer of the DEM, its cells and its bytes. */
typedef struct Layer {
    char *cells;
    size_t bytes;
} Layer;

static Layer layer_of(const SdmBlock *b, SdmDemLayer layer)
{
    switch (layer) {
    case SDM_LAYER_HEIGHT:
        return (Layer){(char *)b->height_m, sizeof(float)};
    case SDM_LAYER_SCORE:
        return (Layer){(char *)b->score, sizeof(float)};
    case SDM_LAYER_RAY_ERROR:
        return (Layer){(char *)b->ray_error_m, sizeof(float)};
    case SDM_LAYER_SPREAD:
        return (Layer){(char *)b->spread_m, sizeof(float)};
    case SDM_LAYER_ORTHO:
        return (Layer){(char *)b->ortho, sizeof(float)};
    case SDM_LAYER_COUNT:
        return (Layer){(char *)b->count, sizeof(uint16_t)};
    case SDM_LAYER_MASK:
        return (Layer){(char *)b->mask, sizeof(uint16_t)};
    }
    return (Layer){NULL, 0};
}

static SdmStatus open_cells(SdmContext *ctx, const SdmGrid *grid, SdmDem **out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_alloc(ctx, out, 1, sizeof **out, "a DEM"));
    SdmDem *const dem = *out;
    dem->grid = *grid;
    dem->cells = (SdmBlock){.w = grid->cols, .h = grid->rows};
    SdmBlock *const b = &dem->cells;
    const size_t n = (size_t)b->w * (size_t)b->h;
    TRY(sdm_alloc(ctx, &b->height_m, n, sizeof(float), "heights of a DEM"));
    TRY(sdm_alloc(ctx, &b->score, n, sizeof(float), "scores of a DEM"));
    TRY(sdm_alloc(ctx, &b->ray_error_m, n, sizeof(float), "ray errors of a DEM"));
    TRY(sdm_alloc(ctx, &b->spread_m, n, sizeof(float), "spreads of a DEM"));
    TRY(sdm_alloc(ctx, &b->ortho, n, sizeof(float), "orthoimage of a DEM"));
    TRY(sdm_alloc(ctx, &b->count, n, sizeof(uint16_t), "counts of a DEM"));
    TRY(sdm_alloc(ctx, &b->mask, n, sizeof(uint16_t), "mask of a DEM"));
done:
    return st;
}

/* Heights of a block as the products have them: above the datum that was asked for, rounded to their step. */
static SdmStatus convert_heights(SdmContext *ctx, Making *m, const SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    const float step = (float)sdm_height_step_m(sdm_grid_spacing_m(&m->dem->grid)), inverse = 1.0F / step;
    for (int64_t r = 0; r < b->h; r++) {
        float *const row = b->height_m + r * b->w;
        if (m->undulation.geoid)
            TRY(sdm_undulation_window(ctx, &m->undulation, b->col0, b->row0 + r, b->w, 1, m->undulation_m));
        for (int64_t c = 0; c < b->w; c++) {
            const float h = m->undulation.geoid ? row[c] - m->undulation_m[c] : row[c];
            row[c] = sdm_round_height(h, step, inverse);
        }
    }
done:
    return st;
}

static SdmStatus add_block(SdmContext *ctx, Making *m, const SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    const SdmPrepared *const p = &m->prepared;
    const SdmBlock *const all = &m->dem->cells;
    for (int64_t i = 0; i < b->w * b->h; i++)
        m->valid += (b->mask[i] & SDM_QA_VALID) != 0;
    sdm_quality_add(&m->sums, b, 1.0 / p->frame.gsd_m, (double)p->settings.ray_error_limit_px, sdm_threads(ctx));
    TRY(convert_heights(ctx, m, b));
    for (int k = SDM_LAYER_HEIGHT; k <= SDM_LAYER_MASK; k++) {
        const Layer from = layer_of(b, (SdmDemLayer)k), to = layer_of(all, (SdmDemLayer)k);
        for (int64_t r = 0; r < b->h; r++)
            memcpy(to.cells + (size_t)((b->row0 + r) * all->w + b->col0) * to.bytes,
                   from.cells + (size_t)(r * b->w) * from.bytes, (size_t)b->w * from.bytes);
    }
done:
    return st;
}

static SdmStatus make_blocks(SdmContext *ctx, Making *m)
{
    SdmStatus st = SDM_OK;
    SdmTile tile;
    SdmBlock block = {.w = 0};
    char what[64];
    const int64_t n = m->tiling.across * m->tiling.down;
    sdm_tiling_tile(&m->tiling, n - 1, &tile);
    const SdmTilesOf tiles = {m->tiling.grid.x0, m->tiling.grid.y0, {tile.col0 + tile.w, tile.row0 + tile.h}};
    sdm_match_queue_expect(m->queue, n);
    for (int64_t i = 0; i < n; i++) {
        snprintf(what, sizeof what, "block %lld of %lld", (long long)(i + 1), (long long)n);
        if (i > 0)
            sdm_progress(ctx, 5, (double)i / (double)n, what);
        TRY(sdm_check_stop(ctx));
        sdm_tiling_tile(&m->tiling, i, &tile);
        sdm_tiling_place(&tiles, (const int64_t[4]){tile.col0, tile.row0, tile.w, tile.h}, &m->dem->grid, &block);
        if (block.w < 1 || block.h < 1)
            continue;
        const SdmProgressPart around = sdm_progress_enter(ctx, (double)i / (double)n, (double)(i + 1) / (double)n);
        st = sdm_scene_block(ctx, m->scene, &m->prepared, m->queue, &block);
        sdm_progress_leave(ctx, around);
        TRY(st);
        TRY(add_block(ctx, m, &block));
        sdm_block_free(&block);
    }
done:
    sdm_block_free(&block);
    return st;
}

static SdmStatus judge(SdmContext *ctx, const Making *m, const SdmOptions *options)
{
    SdmStatus st = SDM_OK;
    SdmQuality quality;
    const char *const left = m->scene->view[0].name,
                      *const right = m->scene->sensor == SDM_SENSOR_ASTER ? "" : m->scene->view[1].name;
    TRY(sdm_quality_check_count(ctx, options, &m->prepared, m->dem->cells.w * m->dem->cells.h, m->valid, left, right));
    TRY(sdm_quality_assess(ctx, options, &m->sums, &m->prepared, left, right, &quality));
    for (int i = 0; i < quality.count; i++)
        sdm_log(ctx, SDM_LOG_WARNING, 9, "the DEM is doubtful: %s", quality.text[i]);
done:
    return st;
}

#define PREPARED 0.4 /* share of the time when the blocks begin */

static SdmStatus make(SdmContext *ctx, Making *m, const SdmOptions *options)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_match_queue_open(ctx, options->device, &m->queue));
    sdm_match_queue_log(ctx, m->queue);
    TRY(sdm_tiling_find(ctx, m->scene, &m->tiling));
    SdmProgressPart all = sdm_progress_enter(ctx, 0.0, PREPARED);
    sdm_progress(ctx, 2, 0.05, "coarse surface and pointing");
    st = sdm_scene_prepare(ctx, m->scene, &m->prepared);
    sdm_progress_leave(ctx, all);
    TRY(st);
    TRY(open_cells(ctx, &m->prepared.grid, &m->dem));
    TRY(sdm_undulation_open(ctx, &m->dem->grid, options->vertical, &m->undulation));
    if (m->undulation.geoid)
        TRY(sdm_alloc(ctx, &m->undulation_m, (size_t)m->dem->grid.cols, sizeof(float), "a row of undulations"));
    all = sdm_progress_enter(ctx, PREPARED, 1.0);
    st = make_blocks(ctx, m);
    sdm_progress_leave(ctx, all);
    TRY(st);
    TRY(judge(ctx, m, options));
    sdm_progress(ctx, 9, 1.0, "done");
done:
    return st;
}

static void release(Making *m)
{
    sdm_undulation_close(&m->undulation);
    sdm_free(&m->undulation_m);
    sdm_tiling_free(&m->tiling);
    sdm_prepared_free(&m->prepared);
    sdm_match_queue_close(&m->queue);
    sdm_scene_close(&m->scene);
    sdm_dem_close(&m->dem);
}

SdmStatus sdm_make_dem(SdmContext *ctx, const char *left, const char *right, SdmDem **out)
{
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    cJSON *result = NULL;
    Making *m = NULL;
    *out = NULL;
    TRY(sdm_face_begin(ctx, "run", &call));
    TRY(sdm_alloc(ctx, &m, 1, sizeof *m, "a DEM in work"));
    TRY(sdm_face_open_scene(ctx, call.face, left, right, &m->scene));
    TRY(make(ctx, m, &call.face->values.common));
    *out = m->dem;
    m->dem = NULL;
    result = cJSON_CreateObject();
    sdm_result_run(ctx, NULL, result);
done:
    if (m)
        release(m);
    sdm_free(&m);
    sdm_face_end(&call, result);
    return st;
}

int64_t sdm_dem_cols(const SdmDem *dem)
{
    return dem->grid.cols;
}

int64_t sdm_dem_rows(const SdmDem *dem)
{
    return dem->grid.rows;
}

void sdm_dem_geotransform(const SdmDem *dem, double out[6])
{
    const double all[6] = {dem->grid.x0, dem->grid.spacing, 0.0, dem->grid.y0, 0.0, -dem->grid.spacing};
    memcpy(out, all, sizeof all);
}

const char *sdm_dem_crs(const SdmDem *dem)
{
    return dem->grid.wkt;
}

SdmStatus sdm_dem_read(SdmContext *ctx, const SdmDem *dem, SdmDemLayer layer, void *cells, int64_t row_bytes)
{
    const Layer from = layer_of(&dem->cells, layer);
    const size_t row = (size_t)dem->cells.w * from.bytes, pitch = row_bytes ? (size_t)row_bytes : row;
    if (!from.cells || !cells || pitch < row)
        return sdm_fail(ctx, SDM_ERR_USAGE, "layer %d with rows of %lld bytes, expected a layer of the DEM and 0 or at "
                        "least %zu bytes", (int)layer, (long long)row_bytes, row);
    for (size_t r = 0; r < (size_t)dem->cells.h; r++)
        memcpy((char *)cells + r * pitch, from.cells + r * row, row);
    return SDM_OK;
}

void sdm_dem_close(SdmDem **dem)
{
    if (!dem || !*dem)
        return;
    sdm_block_free(&(*dem)->cells);
    sdm_free(dem);
}

/* ---- disparities ---- */

static SdmStatus check_match_image(SdmContext *ctx, SdmSide side)
{
    SdmStatus st = SDM_OK;
    const SdmFace *const f = ctx->face;
    TRY(check_side(ctx, side, true));
    if (f->image[side].mask)
        st = sdm_fail(ctx, SDM_ERR_USAGE, "the %s image has a mask, which match does not take; give its pixels a nodata value",
                      side ? "right" : "left");
done:
    return st;
}

SdmStatus sdm_match_images(SdmContext *ctx, float *disparity, int64_t row_bytes)
{
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    SdmDisparityResult found;
    cJSON *result = NULL;
    float *all = NULL;
    TRY(sdm_face_begin(ctx, "match", &call));
    const SdmOptions *const options = &call.face->values.common;
    for (int k = 0; k < 2; k++)
        TRY(check_match_image(ctx, k ? SDM_RIGHT : SDM_LEFT));
    const int64_t row = call.face->image[0].width / call.face->values.own.match.downscale * (int64_t)sizeof(float);
    const int64_t pitch = row_bytes ? row_bytes : row;
    if (!disparity || pitch < row) {
        st = sdm_fail(ctx, SDM_ERR_USAGE, "disparities with rows of %lld bytes, expected 0 or at least %lld bytes",
                      (long long)row_bytes, (long long)row);
        goto done;
    }
    TRY(sdm_disparity_arrays(ctx, call.face->image, options, &call.face->values.own.match, &found, &all));
    for (int64_t r = 0; r < found.height; r++)
        memcpy((char *)disparity + r * pitch, all + r * found.width, (size_t)found.width * sizeof *all);
    sdm_progress(ctx, 9, 1.0, "done");
    result = cJSON_CreateObject();
    sdm_result_match(ctx, options, NULL, &found, result);
done:
    sdm_free(&all);
    sdm_face_end(&call, result);
    return st;
}
