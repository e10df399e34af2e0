/* The vertical datums: their names, and the datum that a raster declares.  A new datum: a row of the table in
 * vertical_datum.c, and SdmVertical in core/types.h.  Undulations: geoid.h.  Heights are converted by product
 * (output), height_raster (--dem, --reference), coreg/compare_datum and the stack. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_VERTICAL_DATUM_H
#define SDM_VERTICAL_DATUM_H

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

const char *sdm_vertical_name(int vertical); /* the datum's name and word */
const char *sdm_vertical_word(int vertical);

/* The datum that a word of the command line means; SDM_VERTICAL_UNKNOWN for NULL, "auto" and any other word.
 */
int sdm_vertical_of_word(const char *word);

/* The datum that a raster declares: in the vertical part of its CRS, else by a third axis (ellipsoidal
 * height), else in its metadata item VERTICAL_DATUM.  Returns SdmVertical or one of the above.  name: as
 * declared, "" without. */
int sdm_vertical_declared(GDALDatasetH file, char *name, size_t size);
/* The same for a CRS alone (NULL: none) and a text of metadata (NULL: none). */
int sdm_vertical_of_srs(OGRSpatialReferenceH srs, const char *metadata, char *name, size_t size);

#endif
