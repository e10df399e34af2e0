/* Filters that keep discontinuities, and the fill of what a step hides: laws on rows and blocks made by hand. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"
#include "matching/edge_filters.h"
#include "matching/validation.h"

enum { W = 64, H = 48 };

static const int16_t level_view[W * H];
static const SdmEdgeViews level_views = {.left = level_view, .right = level_view, .stride = W, .width = W};

static uint32_t mixed(uint32_t i)
{
    i = (i ^ 61u ^ i >> 16) * 9u;
    i = (i ^ i >> 4) * 0x27d4eb2du;
    return i ^ i >> 15;
}

static int weak_noise(int i) /* +-10 */
{
    return (int)(mixed((uint32_t)i) % 21) - 10;
}

/* A valid block. */
static SdmEdgeBlock block_of(int w, int h, uint8_t score)
{
    SdmEdgeBlock b;
    assert_int_equal(sdm_edge_block_open(ctx, w, h, &b), SDM_OK);
    for (int i = 0; i < w * h; i++) {
        b.flags[i] = SDM_QA_VALID;
        b.score[i] = score;
    }
    return b;
}

/* Fill what steps hide in a surface of w x h pixels. */
static void fill_hidden(const SdmMatchSettings *set, int w, int h, float *h_m, uint16_t *flags,
                        uint8_t *score)
{
    const SdmMatchInput in = {.settings = set};
    SdmSurface s = {.win = {.w = w, .h = h}, .h_m = h_m, .flags = flags, .score = score};
    assert_int_equal(sdm_fill_hidden(ctx, &in, &s), SDM_OK);
}

/* A block with a step of 5 px at column W / 2 and noise of +-0.3 px. */
static SdmEdgeBlock stepped(void)
{
    const SdmEdgeBlock b = block_of(W, H, 200);
    for (int i = 0; i < W * H; i++)
        b.place_px[i] = (i % W < W / 2 ? 0.0f : 5.0f) + 0.3f * (float)((i * 7 + i / W * 5) % 3 - 1);
    return b;
}

/* The step lies 1 px beside an edge of the left view: it moves there, whatever the noise; where the sides' grey values do not
 * differ by 2.5 times their noise, it stays. */
TEST(steps_go_to_edges_of_the_image)
{
    int16_t view[W * H];
    const SdmEdgeViews views = {
        .left = view, .right = level_view, .stride = W, .width = W}; /* says nothing */
    for (int clear = 0; clear < 2; clear++) {
        SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = stepped();
        const int edge = W / 2 - 1;
        for (int i = 0; i < W * H; i++)
            view[i] =
                (int16_t)(500 + (i % W >= edge) * (clear ? 90 : 9) + 20 * ((i * 5 + i / W * 3) % 3 - 1));
        assert_int_equal(sdm_edge_filters(ctx, &sdm_kernels_reference, true, &views, &b), SDM_OK);
        const int step = clear ? edge : W / 2;
        for (int y = 8; y < H - 8; y++)
            for (int x = 8; x < W - 8; x++)
                assert_true(fabsf(b.place_px[y * W + x] - (x < step ? 0.0f : 5.0f)) < 0.2f);
    }
}

/* Both sides look alike, but the right view, which may be brighter, shows where each of them ends: a step up to 2 px beside that
 * goes there, and the pixels before it stay. */
static void check_step_moves(int by, int brighter)
{
    enum { STEP = 5 };
    const int edge = W / 2 - by;
    int16_t wide[(W + 2 * STEP) * H] = {0}, right[(W + 2 * STEP) * H] = {0}; /* rows as long as both need */
    SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = stepped();
    for (int i = 0; i < W * H; i++) {
        b.place_px[i] = i % W < W / 2 ? 0.0f : (float)STEP;
        const int at = i / W * (W + 2 * STEP) + STEP + i % W;
        wide[at] = (int16_t)(mixed((uint32_t)i) % 1200);
        right[at + (i % W < edge ? 0 : STEP)] = (int16_t)(wide[at] + brighter);
    }
    const SdmEdgeViews views = {.left = wide + STEP,
                                .right = right + STEP,
                                .stride = W + 2 * STEP,
                                .width = W,
                                .before = STEP,
                                .after = STEP};
    assert_int_equal(sdm_edge_filters(ctx, &sdm_kernels_reference, true, &views, &b), SDM_OK);
    int moved = 0, stayed = 0;
    for (int y = 8; y < H - 8; y++) {
        moved += b.place_px[y * W + edge] > 4.5f;
        stayed += b.place_px[y * W + edge - 1] < 0.5f;
    }
    assert_true(moved > 9 * (H - 16) / 10 && stayed > 9 * (H - 16) / 10);
}

