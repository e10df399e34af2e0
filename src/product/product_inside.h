/* What the files that write the products share; for src/dem only. */
#ifndef SDM_PRODUCT_INSIDE_H
#define SDM_PRODUCT_INSIDE_H

#include "product/product.h"
#include "geo/gdal_errors.h"

#include <cpl_error.h>
#include <gdal.h>

enum { SDM_PATH = 4096 };

/* The files of a run, in the order in which they are renamed: the DEM last, to stand for the whole. */
enum { SDM_FILE_HTML, SDM_FILE_PNG, SDM_FILE_JSON, SDM_FILE_QA, SDM_FILE_ORTHO, SDM_FILE_DEM, SDM_FILES };

typedef struct SdmNames {
    char path[SDM_FILES][SDM_PATH]; /* NAME.html, NAME.png, ... */
    char part[SDM_FILES][SDM_PATH]; /* OUTPUT.part-html, ...: the same, not yet whole */
    char raw[SDM_FILES][SDM_PATH];  /* OUTPUT.part-raw-dem, ...: blocks, before the COG */
    bool made[SDM_FILES];           /* false: not among the products; what stood there goes */
    char
        naming[SDM_PATH]; /* OUTPUT.part-naming: there from the first rename on until the run has tidied up */
    char folder[SDM_PATH],
        prefix[SDM_PATH]; /* all aside files are folder/prefix*, prefix = "DEM.tif.part-" */
} SdmNames;

SdmStatus sdm_names_make(SdmContext *ctx, SdmNames *names);
/* Remove every file written aside, this run's or an earlier one's. */
void sdm_names_sweep(const SdmNames *names);
/* Give the finished files their names; the DEM last.  job: see SdmReport. */
SdmStatus sdm_names_rename(SdmContext *ctx, const SdmNames *names, uint64_t job);
/* After a run that was stopped while it named its files: remove those that it had named. */
void sdm_names_recover(const SdmNames *names);

/* ---- the heights as counted while blocks come in: integers, so their order does not matter ---- */
enum { SDM_PREVIEW_MAX = 1600, SDM_HISTOGRAM = 1 << 16 };
__extension__ typedef __int128 SdmWide;

typedef struct __attribute__((aligned(64))) SdmSurveyPart { /* what one thread counts */
    int64_t valid, low, high, mask_bits[16];
    SdmWide sum, squares;
    float ortho_low, ortho_high;
    int64_t *histogram; /* SDM_HISTOGRAM */
} SdmSurveyPart;

typedef struct SdmSurvey {
    double step_m;        /* heights are multiples of it: a power of two, below 1/1000 of the spacing */
    int64_t cells, valid; /* cells written; cells with a height */
    int64_t low, high;    /* heights, in steps */
    SdmWide sum, squares; /* in steps, steps^2 */
    double bin_m;         /* histogram: bin i holds heights from floor_m + i x bin_m; a power of two */
    int64_t *histogram;   /* SDM_HISTOGRAM */
    int64_t mask_bits[SDM_QA_BITS];
    float ortho_low, ortho_high;
    int factor, cols, rows; /* preview: cells per preview pixel and edge; its size */
    int64_t *preview_sum;   /* rows x cols, in steps */
    int32_t *preview_count;
    uint16_t *preview_mask; /* all bits met */
    int threads;            /* that count */
    SdmSurveyPart *part;    /* of each thread, empty between calls */
} SdmSurvey;

#define SDM_HISTOGRAM_FLOOR_M (-1000.0)

SdmStatus sdm_survey_open(SdmContext *ctx, const SdmGrid *grid, SdmSurvey *s);
/* Cells of the DEM, h rows of w: height as written (SDM_NODATA for none) in rows of height_pitch, mask and
 * ortho (may be NULL) in rows of w. */
typedef struct SdmSurveyCells {
    int64_t col0, row0, w, h, height_pitch;
    const float *height_m, *ortho;
    const uint16_t *mask;
} SdmSurveyCells;
void sdm_survey_add(SdmSurvey *s, const SdmSurveyCells *c);
void sdm_survey_close(SdmSurvey *s);
double sdm_survey_mean_m(const SdmSurvey *s);
double sdm_survey_std_m(const SdmSurvey *s);
/* Quantile of the heights, q in 0..1, to half a bin; NaN without heights. */
double sdm_survey_quantile_m(const SdmSurvey *s, double q);
/* Mean height of each preview pixel (rows x cols), NaN where there is none; owned by the caller. */
SdmStatus sdm_survey_preview(SdmContext *ctx, const SdmSurvey *s, float **height_m);

