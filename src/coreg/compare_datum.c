/* Vertical datums of a DEM and its reference -> the reference's heights above the DEM's datum. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"

#include <string.h>

enum { SOURCE_SIZE = 160 };

SdmStatus sdm_input_raster_set_datum(SdmContext *ctx, SdmInputRaster *raster, const char *option,
                                     const char *word)
{
    if (!word || strcmp(word, "auto") == 0)
        return SDM_OK;
    if (sdm_vertical_of_word(word) == SDM_VERTICAL_UNKNOWN)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is '%s', expected auto, ellipsoid, egm96 or egm2008", option,
                        word);
    sdm_vertical_give(&raster->datum, option, word);
    return SDM_OK;
}

/* The undulation of a raster's datum; NULL: the ellipsoid.  source: where the undulations are from. */
static SdmStatus open_geoid(SdmContext *ctx, const SdmInputRaster *raster, char source[SOURCE_SIZE],
                            SdmGeoid **out)
{
    SdmStatus st = SDM_OK;
    const size_t used = strlen(source);
    const SdmHeightSource from = {.option = raster->role,
                                  .path = raster->path,
                                  .datum_option = "--dem-vertical and --reference-vertical"};
    TRY(sdm_datum_open_geoid(ctx, &from, raster->file, &raster->datum, out));
    if (*out)
        snprintf(source + used, SOURCE_SIZE - used, "%s%s", used ? " and " : "", sdm_geoid_source(*out));
done:
    return st;
}

/* Add sign x the undulation of a raster's datum to heights on the grid, some rows at a time. */
static SdmStatus add_on_grid(SdmContext *ctx, const SdmRasterGrid *grid, const SdmInputRaster *raster,
                             float sign, float *height_m, char source[SOURCE_SIZE])
{
    enum { ROWS = 64 };
    SdmStatus st = SDM_OK;
    SdmGrid cells;
    SdmUndulation u = {.geoid = NULL};
    SdmGeoid *geoid = NULL;
    float *undulation_m = NULL;
    TRY(open_geoid(ctx, raster, source, &geoid));
    TRY(sdm_raster_grid_describe(ctx, grid, &cells));
    TRY(sdm_undulation_of(ctx, &cells, geoid, &u));
    u.dx = grid->transform[1];
    u.dy = -grid->transform[5];
    TRY(sdm_alloc_raw(ctx, &undulation_m, (size_t)grid->cols * ROWS, sizeof *undulation_m, "undulation"));
    for (int64_t row = 0; row < grid->rows && u.geoid; row += ROWS) {
        const int64_t rows = grid->rows - row < ROWS ? grid->rows - row : ROWS;
        TRY(sdm_undulation_window(ctx, &u, 0, row, grid->cols, rows, undulation_m));
        for (int64_t i = 0; i < rows * grid->cols; i++)
            height_m[row * grid->cols + i] += sign * undulation_m[i];
    }
done:
    sdm_undulation_close(&u);
    sdm_free(&undulation_m);
    return st;
}

/* The same to heights at n places: their longitudes, then their latitudes. */
static SdmStatus add_at_points(SdmContext *ctx, const SdmInputRaster *raster, double sign, size_t n,
                               const double *place_deg, double *height_m, char source[SOURCE_SIZE])
{
    SdmStatus st = SDM_OK;
    SdmGeoid *geoid = NULL;
    double undulation_m;
    TRY(open_geoid(ctx, raster, source, &geoid));
    for (size_t i = 0; i < n && geoid; i++) {
        TRY(sdm_geoid_undulation(ctx, geoid, 1, place_deg + i, place_deg + n + i, &undulation_m));
        height_m[i] += sign * undulation_m;
    }
done:
    sdm_geoid_close(&geoid);
    return st;
}

/* Say what a name or the cells of a raster told. */
static void add_guess(const SdmInputRaster *raster, char note[SDM_DATUM_NOTE])
{
    const size_t used = strlen(note);
    char phrase[360];
    if (raster->datum.by < SDM_DATUM_NAMED || raster->datum.vertical == SDM_VERTICAL_UNKNOWN)
        return;
    sdm_vertical_phrase(&raster->datum, phrase, sizeof phrase);
    snprintf(note + used, SDM_DATUM_NOTE - used, "%sthe %s's heights are above %s", used ? "; " : "",
             raster->role, phrase);
}