TEST(steps_go_where_the_right_view_agrees)
{
    for (int by = 0; by <= 2; by++)
        for (int brighter = 0; brighter <= 300; brighter += 300)
            check_step_moves(by, brighter);
}

/* 16 pixels are too few to be a piece of surface, 36 are enough. */
TEST(small_pieces_are_taken_off)
{
    for (int side = 4; side <= 6; side += 2) {
        SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = stepped();
        for (int y = 20; y < 20 + side; y++)
            for (int x = 12; x < 12 + side; x++)
                b.place_px[y * W + x] = 9.0f;
        assert_int_equal(sdm_edge_filters(ctx, &sdm_kernels_reference, true, &level_views, &b), SDM_OK);
        assert_int_equal(b.flags[(20 + side / 2) * W + 12 + side / 2],
                         side == 4 ? SDM_QA_ISOLATED : SDM_QA_VALID);
    }
}

/* Both views of a ground with texture and a roof of 24 x 20 px, on columns MARGIN.. of rows of VIEW samples: the right view
 * shows the ground at the same place and the roof ROOF_PX and a part of a pixel further, with this grey value. */
enum { MARGIN = 12, VIEW = W + 2 * MARGIN, ROOF_X = 20, ROOF_Y = 14, ROOF_PX = 6, ROOF_GREY = -500 };

typedef struct TownViews {
    int16_t left[VIEW * H], right[VIEW * H];
} TownViews;

/* noise: white noise on the roof, else a slow wave. */
static void town_views(bool noise, int right_grey, float part, TownViews *v)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < VIEW; x++)
            v->left[y * VIEW + x] = v->right[y * VIEW + x] = (int16_t)(mixed((uint32_t)(y * VIEW + x)) % 150);
    for (int y = ROOF_Y; y < ROOF_Y + 20; y++)
        for (int x = 0; x < 25; x++) {
            const int at = y * VIEW + MARGIN + ROOF_X + x;
            const int wave = (x + y) % 24, texture[2] = {noise ? weak_noise(at) : wave,
                                                         noise ? weak_noise(at + 6 + W * VIEW) : wave};
            const float share = x == 0 ? 1.0f - part : x == 24 ? part : 1.0f;
            int16_t *const right = v->right + at + ROOF_PX;
            if (x < 24)
                v->left[at] = (int16_t)(ROOF_GREY + texture[0]);
            *right = (int16_t)lrintf((float)*right + share * (float)(right_grey + texture[1] - *right));
        }
}

static SdmEdgeBlock ground_block(void)
{
    const SdmEdgeBlock b = block_of(W, H, 100);
    for (int i = 0; i < W * H; i++) {
        b.place_px[i] = 0.1f;
        b.flags[i] = (uint16_t)(i % 3 ? SDM_QA_VALID : SDM_QA_LEFT_RIGHT);
    }
    return b;
}

static void place_areas(const TownViews *v, SdmEdgeBlock *b)
{
    static float base_m[VIEW * H];
    const SdmEdgeViews views = {.left = v->left + MARGIN,
                                .right = v->right + MARGIN,
                                .stride = VIEW,
                                .before = MARGIN,
                                .after = MARGIN,
                                .base_m = base_m,
                                .px_per_m = 1.0f,
                                .first = -10,
                                .labels = 21};
    assert_int_equal(sdm_plain_areas(ctx, &views, b), SDM_OK);
}

