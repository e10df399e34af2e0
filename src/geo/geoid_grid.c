/* The program's own grids of undulations -> values in between. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid_grid.h"

#include <cpl_conv.h>
#include <math.h>

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

SdmStatus sdm_geoid_grid_open(SdmContext *ctx, int vertical, SdmGeoidGrid *out)
{
    SdmStatus st = SDM_OK;
    const size_t size = 2 * (size_t)ROWS * COLS;
    size_t bytes, unpacked = 0;
    uint8_t *packed = NULL;
    const uint8_t *const stream = find_stream(vertical, &bytes);
    *out = (SdmGeoidGrid){.value = NULL};
    TRY(sdm_alloc_raw(ctx, &packed, size, 1, "geoid"));
    TRY(sdm_alloc_raw(ctx, &out->value, (size_t)WIDE * HIGH, sizeof *out->value, "geoid"));
    if (!CPLZLibInflate(stream, bytes, packed, size, &unpacked) || unpacked != size)
        TRY(sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the geoid cannot be unpacked"));
    sum_differences(packed, out->value);
    fill_edges(out->value);
    out->plane = (SdmBicubicPlane){out->value, WIDE, HIGH};
done:
    sdm_free(&packed);
    return st;
}

void sdm_geoid_grid_free(SdmGeoidGrid *g)
{
    sdm_free(&g->value);
}

double sdm_geoid_grid_at(const SdmGeoidGrid *g, double lon_deg, double lat_deg)
{
    const double turned_deg = lon_deg - 360.0 * floor(lon_deg / 360.0),
                 east_deg = turned_deg < 360.0 ? turned_deg : 0.0, /* rounded up */
        col = EDGE + east_deg * PER_DEGREE, row = EDGE + (90.0 - lat_deg) * PER_DEGREE;
    double n;
    sdm_bicubic_values(&g->plane, 1, &col, &row, &n);
    return n;
}
