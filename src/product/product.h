/* Blocks of a DEM in any order -> its files: DEM, QA raster, ortho image, report and pictures. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "core/lease.h"
#include "core/text.h"
#include "geo/geoid.h"
#include "geo/height_raster.h"
#include "pointing/along_fit.h"
#include "product/dem_stats.h"
#include "product/output_files.h"
#include "product/qa_raster.h"
#include "product/raster.h"
#include "product/report.h"

/* A product that stays in memory: what its files would hold.  Its arrays are the owner's. */
typedef struct SdmKeptProduct {
    SdmGrid grid;
    const SdmQaLayout *qa;
    double metres_step;          /* of the QA raster's bands */
    SdmRaster raster[SDM_FILES]; /* without cells where there is none */
    SdmText json, html;          /* the report */
} SdmKeptProduct;
void sdm_kept_product_free(SdmKeptProduct *kept);

/* Until the error is known its band holds the score in steps of 1 / SDM_ERROR_SCORES. */
enum { SDM_ERROR_SCORES = 60000 };

/* The pair, and how it was matched. */
typedef struct SdmHeightErrorModel {
    double gsd_m;         /* ground sample distance; 0: no prediction */
    double metres_per_px; /* height for a pixel of parallax */
    double correction_m;  /* standard error of heights by that of the correction along the track */
    bool census;          /* scores are those of census, not of zncc */
    bool semi_global;
} SdmHeightErrorModel;

/* A product to write.  Pointers are borrowed until the product is closed. */
typedef struct SdmProductRequest {
    const SdmOptions *options; /* output, overwrite, co, vertical, memory_bytes */
    SdmKeptProduct *keep;      /* gets the product; no file is written then.  NULL: files */
    const SdmGrid *grid;
    const SdmQaLayout *qa;
    bool ortho;                          /* blocks have an ortho image */
    SdmHeightErrorModel error;           /* gsd_m > 0: the QA raster has a band of predicted errors */
    const SdmReferenceReport *reference; /* with a change mask: NAME_change.tif is written; NULL: none */
    SdmHeightRaster *reference_dem;      /* opened already; NULL: it is opened, once more */
    double lon_deg, lat_deg;             /* middle of the scene; with a reference alone */
    const double *trend;              /* NAME_trend.tif is written: rate of its map's strongest colour, as it
                                       * is when the product is published; NULL: none */
    bool datum_unknown;               /* nothing is said of the vertical datum */
    const char *id, *kind, *time_utc; /* of the scene, for the rasters' metadata; "" or NULL: left out.  Used
                                       * by open alone */
    const char *first_utc, *last_utc; /* of the dates of a stack, for catalogues; NULL: not known */
    uint64_t job;                     /* fingerprint of the run: of its inputs and parameters */
} SdmProductRequest;

enum { SDM_CHANGE_BANDS = 2, SDM_CHANGE_BINS = 1 << 14 };
#define SDM_CHANGE_BIN_M 0.03125 /* of the histograms */
#define SDM_CHANGE_STEP_M 0.0625 /* of the map */

/* The difference by cell, and what the report says of it; counted in integers, so that the order does not
 * matter. */
typedef struct SdmChangeRaster {
    const SdmReferenceReport *report; /* borrowed; state SHIFT or FITTED */
    const SdmGrid *grid;              /* of the DEM; borrowed */
    SdmHeightRaster *opened;          /* here; NULL: it was open */
    SdmHeightsOnGrid on_grid;
    SdmProjector *plane; /* of the blocks that are left out */
    int64_t *histogram;  /* 2 x SDM_CHANGE_BINS: used and left out cells, from -256 m on */
    SdmMeanMap map;      /* of the differences in steps */
} SdmChangeRaster;

/* Bands of the QA raster that the report shows as maps. */
enum { SDM_MAP_ERROR, SDM_MAP_RAY_ERROR, SDM_BAND_MAPS };

