/* The public functions: options by name, results by name, arrays in and out, sentences.  With the installed library:
 * tests/library. */
// SPDX-License-Identifier: Apache-2.0
int example_main(void);
#define main example_main
#include "../../examples/dem_from_arrays.c"
#include "tests/case.h"
#undef main

#include <cJSON.h>

enum { W = 96, H = 80, SHIFT = 7 };

static SdmContext *open_for(const char *command)
{
    SdmContext *ctx = NULL;
    assert_int_equal(sdm_context_open(&ctx, command), SDM_OK);
    return ctx;
}

static void refused(SdmContext *ctx, SdmStatus st, const char *words)
{
    assert_int_equal(st, SDM_ERR_USAGE);
    if (!strstr(sdm_error(ctx), words))
        fail_msg("'%s' does not say '%s'", sdm_error(ctx), words);
    assert_null(strstr(sdm_error(ctx), "--"));
}

/* A value that the option takes. */
static const char *value_for(const cJSON *option, char *text)
{
    const char *const type = cJSON_GetObjectItem(option, "type")->valuestring;
    const char *const range = cJSON_GetObjectItem(option, "range")->valuestring;
    if (strcmp(type, "switch") == 0)
        return "true";
    if (strcmp(type, "pairs") == 0)
        return "A=B";
    if (strcmp(type, "bytes") == 0)
        return "1G";
    if (strcmp(type, "text") == 0)
        return "text";
    if (sscanf(range, "one of %31[^,]", text) == 1 || sscanf(range, "a whole number from %31s", text) == 1 ||
        sscanf(range, "a number from %31s", text) == 1)
        return text;
    return "9";
}

TEST(every_option_is_set_and_forgotten)
{
    static const char *const commands[] = {"run", "info", "compare", "stack", "match"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        SDM_CLOSED_BY(sdm_context_close) SdmContext *ctx = open_for(commands[c]);
        const char *json = NULL;
        assert_int_equal(sdm_options_json(ctx, &json), SDM_OK);
        cJSON *const list = cJSON_Parse(json);
        const cJSON *option;
        assert_true(cJSON_GetArraySize(list) > 5);
        cJSON_ArrayForEach(option, list)
        {
            char text[32];
            const char *const name = cJSON_GetObjectItem(option, "name")->valuestring;
            if (sdm_set(ctx, name, value_for(option, text)) != SDM_OK)
                fail_msg("%s: %s", commands[c], sdm_error(ctx));
            assert_int_equal(sdm_set(ctx, name, NULL), SDM_OK);
        }
        cJSON_Delete(list);
    }
}

TEST(names_and_values_are_looked_at)
{
    SDM_CLOSED_BY(sdm_context_close) SdmContext *ctx = open_for("run");
    refused(ctx, sdm_set(ctx, "costt", "census"), "did you mean cost?");
    refused(ctx, sdm_set(ctx, "overwrite", "perhaps"), "perhaps");
    assert_int_equal(sdm_set(ctx, "dem-vertical", "egm96"), SDM_OK);
    assert_int_equal(sdm_set(ctx, "dem_vertical", NULL), SDM_OK);
    refused(ctx, sdm_run(ctx, "a", "b"), "output: not set");
    assert_int_equal(sdm_compare(ctx, "a", "b"), SDM_ERR_USAGE); /* of another command */
    sdm_context_close(&ctx);
    refused(ctx, sdm_context_open(&ctx, "cook"), "'cook'");
}

