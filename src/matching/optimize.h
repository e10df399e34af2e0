/* Costs of labels and the settings of an optimizer -> labels, by semi-global matching or belief
 * propagation, and their sub-pixel places.  A volume holds, for each left pixel and label, the cost of
 * matching them; label l of pixel x is right pixel x + first + l. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bp.h"
#include "core/core.h"
#include "sgm_kernels.h"

typedef enum SdmOptimizerKind { SDM_OPTIMIZER_LOCAL, SDM_OPTIMIZER_SGM, SDM_OPTIMIZER_BP } SdmOptimizerKind;

/* Settings of an optimizer, in units of the volume's costs. */
typedef struct SdmOptimizer {
    SdmOptimizerKind kind; /* local: each pixel takes its best label, no volume is made */
    int p1, p2;   /* sgm: penalty of a step by one label, of any other; 0 <= p1 <= p2 <= SDM_P2_MAX */
    int paths;    /* sgm: 4 or 8 */
    SdmBpPlan bp; /* bp: tiles and iterations */
    int weight, truncation; /* bp: penalty of a step by one label; labels from which on steps cost the same */
    const char *cpu_level;  /* as --cpu-level */
} SdmOptimizer;

enum {
    SDM_LABEL_ALIGN = 16, /* labels of a pixel are padded to a multiple of it */
    SDM_COST_MAX = 254,   /* largest cost */
    SDM_COST_PAD = 255,   /* of what pads the labels; never chosen */
    SDM_LABELS_MAX = 4096,
    SDM_LABEL_NONE = 0xFFFF,
    SDM_SGM_BAND =
        132,         /* rows of semi-global matching that go together; their paths begin SDM_OVERLAP before.
                      * Two hold the 256 rows of a band of labels and the four that sub-pixel places read */
    SDM_OVERLAP = 32 /* rows that a band is grown by on each side, so that it ends as its neighbour does */
};

/* Costs of a band of rows.  A label without a cost (a pixel without data or off the image) gets the expected
 * cost of unrelated pixels.  Where no label of a pixel has a cost, its neighbours decide, and the caller
 * discards the label. */
typedef struct SdmVolume {
    int width, height, labels;
    int begin, end;       /* rows whose labels are wanted; the others are there for their neighbourhood */
    int pitch;            /* bytes from pixel to pixel: labels rounded up to a multiple of SDM_LABEL_ALIGN */
    int first;            /* label 0 is right pixel x + first */
    int most;             /* no label costs more; <= SDM_COST_MAX */
    uint8_t *cost;        /* height x width x pitch, aligned to 64, labels .. pitch - 1 hold SDM_COST_PAD */
    const int16_t *guide; /* left image of the rows, height x width; smoothness is cheaper across its edges */
    ptrdiff_t guide_stride;
    int guide_scale; /* levels of the guide: a step of so many is an edge; 0 = no guide */
} SdmVolume;

/* Labels; height x width each. */
typedef struct SdmLabels {
    uint16_t *left;  /* label of each left pixel */
    uint16_t *right; /* of each right pixel, SDM_LABEL_NONE without any; NULL = not asked for */
    uint32_t *near;  /* height x 2 x width, costs about label l of each left pixel, a byte each: l - 2 .. l +
                      * 1, then l - 1 .. l + 2; anything for labels that there are not; NULL = not asked for
                      * */
} SdmLabels;

static inline int sdm_volume_pitch(int labels)
{
    return (labels + SDM_LABEL_ALIGN - 1) / SDM_LABEL_ALIGN * SDM_LABEL_ALIGN;
}

/* Allocate the volume's costs (width, height, labels set; pitch is) and fill the padding. */
SdmStatus sdm_volume_open(SdmContext *ctx, SdmVolume *v);
void sdm_volume_close(SdmVolume *v);

/* The optimizer that the options ask for; on entry the penalties of the cost, where the options give none.
 * SDM_ERR_USAGE with a sentence: P2 below P1, ... */
SdmStatus sdm_optimizer_settings(SdmContext *ctx, const SdmOptions *options, SdmOptimizer *how);

/* Label the pixels of the rows wanted; threads as the context has.  The lowest of equally good labels is
 * taken.  The result depends on the volume alone, not on threads or instruction set.  Errors:
 * SDM_ERR_MEMORY, SDM_ERR_STOPPED. */
SdmStatus sdm_optimize(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out);

/* Add the energy that belief propagation minimises, of the labels of rows y0..y1 - 1 and their steps to the
 * left and up: sums[0] += costs, sums[1] += steps. */
void sdm_volume_energy(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const uint16_t *left,
                       int y0, int y1, int64_t sums[2]);

/* Right pixels' labels from the left ones: of the left pixels that meet a right pixel the one with the least
 * cost at its label; of equal ones the leftmost. */
void sdm_right_labels(SdmContext *ctx, const SdmVolume *v, const uint16_t *left, uint16_t *right);

/* The same by either way; bp: label every pixel. */
SdmStatus sdm_sgm(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out);
SdmStatus sdm_bp_run(SdmContext *ctx, const SdmBpField *f, const SdmBpPlan *plan, const char *cpu_level,
                     uint16_t *label);
/* Bytes that sdm_sgm() takes for a band of rows beside the volume and the labels. */
int64_t sdm_sgm_band_bytes(int width, int labels);

/* The costs about the labels of row y, labels->left -> labels->near. */
void sdm_label_costs(const SdmVolume *v, int y, const SdmLabels *labels);
/* Sub-pixel places of the pixels of row y about their labels, -0.5..0.5 labels, by SdmSgmOffsets; 0 at the
 * ends of the labels.  labels: left and near of all rows of the volume, read from y - 2 to y + 2.  offset:
 * width. */
enum { SDM_OFFSET_REACH = 2 };
void sdm_label_offsets(const SdmVolume *v, const SdmSgmKernels *kernels, const SdmLabels *labels, int y,
                       float *offset);