/* Compare both datums: the note, and whether the reference's heights must be converted. */
static void compare_datums(const SdmInputRaster *dem, const SdmInputRaster *reference,
                           char note[SDM_DATUM_NOTE], bool *convert)
{
    const SdmDatumFound *const a = &dem->datum, *const b = &reference->datum;
    const bool dem_known = a->vertical != SDM_VERTICAL_UNKNOWN,
               reference_known = b->vertical != SDM_VERTICAL_UNKNOWN;
    note[0] = '\0';
    *convert = false;
    add_guess(dem, note);
    add_guess(reference, note);
    const size_t used = strlen(note);
    if (!dem_known && !reference_known) {
        snprintf(note, SDM_DATUM_NOTE,
                 "neither the DEM nor the reference declares a vertical datum: assumed to be the same; "
                 "otherwise give --dem-vertical and --reference-vertical");
    } else if (!dem_known || !reference_known) {
        snprintf(note + used, SDM_DATUM_NOTE - used,
                 "%sthe %s declares no vertical datum: assumed to be %s, as that of the %s; otherwise give "
                 "--%s-vertical",
                 used ? "; " : "", dem_known ? "reference" : "DEM", dem_known ? a->name : b->name,
                 dem_known ? "DEM" : "reference", dem_known ? "reference" : "dem");
    } else {
        *convert = a->vertical != b->vertical ||
                   (a->vertical == SDM_VERTICAL_OTHER && strcmp(a->name, b->name) != 0);
    }
}

static const char *name_of(const SdmInputRaster *raster)
{
    const int vertical = raster->datum.vertical;
    return vertical == SDM_VERTICAL_OTHER ? raster->datum.name : sdm_vertical_name(vertical);
}

static void note_conversion(const SdmInputRaster *dem, const SdmInputRaster *reference, const char *source,
                            char note[SDM_DATUM_NOTE])
{
    const size_t used = strlen(note);
    snprintf(note + used, SDM_DATUM_NOTE - used,
             "%sthe reference's heights were converted from %s to %s, undulation of %s", used ? "; " : "",
             name_of(reference), name_of(dem), source);
}

SdmStatus sdm_input_raster_match_datum(SdmContext *ctx, const SdmRasterGrid *grid,
                                       const SdmInputRaster *reference, float *reference_m,
                                       char note[SDM_DATUM_NOTE])
{
    SdmStatus st = SDM_OK;
    char source[SOURCE_SIZE] = "";
    bool convert = false;
    compare_datums(grid->dem, reference, note, &convert);
    if (!convert)
        return SDM_OK;
    TRY(add_on_grid(ctx, grid, reference, 1.0f, reference_m, source));
    TRY(add_on_grid(ctx, grid, grid->dem, -1.0f, reference_m, source));
    note_conversion(grid->dem, reference, source, note);
done:
    return st;
}

SdmStatus sdm_input_points_match_datum(SdmContext *ctx, const SdmInputRaster *dem,
                                       const SdmInputRaster *reference, const SdmInputPoints *points,
                                       char note[SDM_DATUM_NOTE])
{
    SdmStatus st = SDM_OK;
    SdmProjector *projector = NULL;
    double *room = NULL;
    char source[SOURCE_SIZE] = "";
    const size_t n = (size_t)points->count;
    bool convert = false;
    compare_datums(dem, reference, note, &convert);
    if (!convert)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &room, 2 * n, sizeof *room, "undulations"));
    double *const lon = room, *const lat = room + n;
    memcpy(lon, points->x, n * sizeof *lon);
    memcpy(lat, points->y, n * sizeof *lat);
    TRY(sdm_projector_open(ctx, dem->wkt, &projector));
    sdm_projector_inverse(projector, n, lon, lat);
    TRY(add_at_points(ctx, reference, 1.0, n, room, points->height_m, source));
    TRY(add_at_points(ctx, dem, -1.0, n, room, points->height_m, source));
    note_conversion(dem, reference, source, note);
done:
    sdm_projector_close(&projector);
    sdm_free(&room);
    return st;
}
