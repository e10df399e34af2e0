/* run: plan, units and merge in one process; finished blocks survive a stop. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/owner.h"
#include "batch/unit.h"
#include "core/options.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Run {
    const SdmOptions *opt;
    SdmScene *scene;
    SdmPrepared prepared;
    char job[1100];
    SdmOwner owner;
    uint64_t fingerprint;  /* of what the blocks depend on */
    uint64_t whole;        /* of what the products depend on */
    int64_t tile;          /* cells */
    int64_t across, down;  /* blocks */
    int64_t cells, valid;  /* of the DEM; those with a height that was matched */
    int resumed;
} Run;

/* Less than that is not a DEM but a handful of accidents. */
enum { LEAST_VALID = 100, CELLS_PER_VALID = 2000 };

/* A file that is read during the run: which, how large, how old. */
static uint64_t hash_file(uint64_t h, const char *path)
{
    struct stat s;
    h = sdm_hash(h + 1, path ? path : "", path ? strlen(path) : 0);
    if (!path || stat(path, &s) != 0)
        return h;
    const int64_t at[3] = {(int64_t)s.st_size, (int64_t)s.st_mtim.tv_sec, (int64_t)s.st_mtim.tv_nsec};
    return sdm_hash(h, at, sizeof at);
}

/* Everything that the blocks' bytes depend on: version, inputs, parameters. Not: threads, memory, tile size's reasons. */
static uint64_t fingerprint_of(const Run *r)
{
    const SdmOptions *const o = r->opt;
    char text[512];
    uint64_t h = sdm_hash(1, SDM_VERSION, sizeof SDM_VERSION);
    for (int i = 0; i < r->scene->file_count; i++) {
        const SdmInputFile *const f = &r->scene->files[i];
        h = hash_file(h, f->path);
        h = sdm_hash(h, &f->size_bytes, sizeof f->size_bytes);
        h = sdm_hash(h, &f->mtime_s, sizeof f->mtime_s);
    }
    const char *const words[] = {o->t_srs, o->cost, o->optimizer, o->dem_vertical, o->mask_left, o->mask_right};
    h = hash_file(h, o->dem);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = sdm_hash(h + i + 1, words[i] ? words[i] : "", words[i] ? strlen(words[i]) : 0);
    const int n = snprintf(text, sizeof text, "%.17g %.17g %.17g %.17g %d", o->tr, o->hmin_m, o->hmax_m, o->base_height,
                           o->band);
    return sdm_hash(h, text, (size_t)n);
}

/* And of what is not in the blocks. */
static uint64_t whole_of(const Run *r)
{
    uint64_t h = sdm_hash(r->fingerprint, &r->opt->vertical, sizeof r->opt->vertical);
    for (const char *const *pair = r->opt->co; *pair; pair++)
        h = sdm_hash(h, *pair, strlen(*pair) + 1);
    return h;
}

static SdmStatus make_job(SdmContext *ctx, Run *r)
{
    struct stat s;
    const bool made = mkdir(r->job, 0777) == 0;
    if (!made && errno != EEXIST)
        return sdm_fail(ctx, SDM_ERR_IO, "the job folder %s cannot be made: %s", r->job, strerror(errno));
    if (!made && (stat(r->job, &s) != 0 || !S_ISDIR(s.st_mode)))
        return sdm_fail(ctx, SDM_ERR_IO, "%s is a file where the job folder belongs; remove it or give another -o",
                        r->job);
    return SDM_OK;
}

static SdmStatus prepare(SdmContext *ctx, Run *r)
{
    SdmStatus st = SDM_OK;
    char path[1200];
    TRY(sdm_format(ctx, path, sizeof path, "%s/scene.sdm", r->job));
    TRY(sdm_match_settings(ctx, r->opt->cost, r->opt->cpu_level, sdm_noise_q(r->scene), &r->prepared.settings));
    if (sdm_prepared_read(NULL, path, r->fingerprint, &r->prepared) == SDM_OK) {
        sdm_log(ctx, SDM_LOG_INFO, 2, "going on from %s", r->job);
        goto done;
    }
    sdm_progress(ctx, 2, 0.02, "coarse surface and pointing");
    TRY(sdm_prepare(ctx, r->scene, &r->prepared));
    TRY(sdm_refine_pointing(ctx, r->scene, &r->prepared));
    TRY(sdm_prepared_write(ctx, path, r->fingerprint, &r->prepared));
done:
    return st;
}

