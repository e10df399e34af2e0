/* The kernels of rectified matching: rows of a strip, a chunk of disparities at a time -> the best
 * disparity of each pixel.  Disparities lie along the lanes of vectors.  cpu/pair_reference.c is the
 * definition of the result.
 *
 * Lane j of a chunk of `lanes` disparities stands for d = d_low + lanes - 1 - j, so that the right columns
 * x - d of neighbouring lanes are neighbours in memory.  A vector of 16 bits holds the even lanes or the
 * odd ones: to move by a lane, as right pixels do from pixel to pixel, the odd ones become the even ones
 * unchanged.  Costs are 16 bit, smaller is better, SDM_PAIR_NONE = none. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_PAIR_KERNELS_H
#define SDM_PAIR_KERNELS_H

#include "bp.h"

typedef enum SdmPairCost { SDM_PAIR_SAD, SDM_PAIR_ZNCC, SDM_PAIR_CENSUS, SDM_PAIR_AD_CENSUS } SdmPairCost;
enum { SDM_PAIR_LEFT, SDM_PAIR_RIGHT };

/* Samples are int16: of 8-bit images 0..255 (`eight_bit` true), of others signed 12 bit, -2047..2047;
 * SDM_PIXEL_NODATA where there is none. */
typedef struct SdmPairImage {
    int width, height;
    ptrdiff_t stride;    /* samples from row to row */
    const int16_t *data; /* borrowed; NULL: `bytes` holds them */
    bool eight_bit;
    const uint8_t *bytes; /* 8-bit samples of an image that has no SDM_PIXEL_NODATA, borrowed; or NULL */
} SdmPairImage;

/* The definition of rectified matching by the best of each pixel: see SdmPairSettings of src/rectified/pair.h
 * for the fields.  cost: not SDM_PAIR_AD_CENSUS. */
typedef struct SdmPairReference {
    const SdmPairImage *image[2];
    SdmPairCost cost;
    int window, dmin, dmax, census_width, census_height;
    float lr_threshold, uniqueness, min_sigma;
    bool subpixel;
} SdmPairReference;
/* Bytes of scratch for sdm_pair_reference_row(): the volume of one row. */
size_t sdm_pair_reference_scratch(const SdmPairReference *r);
/* Row y of the disparities: `width` floats, px, NaN where there is no match.  scratch: aligned to 64. */
void sdm_pair_reference_row(const SdmPairReference *r, int y, void *scratch, float *disparity);

enum { SDM_PAIR_NONE = 0xFFFF, SDM_PAIR_LANES_MAX = 64, SDM_PAIR_ZNCC_ONE = 32000 };

/* Winners of a row of left pixels: SDM_PAIR_STRIP entries of each field, one after the other. */
typedef enum SdmPairField {
    SDM_PAIR_COST,   /* of the best d, of equal ones the smallest */
    SDM_PAIR_D,      /* best d, counted from the smallest d of all chunks */
    SDM_PAIR_AROUND, /* costs at d + 1 and d - 1, in pairs; undefined where the chunk ends */
    SDM_PAIR_AROUND_2,
    SDM_PAIR_FIRST, /* costs at the smallest and the largest d of the chunk; only with `seams` */
    SDM_PAIR_LAST,
    SDM_PAIR_SECOND, /* least cost more than 1 px away; only with `unique` */
    SDM_PAIR_FIELDS
} SdmPairField;
enum { SDM_PAIR_STRIP = 256 }; /* entries of a field: pixels and two more */

/* A row of a strip: `pixels` left pixels, each the sum of `window` columns; pixel i has the columns i..i +
 * window - 1. Column k, lane j stand for left column k and right column k + j of the arrays below. */
