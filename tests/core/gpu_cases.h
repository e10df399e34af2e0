/* What the tests of the device kernels share: a device, buffers with a guard behind them, random lattices. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/device_ops.h"
#include "matching/cpu_match_pass.h"
#include "devices.h"
#include "kernel_cases.h"

typedef struct GpuTest {
    SdmContext *ctx;
    SdmDevice *device;
    SdmGpu gpu;
} GpuTest;
static GpuTest test;

#define OK(call) assert_ok(test.ctx, call)

typedef struct Shape {
    int w, h;
} Shape;

/* A buffer with `bytes` of data (NULL: as a canary left them) and a guard behind. */
static inline SdmBuffer *put(const void *data, size_t bytes)
{
    SdmBuffer *b = NULL;
    FREED unsigned char *const all = malloc(bytes + GUARD);
    memset(all, CANARY, bytes + GUARD);
    if (data)
        memcpy(all, data, bytes);
    OK(sdm_buffer_new(test.ctx, test.device, (int64_t)(bytes + GUARD), "a test", &b));
    OK(sdm_upload(test.ctx, b, 0, all, (int64_t)(bytes + GUARD), 0, true));
    return b;
}

/* Compare what lies in a buffer, its guard too, and give the buffer back. */
static inline void expect(SdmBuffer *b, const void *want, size_t bytes, const char *what)
{
    unsigned char *const all = malloc(bytes + GUARD);
    OK(sdm_download(test.ctx, b, 0, all, (int64_t)(bytes + GUARD), 0, true));
    for (size_t i = 0; i < bytes; i++)
        if (all[i] != ((const unsigned char *)want)[i])
            fail_msg("%s: byte %zu of %zu differs", what, i, bytes);
    for (size_t i = 0; i < GUARD; i++)
        if (all[bytes + i] != CANARY)
            fail_msg("%s: writes %zu bytes behind its end", what, i);
    free(all);
    sdm_buffer_free(&b);
}

/* A lattice over a window of a level, with all that random: positions near those of an image of about that
 * size. */
static inline SdmNode *random_nodes(SdmLattice *lat, const SdmWindow *win, int step, uint64_t *seed)
{
    const int64_t one = (int64_t)1 << win->level;
    *lat = (SdmLattice){.u0 = (win->u0 * one - 40) / 16 * 16 - 16,
                        .v0 = (win->v0 * one - 40) / 16 * 16 - 16,
                        .step = step,
                        .height0_m = 500.0};
    lat->nu = (int)(((win->u0 + win->w) * one - lat->u0) / step) + 3;
    lat->nv = (int)(((win->v0 + win->h) * one - lat->v0) / step) + 3;
    lat->node = calloc((size_t)lat->nu * (size_t)lat->nv, sizeof *lat->node);
    for (int j = 0; j < lat->nv; j++)
        for (int i = 0; i < lat->nu; i++) {
            SdmNode *const n = &lat->node[j * lat->nu + i];
            const float u = (float)(i * step), v = (float)(j * step);
            n->left[0] = (int64_t)((u + real(seed, -3.0f, 3.0f)) * 65536.0f);
            n->left[1] = (int64_t)((v + real(seed, -3.0f, 3.0f)) * 65536.0f);
            n->right[0] = (int64_t)((u + real(seed, -9.0f, 9.0f)) * 65536.0f);
            n->right[1] = (int64_t)((v + real(seed, -3.0f, 3.0f)) * 65536.0f);
            for (int a = 0; a < 2; a++) {
                n->right_b[a] = real(seed, -0.05f, 0.05f);
                n->right_c[a] = real(seed, -1e-4f, 1e-4f);
            }
            n->du_dh = real(seed, 0.01f, 0.05f);
        }
    return lat->node;
}

static inline size_t nodes_bytes(const SdmLattice *lat)
{
    return (size_t)lat->nu * (size_t)lat->nv * sizeof(SdmNode);
}

/* Run the tests on every device that rounds as the processor does; 77 where there is none. */
static inline int run_on_devices(void)
{
    int failed = 0, ran = 0;
    test.ctx = default_context();
    find_devices();
    for (int i = 0; i < device_count; i++) {
        if (sdm_device_open(test.ctx, devices[i].api, devices[i].index, &test.device) != SDM_OK ||
            sdm_gpu_open(test.ctx, test.device, 0, &test.gpu) != SDM_OK) {
            print_message("%s\n", sdm_error(test.ctx));
            failed++;
            continue;
        }
        const SdmDeviceInfo *const info = sdm_device_info(test.device);
        print_message("%son %s%s\n", info->exact ? "" : "not ", info->name,
                      info->exact ? "" : ": rounds otherwise");
        ran += info->exact;
        failed += info->exact ? run_cases(NULL, NULL) : 0;
        sdm_gpu_close(&test.gpu);
        sdm_device_close(&test.device);
    }
    sdm_close(&test.ctx);
    return failed ? 1 : ran ? 0 : 77;
}
