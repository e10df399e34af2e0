/* Layers, block by block -> median, NMAD, count and mask of each cell. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_trend.h"
#include "geo/grid.h"

#include <math.h>

enum { MAX_EDGE = 1024, MIN_EDGE = 64, DATUMS = SDM_EGM2008 + 1 };

/* Does a layer, with its shift, overlap a rectangle of cells? */
static bool overlaps(const SdmStack *s, const SdmLayer *l, int64_t col0, int64_t row0, int64_t w, int64_t h)
{
    const int64_t more =
        1 + (int64_t)ceil(fmax(fabs(l->shift_m[0]) / s->dx_m, fabs(l->shift_m[1]) / s->dy_m));
    return l->col0 - more < col0 + w && l->col0 + l->cols + more > col0 && l->row0 - more < row0 + h &&
           l->row0 + l->rows + more > row0;
}

/* Edge of the largest block whose layers fit in an eighth of the memory budget and 128 MiB; for a trend of
 * many dates, in a third of the budget: a tile of a file is inflated for each block that it meets. */
static int64_t choose_edge(const SdmStack *s)
{
    const double share = (double)s->options->memory_bytes / (s->trend ? 3.0 : 8.0),
                 budget = s->trend ? share : fmin(share, 128.0 * 1048576.0);
    int64_t edge = MAX_EDGE;
    for (; edge > MIN_EDGE; edge /= 2) {
        int most = 0;
        for (int64_t row = 0; row < s->grid.rows; row += edge)
            for (int64_t col = 0; col < s->grid.cols; col += edge) {
                int n = 0;
                for (int i = 0; i < s->count; i++)
                    n += overlaps(s, &s->layer[i], col, row, edge, edge);
                most = n > most ? n : most;
            }
        const double each = s->opt->fusion ? 9.0 + SDM_FUSED_BYTES
                            : s->trend     ? 9.0
                                           : 5.0,
                     all = s->opt->fusion || s->trend ? 50.0 : 24.0;
        if ((double)edge * (double)edge * (each * most + all) <= budget)
            break;
    }
    return edge;
}

static SdmStatus layers_open(SdmStack *s, int64_t cells, SdmBlockLayers *p)
{
    const size_t n = (size_t)s->count;
    p->qa_step_m = sdm_qa_step_m(&s->grid);
    PASS(SDM_ALLOC(s->ctx, "block", SDM_ARRAY(p->index, n), SDM_ARRAY(p->height_m, n),
                   SDM_ARRAY(p->filled, n), SDM_ARRAY(p->error_m, n), SDM_ARRAY(p->qa, n),
                   SDM_ARRAY(p->ortho, n)));
    for (int i = 0; i < s->count; i++) {
        const int v = s->layer[i].vertical;
        if (v <= SDM_ELLIPSOID || p->geoid_m[v])
            continue;
        PASS(sdm_undulation_open(s->ctx, &s->grid, v, &p->undulation[v]));
        PASS(sdm_alloc(s->ctx, &p->geoid_m[v], (size_t)cells, sizeof(float), "geoid"));
    }
    return SDM_OK;
}

static void layers_clear(SdmBlockLayers *p)
{
    for (int k = 0; k < p->count; k++)
        SDM_FREE(&p->height_m[k], &p->filled[k], &p->error_m[k], &p->qa[k], &p->ortho[k]);
    p->count = 0;
}

static void layers_close(SdmBlockLayers *p)
{
    layers_clear(p);
    for (int v = 0; v < DATUMS; v++) {
        sdm_undulation_close(&p->undulation[v]);
        sdm_free(&p->geoid_m[v]);
    }
    SDM_FREE(&p->ortho, &p->qa, &p->error_m, &p->filled, &p->height_m, &p->index);
}

/* Read a layer over the block, as heights above the ellipsoid. */
static SdmStatus read_layer(const SdmStack *s, const SdmBlock *b, SdmBlockLayers *p, int k)
{
    const SdmLayer *const l = &s->layer[p->index[k]];
    const int64_t n = b->w * b->h;
    const float *const geoid_m = l->vertical > SDM_ELLIPSOID ? p->geoid_m[l->vertical] : NULL;
    const SdmCellWindow window = {.col0 = b->col0, .row0 = b->row0, .w = b->w, .h = b->h, .stride = 1};
    PASS(sdm_layer_read(s, l, window, p->height_m[k], p->filled[k]));
    if (p->error_m[k])
        PASS(sdm_layer_read_errors(s, l, window, p->error_m[k]));
    for (int64_t i = 0; i < n; i++)
        p->height_m[k][i] =
            (float)((double)p->height_m[k][i] + (geoid_m ? (double)geoid_m[i] : 0.0) - l->shift_m[2]);
    if (s->opt->fusion)
        PASS(sdm_fused_read_qa(s, l, b, &p->qa[k]));
    if (s->opt->fusion && s->opt->fusion->dem[l->given].ortho)
        PASS(sdm_fused_read_ortho(s, l, b, &p->ortho[k]));
    return SDM_OK;
}

