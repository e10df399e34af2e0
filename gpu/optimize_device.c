/* Optimizers on a device, see optimize_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "optimize_device.h"

enum {
    GROUP = 64,
    PICK = 128,
    BLOCK = 16,
    MOST_ROWS = 65535, /* groups of a launch */
    STEPS = 4096       /* of the guide: SGM_STEPS */
};

static int blocks_of(int labels)
{
    return (labels + BLOCK - 1) / BLOCK;
}

int64_t sdm_gpu_volume_row(int width, int labels)
{
    return (int64_t)BLOCK * blocks_of(labels) * width;
}

int64_t sdm_gpu_optimize_room(const SdmGpu *g)
{
    const SdmDeviceInfo *const d = sdm_device_info(g->device);
    const int64_t half = sdm_device_budget(g->device) / 2, usual = d->is_cpu ? (int64_t)256 << 20 : half,
                  room = half < usual ? half : usual;
    return room < d->most_bytes ? room : d->most_bytes;
}

int sdm_gpu_bands(SdmGpuOwnRows own, int height, int reach, int origin, SdmGpuBand *bands, int *rows_out)
{
    int count = 0;
    *rows_out = 0;
    for (int y = own.y0; y < own.y1; y += own.rows, count++) {
        const int end = y + own.rows < own.y1 ? y + own.rows : own.y1,
                  top = y > SDM_OVERLAP ? y - SDM_OVERLAP : 0;
        const int bottom = end + SDM_OVERLAP < height ? end + SDM_OVERLAP : height;
        const int first = y - reach > top ? y - reach : top,
                  last = end + reach < bottom ? end + reach : bottom;
        if (bands)
            bands[count] =
                (SdmGpuBand){top - origin, first - origin, last - origin, bottom - origin, *rows_out};
        *rows_out += last - first;
    }
    return count;
}

static SdmStatus send_bands(SdmContext *ctx, SdmGpu *g, const SdmGpuBand *bands, int count, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    const int64_t bytes = count * (int64_t)sizeof *bands;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_BANDS, bytes, out));
    TRY(sdm_upload(ctx, *out, 0, bands, bytes, g->queue, true));
done:
    return st;
}

/* ---- semi-global matching ---- */

/* P2 of each step of the guide, twice in a word: it falls with the step, to half at guide_scale, 0: it does
 * not. */
static SdmStatus send_penalties(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, int guide_scale,
                                SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    uint32_t p2[STEPS];
    for (int i = 0; i < STEPS; i++) {
        const int there =
            guide_scale > 0 ? how->p1 + (how->p2 - how->p1) * guide_scale / (guide_scale + i) : how->p2;
        p2[i] = (uint32_t)there << 16 | (uint32_t)there;
    }
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_PENALTIES, sizeof p2, out));
    TRY(sdm_upload(ctx, *out, 0, p2, sizeof p2, g->queue, true));
done:
    return st;
}

/* Parts of the bands, as src/matching/optimize.c has them. */
typedef struct Parts {
    SdmGpuBand *part;
    int count;
} Parts;

/* Parts whose paths are on the device together; their own rows `out` count from the first of them, which is
 * row `out` of the labels. */
typedef struct Together {
    const SdmGpuBand *part;
    int count, out, rows;
    SdmBuffer *penalties;
} Together;

static SdmStatus cut_parts(SdmContext *ctx, const SdmGpuBand *bands, int count, Parts *p)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < count; i++)
        p->count += (bands[i].end - bands[i].begin + SDM_SGM_BAND - 1) / SDM_SGM_BAND;
    TRY(sdm_alloc(ctx, &p->part, (size_t)p->count, sizeof *p->part, "bands of semi-global matching"));
    p->count = 0;
    for (int i = 0; i < count; i++)
        for (int y = bands[i].begin; y < bands[i].end; y += SDM_SGM_BAND) {
            const SdmGpuBand *const b = &bands[i];
            const int end = y + SDM_SGM_BAND < b->end ? y + SDM_SGM_BAND : b->end;
            p->part[p->count++] = (SdmGpuBand){
                .top = y - SDM_OVERLAP > b->top ? y - SDM_OVERLAP : b->top,
                .begin = y,
                .end = end,
                .bottom = end + SDM_OVERLAP < b->bottom ? end + SDM_OVERLAP : b->bottom,
                .out = b->out + y - b->begin};
        }
