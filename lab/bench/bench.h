/* Timings of the kernels and of the workloads of papers, with their bounds and published times. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_H
#define SDM_BENCH_H

#include "core/options.h"

typedef struct SdmBenchOptions {
    const char *csv, *markdown; /* files to write as well; NULL = none */
    int repeats;                /* timings of each case; their median counts */
    bool quick;                 /* small images: a test, the times mean nothing */
    int shrink;                 /* sides of images of 3962 x 4200 px are divided by it */
    const char *only;           /* time the cases whose name holds it alone; NULL = all */
    bool tune;              /* measure sizes of launches on the device instead, see sdm_bench_tune() */
    const char *tsukuba; /* folder of Middlebury's images for the curve of belief propagation; NULL = none */
} SdmBenchOptions;

extern const SdmOptionSpec sdm_bench_options[]; /* offsets into SdmBenchOptions */
void sdm_bench_default(SdmBenchOptions *opt);

/* The least work of a kernel, for its bound. */
typedef struct SdmBenchNeed {
    double operations, bits; /* vector operations an output, each on elements of so many bits */
    double bytes;            /* to and from memory, an output */
} SdmBenchNeed;

typedef struct SdmBenchDevice SdmBenchDevice;

/* One case: a call that makes `outputs` outputs. */
typedef struct SdmBenchCase {
    const char *name; /* "sad 9x9": cases of one name differ in the level, ascending, and are timed
                       * interleaved */
    const char *level;      /* name of the instruction set */
    const char *output;     /* the unit of an output: "score", "pixel", "run" */
    double outputs;
    int threads;            /* 0: a device */
    SdmBenchNeed need;      /* operations 0: no bound is known */
    const char *published;  /* papers: "4.88 ms, GeForce 940M"; else NULL */
    SdmStatus (*call)(SdmContext *ctx, void *data);
    void *data;
    const double *clock_s;  /* seconds of the last call by a device's own clock; NULL: the call is timed */
    const char *missing;    /* why there is no time (seconds is NaN), or NULL */
    double seconds, best; /* set: median and least time of a call; processor time with one thread, else wall
                           * time */
    double cpu;             /* set: processor time of all threads, median */
} SdmBenchCase;

enum { SDM_BENCH_CASES = 512 };

/* The cases of a call and their data; sdm_bench_close() frees all. */
typedef struct SdmBench {
    SdmContext *ctx;
    const SdmOptions *options; /* cpu_level and device count */
    const SdmBenchOptions *opt;
    const char *levels[8];  /* to be timed, ascending */
    int level_count;
    SdmBenchCase cases[SDM_BENCH_CASES];
    int count;
    void *owned[4 * SDM_BENCH_CASES]; /* of sdm_alloc */
    int owned_count;
    void *scene;            /* of bench_scene.c, and what closes it */
    void (*close_scene)(void *scene);
    struct SdmBenchDevice *device; /* of --device, NULL = none; see bench_device.h */
    double device_bandwidth, device_issue; /* of the device: bytes a second of a copy; instructions a second;
                                              0 = not measured, not known */
    double bandwidth;       /* bytes a second: triad of one thread */
    double bandwidth_all;   /* of all threads */
    double clock_hz;        /* estimated from a chain of multiplications */
    char machine[128];      /* name of the processor */
} SdmBench;

/* Check that the files asked for can be written, before hours of timing.  Changes nothing. */
SdmStatus sdm_bench_check(SdmContext *ctx, const SdmBenchOptions *opt);
/* Instruction sets by options->cpu_level, speed of memory, clock, device.  Both structs are borrowed as long
 * as *b lives.  Close after failure, too. */
SdmStatus sdm_bench_open(SdmContext *ctx, const SdmOptions *options, const SdmBenchOptions *opt, SdmBench *b);
void sdm_bench_close(SdmBench *b);

/* Add the cases of `what`: "kernels", "papers" or "all". */
SdmStatus sdm_bench_add_named(SdmBench *b, const char *what);
SdmStatus sdm_bench_add_kernels(SdmBench *b);
SdmStatus sdm_bench_add_pairs(SdmBench *b);
SdmStatus sdm_bench_add_papers(SdmBench *b);
SdmStatus sdm_bench_add_device_steps(SdmBench *b); /* of the chain; nothing without a device */
/* Time all cases that have no time yet: a warm-up each, then rounds over the cases of one name. */
SdmStatus sdm_bench_run(SdmBench *b);

/* Print tables for people, workloads of papers with their published times; write the files that are asked
 * for, CSV and Markdown.  SDM_ERR_IO. */
void sdm_bench_print_text(const SdmBench *b, FILE *to);
SdmStatus sdm_bench_write(const SdmBench *b);

/* Find the sizes of launches for the device of the bench.  Candidates are timed by its clock and logged. */
typedef struct SdmBenchTuned {
    char row[256];            /* for the table of gpu/tuning.c, with its seconds */
    double before[3], after[3]; /* seconds of zncc, census and a rectified pair: with the present row, the new
                                 * one */
} SdmBenchTuned;
SdmStatus sdm_bench_tune(SdmBench *b, SdmBenchTuned *out);

/* ---- for the files of lab/bench ---- */

/* Memory that lives as long as *b. */
SdmStatus sdm_bench_alloc(SdmBench *b, void *out /* T ** */, size_t count, size_t size);
/* A side of a large image, px: by --quick, or divided by --shrink. */
int sdm_bench_side(const SdmBench *b, int quick, int full);
/* Is a case of this name asked for by --only? */
bool sdm_bench_wants(const SdmBench *b, const char *name);
/* Append a case unless --only leaves it out; SDM_ERR_MEMORY when there are too many. */
SdmStatus sdm_bench_add(SdmBench *b, const SdmBenchCase *c);
/* Seconds that the bound takes for a call: *of gets "cycles" or "bytes". */
double sdm_bench_bound_s(const SdmBench *b, const SdmBenchCase *c, const char **of);
/* The case of the level below with the same name, NULL for the lowest. */
const SdmBenchCase *sdm_bench_below(const SdmBench *b, int index);

#endif
