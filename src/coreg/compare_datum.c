/* Vertical datums of a DEM and its reference -> the reference's heights above the DEM's datum. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "geo/geoid.h"

#include <cpl_conv.h>
#include <math.h>
#include <string.h>

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

typedef struct Nodes { /* undulations at every `step` cells, from the centre of the first cell on */
    int64_t step, cols, rows;
    double *add_m;    /* rows x cols: what to add to the reference's heights */
    char source[160]; /* where the undulations are from */
} Nodes;

/* The undulation of a raster's datum, which is not the ellipsoid. */
static SdmStatus open_geoid(SdmContext *ctx, const SdmInputRaster *raster, SdmGeoid **out)
{
    SdmStatus st;
    char who[1200], *crs;
    if (raster->datum.vertical != SDM_VERTICAL_OTHER)
        return sdm_geoid_open(ctx, raster->datum.vertical, out);
    snprintf(who, sizeof who, "%s %s (above '%s')", raster->role, raster->path, raster->datum.name);
    crs = raster->file ? sdm_vertical_crs(raster->file, &raster->datum) : NULL;
    if (crs)
        st = sdm_geoid_open_crs(ctx, crs, who, out);
    else
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                      "%s: this datum cannot be converted; run gdalwarp on it with its compound CRS as "
                      "-s_srs, or give --dem-vertical and --reference-vertical",
                      who);
    CPLFree(crs);
    return st;
}

/* Add sign x the undulation of a raster's datum to the nodes.  undulation_m: room for a value of each
 * node. */
static SdmStatus add_geoid(SdmContext *ctx, Nodes *nodes, const SdmInputRaster *raster, double sign,
                           const double *lon_deg, const double *lat_deg, double *undulation_m)
{
    SdmStatus st = SDM_OK;
    SdmGeoid *geoid = NULL;
    const size_t n = (size_t)(nodes->cols * nodes->rows), used = strlen(nodes->source);
    if (raster->datum.vertical == SDM_ELLIPSOID)
        return SDM_OK;
    TRY(open_geoid(ctx, raster, &geoid));
    TRY(sdm_geoid_undulation(ctx, geoid, n, lon_deg, lat_deg, undulation_m));
    for (size_t i = 0; i < n; i++)
        nodes->add_m[i] += sign * undulation_m[i];
    snprintf(nodes->source + used, sizeof nodes->source - used, "%s%s", used ? " and " : "",
             sdm_geoid_source(geoid));
done:
    sdm_geoid_close(&geoid);
    return st;
}

/* Height above the DEM's datum = height above the reference's + N(reference) - N(DEM).  The undulation N is
 * smooth over the 2 km between nodes. */
static SdmStatus fill_nodes(SdmContext *ctx, const SdmRasterGrid *grid, const SdmInputRaster *reference,
                            Nodes *nodes)
{
    SdmStatus st = SDM_OK;
    SdmProjector *projector = NULL;
    double *lon = NULL, *lat = NULL, *undulation = NULL;
    nodes->step = (int64_t)fmax(1.0, floor(2000.0 / fmax(grid->dx_m, grid->dy_m)));
    nodes->cols = (grid->cols - 1) / nodes->step + 2;
    nodes->rows = (grid->rows - 1) / nodes->step + 2;
    const size_t n = (size_t)(nodes->cols * nodes->rows);
    TRY(sdm_alloc(ctx, &nodes->add_m, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &lon, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &lat, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &undulation, n, sizeof(double), "geoid nodes"));
    for (size_t k = 0; k < n; k++) {
        const double col = (double)((int64_t)k % nodes->cols * nodes->step) + 0.5;
        const double row = (double)((int64_t)k / nodes->cols * nodes->step) + 0.5;
        lon[k] = grid->transform[0] + col * grid->transform[1];
        lat[k] = grid->transform[3] + row * grid->transform[5];
    }
    TRY(sdm_projector_open(ctx, grid->dem->wkt, &projector));
    sdm_projector_inverse(projector, n, lon, lat);
    TRY(add_geoid(ctx, nodes, reference, 1.0, lon, lat, undulation));
    TRY(add_geoid(ctx, nodes, grid->dem, -1.0, lon, lat, undulation));
done:
    sdm_projector_close(&projector);
    sdm_free(&undulation);
    sdm_free(&lat);
    sdm_free(&lon);
    return st;
}

/* Add the nodes' values, bilinear between them. */
static void add_nodes(const SdmRasterGrid *grid, const Nodes *nodes, int threads, float *height_m)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t j = 0; j < grid->rows; j++) {
        const double *const upper = nodes->add_m + j / nodes->step * nodes->cols;
        const double *const lower = upper + nodes->cols;
        const double t = (double)(j % nodes->step) / (double)nodes->step;
        for (int64_t i = 0; i < grid->cols; i++) {
            const int64_t k = i / nodes->step;
            const double s = (double)(i % nodes->step) / (double)nodes->step;
            const double up = upper[k] + s * (upper[k + 1] - upper[k]);
            const double down = lower[k] + s * (lower[k + 1] - lower[k]);
            float *const h = &height_m[j * grid->cols + i];
            *h = (float)((double)*h + up + t * (down - up));
        }
    }
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

/* What is known of both datums -> the note, and whether the reference's heights must be converted. */
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

static void note_conversion(const SdmInputRaster *dem, const SdmInputRaster *reference, const Nodes *nodes,
                            char note[SDM_DATUM_NOTE])
{
    const size_t used = strlen(note);
    snprintf(note + used, SDM_DATUM_NOTE - used,
             "%sthe reference's heights were converted from %s to %s, undulation of %s", used ? "; " : "",
             name_of(reference), name_of(dem), nodes->source);
}

SdmStatus sdm_input_raster_match_datum(SdmContext *ctx, const SdmRasterGrid *grid,
                                       const SdmInputRaster *reference, float *reference_m,
                                       char note[SDM_DATUM_NOTE])
{
    SdmStatus st = SDM_OK;
    Nodes nodes = {0};
    bool convert = false;
    compare_datums(grid->dem, reference, note, &convert);
    if (convert) {
        TRY(fill_nodes(ctx, grid, reference, &nodes));
        add_nodes(grid, &nodes, sdm_threads(ctx), reference_m);
        note_conversion(grid->dem, reference, &nodes, note);
    }
done:
    sdm_free(&nodes.add_m);
    return st;
}

SdmStatus sdm_input_points_match_datum(SdmContext *ctx, const SdmInputRaster *dem,
                                       const SdmInputRaster *reference, const SdmInputPoints *points,
                                       char note[SDM_DATUM_NOTE])
{
    SdmStatus st = SDM_OK;
    SdmProjector *projector = NULL;
    double *room = NULL;
    const size_t n = (size_t)points->count;
    bool convert = false;
    compare_datums(dem, reference, note, &convert);
    if (!convert)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &room, 3 * n, sizeof *room, "undulations"));
    double *const lon = room, *const lat = room + n;
    Nodes nodes = {.cols = points->count, .rows = 1, .add_m = points->height_m};
    memcpy(lon, points->x, n * sizeof *lon);
    memcpy(lat, points->y, n * sizeof *lat);
    TRY(sdm_projector_open(ctx, dem->wkt, &projector));
    sdm_projector_inverse(projector, n, lon, lat);
    TRY(add_geoid(ctx, &nodes, reference, 1.0, lon, lat, room + 2 * n));
    TRY(add_geoid(ctx, &nodes, dem, -1.0, lon, lat, room + 2 * n));
    note_conversion(dem, reference, &nodes, note);
done:
    sdm_projector_close(&projector);
    sdm_free(&room);
    return st;
}