/* The roof's pixels have a place, the others keep theirs; NAN: the roof does, too. */
static void check_areas(const SdmEdgeBlock *b, float place_px)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const int i = y * W + x;
            const bool roof =
                x >= ROOF_X && x < ROOF_X + 24 && y >= ROOF_Y && y < ROOF_Y + 20 && !isnan(place_px);
            const int aside = x < ROOF_X + 2 || x >= ROOF_X + 22, above = y < ROOF_Y + 2 || y >= ROOF_Y + 18;
            if (roof && aside && above)
                continue; /* its corners */
            if (roof) {
                assert_true(fabsf(b->place_px[i] - place_px) < 0.15f);
                assert_int_equal(b->flags[i], SDM_QA_VALID | SDM_QA_FILLED);
                assert_true(b->score[i] > 225);
            } else {
                assert_true(fabsf(b->place_px[i] - 0.1f) < 1e-6f);
                assert_int_equal(b->flags[i], i % 3 ? SDM_QA_VALID : SDM_QA_LEFT_RIGHT);
            }
        }
}

/* A roof without texture gets the place of its outline to a part of a pixel, also where it has a match, and where it is of
 * glass, which has another grey value in each view; ground keeps its own; texture of weak contrast is left to its matches. */
TEST(plain_roofs_have_a_place)
{
    static TownViews v;
    const int greys[2] = {ROOF_GREY, -900};
    for (int noise = 0; noise < 2; noise++)
        for (int glass = 0; glass < 2; glass++)
            for (int tenth = 0; tenth < 10; tenth += 2) {
                SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = ground_block();
                if (noise)
                    b.place_px[(ROOF_Y + 10) * W + ROOF_X + 12] = 6.9f;
                town_views(noise, greys[glass], (float)tenth / 10.0f, &v);
                place_areas(&v, &b);
                check_areas(&b, noise ? (float)ROOF_PX + (float)tenth / 10.0f : NAN);
            }
}

/* Where the right view shows an area that is 12 px longer, or no edge at all, the roof's place is not known. */
TEST(plain_roofs_without_one_place_are_left)
{
    static TownViews v;
    for (int all = 0; all < 2; all++) {
        SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = ground_block();
        const int from = all ? 0 : MARGIN + ROOF_X - ROOF_PX,
                  to = all ? VIEW : MARGIN + ROOF_X + 24 + ROOF_PX;
        town_views(true, ROOF_GREY, 0.0f, &v);
        for (int y = ROOF_Y; y < ROOF_Y + 20; y++)
            for (int x = from; x < to; x++)
                v.right[y * VIEW + x] = (int16_t)(ROOF_GREY + weak_noise(y * VIEW + x));
        place_areas(&v, &b);
        check_areas(&b, NAN);
    }
}

/* Ground with a hole of 40 x 30 pixels in which a piece of 6 x 6 stands 20 m high: with scores that hardly pass it goes,
 * with good ones or a filled pixel it stays. */
TEST(weak_pieces_go)
{
    enum { SIDE = 60, LEAST = 100 };
    const SdmMatchSettings set = {.px_per_m = 0.2f, .final_score = 0.4f};
    static float h[SIDE * SIDE];
    static uint16_t flags[SIDE * SIDE];
    static uint8_t score[SIDE * SIDE];
    const int middle = 28 * SIDE + 28;
    for (int kind = 0; kind < 4; kind++) { /* weak, filled, good, alone */
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int x = i % SIDE, y = i / SIDE;
            const int rim = kind == 3 ? 5 : 15;
            const bool hole = x >= 10 && x < 50 && y >= rim && y < SIDE - rim,
                       piece = x >= 25 && x < 31 && y >= 25 && y < 31;
            h[i] = piece ? 30.0f : 10.0f;
            flags[i] = hole && !piece ? SDM_QA_LOW_SCORE : SDM_QA_VALID;
            score[i] = (uint8_t)(piece ? LEAST + (kind >= 2 ? 30 : 13) : 200);
        }
        if (kind == 1)
            flags[middle] |= SDM_QA_FILLED;
        fill_hidden(&set, SIDE, SIDE, h, flags, score);
        assert_int_equal((flags[middle] & SDM_QA_VALID) != 0, kind == 1 || kind == 2);
    }
}

/* A row: ground of 10 m, a gap of `gap` pixels whose views disagree, a roof of `roof_m`; 1 px a metre.  With parallax towards +u,
 * ground to the right of a roof is hidden, not to its left; a left view from the side shows the wall instead. */