/* Files of one run: NAME.tif (DEM, Float32 COG, nodata -9999), NAME_qa.tif, NAME_ortho.tif, NAME.json,
 * NAME.stac.json, NAME.html, NAME.png, with a reference NAME_change.tif (height minus reference, change
 * mask), styles and the raster of reasons (style_files.c), written under temporary names and renamed when all
 * are complete: open, write (every block), complete, publish, close. A full disk at any point is SDM_ERR_IO
 * with a sentence. */
typedef struct SdmProduct { /* for reports to read */
    SdmProductRequest request;
    SdmGrid grid;
    SdmOutputFiles *files;
    SdmRaster raster[SDM_FILES];      /* DEM, QA, ORTHO, CHANGE while they are filled */
    SdmChangeRaster change;           /* raster[SDM_FILE_CHANGE]'s values; with request.reference */
    char **metadata;                  /* of every raster; CSLDestroy */
    SdmUndulation undulation;         /* of the DEM's vertical datum */
    const char *geoid;                /* where it is from; "": heights above the ellipsoid */
    SdmDemStats stats;                /* of the blocks so far */
    uint8_t reason[1 << SDM_QA_BITS]; /* of each mask */
    double metres_step;               /* unit of the QA raster's bands, see sdm_qa_scale() */
    SdmBandMap band[SDM_BAND_MAPS];   /* without pixels where the raster has no such band */
    SdmPng relief, page_relief, coverage, change_map; /* once the product is complete */
} SdmProduct;
#define SDM_CHANGE_MAP_M 20.0 /* difference of the strongest colour of its map */

/* A band of one of its rasters, SDM_FILE_DEM, _QA, _ORTHO, _CHANGE or _TREND. */
typedef struct SdmProductBand {
    const char *name, *unit; /* "": none */
    double scale;            /* 0: the values are no steps */
} SdmProductBand;
int sdm_product_bands(const SdmProduct *p, int file);
SdmProductBand sdm_product_band(const SdmProduct *p, int file, int k);
/* The band of the QA raster that holds this; NULL: none. */
GDALRasterBandH sdm_product_qa_band(const SdmProduct *p, SdmQaBandKind kind);

/* Can the product be written?  To be called before any work; makes no file.  inputs: paths that must not be
 * overwritten, or NULL while they are not known: until then a DEM passes that may be this run's own, see
 * sdm_product_finished(). */
SdmStatus sdm_product_check(SdmContext *ctx, const SdmOptions *opt, const char *const *inputs,
                            int input_count);
/* Was a run with the fingerprint `job` stopped after it had renamed every file, so that only tidying is left?
 */
bool sdm_product_finished(SdmContext *ctx, const char *output, uint64_t job);
/* When that is done: remove the last trace of that run. */
void sdm_product_tidy(SdmContext *ctx, const char *output, uint64_t job);

SdmStatus sdm_product_open(SdmContext *ctx, const SdmProductRequest *request, SdmProduct **out);
/* Add a block, in any order, every cell once; heights above the ellipsoid are converted to the vertical
 * datum.  Calls must be serialised. */
SdmStatus sdm_product_write(SdmContext *ctx, SdmProduct *p, const SdmBlock *block);
/* Cells of a block for NAME_trend.tif.  plane: SDM_TREND_BANDS x h x w, SDM_NODATA for none. */
SdmStatus sdm_product_write_trend(SdmContext *ctx, SdmProduct *p, const SdmBlock *block, const float *plane);
/* After the last block: statistics, overviews, compressed rasters, pictures. */
SdmStatus sdm_product_complete(SdmContext *ctx, SdmProduct *p);
/* After that: write the report and rename all files.  lease: of the output, as held so far; NULL: none.  When
 * another run has taken it over, nothing is renamed. */
SdmStatus sdm_product_publish(SdmContext *ctx, SdmProduct *p, SdmReport *report, SdmLease *lease);
/* Remove what was not published, no file of another run. */
void sdm_product_close(SdmProduct **p);

/* Median of the predicted errors, metres; NaN: there are none. */
double sdm_product_error_m(const SdmProduct *p);

double sdm_qa_step_m(const SdmGrid *grid); /* unit of the QA raster's bands of a DEM on the grid, metres */

/* ---- raster.c ---- */

