/* A volume of costs and the settings of an optimizer -> labels and their sub-pixel places.  Semi-global
 * matching (Hirschmueller 2008): by bands of rows and two passes over each.  Belief propagation: by a
 * wavefront of tiles over the threads, forwards and backwards. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/optimize.h"

#include "core/arena.h"
#include "core/math.h"
#include "instruction_set.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* ---- sub-pixel places, from the costs alone: smoothness would draw them to whole pixels ---- */

/* Costs first .. first + 3 of a pixel as bytes of a word, the first one lowest. */
static uint32_t four_costs(const uint8_t *cost, int first)
{
    const uint8_t *const c = cost + first;
    return (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

void sdm_label_costs(const SdmVolume *v, int y, const SdmLabels *labels)
{
    const uint16_t *const label = labels->left + (ptrdiff_t)y * v->width;
    const uint8_t *cost = v->cost + (ptrdiff_t)y * v->width * v->pitch;
    uint32_t *const low = labels->near + 2 * (ptrdiff_t)y * v->width, *const high = low + v->width;
    for (int x = 0; x < v->width; x++, cost += v->pitch) {
        const int l = label[x];
        if (l < 2) { /* below label 0 anything */
            const uint32_t first = four_costs(cost, 0);
            low[x] = first << 8 * (2 - l);
            high[x] = l == 1 ? first : first << 8;
        } else {
            const uint32_t four = four_costs(cost, l - 2);
            low[x] = four;
            high[x] = four >> 8 | (uint32_t)cost[l + 2] << 24;
        }
    }
}

void sdm_label_offsets(const SdmVolume *v, const SdmSgmKernels *kernels, const SdmLabels *labels, int y,
                       float *offset)
{
    SdmSgmOffsets o = {.width = v->width, .labels = v->labels, .offset = offset};
    for (int j = 0; j < SDM_SGM_SIDE; j++) {
        const ptrdiff_t row = sdm_clamp(y + j - SDM_SGM_SIDE / 2, 0, v->height - 1);
        o.label[j] = labels->left + row * v->width;
        o.low[j] = labels->near + 2 * row * v->width;
        o.high[j] = o.low[j] + v->width;
    }
    kernels->offsets(&o);
}

/* ---- semi-global matching ---- */

enum { BAND = SDM_SGM_BAND };

/* Scratch of a thread. */
typedef struct Room {
    uint16_t *sum;                /* BAND x width x pitch */
    uint8_t *path[SDM_SGM_PATHS]; /* [1..3]: width x pitch x 2; [0]: 4 pixels */
    uint16_t *least[SDM_SGM_PATHS];
    uint16_t *p2[SDM_SGM_PATHS];
    uint32_t *pick;
} Room;

typedef struct Sgm {
    const SdmOptimizer *how;
    const SdmVolume *volume;
    const SdmLabels *out;
    const SdmSgmKernels *kernels;
} Sgm;

static Room take_room(SdmArena *arena, int width, int rows, int pitch)
{
    const size_t w = (size_t)width, p = (size_t)pitch;
    Room r = {.sum = sdm_arena_take(arena, (size_t)rows * w * p, sizeof *r.sum)};
    for (int k = 0; k < SDM_SGM_PATHS; k++) {
        r.path[k] = sdm_arena_take(arena, (k ? w : 4) * p, sizeof(uint16_t));
        r.least[k] = sdm_arena_take(arena, w, sizeof(uint16_t));
        r.p2[k] = sdm_arena_take(arena, w, sizeof(uint16_t));
    }
    r.pick = sdm_arena_take(arena, w + 2 * p, sizeof *r.pick);
    return r;
}

int64_t sdm_sgm_band_bytes(int width, int labels)
{
    SdmArena measured = {NULL, 0};
    take_room(&measured, width, BAND, sdm_volume_pitch(labels));
    return (int64_t)measured.used;
}

/* Penalties of a larger step between the pixels of row y and those before them on a path: p2 without a step
 * of the left image, halfway to p1 at guide_scale. */
static void penalties(const Sgm *s, int y, int dx, int dy, uint16_t *p2)
{
    const SdmVolume *const v = s->volume;
    const bool guided = v->guide_scale > 0 && y + dy >= 0 && y + dy < v->height;
    const int from = guided ? dx < 0 : 0, to = guided ? v->width - (dx > 0) : 0;
    for (int x = 0; x < from; x++)
        p2[x] = (uint16_t)s->how->p2;
    if (to > from) {
        const int16_t *const row = v->guide + y * v->guide_stride;
        s->kernels->penalties(&(SdmSgmPenalties){.count = to - from,
                                                 .p1 = s->how->p1,
                                                 .p2 = s->how->p2,
                                                 .scale = v->guide_scale,
                                                 .here = row + from,
                                                 .before = row + dy * v->guide_stride + dx + from,
                                                 .out = p2 + from});
    }
    for (int x = to > from ? to : from; x < v->width; x++)
        p2[x] = (uint16_t)s->how->p2;
}

/* Row y of a pass; sum = NULL: before the band. */
static void pass_row(const Sgm *s, const Room *room, int y, int step, bool begins, uint16_t *sum)
{
    const SdmVolume *const v = s->volume;
    SdmSgmRow r = {.width = v->width,
                   .labels = v->labels,
                   .pitch = v->pitch,
                   .step = step,
                   .begins = begins,
                   .wide = v->most + s->how->p2 > SDM_COST_MAX,
                   .p1 = s->how->p1,
                   .cost = v->cost + (ptrdiff_t)y * v->width * v->pitch,
                   .sum = sum,
                   .add = step < 0};
    for (int k = 0; k < SDM_SGM_PATHS; k++) {
        r.path[k] = room->path[k];
        r.least[k] = room->least[k];
        if ((k % 2 == 1 && s->how->paths == 4) || (k == 0 && !sum))
            continue;
        penalties(s, y, k < 2 ? -step : k == 2 ? 0 : step, k == 0 ? 0 : -step, room->p2[k]);
        r.p2[k] = room->p2[k];
    }
    s->kernels->row(&r);
}

static void pick(const Sgm *s, const Room *room, int y, const uint16_t *sum)
{
    const SdmVolume *const v = s->volume;
    const ptrdiff_t at = (ptrdiff_t)y * v->width;
    const SdmSgmPick p = {.width = v->width,
                          .labels = v->labels,
                          .pitch = v->pitch,
                          .first = v->first,
                          .sum = sum,
                          .left = s->out->left + at,
                          .right = s->out->right ? s->out->right + at : NULL,
                          .room = room->pick};
    s->kernels->pick(&p);
}

/* Rows y0..y1 - 1. */
static void band(const Sgm *s, const Room *room, int y0, int y1)
{
    const SdmVolume *const v = s->volume;
    const ptrdiff_t row = (ptrdiff_t)v->width * v->pitch;
    const int top = y0 > SDM_OVERLAP ? y0 - SDM_OVERLAP : 0;
    const int bottom = y1 + SDM_OVERLAP < v->height ? y1 + SDM_OVERLAP : v->height;
    for (int y = top; y < y1; y++)
        pass_row(s, room, y, 1, y == top, y >= y0 ? room->sum + (y - y0) * row : NULL);
    for (int y = bottom - 1; y >= y0; y--) {
        uint16_t *const sum = y < y1 ? room->sum + (y - y0) * row : NULL;
        pass_row(s, room, y, -1, y == bottom - 1, sum);
        if (!sum)
            continue;
        pick(s, room, y, sum);
        if (s->out->near)
            sdm_label_costs(v, y, s->out); /* the row's are in cache */
    }
}

SdmStatus sdm_sgm(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out)
{
    const Sgm s = {.how = how, .volume = v, .out = out, .kernels = sdm_cpu_level(how->cpu_level)->sgm};
    const int bands = (v->end - v->begin + BAND - 1) / BAND,
              threads = sdm_threads(ctx) < bands ? sdm_threads(ctx) : bands;
    const int rows = v->height < BAND ? v->height : BAND;
    SdmArena measured = {NULL, 0};
    SDM_OWNED char *block = NULL;
    take_room(&measured, v->width, rows, v->pitch);
    PASS(sdm_alloc_raw(ctx, &block, measured.used, (size_t)threads, "rows in work of semi-global matching"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y0 = v->begin; y0 < v->end; y0 += BAND) {
        SdmArena mine = {block + measured.used * (size_t)sdm_thread(), 0};
        const Room room = take_room(&mine, v->width, rows, v->pitch);
        if (sdm_check_stop(ctx) == SDM_OK)
            band(&s, &room, y0, y0 + BAND < v->end ? y0 + BAND : v->end);
    }
    return sdm_check_stop(ctx);
}

/* ---- belief propagation ---- */

/* Messages over the borders of tiles: between columns of tiles for every row, between rows of tiles for every
 * column; those of the image's own border stay 0. */
typedef struct Front {
    const SdmBpField *f;
    const SdmBpPlan *plan;
    const SdmPairKernels *kernels;
    uint16_t
        *border[SDM_BP_WAYS]; /* right, left: (across + 1) x height x n; down, up: (down + 1) x width x n */
    char *scratch;            /* scratch_bytes for each thread */
    size_t scratch_bytes;
    int n;              /* labels of a message */
    int across, down;   /* tiles */
    atomic_int *visits; /* of each tile, so far */
    uint16_t *label;
} Front;

enum { SPINS = 200 };

/* Where the messages of border `line` begin at pixel `at` along it. */
static uint16_t *border_at(const Front *b, int way, int line, int at)
{
    const size_t length = (size_t)(way <= SDM_BP_LEFT ? b->f->height : b->f->width);
    return b->border[way] + ((size_t)line * length + (size_t)at) * (size_t)b->n;
}

static void visit(const Front *b, int i, int j, bool last)
{
    const int t = b->plan->tile, x0 = i * t, y0 = j * t;
    const SdmBpTile tile = {
        .field = b->f,
        .x0 = x0,
        .y0 = y0,
        .width = b->f->width - x0 < t ? b->f->width - x0 : t,
        .height = b->f->height - y0 < t ? b->f->height - y0 : t,
        .inner = b->plan->inner,
        .in = {border_at(b, SDM_BP_RIGHT, i, y0), border_at(b, SDM_BP_LEFT, i + 1, y0),
               border_at(b, SDM_BP_DOWN, j, x0), border_at(b, SDM_BP_UP, j + 1, x0)},
        .out = {border_at(b, SDM_BP_RIGHT, i + 1, y0), border_at(b, SDM_BP_LEFT, i, y0),
                border_at(b, SDM_BP_DOWN, j + 1, x0), border_at(b, SDM_BP_UP, j, x0)},
        .scratch = b->scratch + b->scratch_bytes * (size_t)sdm_thread(),
        .label = last ? b->label : NULL,
    };
    b->kernels->bp_tile(&tile);
}

/* Tile k of the raster of diagonals: column i, row j. */
static void tile_at(const Front *b, int k, int *i, int *j)
{
    int d = 0, first = 0, length = 1;
    for (; k >= length; d++) {
        k -= length;
        const int next = d + 1, end = next < b->down ? next + 1 : b->down;
        first = next < b->across ? 0 : next - b->across + 1;
        length = end - first;
    }
    *j = first + k;
    *i = d - *j;
}

/* Wait until tile (i, j), if it exists, has been visited `visits` times. */
static void await(const Front *b, int i, int j, int visits)
{
    if (i < 0 || j < 0 || i >= b->across || j >= b->down)
        return;
    for (int n = 0; atomic_load_explicit(&b->visits[j * b->across + i], memory_order_acquire) < visits; n++)
        if (n >= SPINS)
            sched_yield();
}

/* Visit k of all: pass after pass, raster order and its reverse by diagonals.  The visits on which
 * one depends come earlier in this order, so that threads that take visits one after the other never wait for
 * each other in a circle. */
static void take_visit(SdmContext *ctx, const Front *b, int64_t k)
{
    const int tiles = b->across * b->down, pass = (int)(k / tiles), at = (int)(k % tiles), back = pass % 2;
    int i, j;
    tile_at(b, back ? tiles - 1 - at : at, &i, &j);
    await(b, i, j, pass);
    await(b, back ? i + 1 : i - 1, j, pass + 1);
    await(b, i, back ? j + 1 : j - 1, pass + 1);
    if (sdm_check_stop(ctx) == SDM_OK)
        visit(b, i, j, pass == 2 * b->plan->outer - 1);
    atomic_store_explicit(&b->visits[j * b->across + i], pass + 1, memory_order_release);
}

static size_t border_entries(const Front *b, int way)
{
    const size_t lines = (size_t)(way <= SDM_BP_LEFT ? b->across : b->down) + 1;
    return lines * (size_t)(way <= SDM_BP_LEFT ? b->f->height : b->f->width) * (size_t)b->n;
}

static SdmStatus propagate(SdmContext *ctx, Front *b)
{
    SdmStatus st = SDM_OK;
    const int diagonal = b->across < b->down ? b->across : b->down, tiles = b->across * b->down;
    const int threads =
        sdm_threads(ctx) < diagonal ? sdm_threads(ctx) : diagonal; /* no more have work at once */
    const int64_t all = (int64_t)tiles * 2 * b->plan->outer;
    _Atomic int64_t next = 0;
    for (int way = 0; way < SDM_BP_WAYS; way++)
        TRY(sdm_alloc(ctx, &b->border[way], border_entries(b, way), sizeof(uint16_t),
                      "messages between tiles"));
    TRY(sdm_alloc_raw(ctx, &b->scratch, b->scratch_bytes, (size_t)threads, "messages of a tile"));
    TRY(sdm_alloc(ctx, &b->visits, (size_t)tiles, sizeof *b->visits, "visits of tiles"));
    for (int i = 0; i < tiles; i++)
        atomic_init(&b->visits[i], 0);
#pragma omp parallel num_threads(threads)
    for (int64_t k; (k = atomic_fetch_add(&next, 1)) < all;)
        take_visit(ctx, b, k);
    TRY(sdm_check_stop(ctx));
done:
    for (int way = 0; way < SDM_BP_WAYS; way++)
        sdm_free(&b->border[way]);
    SDM_FREE(&b->scratch, &b->visits);
    return st;
}

static SdmStatus propagate_by_definition(SdmContext *ctx, const Front *b)
{
    SDM_OWNED void *scratch = NULL;
    PASS(sdm_alloc(ctx, &scratch, sdm_bp_reference_scratch(b->f), 1, "belief propagation by definition"));
    sdm_bp_reference(b->f, b->plan, scratch, b->label);
    return SDM_OK;
}

SdmStatus sdm_bp_run(SdmContext *ctx, const SdmBpField *f, const SdmBpPlan *plan, const char *cpu_level,
                     uint16_t *label)
{
    /* the narrowest kernels that hold all labels; vectors of 32 labels read 32 bytes of costs */
    const int labels = f->pitch % 32 == 0 || f->labels < 16 ? f->labels : 16;
    Front b = {
        .f = f, .plan = plan, .label = label, .kernels = sdm_bp_kernels(sdm_cpu_level(cpu_level), labels)};
    if (!b.kernels)
        return propagate_by_definition(ctx, &b);
    const int half = b.kernels->lanes / 2, w = f->width < plan->tile ? f->width : plan->tile,
              h = f->height < plan->tile ? f->height : plan->tile;
    b.n = (f->labels + half - 1) / half * half;
    b.scratch_bytes = (b.kernels->bp_scratch(f->labels, w, h) + 63) / 64 * 64;
    b.across = (f->width + plan->tile - 1) / plan->tile;
    b.down = (f->height + plan->tile - 1) / plan->tile;
    return propagate(ctx, &b);
}

/* ---- any optimizer ---- */

SdmStatus sdm_volume_open(SdmContext *ctx, SdmVolume *v)
{
    const size_t pixels = (size_t)v->width * (size_t)v->height;
    v->cost = NULL;
    if (v->labels < 1 || v->labels > SDM_LABELS_MAX)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%d labels to choose from: --optimizer sgm and bp take 1 to %d; give a smaller range",
                        v->labels, SDM_LABELS_MAX);
    v->pitch = sdm_volume_pitch(v->labels);
    PASS(sdm_alloc_raw(ctx, &v->cost, pixels + 1, (size_t)v->pitch,
                       "the volume of costs")); /* read on by a byte */
    if (v->pitch > v->labels)
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < pixels; i++)
            memset(v->cost + i * (size_t)v->pitch + v->labels, SDM_COST_PAD, (size_t)(v->pitch - v->labels));
    return SDM_OK;
}

void sdm_volume_close(SdmVolume *v)
{
    sdm_free(&v->cost);
}

SdmStatus sdm_optimizer_settings(SdmContext *ctx, const SdmOptions *o, SdmOptimizer *out)
{
    *out = (SdmOptimizer){.p1 = o->p1 ? o->p1 : out->p1,
                          .p2 = o->p2 ? o->p2 : out->p2,
                          .paths = strcmp(o->paths, "4") == 0 ? 4 : 8,
                          .bp = {o->bp_tile, o->bp_outer, o->bp_inner},
                          .weight = o->bp_weight ? o->bp_weight : out->weight,
                          .truncation = o->bp_truncation ? o->bp_truncation : out->truncation,
                          .cpu_level = o->cpu_level};
    if (strcmp(o->optimizer, "sgm") == 0)
        out->kind = SDM_OPTIMIZER_SGM;
    else if (strcmp(o->optimizer, "bp") == 0)
        out->kind = SDM_OPTIMIZER_BP;
    if (out->kind == SDM_OPTIMIZER_SGM && out->p2 < out->p1)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--p2: found %d%s, expected at least --p1, which is %d%s; a larger step cannot cost less",
            out->p2, o->p2 ? "" : " (by the cost)", out->p1, o->p1 ? "" : " (by the cost)");
    return SDM_OK;
}

