/* Voids are filled from their rims inwards. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/void_fill.h"

#include <math.h>
#include <string.h>

enum {
    FILL_ROUNDS = 12, /* cells that a hole is filled inwards: the spline's response falls by 0.27 a cell */
    LINEAR_ROUNDS =
        2 /* of these by extrapolation: cells at the rim may be resampled from half a cell inside */
};

/* A cell from its neighbours that have a height: the mean of those that face each other, else, for `linear`,
 * of what they and those behind them extrapolate to, else of all; NaN without any. */
static float surroundings(const float *h, int64_t cols, int64_t rows, int64_t at, bool linear)
{
    double sum[3] = {0.0, 0.0, 0.0};
    int n[3] = {0, 0, 0};
    for (int k = 0; k < 9; k++) {
        const int64_t dx = k % 3 - 1, dy = k / 3 - 1, x = at % cols + dx, y = at / cols + dy;
        if (x < 0 || y < 0 || x >= cols || y >= rows || isnan(h[y * cols + x]))
            continue;
        const double near = (double)h[y * cols + x];
        const int64_t fx = x - 2 * dx, fy = y - 2 * dy, bx = x + dx, by = y + dy;
        sum[0] += near;
        n[0]++;
        if (fx >= 0 && fy >= 0 && fx < cols && fy < rows && !isnan(h[fy * cols + fx])) {
            sum[2] += near;
            n[2]++;
        }
        if (bx < 0 || by < 0 || bx >= cols || by >= rows || isnan(h[by * cols + bx]))
            continue;
        sum[1] += 2.0 * near - (double)h[by * cols + bx];
        n[1]++;
    }
    const int kind = n[2] > 0 ? 2 : linear && n[1] > 0 ? 1 : 0;
    return n[0] ? (float)(sum[kind] / n[kind]) : NAN;
}

static int64_t count_voids(const float *h, int64_t n)
{
    int64_t voids = 0;
    for (int64_t i = 0; i < n; i++)
        voids += isnan(h[i]) ? 1 : 0;
    return voids;
}

/* Cells without a height beside one, in order. */
static int64_t find_rim(const float *h, int64_t cols, int64_t rows, uint32_t *out, int64_t room)
{
    int64_t n = 0;
    for (int64_t at = 0; at < cols * rows; at++)
        if (isnan(h[at]) && !isnan(surroundings(h, cols, rows, at, false))) {
            if (n < room)
                out[n] = (uint32_t)at;
            n++;
        }
    return n;
}

/* Cells without a height that are filled next. */
typedef struct Rim {
    uint32_t *cell;
    int64_t count, room;
} Rim;

/* Cells without a height beside those of the rim -> out, each once: mark[] of it becomes 0. */
static void next_rim(const float *h, int64_t cols, int64_t rows, const Rim *rim, float *mark, Rim *out)
{
    out->count = 0;
    for (int64_t k = 0; k < rim->count; k++) {
        const int64_t row = rim->cell[k] / cols, col = rim->cell[k] % cols;
        for (int64_t y = row - 1; y <= row + 1; y++)
            for (int64_t x = col - 1; x <= col + 1; x++) {
                const int64_t at = y * cols + x;
                if (y < 0 || x < 0 || y >= rows || x >= cols || !isnan(h[at]) || !isnan(mark[at]) ||
                    out->count == out->room)
                    continue;
                mark[at] = 0.0f;
                out->cell[out->count++] = (uint32_t)at;
            }
    }
}

SdmStatus sdm_fill_voids(SdmContext *ctx, float *h, int64_t cols, int64_t rows, float *mark)
{
    SdmStatus st = SDM_OK;
    const int64_t found = find_rim(h, cols, rows, NULL, 0), voids = count_voids(h, cols * rows);
    const int64_t room = (12 * found < voids ? 12 * found : voids) + 1; /* about a single cell it grows so */
    Rim rim = {.count = found, .room = room}, next = {.room = room};
    float *value = NULL;
    TRY(sdm_alloc(ctx, &rim.cell, (size_t)room, sizeof *rim.cell, "voids of a DEM"));
    TRY(sdm_alloc(ctx, &next.cell, (size_t)room, sizeof *next.cell, "voids of a DEM"));
    TRY(sdm_alloc(ctx, &value, (size_t)room, sizeof *value, "voids of a DEM"));
    memcpy(mark, h, (size_t)(cols * rows) * sizeof *mark);
    find_rim(h, cols, rows, rim.cell, room);
    for (int64_t k = 0; k < rim.count; k++)
        mark[rim.cell[k]] = 0.0f;
    for (int round = 0; round < FILL_ROUNDS && rim.count > 0; round++) {
        for (int64_t k = 0; k < rim.count; k++)
            value[k] = surroundings(h, cols, rows, rim.cell[k], round < LINEAR_ROUNDS);
        for (int64_t k = 0; k < rim.count; k++)
            h[rim.cell[k]] = value[k];
        next_rim(h, cols, rows, &rim, mark, &next);
        const Rim last = rim;
        rim = next;
        next = last;
    }
    for (int64_t i = 0; i < cols * rows; i++)
        h[i] = isnan(h[i]) ? 0.0f : h[i];
done:
    sdm_free(&value);
    sdm_free(&next.cell);
    sdm_free(&rim.cell);
    return st;
}