TEST(match_of_arrays)
{
    static uint8_t left[H * W], right[H * W];
    static float disparity[H][W + 3];
    double matched = 0.0;
    SDM_CLOSED_BY(sdm_context_close) SdmContext *ctx = open_for("match");
    for (int i = 0; i < H * W; i++) {
        left[i] = (uint8_t)(256.0 * noise(i % W, i / W));
        right[i] = (uint8_t)(256.0 * noise(i % W + SHIFT, i / W));
    }
    refused(ctx, sdm_match_images(ctx, &disparity[0][0], 0), "has no image yet");
    assert_int_equal(sdm_set_image(ctx, SDM_LEFT, SDM_SAMPLE_UINT8, left, W, H, 0), SDM_OK);
    assert_int_equal(sdm_set_image(ctx, SDM_RIGHT, SDM_SAMPLE_UINT8, right, W, H, W), SDM_OK);
    assert_int_equal(sdm_set(ctx, "max-disparity", "20"), SDM_OK);
    refused(ctx, sdm_match_images(ctx, &disparity[0][0], 4), "expected 0 or at least");
    assert_ok(ctx, sdm_match_images(ctx, &disparity[0][0], sizeof disparity[0]));
    assert_true(disparity[H / 2][W / 2] > SHIFT - 0.5F && disparity[H / 2][W / 2] < SHIFT + 0.5F);
    assert_int_equal(sdm_result_number(ctx, "matched", &matched), SDM_OK);
    assert_true(matched > 0.5 && matched <= 1.0);
    assert_int_equal(sdm_set_image_mask(ctx, SDM_LEFT, left, 0), SDM_OK);
    refused(ctx, sdm_match_images(ctx, &disparity[0][0], 0), "has a mask");
    assert_string_equal(sdm_result_json(ctx), "{}");
}

TEST(compare_of_arrays)
{
    static float dem[H * W], reference[H * W];
    SdmRasterShape shape = {.type = SDM_SAMPLE_FLOAT32,
                            .width = W,
                            .height = H,
                            .crs = "EPSG:32631",
                            .nodata = -9999.0,
                            .geotransform = {500000.0, 30.0, 0.0, 5000000.0, 0.0, -30.0}};
    const char *name[2];
    double value = 0.0;
    SDM_CLOSED_BY(sdm_context_close) SdmContext *ctx = open_for("compare");
    for (int i = 0; i < H * W; i++) {
        reference[i] = (float)(300.0 + 80.0 * sin(i % W / 9.0) * cos(i / W / 7.0));
        dem[i] = reference[i] + 3.0F;
    }
    assert_int_equal(sdm_add_raster(ctx, &shape, dem, &name[0]), SDM_OK);
    assert_int_equal(sdm_add_raster(ctx, &shape, reference, &name[1]), SDM_OK);
    assert_ok(ctx, sdm_compare(ctx, name[0], name[1]));
    assert_int_equal(sdm_result_number(ctx, "raw.bias", &value), SDM_OK);
    assert_true(fabs(value - 3.0) < 0.01);
    assert_int_equal(sdm_result_number(ctx, "apply_m.2", &value), SDM_OK);
    assert_true(fabs(value + 3.0) < 0.1);
    refused(ctx, sdm_result_number(ctx, "apply_m.7", &value), "no number 'apply_m.7'");
    refused(ctx, sdm_compare(ctx, name[0], NULL), "a name is missing");
    shape.crs = "nowhere";
    refused(ctx, sdm_add_raster(ctx, &shape, dem, &name[0]), "found the CRS 'nowhere'");
}