/* A raster of the product to be filled, with its grid, CRS and metadata; path: of its file, where it does not
 * fit into memory.  SDM_ERR_IO, _UNSUPPORTED (CRS), _MEMORY.  Close *out also after a failure. */
SdmStatus sdm_raster_create(SdmContext *ctx, const SdmProduct *p, int file, GDALDataType type,
                            const char *path, SdmRaster *out);
/* The complete ortho image (Float32, SDM_NODATA for none) in the smallest type that holds it, GDT_Byte,
 * GDT_UInt16, with 0 for none, or GDT_Float32. */
SdmStatus sdm_ortho_convert(SdmContext *ctx, SdmProduct *p);

/* ---- change_raster.c: heights of a DEM -> height minus reference, and whether the fit to the reference left
 * the place out, by cell ---- */

/* Differences of a DEM's cells.  Close *out also after a failure. */
SdmStatus sdm_change_open(SdmContext *ctx, const SdmProductRequest *request, SdmChangeRaster *out);
void sdm_change_close(SdmChangeRaster *c);

/* Rows of both bands, SDM_NODATA where there is no height, or no reference: differences rounded to step_m; 1
 * where the fit left the place out.  window: w x h cells from (col0, row0).  height_m: above the ellipsoid,
 * NaN for none. */
SdmStatus sdm_change_rows(SdmContext *ctx, SdmChangeRaster *c, const int64_t window[4], const float *height_m,
                          double step_m, float *difference_m, float *left_out);

/* Median and NMAD of the differences of the DEM's cells, used (0) or left out of the fit (1). */
SdmReferenceSpread sdm_change_spread(const SdmChangeRaster *c, int left_out);
int64_t sdm_change_count(const SdmChangeRaster *c, int left_out);

/* ---- height_error.c ---- */

/* The predicted standard error of each height, in place of the scores of SDM_BAND_ERROR.  Formula:
 * docs/chain.md, 9, The predicted error. */
SdmStatus sdm_height_error_write(SdmContext *ctx, const SdmProduct *p);

/* ---- style_files.c: layer styles of QGIS, and the reasons as a raster with colours and words ---- */

/* Each adds a whole file; failures stay in out->st.  A layer style of QGIS (QML) for a raster: */
void sdm_style_dem(SdmText *out, double low_m, double high_m); /* the ramp of the relief; NaN: no heights */
void sdm_style_qa(SdmText *out, const SdmQaLayout *layout);    /* the band "reason" */
void sdm_style_change(SdmText *out, double limit, const char *unit); /* a map of change, -limit..limit */

/* A virtual raster (VRT) of the band "reason".  qa: name of the QA raster's file, in the same folder. */
void sdm_reason_raster(SdmText *out, const SdmGrid *grid, const SdmQaLayout *layout, const char *qa);

/* ---- point_cloud.c: LAS 1.4, a point for each height, as a file .las or .laz ---- */

/* Can a file of this format ("las", "laz") be written?  SDM_ERR_UNSUPPORTED where LASzip is not there. */
SdmStatus sdm_point_cloud_check(SdmContext *ctx, const char *format);
/* Write the point clouds that the product has, rows from the north, from rasters that are still open.  A .laz
 * is first a .las.  SDM_ERR_IO, _UNSUPPORTED. */
SdmStatus sdm_point_cloud_write(SdmContext *ctx, const SdmProduct *p);

/* ---- stac_item.c: the entry for catalogues (SpatioTemporal Asset Catalog 1.1), a collection ---- */

/* Add the item as JSON, with names of files in its own folder; without a time of the scene it has that of
 * now.  Failures stay in out->st. */
void sdm_stac_item(const SdmProduct *p, SdmText *out);

/* Items of a folder; begin with zeros. */
typedef struct SdmStacCollection {
    struct cJSON *links; /* owned */
    double box[4];       /* west, south, east, north */
    char first[32], last[32];
    int items;
} SdmStacCollection;

/* Take an item that a file of the folder holds, where it is there. */
void sdm_stac_collect(SdmStacCollection *c, const char *path);
/* Write the collection, unless it has fewer than two items, and free it. */
SdmStatus sdm_stac_collection_close(SdmContext *ctx, SdmStacCollection *c, const char *path);
