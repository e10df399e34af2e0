/* Layers that are DEMs of pairs of common views -> one height for each cell, from those that agree; its QA
 * values. */
// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"
#include "core/qa_reasons.h"
#include "core/stats.h"
#include "coreg/stack_layer.h"
#include "geo/gdal_scope.h"

#include <math.h>
#include <string.h>

static const double FILLED_SCORE = 0.3;      /* a height that is filled everywhere needs it, */
static const double FILLED_SHARE = 0.6;      /* and more where it is that of fewer pairs that see the cell */
static const double MOST_NMADS = 5.0;        /* of the median pair */
static const double AGREE_NMADS = 4.0;       /* heights farther apart do not enter one mean */
static const double SURFACE_SHARE = 0.4;     /* of the votes lies below the surface, or at it */
static const double LEAST_SHIFT_CELLS = 0.1; /* resampling would cost more than a smaller one */
enum { NONE = 65535, SCORE = 0, RAY_ERROR, SPREAD, COUNT, MASK };

/* ---- alignment ---- */

/* Predicted errors are right up to a factor that images of one place share: the median, over pairs of DEMs
 * that are not of the same two views, of the NMAD of their differences in units of the predicted one. */
static SdmStatus scale_errors(SdmStack *s, const SdmObservation *pair, int count)
{
    SDM_OWNED double *error_m = NULL, *ratio = NULL;
    int n = 0;
    PASS(SDM_ALLOC(s->ctx, "errors of DEMs", SDM_ARRAY(error_m, (size_t)s->count),
                   SDM_ARRAY(ratio, (size_t)count + 1)));
    for (int i = 0; i < s->count; i++)
        PASS(sdm_layer_median_error(s, &s->layer[i], &error_m[i]));
    for (int k = 0; k < count; k++) {
        const int *const a = s->opt->fusion->dem[s->layer[pair[k].a].given].view,
                         *const b = s->opt->fusion->dem[s->layer[pair[k].b].given].view;
        const double expected_m = hypot(error_m[pair[k].a], error_m[pair[k].b]);
        if (expected_m > 0.0 && !(a[0] == b[1] && a[1] == b[0]) && !(a[0] == b[0] && a[1] == b[1]))
            ratio[n++] = pair[k].spread / expected_m;
    }
    s->error_scale = n ? sdm_median_f64(ratio, n) : 1.0;
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8, "predicted errors times %.2f", s->error_scale);
    return SDM_OK;
}

static const SdmLayer *layer_of(const SdmStack *s, int given)
{
    const SdmLayer *l = s->layer;
    while (l->given != given)
        l++;
    return l;
}

SdmStatus sdm_fusion_refer(SdmStack *s, const SdmObservation *pair, int count)
{
    const SdmLayer *const place = layer_of(s, s->opt->fusion->place), *const reference = layer_of(s, 0);
    const double shift_m[3] = {place->shift_m[0], place->shift_m[1], reference->shift_m[2]};
    const int group = reference->group;
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < 3 && s->layer[i].group == group; k++)
            s->layer[i].shift_m[k] -= shift_m[k];
    for (int i = 0; i < s->count; i++)
        if (hypot(s->layer[i].shift_m[0], s->layer[i].shift_m[1]) < LEAST_SHIFT_CELLS * s->dy_m)
            s->layer[i].shift_m[0] = s->layer[i].shift_m[1] = 0.0;
    SDM_OWNED double *nmad = NULL;
    PASS(SDM_ALLOC(s->ctx, "pairs of DEMs", SDM_ARRAY(s->tolerance_m, (size_t)s->count * (size_t)s->count),
                   SDM_ARRAY(nmad, (size_t)count + 1)));
    for (int i = 0; i < s->count * s->count; i++)
        s->tolerance_m[i] = INFINITY;
    for (int k = 0; k < count; k++)
        nmad[k] = pair[k].nmad;
    const double most = MOST_NMADS * sdm_median_f64(nmad, count); /* a spoilt DEM is given no more room */
    for (int k = 0; k < count; k++)
        s->tolerance_m[pair[k].a * s->count + pair[k].b] = s->tolerance_m[pair[k].b * s->count + pair[k].a] =
            AGREE_NMADS * fmax(fmin(pair[k].nmad, most), s->opt->fusion->least_m);
    return scale_errors(s, pair, count);
}

/* ---- reading ---- */

/* The nearest cells of a file on the layer's pixels over a block: its first bands -> out, which is filled,
 * band after band in each cell.  *nodata: of the file; NaN: none. */
