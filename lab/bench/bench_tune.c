/* Candidates for the sizes of launches -> the fastest row for a device. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "gpu/device.h"

#include <string.h>

enum { STRIP_ITEMS = 64 /* fixed by their local memory */, LEAST_GROUP = 32 };
static const double WORTH = 0.99; /* less than that of the time: it is taken instead */
static const char *const costs[3] = {"zncc", "census", "pair"}; /* what is timed; pair: the paper's ZNCC */

typedef struct Tune {
    SdmBench *bench;
    SdmBenchCase pair; /* the paper's, by the device's clock */
    SdmTuning best;
    double best_s;
} Tune;

/* One run, seconds by the device's clock: the main processing with a cost, or a rectified pair. */
static SdmStatus measure_once(Tune *t, const char *cost, double *seconds)
{
    if (strcmp(cost, "pair") != 0)
        return sdm_bench_scene_device_s(t->bench, cost, seconds);
    PASS(t->pair.call(t->bench->ctx, t->pair.data));
    *seconds = *t->pair.clock_s;
    return SDM_OK;
}

/* Least seconds with a row. */
static SdmStatus measure(Tune *t, const SdmTuning *row, const char *cost, double *seconds)
{
    double s;
    sdm_device_set_tuning(t->bench->device, row);
    PASS(measure_once(t, cost, seconds)); /* warms up, too */
    for (int i = 1; i < t->bench->opt->repeats; i++) {
        PASS(sdm_check_stop(t->bench->ctx));
        PASS(measure_once(t, cost, &s));
        *seconds = s < *seconds ? s : *seconds;
    }
    return SDM_OK;
}

/* Time a candidate against the best so far.  places: the two fields of the row that it sets. */
static SdmStatus try_sizes(Tune *t, const char *what, const char *cost, int *const places[2], int a, int b)
{
    const SdmTuning before = t->best;
    double seconds = 0.0;
    if (*places[0] == a && *places[1] == b)
        return SDM_OK;
    *places[0] = a;
    *places[1] = b;
    PASS(measure(t, &t->best, cost, &seconds));
    const bool better = seconds < WORTH * t->best_s;
    sdm_log(t->bench->ctx, SDM_LOG_INFO, 0, "%s %d x %d: %s %.3f ms%s", what, a, b, cost, 1e3 * seconds,
            better ? ", better" : "");
    if (better)
        t->best_s = seconds;
    else
        t->best = before;
    return SDM_OK;
}

/* Every pair of two lists that end with 0; at most `most` items. */
static SdmStatus try_all(Tune *t, const char *what, const char *cost, int *const places[2], const int *first,
                         const int *second, int most)
{
    PASS(measure(t, &t->best, cost, &t->best_s));
    sdm_log(t->bench->ctx, SDM_LOG_INFO, 0, "%s, as it is: %s %.3f ms", what, cost, 1e3 * t->best_s);
    for (int i = 0; first[i]; i++)
        for (int j = 0; second[j]; j++)
            if (most == 0 || (first[i] * second[j] <= most && first[i] * second[j] >= LEAST_GROUP))
                PASS(try_sizes(t, what, cost, places, first[i], second[j]));
    return SDM_OK;
}

/* One kind of size after the other. */
static SdmStatus try_kinds(Tune *t)
{
    static const int strips[] = {8, 16, 32, 64, 128, 0}, rows[] = {16, 32, 64, 128, 0},
                     items[] = {32, 64, 128, 256, 0}, widths[] = {8, 16, 32, 64, 128, 256, 0},
                     heights[] = {1, 2, 4, 8, 16, 0};
    SdmTuning *const r = &t->best;
    int items_of_strip = STRIP_ITEMS;
    PASS(try_all(t, "strips, rows x items", "zncc", (int *const[2]){&r->strip_rows, &items_of_strip}, strips,
                 (const int[]){STRIP_ITEMS, 0}, 0));
    PASS(try_all(t, "window sums, rows x items", "census", (int *const[2]){&r->sum_rows, &r->sum_items}, rows,
                 items, 0));
    PASS(try_all(t, "column sums, rows x items", "zncc", (int *const[2]){&r->column_rows, &r->column_items},
                 rows, items, 0));
    PASS(try_all(t, "pairs, rows x items", "pair", (int *const[2]){&r->pair_rows, &r->pair_items}, rows,
                 items, 0));
    return try_all(t, "pixels, items", "zncc", (int *const[2]){&r->pixel_w, &r->pixel_h}, widths, heights,
                   SDM_TUNING_MOST_GROUP);
}

SdmStatus sdm_bench_tune(SdmBench *b, FILE *to)
{
    SdmStatus st = SDM_OK;
    Tune t = {.bench = b};
    const SdmTuning before = t.best = *sdm_device_tuning(b->device);
    const SdmTuning *const r = &t.best;
    double was[3], is[3]; /* seconds of each cost */
    TRY(sdm_bench_scene_open(b, b->opt->quick ? 320 : 3962, b->opt->quick ? 256 : 4200));
    TRY(sdm_bench_pair_kernels(b, &t.pair));
    TRY(try_kinds(&t));
    for (int i = 0; i < 3; i++) {
        TRY(measure(&t, &before, costs[i], &was[i]));
        TRY(measure(&t, r, costs[i], &is[i]));
    }
    fprintf(to,
            "{\"%.100s\", %d, %d, %d, %d, %d, %d, %d, %d, %d}, "
            "/* zncc %.2f ms, census %.2f, pair %.3f; before %.2f, %.2f, %.3f */\n",
            sdm_device_info(b->device)->name, r->strip_rows, r->sum_rows, r->sum_items, r->column_rows,
            r->column_items, r->pixel_w, r->pixel_h, r->pair_rows, r->pair_items, 1e3 * is[0], 1e3 * is[1],
            1e3 * is[2], 1e3 * was[0], 1e3 * was[1], 1e3 * was[2]);
done:
    sdm_device_set_tuning(b->device, &before);
    return st;
}
