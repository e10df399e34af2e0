/* Stage 9: blocks in any order -> the files of a run, written aside and renamed when whole. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <math.h>
#include <string.h>

const char *const sdm_qa_names[SDM_QA_BITS] = {"valid",       "filled",    "outside",   "saturated",
                                               "textureless", "low_score", "ambiguous", "left_right",
                                               "ray_gap",     "isolated",  "fold",      "sparse",
                                               "disagree"};

int sdm_qa_bands(const SdmReport *report, int band[SDM_QA_BANDS])
{
    static const int scene[] = {SDM_BAND_SCORE, SDM_BAND_GAP, SDM_BAND_SPREAD, SDM_BAND_COUNT, SDM_BAND_MASK};
    const int first = report->stack ? SDM_BAND_SPREAD : 0, n = SDM_QA_BANDS - first;
    memcpy(band, scene + first, (size_t)n * sizeof *band);
    return n;
}

int sdm_qa_bits(const SdmReport *report)
{
    return report->stack ? SDM_QA_BITS : SDM_QA_SCENE_BITS;
}

/* Names, units and scales of the bands, and what the mask's bits mean. */
static void describe(const SdmProduct *p)
{
    static const char *const scene_name[SDM_QA_BANDS] = {
        "score", "ray gap", "spread of the heights in the cell", "points in the cell", "mask"};
    static const char *const stack_name[SDM_QA_BANDS] = {"", "", "NMAD of the heights in the cell",
                                                         "DEMs in the cell", "mask"};
    const char *const *const name = p->report.stack ? stack_name : scene_name;
    const double scale[SDM_QA_BANDS] = {SDM_SCORE_STEP, p->ray_error_step_m, p->ray_error_step_m, 1.0, 1.0};
    char key[16];
    GDALRasterBandH dem = GDALGetRasterBand(p->raw[SDM_FILE_DEM], 1);
    GDALSetRasterNoDataValue(dem, (double)SDM_NODATA);
    GDALSetDescription(dem, "height");
    GDALSetRasterUnitType(dem, "m");
    if (p->raw[SDM_FILE_ORTHO])
        GDALSetDescription(GDALGetRasterBand(p->raw[SDM_FILE_ORTHO], 1), "left image");
    GDALDatasetH qa = p->raw[SDM_FILE_QA];
    for (int k = 0; k < p->bands; k++) {
        const int i = p->band[k];
        GDALRasterBandH band = GDALGetRasterBand(qa, k + 1);
        GDALSetDescription(band, name[i]);
        if (scale[i] != 1.0) {
            GDALSetRasterScale(band, scale[i]);
            GDALSetRasterOffset(band, 0.0);
        }
        if (i == SDM_BAND_GAP || i == SDM_BAND_SPREAD)
            GDALSetRasterUnitType(band, "m");
    }
    GDALSetRasterNoDataValue(GDALGetRasterBand(qa, 1), SDM_QA_NODATA);
    for (int b = 0; b < sdm_qa_bits(&p->report); b++) {
        snprintf(key, sizeof key, "MASK_BIT_%d", b);
        GDALSetMetadataItem(qa, key, sdm_qa_names[b], NULL);
    }
}

SdmStatus sdm_product_open(SdmContext *ctx, const SdmGrid *grid, const SdmReport *report, SdmProduct **out)
{
    static const struct {
        int file;
        GDALDataType type;
    } raster[] = {{SDM_FILE_DEM, GDT_Float32}, {SDM_FILE_QA, GDT_UInt16}, {SDM_FILE_ORTHO, GDT_Float32}};
    SdmStatus st = SDM_OK;
    SdmProduct *p = NULL;
    const double spacing_m = sdm_grid_spacing_m(grid);
    const int around = sdm_stage_enter(ctx, 9);
    *out = NULL;
    GDALAllRegister();
    TRY(sdm_product_check(ctx, NULL, 0));
    TRY(sdm_alloc(ctx, &p, 1, sizeof *p, "product"));
    p->grid = *grid;
    p->report = *report;
    p->bands = sdm_qa_bands(report, p->band);
    p->ray_error_step_m = pow(10.0, floor(log10(spacing_m / 100.0)));
    TRY(sdm_alloc(ctx, &p->names, 1, sizeof *p->names, "names"));
    TRY(sdm_names_make(ctx, p->names));
    p->names->made[SDM_FILE_ORTHO] = !report->stack;
    sdm_names_recover(p->names);
    sdm_names_sweep(p->names);
    TRY(sdm_survey_open(ctx, grid, &p->survey));
    TRY(sdm_undulation_open(ctx, &p->grid, sdm_options(ctx)->vertical, &p->undulation));
    for (int i = 0; i < 3; i++) {
        const int file = raster[i].file;
        if (p->names->made[file])
            TRY(sdm_raster_create(ctx, p, file, p->names->raw[file], file == SDM_FILE_QA ? p->bands : 1,
                                  raster[i].type, &p->raw[file], &p->cells[file]));
    }
    describe(p);
    *out = p;
    p = NULL;
done:
    sdm_product_close(&p);
    sdm_stage_leave(ctx, around);
    return st;
}

