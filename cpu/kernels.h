/* The kernels of the matching chain: pointers and sizes in, numbers out; no files, no allocation, no globals.
 * cpu/reference*.c define every kernel; the copies for instruction sets give the same bits. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_KERNELS_H
#define SDM_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SDM_CAT_(a, b) sdm_##a##_##b
#define SDM_CAT(a, b) SDM_CAT_(a, b)
#define SDM_NAME(f) SDM_CAT(f, SDM_ISA) /* zncc -> sdm_zncc_avx2 */

#define SDM_PIXEL_NODATA INT16_MIN /* images are signed 12 bit, -2047..2047, or this */

/* Height of a row of a surface at x + d, linear between pixels.  x and d are not added as floats: the same
 * pixel would be rounded to another height in another window. */
static inline float sdm_height_at(const float *row, int w, int x, float d)
{
    const float whole = floorf(d);
    const int i = x + (int)whole;
    if (i < 0 || i >= w - 1)
        return row[i < 0 ? 0 : w - 1];
    return row[i] + (d - whole) * (row[i + 1] - row[i]);
}
#define SDM_SCORE_NONE (-2.0f) /* no score: nodata in a window, or off the image */

/* A strip of rows of scores, which a consumer gets a row at a time.  The score of left pixel (x, y) and
 * right pixel (x + d, y) compares their windows; larger is better, at most 1 (zncc: up to the rounding of
 * floats).  Image rows lie at left + y * stride for y in 0..height - 1; windows that reach beyond have no
 * score. */
typedef struct SdmCostJob {
    const int16_t *left, *right; /* height x width */
    ptrdiff_t stride;            /* pixels from row to row, of both */
    int width, height;
    int row_begin, row_end; /* rows to give */
    int right_shift;        /* right rows are taken at y + right_shift (search for the offset) */
    int window;             /* odd, 3..21 */
    int dmin, dmax;         /* inclusive */
    bool along_v;           /* d goes down the columns: right pixel (x, y + d), -1..1 at most */
    float min_sigma;        /* zncc: windows with a smaller standard deviation have texture 0; sample
                                  * units */
    void *scratch;          /* cost_scratch(width, window, dmin, dmax) bytes, aligned to 64 */
} SdmCostJob;

/* One row of costs; valid during the call of the consumer. */
typedef struct SdmCostRow {
    int y, width, dmin, dmax;
    const float *score; /* (dmax - dmin + 1) x pitch */
    ptrdiff_t pitch;
    const float *left_texture; /* width: 1 / sqrt(sum of squares about the window's mean); 0: no texture; < 0:
                                * nodata inside */
} SdmCostRow;
typedef void sdm_cost_consumer(void *user, const SdmCostRow *row);

/* A census word: neighbours of a pixel, at most so many columns and rows away. */
enum { SDM_CENSUS_HALF_X = 4, SDM_CENSUS_HALF_Y = 3, SDM_CENSUS_BITS = 31 };

/* Does a word look at the neighbour i columns and j rows away?  It looks at one of each two opposite ones: at
 * the upper one in even columns (in the pixel's own row the left one), at the lower one in odd columns, so
 * that about as many lie on each side of the pixel. */
static inline bool sdm_in_census_word(int i, int j)
{
    const bool upper = j < 0 || (j == 0 && i < 0);
    return upper == (i % 2 == 0);
}

typedef size_t sdm_cost_scratch_fn(int width, int window, int dmin, int dmax);
typedef void sdm_cost_strip_fn(const SdmCostJob *job, sdm_cost_consumer *consume, void *user);

/* Warp one row of a level: pixel x takes the source at origin + p, in 1/256 pixels between centres.  The
 * pixels of a cell of the lattice share an origin and six coefficients for each coordinate; with the fraction
 * f of the pixel across the cell and t = surface_m[x] - height0_m,
 *   p(f, t) = (a0 + f a1) + t ((b0 + f b1) + t (c0 + f c1)).
 * Positions are rounded to whole numbers; 4 x 4 taps are weighted by the integers of sdm_cubic_weights. */