done:
    return st;
}

static SdmStatus run_parts(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                           const Together *t, const SdmGpuLabels *to)
{
    SdmStatus st = SDM_OK;
    static const struct {
        int most;
        const char *name;
    } kernels[] = {{16, "sgm_paths_16"}, {32, "sgm_paths_32"}, {64, "sgm_paths_64"}, {128, "sgm_paths_128"}};
    const bool wide = v->most + how->p2 > SDM_COST_MAX;
    const int64_t path = t->rows * sdm_gpu_volume_row(v->width, v->labels) / BLOCK;
    const int lines = v->width > SDM_SGM_BAND ? v->width : SDM_SGM_BAND;
    const char *name = "sgm_paths_any";
    SdmBuffer *paths, *bands;
    for (int i = 3; i >= 0; i--)
        name = v->labels <= kernels[i].most ? kernels[i].name : name;
    TRY(sdm_check_stop(ctx));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_PATHS, path * how->paths * BLOCK * (wide ? 2 : 1), &paths));
    TRY(send_bands(ctx, g, t->part, t->count, &bands));
    const SdmArg args[] = {SDM_BUF(v->cost),    SDM_BUF(v->guide),  SDM_BUF(bands),
                           SDM_I32(v->width),   SDM_I32(v->labels), SDM_I32(how->p1),
                           SDM_BUF(t->penalties), SDM_I32(wide),      SDM_I64(wide ? 2 * path : path),
                           SDM_BUF(paths)};
    const int groups = v->labels > 128 ? lines : sdm_gpu_groups(lines, GROUP);
    TRY(sdm_gpu_run(ctx, g, name, (const int[3]){groups, t->count, how->paths}, (const int[3]){GROUP, 1, 1},
                    (int)(sizeof args / sizeof *args), args));
    TRY(SDM_GPU_RUN(ctx, g, "sgm_pick", v->width, t->rows, PICK, 1, SDM_BUF(paths),
                    SDM_I64(wide ? 2 * path : path), SDM_I32(how->paths), SDM_I32(wide), SDM_I32(v->width),
                    SDM_I32(v->labels), SDM_I32(v->first), SDM_I32(t->out), SDM_BUF(to->left),
                    SDM_BUF(to->right)));
done:
    return st;
}

static SdmStatus run_sgm(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                         const SdmGpuBand *bands, int count, const SdmGpuLabels *out)
{
    SdmStatus st = SDM_OK;
    Parts p = {0};
    const int64_t row = sdm_gpu_volume_row(v->width, v->labels) * how->paths *
                        (v->most + how->p2 > SDM_COST_MAX ? 2 : 1);
    const int64_t fit = sdm_gpu_optimize_room(g) / row, most = fit < MOST_ROWS ? fit : MOST_ROWS;
    SdmBuffer *penalties;
    TRY(cut_parts(ctx, bands, count, &p));
    TRY(send_penalties(ctx, g, how, v->guide_scale, &penalties));
    for (int i = 0, end; i < p.count; i = end) {
        Together t = {.part = p.part + i, .out = p.part[i].out, .penalties = penalties};
        for (end = i; end < p.count; end++) {
            const int more = p.part[end].end - p.part[end].begin;
            if (end > i && t.rows + more > most)
                break;
            p.part[end].out -= t.out;
            t.rows += more;
        }
        t.count = end - i;
        TRY(run_parts(ctx, g, how, v, &t, out));
    }
done:
    sdm_free(&p.part);
    return st;
}

/* ---- belief propagation ---- */

