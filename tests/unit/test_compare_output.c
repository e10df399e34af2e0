/* What comes out of a comparison: refusals, the page, the semivariance. */
// SPDX-License-Identifier: Apache-2.0
#include "compare_case.h"
#include "core/stats.h"
#include "tests/folder.h"

TEST(faults_are_named)
{
    const float ocean[12] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    float holes[12];
    for (int i = 0; i < 12; i++)
        holes[i] = NAN;
    Raster r = flat_raster;
    r.values = hundred;
    write_raster(REF, &r);
    VSIUnlink(DEM);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
    r.epsg = 4978; /* geocentric */
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_INPUT, "gdalwarp -t_srs");
    r = flat_raster;
    r.values = hundred;
    r.epsg = 0;
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_INPUT, "no coordinate reference system");
    r.epsg = 32631;
    r.x0 += 1e5;
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_DATA, "no cell in common");
    write_flat(DEM, holes, NULL);
    refused(NULL, SDM_ERR_DATA, "no cell in common");
    write_flat(DEM, hundred, NULL);
    refused(&(SdmCompareOptions){.class_raster = "/vsimem/none.tif"}, SDM_ERR_INPUT, "--class");
    write_flat(EXTRA, ocean, NULL);
    refused(&(SdmCompareOptions){.class_raster = EXTRA}, SDM_ERR_DATA, "class 1");
    for (int i = 0; i < 12; i++)
        holes[i] = 0.0f;
    write_flat(EXTRA, holes, NULL);
    refused(&(SdmCompareOptions){.mask = EXTRA}, SDM_ERR_DATA, "stable ground");
    refused(&(SdmCompareOptions){.output = "/no/such/folder/e.html"}, SDM_ERR_IO, "make it first");
    VSILFILE *const junk = VSIFOpenL(DEM, "wb");
    VSIFWriteL("not a raster", 1, 12, junk);
    VSIFCloseL(junk);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
}

TEST(page_holds_the_figures)
{
    const char *const page = in_folder("page.html");
    const char *const part =
        in_folder("page.html.part-0123456789abcdef"); /* of a comparison that was killed */
    char figure[64];
    size_t n;
    put_bytes("page.html.part-0123456789abcdef", "", 0);
    write_terrain(DEM, 12.0, -7.0, 3.0, true);
    write_terrain(REF, 0.0, 0.0, 0.0, false);
    SdmCompareResult r;
    assert_int_equal(run(&(SdmCompareOptions){.output = in_folder("page")}, &r, NULL, 0), SDM_OK);
    assert_int_not_equal(access(part, F_OK), 0);
    FREED char *const text = read_all("page.html", &n);
    snprintf(figure, sizeof figure, "<td>aligned</td><td>%lld</td><td>%.3f</td>", (long long)r.aligned.count,
             r.aligned.bias_m);
    assert_non_null(strstr(text, figure));
    snprintf(figure, sizeof figure, "<b>%.3f m</b><span>NMAD before", r.raw.nmad_m);
    assert_non_null(strstr(text, figure));
    static const char *const parts[] = {"alt='map before'",        "alt='map after'",
                                        "'histogram before'",      "'histogram after'",
                                        "'differences by aspect'", "aria-label='semivariogram'",
                                        "'Differences by slope'",  "'Differences by height'"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("the page has no %s", parts[i]);
    double east_m, north_m; /* of the cosine */
    assert_int_equal(sscanf(strstr(text, "asks for a move by"), "asks for a move by %lf m east, %lf m north",
                            &east_m, &north_m),
                     2);
    assert_near(east_m, r.move.move_m[0], 0.15 * fabs(r.move.move_m[0]));
    assert_near(north_m, r.move.move_m[1], 0.15 * fabs(r.move.move_m[1]));
    refused(&(SdmCompareOptions){.output = page}, SDM_ERR_USAGE, "is there already");
    refused(&(SdmCompareOptions){.output = "/tmp/e.tif"}, SDM_ERR_USAGE, "expected the name of the page");
    refused(&(SdmCompareOptions){.output = "/tmp/."}, SDM_ERR_USAGE, "expected the name of the page");
    refused(&(SdmCompareOptions){.output = "/tmp/"}, SDM_ERR_USAGE, "expected the name of the page");
    refused(&(SdmCompareOptions){.output = page, .class_raster = page, .overwrite = true}, SDM_ERR_USAGE,
            "would overwrite the input");
}

/* Dowd (1984): half of 2.198 times the squared median of the differences, about 0 here by symmetry. */
TEST(semivariance_is_of_dowd)
{
    enum { N = 801 };
    float residual[N], scratch[N], size[N];
    int n = 0;
    for (int i = 0; i < N; i++)
        residual[i] = (float)(sin(0.37 * i) + 0.5 * cos(2.1 * i) + 0.001 * (i % 7));
    const SdmErrorLag lag = sdm_error_lag_grid(
        &(SdmCoregGrid){
            .cols = N, .rows = 1, .dx_m = 30.0, .dy_m = 90.0, .residual_m = residual, .scratch = scratch},
        90.0);
    for (int i = 0; i + 3 < N; i++)
        size[n++] = fabsf(residual[i + 3] - residual[i]);
    const double median = sdm_median_f32(size, n);
    assert_int_equal(lag.pairs, n);
    assert_near(lag.semivariance_m2, 0.5 * 2.198 * median * median, 0.03 * lag.semivariance_m2);
}

RUN_TESTS(make_folder, remove_folder)