typedef struct SdmWarpCell {
    int32_t origin_col, origin_row;
    float begin[8], change[8]; /* a0 b0 c0 0 and a1 b1 c1 0: of the column, then of the row; 1/256 px of the
                               * source's level */
} SdmWarpCell;
typedef struct SdmWarpRow {
    const SdmWarpCell *cells;
    const int32_t *cell_begin; /* cells + 1: first pixel of each cell */
    int cell_count;
    const float *fraction;  /* width: f of each pixel */
    const float *surface_m; /* width; NULL: t is 0 */
    float height0_m;
    const int16_t *source; /* pixel (source_col0, source_row0) first */
    ptrdiff_t source_stride;
    int32_t source_col0, source_row0, source_width, source_height;
    int width;
    int64_t ahead;  /* pixels of the source from those that a pixel takes to those that one of a later row
                     * will */
    int fetch_each; /* they are fetched for each so many pixels; 0: for none */
} SdmWarpRow;
typedef void sdm_warp_row_fn(const SdmWarpRow *in, int16_t *out);

/* A row of an image of half the size: the mean of 4 x 4 pixels weighted by (1 3 3 1)/8 in x and y, rounded
 * half up. Pixel i has its centre at 2 i + 0.5 of the source.  Where nodata has half of the weight or
 * more, nodata. src: four rows of the source, each with pixels -1..2 width. */
typedef void sdm_half_row_fn(const int16_t *const src[4], int width, int16_t *out);

/* Pick the best residual of each pixel of a row: sub-pixel position, runner-up, left-right check.  The
 * sub-pixel residual is the vertex of the parabola through three sums: the scores of the left pixel at d -
 * 1, d, d + 1 plus those of the right pixel it meets (on the diagonal of the volume).  Texture inside a
 * small window bends the curve of one view to one side by tenths of a pixel, and that of the other view as
 * much to the other side, so that the sum is symmetric for equal views and repeats settle on the true
 * place.  Where the right pixel lacks one of the three scores, the left ones alone are taken. */
typedef struct SdmPickRow {
    float *residual;   /* width: sub-pixel d; 0 if there is no score */
    float *score;      /* width: best score, SDM_SCORE_NONE if there is none */
    float *runner_up;  /* width: best score at |d - best| >= 2, SDM_SCORE_NONE if there is none; NULL: not
                        * asked */
    float *right_best; /* width, scratch: best residual of each right pixel, 0 where it has no score */
    float *mismatch;   /* width: |residual - residual of the right pixel it meets|, each from its own scores;
                        * large if there is none; NULL: not asked, and right_best is not written */
    uint8_t *edge;     /* width: 1 where the best d is an end of the range */
} SdmPickRow;
typedef void sdm_pick_row_fn(const SdmCostRow *row, const SdmPickRow *out);

/* New heights of a row: h = prior(x + d) + d / du_dh where the match is accepted, else the prior height
 * and the first reason that applies: OUTSIDE (texture < 0 or no score), TEXTURELESS (texture 0), LOW_SCORE
 * (below min_score), LEFT_RIGHT (mismatch above max_mismatch), AMBIGUOUS (at an end of the range, or too
 * near to the runner-up), FOLD (1 + du_dh x slope of the prior is below 0.1: hidden in one view). */
typedef struct SdmUpdateRow {
    int width;
    const float *residual, *score, *runner_up, *mismatch; /* of SdmPickRow; the last two NULL: not checked */
    const uint8_t *edge;
    const float *texture; /* left, of SdmCostRow */
    const float *prior;   /* m */
    const float *du_dh;   /* px per m */
    float min_score, min_margin, max_mismatch;
    bool not_at_edge;    /* a best d at an end of the range is ambiguous */
    bool keep_valid;     /* pixels that are VALID on entry keep height, flags and quality */
    uint8_t min_quality; /* pixels that are VALID on entry with less quality than this take the prior height
                              and keep flags and quality */
    float *h_m;          /* out, as the two below */
    uint16_t *flags;     /* SDM_QA_... */
    uint8_t *quality;    /* 250 x score */
} SdmUpdateRow;
typedef void sdm_update_row_fn(const SdmUpdateRow *u);

