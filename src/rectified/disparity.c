/* Files of a pair, or of a sequence of pairs -> read, matched, filtered, filled, written. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity.h"

#include "gpu/choose.h"
#include "rectified/pair_device.h"
#include "rectified/disparity_steps.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* A pair between reading and writing. */
typedef struct Slot {
    SdmPairFiles files;
    SdmImagePair in;
    int width, height;
    float *disparity; /* height x width; NULL: written band by band while it is matched */
} Slot;

typedef struct Run {
    SdmContext *ctx, *io; /* io: context of the thread that reads and writes while matching goes on; else
                           * ctx */
    const SdmOptions *options;
    const SdmDisparityOptions *opt;
    SdmOptimizer optimizer;
    SdmPairSettings set;
    SdmPattern *pattern;          /* left, right, output, preview */
    int *numbers, count, written; /* numbers: of the pairs of a sequence */
    SdmDisparityResult *result;
    SdmRowOffset rows; /* of the first pair */
    Slot slot[2];
    SdmDevice *device; /* NULL: the processor */
    SdmGpu gpu;
    int index;       /* of the pair that is matched */
    SdmStatus other; /* of what is read and written meanwhile */
} Run;

enum { LEFT, RIGHT, OUTPUT, PREVIEW, PATTERNS };
enum { PNG_MOST = 1000000 }; /* px a side that libpng writes */
#define ROWS_OFF_PX 0.2      /* rows that are off by less are left: nothing is gained */

/* ---- names of files ---- */

static SdmStatus parse_patterns(SdmContext *ctx, Run *run, const char *left, const char *right)
{
    static const char *const option[PATTERNS] = {"LEFT", "RIGHT", "-o", "--preview"};
    const char *const text[PATTERNS] = {left, right, run->opt->output,
                                        run->opt->preview ? run->opt->preview : ""};
    if (!run->opt->output)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o is missing: give the disparities to write, such as -o disparity.tif");
    if (run->opt->first >= 0 && run->opt->last >= 0 && run->opt->first > run->opt->last)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--first: found %d, expected at most --last, which is %d",
                        run->opt->first, run->opt->last);
    PASS(sdm_alloc(ctx, &run->pattern, PATTERNS, sizeof *run->pattern, "names"));
    for (int i = 0; i < PATTERNS; i++) {
        PASS(sdm_pattern_parse(ctx, option[i], text[i], &run->pattern[i]));
        if (*text[i] && !run->pattern[i].digits != !run->pattern[0].digits)
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "%s %s has %s number such as %%04d in it, LEFT %s has %s; a sequence needs one in each name",
                option[i], text[i], run->pattern[i].digits ? "a" : "no", left,
                run->pattern[0].digits ? "one" : "none");
    }
    if (!run->pattern[0].digits && (run->opt->first >= 0 || run->opt->last >= 0))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: LEFT %s is no sequence, expected a name such as left_%%04d.png",
                        run->opt->first >= 0 ? "--first" : "--last", left);
    return SDM_OK;
}

static SdmStatus name_pair(SdmContext *ctx, const Run *run, int number, SdmPairFiles *out)
{
    char *const to[PATTERNS] = {out->left, out->right, out->output, out->preview};
    for (int i = 0; i < PATTERNS; i++)
        PASS(sdm_pattern_name(ctx, &run->pattern[i], number, to[i]));
    return SDM_OK;
}

/* List the pairs and check that every output can be written. */
static SdmStatus list_pairs(SdmContext *ctx, Run *run)
{
    SdmPairFiles *const files = &run->slot[0].files;
    if (run->pattern[LEFT].digits) {
        PASS(sdm_pattern_numbers(ctx, &run->pattern[LEFT], run->opt->first, run->opt->last, &run->numbers,
                                 &run->count));
    } else {
        PASS(sdm_alloc(ctx, &run->numbers, 1, sizeof *run->numbers, "number of a pair"));
        run->count = 1;
    }
    for (int i = 0; i < run->count; i++) {
        PASS(name_pair(ctx, run, run->numbers[i], files));
        PASS(sdm_outputs_check(ctx, files, run->opt));
    }
    return SDM_OK;
}

/* ---- one pair ---- */

