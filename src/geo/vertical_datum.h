/* The vertical datums: their names, and the datum of a raster's heights.  A new datum: a row of the table in
 * vertical_datum.c, and SdmVertical in core/types.h.  A new product: a row of the table of products there.
 * Undulations: geoid.h.  Heights are converted by product (output), height_raster (--dem, --reference),
 * coreg/input_raster and the stack. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gdal.h>
#include <ogr_srs_api.h>
#include <stddef.h>

/* Values beside those of SdmVertical: the raster does not say; it names a datum that is none of them. */
enum { SDM_VERTICAL_UNKNOWN = -1, SDM_VERTICAL_OTHER = 99 };

/* One vertical datum, as each place writes it. */
typedef struct SdmVerticalDatum {
    const char *word;    /* on the command line: "egm96" */
    const char *name;    /* in metadata: "EGM96" */
    const char *phrase;  /* in sentences, after "above": "the EGM96 geoid" */
    const char *crs;     /* of the vertical CRS: "EGM96 height"; NULL for the ellipsoid, which has none */
    int epsg;            /* code of the vertical CRS; 0 for the ellipsoid */
    const char *grid[2]; /* PROJ's files of the undulation, the first found serves; NULL for the ellipsoid */
} SdmVerticalDatum;

/* vertical: SDM_ELLIPSOID, SDM_EGM96 or SDM_EGM2008. */
const SdmVerticalDatum *sdm_vertical_datum(int vertical);

/* The datum that a word of the command line means; SDM_VERTICAL_UNKNOWN for NULL, "auto" and any other word.
 */
int sdm_vertical_of_word(const char *word);

/* Source of the datum, the surest first. */
typedef enum SdmDatumBy {
    SDM_DATUM_GIVEN,    /* an option */
    SDM_DATUM_DECLARED, /* the vertical part of the CRS, a third axis, or the metadata item VERTICAL_DATUM */
    SDM_DATUM_NAMED,    /* the name of the file, or of the files of a VRT, is that of a product */
    SDM_DATUM_ASSUMED   /* nothing of the file: its cells are in degrees, as those of global products */
} SdmDatumBy;

/* The datum of a raster's heights. */
typedef struct SdmDatumFound {
    int vertical;  /* SdmVertical or one of the above */
    int by;        /* SdmDatumBy */
    int epsg;      /* of the vertical CRS where a name tells it; 0 */
    char name[96]; /* as declared, or of the product's datum; "" */
    char why[240]; /* a clause: "as its name dem.tif is that of ..." */
} SdmDatumFound;

/* Find it: as the file declares it, else as names tell it, else by its cells: in degrees the geoid of the
 * global products, EGM96 for whole numbers and EGM2008 for others; else it is unknown.  No pixel is read. */
void sdm_vertical_find(GDALDatasetH file, SdmDatumFound *out);
/* The datum of an option instead, where the word names one.  option: "--reference-vertical". */
void sdm_vertical_give(SdmDatumFound *datum, const char *option, const char *word);
/* WKT of the file's CRS with the vertical datum found, for sdm_geoid_open_crs(); CPLFree; NULL: that datum
 * has no CRS. */
char *sdm_vertical_crs(GDALDatasetH file, const SdmDatumFound *datum);
/* "EGM2008, as its name ...". */
void sdm_vertical_phrase(const SdmDatumFound *datum, char *text, size_t size);
/* The datum that a CRS (NULL: none), else a text of metadata (NULL: none) declares.  Returns SdmVertical or
 * one of the above.  name: as declared, "" without. */
int sdm_vertical_of_srs(OGRSpatialReferenceH srs, const char *metadata, char *name, size_t size);