/* Median of the valid values (bit 0 of `valid`) of 3 x 3 around each pixel of the middle row; of an even
 * number the mean of the middle two.  Pixels that are not valid or have fewer than 5 valid values around,
 * and the first and last one of the row, keep their value.  Rows may be the same one (at the edges). */
typedef void sdm_median_row_fn(const float *const row[3], const uint16_t *const valid[3], int width,
                               float *out);

/* Height change of a row since the prior, in units of unit_m / 256, within +-16000; SDM_CHANGE_NONE where
 * bit 0 of `valid` is not set. */
#define SDM_CHANGE_NONE INT16_MIN
typedef void sdm_change_row_fn(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                               float unit_m, int16_t *out);

/* Count the pixels of the (2 half + 1)^2 window whose change differs from that of the middle one by at
 * most 256; SDM_CHANGE_NONE counts never.  row: 2 half + 1 pointers, NULL where the row does not exist;
 * half <= 7. */
typedef void sdm_agree_row_fn(const int16_t *const *row, int half, int width, uint8_t *count);

/* Add (sign 1) or subtract (-1) the height changes since the prior of a row's valid pixels to sums and
 * counts: rounded to 1/64 m, within +-15,000 m. */
typedef void sdm_add_changes_fn(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                int sign, int32_t *sum, int32_t *count);

/* Ray intersection error of a row, pixels of v: the vertex of the parabola through the scores at v - 1, v,
 * v + 1, within -2..2.  NaN where a score is missing, or where a good match has no peak, as along an edge
 * that fits at every v; 2 where there is neither peak nor good match.  quality: 250 x score at v. */
typedef void sdm_ray_error_row_fn(const float *const score[3], int width, float *ray_error_v,
                                  uint8_t *quality);

/* Upsample two coarse rows by two: out[2 m] and out[2 m + 1] lie a quarter and three quarters of the way
 * from pixel m to m + 1, and share_low of the way from the upper row to the lower one.  upper, lower:
 * pairs + 1 floats. */
typedef void sdm_refine_row_fn(const float *upper, const float *lower, float share_low, int pairs,
                               float *out);

/* Points spread over the cells around them, weighted by the distance on both axes. */
typedef struct SdmSpreadPoint {
    int32_t x, y;     /* 1/256 cell from the corner of cell (0, 0) */
    int32_t value[8]; /* 1, height (1/256 m), the same from the middle height, score, ray intersection error
                       * (1/1024 px), 1 if filled: all 0 without a height; then 1, image value: both 0 without
                       * an image value */
} SdmSpreadPoint;
typedef struct SdmSpread {
    int cols, rows;        /* cells */
    int pitch;             /* cells from row to row */
    int32_t radius;        /* 1/256 cell: cells whose centre lies further off on an axis get nothing */
    const int32_t *table;  /* radius + 513 weights by distance, at least 1280, 0..4096; 0 beyond the radius */
    const uint64_t *three; /* the same, by sdm_spread_three() */
    int64_t *cell;         /* rows x pitch x 8: sums of weight x value, for the third value of its square /
                           * 256, rounded */
} SdmSpread;
/* Eight times the weights of three cells in a row, 16 bits each, the first one's lowest: by (position -
 * radius + 127) & 255, where the first cell is (position - radius + 127) >> 8. */
void sdm_spread_three(const int32_t *table, int32_t radius, uint64_t three[256]);
/* The weight of a cell is the product of the weights of both axes / 1024, rounded down. */
typedef void sdm_spread_points_fn(const SdmSpread *s, const SdmSpreadPoint *p, int count);