typedef struct Tiles {
    const SdmOptimizer *how;
    const SdmGpuVolume *v;
    int side, across, down, rows; /* tiles of the highest band, whose rows these are */
    int count;                    /* bands */
    SdmBuffer *inside, *border, *bands;
} Tiles;

static int64_t message_bytes(const SdmGpuVolume *v)
{
    return (int64_t)2 * BLOCK * blocks_of(v->labels);
}

static int64_t inside_bytes(const Tiles *t)
{
    const int diagonal = t->across < t->down ? t->across : t->down;
    return diagonal * (int64_t)4 * t->side * t->side * message_bytes(t->v);
}

static int64_t border_bytes(const Tiles *t)
{
    const int64_t messages =
        2 * ((int64_t)(t->across + 1) * t->rows + (int64_t)(t->down + 1) * t->v->width);
    return messages * message_bytes(t->v);
}

static SdmStatus visit_diagonal(SdmContext *ctx, SdmGpu *g, const Tiles *t, int diagonal, bool last,
                                SdmBuffer *label)
{
    const SdmGpuVolume *const v = t->v;
    const char *const name = v->labels <= 16   ? "bp_visit_16"
                             : v->labels <= 32 ? "bp_visit_32"
                             : v->labels <= 64 ? "bp_visit_64"
                                               : "bp_visit_any";
    const int first = diagonal < t->across ? 0 : diagonal - t->across + 1,
              end = diagonal < t->down ? diagonal + 1 : t->down;
    const SdmArg args[] = {SDM_BUF(v->cost),
                           SDM_BUF(t->inside),
                           SDM_BUF(t->border),
                           SDM_BUF(t->bands),
                           SDM_I32(v->width),
                           SDM_I32(v->labels),
                           SDM_I32(t->how->weight),
                           SDM_I32(t->how->truncation),
                           SDM_I32(t->side),
                           SDM_I32(t->how->bp.inner),
                           SDM_I32(t->rows),
                           SDM_I32(first),
                           SDM_I32(t->across < t->down ? t->across : t->down),
                           SDM_I32(diagonal),
                           SDM_I32(last),
                           SDM_BUF(label)};
    return sdm_gpu_run(ctx, g, name, (const int[3]){end - first, t->count, 1}, (const int[3]){GROUP, 1, 1},
                       (int)(sizeof args / sizeof *args), args);
}

/* All visits of the bands: diagonal after diagonal, there and back. */
static SdmStatus visit_all(SdmContext *ctx, SdmGpu *g, const Tiles *t, SdmBuffer *label)
{
    SdmStatus st = SDM_OK;
    const int last = t->across + t->down - 2, passes = 2 * t->how->bp.outer;
    for (int pass = 0; pass < passes; pass++) {
        TRY(sdm_check_stop(ctx));
        for (int d = 0; d <= last; d++)
            TRY(visit_diagonal(ctx, g, t, pass % 2 ? last - d : d, pass == passes - 1, label));
    }
done:
    return st;
}

/* Tiles of a volume whose highest band has `rows` rows. */
static Tiles tiles_of(const SdmOptimizer *how, const SdmGpuVolume *v, int rows)
{
    const int longer = v->width > rows ? v->width : rows,
              side = how->bp.tile < longer ? how->bp.tile : longer;
    return (Tiles){.how = how,
                   .v = v,
                   .side = side,
                   .across = sdm_gpu_groups(v->width, side),
                   .down = sdm_gpu_groups(rows, side),
                   .rows = rows};
}

static SdmStatus run_bp(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                        const SdmGpuBand *bands, int count, const SdmGpuLabels *out)
{
    SdmStatus st = SDM_OK;
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows = bands[i].bottom - bands[i].top > rows ? bands[i].bottom - bands[i].top : rows;
    Tiles t = tiles_of(how, v, rows);
    const int64_t fit = sdm_gpu_optimize_room(g) / (inside_bytes(&t) + border_bytes(&t));
    const int most = fit < 1 ? 1 : fit < count ? (int)fit : count;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_PATHS, most * inside_bytes(&t), &t.inside));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_BORDERS, most * border_bytes(&t), &t.border));
    for (int i = 0; i < count; i += most) {
        t.count = i + most < count ? most : count - i;
        TRY(send_bands(ctx, g, bands + i, t.count, &t.bands));
        TRY(sdm_fill_bytes(ctx, t.border, 0, 0, t.count * border_bytes(&t), g->queue));
        TRY(visit_all(ctx, g, &t, out->left));
    }
