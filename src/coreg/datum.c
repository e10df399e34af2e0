/* What the heights of DEM and reference are above -> the reference's heights above the DEM's datum. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "geo/geoid.h"

#include <math.h>
#include <string.h>

/* An option's word overrules what the raster says. */
static SdmStatus apply_option(SdmContext *ctx, SdmOperand *op, const char *option, const char *text)
{
    static const char *const words[] = {"ellipsoid", "egm96", "egm2008"};
    if (!text || strcmp(text, "auto") == 0)
        return SDM_OK;
    for (int k = 0; k < 3; k++)
        if (strcmp(text, words[k]) == 0) {
            op->vertical = k;
            snprintf(op->vertical_name, sizeof op->vertical_name, "%s", sdm_vertical_name(k));
            return SDM_OK;
        }
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s is '%s', expected auto, ellipsoid, egm96 or egm2008", option,
                    text);
}

typedef struct Nodes { /* undulations at every `step` cells, from the first cell's centre on */
    int64_t step, cols, rows;
    double *add_m; /* what to add to the reference's heights */
} Nodes;

static SdmStatus add_geoid(SdmContext *ctx, Nodes *nodes, int vertical, double sign, const double *lon_deg,
                           const double *lat_deg, double *undulation_m)
{
    SdmStatus st = SDM_OK;
    SdmGeoid *geoid = NULL;
    const size_t n = (size_t)(nodes->cols * nodes->rows);
    if (vertical == SDM_ELLIPSOID)
        return SDM_OK;
    TRY(sdm_geoid_open(ctx, vertical, &geoid));
    TRY(sdm_geoid_undulation(ctx, geoid, n, lon_deg, lat_deg, undulation_m));
    for (size_t i = 0; i < n; i++)
        nodes->add_m[i] += sign * undulation_m[i];
done:
    sdm_geoid_close(&geoid);
    return st;
}

/* Height above the DEM's datum = height above the reference's + N(reference) - N(DEM); N is smooth over 2 km.
 */
static SdmStatus fill_nodes(SdmContext *ctx, const SdmCells *c, const SdmOperand *dem, int from, Nodes *nodes)
{
    SdmStatus st = SDM_OK;
    SdmProjector *projector = NULL;
    double *lon = NULL, *lat = NULL, *undulation = NULL;
    nodes->step = (int64_t)fmax(1.0, floor(2000.0 / fmax(c->dx_m, c->dy_m)));
    nodes->cols = (c->cols - 1) / nodes->step + 2;
    nodes->rows = (c->rows - 1) / nodes->step + 2;
    const size_t n = (size_t)(nodes->cols * nodes->rows);
    TRY(sdm_alloc(ctx, &nodes->add_m, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &lon, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &lat, n, sizeof(double), "geoid nodes"));
    TRY(sdm_alloc(ctx, &undulation, n, sizeof(double), "geoid nodes"));
    for (size_t k = 0; k < n; k++) {
        const double col = (double)((int64_t)k % nodes->cols * nodes->step) + 0.5;
        const double row = (double)((int64_t)k / nodes->cols * nodes->step) + 0.5;
        lon[k] = c->transform[0] + col * c->transform[1];
        lat[k] = c->transform[3] + row * c->transform[5];
    }
    TRY(sdm_projector_open(ctx, dem->wkt, &projector));
    sdm_projector_inverse(projector, n, lon, lat);
    TRY(add_geoid(ctx, nodes, from, 1.0, lon, lat, undulation));
    TRY(add_geoid(ctx, nodes, dem->vertical, -1.0, lon, lat, undulation));
done:
    sdm_projector_close(&projector);
    sdm_free(&undulation);
    sdm_free(&lat);
    sdm_free(&lon);
    return st;
}

static void add_nodes(SdmCells *c, const Nodes *nodes)
{
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t j = 0; j < c->rows; j++) {
        const double *const upper = nodes->add_m + j / nodes->step * nodes->cols, *const lower =
                                                                                      upper + nodes->cols;
        const double t = (double)(j % nodes->step) / (double)nodes->step;
        for (int64_t i = 0; i < c->cols; i++) {
            const int64_t k = i / nodes->step;
            const double s = (double)(i % nodes->step) / (double)nodes->step;
            const double up = upper[k] + s * (upper[k + 1] - upper[k]);
            const double down = lower[k] + s * (lower[k + 1] - lower[k]);
            float *const h = &c->ref_m[j * c->cols + i];
            *h = (float)((double)*h + up + t * (down - up));
        }
    }
}

SdmStatus sdm_operand_convert(SdmContext *ctx, SdmCells *c, SdmOperand *dem, SdmOperand *reference,
                              const char *dem_text, const char *reference_text, char *note, size_t note_size)
{
    SdmStatus st = SDM_OK;
    Nodes nodes = {0};
    note[0] = '\0';
    TRY(apply_option(ctx, dem, "--dem-vertical", dem_text));
    TRY(apply_option(ctx, reference, "--reference-vertical", reference_text));
    const bool dem_known = dem->vertical != SDM_VERTICAL_UNKNOWN;
    const bool reference_known = reference->vertical != SDM_VERTICAL_UNKNOWN;
    if (!dem_known && !reference_known) {
        snprintf(note, note_size,
                 "neither the DEM nor the reference says what its heights are above: taken as the "
                 "same; else give --dem-vertical and --reference-vertical");
    } else if (!dem_known || !reference_known) {
        snprintf(note, note_size,
                 "the %s does not say what its heights are above: taken as %s, like the %s; else give "
                 "--%s-vertical",
                 dem_known ? "reference" : "DEM", dem_known ? dem->vertical_name : reference->vertical_name,
                 dem_known ? "DEM" : "reference", dem_known ? "reference" : "dem");
    } else if (dem->vertical == SDM_VERTICAL_OTHER || reference->vertical == SDM_VERTICAL_OTHER) {
        if (strcmp(dem->vertical_name, reference->vertical_name) != 0)
            st = sdm_fail(
                ctx, SDM_ERR_UNSUPPORTED,
                "the DEM's heights are above '%s' and the reference's above '%s', and only ellipsoid, EGM96 "
                "and EGM2008 can be converted; run gdalwarp on one, or give --dem-vertical and "
                "--reference-vertical",
                dem->vertical_name, reference->vertical_name);
    } else if (dem->vertical != reference->vertical) {
        TRY(fill_nodes(ctx, c, dem, reference->vertical, &nodes));
        add_nodes(c, &nodes);
        snprintf(note, note_size, "the reference's heights were converted from %s to %s",
                 sdm_vertical_name(reference->vertical), sdm_vertical_name(dem->vertical));
    }
done:
    sdm_free(&nodes.add_m);
    return st;
}
