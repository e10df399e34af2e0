/* What the figures of a run say of its DEM: counts by hand, each limit from both sides. */
// SPDX-License-Identifier: Apache-2.0

#include "scene/quality.h"
#include "tests/case.h"

#include <string.h>

/* Eight cells: two matched, one filled, one low score, one without texture, one outside, one saturated, one
 * matched over a spot without texture. */
TEST(cells_are_counted)
{
    uint16_t mask[8] = {SDM_QA_VALID,
                        SDM_QA_VALID | SDM_QA_LOW_SCORE,
                        SDM_QA_VALID | SDM_QA_FILLED,
                        SDM_QA_LOW_SCORE,
                        SDM_QA_TEXTURELESS,
                        SDM_QA_OUTSIDE,
                        SDM_QA_SATURATED | SDM_QA_LOW_SCORE,
                        SDM_QA_VALID | SDM_QA_TEXTURELESS};
    float ray_error_m[8] = {1.5f, 3.0f, 9.0f, NAN, NAN, NAN, NAN, 3.0f};
    float height_m[8] = {90.0f, 100.0f, 200.0f, NAN, NAN, NAN, NAN, 201.0f};
    const SdmBlock b = {.w = 4, .h = 2, .mask = mask, .ray_error_m = ray_error_m, .height_m = height_m};
    const SdmPrepared p = {.frame = {.gsd_m = 15.0, .hmin_m = 100.0, .hmax_m = 200.0},
                           .settings = {.ray_error_limit_px = 0.6f}};
    SdmQualitySums t = {0};
    assert_true(isnan(sdm_quality_ray_error_share(&t)));
    sdm_quality_add(&t, &b, &p, 2);
    assert_int_equal(t.cells, 8);
    assert_int_equal(t.valid, 4);
    assert_int_equal(t.tried, 5);
    assert_int_equal(t.matched, 3);
    /* 0.1, 0.2 and 0.2 px of 0.6: the median is a third */
    assert_true(fabs(sdm_quality_ray_error_share(&t) - 1.0 / 3.0) < 1.0 / SDM_RAY_ERROR_SHARES);
}

static SdmPrepared a_run(int level, double nmad_px, double profile_px)
{
    SdmPrepared p = {.frame = {.gsd_m = 15.0, .base_height = 0.6}, .settings = {.ray_error_limit_px = 0.6f}};
    p.points.rounds = 1;
    p.points.round[0] =
        (SdmPointRound){.level = level, .after_nmad_px = nmad_px, .profile_rms_px = profile_px};
    return p;
}

/* `share` of 1000 cells matched, all gaps in one place. */
static SdmQualitySums counts(double share, double gap)
{
    SdmQualitySums t = {.cells = 1000, .valid = 1000, .tried = 1000, .matched = (int64_t)(1000 * share)};
    t.ray_error[(int)(gap * SDM_RAY_ERROR_SHARES)] = t.matched;
    return t;
}

static int doubts(double share, double gap, int level, double nmad_px, double profile_px)
{
    const SdmPrepared p = a_run(level, nmad_px, profile_px);
    const SdmQualitySums t = counts(share, gap);
    SdmQuality d;
    return sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d) == SDM_OK ? d.count : -1;
}

TEST(a_narrow_pair_is_doubted)
{
    SdmPrepared p = a_run(0, 0.05, 0.0);
    const SdmQualitySums t = counts(0.9, 0.2);
    SdmQuality d;
    p.frame.base_height = 0.09;
    assert_int_equal(sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d), SDM_OK);
    assert_int_equal(d.count, 1);
    assert_non_null(strstr(d.text[0], "off by 16.7 m"));
}