/* Pixels of a row of the surface that lie in one cell of the lattice. */
typedef struct SdmGroundRow {
    const float *h_m, *ray_error_px;
    const uint16_t *flags;
    const uint8_t *score;
    const int16_t *left;
    float a[2][4], b[2], c[2]; /* ground of the cell, in cells of the grid: corners (00 10 01 11), per metre,
                                * per metre^2 */
    float inv, height0_m;      /* 1 / pixels a side of the cell; height of the corners */
    int u, v;                  /* of the first pixel, from the cell's first corner */
    int32_t corner[2];         /* added to positions, 1/256 cell */
    int32_t middle;            /* height, 1/256 m */
    uint16_t valid, filled;    /* bits of `flags`: has a height; its height is filled */
} SdmGroundRow;
/* Their points.  An unknown ray intersection error counts as 0; all numbers are rounded half up. */
typedef void sdm_ground_points_fn(const SdmGroundRow *row, int count, SdmSpreadPoint *out);

/* Smooth the middle row by (1 2 1)/4 in both axes; beyond its ends a row continues with its last value. */
typedef void sdm_smooth_row_fn(const float *const row[3], int width, float *out);

/* ---- Wiener filter of the surface: src/matching/wiener.c ---- */

/* Blur the middle one of five rows by (1 4 6 4 1)/16 in both axes; taps lie `step` columns apart, beyond the
 * ends of a row it continues with its last value. */
typedef void sdm_blur_row_fn(const float *const row[5], int width, int step, float *out);

/* Variance of a match over 5 x 5 pixels that the noise of the views causes, 1/2^20 px^2, at most
 * SDM_NOISE_MOST: ratio[score] V / (3 G), V the sum of squares of the left view about its mean, G the sum of
 * squares of its differences over two columns.  0 where bit 0 of `valid` is not set, and where the window or
 * a column beside it has nodata or leaves the row.  left: the rows y - 2 .. y + 2. */
#define SDM_NOISE_MOST (1 << 20)
typedef struct SdmNoiseRow {
    const int16_t *left[5];
    const uint16_t *valid;
    const uint8_t *score;
    const float *ratio; /* 256: (1 - rho) / rho by score */
    int width;
} SdmNoiseRow;
typedef void sdm_noise_row_fn(const SdmNoiseRow *in, int32_t *out);

/* Squares of the differences a - b of a row in units of 1 / scale metres, of whole numbers within +-4000; 0
 * where bit 0 of `valid` is not set. */
typedef void sdm_square_row_fn(const float *a, const float *b, const uint16_t *valid, int width, float scale,
                               int32_t *out);

/* out = low + g1 (middle - low) + g0 (high - middle), g0 and g1 = gain times 1 - share noise / energy, or 0
 * where that is negative. */
typedef struct SdmWienerRow {
    const float *high, *middle, *low; /* the surface, blurred more and more, m */
    const int32_t *noise, *energy[2]; /* sums over the same window: of variances, and of the squares of
                                          * both differences */
    float share, gain[2];
    int width;
} SdmWienerRow;
typedef void sdm_wiener_row_fn(const SdmWienerRow *in, float *out);

typedef struct SdmKernels {
    sdm_cost_scratch_fn *cost_scratch;
    sdm_cost_strip_fn *zncc, *census;
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
    sdm_ground_points_fn *ground_points;
    sdm_spread_points_fn *spread_points;
    sdm_smooth_row_fn *smooth_row;
    sdm_blur_row_fn *blur_row;
    sdm_noise_row_fn *noise_row;
    sdm_square_row_fn *square_row;
    sdm_wiener_row_fn *wiener_row;
} SdmKernels;

/* The definition of every kernel: plain, slow, for comparison (level "reference"). */
extern const SdmKernels sdm_kernels_reference;

/* The kernels of an instruction set ("auto": the best one of this processor); NULL: not on this processor.
 * See instruction_set.h for all of its tables. */
const SdmKernels *sdm_kernels_at(const char *level);
/* Name of that instruction set, "none" where there is none. */
const char *sdm_kernels_name(const char *level);

/* Weights of the taps at -1, 0, 1, 2 for a phase t = k / 256, with sum 16384.  They are cubic in t and
 * reproduce ramps; among such weights they have the least mean square error for texture with the power
 * spectrum (1 + (f / 0.25)^2)^-2.5, f in cycles per pixel:
 *   w(-1) = -t (1 - t) (1/6 + 2/5 (1 - t)), w(2) its mirror image. */
extern const int16_t sdm_cubic_weights[256][4];

#endif
