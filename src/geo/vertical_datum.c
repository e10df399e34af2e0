/* A raster's declaration, or a word of the command line -> its vertical datum. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/vertical_datum.h"
#include "core/options.h"

#include <ogr_srs_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const SdmVerticalDatum datums[] = {
    [SDM_ELLIPSOID] = {"ellipsoid", "WGS 84 ellipsoid", "the WGS 84 ellipsoid", NULL, 0, {NULL}},
    [SDM_EGM96] =
        {"egm96", "EGM96", "the EGM96 geoid", "EGM96 height", 5773, {"us_nga_egm96_15.tif", "egm96_15.gtx"}},
    [SDM_EGM2008] = {"egm2008",
                     "EGM2008",
                     "the EGM2008 geoid",
                     "EGM2008 height",
                     3855,
                     {"us_nga_egm08_25.tif", "egm08_25.gtx"}},
};
enum { DATUMS = sizeof datums / sizeof *datums };

const SdmVerticalDatum *sdm_vertical_datum(int vertical)
{
    return &datums[vertical];
}

const char *sdm_vertical_name(int vertical)
{
    return datums[vertical].name;
}

const char *sdm_vertical_word(int vertical)
{
    return datums[vertical].word;
}

int sdm_vertical_of_word(const char *word)
{
    for (int i = 0; word && i < DATUMS; i++)
        if (!strcmp(word, datums[i].word))
            return i;
    return SDM_VERTICAL_UNKNOWN;
}

static bool contains(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, n) == 0)
            return true;
    return false;
}

/* A datum's name, as CRS and metadata write it -> SdmVertical or SDM_VERTICAL_OTHER. */
static int datum_of_name(const char *name)
{
    static const struct {
        const char *part;
        int vertical;
    } known[] = {
        {"ellipsoid", SDM_ELLIPSOID}, {"EGM96", SDM_EGM96},     {"EGM 96", SDM_EGM96},
        {"EGM1996", SDM_EGM96},       {"EGM2008", SDM_EGM2008}, {"EGM08", SDM_EGM2008},
        {"EGM 2008", SDM_EGM2008},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (contains(name, known[i].part))
            return known[i].vertical;
    return SDM_VERTICAL_OTHER;
}

int sdm_vertical_of_srs(OGRSpatialReferenceH srs, const char *metadata, char *name, size_t size)
{
    const bool compound = srs && OSRIsCompound(srs);
    const char *declared = compound ? OSRGetAttrValue(srs, "VERT_CS", 0) : NULL;
    if (!declared && srs && !compound && OSRGetAxesCount(srs) == 3)
        declared = datums[SDM_ELLIPSOID].name;
    if (!declared)
        declared = metadata;
    snprintf(name, size, "%s", declared ? declared : "");
    return *name ? datum_of_name(name) : SDM_VERTICAL_UNKNOWN;
}

int sdm_vertical_declared(GDALDatasetH file, char *name, size_t size)
{
    return sdm_vertical_of_srs(GDALGetSpatialRef(file), GDALGetMetadataItem(file, "VERTICAL_DATUM", NULL),
                               name, size);
}
