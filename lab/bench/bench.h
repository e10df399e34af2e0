/* Timings of the kernels and of the workloads of papers, with their published times. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options.h"
#include "gpu/launch.h"

typedef struct SdmBenchOptions {
    const char *csv;  /* file to write as well; NULL = none */
    int repeats;      /* timings of each case; their median counts */
    bool quick;       /* small images: a test, the times mean nothing */
    const char *only; /* time the cases whose name holds it alone; NULL = all */
    bool tune;        /* measure sizes of launches on the device instead, see sdm_bench_tune() */
} SdmBenchOptions;

extern const SdmOptionSpec sdm_bench_options[]; /* offsets into SdmBenchOptions */
void sdm_bench_default(SdmBenchOptions *opt);
/* Time the cases of `what`, "kernels", "papers" or "all", at the instruction sets of options->cpu_level and
 * on options->device; print tables to `to`, write the CSV file.  With --tune: print a row of gpu/tuning.c. */
SdmStatus sdm_bench(SdmContext *ctx, const SdmOptions *options, const SdmBenchOptions *opt, const char *what,
                    FILE *to);

/* One case: a call that makes `outputs` outputs. */
typedef struct SdmBenchCase {
    const char *name;   /* "sad 9x9": cases of one name differ in the level, ascending, and are timed
                       * interleaved */
    const char *level;  /* name of the instruction set */
    const char *output; /* the unit of an output: "score", "pixel", "run" */
    double outputs;
    int threads;           /* 0: a device */
    const char *published; /* papers: "4.88 ms, GeForce 940M"; else NULL */
    SdmStatus (*call)(SdmContext *ctx, void *data);
    void *data;
    const double *clock_s; /* seconds of the last call by a device's own clock; NULL: the call is timed */
    const char *missing;   /* why there is no time (seconds is NaN), or NULL */
    double seconds, best;  /* set: median and least time of a call; processor time with one thread, else wall
                           * time */
    double cpu;            /* set: processor time of all threads, median */
} SdmBenchCase;

enum { SDM_BENCH_CASES = 512 };

/* The cases of a call and their data. */
typedef struct SdmBench {
    SdmContext *ctx;
    const SdmOptions *options; /* cpu_level and device count */
    const SdmBenchOptions *opt;
    const char *levels[8]; /* to be timed, ascending */
    int level_count;
    SdmBenchCase cases[SDM_BENCH_CASES];
    int count;
    void *owned[4 * SDM_BENCH_CASES]; /* of sdm_alloc */
    int owned_count;
    struct SdmBenchScene *scene; /* of bench_scene.c; NULL = none yet */
    SdmDevice *device;           /* of --device, NULL = none */
    SdmGpu gpu;
    char device_name[2][48]; /* "cuda:0", "cuda:0 kernels" */
    char machine[128];       /* name of the processor */
} SdmBench;

/* ---- for the files of lab/bench ---- */

/* Add cases. */
SdmStatus sdm_bench_add_kernels(SdmBench *b);
SdmStatus sdm_bench_add_pairs(SdmBench *b, bool papers);
SdmStatus sdm_bench_add_scenes(SdmBench *b); /* main processing, a paper's */
/* Time all cases: a warm-up each, then rounds over the cases of one name. */
SdmStatus sdm_bench_run(SdmBench *b);
double sdm_bench_processor_s(void); /* clock of all threads */
/* A table for people, workloads of papers with their published times; the file of --csv.  SDM_ERR_IO. */
void sdm_bench_print_text(const SdmBench *b, FILE *to);
SdmStatus sdm_bench_write_csv(const SdmBench *b);
/* Find the sizes of launches for the device of the bench and print their row for the table of gpu/tuning.c,
 * with its seconds.  Candidates are timed by its clock and logged. */
SdmStatus sdm_bench_tune(SdmBench *b, FILE *to);

/* Memory that lives as long as *b. */
SdmStatus sdm_bench_alloc(SdmBench *b, void *out /* T ** */, size_t count, size_t size);
/* Is a case of this name asked for by --only? */
bool sdm_bench_wants(const SdmBench *b, const char *name);
/* Append a case unless --only leaves it out; SDM_ERR_MEMORY when there are too many. */
SdmStatus sdm_bench_add(SdmBench *b, const SdmBenchCase *c);

/* Not added: a paper's pair that is matched on the device, both ways, by the device's clock. */
SdmStatus sdm_bench_pair_kernels(SdmBench *b, SdmBenchCase *out);

/* ---- main processing (all levels below the coarse one) on the synthetic scene ---- */

/* Make the scene of width x height frame pixels, rounded down to multiples of 16.  It lives as long as *b,
 * which has one: asked for again, it stays. */
SdmStatus sdm_bench_scene_open(SdmBench *b, int width, int height);
void sdm_bench_scene_close(SdmBench *b);
/* Seconds by the device's clock of one run with that cost. */
SdmStatus sdm_bench_scene_device_s(SdmBench *b, const char *cost, double *seconds);
