/* Refusals, failing allocations and two runs on one output while the products are written.  Full disks and kills:
 * faults/fault_disk.py, fault_stop.py. */
// SPDX-License-Identifier: Apache-2.0
#include "product/output_files.h"
#include "product_case.h"

static SdmStatus check(const char *output, bool overwrite, const char *co, const char *input, char *why)
{
    SdmOptions opt = default_options();
    opt.output = output;
    opt.overwrite = overwrite;
    opt.co[0] = co;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    const SdmStatus st = sdm_product_check(ctx, &opt, &input, input ? 1 : 0);
    snprintf(why, 1024, "%s", sdm_error(ctx));
    return st;
}

TEST(refusals)
{
    char why[1024];
    const char *const out = in_folder("x.tif"), *const in = in_folder("x_qa.tif");
    assert_int_equal(check(out, false, NULL, NULL, why), SDM_OK);
    assert_int_equal(check(NULL, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_int_equal(check("/no/such/folder/x.tif", false, NULL, NULL, why), SDM_ERR_IO);
    assert_non_null(strstr(why, "/no/such/folder"));
    assert_int_equal(check(folder, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "is a folder"));
    assert_int_equal(check("/dev/null", true, NULL, NULL, why), SDM_ERR_USAGE);
    put_bytes("x_qa.tif", "", 0);
    assert_int_equal(check(out, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "--overwrite"));
    assert_int_equal(check(out, true, NULL, NULL, why), SDM_OK);
    assert_int_equal(check(out, true, NULL, in, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "overwrite the input"));
    assert_int_equal(check(out, true, "COMPRESS=ZSTD", NULL, why), SDM_OK);
    assert_int_equal(check(out, true, "COMPRESS=JPEG", NULL, why), SDM_ERR_USAGE);
    assert_int_equal(check(out, true, "COMPRES=ZSTD", NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "COMPRES"));
    assert_int_equal(check(out, true, "TILING_SCHEME=GoogleMapsCompatible", NULL, why), SDM_ERR_USAGE);
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

/* A run whose output another one has taken over renames nothing and removes its own files alone. */
TEST(an_output_that_was_lost)
{
    static SdmOutputFiles own, other;
    const char *const path = in_folder("t.tif");
    SdmLease *lease = NULL;
    SdmContext *ctx = default_context();
    assert_int_equal(sdm_output_files_name(ctx, path, &own), SDM_OK);
    assert_int_equal(sdm_output_files_name(ctx, path, &other), SDM_OK);
    assert_string_not_equal(own.part[SDM_FILE_DEM], other.part[SDM_FILE_DEM]);
    assert_int_equal(sdm_lease_take_output(ctx, path, &lease), SDM_OK);
    put_parts(&own);
    put_parts(&other);
    put(other.marker, "1 12345678\n");
    put(sdm_lease_path(lease), "elsewhere/pid:[1]/b 1 77 0\n");
    assert_refused(ctx, sdm_output_files_rename(ctx, &own, 1, lease), SDM_ERR_IO,
                   "is held by another run now");
    sdm_output_files_leave(&own);
    assert_int_equal(count_files("t.tif.part-"), SDM_FILES + 2); /* the other's, its marker, its lease */
    assert_int_equal(count_files("t"), SDM_FILES + 2);
    sdm_lease_release(&lease);
    unlink(path);
    sdm_close(&ctx);
    empty_folder();
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
