/* Cases -> medians of interleaved timings. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { MOST_REPEATS = 99, MOST_LEVELS = 8, FEW = 3 };
static const double SHORTEST_S = 5e-3; /* a timing repeats the call until it takes this long */
static const double NO_CLOCK_S = 1e-7; /* no launch is so short: the driver's clock stands still */
static const double LONG_S = 1.0;      /* longer cases are timed FEW times at most */

SdmStatus sdm_bench_alloc(SdmBench *b, void *out, size_t count, size_t size)
{
    void *block = NULL;
    memcpy(out, &block, sizeof block); /* a T **, as of sdm_alloc() */
    if (b->owned_count == 4 * SDM_BENCH_CASES)
        return sdm_fail(b->ctx, SDM_ERR_MEMORY, "more blocks of memory than a bench has places for");
    const SdmStatus st = sdm_alloc(b->ctx, &block, count, size, "data of a bench");
    memcpy(out, &block, sizeof block);
    b->owned[b->owned_count++] = block;
    return st;
}

bool sdm_bench_wants(const SdmBench *b, const char *name)
{
    return !b->opt->only || strstr(name, b->opt->only);
}

SdmStatus sdm_bench_add(SdmBench *b, const SdmBenchCase *c)
{
    if (!sdm_bench_wants(b, c->name))
        return SDM_OK;
    if (b->count == SDM_BENCH_CASES)
        return sdm_fail(b->ctx, SDM_ERR_MEMORY, "more cases than a bench has places for (%d)",
                        (int)SDM_BENCH_CASES);
    b->cases[b->count++] = *c;
    return SDM_OK;
}

/* ---- timing ---- */

double sdm_bench_processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time of a case with one thread, since other work on the machine does not disturb it; else wall
 * time, or that of the device's clock, NaN where it stands still. */
static SdmStatus time_calls(SdmBench *b, const SdmBenchCase *c, int calls, double *seconds, double *cpu,
                            double *wall)
{
    const double begin = sdm_now_s(), cpu_begin = sdm_bench_processor_s();
    double clock_s = 0.0;
    for (int i = 0; i < calls; i++) {
        PASS(c->call(b->ctx, c->data));
        clock_s += c->clock_s ? *c->clock_s : 0.0;
    }
    *cpu = (sdm_bench_processor_s() - cpu_begin) / calls;
    *wall = (sdm_now_s() - begin) / calls;
    *seconds = c->clock_s ? clock_s / calls : c->threads == 1 ? *cpu : *wall;
    if (c->clock_s && *seconds < NO_CLOCK_S)
        *seconds = NAN;
    return SDM_OK;
}

/* Timings of one case. */
typedef struct Timings {
    int calls, repeats;
    double seconds[MOST_REPEATS], cpu[MOST_REPEATS];
} Timings;

/* Warm up, and choose from its time the number of calls of a timing and the number of timings. */
static SdmStatus warm_up(SdmBench *b, SdmBenchCase *c, Timings *t)
{
    double once = 0.0, wall = 0.0;
    t->repeats = 0;
    const SdmStatus st = time_calls(b, c, 1, &once, &t->cpu[0], &wall);
    if (st == SDM_ERR_MEMORY && c->threads == 0) { /* of a device, which has less than the workload needs */
        c->missing = "no memory";
        sdm_log(b->ctx, SDM_LOG_WARNING, 0, "%s is left out: %s", c->name, sdm_error(b->ctx));
        return SDM_OK;
    }
    PASS(st);
    if (isnan(once)) {
        once = wall;
        c->missing = "no clock";
        sdm_log(b->ctx, SDM_LOG_VERBOSE, 0, "%s: the device's clock stands still", c->name);
    }
    const double fit = SHORTEST_S / fmax(once, 1e-9);
    t->calls = b->opt->quick || fit < 1.0 ? 1 : fit > 1e6 ? 1000000 : (int)fit;
    t->repeats = once > LONG_S && b->opt->repeats > FEW ? FEW : b->opt->repeats;
    return SDM_OK;
}

/* Time the cases first..end-1, which have one name, interleaved. */
static SdmStatus time_group(SdmBench *b, int first, int end)
{
    Timings t[MOST_LEVELS];
    double wall;
    for (int i = first; i < end; i++)
        PASS(warm_up(b, &b->cases[i], &t[i - first]));
    for (int turn = 0; turn < b->opt->repeats; turn++)
        for (int i = first; i < end; i++) {
            Timings *const own = &t[i - first];
            PASS(sdm_check_stop(b->ctx));
            if (turn < own->repeats)
                PASS(time_calls(b, &b->cases[i], own->calls, &own->seconds[turn], &own->cpu[turn], &wall));
        }
    for (int i = first; i < end; i++) {
        Timings *const own = &t[i - first];
        const int good = (int)sdm_drop_nan_f64(own->seconds, own->repeats);
        b->cases[i].seconds = good ? sdm_median_f64(own->seconds, good) : (double)NAN;
        b->cases[i].cpu = own->repeats ? sdm_median_f64(own->cpu, own->repeats) : (double)NAN;
        b->cases[i].best = good ? sdm_select_f64(own->seconds, good, 0) : (double)NAN;
    }
    return SDM_OK;
}

SdmStatus sdm_bench_run(SdmBench *b)
{
    for (int first = 0, end = 0; first < b->count; first = end) {
        end = first + 1;
        while (end < b->count && end - first < MOST_LEVELS &&
               strcmp(b->cases[end].name, b->cases[first].name) == 0)
            end++;
        sdm_progress(b->ctx, 0, (double)first / b->count, b->cases[first].name);
        PASS(time_group(b, first, end));
    }
    return SDM_OK;
}
