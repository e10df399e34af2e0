/* ASTER V003: text tables of one telescope -> band. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <string.h>

typedef struct Tables {
    const char *base, *telescope;
    SdmScene *scene;
} Tables;

/* The file's name; where the folder has it in other letters (".TIF"), as it stands there. */
static SdmStatus table_path(SdmContext *ctx, const Tables *t, const char *suffix, char path[1024])
{
    PASS(sdm_format(ctx, path, 1024, "%s.VNIR_Band%s.%s", t->base, t->telescope, suffix));
    if (sdm_path_exists(path))
        return SDM_OK;
    char *const base = path + (sdm_path_base(path) - path);
    char folder[1024];
    snprintf(folder, sizeof folder, "%.*s", (int)(base - path), path);
    char **const list = VSIReadDir(*folder ? folder : ".");
    for (int i = 0; list && list[i]; ++i)
        if (EQUAL(list[i], base)) {
            memcpy(base, list[i], strlen(base));
            break;
        }
    CSLDestroy(list);
    return SDM_OK;
}

static SdmStatus read_file(SdmContext *ctx, const Tables *t, const char *suffix, int columns, double **out,
                           int *lines)
{
    char path[1024];
    PASS(table_path(ctx, t, suffix, path));
    PASS(sdm_read_table(ctx, path, columns, out, lines));
    if (t->scene)
        PASS(sdm_scene_add_file(ctx, t->scene, path));
    return SDM_OK;
}

static SdmStatus expect_lines(SdmContext *ctx, const Tables *t, const char *suffix, int found, int expected)
{
    char path[1024];
    if (found == expected)
        return SDM_OK;
    const SdmStatus st = table_path(ctx, t, suffix, path);
    return st != SDM_OK ? st
                        : sdm_fail(ctx, SDM_ERR_INPUT,
                                   "%s: %d lines of numbers, expected %d to go with LatticePoint.txt; "
                                   "%s is cut short or one of them of another scene, fetch both again",
                                   path, found, expected, found < expected ? "the file" : "LatticePoint.txt");
}

/* Lattice: columns are the points that share the first one's row. */
static SdmStatus read_lattice(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    SdmStatus st = SDM_OK;
    char path[1024];
    int lines = 0;
    TRY(read_file(ctx, t, "LatticePoint.txt", 2, &out->lattice_px, &lines));
    TRY(table_path(ctx, t, "LatticePoint.txt", path));
    while (out->ncol < lines && out->lattice_px[2 * out->ncol + 1] == out->lattice_px[1])
        out->ncol++;
    out->nrow = lines / out->ncol;
    if (out->nrow * out->ncol != lines || out->ncol < 2)
        st = sdm_fail(ctx, SDM_ERR_INPUT,
                      "%s: %d points do not fill rows of %d; the file is cut short or damaged, fetch it "
                      "again",
                      path, lines, out->ncol);
done:
    return st;
}

static SdmStatus read_velocity(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    char path[1024];
    int lines = 0;
    PASS(table_path(ctx, t, "SatelliteVelocity.txt", path));
    if (!sdm_path_exists(path))
        return SDM_OK;
    PASS(read_file(ctx, t, "SatelliteVelocity.txt", 3, &out->velocity_mps, &lines));
    return expect_lines(ctx, t, "SatelliteVelocity.txt", lines, out->nrow);
}

/* Latitude and longitude, when both are there. */
static SdmStatus read_geocentric(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    static const char *const suffix[2] = {"Latitude.txt", "Longitude.txt"};
    SdmStatus st = SDM_OK;
    double *degrees[2] = {NULL, NULL};
    int missing = 0;
    for (int k = 0; k < 2; ++k) {
        char path[1024];
        TRY(table_path(ctx, t, suffix[k], path));
        if (!sdm_path_exists(path)) {
            if (!out->velocity_mps)
                TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                             "%s: no such file, and no SatelliteVelocity.txt to do without; the scene "
                             "is incomplete, fetch it again",
                             path));
            sdm_log(ctx, SDM_LOG_WARNING, 1, "%s is missing; going on with positions and velocities", path);
            ++missing;
            continue;
        }
        int lines = 0;
        TRY(read_file(ctx, t, suffix[k], out->ncol, &degrees[k], &lines));
        TRY(expect_lines(ctx, t, suffix[k], lines, out->nrow));
    }
    if (missing)
        goto done;
    const size_t count = (size_t)out->nrow * (size_t)out->ncol;
    TRY(sdm_alloc(ctx, &out->geocentric_deg, count, 2 * sizeof(double), "table"));
    for (size_t i = 0; i < count; ++i) {
        out->geocentric_deg[2 * i] = degrees[0][i];
        out->geocentric_deg[2 * i + 1] = degrees[1][i];
    }
done:
    sdm_free(&degrees[0]);
    sdm_free(&degrees[1]);
    return st;
}

SdmStatus sdm_aster_read_text(SdmContext *ctx, const char *base, const char *telescope, bool image,
                              SdmScene *scene, SdmAsterBand *out)
{
    SdmStatus st = SDM_OK;
    const Tables t = {base, telescope, scene};
    int lines = 0;
    memset(out, 0, sizeof *out);
    if (image) {
        TRY(table_path(ctx, &t, "ImageData.tif", out->image));
        TRY(sdm_format(ctx, out->label, sizeof out->label, "%s", out->image));
        if (!sdm_path_exists(out->image))
            TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                         "%s: no such file; the scene is incomplete (a scene without band %s cannot make "
                         "a DEM), fetch it again",
                         out->image, telescope));
        if (scene)
            TRY(sdm_scene_add_file(ctx, scene, out->image));
    }
    TRY(sdm_format(ctx, out->source, sizeof out->source, "%s.VNIR_Band%s.*.txt", base, telescope));
    TRY(read_lattice(ctx, &t, out));
    TRY(read_file(ctx, &t, "SightVector.txt", 3, &out->sight, &lines));
    TRY(expect_lines(ctx, &t, "SightVector.txt", lines, out->nrow * out->ncol));
    TRY(read_file(ctx, &t, "SatellitePosition.txt", 3, &out->position_m, &lines));
    TRY(expect_lines(ctx, &t, "SatellitePosition.txt", lines, out->nrow));
    TRY(read_velocity(ctx, &t, out));
    TRY(read_geocentric(ctx, &t, out));
    TRY(table_path(ctx, &t, "RadiometricCorrTable.txt", out->table));
    if (image)
        TRY(read_file(ctx, &t, "RadiometricCorrTable.txt", 3, &out->radiometry, &out->radiometry_lines));
done:
    if (st != SDM_OK)
        sdm_aster_band_free(out);
    return st;
}
