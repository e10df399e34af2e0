/* Tiled belief propagation: costs of labels -> labels, by a wavefront of tiles over the threads, forwards and
 * backwards. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/belief_propagation.h"

#include "instruction_set.h"

#include <sched.h>
#include <stdatomic.h>

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

static int round_up(int v, int to)
{
    return (v + to - 1) / to * to;
}

static SdmStatus check(SdmContext *ctx, const SdmBpField *f, const SdmBpPlan *plan)
{
    if (f->width < 1 || f->height < 1)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "belief propagation: found an image of %d x %d pixels, expected at least one",
                        f->width, f->height);
    if (f->labels < 1 || f->labels > SDM_BP_LABELS_MAX)
        return sdm_fail(ctx, SDM_ERR_USAGE, "belief propagation: found %d labels, expected 1 to %d",
                        f->labels, SDM_BP_LABELS_MAX);
    if (f->weight < 1 || f->truncation < 1 || (int64_t)f->weight * f->truncation > SDM_BP_PENALTY_MAX)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "belief propagation: found weight %d and truncation %d, expected both at least 1 and their "
            "product at most %d, so that messages fit 16 bits",
            f->weight, f->truncation, (int)SDM_BP_PENALTY_MAX);
    if (plan->tile < SDM_BP_TILE_MIN || plan->outer < 1 || plan->inner < 1)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "belief propagation: found tiles of %d px, %d outer and %d inner iterations, expected tiles of "
            "at least %d px and one iteration of each kind",
            plan->tile, plan->outer, plan->inner, (int)SDM_BP_TILE_MIN);
    return SDM_OK;
}

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

/* The narrowest kernels that hold all labels; vectors of 32 labels read 32 bytes of costs. */
static const SdmPairKernels *kernels_for(const SdmCpuLevel *level, int labels, int pitch)
{
    return sdm_bp_kernels(level, pitch % 32 == 0 || labels < 16 ? labels : 16);
}

SdmStatus sdm_bp_run(SdmContext *ctx, const SdmBpField *f, const SdmBpPlan *asked, const char *cpu_level,
                     uint16_t *label)
{
    const SdmCpuLevel *const level = sdm_cpu_level(cpu_level);
    PASS(check(ctx, f, asked));
    if (!level)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", cpu_level,
                        sdm_kernels_name("auto"));
    Front b = {.f = f, .plan = asked, .label = label};
    b.kernels = kernels_for(level, f->labels, f->pitch);
    if (!b.kernels)
        return propagate_by_definition(ctx, &b);
    b.n = round_up(f->labels, b.kernels->lanes / 2);
    const int w = f->width < asked->tile ? f->width : asked->tile,
              h = f->height < asked->tile ? f->height : asked->tile;
    b.scratch_bytes = (b.kernels->bp_scratch(f->labels, w, h) + 63) / 64 * 64;
    b.across = (f->width + asked->tile - 1) / asked->tile;
    b.down = (f->height + asked->tile - 1) / asked->tile;
    return propagate(ctx, &b);
}

int64_t sdm_bp_bytes(int width, int height, int labels, int tile)
{
    const int64_t n = round_up(labels, 32), across = (width + tile - 1) / tile,
                  down = (height + tile - 1) / tile;
    const int64_t borders = 2 * ((across + 1) * height + (down + 1) * width);
    const int64_t w = width < tile ? width : tile, h = height < tile ? height : tile;
    const int64_t each = 5 * (w + 1) * (h + 1) + 2 * w + 64; /* messages of a tile */
    return (int64_t)sizeof(uint16_t) * n * (borders + (across < down ? across : down) * each);
}
