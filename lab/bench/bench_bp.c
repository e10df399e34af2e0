/* Tiled belief propagation on the contest's workload: time, mismatches and energy. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_bp.h"
#include "bench/bench_device.h"
#include "bench/bench_pairs.h"
#include "core/math.h"

#include <math.h>
#include <string.h>

/* Differences of row y (or the nearest) at label l, added to sums with that sign. */
static void add_row(const SdmPairImage image[2], int y, int l, int most, int sign, int *sums)
{
    const int at = sdm_clamp(y, 0, image[0].height - 1);
    const int16_t *const left = image[0].data + at * image[0].stride, *const right = image[1].data +
                                                                                     at * image[1].stride;
    for (int x = 0; x < image[0].width; x++) {
        const int apart = x < l                    ? most
                          : left[x] < right[x - l] ? right[x - l] - left[x]
                                                   : left[x] - right[x - l];
        sums[x] += sign * (apart < most ? apart : most);
    }
}

SdmStatus sdm_bench_bp_costs(SdmContext *ctx, const SdmPairImage image[2], int window, int most, uint8_t *out)
{
    SdmStatus st = SDM_OK;
    const int w = image[0].width, h = image[0].height, half = window / 2, n = window * window;
    int *columns = NULL;
    TRY(sdm_alloc(ctx, &columns, (size_t)w, sizeof *columns, "column sums"));
    for (int l = 0; l < SDM_BENCH_BP_LABELS; l++) {
        memset(columns, 0, (size_t)w * sizeof *columns);
        for (int y = -half; y < half; y++)
            add_row(image, y, l, most, 1, columns);
        for (int y = 0; y < h; y++) {
            add_row(image, y + half, l, most, 1, columns);
            for (int x = 0; x < w; x++) {
                int sum = 0;
                for (int k = -half; k <= half; k++)
                    sum += columns[sdm_clamp(x + k, 0, w - 1)];
                const int mean = (2 * sum + n) / (2 * n);
                out[((size_t)y * (size_t)w + (size_t)x) * SDM_BENCH_BP_LABELS + (size_t)l] =
                    (uint8_t)(x < l ? most : mean);
            }
            add_row(image, y - half, l, most, -1, columns);
        }
    }
done:
    sdm_free(&columns);
    return st;
}

static SdmBpField contest_field(int width, int height, const uint8_t *data, int weight)
{
    return (SdmBpField){.width = width,
                        .height = height,
                        .labels = SDM_BENCH_BP_LABELS,
                        .pitch = SDM_BENCH_BP_LABELS,
                        .data = data,
                        .weight = weight,
                        .truncation = SDM_BENCH_BP_TRUNCATION};
}

SdmStatus sdm_bench_bp_row(SdmContext *ctx, const SdmBpField *field, const uint8_t *truth,
                           const char *cpu_level, SdmBenchBpRow *row)
{
    SdmStatus st = SDM_OK;
    const int longer = field->width > field->height ? field->width : field->height;
    const SdmBpPlan plan = {row->tile ? row->tile : longer, row->outer, row->inner};
    const size_t n = (size_t)field->width * (size_t)field->height;
    SdmBpField f = *field;
    uint16_t *label = NULL;
    f.weight = row->weight;
    row->seconds = INFINITY;
    TRY(sdm_alloc(ctx, &label, n, sizeof *label, "labels"));
    for (int turn = 0; turn < (row->inner > 5 ? 1 : 3); turn++) {
        const double begin = sdm_now_s();
        TRY(sdm_bp_run(ctx, &f, &plan, cpu_level, label));
        row->seconds = fmin(row->seconds, sdm_now_s() - begin);
    }
    sdm_bp_energy(&f, label, row->sums);
    row->wrong = 0;
    for (size_t i = 0; i < n; i++)
        row->wrong += truth[i] != 0 && truth[i] != label[i];
done:
    sdm_free(&label);
    return st;
}

/* ---- the case ---- */

typedef struct BpCall {
    SdmBpField field;
    SdmBpPlan plan;
    const char *level;
    uint16_t *label;
} BpCall;

static SdmStatus call_bp(SdmContext *ctx, void *data)
{
    const BpCall *const c = data;
    return sdm_bp_run(ctx, &c->field, &c->plan, c->level, c->label);
}

static SdmStatus add_tiles(SdmBench *b, const char *name, const SdmBpField *field, int tile, uint16_t *label)
{
    SdmStatus st = SDM_OK;
    const SdmBpPlan plan = {tile, 1, 1};
    SdmBenchCase made = {.name = name,
                         .output = "message",
                         .outputs = 8.0 * field->width * field->height,
                         .threads = sdm_threads(b->ctx),
                         .published = "7.96 ms Tesla C2050, 13 px; 15,716 mismatches on Tsukuba",
                         .call = call_bp};
    for (int l = 0; l < b->level_count; l++) {
        BpCall *c = NULL;
        TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
        *c = (BpCall){.field = *field, .plan = plan, .level = b->levels[l], .label = label};
        made.level = b->levels[l];
        made.data = c;
        TRY(sdm_bench_add(b, &made));
    }
    TRY(sdm_bench_add_bp_device(b, &made, field, &plan));
done:
    return st;
}

SdmStatus sdm_bench_add_bp(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    const int part = b->opt->quick ? 8 : 1, w = 384 / part, h = 288 / part;
    SdmPairImage image[2];
    uint8_t *costs = NULL;
    uint16_t *label = NULL;
    TRY(sdm_synthetic_pair(b, w, h, SDM_BENCH_BP_LABELS, true, image));
    TRY(sdm_bench_alloc(b, &costs, (size_t)w * (size_t)h, SDM_BENCH_BP_LABELS));
    TRY(sdm_bench_alloc(b, &label, (size_t)w * (size_t)h, sizeof *label));
    TRY(sdm_bench_bp_costs(b->ctx, image, SDM_BENCH_BP_WINDOW, SDM_BENCH_BP_MOST, costs));
    const SdmBpField field = contest_field(w, h, costs, SDM_BENCH_BP_WEIGHT);
    TRY(add_tiles(b, "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 32 px", &field, SDM_BENCH_BP_TILE,
                  label));
    TRY(add_tiles(b, "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 13 px", &field, SDM_BENCH_BP_PAPER_TILE,
                  label));
done:
    return st;
}
