/* Refusals, failing allocations and two runs on one output while the products are written.  Full disks and kills:
 * faults/fault_disk.py, fault_stop.py; an output that was taken over: fault_two_runs.py. */
// SPDX-License-Identifier: Apache-2.0
#include "product/output_files.h"
#include "product_case.h"

TEST(refusals)
{
    const char *const out = in_folder("x.tif"), *const in = in_folder("x_qa.tif");
    const struct {
        const char *output, *co, *input;
        bool overwrite;
        SdmStatus st;
        const char *why;
    } of[] = {{out, NULL, NULL, false, SDM_OK, ""},
              {NULL, NULL, NULL, false, SDM_ERR_USAGE, ""},
              {"/no/such/folder/x.tif", NULL, NULL, false, SDM_ERR_IO, "/no/such/folder"},
              {folder, NULL, NULL, false, SDM_ERR_USAGE, "is a folder"},
              {"/dev/null", NULL, NULL, true, SDM_ERR_USAGE, ""},
              {out, NULL, NULL, false, SDM_ERR_USAGE, "--overwrite"}, /* from here on there is x_qa.tif */
              {out, NULL, NULL, true, SDM_OK, ""},
              {out, NULL, in, true, SDM_ERR_USAGE, "overwrite the input"},
              {out, "COMPRESS=ZSTD", NULL, true, SDM_OK, ""},
              {out, "COMPRESS=JPEG", NULL, true, SDM_ERR_USAGE, ""},
              {out, "COMPRES=ZSTD", NULL, true, SDM_ERR_USAGE, "COMPRES"},
              {out, "TILING_SCHEME=GoogleMapsCompatible", NULL, true, SDM_ERR_USAGE, ""}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        SdmOptions opt = default_options();
        opt.output = of[i].output;
        opt.overwrite = of[i].overwrite;
        opt.co[0] = of[i].co;
        if (i == 5)
            put_bytes("x_qa.tif", "", 0);
        SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
        assert_refused(ctx, sdm_product_check(ctx, &opt, &of[i].input, of[i].input ? 1 : 0), of[i].st,
                       of[i].why);
    }
    unlink(in);
}

TEST(unwritten_cells)
{
    SdmOptions opt = default_options();
    SdmDemResult result;
    SdmGrid g;
    SdmProduct *p;
    const SdmSceneReport report = report_of();
    const double bounds[4] = {0, 0, 18000, 18000};
    opt.output = in_folder("u.tif");
    opt.memory_bytes = 64 << 20; /* rasters in files */
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    SDM_CLOSED_BY(sdm_block_free) SdmBlock b = {0};
    assert_int_equal(sdm_grid_choose(ctx, &opt, 3, 10, 15, &g), SDM_OK);
    assert_int_equal(sdm_grid_cover(ctx, bounds, &g), SDM_OK);
    assert_int_equal(sdm_scene_product_open(ctx, &opt, &g, &report, &p), SDM_OK);
    assert_int_equal(make_block(ctx, 0, 0, 100, 50, 250.0F, &b), SDM_OK);
    assert_int_equal(sdm_product_write(ctx, p, &b), SDM_OK);
    assert_int_equal(sdm_scene_product_finish(ctx, p, &report, NULL, &result), SDM_ERR_DATA);
    sdm_dem_result_free(&result);
    b.row0 = g.rows - 49;
    assert_int_equal(sdm_product_write(ctx, p, &b), SDM_ERR_DATA);
    assert_true(count_files("u.tif.part-") > 0);
    sdm_product_close(&p);
    assert_int_equal(count_files("u"), 0);
}

TEST(every_allocation_fails_once)
{
    const Case k = {.name = "m.tif", .cols = 90, .rows = 70};
    char why[1024];
    EACH_ALLOCATION_FAILS(run_case(&k, why), assert_true(made == SDM_OK || count_files("m") == 0), 10, 1);
}

/* ---- two runs on one output ---- */

static void put(const char *path, const char *text)
{
    FILE *const f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_parts(const SdmOutputFiles *files)
{
    for (int i = 0; i < SDM_FILES; i++)
        put(files->part[i], files->run);
}

/* It was lost while files were renamed: the new holder finds which, and removes them. */
TEST(an_output_that_was_lost_while_renaming)
{
    static SdmOutputFiles own, other;
    char text[64];
    const char *const path = in_folder("t.tif");
    SdmContext *ctx = default_context();
    assert_int_equal(sdm_output_files_name(ctx, path, &own), SDM_OK);
    assert_int_equal(sdm_output_files_name(ctx, path, &other), SDM_OK);
    other.made[SDM_FILE_LAS] = other.made[SDM_FILE_LAZ] = true; /* as --points asks for */
    put_parts(&own);
    snprintf(text, sizeof text, "1 %s\n", own.run);
    put(own.marker, text);
    assert_int_equal(rename(own.part[SDM_FILE_HTML], own.path[SDM_FILE_HTML]), 0);
    own.is_lost = true;
    sdm_output_files_leave(&own);
    assert_int_equal(count_files("t"), SDM_FILES + 1); /* all is as it was */
    assert_int_equal(sdm_output_files_check(ctx, &other, false, true), SDM_OK);
    sdm_output_files_recover(&other);
    sdm_output_files_sweep(&other);
    assert_int_equal(count_files("t"), 0);
    put_parts(&other);
    assert_int_equal(sdm_output_files_rename(ctx, &other, 1, NULL), SDM_OK);
    assert_true(sdm_output_files_finished(&own, 1));
    assert_false(sdm_output_files_finished(&own, 2));
    sdm_output_files_forget(&own, 2);
    assert_int_equal(count_files("t.tif.part-"), 1);
    sdm_output_files_forget(&own, 1);
    assert_int_equal(count_files("t"), SDM_FILES);
    sdm_close(&ctx);
    empty_folder();
}

RUN_TESTS(set_up, remove_folder)