static SdmStatus read_cells(const SdmStack *s, const SdmLayer *l, const SdmBlock *b, const char *path,
                            void *out, double *nodata)
{
    const bool is_qa = path == l->qa;
    const GDALDataType type = is_qa ? GDT_UInt16 : GDT_Float32;
    const int bands = is_qa ? SDM_FUSED_BANDS : 1;
    const GSpacing size = GDALGetDataTypeSizeBytes(type), cell = size * bands;
    const double col = (s->grid.x0 - l->transform[0]) / s->grid.spacing + l->shift_m[0] / s->dx_m,
                 row = (l->transform[3] - s->grid.y0) / s->grid.spacing - l->shift_m[1] / s->dy_m;
    /* the pixel under the block's first cell, which may lie outside; the cells that lie in the file */
    const int64_t x = b->col0 + (int64_t)floor(col + 0.5), y = b->row0 + (int64_t)floor(row + 0.5),
                  c0 = x < 0 ? -x : 0, r0 = y < 0 ? -y : 0,
                  cols = (l->width - x < b->w ? l->width - x : b->w) - c0,
                  rows = (l->height - y < b->h ? l->height - y : b->h) - r0;
    int has = 0;
    if (cols <= 0 || rows <= 0)
        return SDM_OK;
    SDM_CLOSED_BY(sdm_dataset_close)
    GDALDatasetH const file = GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR, NULL, NULL, NULL);
    bool good = file && GDALGetRasterCount(file) >= bands;
    if (good) {
        *nodata = GDALGetRasterNoDataValue(GDALGetRasterBand(file, 1), &has);
        *nodata = has ? *nodata : (double)NAN;
        good = GDALDatasetRasterIOEx(file, GF_Read, (int)(x + c0), (int)(y + r0), (int)cols, (int)rows,
                                     (char *)out + (r0 * b->w + c0) * cell, (int)cols, (int)rows, type, bands,
                                     NULL, cell, cell * b->w, size, NULL) == CE_None;
    }
    return good ? SDM_OK
                : sdm_fail(s->ctx, SDM_ERR_INPUT, "%s: cannot be read, it may be damaged (GDAL: %s)", path,
                           CPLGetLastErrorMsg());
}

SdmStatus sdm_fused_read_ortho(const SdmStack *s, const SdmLayer *l, const SdmBlock *b, float **out)
{
    char path[SDM_PATH_SIZE];
    const char *const dot = strrchr(l->path, '.');
    const size_t n = (size_t)(b->w * b->h);
    double nodata = NAN;
    PASS(sdm_alloc_raw(s->ctx, out, n, sizeof **out, "block"));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = NAN;
    PASS(sdm_format(s->ctx, path, sizeof path, "%.*s_ortho.tif", (int)(dot ? dot - l->path : 0), l->path));
    PASS(read_cells(s, l, b, path, *out, &nodata));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (double)(*out)[i] == nodata ? NAN : (*out)[i];
    return SDM_OK;
}

SdmStatus sdm_fused_read_qa(const SdmStack *s, const SdmLayer *l, const SdmBlock *b, uint16_t **out)
{
    const size_t n = (size_t)(b->w * b->h) * SDM_FUSED_BANDS;
    double nodata;
    SDM_QUIET;
    PASS(sdm_alloc_raw(s->ctx, out, n, sizeof **out, "block"));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = i % SDM_FUSED_BANDS == MASK ? SDM_QA_OUTSIDE : NONE;
    return l->qa ? read_cells(s, l, b, l->qa, *out, &nodata) : SDM_OK;
}

/* ---- a cell ---- */

typedef struct Cell {
    const SdmStack *s;
    const SdmBlockLayers *in;
    int64_t i;                           /* its number in the block */
    double height_m[SDM_MAX_VIEW_PAIRS]; /* of the layers; NaN: none */
} Cell;

static const SdmLayer *at_cell(const Cell *c, int k)
{
    return &c->s->layer[c->in->index[k]];
}

static uint16_t qa_of(const Cell *c, int k, int band)
{
    return c->in->qa[k][c->i * SDM_FUSED_BANDS + band];
}

/* 0..1; 0 where the layer has none. */
static double score_of(const Cell *c, int k)
{
    const uint16_t v = qa_of(c, k, SCORE);
    return v == NONE ? 0.0 : v * 0.01;
}

/* Do two heights differ by no more than the tolerance? */
static bool agree(const Cell *c, int a, int b)
{
    const double most = c->s->tolerance_m[c->in->index[a] * c->s->count + c->in->index[b]];
    return a == b ? !isnan(c->height_m[a]) : fabs(c->height_m[a] - c->height_m[b]) <= most;
}

/* The height below which two fifths of the votes lie: windows carry roofs outwards and hidden ground is
 * filled from what stands beside it, so wrong heights are more often too high; -1: there is none. */