/* The QA raster: UInt16, one nodata for all bands. */
enum { SDM_BAND_SCORE, SDM_BAND_GAP, SDM_BAND_SPREAD, SDM_BAND_COUNT, SDM_BAND_MASK, SDM_QA_BANDS };
enum { SDM_QA_NODATA = 65535 };
#define SDM_SCORE_STEP 0.01

struct SdmProduct {
    SdmGrid grid;
    SdmReport report; /* borrowed texts and pointers */
    SdmNames *names;
    GDALDatasetH raw[SDM_FILES]; /* DEM, QA, ORTHO: blocks */
    void *cells[SDM_FILES];      /* theirs, rows x cols x bands, where they lie in memory; else NULL */
    SdmUndulation undulation;    /* of --vertical */
    SdmSurvey survey;
    int bands, band[SDM_QA_BANDS]; /* of the QA raster */
    double ray_error_step_m; /* unit of the QA raster's ray gap and spread */
};

/* Which of these the product has, in order -> how many. */
int sdm_qa_bands(const SdmReport *report, int band[SDM_QA_BANDS]);
/* How many bits of the mask the product can have. */
int sdm_qa_bits(const SdmReport *report);


/* ---- rasters ---- */
/* A raster with the grid, CRS and metadata of the product: in memory where a small share of the budget holds
 * it
 * (*cells: rows x cols x bands, not set yet), else an empty tiled GeoTIFF at path (*cells NULL); both are the
 * caller's to close. */
SdmStatus sdm_raster_create(SdmContext *ctx, const SdmProduct *p, int file, const char *path, int bands,
                            GDALDataType type, GDALDatasetH *out, void **cells);
/* Close and set both to NULL; SDM_ERR_IO when the last bytes did not reach the file. */
SdmStatus sdm_raster_close(SdmContext *ctx, GDALDatasetH *ds, void **cells, const char *path);
/* Overviews inside the raw raster, down to 512 cells: means of 2 x 2 (DEM, ortho), their first cell (QA). */
SdmStatus sdm_overviews_build(SdmContext *ctx, const SdmProduct *p, int file);
/* Compress the raw raster into part[file], with overviews; file: DEM, QA or ORTHO. */
SdmStatus sdm_cog_write(SdmContext *ctx, SdmProduct *p, int file);
/* --co: can GDAL's COG driver write a DEM with them?  Tried on a small one in memory. */
SdmStatus sdm_cog_check(SdmContext *ctx);
/* Type of the ortho image, by the range of its values: GDT_Byte, GDT_UInt16 or GDT_Float32. */
GDALDataType sdm_ortho_type(const SdmSurvey *s);
SdmStatus sdm_ortho_convert(SdmContext *ctx, SdmProduct *p);

/* ---- report and pictures ---- */
typedef struct SdmText { /* a text that grows; failed: out of memory */
    SdmContext *ctx;
    char *data;
    size_t size, room;
    SdmStatus st;
} SdmText;
void sdm_text_add(SdmText *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sdm_text_raw(SdmText *t, const char *data, size_t size);
void sdm_text_escape(SdmText *t, const char *text); /* for HTML and XML */
void sdm_text_base64(SdmText *t, const unsigned char *data, size_t size);
SdmStatus sdm_text_write(SdmText *t, const char *path); /* to a new file */
void sdm_text_close(SdmText *t);

typedef struct SdmPicture { /* PNG in memory; owned, GDAL's allocation */
    unsigned char *data;
    size_t size;
    int width, height;
} SdmPicture;
SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmProduct *p, SdmPicture *out);
SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmProduct *p, SdmPicture *out);
void sdm_picture_close(SdmPicture *picture);

/* A stack's part of the report and of the page: its DEMs and their shifts. */
struct cJSON;
void sdm_stack_json(struct cJSON *root, const SdmStackReport *stack);
/* How good the stack is: what its DEMs say of each other. */
void sdm_stack_summary(SdmText *t, const SdmProduct *p, int vertical);
/* A card with a row for each DEM. */
void sdm_stack_table(SdmText *t, const SdmStackReport *stack);

SdmStatus sdm_report_write(SdmContext *ctx, const SdmProduct *p);
SdmStatus sdm_html_write(SdmContext *ctx, const SdmProduct *p, const SdmPicture *relief,
                         const SdmPicture *coverage);

#endif