static SdmStatus read_pair(SdmContext *ctx, Run *run, int index)
{
    Slot *const slot = &run->slot[index % 2];
    const double begin = sdm_now_s();
    PASS(name_pair(ctx, run, run->numbers[index], &slot->files));
    PASS(sdm_image_pair_load(ctx, slot->files.left, slot->files.right, run->opt->band,
                             !run->device && run->opt->downscale <= 1, &slot->in));
    run->result->read_s += sdm_now_s() - begin;
    return SDM_OK;
}

static SdmStatus write_pair(SdmContext *ctx, Run *run, int index)
{
    Slot *const slot = &run->slot[index % 2];
    const double begin = sdm_now_s();
    SDM_OWNED float *disparity = slot->disparity;
    slot->disparity = NULL; /* pair index + 2 makes its own */
    if (!disparity)
        return SDM_OK;
    PASS(sdm_outputs_write(ctx, &slot->files, run->opt, slot->width, slot->height, disparity));
    run->result->write_s += sdm_now_s() - begin;
    run->written++;
    return SDM_OK;
}

/* The range and the window against the size of the images that are matched. */
static SdmStatus check_size(const Run *run, const Slot *slot)
{
    const SdmDisparityOptions *const opt = run->opt;
    const int window = run->set.window;
    char size[96] = "";
    if (slot->width < 1 || slot->height < 1)
        return sdm_fail(run->ctx, SDM_ERR_USAGE,
                        "--downscale %d: nothing is left of the image %s of %d x %d px; expected at most %d",
                        opt->downscale, slot->files.left, slot->in.width, slot->in.height,
                        slot->in.width < slot->in.height ? slot->in.width : slot->in.height);
    snprintf(size, sizeof size, "%d x %d px%s", slot->width, slot->height,
             opt->downscale > 1 ? " after --downscale" : "");
    if (window > slot->width || window > slot->height)
        return sdm_fail(run->ctx, SDM_ERR_USAGE,
                        "--window %d: larger than the image %s of %s; give a smaller one", window,
                        slot->files.left, size);
    if (opt->min_disparity <= -slot->width || opt->max_disparity >= slot->width)
        return sdm_fail(run->ctx, SDM_ERR_USAGE,
                        "--%s-disparity %d: larger than the image %s of %s; nothing lies that far off in it",
                        opt->max_disparity >= slot->width ? "max" : "min",
                        opt->max_disparity >= slot->width ? opt->max_disparity : opt->min_disparity,
                        slot->files.left, size);
    if (*slot->files.preview && (slot->width > PNG_MOST || slot->height > PNG_MOST))
        return sdm_fail(run->ctx, SDM_ERR_USAGE,
                        "--preview %s: the image %s has %s, a PNG at most %d px a side; leave --preview out",
                        slot->files.preview, slot->files.left, size, PNG_MOST);
    return SDM_OK;
}

static int64_t count_valid(const float *d, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += !isnan(d[i]);
    return count;
}

/* Pixels of the smallest group that is no speckle.  The cost windows of `local` leave few speckles. */
static int speckle_px(const Run *run)
{
    const int given = run->opt->speckle;
    return given >= 0 ? given : sdm_pair_is_local(&run->set) ? 0 : 100;
}

static SdmStatus filter(const Run *run, Slot *slot)
{
    float *smooth = NULL;
    if (run->opt->median) {
        PASS(sdm_alloc(run->ctx, &smooth, (size_t)slot->width * (size_t)slot->height, sizeof *smooth,
                       "median"));
        sdm_pair_median(run->ctx, slot->disparity, slot->width, slot->height, 2 * run->opt->median + 1,
                        smooth);
        sdm_free(&slot->disparity);
        slot->disparity = smooth;
    }
    PASS(sdm_check_stop(run->ctx));
    if (run->opt->fill && count_valid(slot->disparity, (int64_t)slot->width * slot->height) == 0)
        sdm_log(run->ctx, SDM_LOG_WARNING, 5,
                "%s: not one pixel has a match, so --fill has nothing to fill from and every value is empty; "
                "images without texture, or another range or --cost?",
                slot->files.output);
    return sdm_pair_fill(run->ctx, (SdmPairFill)run->opt->fill, slot->width, slot->height, slot->disparity);
}

