/* Stage 1: scene files, or arrays and cameras in memory -> two images and two cameras. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/camera.h"

/* Values of a quantised image: signed 12 bit, mean near 0.  DN = (q - offset) / scale. */
#define SDM_Q_MAX 2047
#define SDM_Q_NODATA INT16_MIN /* masked, nodata, NaN or outside the image */

/* Stretch of samples to q, saturation and fill, from statistics of the whole image.  The pixels are chosen by
 * their position, so the layout of the file does not matter. */
typedef struct SdmRadiometry {
    double scale, offset; /* q = DN * scale + offset.  8-bit input: 16, -2048; wider: from percentiles of
                           * the image */
    float saturated_at;   /* samples as stored in the file; +inf when unknown */
    float fill[2];        /* samples that stand for no data, undeclared; NaN: none */
} SdmRadiometry;

/* An opened raster with its masks, radiometric table and stretch.  Handles are GDAL's. */
typedef struct SdmImage {
    char name[512];
    int64_t width, height;        /* of bins, where there are any */
    int bin;                      /* a pixel is the mean of bin x bin of the raster; 0: of one */
    void *dataset, *mask_dataset; /* NULL: none, an ASTER band lies in raw */
    void *mean;                   /* of several bands; NULL: one band serves */
    void *band;                   /* the band to match */
    void *samples;                /* the file's band, or the first of those whose mean is matched */
    void *own_mask;               /* nodata, alpha or data set mask; NULL when every pixel counts */
    void *user_mask;              /* --mask-left, --mask-right, or the mask of an array; NULL: none */
    const char *mask_option;      /* how sdm_image_describe() names the user's mask: "--mask-left " ... */
    bool bytes;                   /* 8-bit samples */
    bool single;                  /* one band, which serves whatever --band says */
    bool zero_is_fill;
    uint8_t *raw;       /* a whole ASTER band, height x width, or NULL */
    float *gain, *bias; /* ASTER: q = DN * gain + bias, per column; else NULL */
    SdmRadiometry q;
    double unusable, saturated; /* shares of samples all over it, 0..1: cannot be used; saturated */
} SdmImage;

/* The masks of an image in words ("0 = no data; --mask-left m.tif", "none"). */
void sdm_image_describe(const SdmImage *im, char *mask, size_t size);

/* Flaws of a pixel, and of a window those of any of its pixels. */
enum SdmFlaw {
    SDM_FLAW_SATURATED = 1 << 0,
    SDM_FLAW_NODATA = 1 << 1, /* inside the image, for whatever reason */
    SDM_FLAW_MASKED = 1 << 2  /* --mask-left, --mask-right or the mask of an array leaves it out */
};

/* A window of an image: columns [x, x + w), rows [y, y + h). */
typedef struct SdmImageWindow {
    int64_t x, y, w, h;
} SdmImageWindow;

/* Read a window, which may lie outside the image in part or whole.
 * out: h x w int16, quantised, SDM_Q_NODATA where there is nothing to use; turned: w x h, by columns.
 * flaws: h x w bytes, SdmFlaw of each pixel; NULL: not wanted, as of a turned window.
 * any: SdmFlaw that a pixel has are added; or NULL.
 * Deterministic: a pixel does not depend on the window.  Serialise calls per image (GDAL). */
SdmStatus sdm_image_read(SdmContext *ctx, SdmImage *im, SdmImageWindow at, bool turned, int16_t *out,
                         uint8_t *flaws, unsigned *any);
void sdm_image_close(SdmImage **im);

/* A new sensor needs a reader that fills an SdmScene (called by sdm_scene_open(), beside a pair of images and
 * sdm_aster_open_hdf()), a camera of its own where it is none of these (camera.h), and an enumerator
 * here. */
typedef enum SdmSensor { SDM_SENSOR_ASTER, SDM_SENSOR_RPC, SDM_SENSOR_PARALLEL } SdmSensor;

typedef struct SdmView {
    SdmImage *image;
    SdmCamera *camera;
    SdmCameraNote note;
    char name[512]; /* file or subdataset, for messages */
} SdmView;

/* A file that the scene reads, for the report and for "has the input changed?". */
typedef struct SdmInputFile {
    char path[1024];
    int64_t size_bytes;
    int64_t mtime_s;
} SdmInputFile;

typedef struct SdmScene {
    const SdmOptions *options; /* of all work on the scene; borrowed until it is closed */
    SdmSensor sensor;
    char id[256];            /* granule or file base name */
    char time_utc[32];       /* ISO 8601 acquisition time of the left view, "" if unknown */
    char right_time_utc[32]; /* of the right one, where it has one of its own; "" */
    char kind[64];           /* for people: "ASTER L1A V004 (HDF)" */
    SdmView view[2];         /* left, right */
    SdmInputFile *files;
    char fetched[1024]; /* local copy of a file on the network, removed at the end; "": none */
    int file_count;
    int depth; /* SdmDepth */
} SdmScene;

/* Depth to which a scene is opened. */
typedef enum SdmDepth {
    SDM_DEPTH_CAMERAS, /* sizes, masks and cameras are checked, no pixel is read; the images cannot be read */
    SDM_DEPTH_WINDOWS, /* the images can be read; the caller knows their radiometry and sets it */
    SDM_DEPTH_WHOLE    /* the images were sampled all over, for their radiometry and for damage */
} SdmDepth;

/* Open a scene by its content.  options: kept in the scene, so they must outlive it; used here: band,
 * mask_left, mask_right, base_height, config.
 * @return SDM_OK; SDM_ERR_INPUT, SDM_ERR_UNSUPPORTED, SDM_ERR_USAGE with one sentence; *out is NULL then. */
SdmStatus sdm_scene_open(SdmContext *ctx, const SdmOptions *options, const char *left, const char *right,
                         SdmScene **out);
SdmStatus sdm_scene_open_to(SdmContext *ctx, const SdmOptions *options, const char *left, const char *right,
                            SdmDepth depth, SdmScene **out);

/* An image in memory; everything is borrowed until the scene is closed, and only read.  It is treated as a
 * file of these samples: unsigned samples of 0 are no data where neither nodata nor a mask of the file's own
 * says otherwise, and samples of more than 8 bits are stretched by their percentiles. */
typedef struct SdmImageArray {
    const char *name; /* for messages and the report; NULL: "left image", "right image" */
    SdmSampleType type;
    const void *samples; /* height x width */
    int64_t width, height;
    int64_t row_bytes; /* from a row to the next; 0: no gaps */
    bool has_nodata;
    double nodata;          /* samples of this value are no data */
    const uint8_t *mask;    /* height x width, 0 = do not use the pixel; NULL: none */
    int64_t mask_row_bytes; /* 0: no gaps */
} SdmImageArray;

/* A view in memory.  Its camera is either made of RPC coefficients (borrowed for the call) or given:
 * `camera` is then taken over, also after a failure. */
typedef struct SdmViewInput {
    SdmImageArray image;
    const SdmRpc *rpc;
    SdmCamera *camera;
} SdmViewInput;

/* Open a scene from memory, left view first; no file is touched.  The options band, mask_left, mask_right and
 * base_height are for files: SDM_ERR_USAGE where one is set.  Errors as above. */
SdmStatus sdm_scene_open_arrays(SdmContext *ctx, const SdmOptions *options, SdmViewInput view[2],
                                SdmScene **out);
void sdm_scene_close(SdmScene **scene);