TEST(gaps_of_a_row)
{
    enum { KEPT = SDM_QA_LEFT_RIGHT, TAKEN = SDM_QA_VALID | SDM_QA_FILLED, GAP = 30 };
    static const struct {
        float roof_m, rise_m, slant;
        int gap;
        bool mirrored;
        int at, flags; /* at so many pixels from the ground's end */
    } of[] = {
        {20.0f, 0.2f, 0.0f, 9, true, 0, TAKEN},       {20.0f, 0.2f, 0.0f, 9, true, 8, TAKEN},
        {20.0f, 0.0f, 0.0f, 9, true, 4, SDM_QA_FOLD}, /* the reason is told, nothing is filled */
        {20.0f, 0.2f, 0.0f, 9, false, 4, KEPT},       /* the step opens: nobody knows */
        {20.0f, 0.2f, 0.0f, 2, false, 0, KEPT},       {20.0f, 0.2f, 0.0f, 20, true, 9, KEPT}, /* too wide */
        {20.0f, 0.2f, 1.0f, 9, true, 8, TAKEN},       {11.0f, 0.2f, 0.0f, 7, false, 3, TAKEN},
        {11.0f, 0.2f, 0.0f, 12, false, 3, KEPT},      {11.0f, INFINITY, 0.0f, 12, false, 3, TAKEN}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const SdmMatchSettings set = {
            .px_per_m = 1.0f, .fill_limit = {.rise_m = of[k].rise_m, .slant_px = {of[k].slant, 0.0f}}};
        float h[W];
        uint16_t flags[W];
        uint8_t score[W];
        memset(score, 200, sizeof score);
        for (int x = 0; x < W; x++) {
            const int i = of[k].mirrored ? W - 1 - x : x;
            h[i] = x < GAP ? 10.0f : x < GAP + of[k].gap ? 99.0f : of[k].roof_m;
            flags[i] = x >= GAP && x < GAP + of[k].gap ? SDM_QA_LEFT_RIGHT : SDM_QA_VALID;
        }
        fill_hidden(&set, W, 1, h, flags, score);
        const int at = of[k].mirrored ? W - 1 - GAP - of[k].at : GAP + of[k].at;
        assert_int_equal(flags[at], of[k].flags);
        assert_true(of[k].roof_m > 11.0f || of[k].gap > 7 || fabsf(h[at] - 10.5f) < 1e-5f);
        for (int i = W - 39; i < W - GAP && of[k].mirrored && of[k].gap == 9 && of[k].rise_m > 0.0f; i++)
            if (of[k].slant >
                0.0f) /* the wall rises towards the roof; of those at one place the lower ones go */
                assert_true((flags[i] == SDM_QA_FOLD || flags[i] == TAKEN) && h[i] > 10.0f &&
                            h[i] < h[i - 1]);
            else
                assert_true(flags[i] == TAKEN && h[i] == 10.0f);
    }
}

/* A left view from the side shows a wall between roof and street: matched as street, its ground would lie under the
 * roof, and it goes; from the other side, and from above, nothing does. */
TEST(walls_go)
{
    enum { ROOF = 30, WIDTH = 60, STEP_M = 10 };
    static const float slant[3] = {1.0f, -1.0f, 0.0f}; /* px for a metre */
    for (int kind = 0; kind < 3; kind++)
        for (int down = 0; down < 2; down++) { /* along a row; down a column */
            SdmMatchSettings set = {.px_per_m = 1.0f, .fill_limit.rise_m = 0.2f};
            set.fill_limit.slant_px[down] = slant[kind];
            float h[WIDTH];
            uint16_t flags[WIDTH];
            uint8_t score[WIDTH];
            for (int i = 0; i < WIDTH; i++) {
                h[i] = i < ROOF ? 20.0f : 20.0f - (float)STEP_M;
                flags[i] = SDM_QA_VALID;
                score[i] = 250;
            }
            fill_hidden(&set, down ? 1 : WIDTH, down ? WIDTH : 1, h, flags, score);
            for (int i = 0; i < WIDTH; i++)
                assert_int_equal(flags[i],
                                 kind == 0 && i >= ROOF && i < ROOF + STEP_M ? SDM_QA_FOLD : SDM_QA_VALID);
        }
}

/* A bright roof whose places go on over its edge, and whose overshoot does, ends at the edge; where what follows looks
 * like the roof, and the end has an edge of its own, it stays. */
