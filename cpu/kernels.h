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
    bool along_v; /* d goes along the columns: right pixel (x, y + d), -1..1 at most; right_texture is
                     the one of d = dmin */
    float min_sigma;             /* windows with a smaller standard deviation have texture 0 (zncc, in q) */
    void *scratch;               /* cost_scratch(width, window, dmin, dmax) bytes, aligned to 64 */
} SdmCostJob;

/* One row of costs; valid during the call of the consumer. */
typedef struct SdmCostRow {
    int y, width, dmin, dmax;
    const float *score;          /* (dmax - dmin + 1) x pitch */
    ptrdiff_t pitch;
    const float *left_texture, *right_texture; /* width: 1 / sqrt(sum of squares about the window's mean), 0
                                  without texture, < 0 nodata inside; right with census: 0 or -1 */
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
    float *runner_up; /* width: best score at |d - best| >= 2, SDM_SCORE_NONE if none; NULL = not asked for */
    float *right_best; /* width scratch: best residual of each right pixel, 0 where it has no score */
    float *mismatch;   /* width: |d - d of the right pixel it meets|, each from its own curve, large if none;
                          NULL = not asked for, and right_best is not written */
    uint8_t *edge;     /* width: 1 where the winner is at an end of the range */
} SdmPickRow;
typedef void sdm_pick_row_fn(const SdmCostRow *row, const SdmPickRow *out);

/* New heights of a row from its winners: h = prior(x + d) + d / du_dh where the match is good, else the prior
 * and the reason, the first that applies: texture < 0 or no score OUTSIDE, texture 0 TEXTURELESS, score below
 * min_score LOW_SCORE, mismatch above max_mismatch LEFT_RIGHT, at an end of the range or too near to the
 * runner-up AMBIGUOUS, and FOLD where 1 + du_dh * slope of the prior is below 0.1: hidden in one view. */
typedef struct SdmUpdateRow {
    int width;
    const float *residual, *score, *runner_up, *mismatch; /* of SdmPickRow; the last two NULL = not asked */
    const uint8_t *edge;
    const float *texture;  /* left, of SdmCostRow */
    const float *prior;    /* m */
    const float *du_dh;    /* px per m */
    float min_score, min_margin, max_mismatch;
    bool not_at_edge;      /* a winner at an end of the range is ambiguous */
    bool keep_valid;       /* pixels that are VALID on entry keep what they have */
    uint8_t min_quality; /* pixels that are VALID on entry with less quality than this take the prior's height
                      and keep the rest */
    float *h_m;            /* out, as the two below */
    uint16_t *flags;       /* SDM_QA_... */
    uint8_t *quality;      /* 250 x score */
} SdmUpdateRow;
typedef void sdm_update_row_fn(const SdmUpdateRow *u);

/* Median of the valid ones (bit 0 of `valid`; of an even number the mean of the middle two) of 3 x 3 at the
 * middle row's pixels; pixels that are not valid or have fewer than 5 valid ones, and the first and last of
 * the row, keep their value.  Rows may be the same one (edges). */
typedef void sdm_median_row_fn(const float *const row[3], const uint16_t *const valid[3], int width,
                               float *out);

/* Change of a row since the prior, as integers of 1/256 of `unit_m`, within +-16000; SDM_CHANGE_NONE where
 * bit 0 of `valid` is not set. */
#define SDM_CHANGE_NONE INT16_MIN
typedef void sdm_change_row_fn(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                               float unit_m, int16_t *out);

/* How many pixels of the (2 half + 1)^2 window have a change that differs from the middle one's by at most
 * 256 (a unit); SDM_CHANGE_NONE never does.  row: 2 half + 1 pointers, NULL where the row does not exist;
 * half <= 7. */
typedef void sdm_agree_row_fn(const int16_t *const *row, int half, int width, uint8_t *count);

/* Add (sign 1) or take away (-1) the changes since the prior of a row's valid pixels, rounded to 1/64 m and
 * kept within
 * +-15,000 m, from sums and counts. */
typedef void sdm_add_changes_fn(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                int sign, int32_t *sum, int32_t *count);

/* Ray gap of a row from its scores at v - 1, v, v + 1: vertex of the parabola, -2..2; NaN where a score is
 * missing or, along an edge that every v fits, a good match says nothing of it; 2 where there is neither peak
 * nor match. quality: 250 x score at v. */
typedef void sdm_ray_error_row_fn(const float *const score[3], int width, float *ray_error_v, uint8_t *quality);

/* Twice as fine: out[2 m] and out[2 m + 1] lie a quarter and three quarters of the way from pixel m to m + 1
 * of the two coarse rows, and share_low of the way from the upper to the lower one.  upper, lower: pairs + 1
 * floats. */
typedef void sdm_refine_row_fn(const float *upper, const float *lower, float share_low, int pairs,
                               float *out);

/* Points spread over the cells around them, each with the weight of its distance on both axes. */
typedef struct SdmSpreadPoint {
    int32_t x, y;     /* 1/256 cell from the corner of cell (0, 0) */
    int32_t value[8]; /* 1, height (1/256 m), height / 4 rounded down, score, gap, 1 if filled: or 0 without a
                         height; 1, image: or 0 without one */
} SdmSpreadPoint;
typedef struct SdmSpread {
    int cols, rows;       /* cells */
    int pitch;            /* cells from row to row */
    int32_t radius;       /* 1/256 cell: centres further off (on an axis) get nothing */
    const int32_t *table; /* weight by distance, radius + 1 of them */
    int64_t *cell;        /* rows x pitch x 8: sums of weight x value, of the third its square */
} SdmSpread;
/* Weight of both axes: their product / 1024, rounded down. */
typedef void sdm_spread_points_fn(const SdmSpread *s, const SdmSpreadPoint *p, int count);

/* (1 2 1)/4 in both axes at the middle row; at the ends the row goes on with its last value. */
typedef void sdm_smooth_row_fn(const float *const row[3], int width, float *out);

typedef struct SdmKernels {
    sdm_cost_scratch_fn *cost_scratch;
    sdm_cost_strip_fn *zncc, *census, *sad;
    sdm_warp_row_fn *warp_row;
    sdm_half_row_fn *half_row;
    sdm_pick_row_fn *pick_row;
    sdm_update_row_fn *update_row;
    sdm_median_row_fn *median_row;
    sdm_change_row_fn *change_row;
    sdm_agree_row_fn *agree_row;
    sdm_add_changes_fn *add_changes;
    sdm_ray_error_row_fn *ray_error_row;
    sdm_refine_row_fn *refine_row;
    sdm_spread_points_fn *spread_points;
    sdm_smooth_row_fn *smooth_row;
} SdmKernels;

/* The definition of every kernel: naive, for comparison (level "reference"). */
extern const SdmKernels sdm_kernels_reference;

/* The kernels of the instruction set `level` ("auto": the best this machine has); NULL: not here. */
const SdmKernels *sdm_kernels_at(const char *level);
/* Name of the level in use by sdm_kernels_at(level). */
const char *sdm_kernels_name(const char *level);

/* Weights of the taps at -1, 0, 1, 2 for a phase t = k / 256, cubic in t, scaled to sum 16384: ramps come out
 * exact, and among such four taps they err least (mean square) for texture whose power goes as (1 + (f /
 * 0.25)^2)^-2.5, f in cycles a pixel:  w(-1) = -t (1 - t) (1/6 + 2/5 (1 - t)), w(2) its mirror image. */
extern const int16_t sdm_cubic_weights[256][4];

#endif