/* Read all layers that overlap the block. */
static SdmStatus read_layers(SdmStack *s, const SdmBlock *b, SdmBlockLayers *p)
{
    SdmStatus why = SDM_OK;
    const size_t n = (size_t)(b->w * b->h);
    layers_clear(p);
    p->col0 = b->col0;
    p->row0 = b->row0;
    for (int i = 0; i < s->count; i++)
        if (overlaps(s, &s->layer[i], b->col0, b->row0, b->w, b->h)) {
            const int k = p->count++;
            p->index[k] = i;
            PASS(SDM_ALLOC(s->ctx, "block", SDM_ARRAY(p->height_m[k], n), SDM_ARRAY(p->filled[k], n)));
            if (s->layer[i].error_band)
                PASS(sdm_alloc(s->ctx, &p->error_m[k], n, sizeof(float), "block"));
        }
    for (int v = SDM_EGM96; v < DATUMS && p->count; v++)
        if (p->geoid_m[v])
            PASS(sdm_undulation_window(s->ctx, &p->undulation[v],
                                       (const int64_t[]){b->col0, b->row0, b->w, b->h}, p->geoid_m[v]));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int k = 0; k < p->count; k++) {
        const SdmStatus one = read_layer(s, b, p, k);
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
    }
    return why;
}

/* Heights of some cells of a row by layer, INFINITY: none. */
typedef struct Cells {
    SdmTrendRow *value, *unbiased; /* unbiased: the layers' smooth errors taken out */
    SdmTrendRow count;
    double last[SDM_TREND_CELLS],
        apart[SDM_TREND_CELLS];     /* the last height, its distance from the one before */
    bool measured[SDM_TREND_CELLS]; /* a layer has measured the cell */
} Cells;

/* Cells i to i + n - 1 of the block: their measured heights or, where there is none, the filled ones. */
static void gather(const SdmStack *s, const SdmBlock *b, const SdmBlockLayers *p, int64_t i, int n,
                   Cells *out)
{
    for (int k = 0; k < p->count; k++)
        for (int c = 0; c < n; c++)
            out->measured[c] |= !isnan(p->height_m[k][i + c]) && !p->filled[k][i + c];
    for (int k = 0; k < p->count; k++) {
        const SdmLayer *const l = &s->layer[p->index[k]];
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const float height_m = c < n ? p->height_m[k][i + c] : NAN;
            out->value[k][c] = out->unbiased[k][c] = INFINITY;
            if (isnan(height_m) || (p->filled[k][i + c] != 0) == out->measured[c])
                continue;
            out->value[k][c] = out->unbiased[k][c] = height_m;
            if (l->bias_m || s->trend)
                out->unbiased[k][c] =
                    (float)((double)height_m -
                            sdm_layer_bias(s, l, b->col0 + (i + c) % b->w, b->row0 + (i + c) / b->w));
            out->apart[c] = fabs((double)height_m - out->last[c]);
            out->last[c] = (double)height_m;
            out->count[c] += 1.0f;
        }
    }
}

/* Cells i to i + n - 1 of the block.  value: room for two heights of each layer. */
static void combine_cells(const SdmStack *s, const SdmBlockLayers *p, SdmTrendRow *value, int64_t i, int n,
                          SdmBlock *b)
{
    Cells cells = {.value = value, .unbiased = value + s->count};
    double median_m[SDM_TREND_CELLS], height_m[SDM_TREND_CELLS], mad_m[SDM_TREND_CELLS];
    gather(s, b, p, i, n, &cells);
    sdm_median_rows(p->count, cells.value, cells.count, median_m);
    sdm_median_rows(p->count, cells.unbiased, cells.count, height_m);
    for (int k = 0; k < p->count; k++)
        for (int c = 0; c < SDM_TREND_CELLS; c++)
            value[k][c] = (float)fabs((double)value[k][c] - median_m[c]);
    sdm_median_rows(p->count, cells.value, cells.count, mad_m);
    for (int c = 0; c < n; c++) {
        const int count = !cells.measured[c] && s->opt->no_filled ? 0 : (int)cells.count[c];
        const bool differ = count == 2 && cells.apart[c] > s->disagree_m;
        b->count[i + c] = (uint16_t)count;
        b->height_m[i + c] = count ? (float)height_m[c] : NAN;
        b->spread_m[i + c] = count > 1 ? (float)(1.4826 * mad_m[c]) : NAN;
        b->mask[i + c] = count ? (uint16_t)(SDM_QA_VALID | (cells.measured[c] ? 0 : SDM_QA_FILLED) |
                                            (differ ? SDM_QA_DISAGREE : 0))
                               : SDM_QA_OUTSIDE;
    }
}

