/* Pairs of layers co-registered by Nuth & Kaab (2011) -> how far each layer lies off east and north. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg_grid.h"
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTNERS = 4, LONGEST = 1200, LEAST_CELLS = 400 };
static const double MOST_CELLS = 20.0; /* a pair farther apart than that has not converged */

static int by_samples(const void *a, const void *b)
{
    const SdmTie *const x = a, *const y = b;
    int order = (x->samples < y->samples) - (x->samples > y->samples); /* most first */
    order = order ? order : (x->a > y->a) - (x->a < y->a);
    return order ? order : (x->b > y->b) - (x->b < y->b);
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Keep, of the ties by falling overlap, each DEM's first few and what holds the groups together. */
static SdmStatus pick_pairs(SdmStack *s, SdmTie *ties, int *count)
{
    SdmStatus st = SDM_OK;
    int *parent = NULL, *partners = NULL, kept = 0;
    TRY(sdm_alloc(s->ctx, &parent, (size_t)s->count, sizeof *parent, "pairs"));
    TRY(sdm_alloc(s->ctx, &partners, (size_t)s->count, sizeof *partners, "pairs"));
    for (int i = 0; i < s->count; i++)
        parent[i] = i;
    qsort(ties, (size_t)*count, sizeof *ties, by_samples);
    for (int k = 0; k < *count; k++) {
        const SdmTie tie = ties[k];
        const int a = root_of(parent, tie.a), b = root_of(parent, tie.b);
        if (a == b && partners[tie.a] >= PARTNERS && partners[tie.b] >= PARTNERS)
            continue;
        parent[a] = b;
        partners[tie.a]++;
        partners[tie.b]++;
        ties[kept++] = tie;
    }
    *count = kept;
done:
    sdm_free(&partners);
    sdm_free(&parent);
    return st;
}

/* Window of cells around the middle of what both have. */
static SdmWindow common_window(const SdmStack *s, const SdmLayer *a, const SdmLayer *b)
{
    int64_t n = 0, sum[2] = {0, 0};
    const int64_t c0 = a->col0 > b->col0 ? a->col0 : b->col0, r0 = a->row0 > b->row0 ? a->row0 : b->row0;
    const int64_t ac = a->col0 + a->cols, bc = b->col0 + b->cols, ar = a->row0 + a->rows,
                  br = b->row0 + b->rows;
    const int64_t c1 = ac < bc ? ac : bc, r1 = ar < br ? ar : br, step = s->sample_step;
    for (int64_t i = 0; i < a->sample_cols * a->sample_rows; i++) {
        const int64_t col = a->sample_col0 + i % a->sample_cols, row = a->sample_row0 + i / a->sample_cols;
        const int64_t bcol = col - b->sample_col0, brow = row - b->sample_row0;
        if (isnan(a->sample[i]) || bcol < 0 || brow < 0 || bcol >= b->sample_cols || brow >= b->sample_rows ||
            isnan(b->sample[brow * b->sample_cols + bcol]))
            continue;
        sum[0] += col;
        sum[1] += row;
        n++;
    }
    const int64_t w = c1 - c0 < LONGEST ? c1 - c0 : LONGEST, h = r1 - r0 < LONGEST ? r1 - r0 : LONGEST;
    int64_t col0 = (n ? sum[0] / n * step : c0) - w / 2, row0 = (n ? sum[1] / n * step : r0) - h / 2;
    col0 = col0 < c0 ? c0 : col0 > c1 - w ? c1 - w : col0;
    row0 = row0 < r0 ? r0 : row0 > r1 - h ? r1 - h : row0;
    return (SdmWindow){.col0 = col0, .row0 = row0, .w = w, .h = h, .stride = 1};
}

static SdmStatus load(const SdmStack *s, const SdmTie *tie, SdmWindow w, SdmCells *c)
{
    SdmStatus st = SDM_OK, other = SDM_OK;
    int64_t both = 0;
    uint8_t *filled = NULL;
    const int64_t n = w.w * w.h;
    c->cols = w.w;
    c->rows = w.h;
    c->dx_m = s->dx_m;
    c->dy_m = s->dy_m;
    TRY(sdm_cells_alloc(s->ctx, c));
    TRY(sdm_alloc(s->ctx, &filled, 2 * (size_t)n, 1, "mask"));
#pragma omp parallel sections num_threads(s->threads > 1 ? 2 : 1)
    {
#pragma omp section
        st = sdm_layer_read(s, &s->layer[tie->a], w, c->dem_m, filled);
#pragma omp section
        other = sdm_layer_read(s, &s->layer[tie->b], w, c->ref_m, filled + n);
    }
    TRY(st);
    TRY(other);
    for (int64_t i = 0; i < n; i++) {
        if (i % w.w == 0)
            c->row_start[i / w.w] = both;
        const bool inside = !isnan(c->ref_m[i]) && !filled[n + i];
        const bool all = inside && !isnan(c->dem_m[i]) && !filled[i];
        c->flags[i] = (uint8_t)((inside ? SDM_CELL_INSIDE : 0) | (all ? SDM_CELL_BOTH : 0));
        both += all;
    }
    c->row_start[c->rows] = both;
done:
    sdm_free(&filled);
    return st;
}

/* Shift of a pair: DEM a(x, y) = DEM b(x + dx, y + dy) + dz, so a lies off by -dx more than b.
 * tie->samples becomes 0 when it cannot be told. */
static SdmStatus measure(const SdmStack *s, SdmTie *tie, double place_m[2])
{
    SdmStatus st = SDM_OK;
    SdmCells c = {.threads = s->threads};
    double shift_m[3];
    int open = 0; /* directions of which flat ground tells nothing */
    TRY(load(s, tie, common_window(s, &s->layer[tie->a], &s->layer[tie->b]), &c));
    tie->samples = 0;
    if (c.row_start[c.rows] < LEAST_CELLS)
        goto done;
    TRY(sdm_cells_align(s->ctx, &c, shift_m, &open));
    const int64_t n = sdm_cells_gather(&c, c.work, SDM_CELL_BOTH, SDM_CELL_BOTH, c.scratch);
    const double nmad = sdm_nmad_f32(c.scratch, n, NULL);
    const bool near = open == 0 && hypot(shift_m[0], shift_m[1]) < MOST_CELLS * s->dx_m;
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8, "%s to %s: dx %.2f dy %.2f dz %.2f m, NMAD %.2f m%s",
            s->layer[tie->a].path, s->layer[tie->b].path, shift_m[0], shift_m[1], shift_m[2], nmad,
            near ? "" : open ? ", not used: the ground is flat or a plane" : ", not used");
    if (near) {
        tie->samples = n;
        tie->weight = (double)n / (nmad * nmad + 0.01);
        place_m[0] = -shift_m[0];
        place_m[1] = -shift_m[1];
    }
done:
    sdm_cells_free(&c);
    return st;
}