static SdmStatus open_block(SdmContext *ctx, const Run *r, int64_t i, SdmBlock *b, char *path, size_t size)
{
    const SdmGrid *const g = &r->prepared.grid;
    const int64_t c = i % r->across * r->tile, w = i / r->across * r->tile;
    const SdmStatus st = sdm_format(ctx, path, size, "%s/block_%lld_%06lld.sdm", r->job, (long long)r->tile, (long long)i);
    if (st != SDM_OK)
        return st;
    return sdm_block_alloc(ctx, c, w, c + r->tile < g->cols ? r->tile : g->cols - c,
                           w + r->tile < g->rows ? r->tile : g->rows - w, b);
}

static SdmStatus do_units(SdmContext *ctx, Run *r)
{
    SdmStatus st = SDM_OK;
    SdmBlock b = {0};
    char path[1300], what[64];
    const int64_t n = r->across * r->down;
    for (int64_t i = 0; i < n; i++) {
        TRY(sdm_check_stop(ctx));
        sdm_owner_touch(&r->owner);
        snprintf(what, sizeof what, "block %lld of %lld", (long long)(i + 1), (long long)n);
        sdm_progress(ctx, 5, 0.3 + 0.55 * (double)i / (double)n, what);
        TRY(open_block(ctx, r, i, &b, path, sizeof path));
        if (sdm_unit_read(NULL, path, r->fingerprint, &b) == SDM_OK) {
            r->resumed++;
        } else {
            TRY(sdm_unit_compute(ctx, r->scene, &r->prepared, &r->prepared.grid, &b));
            TRY(sdm_unit_write(ctx, path, r->fingerprint, &b));
        }
        sdm_block_free(&b);
    }
done:
    sdm_block_free(&b);
    return st;
}

static void fill_report(SdmContext *ctx, const Run *r, const char *left, const char *right, SdmReport *out)
{
    const SdmFrame *const f = &r->prepared.frame;
    *out = (SdmReport){.files = r->scene->files, .file_count = r->scene->file_count, .centre_lon_deg = f->lon_deg,
                       .centre_lat_deg = f->lat_deg, .base_height = f->base_height, .convergence_deg = f->convergence_deg,
                       .gsd_m = f->gsd_m, .hmin_m = f->hmin_m, .hmax_m = f->hmax_m,
                       .lattice_error_px = r->prepared.lattice_error_px, .pointing = &r->prepared.pointing,
                       .points = &r->prepared.points, .blocks = (int)(r->across * r->down), .blocks_resumed = r->resumed,
                       .frame_cols = f->width, .frame_rows = f->height};
    snprintf(out->scene_id, sizeof out->scene_id, "%s", r->scene->id);
    snprintf(out->time_utc, sizeof out->time_utc, "%s", r->scene->time_utc);
    snprintf(out->scene_kind, sizeof out->scene_kind, "%s", r->scene->kind);
    snprintf(out->left, sizeof out->left, "%s", left);
    snprintf(out->right, sizeof out->right, "%s", right ? right : "");
    (void)ctx;
}

/* "scene.sdm", "block_*.sdm", and either as it is written aside. */
static bool is_ours(const char *name)
{
    const char *const end = strstr(name, ".sdm");
    return end && (!strncmp(name, "block_", 6) || !strncmp(name, "scene.", 6)) &&
           (!end[4] || !strncmp(end + 4, ".part-", 6));
}

/* Every file of ours in the job folder, this run's or an earlier one's; the folder too when it is empty then. */
static void remove_job(const Run *r)
{
    DIR *const dir = opendir(r->job);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (is_ours(e->d_name))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(r->job);
}

static void count_valid(Run *r, const SdmBlock *b)
{
    const int64_t n = b->w * b->h;
    r->cells += n;
    for (int64_t i = 0; i < n; i++)
        r->valid += (b->mask[i] & SDM_QA_VALID) != 0;
}

