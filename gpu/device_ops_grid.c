/* Gridding on a device, see device_ops.h. */
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.h"

#include "matching/gridding.h"

#include <string.h>

enum {
    PATCH_BYTES = 64,
    REAL = 5 * 4, /* bytes of a cell */
    WHOLE = 2 * 2,
    FAR = 1 << 22 /* cells from the block, or more */
};
#define LEAST_RATIO 0.5 /* cells by pixels, on a side */
#define MOST_RATIO 16.0

typedef struct Patch { /* GridPatch of gpu/grid.cl */
    float a[2][4], b[2], c[2];
    int32_t base[2], rest[2];
} Patch;
_Static_assert(sizeof(Patch) == PATCH_BYTES, "as on the device");

static int log2_of(int power)
{
    int n = 0;
    while (1 << n < power)
        n++;
    return n;
}

static int64_t bits_of(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* ---- what it takes ---- */

bool sdm_gpu_can_grid(const SdmGpu *g, const SdmGpuGrid *q)
{
    const double ratio = q->gridding->spacing_m / q->gridding->gsd_m;
    const int64_t most = INT32_MAX, around = 2 * (SDM_GRIDDING_MAX_REACH + 1);
    return sdm_device_info(g->device)->doubles && ratio >= LEAST_RATIO && ratio <= MOST_RATIO &&
           (int64_t)q->win.w * q->win.h <= most && q->block->w < FAR && q->block->h < FAR &&
           (q->block->w + around) * (q->block->h + around) <= most;
}

static int64_t patches_bytes(const SdmGriddingSetup *s)
{
    return (int64_t)s->nu * s->nv * PATCH_BYTES;
}

/* Cells on a side of a point's own that it can reach. */
static int reach_of(const SdmGriddingSetup *s)
{
    return (s->radius + SDM_GRIDDING_UNIT / 2) / SDM_GRIDDING_UNIT;
}

static int64_t heads_bytes(const SdmGriddingSetup *s, const SdmBlock *b)
{
    return (b->w + 2 * reach_of(s)) * (b->h + 2 * reach_of(s)) * (int64_t)sizeof(int32_t);
}

int64_t sdm_gpu_grid_bytes(const SdmGpuGrid *q)
{
    SdmGriddingSetup s;
    const int64_t pixels = (int64_t)q->win.w * q->win.h, cells = q->block->w * q->block->h;
    sdm_gridding_setup(q->gridding, &q->win, &s);
    const int64_t real = cells * REAL - pixels * 8, whole = cells * WHOLE - pixels * 4; /* sums and counts */
    return patches_bytes(&s) + (int64_t)sizeof s.table + heads_bytes(&s, q->block) +
           (real > 0 ? cells * REAL : 0) + (whole > 0 ? cells * WHOLE : 0);
}

/* ---- patches ---- */

/* Cells from the block's corner; what is far off stays so. */
static int32_t from_block(int64_t base, int64_t first)
{
    const int64_t at = base - first;
    return (int32_t)(at > FAR ? FAR : at < -FAR ? -FAR : at);
}

static void make_patches(SdmContext *ctx, const SdmGriddingSetup *s, const SdmBlock *b, Patch *out)
{
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int i = 0; i < s->nu * s->nv; i++) {
        SdmGriddingPatch p;
        sdm_gridding_patch(s, i % s->nu, i / s->nu, &p);
        memcpy(out[i].a, p.a, sizeof p.a);
        memcpy(out[i].b, p.b, sizeof p.b);
        memcpy(out[i].c, p.c, sizeof p.c);
        out[i].base[0] = from_block(p.base[0], b->col0);
        out[i].base[1] = from_block(p.base[1], b->row0);
        out[i].rest[0] = out[i].rest[1] = 0;
    }
}

/* Patches and weights go up in the other queue, beside what is still in work. */
static SdmStatus send_patches(SdmContext *ctx, SdmGpu *g, const SdmGriddingSetup *s, const SdmBlock *b,
                              SdmBuffer **patches, SdmBuffer **table)
{
    SdmStatus st = SDM_OK;
    Patch *patch = NULL;
    const int64_t bytes = patches_bytes(s), weights = (int64_t)(s->radius + 1) * (int64_t)sizeof *s->table;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_PATCHES, bytes, patches));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_WEIGHTS, (int64_t)sizeof s->table, table));
    TRY(sdm_alloc_raw(ctx, &patch, (size_t)(s->nu * s->nv), sizeof *patch, "gridding patches"));
    TRY(sdm_device_pause(ctx, g->device, g->queue));
    make_patches(ctx, s, b, patch);
    TRY(sdm_upload(ctx, *patches, 0, patch, bytes, 1 - g->queue, true));
    TRY(sdm_upload(ctx, *table, 0, s->table, weights, 1 - g->queue, true));
done:
    sdm_free(&patch);
    return st;
}

/* ---- gridding ---- */

SdmStatus sdm_gpu_grid(SdmContext *ctx, SdmGpu *g, const SdmGpuGrid *q, SdmBuffer **real, SdmBuffer **whole)
{
    SdmStatus st = SDM_OK;
    SdmGriddingSetup s;
    const SdmGridding *const how = q->gridding;
    const SdmLattice *const lat = how->lattice;
    const SdmBlock *const b = q->block;
    const int64_t n = (int64_t)q->win.w * q->win.h * 4, cells = b->w * b->h;
    SdmBuffer *patches, *table, *head, *next, *height, *spot, *rest;
    sdm_gridding_setup(how, &q->win, &s);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_MEAN, n, &next));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_MEAN_R, n, &height));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE, n, &spot));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE_R, n, &rest));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, cells * REAL, real));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_COUNT, cells * WHOLE, whole));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_HEADS, heads_bytes(&s, b), &head));
    TRY(send_patches(ctx, g, &s, b, &patches, &table));
    TRY(sdm_fill_bytes(ctx, head, 0, 0xff, heads_bytes(&s, b), g->queue));
    TRY(SDM_GPU_PIXELS(ctx, g, "grid_points", q->win.w, q->win.h, SDM_BUF(patches), SDM_I32(s.nu),
                       SDM_I32(q->win.u0 - lat->u0 - s.i0 * lat->step),
                       SDM_I32(q->win.v0 - lat->v0 - s.j0 * lat->step), SDM_I32(log2_of(lat->step)),
                       SDM_F32((float)lat->height0_m), SDM_BUF(q->h_m), SDM_BUF(q->flags), SDM_BUF(q->score),
                       SDM_BUF(q->ray_error_px), SDM_BUF(q->left), SDM_I32(q->win.w), SDM_I32(q->win.h),
                       SDM_I32(b->w), SDM_I32(b->h), SDM_I32(reach_of(&s)), SDM_BUF(head), SDM_BUF(next),
                       SDM_BUF(height), SDM_BUF(spot), SDM_BUF(rest)));
    TRY(SDM_GPU_PIXELS(ctx, g, "grid_cells", (int)b->w, (int)b->h, SDM_BUF(head), SDM_BUF(next),
                       SDM_BUF(height), SDM_BUF(spot), SDM_BUF(rest), SDM_BUF(table), SDM_I32(s.radius),
                       SDM_I32(reach_of(&s)), SDM_I32(b->w), SDM_I32(b->h), SDM_I32(how->middle),
                       SDM_I64(s.least), SDM_I64(bits_of(how->scale)), SDM_I64(bits_of(how->offset)),
                       SDM_I64(bits_of(how->ray_error_m_per_px)), SDM_BUF(*real), SDM_BUF(*whole)));
done:
    return st;
}
