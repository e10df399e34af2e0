/* Tiled belief propagation on the contest's workload: its time. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_bp.h"
#include "bench/bench_device.h"

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
    const int part = b->opt->quick ? 8 : 1, w = 384 / part, h = 288 / part, n = w * h * SDM_BENCH_BP_LABELS;
    uint8_t *costs = NULL;
    uint16_t *label = NULL;
    uint32_t random = 1;
    TRY(sdm_bench_alloc(b, &costs, (size_t)n, 1));
    TRY(sdm_bench_alloc(b, &label, (size_t)w * (size_t)h, sizeof *label));
    for (int i = 0; i < n; i++) { /* the time does not depend on the costs */
        random = random * 1664525u + 1013904223u;
        costs[i] = (uint8_t)((random >> 16) % (SDM_BENCH_BP_MOST + 1));
    }
    const SdmBpField field = {.width = w, .height = h, .labels = SDM_BENCH_BP_LABELS,
                              .pitch = SDM_BENCH_BP_LABELS, .data = costs, .weight = SDM_BENCH_BP_WEIGHT,
                              .truncation = SDM_BENCH_BP_TRUNCATION};
    TRY(add_tiles(b, "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 32 px", &field, SDM_BENCH_BP_TILE,
                  label));
    TRY(add_tiles(b, "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 13 px", &field, SDM_BENCH_BP_PAPER_TILE,
                  label));
done:
    return st;
}
