/* Geoid undulation above the WGS 84 ellipsoid: at points, and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"
#include "geo/bicubic.h"
#include "geo/cell_places.h"
#include "geo/projector.h"
#include "geo/vertical_datum.h"

#include <cpl_conv.h>
#include <math.h>
#include <proj.h>

/* ---- the program's own grids ----
 *
 * EGM96 and EGM2008, every 15', from NGA's grids (data/geoids.bin, made by scripts/geoids).  EGM96 is NGA's
 * grid, rounded to 5 cm.  EGM2008 differs from NGA's grid of 2.5' by 0.06 m (RMS), by less than 0.5 m on
 * 99.9 % of the Earth, and by 1.7 m at most. */

/* Undulations, metres, with two more rows and columns on each side, so that each place on Earth has its
 * sixteen neighbours. */
typedef struct GeoidGrid {
    SdmBicubicPlane plane;
    float *value; /* of the plane; owned */
} GeoidGrid;

enum { ROWS = 721, COLS = 1440, EDGE = 2, WIDE = COLS + 2 * EDGE, HIGH = ROWS + 2 * EDGE };
static const double PER_DEGREE = 4.0, UNIT_M = 0.05;

extern const unsigned char sdm_geoids[]; /* geoids.bin, made part of the program by the build */
extern const size_t sdm_geoids_bytes;

/* The stream of a geoid: each stands behind its length. */
static const uint8_t *find_stream(int vertical, size_t *bytes)
{
    const uint8_t *at = sdm_geoids;
    for (int i = SDM_EGM96;; i++) {
        *bytes = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        if (i == vertical)
            return at + 4;
        at += 4 + *bytes;
    }
}

/* Second differences, low bytes and high ones, folded -> metres. */
static void sum_differences(const uint8_t *packed, float *value)
{
    int32_t above[COLS] = {0};
    for (int j = 0; j < ROWS; j++) {
        float *const row = value + (size_t)(j + EDGE) * WIDE + EDGE;
        int32_t along = 0;
        for (int i = 0; i < COLS; i++) {
            const size_t at = (size_t)j * COLS + (size_t)i;
            const int32_t folded = packed[at] | packed[(size_t)ROWS * COLS + at] << 8;
            along += folded & 1 ? -(folded + 1) / 2 : folded / 2;
            above[i] += along;
            row[i] = (float)(above[i] * UNIT_M);
        }
    }
}

/* Beyond a pole lies the other half of the meridian; beyond the last column the first one. */
static void fill_edges(float *value)
{
    for (int k = 1; k <= EDGE; k++)
        for (int i = 0; i < COLS; i++) {
            const size_t over = (size_t)((i + COLS / 2) % COLS + EDGE), at = (size_t)(i + EDGE);
            value[(size_t)(EDGE - k) * WIDE + at] = value[(size_t)(EDGE + k) * WIDE + over];
            value[(size_t)(EDGE + ROWS - 1 + k) * WIDE + at] =
                value[(size_t)(EDGE + ROWS - 1 - k) * WIDE + over];
        }
    for (int j = 0; j < HIGH; j++)
        for (int k = 0; k < EDGE; k++) {
            float *const row = value + (size_t)j * WIDE;
            row[k] = row[COLS + k];
            row[COLS + EDGE + k] = row[EDGE + k];
        }
}

/* Unpack a grid.  vertical: SDM_EGM96 or SDM_EGM2008.  Free it after failure, too. */
static SdmStatus grid_open(SdmContext *ctx, int vertical, GeoidGrid *out)
{
    const size_t size = 2 * (size_t)ROWS * COLS;
    size_t bytes, unpacked = 0;
    SDM_OWNED uint8_t *packed = NULL;
    const uint8_t *const stream = find_stream(vertical, &bytes);
    *out = (GeoidGrid){.value = NULL};
    PASS(SDM_ALLOC_RAW(ctx, "geoid", SDM_ARRAY(packed, size), SDM_ARRAY(out->value, (size_t)WIDE * HIGH)));
    if (!CPLZLibInflate(stream, bytes, packed, size, &unpacked) || unpacked != size)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the geoid cannot be unpacked");
    sum_differences(packed, out->value);
    fill_edges(out->value);
    out->plane = (SdmBicubicPlane){out->value, WIDE, HIGH};
    return SDM_OK;
}

