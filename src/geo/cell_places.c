/* Places at nodes -> places of the cells between them, bilinear. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/cell_places.h"
#include "core/vector_loops.h"

SdmStatus sdm_place_nodes_open(SdmContext *ctx, const int64_t window[4], int step, SdmPlaceNodes *n)
{
    *n = (SdmPlaceNodes){.step = step, .i0 = window[0] / step, .j0 = window[1] / step};
    n->nx = (size_t)((window[0] + window[2] - 1) / step - n->i0 + 2);
    n->ny = (size_t)((window[1] + window[3] - 1) / step - n->j0 + 2);
    PASS(sdm_alloc(ctx, &n->x, n->nx * n->ny, sizeof *n->x, "places of cells"));
    PASS(sdm_alloc(ctx, &n->y, n->nx * n->ny, sizeof *n->y, "places of cells"));
    for (size_t i = 0; i < n->nx * n->ny; i++) {
        n->x[i] = (double)((n->i0 + (int64_t)(i % n->nx)) * step) + 0.5;
        n->y[i] = (double)((n->j0 + (int64_t)(i / n->nx)) * step) + 0.5;
    }
    return SDM_OK;
}

/* Along one axis.  place: of the node at or before the first cell, on the row of nodes above the row. */
SDM_VECTOR_LOOPS static void interpolate(const double *place, size_t nx, int step, int64_t in_first,
                                         int64_t n, double fy, double *restrict out)
{
    const double share = 1.0 / step; /* exact */
    for (int64_t done = 0; done < n; place++) {
        const int in_cell = done ? 0 : (int)in_first, room = step - in_cell,
                  m = n - done < room ? (int)(n - done) : room;
        const double p = place[0], q = place[nx], more_p = place[1] - p, more_q = place[nx + 1] - q;
        double *restrict const to = out + done;
        for (int i = 0; i < m; i++) {
            const double fx = (in_cell + i) * share, a = p + fx * more_p, b = q + fx * more_q;
            to[i] = a + fy * (b - a);
        }
        done += m;
    }
}

void sdm_cell_places(const SdmPlaceNodes *nodes, int64_t first, int64_t row, int64_t n, double *x, double *y)
{
    const int step = nodes->step;
    const size_t at = (size_t)(row / step - nodes->j0) * nodes->nx + (size_t)(first / step - nodes->i0);
    const double fy = (double)(row % step) / step;
    interpolate(nodes->x + at, nodes->nx, step, first % step, n, fy, x);
    interpolate(nodes->y + at, nodes->nx, step, first % step, n, fy, y);
}
