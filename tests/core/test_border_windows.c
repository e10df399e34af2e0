/* Pixels whose windows reach beyond the data: the nearest match is continued to them, and nothing else changes. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "matching/filters.h"

enum { W = 90, H = 70, HALF = 4, RIM = 3 };

typedef struct Scene {
    SdmSurface s;
    int16_t view[2][W * H];
    float prior[W * H];
} Scene;

/* A scene whose matches have changed the prior by a plane. */
static Scene scene_of(void)
{
    Scene c;
    assert_int_equal(sdm_surface_alloc(ctx, &(SdmWindow){.w = W, .h = H}, &c.s), SDM_OK);
    for (int i = 0; i < W * H; i++) {
        const int u = i % W, v = i / W;
        c.prior[i] = 500.0f + (float)(u * u % 37) - (float)(v % 5);
        c.s.h_m[i] = c.prior[i] + 0.25f * (float)u - 0.5f * (float)v;
        c.s.flags[i] = SDM_QA_VALID;
        c.s.score[i] = (uint8_t)(100 + (7 * u + 3 * v) % 50);
        c.view[0][i] = c.view[1][i] = 100;
    }
    return c;
}

static void scene_free(Scene *c)
{
    sdm_surface_free(&c->s);
}

static void unmatch(Scene *c, int x, int y)
{
    const int i = y * c->s.win.w + x;
    c->s.flags[i] = SDM_QA_OUTSIDE;
    c->s.score[i] = 0;
    c->s.h_m[i] = c->prior[i];
}

static void match(Scene *c)
{
    const SdmBorderWindows in = {c->view[0], c->view[1], c->prior, HALF};
    assert_int_equal(sdm_match_border(ctx, &in, &c->s), SDM_OK);
}

/* All four borders; a plane is continued as it is, with the score of the nearest match. */
TEST(changes_go_on_as_planes)
{
    SDM_CLOSED_BY(scene_free) Scene c = scene_of(), want = scene_of();
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (x < RIM || y < RIM || x >= W - RIM || y >= H - RIM)
                unmatch(&c, x, y);
    match(&c);
    for (int i = 0; i < W * H; i++) {
        assert_true(fabsf(c.s.h_m[i] - want.s.h_m[i]) < 0.001f);
        assert_int_equal(c.s.flags[i], SDM_QA_VALID);
    }
    assert_int_equal(c.s.score[30 * W], want.s.score[30 * W + RIM]);
    assert_int_equal(c.s.score[40], want.s.score[RIM * W + 40]);
}

/* Without data in a view, too far from a match, or unmatched for another reason: as it was. */
TEST(others_stay)
{
    enum { FAR = HALF + 2 };
    for (int side = 0; side < 2; side++) {
        SDM_CLOSED_BY(scene_free) Scene c = scene_of();
        for (int y = 0; y < H; y++)
            for (int x = 0; x < FAR; x++) {
                unmatch(&c, x, y);
                if (x >= 4)
                    c.view[side][y * W + x] = SDM_PIXEL_NODATA;
            }
        c.s.flags[50 * W + 50] = SDM_QA_LOW_SCORE;
        match(&c);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < FAR; x++) {
                assert_int_equal(c.s.flags[y * W + x],
                                 x < FAR - HALF || x >= 4 ? SDM_QA_OUTSIDE : SDM_QA_VALID);
                assert_true(x >= FAR - HALF && x < 4 ? c.s.score[y * W + x] > 0
                                                     : c.s.h_m[y * W + x] == c.prior[y * W + x]);
            }
        assert_int_equal(c.s.flags[50 * W + 50], SDM_QA_LOW_SCORE);
    }
}

/* A match that has none on its other side gives its change as it is. */
TEST(lonely_matches_give_their_change)
{
    SDM_CLOSED_BY(scene_free) Scene c = scene_of();
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (x != 20 || y != 30)
                unmatch(&c, x, y);
    const float change = c.s.h_m[30 * W + 20] - c.prior[30 * W + 20];
    match(&c);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const bool within = abs(x - 20) <= HALF && abs(y - 30) <= HALF;
            assert_int_equal(c.s.flags[y * W + x], within ? SDM_QA_VALID : SDM_QA_OUTSIDE);
            assert_true(!within || fabsf(c.s.h_m[y * W + x] - c.prior[y * W + x] - change) < 0.001f);
        }
}

/* Number of the nearest match, ring after ring; -1: none is near. */
static int nearest_plainly(const Scene *c, int x, int y)
{
    for (int r = 1; r <= HALF; r++)
        for (int k = 0; k <= r; k++)
            for (int i = 0; i < 8; i++) {
                const int across = i & 1 ? k : -k, out = i & 2 ? r : -r;
                const int at_x = x + (i & 4 ? out : across), at_y = y + (i & 4 ? across : out);
                if (at_x >= 0 && at_y >= 0 && at_x < W && at_y < H &&
                    c->s.flags[at_y * W + at_x] & SDM_QA_VALID)
                    return at_y * W + at_x;
            }
    return -1;
}

/* Few matches and many: each pixel has the score of the nearest, whatever its neighbours found. */
TEST(the_nearest_is_found)
{
    uint64_t seed = 11;
    for (unsigned one_in = 2; one_in < 200; one_in *= 3) {
        SDM_CLOSED_BY(scene_free) Scene c = scene_of(), before = scene_of();
        for (int i = 0; i < W * H; i++)
            if ((next_random(&seed) >> 20) % one_in > 0) {
                unmatch(&c, i % W, i / W);
                unmatch(&before, i % W, i / W);
            }
        match(&c);
        for (int i = 0; i < W * H; i++) {
            const int near = before.s.flags[i] & SDM_QA_VALID ? i : nearest_plainly(&before, i % W, i / W);
            assert_int_equal(c.s.score[i], near < 0 ? 0 : before.s.score[near]);
        }
    }
}

RUN_TESTS(setup, teardown)