/* ctx of the thread that fails first speaks; every job is done even so, for they share nothing. */
static SdmStatus write_file(SdmContext *ctx, SdmProduct *p, int job, SdmPicture *relief, SdmPicture *coverage)
{
    static const int file[] = {-1, SDM_FILE_QA, SDM_FILE_DEM,
                               SDM_FILE_ORTHO}; /* pictures take one thread: first */
    SdmStatus st = SDM_OK;
    if (job == 0) {
        TRY(sdm_picture_relief(ctx, p, relief));
        TRY(sdm_picture_coverage(ctx, p, coverage));
    } else if (p->names->made[file[job]]) {
        TRY(sdm_cog_write(ctx, p, file[job]));
        TRY(sdm_raster_close(ctx, &p->raw[file[job]], &p->cells[file[job]], p->names->raw[file[job]]));
    }
done:
    return st;
}

static void set_statistics(const SdmProduct *p)
{
    static const char *const key[] = {"STATISTICS_MINIMUM", "STATISTICS_MAXIMUM", "STATISTICS_MEAN",
                                      "STATISTICS_STDDEV", "STATISTICS_VALID_PERCENT"};
    const SdmSurvey *const s = &p->survey;
    const double value[] = {(double)s->low * s->step_m, (double)s->high * s->step_m, sdm_survey_mean_m(s),
                            sdm_survey_std_m(s), 100.0 * (double)s->valid / (double)s->cells};
    char text[40];
    for (int i = 0; i < 5 && s->valid; i++) {
        snprintf(text, sizeof text, "%.*g", i < 4 ? 12 : 4, value[i]);
        GDALSetMetadataItem(GDALGetRasterBand(p->raw[SDM_FILE_DEM], 1), key[i], text, NULL);
    }
}

SdmStatus sdm_product_finish(SdmContext *ctx, SdmProduct *p, const SdmReport *report)
{
    SdmStatus st = SDM_OK, job_st[4] = {SDM_OK};
    SdmPicture relief = {0}, coverage = {0};
    SdmText png = {.ctx = ctx}; /* borrows the relief */
    const double start = sdm_now_s();
    p->report = *report;
    if (p->survey.cells != p->grid.cols * p->grid.rows)
        return sdm_fail(ctx, SDM_ERR_DATA, "%s: %lld of %lld cells were written, expected every one once",
                        p->names->path[SDM_FILE_DEM], (long long)p->survey.cells,
                        (long long)(p->grid.cols * p->grid.rows));
    const int around = sdm_stage_enter(ctx, 9);
    TRY(sdm_check_stop(ctx));
    set_statistics(p);
    if (p->names->made[SDM_FILE_ORTHO])
        TRY(sdm_ortho_convert(ctx, p));
    sdm_spares_free(ctx); /* what follows is GDAL's memory */
    /* each file in the making takes some 100 MB of GDAL's: one after the other where that is much */
    const int threads = sdm_options(ctx)->memory_bytes < INT64_C(1) << 30 ? 1 : sdm_threads(ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads < 4 ? threads : 4)
    for (int job = 0; job < 4; job++)
        job_st[job] = write_file(ctx, p, job, &relief, &coverage);
    for (int job = 0; job < 4; job++)
        TRY(job_st[job]);
    p->report.wall_s += sdm_now_s() - start;
    png.data = (char *)relief.data;
    png.size = relief.size;
    TRY(sdm_text_write(&png, p->names->part[SDM_FILE_PNG]));
    TRY(sdm_report_write(ctx, p));
    TRY(sdm_html_write(ctx, p, &relief, &coverage));
    TRY(sdm_check_stop(ctx));
    TRY(sdm_names_rename(ctx, p->names, p->report.job));
done:
    sdm_picture_close(&relief);
    sdm_picture_close(&coverage);
    sdm_stage_leave(ctx, around);
    return st;
}

void sdm_product_close(SdmProduct **out)
{
    SdmProduct *const p = out ? *out : NULL;
    if (!p)
        return;
    for (int i = 0; i < SDM_FILES; i++)
        (void)sdm_raster_close(NULL, &p->raw[i], &p->cells[i], "");
    if (p->names)
        sdm_names_sweep(p->names);
    sdm_survey_close(&p->survey);
    sdm_undulation_close(&p->undulation);
    sdm_free(&p->names);
    sdm_free(out);
}