static int find_surface(const Cell *c)
{
    int order[SDM_MAX_VIEW_PAIRS], n = 0;
    double votes[SDM_MAX_VIEW_PAIRS], all = 0.0, below = 0.0;
    for (int k = 0; k < c->in->count; k++) {
        int at = n;
        if (isnan(c->height_m[k]))
            continue;
        for (; at > 0 && c->height_m[order[at - 1]] > c->height_m[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
        votes[k] = score_of(c, k) * c->s->opt->fusion->dem[at_cell(c, k)->given].trust;
        all += votes[k];
        n++;
    }
    for (int k = 0; k < n; k++) {
        below += votes[order[k]];
        if (below >= SURFACE_SHARE * all)
            return order[k];
    }
    return n - 1;
}

/* Which layers have a height of the surface: measured ones alone where there is one.  @return one of them is
 * measured */
static bool find_members(const Cell *c, int surface, bool *member)
{
    bool measured = false;
    for (int k = 0; k < c->in->count; k++) {
        member[k] = surface >= 0 && agree(c, surface, k);
        measured = measured || (member[k] && !c->in->filled[k][c->i]);
    }
    for (int k = 0; k < c->in->count; k++)
        member[k] = member[k] && !(measured && c->in->filled[k][c->i]);
    return measured;
}

/* Agreement of the pairs in a cell. */
typedef struct Agreed {
    int seen, pairs, leading;    /* that see the cell, that agree, and that of the largest weight; -1: none */
    bool measured, contradicted; /* contradicted: by a measured height of another surface */
    double best_score, weights, heights_m, errors_m; /* the last two: sums with the weights */
    unsigned points, mask;
} Agreed;

static Agreed add_up(const Cell *c)
{
    Agreed a = {.leading = -1};
    bool member[SDM_MAX_VIEW_PAIRS];
    const int surface = find_surface(c);
    a.measured = find_members(c, surface, member);
    for (int k = 0; k < c->in->count; k++) {
        const double weight = at_cell(c, k)->weight;
        const uint16_t points = qa_of(c, k, COUNT);
        const bool near = surface >= 0 && agree(c, surface, k);
        a.seen += !(qa_of(c, k, MASK) & SDM_QA_OUTSIDE);
        a.contradicted = a.contradicted || (!near && !isnan(c->height_m[k]) && !c->in->filled[k][c->i]);
        a.best_score = near ? fmax(a.best_score, score_of(c, k)) : a.best_score;
        if (!member[k])
            continue;
        a.pairs++;
        a.leading = a.leading < 0 || weight > at_cell(c, a.leading)->weight ? k : a.leading;
        a.weights += weight;
        a.heights_m += weight * c->height_m[k];
        a.errors_m += weight * (double)(c->in->error_m[k] ? c->in->error_m[k][c->i] : NAN);
        a.points += points == NONE ? 0 : points;
        a.mask |= qa_of(c, k, MASK);
    }
    return a;
}

/* A cell without a height: the reasons of the pairs that see it. */
static unsigned reasons(const Cell *c)
{
    unsigned mask = 0;
    for (int k = 0; k < c->in->count; k++)
        mask |= qa_of(c, k, MASK) & SDM_QA_OUTSIDE ? 0 : qa_of(c, k, MASK);
    mask &= ~(unsigned)(SDM_QA_VALID | SDM_QA_FILLED);
    return mask ? mask : SDM_QA_OUTSIDE;
}

static float in_metres(const Cell *c, int k, int band)
{
    const uint16_t v = k < 0 ? NONE : qa_of(c, k, band);
    return v == NONE ? NAN : (float)(v * c->in->qa_step_m);
}

void sdm_fuse_cell(const SdmStack *s, const SdmBlockLayers *in, int64_t i, SdmBlock *b)
{
    Cell c = {.s = s, .in = in, .i = i};
    for (int k = 0; k < in->count; k++)
        c.height_m[k] = (double)in->height_m[k][i] -
                        sdm_layer_bias(s, at_cell(&c, k), b->col0 + i % b->w, b->row0 + i / b->w);
    const Agreed a = add_up(&c);
    const double share = a.pairs / fmax(a.seen, 1.0), least = FILLED_SCORE * fmax(1.0, FILLED_SHARE / share);
    const bool dropped = a.pairs > 0 && !a.measured && (a.best_score < least || s->opt->no_filled);
    const bool none = a.pairs == 0 || dropped;
    b->height_m[i] = none ? NAN : (float)(a.heights_m / a.weights);
    b->score[i] = none ? NAN : (float)a.best_score;
    b->error_m[i] = none ? NAN : (float)(s->error_scale * a.errors_m / (a.weights * share));
    b->ray_error_m[i] = none ? NAN : in_metres(&c, a.leading, RAY_ERROR);
    b->spread_m[i] = none ? NAN : in_metres(&c, a.leading, SPREAD);
    b->count[i] = (uint16_t)(none ? 0 : a.points < NONE ? a.points : NONE - 1);
    b->pairs[i] = (uint16_t)(none ? 0 : a.pairs);
    b->mask[i] = (uint16_t)(none ? reasons(&c) | (dropped ? SDM_QA_LOW_SCORE : 0)
                                 : ((a.mask & ~(unsigned)(SDM_QA_FILLED | SDM_QA_OUTSIDE)) | SDM_QA_VALID |
                                    (a.measured ? 0 : SDM_QA_FILLED) |
                                    (a.contradicted && a.pairs == 1 ? SDM_QA_DISAGREE : 0)));
    b->ortho[i] = NAN;
    for (int k = 0; k < in->count; k++)
        if (in->ortho[k] && !isnan(in->ortho[k][i]) && (isnan(b->ortho[i]) || k == a.leading))
            b->ortho[i] = in->ortho[k][i];
}