/* `auto` is the processor: it matches a pair in less time than a device needs to start. */
static SdmStatus open_device(SdmContext *ctx, Run *run)
{
    const char *const name = run->options->device;
    SdmChoice choice;
    if (strcmp(name, "auto") == 0)
        return SDM_OK;
    PASS(sdm_choose_device(ctx, name, &choice));
    if (choice.cpu)
        return SDM_OK;
    PASS(sdm_device_open(ctx, choice.api, choice.index, &run->device));
    return sdm_gpu_open(ctx, run->device, 0, &run->gpu);
}

static SdmPairImage image_of(const Slot *slot, int side)
{
    const SdmImagePair *const in = &slot->in;
    return (SdmPairImage){.width = slot->width,
                          .height = slot->height,
                          .stride = slot->width,
                          .data = in->samples[side],
                          .eight_bit = in->eight_bit,
                          .bytes = in->bytes[side]};
}

static SdmStatus match_images(Run *run, Slot *slot)
{
    const SdmPairImage left = image_of(slot, SDM_PAIR_LEFT), right = image_of(slot, SDM_PAIR_RIGHT);
    if (run->device)
        return sdm_pair_match_device(run->ctx, &run->gpu, &left, &right, &run->set, slot->disparity);
    return sdm_pair_match(run->ctx, &left, &right, &run->set, slot->disparity);
}

/* ---- one pair that is written while it is matched ---- */

typedef struct Written {
    SdmOutput out;
    int64_t valid;
} Written;

static SdmStatus put_rows(SdmContext *ctx, void *user, int y0, int y1, const float *rows)
{
    Written *const w = user;
    w->valid += count_valid(rows, (int64_t)(y1 - y0) * w->out.width);
    return sdm_output_rows(ctx, &w->out, y0, y1, rows);
}

/* Nothing looks at the whole of the disparities, and no other pair is read or written meanwhile. */
static bool writes_bands(const Run *run)
{
    return run->pattern && run->count == 1 && !run->device && !run->opt->median && !run->opt->fill &&
           speckle_px(run) == 0;
}

static SdmStatus match_and_write(Run *run, Slot *slot)
{
    SdmStatus st = SDM_OK;
    const SdmPairImage left = image_of(slot, SDM_PAIR_LEFT), right = image_of(slot, SDM_PAIR_RIGHT);
    Written w = {
        .out = {.files = &slot->files, .opt = run->opt, .width = slot->width, .height = slot->height}};
    SdmPairSink sink = {.put = put_rows, .user = &w};
    TRY(sdm_output_open(run->ctx, &w.out));
    TRY(sdm_pair_match_rows(run->ctx, &left, &right, &run->set, &sink));
done:
    sdm_image_pair_free(&slot->in);
    const double matched = sdm_now_s();
    st = sdm_output_close(run->ctx, &w.out, st);
    run->result->write_s += sdm_now_s() - matched;
    run->result->matched += w.valid;
    run->result->valid += w.valid;
    run->written += st == SDM_OK;
    return st;
}

static SdmStatus shrink(const Run *run, const SdmImagePair *in, int factor, int16_t **image)
{
    int16_t *small = NULL;
    if (factor == 1)
        return SDM_OK;
    const size_t n = (size_t)(in->width / factor) * (size_t)(in->height / factor);
    PASS(sdm_alloc(run->ctx, &small, n, sizeof *small, "smaller image"));
    sdm_pair_shrink(run->ctx, *image, in->width, in->width, in->height, factor, small);
    sdm_free(image);
    *image = small;
    return SDM_OK;
}

/* Disparities of all rows, filtered. */
static SdmStatus match_whole(Run *run, Slot *slot)
{
    const int64_t pixels = (int64_t)slot->width * slot->height;
    PASS(sdm_alloc(run->ctx, &slot->disparity, (size_t)pixels, sizeof *slot->disparity, "disparities"));
    PASS(match_images(run, slot));
    sdm_image_pair_free(&slot->in);
    PASS(sdm_pair_despeckle(run->ctx, speckle_px(run), slot->width, slot->height, slot->disparity));
    run->result->matched += count_valid(slot->disparity, pixels);
    const double matched = sdm_now_s();
    PASS(filter(run, slot));
    run->result->filter_s += sdm_now_s() - matched;
    run->result->valid += count_valid(slot->disparity, pixels);
    return SDM_OK;
}