done:
    return st;
}

/* Right pixels' labels by the left ones of all bands. */
static SdmStatus meet_right(SdmContext *ctx, SdmGpu *g, const SdmGpuVolume *v, const SdmGpuBand *bands,
                            int count, const SdmGpuLabels *out)
{
    SdmStatus st = SDM_OK;
    SdmBuffer *on_device;
    int most = 0;
    for (int i = 0; i < count; i++)
        most = bands[i].end - bands[i].begin > most ? bands[i].end - bands[i].begin : most;
    TRY(send_bands(ctx, g, bands, count, &on_device));
    TRY(sdm_gpu_run(ctx, g, "right_labels",
                    (const int[3]){sdm_gpu_groups(v->width, GROUP), sdm_gpu_groups(most, 4), count},
                    (const int[3]){GROUP, 4, 1}, 7,
                    (const SdmArg[]){SDM_BUF(v->cost), SDM_BUF(on_device), SDM_I32(v->width),
                                     SDM_I32(v->labels), SDM_I32(v->first), SDM_BUF(out->left),
                                     SDM_BUF(out->right)}));
done:
    return st;
}

SdmStatus sdm_gpu_optimize(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                           const SdmGpuBand *bands, int count, const SdmGpuLabels *out)
{
    SdmStatus st = SDM_OK;
    const SdmGpuBand *const end = &bands[count - 1];
    if (out->right)
        TRY(sdm_fill_bytes(ctx, out->right, 0, 0xFF,
                           (int64_t)(end->out + end->end - end->begin) * v->width * 4, g->queue));
    if (how->kind == SDM_OPTIMIZER_SGM)
        return run_sgm(ctx, g, how, v, bands, count, out);
    TRY(run_bp(ctx, g, how, v, bands, count, out));
    if (out->right)
        TRY(meet_right(ctx, g, v, bands, count, out));
done:
    return st;
}

SdmStatus sdm_gpu_bp_energy(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                            SdmGpuOwnRows own, SdmBuffer *label, int64_t sums[2])
{
    enum { PIXELS = 256 };
    SdmStatus st = SDM_OK;
    uint32_t *part = NULL;
    SdmBuffer *on_device;
    const size_t count = (size_t)sdm_gpu_groups(v->width, PIXELS) * (size_t)(own.y1 - own.y0);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_BORDERS, (int64_t)(2 * count * sizeof *part), &on_device));
    TRY(sdm_alloc(ctx, &part, 2 * count, sizeof *part, "sums of the energy"));
    for (int y = own.y0; y < own.y1; y += own.rows) {
        const SdmGpuBand *const b = &own.bands[(y - own.y0) / own.rows];
        const int rows = own.y1 - y < own.rows ? own.y1 - y : own.rows;
        TRY(SDM_GPU_RUN(ctx, g, "bp_energy", v->width, rows, PIXELS, 1, SDM_BUF(v->cost), SDM_BUF(label),
                        SDM_I32(v->width), SDM_I32(v->labels), SDM_I32(how->weight),
                        SDM_I32(how->truncation), SDM_I32(b->out + y - b->begin), SDM_I32(y),
                        SDM_I32(y - own.y0), SDM_I32(y == b->top), SDM_BUF(on_device)));
    }
    TRY(sdm_download(ctx, on_device, 0, part, (int64_t)(2 * count * sizeof *part), g->queue, true));
    for (size_t i = 0; i < 2 * count; i++)
        sums[i % 2] += part[i];
done:
    sdm_free(&part);
    return st;
}
