/* The pyramid: levels by hand, and the law that strips change nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "matching/pyramid.h"

/* An image of any size, any place: by position alone. kind 0 constant, 1 plane, 2 noise with holes. */
static SdmStatus read_kind(SdmContext *c, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                           int16_t *out)
{
    (void)c;
    const int kind = *(const int *)user;
    for (int64_t y = y0; y < y0 + h; y++)
        for (int64_t x = x0; x < x0 + w; x++, out++) {
            uint64_t seed = (uint64_t)(y * 100003 + x);
            const int16_t r = (next_random(&seed), noise(&seed));
            const bool hole = next_random(&seed) % 9 == 0 || (x / 40 + y / 30) % 7 == 0;
            const int16_t any = (int16_t)(hole ? SDM_PIXEL_NODATA : r);
            *out = kind == 0 ? (int16_t)-77 : kind == 1 ? (int16_t)(8 * (x + y) + 100) : any;
        }
    return SDM_OK;
}

static SdmStatus build(SdmContext *c, int kind, const int64_t bounds[4], int lmin, int lmax, SdmPyramid *p)
{
    const SdmPyramidSource source = {.kernels = sdm_kernels_at("auto"), .read = read_kind, .user = &kind};
    return sdm_pyramid_build(c, &source, bounds, lmin, lmax, p);
}

/* Plane 8 (x + y) + 100: pixel i of level l is at (i + 0.5) 2^l - 0.5, exact while halves are whole numbers.
 */
TEST(planes_stay_planes)
{
    const int64_t bounds[4] = {-5, 3, 70, 61};
    for (int kind = 0; kind < 2; kind++) {
        SDM_CLOSED_BY(sdm_pyramid_free) SdmPyramid p = {0};
        assert_int_equal(build(ctx, kind, bounds, 0, 3, &p), SDM_OK);
        for (int l = 0; l <= 3; l++) {
            const SdmLevelImage *const im = &p.level[l];
            const int64_t size = (int64_t)1 << l;
            assert_true(im->x0 * size <= -5 && (im->x0 + im->w) * size >= 70);
            assert_true(im->y0 * size <= 3 && (im->y0 + im->h) * size >= 61);
            for (int64_t y = 2; y < im->h - 2; y++)
                for (int64_t x = 2; x < im->w - 2; x++) {
                    const int64_t twice = (2 * (im->x0 + x) + 1 + 2 * (im->y0 + y) + 1) * size - 2;
                    assert_int_equal(im->data[y * im->w + x], kind ? 4 * twice + 100 : -77);
                }
        }
    }
}

/* Built through strips, levels are what they are when everything lies in memory; a tall image has several
 * strips. */
TEST(strips_do_not_matter)
{
    const int64_t bounds[4] = {3, -9, 90, 2200};
    SdmPyramid a, b;
    assert_int_equal(build(ctx, 2, bounds, 0, 5, &a), SDM_OK);
    for (int lmin = 1; lmin <= 4; lmin++) {
        assert_int_equal(build(ctx, 2, bounds, lmin, 5, &b), SDM_OK);
        for (int l = 0; l < lmin; l++)
            assert_null(b.level[l].data);
        for (int l = lmin; l <= 5; l++) {
            assert_int_equal(a.level[l].w, b.level[l].w);
            assert_int_equal(a.level[l].h, b.level[l].h);
            assert_memory_equal(a.level[l].data, b.level[l].data,
                                (size_t)(a.level[l].w * a.level[l].h) * sizeof(int16_t));
        }
        sdm_pyramid_free(&b);
    }
    sdm_pyramid_free(&a);
}

TEST(failed_allocations_are_told)
{
    const int64_t bounds[4] = {0, 0, 40, 90};
    for (int lmin = 0; lmin <= 3; lmin += 3) {
        SdmPyramid p;
        memset(&p, CANARY, sizeof p);
        EACH_ALLOCATION_FAILS(build(ctx, 2, bounds, lmin, 4, &p), sdm_pyramid_free(&p), 4, 1);
        for (int l = 0; l < SDM_MAX_LEVELS; l++)
            assert_null(p.level[l].data);
    }
}

RUN_TESTS(setup, teardown)