/* ---- rows that are off ---- */

static SdmStatus move_rows(const Run *run, Slot *slot)
{
    SdmImagePair *const in = &slot->in;
    const SdmPairImage right = image_of(slot, SDM_PAIR_RIGHT);
    int16_t *moved = NULL;
    PASS(sdm_alloc(run->ctx, &moved, (size_t)slot->width * (size_t)slot->height, sizeof *moved,
                   "right image with its rows moved"));
    sdm_row_offset_remove(run->ctx, &run->rows, &right, moved);
    SDM_FREE(&in->bytes[SDM_PAIR_RIGHT], &in->samples[SDM_PAIR_RIGHT]);
    in->samples[SDM_PAIR_RIGHT] = moved;
    return SDM_OK;
}

/* A sequence takes the offset of its first pair: its cameras do not move against each other. */
static SdmStatus align_rows(Run *run, Slot *slot)
{
    const SdmPairImage left = image_of(slot, SDM_PAIR_LEFT), right = image_of(slot, SDM_PAIR_RIGHT);
    SdmRowOffset *const rows = &run->rows;
    if (!run->opt->align_rows)
        return SDM_OK;
    if (run->result->frames == 0) {
        sdm_row_offset_find(run->ctx, &left, &right, run->set.dmin, run->set.dmax, rows);
        run->result->row_offset_px =
            rows->constant + 0.5 * (rows->slope_x * slot->width + rows->slope_y * slot->height);
        if (rows->largest >= ROWS_OFF_PX)
            sdm_log(run->ctx, SDM_LOG_WARNING, 5,
                    "%s: its rows lie %.2f px %s those of LEFT in the middle of the image, up to %.2f px off "
                    "at its corners (by %d windows); moved by that; --align-rows off leaves them",
                    *slot->files.right ? slot->files.right : "RIGHT", fabs(run->result->row_offset_px),
                    run->result->row_offset_px < 0.0 ? "above" : "below", rows->largest, rows->matches);
    }
    return rows->largest >= ROWS_OFF_PX ? move_rows(run, slot) : SDM_OK;
}

/* Images -> disparities of a pair's slot, or of its files; the images are freed. */
static SdmStatus match_pair(Run *run, int index)
{
    SdmDisparityResult *const result = run->result;
    Slot *const slot = &run->slot[index % 2];
    SdmImagePair *const in = &slot->in;
    const int n = run->opt->downscale;
    const double begin = sdm_now_s();
    slot->width = in->width / n;
    slot->height = in->height / n;
    PASS(check_size(run, slot));
    for (int side = 0; side < 2; side++)
        PASS(shrink(run, in, n, &in->samples[side]));
    PASS(align_rows(run, slot));
    const double shrunk = sdm_now_s(), before = result->write_s + result->filter_s;
    PASS(writes_bands(run) ? match_and_write(run, slot) : match_whole(run, slot));
    result->shrink_s += shrunk - begin;
    result->engine_s += sdm_now_s() - shrunk - (result->write_s + result->filter_s - before);
    result->pixels += (int64_t)slot->width * slot->height;
    result->width = slot->width;
    result->height = slot->height;
    result->frames++;
    return SDM_OK;
}

/* ---- the sequence ---- */

/* While pair `index` is matched, pair index - 1 is written and pair index + 1 read. */
static void *read_and_write(void *user)
{
    Run *const run = user;
    sdm_thread_begin(run->io);
    run->other = run->index > 0 ? write_pair(run->io, run, run->index - 1) : SDM_OK;
    if (run->other == SDM_OK && run->index + 1 < run->count)
        run->other = read_pair(run->io, run, run->index + 1);
    return NULL;
}

static void report_progress(const Run *run, int index)
{
    char what[64];
    snprintf(what, sizeof what, "pair %d (%d of %d)", run->numbers[index], index + 1, run->count);
    if (run->count > 1)
        sdm_progress(run->ctx, 5, (double)index / run->count, what);
}

/* The next pair could not be read: write this one, which was matched meanwhile, and then fail. */
static SdmStatus end_before(Run *run, int index, SdmStatus why)
{
    PASS(write_pair(run->ctx, run, index));
    return sdm_fail(run->ctx, why, "%s; the outputs of the pairs before it, %d of %d, are whole",
                    sdm_error(run->io), run->written, run->count);
}

