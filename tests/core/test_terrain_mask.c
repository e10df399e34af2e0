/* What of the coarse surface is terrain: pieces, jumps and distances worked by hand. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "matching/terrain_mask.h"

#define PIXEL_M 60.0f /* so neighbours may differ by 20 + 1.43 x 60 = 105.8 m */
enum { W = 32, H = 24, N = W * H };

typedef struct Case {
    SdmContext *ctx;
    SdmSurface s;
    SdmTerrainMask g;
    int16_t grey[N];
    float ray_error_v[N];
    bool shown, hidden; /* as of the evidence */
} Case;

static void start(Case *c, float h_m, uint16_t flags)
{
    const SdmWindow win = {.level = 2, .w = W, .h = H};
    memset(c, 0, sizeof *c);
    c->ctx = default_context();
    assert_int_equal(sdm_surface_alloc(c->ctx, &win, &c->s), SDM_OK);
    for (int i = 0; i < N; i++) {
        c->s.h_m[i] = h_m;
        c->s.flags[i] = flags;
    }
}

static void paint(Case *c, int x0, int y0, int x1, int y1, float h_m, uint16_t flags)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            c->s.h_m[y * W + x] = h_m;
            c->s.flags[y * W + x] = flags;
        }
}

/* With what the views show, where show() has told it. */
static void find(Case *c)
{
    const SdmTerrainEvidence e = {.grey = c->grey, .ray_error_v = c->ray_error_v, .no_grey = c->hidden};
    assert_int_equal(sdm_terrain_mask_find(c->ctx, &c->s, PIXEL_M, c->shown ? &e : NULL, &c->g), SDM_OK);
}

/* What the views show of an area; every other pixel is 40 grey values brighter. */
static void show(Case *c, int x0, int y0, int x1, int y1, int grey, float residual)
{
    c->shown = true;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            c->grey[y * W + x] = (int16_t)(grey + (x + y) % 2 * 40);
            c->ray_error_v[y * W + x] = residual;
        }
}

static void end(Case *c)
{
    sdm_terrain_mask_free(&c->g);
    sdm_surface_free(&c->s);
    sdm_close(&c->ctx);
}

static int count(const Case *c, int x0, int y0, int x1, int y1, uint16_t flags)
{
    int n = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            n += c->s.flags[y * W + x] == flags;
    return n;
}

TEST(limits)
{
    assert_near(sdm_terrain_limit(0.0f, PIXEL_M), 80.0 + 85.8, 1e-3); /* the step and a pixel of 55 degrees */
    assert_near(sdm_terrain_limit(4.0f, PIXEL_M), 80.0 + 5 * 85.8, 1e-3);
    assert_near(sdm_terrain_limit(5.0f, PIXEL_M), 80.0 + 6 * 85.8, 1e-3); /* steep as far as that */
    assert_near(sdm_terrain_limit(15.0f, PIXEL_M), 80.0 + 6 * 85.8 + 90.0,
                1e-3); /* then 0.15 x 60 m a pixel */
}

TEST(all_terrain)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, 500.0f, SDM_QA_VALID);
    paint(&c, 0, 0, W, 1, 500.0f, SDM_QA_LOW_SCORE);
    find(&c);
    assert_int_equal(count(&c, 0, 1, W, H, SDM_QA_VALID), N - W);
    assert_int_equal(count(&c, 0, 0, W, 1, SDM_QA_LOW_SCORE), W); /* not touched */
    assert_int_equal(c.g.distance_px[5 * W + 5], 0);
    assert_int_equal(c.g.distance_px[7], 1);
    assert_true(c.g.h_m[7] == 500.0f);
}

TEST(nothing_matched)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, 500.0f, SDM_QA_TEXTURELESS);
    find(&c);
    for (int i = 0; i < N; i++)
        assert_int_equal(c.g.distance_px[i], 65535);
    assert_int_equal(count(&c, 0, 0, W, H, SDM_QA_TEXTURELESS), N);
}

