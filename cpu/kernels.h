/* Contract between the chain and its kernels: pointers and sizes in, numbers out; no files, no allocation, no
 * globals. cpu/reference.c defines every kernel; the other copies give the same bits.  Internal; not
 * installed. */
#ifndef SDM_KERNELS_H
#define SDM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SDM_CAT_(a, b) sdm_##a##_##b
#define SDM_CAT(a, b) SDM_CAT_(a, b)
#define SDM_NAME(f) SDM_CAT(f, SDM_ISA) /* zncc -> sdm_zncc_avx2 */

#define SDM_PIXEL_NODATA INT16_MIN /* images are signed 12 bit, -2047..2047, or this */
#define SDM_SCORE_NONE (-2.0f)     /* no score: nodata in a window, or off the image */

/* A strip of cost rows, handed to a consumer a row at a time.
 * Score of left pixel (x, y) and right pixel (x + d, y), both windows window x window, larger is better, at
 * most 1 (zncc: to float's rounding).  Image rows lie at left + y * stride, for y in 0..height-1; rows
 * outside do not exist (no score there). */
typedef struct SdmCostJob {
    const int16_t *left, *right; /* height x width */
    ptrdiff_t stride;            /* pixels from row to row, of both */
    int width, height;
    int row_begin, row_end;      /* rows to give */
    int right_shift;             /* right rows are taken at y + right_shift (ray gap, search) */
    int window;                  /* odd, 3..21 */
    int dmin, dmax;              /* inclusive */
    float min_sigma;             /* windows with a smaller standard deviation have texture 0 (zncc, in q) */
    void *scratch;               /* cost_scratch(width, window, dmin, dmax) bytes, aligned to 64 */
} SdmCostJob;

/* One row of costs; valid during the call of the consumer. */
typedef struct SdmCostRow {
    int y, width, dmin, dmax;
    const float *score;          /* (dmax - dmin + 1) x pitch */
    ptrdiff_t pitch;
    const float *left_texture, *right_texture; /* width: > 0 usable, 0 without texture, < 0 nodata inside */
} SdmCostRow;
typedef void sdm_cost_consumer(void *user, const SdmCostRow *row);

typedef size_t sdm_cost_scratch_fn(int width, int window, int dmin, int dmax);
typedef void sdm_cost_strip_fn(const SdmCostJob *job, sdm_cost_consumer *consume, void *user);

/* Warp one row of a level: for pixel x of the row, position in the source = origin + pos(x), pixels from
 * centres. Cells of `cell` pixels share an origin; within cell c, with f = (x + phase0) * step - c (0..1
 * across the cell):
 *   p(f, t) = (a0 + f a1) + t ((b0 + f b1) + t (c0 + f c1)), t = surface[x] - height0;
 * 2-D position rounded to 1/256 px, 4 x 4 taps of cubic weights from an integer table. */
typedef struct SdmWarpCell {
    int32_t origin_col, origin_row;
    float col[6], row[6]; /* a0 a1 b0 b1 c0 c1, pixels of the source's level */
} SdmWarpCell;
typedef struct SdmWarpRow {
    const SdmWarpCell *cells;
    const int32_t *cell_begin;   /* cells + 1: first pixel of each cell */
    int cell_count;
    const float *fraction;       /* width: f of each pixel in its cell */
    const float *surface_m;      /* width; NULL = t is 0 */
    float height0_m;
    const int16_t *source;       /* pixel (source_col0, source_row0) first */
    ptrdiff_t source_stride;
    int32_t source_col0, source_row0, source_width, source_height;
    int width;
} SdmWarpRow;
typedef void sdm_warp_row_fn(const SdmWarpRow *in, int16_t *out);

/* Half the size: out(i, j) = weighted mean with (1 3 3 1)/8 in x and y of the 4 x 4 pixels around, so that
 * pixel i has its centre at 2i + 0.5.  Nodata taps make nodata when their weight is half or more; rounded
 * half up. src rows: y-1..y+2 of the source, each with pixels -1..2*width. */
typedef void sdm_half_row_fn(const int16_t *const src[4], int width, int16_t *out);

/* Pick the winner of a row: best score, sub-pixel, runner-up, left-right check. The sub-pixel residual is the
 * vertex of the parabola through the scores at d - 1, d, d + 1 of the left pixel plus those of the right
 * pixel it meets (the diagonal of the volume).  The texture inside a small window bends one view's curve to
 * one side, by tenths of a pixel, and the other view's as much to the other: their sum is even when the views
 * are the same, so that repeats settle on the true place.  Where the right pixel's curve is not whole: the
 * left's. */
typedef struct SdmPickRow {
    float *residual;   /* width: sub-pixel d, 0 if none */
    float *score;      /* width: best score, SDM_SCORE_NONE if none */
    float *runner_up;  /* width: best score at |d - best| >= 2, SDM_SCORE_NONE if none */
    float *right_best; /* width scratch: best residual of each right pixel, undefined where it has no score */
    float *mismatch; /* width: |d - d of the right pixel it meets|, each from its own curve, large if none */
    uint8_t *edge;     /* width: 1 where the winner is at an end of the range */
} SdmPickRow;
typedef void sdm_pick_row_fn(const SdmCostRow *row, const SdmPickRow *out);

/* Median of the valid ones (bit 0 of `valid`; of an even number the mean of the middle two) of 3 x 3 at the middle row's pixels;
 * pixels that are not valid or have fewer than 5 valid ones, and the first and last of the row, keep their value.  Rows may be the same one (edges). */
typedef void sdm_median_row_fn(const float *const row[3], const uint16_t *const valid[3], int width, float *out);

/* How many pixels of the (2 half + 1)^2 window differ from the middle one by at most tol; NaN never does.
 * row: 2 half + 1 pointers, NULL where the row does not exist; half <= 7. */
typedef void sdm_agree_row_fn(const float *const *row, int half, int width, float tol, uint8_t *count);

typedef struct SdmKernels {
    sdm_cost_scratch_fn *cost_scratch;
    sdm_cost_strip_fn *zncc, *census, *sad;
    sdm_warp_row_fn *warp_row;
    sdm_half_row_fn *half_row;
    sdm_pick_row_fn *pick_row;
    sdm_median_row_fn *median_row;
    sdm_agree_row_fn *agree_row;
} SdmKernels;

/* The definition of every kernel: naive, for comparison (level "reference"). */
extern const SdmKernels sdm_kernels_reference;

/* The kernels of the instruction set `level` ("auto": the best this machine has); NULL: not here. */
const SdmKernels *sdm_kernels_at(const char *level);
/* Name of the level in use by sdm_kernels_at(level). */
const char *sdm_kernels_name(const char *level);

/* Cubic weights (Keys, a = -0.5) for a phase of k / 256, scaled to sum 16384. */
extern const int16_t sdm_cubic_weights[256][4];

#endif
