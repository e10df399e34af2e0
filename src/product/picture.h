/* Colours and light of the pictures; for src/dem only. */
#ifndef SDM_PICTURE_H
#define SDM_PICTURE_H

#include "product/product_inside.h"

typedef struct SdmCoverKind {
    unsigned bit; /* SdmQaBit; 0 ends the table */
    const char *label;
    unsigned char rgb[3];
} SdmCoverKind;
extern const SdmCoverKind sdm_cover_kinds[];

/* t in 0..1 from low to high -> rgb in 0..255. */
void sdm_relief_colour(double t, double rgb[3]);

/* Light on a facet, 0..1, from the north-west at 45 degrees (Lambert); flat ground has 0.707.
 * h: rows x cols heights in metres, NaN where there is none; stretch: vertical exaggeration. */
double sdm_hillshade(const float *h, int cols, int rows, int col, int row, double spacing_m, double stretch);

#endif
