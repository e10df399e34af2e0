/* Times the chain's main processing (levels below the coarse one, one thread team) on a synthetic scene,
 * without any file: bench_main_processing [--size 3962x4200] [--cost zncc] [--threads N] [--cpu-level auto]
 * [--runs 3] CSV on standard output: what,seconds,ns_per_pixel; the median of the runs (of
 * the gridding that follows the least), pixels of the frame. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic.h"
#include "core/stats.h"
#include "matching/gridding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COARSE = 3, MOST_RUNS = 99 };

typedef struct Request {
    int width, height, threads, runs;
    const char *cost, *cpu_level;
} Request;

static bool parse_one(Request *q, const char *name, const char *value)
{
    if (strcmp(name, "--size") == 0)
        return sscanf(value, "%dx%d", &q->width, &q->height) == 2 && q->width >= 64 && q->height >= 64;
    if (strcmp(name, "--cost") == 0)
        return (q->cost = value) != NULL;
    if (strcmp(name, "--cpu-level") == 0)
        return (q->cpu_level = value) != NULL;
    if (strcmp(name, "--threads") == 0)
        return (q->threads = atoi(value)) >= 1;
    if (strcmp(name, "--runs") == 0)
        return (q->runs = atoi(value)) >= 1 && q->runs <= MOST_RUNS;
    return false;
}

static bool parse(Request *q, int argc, char **argv)
{
    bool good = argc % 2 == 1;
    for (int i = 1; good && i + 1 < argc; i += 2)
        good = parse_one(q, argv[i], argv[i + 1]);
    q->width = q->width / 16 * 16; /* whole pixels of the coarse level and of the lattice */
    q->height = q->height / 16 * 16;
    return good;
}

static void print_line(const Request *q, const char *what, double seconds)
{
    printf("%s,%.4f,%.2f\n", what, seconds, 1e9 * seconds / ((double)q->width * q->height));
}

/* What comes next: gridding to cells of two pixels a side. */
static SdmStatus time_gridding(SdmContext *ctx, const Request *q, const SynScene *scene,
                               const SdmMatchSettings *settings, const SdmFineResult *r)
{
    SdmStatus st = SDM_OK;
    SdmBlock block = {.w = 0};
    double least = 1e30;
    const SdmGridding how = {.kernels = settings->kernels, .lattice = &scene->lattice,
                             .spacing = 2.0 * SYN_GSD_M, .gsd_m = SYN_GSD_M, .spacing_m = 2.0 * SYN_GSD_M,
                             .scale = 16.0, .ray_error_m_per_px = SYN_GSD_M};
    TRY(sdm_block_alloc(ctx, 0, 0, q->width / 2, q->height / 2, &block));
    for (int i = 0; i < q->runs; i++) {
        const double begin = sdm_now_s();
        TRY(sdm_gridding_run(ctx, &how, r, &block));
        least = fmin(least, sdm_now_s() - begin);
    }
    print_line(q, "gridding", least);
done:
    sdm_block_free(&block);
    return st;
}

/* Time `runs` runs of the fine levels; the surface of the last one is compared with truth. */
static SdmStatus time_runs(SdmContext *ctx, const Request *q, const SynScene *scene,
                           const SdmMatchSettings *settings, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    const SdmMatchInput in = {.settings = settings, .lattice = &scene->lattice, .left = &scene->left_pyramid,
                              .right = &scene->right_pyramid};
    const SdmWindow win = {.w = q->width, .h = q->height};
    const SdmMatchCall call = {.in = &in, .coarse = coarse, .win = &win, .need = &win};
    double seconds[MOST_RUNS], cpu_s = 1e30;
    SdmFineResult r = {0};
    for (int i = 0; i < q->runs; i++) {
        sdm_fine_result_free(&r);
        const double begin = sdm_now_s();
        const clock_t cpu = clock();
        TRY(sdm_match_window(ctx, &call, &r));
        seconds[i] = sdm_now_s() - begin;
        cpu_s = fmin(cpu_s, (double)(clock() - cpu) / CLOCKS_PER_SEC);
    }
    print_line(q, "main_processing", sdm_select_f64(seconds, q->runs, q->runs / 2));
    print_line(q, "main_processing_cpu", cpu_s);
    TRY(time_gridding(ctx, q, scene, settings, &r));
    int64_t valid = 0;
    for (int64_t i = 0; i < (int64_t)q->width * q->height; i++)
        valid += r.surface.flags[i] & SDM_QA_VALID;
    fprintf(stderr, "%s, %d x %d, %d threads: %.2f %% matched, %.0f MiB at most\n", q->cost, q->width,
            q->height, sdm_threads(ctx), 100.0 * (double)valid / ((double)q->width * q->height),
            (double)sdm_memory_peak(ctx) / 1048576.0);
done:
    sdm_fine_result_free(&r);
    return st;
}

static SdmStatus run(SdmContext *ctx, const Request *q)
{
    SdmStatus st = SDM_OK;
    SynScene scene = {0};
    SdmSurface coarse = {0};
    SdmMatchSettings settings;
    TRY(sdm_match_settings(ctx, NULL, q->cost, q->cpu_level, 8.0f, &settings));
    settings.coarse_level = settings.coarsest_level = COARSE;
    const SdmWindow win = {.level = COARSE, .w = q->width >> COARSE, .h = q->height >> COARSE};
    double begin = sdm_now_s();
    TRY(syn_open(ctx, q->width, q->height, 0.5, 300.0, 42, &scene));
    fprintf(stderr, "scene made in %.1f s\n", sdm_now_s() - begin);
    if (strcmp(q->cost, "sad") == 0) {
        begin = sdm_now_s();
        TRY(sdm_pyramid_normalise(ctx, &scene.left_pyramid, settings.norm_floor));
        TRY(sdm_pyramid_normalise(ctx, &scene.right_pyramid, settings.norm_floor));
        fprintf(stderr, "normalised in %.1f s\n", sdm_now_s() - begin);
    }
    TRY(syn_surface(ctx, &scene, &win, 0.4, &coarse));
    printf("what,seconds,ns_per_pixel\n");
    TRY(time_runs(ctx, q, &scene, &settings, &coarse));
done:
    sdm_surface_free(&coarse);
    syn_close(&scene);
    return st;
}

int main(int argc, char **argv)
{
    Request q = {.width = 3962, .height = 4200, .runs = 3, .cost = "zncc", .cpu_level = "auto"};
    SdmOptions opt;
    SdmContext *ctx = NULL;
    if (!parse(&q, argc, argv)) {
        fprintf(stderr,
                "usage: bench_main_processing [--size 3962x4200] [--cost zncc|census|sad] [--threads N]"
                " [--cpu-level auto] [--runs 3]\n");
        return 2;
    }
    sdm_options_default(&opt);
    opt.threads = q.threads;
    SdmStatus st = sdm_open(&ctx, &opt);
    if (st == SDM_OK)
        st = run(ctx, &q);
    if (st != SDM_OK)
        fprintf(stderr, "%s\n", sdm_error(ctx));
    sdm_close(&ctx);
    return sdm_exit_code(st);
}