SdmStatus sdm_stack_align_place(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    SdmTie *ties = NULL;
    double(*place_m)[2] = NULL, *x = NULL;
    int *group = NULL, count = 0, good = 0;
    TRY(sdm_stack_ties(s, &ties, &count));
    TRY(pick_pairs(s, ties, &count));
    TRY(sdm_alloc(s->ctx, &place_m, (size_t)count + 1, sizeof *place_m, "shifts"));
    TRY(sdm_alloc(s->ctx, &x, (size_t)s->count, sizeof *x, "shifts"));
    TRY(sdm_alloc(s->ctx, &group, (size_t)s->count, sizeof *group, "shifts"));
    for (int k = 0; k < count; k++) {
        SdmTie tie = ties[k];
        sdm_progress(s->ctx, 8, 0.3 + 0.2 * (double)k / count, "co-register pairs");
        TRY(measure(s, &tie, place_m[good]));
        if (tie.samples)
            ties[good++] = tie;
    }
    for (int axis = 0; axis < 2; axis++) {
        for (int k = 0; k < good; k++)
            ties[k].value = place_m[k][axis];
        TRY(sdm_adjust(s->ctx, s->count, ties, good, x, group, NULL));
        for (int i = 0; i < s->count; i++)
            s->layer[i].shift_m[axis] = x[i];
    }
done:
    sdm_free(&group);
    sdm_free(&x);
    sdm_free(&place_m);
    sdm_free(&ties);
    return st;
}