/* A cloud 2 km up: its pixels are no terrain, and know the ground around them. */
TEST(cloud_is_rejected)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, 100.0f, SDM_QA_VALID);
    for (int x = 20; x < W; x++)
        for (int y = 0; y < H; y++)
            c.s.h_m[y * W + x] = 130.0f; /* other ground to the right */
    paint(&c, 7, 7, 13, 13, 2100.0f, SDM_QA_VALID);
    find(&c);
    assert_int_equal(count(&c, 7, 7, 13, 13, SDM_QA_ISOLATED), 36);
    assert_int_equal(count(&c, 0, 0, W, H, SDM_QA_VALID), N - 36);
    assert_int_equal(c.g.distance_px[7 * W + 7], 1);
    assert_int_equal(c.g.distance_px[9 * W + 9], 3); /* columns 7, 8, 9 */
    assert_true(c.g.h_m[9 * W + 9] == 100.0f);
}

/* 105.8 m from pixel to pixel hang together, more is a jump. */
TEST(slopes_and_jumps)
{
    static const float step_m[2] = {105.0f, 106.5f};
    for (int k = 0; k < 2; k++) {
        SDM_CLOSED_BY(end) Case c = {0};
        start(&c, 0.0f, SDM_QA_VALID);
        paint(&c, 16, 0, 20, H, step_m[k], SDM_QA_VALID); /* a bench of 4 columns */
        paint(&c, 20, 0, W, H, 2.0f * step_m[k], SDM_QA_VALID);
        paint(&c, 30, 0, W, H, 4000.0f, SDM_QA_VALID); /* a cliff that is none */
        find(&c);
        assert_int_equal(count(&c, 0, 0, 30, H, SDM_QA_VALID),
                         30 * H); /* jumps, but within the step: terrain all the same */
        assert_int_equal(count(&c, 30, 0, W, H, SDM_QA_ISOLATED), 2 * H);
    }
}

/* Islands: accepted when no jump lies between, in the order in which terrain comes near; 12 pixels at least.
 * Without the piece between, the third is out of reach. */
TEST(islands)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, -50.0f, SDM_QA_AMBIGUOUS);
    paint(&c, 0, 0, 12, H, 0.0f, SDM_QA_VALID);    /* the largest piece */
    paint(&c, 14, 0, 17, H, 400.0f, SDM_QA_VALID); /* 3 px off: at most 80 + 4 x 85.8 = 423.2 m */
    paint(&c, 20, 0, 23, H, 800.0f,
          SDM_QA_VALID); /* 4 px from the second; 9 px from the first: 80 + 514.8 + 36 m */
    paint(&c, 25, 0, 28, 3, 810.0f, SDM_QA_VALID);  /* 9 pixels: too small to be believed */
    paint(&c, 25, 6, 28, 10, 810.0f, SDM_QA_VALID); /* 12 */
    paint(&c, 25, 12, 28, 20, 2000.0f, SDM_QA_VALID);
    find(&c);
    assert_int_equal(count(&c, 14, 0, 17, H, SDM_QA_VALID), 3 * H);
    assert_int_equal(count(&c, 20, 0, 23, H, SDM_QA_VALID), 3 * H);
    assert_int_equal(count(&c, 25, 0, 28, 3, SDM_QA_ISOLATED), 9);
    assert_int_equal(count(&c, 25, 6, 28, 10, SDM_QA_VALID), 12);
    assert_int_equal(count(&c, 25, 12, 28, 20, SDM_QA_ISOLATED), 24);
    end(&c);
    start(&c, -50.0f, SDM_QA_AMBIGUOUS);
    paint(&c, 0, 0, 12, H, 0.0f, SDM_QA_VALID);
    paint(&c, 20, 0, 23, H, 800.0f, SDM_QA_VALID);
    find(&c);
    assert_int_equal(count(&c, 20, 0, 23, H, SDM_QA_ISOLATED), 3 * H);
}

