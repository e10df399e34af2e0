/* What the files of rectified matching share: the plan of a match, and the scratch of a thread for a band of
 * rows. */
#ifndef SDM_PAIR_PARTS_H
#define SDM_PAIR_PARTS_H

#include "core/core.h"
#include "rectified/pair.h"
#include "pair_kernels.h"

enum { SDM_PAIR_DEPTH_MAX = 60000 }; /* disparities; their number goes with 16 bits */

enum { SDM_LEFT, SDM_RIGHT };

/* Disparities that a kernel takes at once: d_low .. d_low + kernels->lanes - 1, of which `count` are asked.
 */
typedef struct SdmPairChunk {
    const SdmPairKernels *kernels;
    int d_low, d_top, count;
} SdmPairChunk;

typedef struct SdmPairPlan {
    const SdmPairImage *image[2];
    const SdmPairSettings *set;
    float *disparity;
    int width, height, window, samples; /* samples of a window */
    int before, after;                  /* reach of the window: columns and rows -before..after */
    const SdmPairKernels *widest;
    int chunk_count;
    int band_rows, strip_pixels;
    bool wide_sums; /* 32 bits */
    bool long_zncc; /* covariances do not fit 32 bits */
    int shift;      /* halvings of SAD sums */
    int planes;     /* bytes of a sample (SAD of 8 bits) or census word; 0 = other cost */
    bool textured;  /* windows without texture have no cost */
    ptrdiff_t right_first, right_length; /* of right rows: place of x_right = 0, entries */
} SdmPairPlan;

/* Settings must have passed sdm_pair_check; level other than "reference". */
void sdm_pair_plan(SdmPairPlan *plan, int threads);
SdmPairChunk sdm_pair_chunk(const SdmPairPlan *plan, int index);

/* Scratch of a thread.  "Left rows" have `width` entries; "right rows" right_length, so that every x - d of
 * every lane has a place, x_right at right_first + x_right. */
typedef struct SdmPairScratch {
    uint16_t *left_d;        /* band_rows left rows: winners */
    uint32_t *right_best;    /* band_rows right rows, as in SdmPairRow */
    uint8_t *bad[2];         /* band_rows rows, or one where they are all the same */
    ptrdiff_t bad_stride[2]; /* 0 = one row */
    int32_t *terms[2][2];    /* ZNCC, band_rows rows; as in SdmPairRow, right ones in halves */
    float *texture[2], *rest[2];
    SdmPairColumns columns;
    int32_t *sum, *row_terms[2]; /* a row in order */
    float *row_texture, *row_rest;
    uint8_t *bytes[2]; /* rows of the band and its windows, `planes` planes each */
    ptrdiff_t plane[2];
    void *sums; /* of a strip */
    uint8_t *distances;
    int16_t *word_row[9]; /* rows under the words: samples with what lies beside the image */
    int16_t *row[4];
    int32_t *pairs[2], *row_pairs; /* right ones in halves, pairs_odd apart; a row in order */
    ptrdiff_t pairs_odd;
    uint16_t *lane_bad, *lane_d;
    uint16_t *all, *chunk; /* winners of a strip: band_rows rows, one row */
} SdmPairScratch;

/* Lay the scratch into block and return its bytes; block may be NULL to ask for them. */
size_t sdm_pair_scratch(const SdmPairPlan *plan, void *block, SdmPairScratch *out);

/* `count` samples of row y from column x on; rows and columns off the image are the nearest ones.  In `room`
 * unless the image holds them all. */
const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *room);

/* What the costs of rows y0..y1 - 1 need of single images: where windows have no cost, textures, sums, words.
 */
void sdm_pair_windows(const SdmPairPlan *plan, SdmPairScratch *s, int y0, int y1);
/* Entering samples in the low halves, leaving ones in the high halves, as ZNCC takes them. */
void sdm_pair_interleave(const SdmPairPlan *plan, int side, const int16_t *enters, const int16_t *leaves,
                         int count, int32_t *out);
/* Match rows y0..y1 - 1. */
void sdm_pair_band(const SdmPairPlan *plan, SdmPairScratch *s, int y0, int y1);

#endif
