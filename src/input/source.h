/* Helpers of everything that reads a file: GDAL without messages, a file as text, the list of inputs. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/path.h"
#include "geo/gdal_scope.h"
#include "input/scene_open.h"

/* GDAL's last message, or "no reason given"; one line. */
const char *sdm_gdal_reason(void);

/* Reason for which GDAL could not open a file: its last message, or the beginning of a text file. */
const char *sdm_open_reason(const char *path, char out[320]);

/* Settings of GDAL in the environment that hide or invent what inputs hold (lost lines as 0, no vertical
 * CRS, no RPC of an .aux.xml) get their usual values; who gives them by --config wants them. */
void sdm_gdal_steady(void (*set)(const char *name, const char *value));

/* --config of the options holds for GDAL on this thread between the two calls; what held before comes back.
 * SDM_ERR_USAGE where an entry is not NAME=VALUE. */
typedef struct SdmGdalConfig {
    char **before; /* owned; of the thread alone */
    bool changed;
} SdmGdalConfig;
SdmStatus sdm_gdal_config_begin(SdmContext *ctx, const SdmOptions *options, SdmGdalConfig *scope);
void sdm_gdal_config_end(SdmGdalConfig *scope);

/* Read at most `size` first bytes of a file (GDAL's name); returns how many. */
size_t sdm_read_head(const char *path, void *head, size_t size);
/* Open for reading; NULL without a message of ours. */
GDALDatasetH sdm_gdal_open(const char *name);

/* An array in memory as a data set of one band, without its mask; the caller closes it.  name: for the
 * sentence.  SDM_ERR_USAGE, SDM_ERR_MEMORY. */
SdmStatus sdm_array_open(SdmContext *ctx, const char *name, const SdmImageArray *array, GDALDatasetH *out);
/* Check its samples, type, size and rows: SDM_ERR_USAGE. */
SdmStatus sdm_array_check(SdmContext *ctx, const char *name, const SdmImageArray *array);

/* Whole text file as numbers, `columns` on every line that is not blank.
 * *out: lines x columns, freed by the caller with sdm_free, also after a failure.  SDM_ERR_INPUT names file,
 * line and what is wrong. */
SdmStatus sdm_read_table(SdmContext *ctx, const char *path, int columns, double **out, int *lines);

/* Read a file of an archive (a name that begins with /vsizip/) to its end, where GDAL compares its checksum;
 * images are else read piece by piece, without that.  SDM_ERR_INPUT when it differs. */
SdmStatus sdm_check_packed(SdmContext *ctx, const char *path);

bool sdm_path_exists(const char *path);

/* After a name sdm_folder_walk() goes on, leaves out the folders below this one, or ends. */
typedef enum SdmWalk { SDM_WALK_ON, SDM_WALK_NOT_BELOW, SDM_WALK_END } SdmWalk;
typedef SdmWalk SdmVisit(void *user, const char *path, const char *name);
/* Visit the names in a folder (GDAL's name) that are not hidden, then the folders `depth` levels down.
 * @return false: the folder cannot be listed */
bool sdm_folder_walk(const char *folder, int depth, SdmVisit *visit, void *user);

/* Append a file to the scene's list, once. */
SdmStatus sdm_scene_add_file(SdmContext *ctx, SdmScene *scene, const char *path);

/* "AST_L1A_003MMDDYYYYhhmmss..." -> ISO 8601; "" when the name says nothing. */
void sdm_granule_time(const char *granule, char time_utc[32]);
/* A date (2017-07-31 or 20170731) and a time of day (19:07:28... or 190728...) -> ISO 8601, to the second;
 * false, and "", where they are no moment of the calendar. */
bool sdm_time_read(const char *date, const char *time, char time_utc[32]);
/* The date at the start of a text (20030506, 2003-05-06, 2003_05_06), with or without a time of day -> ISO
 * 8601, and the place behind it, its fraction of a second and its sign of UTC; NULL: no date. */
const char *sdm_date_read(const char *text, char time_utc[32]);
/* Days from some day to that time; NaN where the text is no time. */
double sdm_time_days(const char *time_utc);

/* An address (https://..., s3://...) as GDAL's virtual file systems name it, any other name as it is. */
SdmStatus sdm_gdal_name(SdmContext *ctx, const char *name, char *out, size_t size);
/* Is it such an address, or a name of GDAL's virtual file systems? */
bool sdm_is_virtual(const char *name);

/* ---- product_folder.c: a product, or one of its tiles -> the file by which GDAL opens it ---- */

/* name: a folder with a DIM_*.XML (Pleiades, Pleiades Neo, SPOT) or a .TIL (WorldView, GeoEye), at most three
 * levels down; a tile that one of these beside it lists (..._R1C1.TIF); or any other name, which is copied.
 * out: size bytes, that file's name.  Every tile that it lists is there.  SDM_ERR_INPUT: several such files
 * in the folder, a missing tile, a tile without it; SDM_ERR_USAGE: no such file in the folder, or a name that
 * is too long. */
SdmStatus sdm_product_find(SdmContext *ctx, const char *name, char *out, size_t size);

/* The row and the column, from 1, of a tile by the name of its file, "..._R1C2..."; false, and neither, where
 * it is no such name. */
bool sdm_product_tile(const char *base, int *row, int *column);

/* ---- image_stats.c: values that stand for no data although the file does not declare them ---- */

/* Find undeclared nodata among the samples sorted[*from .. *to - 1], which are ascending and finite.  It is a
 * value at an end of the range that many samples have (one in 2,000, at least 32) and that is farther from
 * the other samples than these spread; or 0, where many samples are 0 and all others positive. top_alone: at
 * the upper end alone, as where the file says what its nodata is, or 0 is. fill: up to two values; unchanged
 * without any.  from, to: narrowed to the other samples.
 * @return number of values found */
int sdm_fill_find(const float *sorted, int64_t *from, int64_t *to, bool top_alone, float fill[2]);

/* The shortest text that is read back as v; image.c. */
void sdm_fill_text(float v, char out[24]);