/* Metres at a finite longitude and latitude of at most 90 degrees, bicubic. */
static double grid_at(const GeoidGrid *g, double lon_deg, double lat_deg)
{
    const double turned_deg = lon_deg - 360.0 * floor(lon_deg / 360.0),
                 east_deg = turned_deg < 360.0 ? turned_deg : 0.0, /* rounded up */
        col = EDGE + east_deg * PER_DEGREE, row = EDGE + (90.0 - lat_deg) * PER_DEGREE;
    double n;
    sdm_bicubic(&g->plane, 1, &col, &row, &n, NULL, NULL);
    return n;
}

struct SdmGeoid {
    PJ_CONTEXT *context;
    PJ *pj; /* lon, lat in degrees, h -> h - N by the named grid or CRS and nothing else: no ballpark; NULL:
             * the program's own grid */
    GeoidGrid own;
    char source[64], who[200]; /* who: the raster, for the sentence; "" for EGM96 and EGM2008 */
};

static SdmStatus refuse(SdmContext *ctx, const char *who)
{
    return sdm_fail(
        ctx, SDM_ERR_UNSUPPORTED,
        "%s: PROJ cannot transform its vertical datum to the WGS 84 ellipsoid here, as a grid is missing "
        "(see projinfo) or does not reach so far; run gdalwarp -t_srs EPSG:4979 on it where PROJ has that",
        who);
}

/* PROJ's grid of that name; NULL: it does not find one. */
static PJ *open_grid(PJ_CONTEXT *context, const char *name)
{
    char text[256];
    snprintf(text, sizeof text,
             "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad "
             "+step +inv +proj=vgridshift +grids=%s +multiplier=1 "
             "+step +proj=unitconvert +xy_in=rad +xy_out=deg",
             name);
    PJ *const pj = proj_create(context, text);
    if (!pj)
        return NULL;
    const PJ_COORD probe = proj_trans(pj, PJ_FWD, proj_coord(10.0, 45.0, 0.0, 0.0));
    if (isfinite(probe.xyz.z) && probe.xyz.z != 0.0)
        return pj;
    proj_destroy(pj);
    return NULL;
}

static SdmStatus open_geoid(SdmContext *ctx, SdmGeoid **out)
{
    *out = NULL;
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "geoid"));
    (*out)->context = sdm_proj_context();
    return SDM_OK;
}

SdmStatus sdm_geoid_open(SdmContext *ctx, int vertical, SdmGeoid **out)
{
    const char *const *const grid = sdm_vertical_datum(vertical)->grid;
    PASS(open_geoid(ctx, out));
    for (int i = 0; i < 2 && !(*out)->pj; i++) {
        (*out)->pj = open_grid((*out)->context, grid[i]);
        snprintf((*out)->source, sizeof(*out)->source, "PROJ's grid %s", grid[i]);
    }
    if ((*out)->pj)
        return SDM_OK;
    sdm_geoid_close(out);
    return sdm_geoid_open_own(ctx, vertical, out);
}

SdmStatus sdm_geoid_open_own(SdmContext *ctx, int vertical, SdmGeoid **out)
{
    SdmStatus st = SDM_OK;
    TRY(open_geoid(ctx, out));
    snprintf((*out)->source, sizeof(*out)->source, "the program's grid of 15'");
    TRY(grid_open(ctx, vertical, &(*out)->own));
done:
    if (st)
        sdm_geoid_close(out);
    return st;
}

SdmStatus sdm_geoid_open_crs(SdmContext *ctx, const char *crs, const char *who, SdmGeoid **out)
{
    static const char *const options[] = {"ALLOW_BALLPARK=NO", NULL};
    SdmStatus st = SDM_OK;
    PJ *ellipsoid = NULL, *above = NULL, *pj = NULL;
    TRY(open_geoid(ctx, out));
    SdmGeoid *const g = *out;
    snprintf(g->source, sizeof g->source, "PROJ");
    snprintf(g->who, sizeof g->who, "%s", who);
    ellipsoid = proj_create(g->context, "EPSG:4979");
    above = proj_create(g->context, crs);
    pj = ellipsoid && above ? proj_create_crs_to_crs_from_pj(g->context, ellipsoid, above, NULL, options)
                            : NULL;
    g->pj = pj ? proj_normalize_for_visualization(g->context, pj) : NULL;
    if (!g->pj)
        st = refuse(ctx, who);
done:
    proj_destroy(pj);
    proj_destroy(above);
    proj_destroy(ellipsoid);
    if (st)
        sdm_geoid_close(out);
    return st;
}

const char *sdm_geoid_source(const SdmGeoid *g)
{
    return g->source;
}