TEST(limits_are_kept)
{
    assert_int_equal(doubts(0.9, 0.1, 0, 0.04, 0.1), 0);
    assert_int_equal(doubts(0.51, 0.1, 0, 0.04, 0.1), 0);
    assert_int_equal(doubts(0.49, 0.1, 0, 0.04, 0.1), 1);
    assert_int_equal(doubts(0.9, 0.1, 0, 0.14, 0.0), 0);
    assert_int_equal(doubts(0.9, 0.1, 0, 0.16, 0.0), 1);
    assert_int_equal(doubts(0.9, 0.1, 2, 0.59, 0.0), 0); /* a pixel of that level is four */
    assert_int_equal(doubts(0.9, 0.1, 2, 0.61, 0.0), 1);
    assert_int_equal(doubts(0.9, 0.1, 0, 0.04, 0.21), 1);
    assert_int_equal(doubts(0.3, 0.45, 0, 0.2, 0.3), 3);
    assert_int_equal(doubts(0.2, 0.45, 0, 0.04, 0.0), -1); /* few, and like chance */
    assert_int_equal(doubts(0.2, 0.3, 0, 0.04, 0.0), 1);   /* few, but their rays meet */
    assert_int_equal(doubts(0.0, 0.0, 0, 0.04, 0.0), 1);
}

TEST(words_carry_the_figures)
{
    const SdmPrepared p = a_run(0, 0.24, 0.24);
    const SdmQualitySums t = counts(0.4, 0.1);
    SdmQuality d;
    assert_int_equal(sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d), SDM_OK);
    assert_int_equal(d.count, 3);
    assert_non_null(strstr(d.text[0], "40 %"));
    assert_non_null(strstr(d.text[1], "0.24 px"));
    assert_non_null(strstr(d.text[1], "6.0 m")); /* 0.24 px x 15 m / 0.6 */
    assert_non_null(strstr(d.text[2], "jitter of 0.24 px"));
    for (int i = 0; i < 9; i++)
        sdm_quality_warn(&d, "%d", i);
    assert_int_equal(d.count, SDM_MAX_WARNINGS);
}

/* A reference that shows the jitter along the rays takes the doubt back; one that shows too little does not,
 * and is a doubt itself, as what was asked for and not done. */
TEST(a_reference_takes_doubt_back)
{
    SdmPrepared p = a_run(0, 0.04, 0.3);
    const SdmQualitySums t = counts(0.9, 0.1);
    SdmQuality d;
    static const struct {
        int state;
        double masked, rows_seen, fitted_px;
        int doubts;
    } of[] = {{SDM_REFERENCE_NONE, 0.0, 0.0, 0.0, 1},     {SDM_REFERENCE_REFUSED, 0.0, 1.0, 0.05, 2},
              {SDM_REFERENCE_FITTED, 0.2, 0.99, 0.05, 0}, {SDM_REFERENCE_FITTED, 0.2, 0.99, 0.25, 1},
              {SDM_REFERENCE_SHIFT, 0.2, 0.99, 0.05, 0},  {SDM_REFERENCE_SHIFT, 0.7, 0.99, 0.05, 2},
              {SDM_REFERENCE_SHIFT, 0.2, 0.5, 0.05, 2}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        p.reference = (SdmReferenceReport){.state = of[i].state, .masked = of[i].masked};
        p.reference.fit.rows_seen = of[i].rows_seen;
        p.reference.fit.fitted_px[SDM_ALONG_BY_ROWS] = of[i].fitted_px;
        assert_int_equal(sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d), SDM_OK);
        assert_int_equal(d.count, of[i].doubts);
    }
    snprintf(p.reference.question, sizeof p.reference.question, "is it?"); /* of one that is used */
    p.reference.state = SDM_REFERENCE_FITTED;
    p.reference.fit.rows_seen = 1.0;
    p.settings.hide_above[0] = INT16_MAX;
    p.prior =
        (SdmPriorReport){"the WGS 84 ellipsoid", 0.3, 17.0}; /* and a prior DEM of a part of the scene */
    assert_int_equal(sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d), SDM_OK);
    assert_int_equal(d.count, 2);
    assert_non_null(strstr(d.text[0], "is it?"));
    assert_non_null(strstr(d.text[1], "30 %"));
    p.settings.hide_above[0] = 1000; /* between clouds, whose cells are too wide, too */
    assert_int_equal(sdm_quality_assess(NULL, NULL, &t, &p, "a.tif", "b.tif", &d), SDM_OK);
    assert_int_equal(d.count, 3);
    assert_non_null(strstr(d.text[2], "cells of --dem are 17.0 px wide"));
}

RUN_TESTS(NULL, NULL)