static SdmStatus block_open(SdmStack *s, size_t n, SdmBlock *b)
{
    PASS(SDM_ALLOC(s->ctx, "block", SDM_ARRAY(b->height_m, n), SDM_ARRAY(b->spread_m, n),
                   SDM_ARRAY(b->count, n), SDM_ARRAY(b->mask, n)));
    if (!s->opt->fusion)
        return SDM_OK;
    return SDM_ALLOC(s->ctx, "block", SDM_ARRAY(b->score, n), SDM_ARRAY(b->ray_error_m, n),
                     SDM_ARRAY(b->ortho, n), SDM_ARRAY(b->error_m, n), SDM_ARRAY(b->pairs, n));
}

static void block_close(SdmBlock *b)
{
    SDM_FREE(&b->height_m, &b->spread_m, &b->count, &b->mask, &b->score, &b->ray_error_m, &b->ortho,
             &b->error_m, &b->pairs);
}

SdmStatus sdm_stack_combine(SdmStack *s, SdmProduct *product, int *blocks)
{
    SDM_CLOSED_BY(layers_close) SdmBlockLayers p = {0};
    SDM_CLOSED_BY(block_close) SdmBlock b = {0};
    SDM_OWNED SdmTrendRow *value = NULL; /* threads x 2 x layers: heights of some cells */
    int64_t heights = 0;
    const SdmGrid *const part = &s->part;
    const int64_t edge = choose_edge(s), across = (part->cols + edge - 1) / edge,
                  down = (part->rows + edge - 1) / edge;
    int64_t at[2];
    sdm_part_at(&s->grid, part, at);
    PASS(layers_open(s, edge * edge, &p));
    PASS(block_open(s, (size_t)(edge * edge), &b));
    PASS(sdm_alloc(s->ctx, &value, 2 * (size_t)s->count * (size_t)s->threads, sizeof *value, "block"));
    if (s->trend)
        PASS(sdm_mean_map_open(s->ctx, s->part.cols, s->part.rows, SDM_CHANGE_PREVIEW, &s->trend->mean));
    for (int64_t k = 0; k < across * down; k++) {
        PASS(sdm_check_stop(s->ctx));
        sdm_progress(s->ctx, 8, 0.5 + 0.4 * (double)k / (double)(across * down),
                     s->opt->fusion ? "fuse the pairs" : "median of the cells");
        const int64_t col = k % across * edge, row = k / across * edge;
        b.col0 = at[0] + col;
        b.row0 = at[1] + row;
        b.w = edge < part->cols - col ? edge : part->cols - col;
        b.h = edge < part->rows - row ? edge : part->rows - row;
        PASS(read_layers(s, &b, &p));
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (int64_t i = 0; i < b.w * b.h; i += SDM_TREND_CELLS) {
            const int n = i + SDM_TREND_CELLS < b.w * b.h ? SDM_TREND_CELLS : (int)(b.w * b.h - i);
            for (int c = 0; c < n && s->opt->fusion; c++)
                sdm_fuse_cell(s, &p, i + c, &b);
            if (!s->opt->fusion)
                combine_cells(s, &p, value + 2 * (int64_t)sdm_thread() * s->count, i, n, &b);
        }
        PASS(sdm_part_take(s->ctx, s->options, &s->grid, part, &b));
        for (int64_t i = 0; i < b.w * b.h; i++)
            heights += !isnan(b.height_m[i]);
        PASS(sdm_product_write(s->ctx, product, &b));
        if (s->trend)
            PASS(sdm_trend_block(s, product, &b, &p));
    }
    if (heights == 0)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "none of the %d DEMs has a height%s, so there is nothing to combine", s->count,
                        s->opt->no_filled ? " that is not filled" : "");
    *blocks = (int)(across * down);
    return SDM_OK;
}