static SdmStatus run_pairs(Run *run)
{
    PASS(read_pair(run->ctx, run, 0));
    for (int i = 0; i < run->count; i++) {
        pthread_t thread;
        run->index = i;
        report_progress(run, i);
        const bool threaded = run->count > 1 && pthread_create(&thread, NULL, read_and_write, run) == 0;
        const SdmStatus st = match_pair(run, i);
        if (threaded)
            pthread_join(thread, NULL);
        else if (st == SDM_OK && run->count > 1)
            read_and_write(run);
        if (run->io != run->ctx)
            sdm_forward_log(run->ctx, run->io);
        PASS(st);
        if (run->other != SDM_OK && run->other != SDM_ERR_STOPPED && run->written == i)
            return end_before(run, i, run->other);
        if (run->other != SDM_OK)
            return sdm_fail(run->ctx, run->other, "%s", sdm_error(run->io));
        PASS(sdm_check_stop(run->ctx));
    }
    return write_pair(run->ctx, run, run->count - 1);
}

/* *out: for close_run(), also after a failure. */
static SdmStatus open_run(SdmContext *ctx, const SdmOptions *options, const SdmDisparityOptions *opt,
                          SdmDisparityResult *result, Run **out)
{
    *result = (SdmDisparityResult){.frames = 0};
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "a run of pairs"));
    Run *const run = *out;
    *run = (Run){.ctx = ctx, .io = ctx, .options = options, .opt = opt, .result = result};
    PASS(sdm_disparity_settings(ctx, options, opt, &run->optimizer, &run->set));
    run->set.energy = result->energy;
    return SDM_OK;
}

static void close_run(Run **out)
{
    Run *const run = *out;
    if (!run)
        return;
    for (int k = 0; k < 2; k++) {
        sdm_image_pair_free(&run->slot[k].in);
        sdm_free(&run->slot[k].disparity);
    }
    if (run->io != run->ctx)
        sdm_close(&run->io);
    if (run->device)
        sdm_gpu_close(&run->gpu);
    sdm_device_close(&run->device);
    SDM_FREE(&run->numbers, &run->pattern);
    sdm_free(out);
}

SdmStatus sdm_disparity_run(SdmContext *ctx, const char *left, const char *right, const SdmOptions *options,
                            const SdmDisparityOptions *opt, SdmDisparityResult *result)
{
    SdmStatus st = SDM_OK;
    SDM_CLOSED_BY(close_run) Run *run = NULL;
    *result = (SdmDisparityResult){.frames = 0};
    TRY(open_run(ctx, options, opt, result, &run));
    TRY(parse_patterns(ctx, run, left, right));
    TRY(list_pairs(ctx, run));
    TRY(open_device(ctx, run));
    if (run->count > 1)
        TRY(sdm_open_child(ctx, &run->io));
    TRY(run_pairs(run));
done:
    if (st == SDM_ERR_STOPPED && run && run->written > 0)
        st = sdm_fail(ctx, st, "stopped on request; the outputs of %d of %d pairs are whole", run->written,
                      run->count);
    else if (st == SDM_ERR_STOPPED)
        st = sdm_fail(ctx, st, "stopped on request; nothing was written");
    return st;
}

SdmStatus sdm_disparity_arrays(SdmContext *ctx, const SdmImageArray array[2], const SdmOptions *options,
                               const SdmDisparityOptions *opt, SdmDisparityResult *result, float **disparity)
{
    SDM_CLOSED_BY(close_run) Run *run = NULL;
    *disparity = NULL;
    PASS(open_run(ctx, options, opt, result, &run));
    snprintf(run->slot[0].files.left, sizeof run->slot[0].files.left, "in memory");
    snprintf(run->slot[0].files.output, sizeof run->slot[0].files.output, "match");
    PASS(open_device(ctx, run));
    PASS(sdm_image_pair_take(ctx, array, &run->slot[0].in));
    sdm_progress(ctx, 5, 0.1, "match");
    PASS(match_pair(run, 0));
    *disparity = run->slot[0].disparity;
    run->slot[0].disparity = NULL;
    return SDM_OK;
}
