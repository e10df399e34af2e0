/* A volume of costs and the settings of an optimizer -> labels. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/optimize.h"

#include "matching/belief_propagation.h"
#include "matching/label_subpixel.h"
#include "matching/sgm.h"

#include <string.h>

SdmStatus sdm_volume_open(SdmContext *ctx, SdmVolume *v)
{
    const size_t pixels = (size_t)v->width * (size_t)v->height;
    v->cost = NULL;
    if (v->labels < 1 || v->labels > SDM_LABELS_MAX)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%d labels to choose from: --optimizer sgm and bp take 1 to %d; give a smaller range",
                        v->labels, SDM_LABELS_MAX);
    v->pitch = sdm_volume_pitch(v->labels);
    PASS(sdm_alloc_raw(ctx, &v->cost, pixels + 1, (size_t)v->pitch,
                       "the volume of costs")); /* read on by a byte */
    if (v->pitch > v->labels)
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < pixels; i++)
            memset(v->cost + i * (size_t)v->pitch + v->labels, SDM_COST_PAD, (size_t)(v->pitch - v->labels));
    return SDM_OK;
}

void sdm_volume_close(SdmVolume *v)
{
    sdm_free(&v->cost);
}

SdmStatus sdm_optimizer_settings(SdmContext *ctx, const SdmOptions *o, const SdmPenalties *penalties,
                                 SdmOptimizer *out)
{
    *out = (SdmOptimizer){.p1 = o->p1 ? o->p1 : penalties->p1,
                          .p2 = o->p2 ? o->p2 : penalties->p2,
                          .paths = strcmp(o->paths, "4") == 0 ? 4 : 8,
                          .bp = {o->bp_tile, o->bp_outer, o->bp_inner},
                          .weight = o->bp_weight ? o->bp_weight : penalties->weight,
                          .truncation = o->bp_truncation ? o->bp_truncation : penalties->truncation,
                          .cpu_level = o->cpu_level};
    if (strcmp(o->optimizer, "sgm") == 0)
        out->kind = SDM_OPTIMIZER_SGM;
    else if (strcmp(o->optimizer, "bp") == 0)
        out->kind = SDM_OPTIMIZER_BP;
    if (out->kind == SDM_OPTIMIZER_SGM && out->p2 < out->p1)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--p2: found %d%s, expected at least --p1, which is %d%s; a larger step cannot cost less",
            out->p2, o->p2 ? "" : " (by the cost)", out->p1, o->p1 ? "" : " (by the cost)");
    return SDM_OK;
}

static SdmBpField field_of(const SdmOptimizer *how, const SdmVolume *v)
{
    return (SdmBpField){.width = v->width,
                        .height = v->height,
                        .labels = v->labels,
                        .pitch = v->pitch,
                        .data = v->cost,
                        .weight = how->weight,
                        .truncation = how->truncation};
}

void sdm_volume_energy(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const uint16_t *left,
                       int y0, int y1, int64_t sums[2])
{
    const SdmBpField f = field_of(how, v);
    int64_t data = 0, steps = 0;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(+ : data, steps)
    for (int y = y0; y < y1; y++) {
        int64_t row[2];
        sdm_bp_energy_rows(&f, left, y, y + 1, row);
        data += row[0];
        steps += row[1];
    }
    sums[0] += data;
    sums[1] += steps;
}

static SdmStatus optimize_bp(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v,
                             const SdmLabels *out)
{
    const SdmBpField f = field_of(how, v);
    const SdmStatus st = sdm_bp_run(ctx, &f, &how->bp, how->cpu_level, out->left);
    if (st == SDM_OK && out->right)
        sdm_right_labels(ctx, v, out->left, out->right);
    if (st == SDM_OK && out->near)
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (int y = v->begin; y < v->end; y++)
            sdm_label_costs(v, y, out);
    return st;
}

SdmStatus sdm_optimize(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out)
{
    switch (how->kind) {
    case SDM_OPTIMIZER_SGM:
        return sdm_sgm(ctx, how, v, out);
    case SDM_OPTIMIZER_BP:
        return optimize_bp(ctx, how, v, out);
    default:
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--optimizer local takes no volume of costs");
    }
}

int64_t sdm_optimize_bytes(const SdmOptimizer *how, int width, int height, int labels)
{
    if (how->kind == SDM_OPTIMIZER_BP)
        return sdm_bp_bytes(width, height, labels, how->bp.tile);
    return how->kind == SDM_OPTIMIZER_LOCAL ? 0 : sdm_sgm_bytes(width, height, labels);
}

void sdm_right_labels(SdmContext *ctx, const SdmVolume *v, const uint16_t *left, uint16_t *right)
{
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < v->height; y++) {
        const uint16_t *const from = left + (ptrdiff_t)y * v->width;
        uint16_t *const to = right + (ptrdiff_t)y * v->width;
        const uint8_t *const row = v->cost + (ptrdiff_t)y * v->width * v->pitch;
        memset(to, 0xFF, (size_t)v->width * sizeof *to);
        for (int x = 0; x < v->width; x++) {
            const int l = from[x], meets = x + v->first + l;
            if (l >= v->labels || meets < 0 || meets >= v->width)
                continue;
            const int rival = to[meets];
            const ptrdiff_t other = meets - v->first - rival; /* left pixel that came before */
            if (rival == SDM_LABEL_NONE || row[(ptrdiff_t)x * v->pitch + l] < row[other * v->pitch + rival])
                to[meets] = (uint16_t)l;
        }
    }
}
