/* What a raster's heights are above, as it says itself. */
#ifndef SDM_VERTICAL_H
#define SDM_VERTICAL_H

#include <gdal.h>
#include <stddef.h>

/* Beside SdmVertical: nothing is said; something that is none of them. */
enum { SDM_VERTICAL_UNKNOWN = -1, SDM_VERTICAL_OTHER = 99 };

/* SdmVertical (SDM_ELLIPSOID ..) -> what metadata and sentences call it. */
const char *sdm_vertical_name(int vertical);
/* The same for values of options: "ellipsoid", "egm96", "egm2008". */
const char *sdm_vertical_word(int vertical);
/* Value of an option -> SdmVertical; SDM_VERTICAL_UNKNOWN for any other, such as "auto". */
int sdm_vertical_of_word(const char *word);

/* From the vertical part of the CRS, else from its third axis, else from the metadata VERTICAL_DATUM:
 * SdmVertical or one of the above.  name: as declared, "" when nothing is. */
int sdm_vertical_declared(GDALDatasetH file, char *name, size_t size);

#endif