static SdmStatus check_valid(SdmContext *ctx, const Run *r)
{
    if (r->valid >= LEAST_VALID && r->valid >= r->cells / CELLS_PER_VALID)
        return SDM_OK;
    remove_job(r); /* would only lead here again */
    return sdm_fail(ctx, SDM_ERR_DATA, "too few matches: %lld of %lld cells have a height, at least %lld are needed for a "
                    "DEM of %s and %s; clouds, water or snow, images of different places, or one mirrored: give others",
                    (long long)r->valid, (long long)r->cells,
                    (long long)fmax((double)LEAST_VALID, (double)(r->cells / CELLS_PER_VALID)), r->scene->view[0].name,
                    r->scene->view[1].name);
}

static SdmStatus merge(SdmContext *ctx, Run *r, const char *left, const char *right, double started_s)
{
    SdmStatus st = SDM_OK;
    SdmReport report;
    SdmProduct *product = NULL;
    SdmBlock b = {0};
    char path[1300];
    fill_report(ctx, r, left, right, &report);
    sdm_progress(ctx, 9, 0.87, "writing");
    TRY(sdm_product_open(ctx, &r->prepared.grid, &report, &product));
    for (int64_t i = 0; i < r->across * r->down; i++) {
        TRY(sdm_check_stop(ctx));
        TRY(open_block(ctx, r, i, &b, path, sizeof path));
        TRY(sdm_unit_read(ctx, path, r->fingerprint, &b));
        TRY(sdm_product_write(ctx, product, &b));
        count_valid(r, &b);
        sdm_block_free(&b);
    }
    TRY(check_valid(ctx, r));
    report.wall_s = sdm_now_s() - started_s;
    report.job = r->whole;
    TRY(sdm_product_finish(ctx, product, &report));
    if (!r->opt->keep_job)
        remove_job(r); /* before the product is closed: till then a run that is stopped can tell that it was done */
done:
    sdm_block_free(&b);
    if (st == SDM_OK)
        sdm_owner_release(&r->owner); /* before the last trace of a finished run goes */
    sdm_product_close(&product);
    return st;
}

static SdmStatus check_output(SdmContext *ctx, const SdmScene *scene)
{
    const char *paths[64];
    int n = 0;
    for (; n < scene->file_count && n < 64; n++)
        paths[n] = scene->files[n].path;
    return sdm_product_check(ctx, paths, n);
}

SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right)
{
    SdmStatus st = SDM_OK;
    Run r = {.opt = sdm_options(ctx)};
    const double t0 = sdm_now_s();
    if (!r.opt->output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output; give -o DEM.tif");
    TRY(sdm_product_check(ctx, NULL, 0));
    TRY(sdm_scene_open(ctx, left, right, &r.scene));
    TRY(sdm_format(ctx, r.job, sizeof r.job, "%s.job", r.opt->output));
    r.fingerprint = fingerprint_of(&r);
    r.whole = whole_of(&r);
    TRY(sdm_owner_take(ctx, r.opt->output, &r.owner));
    if (sdm_product_finished(ctx, r.whole)) {
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s was finished already", r.opt->output);
        if (!r.opt->keep_job)
            remove_job(&r);
        sdm_owner_release(&r.owner);
        sdm_product_tidy(ctx);
        goto done;
    }
    TRY(check_output(ctx, r.scene));
    TRY(make_job(ctx, &r));
    TRY(prepare(ctx, &r));
    TRY(sdm_tile_choose(ctx, &r.prepared, &r.prepared.grid, &r.tile, &r.across, &r.down));
    TRY(do_units(ctx, &r));
    TRY(merge(ctx, &r, left, right, t0));
    sdm_progress(ctx, 9, 1.0, "done");
done:
    if (r.owner.held)
        rmdir(r.job); /* only when empty: nothing finished that could be taken up */
    sdm_owner_release(&r.owner);
    sdm_prepared_free(&r.prepared);
    sdm_scene_close(&r.scene);
    return st;
}