typedef struct SdmPairRow {
    int pixels, window;
    int columns; /* pixels + window - 1; all are updated, even if no pixel is asked for */
    bool give;   /* pixels are asked for */
    void *sums;  /* columns x lanes: column sums of the rows above, uint16 or int32; updated */
    const uint8_t *left_bytes,
        *right_bytes;                  /* entering row: SAD of 8 bits; census: words, in planes of bytes */
    ptrdiff_t left_plane, right_plane; /* bytes from plane to plane */
    int planes;
    const uint8_t *left_leaving, *right_leaving; /* SAD of 8 bits: leaving row */
    uint8_t *distances; /* census: columns x lanes of the leaving row, overwritten with the entering one */
    const int16_t *left_new, *left_old, *right_new,
        *right_old; /* SAD of 32 bits: rows that enter and leave */
    int shift;      /* SAD: halvings of the 32-bit sum */
    const int32_t *left_pairs,
        *right_pairs;    /* ZNCC: entering sample in the low half, leaving one in the high half */
    ptrdiff_t pairs_odd; /* right columns of odd k + j stand this far behind those of even ones */
    const int32_t *left_terms[2], *right_terms[2]; /* ZNCC: products of pairs to add to the window's sum */
    const float *left_rest, *right_rest;           /* ZNCC: their product is taken from it; NULL = none */
    const float *left_texture, *right_texture;
    ptrdiff_t right_at, right_odd; /* the right arrays of the last three begin right_at before pixel 0, lane
                                    * 0; entries of odd place stand right_odd behind those of even place */
    const uint8_t *left_bad, *right_bad; /* 1 where there is no cost, else 0; NULL = none, also of lanes */
    const uint16_t *lane_bad, *lane_d;   /* lanes, even ones first: NONE or 0; d, counted as in the winners */
    bool unique, seams;                  /* give SDM_PAIR_SECOND; give SDM_PAIR_FIRST and _LAST */
    uint32_t *right_best; /* of right pixel j (of pixel 0, lane j), so far: cost, and d in the high half;
                           * updated; pixels + lanes */
    uint16_t *out;        /* winners; two entries before each field are overwritten */
} SdmPairRow;
typedef void sdm_pair_row_fn(const SdmPairRow *row);

/* Merge the winners of two chunks: those of `into` have smaller d than those of `from`, whose smallest d
 * is `seam`. */
typedef void sdm_pair_merge_fn(uint16_t *into, const uint16_t *from, int pixels, int seam, bool unique);

typedef struct SdmPairFinish {
    int pixels;
    int depth; /* disparities of all chunks */
    float dmin;
    float limit; /* 1 + uniqueness; 0 = not asked */
    bool subpixel, parabola;
} SdmPairFinish;
/* Winners into disparities, px, NaN = none. */
typedef void sdm_pair_finish_fn(const SdmPairFinish *set, const uint16_t *winners, float *disparity);

/* Set disparities to NaN where the best d of the right pixel differs by more than `most`.  left_d: winners,
 * counted from the smallest d; right_best: as in SdmPairRow, of the right pixel that pixel 0 meets at the
 * smallest d. */
typedef void sdm_pair_agree_fn(const uint16_t *left_d, const uint32_t *right_best, int count, uint32_t most,
                               float *disparity);

/* Sums of the columns of a window over its rows, for its statistics. */
typedef struct SdmPairColumns {
    int32_t *sum, *squares, *holes; /* width + window - 1 each; holes: NULL where no sample is nodata */
} SdmPairColumns;
/* The row `add` enters and `drop` (NULL = none) leaves; count samples each, nodata counted as 0. */
typedef void sdm_pair_columns_fn(const SdmPairColumns *columns, const int16_t *add, const int16_t *drop,
                                 int count, int centre);
/* Texture of each window of n samples, and where it has no cost. */
typedef struct SdmPairWindowRow {
    int pixels, window;
    int most;       /* samples are -most..most about the centre */
    float flat;     /* (n sigma)^2 of windows without texture, at most; < 0 = texture does not matter */
    int32_t *sum;   /* pixels; NULL = not asked */
    float *texture; /* 1 / (n sigma); NULL = not asked */
    uint8_t *bad;   /* 1: with a hole or without texture; else 0 */
} SdmPairWindowRow;
typedef void sdm_pair_window_fn(const SdmPairColumns *columns, const SdmPairWindowRow *out);

/* Census words of a row, as planes of bytes.  rows: word_height rows whose sample 0 is `word_width / 2` left
 * of pixel 0. */
typedef void sdm_pair_words_fn(const int16_t *const *rows, int width, int word_width, int word_height,
                               uint8_t *out, ptrdiff_t plane);

/* Samples 0..255 as bytes; nodata becomes any byte. */
typedef void sdm_pair_bytes_fn(const int16_t *samples, int count, uint8_t *out);

typedef struct SdmPairKernels {
    int lanes;
    sdm_pair_row_fn *sad8, *sad32, *zncc, *census;
    sdm_pair_merge_fn *merge;
    sdm_pair_finish_fn *finish;
    sdm_pair_agree_fn *agree;
    sdm_pair_columns_fn *columns;
    sdm_pair_window_fn *window;
    sdm_pair_words_fn *words;
    sdm_pair_bytes_fn *bytes;
    sdm_bp_tile_fn *bp_tile;
    sdm_bp_scratch_fn *bp_scratch;
} SdmPairKernels;

#endif