/* What a stack of rasters in memory refuses; its layers: tests/library/test_python.py. */
TEST(stack_of_arrays)
{
    static float height[2][H * W], made[H * W];
    static uint16_t mask[H * W];
    SdmRasterShape shape = {.type = SDM_SAMPLE_FLOAT32,
                            .width = W,
                            .height = H,
                            .crs = "EPSG:32631",
                            .nodata = (double)NAN,
                            .geotransform = {500010.0, 30.0, 0.0, 5000010.0, 0.0, -30.0}};
    const char *name[2];
    SdmDem *dem = NULL;
    SdmContext *ctx = open_for("stack");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < H * W; i++)
            height[k][i] = (float)(300.0 + 3.0 * k + 80.0 * sin(i % W / 9.0) * cos(i / W / 7.0));
        assert_int_equal(sdm_add_raster(ctx, &shape, height[k], &name[k]), SDM_OK);
        assert_int_equal(sdm_set_raster_vertical(ctx, name[k], "ellipsoid"), SDM_OK);
    }
    refused(ctx, sdm_set_raster_mask(ctx, "a.tif", mask, 0), "raster in memory");
    refused(ctx, sdm_set_raster_vertical(ctx, name[0], "mars"), "'mars'");
    refused(ctx, sdm_stack(ctx, name, 2), "output: not set");
    refused(ctx, sdm_make_stack(ctx, NULL, 2, &dem), "at NULL");
    refused(ctx, sdm_make_stack(ctx, name, 1, &dem), "at least two");
    assert_int_equal(sdm_set(ctx, "align", "none"), SDM_OK);
    assert_ok(ctx, sdm_make_stack(ctx, name, 2, &dem));
    assert_int_equal(sdm_dem_read(ctx, dem, SDM_LAYER_HEIGHT, made, 0), SDM_OK);
    assert_true(fabsf(made[W + 7] - height[0][W + 7] - 1.5F) < 0.01F);
    refused(ctx, sdm_dem_read(ctx, dem, SDM_LAYER_ORTHO, made, 0), "expected a layer");
    refused(ctx, sdm_dem_read(ctx, dem, SDM_LAYER_HEIGHT, made, -4), "expected a layer");
    refused(ctx, sdm_dem_read(ctx, dem, (SdmDemLayer)99, made, 0), "expected a layer");
    sdm_dem_close(&dem);
    sdm_dem_close(&dem);
    /* the same context once more, with other settings */
    assert_int_equal(sdm_set(ctx, "tr", "60"), SDM_OK);
    assert_int_equal(sdm_set(ctx, "output", "/nowhere/a.tif"), SDM_OK);
    assert_int_equal(sdm_make_stack(ctx, name, 2, &dem), SDM_OK);
    assert_true(sdm_dem_cols(dem) == W / 2 + 1);
    sdm_dem_close(&dem);
    shape.row_bytes = -4 * W;
    refused(ctx, sdm_add_raster(ctx, &shape, height[0], &name[1]), "rows of -384 bytes");
    refused(ctx, sdm_set_raster_mask(ctx, name[0], mask, W), "rows of 96 bytes");
    shape.geotransform[1] = (double)NAN;
    refused(ctx, sdm_add_raster(ctx, &shape, height[0], &name[0]), "geotransform");
    sdm_cancel(ctx);
    assert_int_equal(sdm_make_stack(ctx, name, 2, &dem), SDM_ERR_STOPPED);
    assert_null(dem);
    sdm_context_close(&ctx);
    sdm_context_close(&ctx);
}

TEST(faults_of_views_are_named)
{
    static uint16_t samples[N * N];
    SdmRpc rpc;
    SdmDem *dem = NULL;
    SDM_CLOSED_BY(sdm_context_close) SdmContext *ctx = open_for("run");
    make_view(0, samples, &rpc);
    for (int k = 0; k < 2; k++)
        assert_int_equal(sdm_set_image(ctx, (SdmSide)k, SDM_SAMPLE_UINT16, samples, N, N, 0), SDM_OK);
    assert_int_equal(sdm_set_rpc(ctx, SDM_LEFT, &rpc), SDM_OK);
    refused(ctx, sdm_make_dem(ctx, NULL, NULL, &dem), "right image: has no camera");
    assert_int_equal(sdm_set_rpc(ctx, SDM_RIGHT, &rpc), SDM_OK);
    assert_int_equal(sdm_set(ctx, "mask-left", "mask.tif"), SDM_OK);
    assert_int_equal(sdm_make_dem(ctx, NULL, NULL, &dem), SDM_ERR_USAGE);
    assert_int_equal(sdm_set(ctx, "mask-left", NULL), SDM_OK);
    assert_int_equal(sdm_set_image(ctx, SDM_LEFT, SDM_SAMPLE_UINT16, samples, 20, N, 0), SDM_OK);
    assert_refused(ctx, sdm_make_dem(ctx, NULL, NULL, &dem), SDM_ERR_INPUT, "expected at least 64 x 64");
    assert_null(dem);
}

RUN_TESTS(NULL, NULL)