TEST(roofs_end_at_their_steepest_edge)
{
    enum { EDGE = 30, END = 38 };
    int16_t view[W * H];
    const SdmEdgeViews views = {.left = view, .right = view, .stride = W, .width = W, .px_per_m = 1.0f};
    for (int own_edge = 0; own_edge < 2; own_edge++)
        for (int down = 0; down < 2; down++) {
            SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = block_of(W, H, 200);
            for (int i = 0; i < W * H; i++) {
                const int k = down ? i / W : i % W;
                view[i] = (int16_t)(k <= EDGE              ? 2000
                                    : k <= EDGE + 3        ? -1000
                                    : k <= END && own_edge ? 1500
                                                           : -700);
                b.place_px[i] = k < END ? 6.0f : 0.0f;
            }
            assert_int_equal(sdm_drop_walls(ctx, &views, &b), SDM_OK);
            for (int i = 0; i < W * H; i++) {
                const int k = down ? i / W : i % W, across = down ? i % W : i / W;
                if (across > 1 && across < (down ? W : H) - 2)
                    assert_int_equal(b.flags[i] == SDM_QA_VALID,
                                     own_edge || k <= EDGE + 1 ||
                                         k >= END + 4 * !down); /* rows hide ground */
            }
        }
}

enum { SIDE = 96 };

/* Profiles over the distance from a line. */
enum Shape { ROOF, VALLEY, LEVEL, HEDGE, LOW_STEP, WALL };

static float height_of(enum Shape shape, float px)
{
    const float roof = 2.0f - 0.1f * sqrtf(px * px + 9.0f), hedge = 0.8f * expf(-px * px / 18.0f);
    return ((float[]){roof, -roof, 0.0f, hedge, px < 0.0f ? 0.9f : 0.0f, px < 0.0f ? 4.0f : 0.0f})[shape];
}

/* A valid block of places as a profile over the line through its middle at an angle, and noise of +-0.1 px. */
static SdmEdgeBlock profile(enum Shape shape, double turn)
{
    const SdmEdgeBlock b = block_of(SIDE, SIDE, 0);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double x = i % SIDE - 47.5, y = i / SIDE - 47.5;
        const float level = (float)(mixed((uint32_t)i) % 1001u) / 500.0f - 1.0f;
        b.place_px[i] = height_of(shape, (float)(x * cos(turn) + y * sin(turn))) + 0.1f * level;
    }
    return b;
}

/* The change of the place that changes most, and of the mean of 9 x 9 in the middle. */
static void sharpened(enum Shape shape, double turn, float up, float change[2])
{
    SDM_CLOSED_BY(sdm_edge_block_close) SdmEdgeBlock b = profile(shape, turn), old = profile(shape, turn);
    assert_int_equal(sdm_sharpen_ridges(ctx, old.place_px, up, &b), SDM_OK);
    change[0] = change[1] = 0.0f;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const float d = b.place_px[i] - old.place_px[i];
        change[0] = fabsf(d) > fabsf(change[0]) ? d : change[0];
        if (abs(i % SIDE - SIDE / 2) <= 4 && abs(i / SIDE - SIDE / 2) <= 4)
            change[1] += d / 81.0f;
    }
}

/* A roof of 0.1 px a pixel that windows rounded rises along its ridge in any direction; valleys, level ground, hedges
 * and walls stay as they are, bit for bit, and low steps in the mean. */
TEST(ridges_are_sharpened)
{
    float change[2];
    for (int turn = 0; turn < 16; turn++) {
        const double angle = turn * 0.19635;
        sharpened(ROOF, angle, 1.0f, change);
        assert_true(change[1] > 0.04f && change[0] > 0.0f && change[0] < 0.3f);
        sharpened(VALLEY, angle, -1.0f, change);
        assert_true(change[1] < -0.04f && change[0] < 0.0f && change[0] > -0.3f);
    }
    for (int shape = VALLEY; shape <= WALL; shape++)
        for (int turn = 0; turn < 4; turn++) {
            sharpened((enum Shape)shape, turn * 0.45, 1.0f, change);
            assert_true(shape == LOW_STEP ? fabsf(change[1]) < 0.01f : change[0] == 0.0f);
        }
}

RUN_TESTS(setup, teardown)