SdmStatus sdm_geoid_undulation(SdmContext *ctx, SdmGeoid *g, size_t n, const double *lon_deg,
                               const double *lat_deg, double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        undulation_m[i] = NAN;
        if (!isfinite(lon_deg[i]) || !isfinite(lat_deg[i]))
            continue;
        const double lon = lon_deg[i] - 360.0 * floor((lon_deg[i] + 180.0) / 360.0);
        if (!g->pj) {
            undulation_m[i] = grid_at(&g->own, lon, fmin(fmax(lat_deg[i], -90.0), 90.0));
            continue;
        }
        const PJ_COORD at = proj_trans(g->pj, PJ_FWD, proj_coord(lon, lat_deg[i], 0.0, 0.0));
        if (!isfinite(at.xyz.z))
            return refuse(ctx, *g->who ? g->who : g->source);
        undulation_m[i] = -at.xyz.z;
    }
    return SDM_OK;
}

void sdm_geoid_close(SdmGeoid **g)
{
    if (!g || !*g)
        return;
    proj_destroy((*g)->pj);
    proj_context_destroy((*g)->context);
    sdm_free(&(*g)->own.value);
    sdm_free(g);
}

/* ---- over the cells of a grid ---- */

SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out)
{
    SdmGeoid *geoid = NULL;
    *out = (SdmUndulation){.grid = grid};
    if (vertical != SDM_ELLIPSOID)
        PASS(sdm_geoid_open(ctx, vertical, &geoid));
    return sdm_undulation_of(ctx, grid, geoid, out);
}

SdmStatus sdm_undulation_of(SdmContext *ctx, const SdmGrid *grid, SdmGeoid *geoid, SdmUndulation *out)
{
    *out = (SdmUndulation){.grid = grid, .dx = grid->spacing, .dy = grid->spacing, .geoid = geoid};
    if (!geoid)
        return SDM_OK;
    out->step = (int)fmin(fmax(exp2(floor(log2(1000.0 / sdm_grid_spacing_m(grid)))), 1.0), 16.0);
    return sdm_projector_open(ctx, grid->wkt, &out->projector);
}

void sdm_undulation_close(SdmUndulation *u)
{
    sdm_geoid_close(&u->geoid);
    sdm_projector_close(&u->projector);
}

SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = u->grid->x0 + x[i] * u->dx;
        y[i] = u->grid->y0 - y[i] * u->dy;
    }
    sdm_projector_inverse(u->projector, n, x, y);
    return sdm_geoid_undulation(ctx, u->geoid, n, x, y, undulation_m);
}

/* A cell (column, row) between the nodes; directly where a node lies outside the projection. */
static SdmStatus undulation_at(SdmContext *ctx, SdmUndulation *u, const SdmPlaceNodes *nodes,
                               const double *node_m, const int64_t cell[2], float *out)
{
    const int64_t step = u->step;
    const double *const above = node_m + (size_t)(cell[1] / step - nodes->j0) * nodes->nx +
                                (cell[0] / step - nodes->i0),
                        *const below = above + nodes->nx;
    const double tx = (double)(cell[0] % step) / (double)step, ty = (double)(cell[1] % step) / (double)step;
    const double a = above[0] + ty * (below[0] - above[0]), b = above[1] + ty * (below[1] - above[1]);
    double n = a + tx * (b - a), x = (double)cell[0] + 0.5, y = (double)cell[1] + 0.5;
    if (isnan(n))
        PASS(sdm_undulation_cells(ctx, u, 1, &x, &y, &n));
    *out = (float)n;
    return SDM_OK;
}

SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, const int64_t window[4],
                                float *undulation_m)
{
    SdmStatus st = SDM_OK;
    SdmPlaceNodes nodes = {.x = NULL};
    double *node_m = NULL;
    const int64_t w = window[2];
    TRY(sdm_place_nodes_open(ctx, window, u->step, &nodes));
    TRY(sdm_alloc(ctx, &node_m, nodes.nx * nodes.ny, sizeof *node_m, "undulation"));
    TRY(sdm_undulation_cells(ctx, u, nodes.nx * nodes.ny, nodes.x, nodes.y, node_m));
    for (int64_t r = 0; r < window[3]; r++)
        for (int64_t c = 0; c < w; c++)
            TRY(undulation_at(ctx, u, &nodes, node_m, (const int64_t[2]){window[0] + c, window[1] + r},
                              undulation_m + r * w + c));
done:
    SDM_FREE(&nodes.x, &nodes.y, &node_m);
    return st;
}
