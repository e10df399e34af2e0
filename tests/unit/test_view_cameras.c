/* Cameras of many views: errors on the ground -> what coarse matches of the pairs show of them -> the moves. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geodesy.h"
#include "tests/core/two_contexts.h"
#include "views/views.h"

enum { VIEWS = 6, NODES = 40 };
#define FAR_M 15.0

static SdmViews views;
static bool moved[SDM_MAX_VIEWS];

/* Horizontal way of a view's rays for a metre of height: all around, by 6 to 31 degrees. */
static void find_slant(int view, double slant[2])
{
    const double angle = 2.4 * view, size = 0.1 + 0.1 * view;
    slant[0] = size * cos(angle);
    slant[1] = size * sin(angle);
}

/* What a pair shows where its cameras are off: rays that meet too high by d, and miss each other by the rest. */
static void show(SdmViewPair *p, double off_m[][2])
{
    double slant[2][2], d_m = 0.0, square = 0.0;
    find_slant(p->left, slant[0]);
    find_slant(p->right, slant[1]);
    for (int k = 0; k < 2; k++) {
        p->look.base[k] = slant[0][k] - slant[1][k];
        d_m += p->look.base[k] * (off_m[p->right][k] - off_m[p->left][k]);
        square += p->look.base[k] * p->look.base[k];
    }
    d_m /= square;
    for (int k = 0; k < 2; k++)
        p->look.miss_m[k] = off_m[p->right][k] - off_m[p->left][k] - d_m * p->look.base[k];
    for (int i = 0; i < SDM_AGREEMENT_NODES; i++)
        p->look.height_m[i] = i < NODES ? (float)(100.0 + i % 7 + d_m) : NAN;
}

/* All pairs of `count` views. */
static void set_up(int count, double off_m[][2])
{
    views = (SdmViews){.ctx = ctx, .count = count, .pitch_deg = {2e-3, 1e-3}};
    memset(moved, 0, sizeof moved);
    for (int left = 0; left < count; left++)
        for (int right = left + 1; right < count; right++) {
            SdmViewPair *const p = &views.pair[views.pairs++];
            *p = (SdmViewPair){.left = left, .right = right, .merit = 1.0};
            p->look = (SdmAgreement){
                .share = 1.0 - 0.01 * (right - left), .far_m = FAR_M, .pitch_deg = {2e-3, 1e-3}};
            show(p, off_m);
        }
    for (int i = 0; i < count; i++)
        views.path[i] = "a view";
}

/* Each view is moved by minus its error; others stay. */
static void expect_home(double off_m[][2])
{
    for (int i = 0; i < views.count; i++) {
        const double east_m = views.move_deg[i][0] * SDM_METRES_PER_DEGREE * 0.5,
                     north_m = views.move_deg[i][1] * SDM_METRES_PER_DEGREE;
        assert_true(fabs(east_m + off_m[i][0]) < 1e-3);
        assert_true(fabs(north_m + off_m[i][1]) < 1e-3);
    }
}

TEST(good_cameras_stay)
{
    double off_m[VIEWS][2] = {{0.0}};
    set_up(VIEWS, off_m);
    assert_false(sdm_views_move_cameras(&views, moved));
    off_m[2][0] = 5.0; /* its pair's pointing corrects that */
    set_up(VIEWS, off_m);
    assert_false(sdm_views_move_cameras(&views, moved));
    assert_false(views.is_guess);
}

/* In any direction, along the epipolar lines of a pair as well: heights alone show that. */
TEST(one_comes_home)
{
    for (int view = 0; view < VIEWS; view++)
        for (int count = 3; count <= VIEWS; count++)
            for (int k = 0; k < 8 && view < count; k++) {
                double off_m[VIEWS][2] = {{0.0}};
                off_m[view][0] = 180.0 * cos(k * 0.785);
                off_m[view][1] = 180.0 * sin(k * 0.785);
                set_up(count, off_m);
                assert_true(sdm_views_move_cameras(&views, moved));
                expect_home(off_m);
                assert_true(moved[view]);
            }
}

TEST(two_of_six_come_home)
{
    double off_m[VIEWS][2] = {[1] = {40.0, -25.0}, [4] = {-200.0, 90.0}};
    set_up(VIEWS, off_m);
    assert_true(sdm_views_move_cameras(&views, moved));
    expect_home(off_m);
    assert_false(views.is_guess);
}

/* Three views, each off by itself: the rays of no pair meet, so none can be believed. */
TEST(without_a_pair_that_fits_all_stay)
{
    double off_m[3][2] = {{0.0, 0.0}, {60.0, 0.0}, {0.0, 80.0}};
    set_up(3, off_m);
    assert_false(sdm_views_move_cameras(&views, moved));
    for (int i = 0; i < 3; i++)
        assert_true(sdm_views_move_m(&views, i) == 0.0);
}

/* Two against two: either could be right, which is told. */
TEST(no_majority_is_a_guess)
{
    double off_m[4][2] = {[2] = {60.0, 80.0}, [3] = {60.0, 80.0}};
    set_up(4, off_m);
    assert_true(sdm_views_move_cameras(&views, moved));
    assert_true(views.is_guess);
}

/* A pair that matched nothing, one whose heights lie elsewhere and rays that were lost tell nothing. */
TEST(useless_pairs_do_not_count)
{
    double off_m[VIEWS][2] = {[3] = {0.0, 120.0}};
    set_up(VIEWS, off_m);
    views.pair[0].merit = 0.0;
    views.pair[0].look.miss_m[0] = 1e6;
    views.pair[1].look.miss_m[1] = (double)NAN;
    views.pair[2].lat_deg = 1.0;
    for (int i = 0; i < SDM_AGREEMENT_NODES; i++)
        views.pair[3].look.height_m[i] = NAN;
    assert_true(sdm_views_move_cameras(&views, moved));
    expect_home(off_m);
}

RUN_TESTS(setup, teardown)