/* A plateau beyond a wall of 600 m: terrain where it is no brighter than the plain and its rays meet; not a
 * cloud, not what moves, not a small piece. */
TEST(plateau)
{
    static const struct {
        int grey, width;
        float residual;
        bool terrain;
    } of[] = {{0, 10, 0.05f, true}, {200, 10, 0.05f, false}, {0, 10, 0.4f, false}, {0, 2, 0.05f, false}};
    for (int k = 0; k < 4; k++) {
        SDM_CLOSED_BY(end) Case c = {0};
        start(&c, 100.0f, SDM_QA_VALID);
        show(&c, 0, 0, W, H, 0, 0.0f);
        paint(&c, 20, 4, 20 + of[k].width, 20, 700.0f, SDM_QA_VALID);
        show(&c, 20, 4, 20 + of[k].width, 20, of[k].grey, of[k].residual);
        find(&c);
        assert_int_equal(count(&c, 0, 0, W, H, SDM_QA_VALID), of[k].terrain ? N : N - 16 * of[k].width);
    }
}

/* A cloud that covers three quarters: the ground is what is darker and lies below, were it a tenth; a bright
 * plateau over nothing, or one whose bright pixels are hidden anyway, stays. */
TEST(cloud_is_largest)
{
    for (int k = 0; k < 3; k++) {
        SDM_CLOSED_BY(end) Case c = {0};
        start(&c, 2100.0f, SDM_QA_VALID);
        c.hidden = k == 2;
        show(&c, 0, 0, W, H, 1000, 0.0f);
        paint(&c, 4, 4, 12, 16, 100.0f, SDM_QA_VALID);
        paint(&c, 22, 10, 28, 20, 120.0f, SDM_QA_VALID);
        show(&c, 4, 4, 12, 16, k == 1 ? 1000 : 0, 0.0f);
        show(&c, 22, 10, 28, 20, k == 1 ? 1000 : 0, 0.0f);
        find(&c);
        if (k == 0) {
            assert_int_equal(count(&c, 0, 0, W, H, SDM_QA_VALID), 8 * 12 + 6 * 10);
            assert_int_equal(count(&c, 4, 4, 12, 16, SDM_QA_VALID), 8 * 12);
        } else {
            assert_true(count(&c, 0, 0, W, H, SDM_QA_VALID) >= N - 8 * 12 - 6 * 10);
            assert_int_equal(count(&c, 0, 0, 4, H, SDM_QA_VALID), 4 * H);
        }
    }
}

/* Distance: 1 along, 1.5 across the corner, rounded up; the height is that of the nearest pixel. */
TEST(distances)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, 7.0f, SDM_QA_OUTSIDE);
    paint(&c, 10, 10, 11, 11, 55.0f, SDM_QA_VALID);
    find(&c);
    assert_int_equal(c.g.distance_px[10 * W + 10], 0);
    assert_int_equal(c.g.distance_px[10 * W + 15], 5);
    assert_int_equal(c.g.distance_px[8 * W + 8], 3);   /* 2 corners */
    assert_int_equal(c.g.distance_px[11 * W + 13], 4); /* 1 corner, 2 along: 3.5 */
    assert_int_equal(c.g.distance_px[0], 15);          /* 10 corners */
    for (int i = 0; i < N; i++)
        assert_true(c.g.h_m[i] == 55.0f);
}

TEST(allocations_fail)
{
    SDM_CLOSED_BY(end) Case c = {0};
    start(&c, 1.0f, SDM_QA_VALID);
    EACH_ALLOCATION_FAILS(sdm_terrain_mask_find(c.ctx, &c.s, PIXEL_M, NULL, &c.g),
                          assert_true(made == SDM_OK || (!c.g.h_m && !c.g.distance_px)), 5, 1);
}

RUN_TESTS(NULL, NULL)
