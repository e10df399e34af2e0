/* The cells on which a DEM and its reference are compared, and what is done with them.  For src/compare, and
 * for src/stack, which co-registers DEMs with it. */
#ifndef SDM_COMPARE_CELLS_H
#define SDM_COMPARE_CELLS_H

#include "coreg/compare.h"

enum { /* bits of flags[]; class and slope are small numbers */
    SDM_CELL_CLASS = 3,      /* 0 none, 1 land, 2 water, 3 cloud */
    SDM_CELL_INSIDE = 4,     /* can be covered: reference valid, land, within the footprint */
    SDM_CELL_BOTH = 8,       /* inside, and the DEM has a height */
    SDM_CELL_SLOPE = 7 << 4, /* 0 unknown, 1..6: bin */
    SDM_CELL_SLOPE_SHIFT = 4
};

typedef struct SdmCells {
    int64_t cols, rows;
    double transform[6];   /* GDAL geotransform, pixel corners, north up */
    double dx_m, dy_m;     /* cell size, metres, both positive */
    float *dem_m, *ref_m;  /* rows x cols, NaN = none */
    float *work, *scratch; /* rows x cols, for whoever runs */
    float *spline;         /* (rows + 2 SDM_SPLINE_PAD) x (cols + 2 SDM_SPLINE_PAD) */
    uint8_t *flags;        /* rows x cols */
    int64_t *row_start;    /* rows + 1: number of SDM_CELL_BOTH cells before each row */
    int threads;
} SdmCells;

enum { SDM_SPLINE_PAD = 12 };

enum { SDM_CELL_BYTES = 21 }; /* that a cell takes: five floats and the flags */
/* Arrays for c->cols x c->rows; free after failure, too. */
SdmStatus sdm_cells_alloc(SdmContext *ctx, SdmCells *c);
void sdm_cells_free(SdmCells *c);

/* Gather values[i] of the cells with (flags & mask) == want, in order.  @return how many. */
int64_t sdm_cells_gather(const SdmCells *c, const float *values, unsigned mask, unsigned want, float *out);

/* Slope of the reference at every cell -> flags.  Central differences, one-sided beside a hole. */
void sdm_cells_slope(SdmCells *c);

/* Cubic B-spline through values (rows x cols, no NaN; continued by its edge) -> c->spline.  As
 * scipy.ndimage's spline_filter of order 3 on an array padded by SDM_SPLINE_PAD cells; Unser 1999, eq. 20-21.
 */
SdmStatus sdm_spline_fit(SdmContext *ctx, SdmCells *c, const float *values);
/* out[j][i] = spline(col i + dcol, row j + drow); positions beyond the padding take the edge's value. */
SdmStatus sdm_spline_shift(SdmContext *ctx, const SdmCells *c, double dcol, double drow, float *out);

/* Iterated Nuth & Kaab (2011): the shift dx (east), dy (north), dz in metres that lays the DEM on the
 * reference. Uses SDM_CELL_BOTH cells; on return c->work holds the errors that remain (DEM - shifted
 * reference - dz) in those cells, NaN elsewhere.  Overwrites scratch and spline. */
/* undetermined: horizontal directions, 0..2, of which the heights know nothing; no shift along them. */
SdmStatus sdm_cells_align(SdmContext *ctx, SdmCells *c, double shift_m[3], int *undetermined);

/* Picture of c->work: -20..20 m -> 1..255, NaN -> 0; PNG, written aside and renamed.  Overwrites scratch. */
SdmStatus sdm_cells_picture(SdmContext *ctx, SdmCells *c, const char *path);

#endif
