/* Stage 5 with an optimizer: scores -> costs -> labels -> scores clamped to the labels. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/level_labels.h"

#include <string.h>

enum { COST_ONE = SDM_LABELS_MAX_COST, MAX_ROWS = SDM_LABELS_BAND + 2 * SDM_OVERLAP };

SdmStatus sdm_level_labels_open(SdmContext *ctx, const SdmLevelTask *task, const SdmPass *pass,
                                SdmLevelLabels *out)
{
    SdmStatus st = SDM_OK;
    const int rows = task->win.h < MAX_ROWS ? task->win.h : MAX_ROWS;
    *out = (SdmLevelLabels){.width = task->win.w, .height = task->win.h};
    if (sdm_optimizer_is_local(pass->optimizer))
        return SDM_OK;
    out->how = pass->optimizer;
    out->range = pass->range;
    out->volume = (SdmVolume){.width = task->win.w, .height = rows, .labels = 2 * pass->range + 1,
                              .first = -pass->range, .most = COST_ONE};
    TRY(sdm_volume_open(ctx, &out->volume));
    TRY(sdm_alloc_raw(ctx, &out->label, (size_t)rows * (size_t)task->win.w, sizeof *out->label, "labels"));
done:
    if (st != SDM_OK)
        sdm_level_labels_close(out);
    return st;
}

bool sdm_level_labels_next(SdmLevelLabels *l)
{
    const int h = l->height, band = l->how ? SDM_LABELS_BAND : h, overlap = l->how ? SDM_OVERLAP : 0;
    if (l->end >= h)
        return false;
    l->begin = l->end;
    l->end = l->begin + band < h ? l->begin + band : h;
    l->y0 = l->begin > overlap ? l->begin - overlap : 0;
    l->y1 = l->end + overlap < h ? l->end + overlap : h;
    return true;
}

int64_t sdm_match_label_bytes(const SdmMatchSettings *set, int64_t w, int64_t h)
{
    const int rows = h < MAX_ROWS ? (int)h : MAX_ROWS, labels = 2 * sdm_match_widest_range(set) + 1;
    if (sdm_optimizer_is_local(&set->optimizer))
        return 0;
    return w * rows * (sdm_volume_pitch(labels) + (int64_t)sizeof(uint16_t)) +
           sdm_optimize_bytes(&set->optimizer, (int)w, rows, labels);
}

void sdm_level_labels_close(SdmLevelLabels *l)
{
    sdm_volume_close(&l->volume);
    sdm_free(&l->label);
}

/* Cost of a score; COST_ONE of SDM_SCORE_NONE. */
static uint8_t cost_of(float score)
{
    const float c = (1.0f - score) * (float)COST_ONE + 0.5f, kept = c > 0.0f ? c : 0.0f;
    return (uint8_t)(kept < (float)COST_ONE ? (int)kept : COST_ONE);
}

void sdm_level_labels_cost(void *user, const SdmCostRow *row)
{
    const SdmLevelLabels *const l = user;
    const SdmVolume *const v = &l->volume;
    const int labels = v->labels;
    uint8_t *const out = v->cost + (ptrdiff_t)(row->y - l->y0) * v->width * v->pitch;
    for (int k = 0; k < labels; k++)
        for (int x = 0; x < v->width; x++)
            out[(ptrdiff_t)x * v->pitch + k] = cost_of(row->score[k * row->pitch + x]);
    for (int x = 0; x < v->width; x++) { /* without any score: its neighbours decide */
        bool any = false;
        for (int k = 0; k < labels && !any; k++)
            any = row->score[k * row->pitch + x] > SDM_SCORE_NONE;
        if (!any)
            memset(out + (ptrdiff_t)x * v->pitch, 0, (size_t)labels);
    }
}

SdmStatus sdm_level_labels_choose(SdmContext *ctx, const SdmLevelTask *task, SdmLevelLabels *l)
{
    const SdmLabels out = {.left = l->label};
    SdmVolume v = l->volume;
    v.height = l->y1 - l->y0;
    v.begin = l->begin - l->y0;
    v.end = l->end - l->y0;
    v.guide = task->left + (ptrdiff_t)l->y0 * l->width;
    v.guide_stride = l->width;
    v.guide_scale = SDM_LABELS_EDGE;
    return sdm_optimize(ctx, l->how, &v, &out);
}

static ptrdiff_t pitch_of(int width) { return ((ptrdiff_t)width + 15) / 16 * 16; }

size_t sdm_level_labels_clamp_bytes(const SdmPass *pass, int width)
{
    const size_t bytes = (size_t)pitch_of(width) * (size_t)(2 * pass->range + 1) * sizeof(float);
    return sdm_optimizer_is_local(pass->optimizer) ? 0 : (bytes + 63) / 64 * 64;
}

SdmCostRow sdm_level_labels_clamp(const SdmLevelLabels *l, const SdmCostRow *row, float *out)
{
    if (!l->how)
        return *row;
    const int w = row->width, count = l->volume.labels;
    const uint16_t *const label = l->label + (ptrdiff_t)(row->y - l->y0) * w;
    SdmCostRow clamped = *row;
    clamped.score = out;
    clamped.pitch = pitch_of(w);
    for (ptrdiff_t i = 0; i < clamped.pitch * count; i++)
        out[i] = SDM_SCORE_NONE;
    for (int x = 0; x < w; x++) {
        const int at = label[x], first = at > 1 ? at - 2 : 0, last = at < count - 2 ? at + 2 : count - 1;
        float best = SDM_SCORE_NONE;
        for (int k = at > 0 ? at - 1 : 0; k <= at + 1 && k < count; k++)
            best = row->score[k * row->pitch + x] > best ? row->score[k * row->pitch + x] : best;
        for (int k = first; k <= last; k++) {
            const float s = row->score[k * row->pitch + x];
            const bool beside = k < at - 1 || k > at + 1;
            out[k * clamped.pitch + x] = beside && s > best ? best : s;
        }
    }
    return clamped;
}
