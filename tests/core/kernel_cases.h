/* What the tests of the kernels share: fills, guarded buffers, a whole volume from a strip of costs. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/system.h"
#include "kernels.h"
#include "tests/case.h"

#define assert_near(a, b, eps) assert_true(fabs((double)(a) - (double)(b)) <= (eps))

enum { GUARD = 64, CANARY = 0xA5 };

/* Step from one case of a long series to the next.  Sanitizers and qemu slow these tests down by an order of magnitude,
 * so there every eleventh is enough, other emulators by more: 11 and 53 have no factor in common with the numbers of
 * shapes, costs, windows and labels. */
#ifdef SDM_CASE_STEP
enum { CASE_STEP = SDM_CASE_STEP };
#elif defined(__SANITIZE_ADDRESS__)
enum { CASE_STEP = 11 };
#else
enum { CASE_STEP = 1 };
#endif

/* The same for kernels on a device: a simulated one (tests/simulator) takes as long, and checks the kernels themselves;
 * beside another one the sanitizers check the host's part alone. */
#ifdef SDM_SIMULATOR
enum { DEVICE_STEP = 5 };
#else
enum { DEVICE_STEP = CASE_STEP };
#endif

static inline uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* -2047..2047 */
static inline int16_t noise(uint64_t *state)
{
    return (int16_t)((int)(next_random(state) % 4095) - 2047);
}

static inline void fill_noise(int16_t *p, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++)
        p[i] = noise(&seed);
}

/* lo..hi */
static inline float real(uint64_t *seed, float lo, float hi)
{
    return lo + (hi - lo) * (float)(next_random(seed) % 65536) / 65536.0f;
}

/* `bytes` bytes with a guard on either side, aligned to 64; free with guarded_free(). */
static inline void *guarded_alloc(size_t bytes)
{
    char *const block = sdm_system_aligned(64, (bytes + 2 * GUARD + 63) / 64 * 64);
    assert_non_null(block);
    memset(block, CANARY, bytes + 2 * GUARD);
    return block + GUARD;
}

static inline void guarded_check(const void *p, size_t bytes)
{
    const unsigned char *const at = p;
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(*(at - 1 - i), CANARY);
        assert_int_equal(at[bytes + i], CANARY);
    }
}

static inline void guarded_free(void *p)
{
    sdm_system_aligned_free((char *)p - GUARD);
}

/* The same when the scope of a pointer ends. */
#define GUARDED SDM_CLOSED_BY(guarded_end)
static inline void guarded_end(const void *p /* T ** */)
{
    char *at;
    memcpy(&at, p, sizeof at);
    guarded_free(at);
}

static const char *const level_names[] = {"c", "neon", "sse4.2", "avx2", "avx512bw", "avx512"};
enum { N_LEVELS = sizeof level_names / sizeof *level_names };

enum { MOST_OUTPUTS = 9 };
typedef void run_kernel_fn(const SdmKernels *k, const void *in, void *const *out);

/* Compare every copy of a kernel that runs here with the reference, bit for bit: run() writes `count` arrays of so many bytes,
 * guarded and filled with ones before. */
static inline void compare_copies(run_kernel_fn *run, const void *in, const size_t *bytes, int count,
                                  const char *what, int turn)
{
    void *out[2][MOST_OUTPUTS];
    for (int l = -1; l < N_LEVELS; l++) {
        const SdmKernels *const k = l < 0 ? &sdm_kernels_reference : sdm_kernels_at(level_names[l]);
        void **const mine = out[l >= 0];
        for (int i = 0; k && i < count; i++)
            mine[i] = memset(guarded_alloc(bytes[i]), 1, bytes[i]);
        if (k)
            run(k, in, mine);
        for (int i = 0; k && i < count; i++) {
            guarded_check(mine[i], bytes[i]);
            if (l >= 0 && memcmp(out[0][i], mine[i], bytes[i]) != 0)
                fail_msg("%s %s, turn %d: output %d of %zu bytes", level_names[l], what, turn, i, bytes[i]);
            if (l >= 0)
                guarded_free(mine[i]);
        }
    }
    for (int i = 0; i < count; i++)
        guarded_free(out[0][i]);
}

enum Fill { ZEROS, TOP, BOTTOM, OPPOSED, NOISE, HOLES, ALL_NODATA, FILL_END };

static inline void fill_image(int16_t *p, size_t n, enum Fill fill, int side, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t r = noise(seed);
        switch (fill) {
        case ZEROS:
            p[i] = 0;
            break;
        case TOP:
            p[i] = 2047;
            break;
        case BOTTOM:
            p[i] = -2047;
            break;
        case OPPOSED:
            p[i] = (r > 0) == (side > 0) ? 2047 : -2047;
            break;
        case HOLES:
            p[i] = next_random(seed) % 23 == 0 ? (int16_t)SDM_PIXEL_NODATA : r;
            break;
        case ALL_NODATA:
            p[i] = SDM_PIXEL_NODATA;
            break;
        default:
            p[i] = r;
            break;
        }
    }
}

typedef struct Range {
    int dmin, dmax;
} Range;
static const Range ranges[] = {{-1, 1}, {0, 0}, {-5, -3}, {2, 2}, {-3, 4}, {-140, -135}, {60, 70}};
enum { N_RANGES = sizeof ranges / sizeof *ranges };

typedef struct Volume { /* rows of costs kept whole; row y at score + ((y * nd) + k) * width */
    int width, height, dmin, dmax;
    int rows;     /* rows that came */
    float *score; /* height x (dmax - dmin + 1) x width */
    float *left;  /* textures, height x width */
} Volume;

static inline int volume_depth(const Volume *v)
{
    return v->dmax - v->dmin + 1;
}

static inline float volume_at(const Volume *v, int x, int y, int d)
{
    return v
        ->score[((size_t)y * (size_t)volume_depth(v) + (size_t)(d - v->dmin)) * (size_t)v->width + (size_t)x];
}

static inline void keep_row(void *user, const SdmCostRow *row)
{
    Volume *const v = user;
    const size_t w = (size_t)row->width, y = (size_t)row->y, nd = (size_t)volume_depth(v);
    assert_int_equal(row->width, v->width);
    assert_int_equal(row->dmin, v->dmin);
    assert_int_equal(row->dmax, v->dmax);
    for (size_t k = 0; k < nd; k++)
        memcpy(v->score + (y * nd + k) * w, row->score + (ptrdiff_t)k * row->pitch, w * sizeof(float));
    memcpy(v->left + y * w, row->left_texture, w * sizeof(float));
    v->rows++;
}

/* Run `cost` on the job with scratch of exactly its size, guarded; *v is allocated here, zero where no row
 * came. */
static inline void volume_of(const SdmKernels *k, sdm_cost_strip_fn *cost, const SdmCostJob *job, Volume *v)
{
    SdmCostJob mine = *job;
    const size_t bytes = k->cost_scratch(job->width, job->window, job->dmin, job->dmax);
    const size_t n = (size_t)job->width * (size_t)job->height;
    *v = (Volume){.width = job->width, .height = job->height, .dmin = job->dmin, .dmax = job->dmax};
    v->score = calloc(n * (size_t)volume_depth(v), sizeof(float));
    v->left = calloc(n, sizeof(float));
    mine.scratch = guarded_alloc(bytes);
    cost(&mine, keep_row, v);
    guarded_check(mine.scratch, bytes);
    guarded_free(mine.scratch);
}

static inline void volume_free(Volume *v)
{
    free(v->score);
    free(v->left);
}