static SdmBpField field_of(const SdmOptimizer *how, const SdmVolume *v)
{
    return (SdmBpField){.width = v->width,
                        .height = v->height,
                        .labels = v->labels,
                        .pitch = v->pitch,
                        .data = v->cost,
                        .weight = how->weight,
                        .truncation = how->truncation};
}

void sdm_volume_energy(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const uint16_t *left,
                       int y0, int y1, int64_t sums[2])
{
    const SdmBpField f = field_of(how, v);
    int64_t data = 0, steps = 0;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(+ : data, steps)
    for (int y = y0; y < y1; y++) {
        int64_t row[2];
        sdm_bp_energy_rows(&f, left, y, y + 1, row);
        data += row[0];
        steps += row[1];
    }
    sums[0] += data;
    sums[1] += steps;
}

static SdmStatus optimize_bp(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v,
                             const SdmLabels *out)
{
    const SdmBpField f = field_of(how, v);
    const SdmStatus st = sdm_bp_run(ctx, &f, &how->bp, how->cpu_level, out->left);
    if (st == SDM_OK && out->right)
        sdm_right_labels(ctx, v, out->left, out->right);
    if (st == SDM_OK && out->near)
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (int y = v->begin; y < v->end; y++)
            sdm_label_costs(v, y, out);
    return st;
}

SdmStatus sdm_optimize(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out)
{
    return how->kind == SDM_OPTIMIZER_BP ? optimize_bp(ctx, how, v, out) : sdm_sgm(ctx, how, v, out);
}

void sdm_right_labels(SdmContext *ctx, const SdmVolume *v, const uint16_t *left, uint16_t *right)
{
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < v->height; y++) {
        const uint16_t *const from = left + (ptrdiff_t)y * v->width;
        uint16_t *const to = right + (ptrdiff_t)y * v->width;
        const uint8_t *const row = v->cost + (ptrdiff_t)y * v->width * v->pitch;
        memset(to, 0xFF, (size_t)v->width * sizeof *to);
        for (int x = 0; x < v->width; x++) {
            const int l = from[x], meets = x + v->first + l;
            if (l >= v->labels || meets < 0 || meets >= v->width)
                continue;
            const int rival = to[meets];
            const ptrdiff_t other = meets - v->first - rival; /* left pixel that came before */
            if (rival == SDM_LABEL_NONE || row[(ptrdiff_t)x * v->pitch + l] < row[other * v->pitch + rival])
                to[meets] = (uint16_t)l;
        }
    }
}
