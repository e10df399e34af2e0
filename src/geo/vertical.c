/* CRS and metadata of a raster -> what its heights are above. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/vertical.h"
#include "core/options.h"

#include <ogr_srs_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *sdm_vertical_name(int vertical)
{
    static const char *const names[] = {"WGS 84 ellipsoid", "EGM96", "EGM2008"};
    return names[vertical];
}

static const char *const words[] = {"ellipsoid", "egm96", "egm2008"};

const char *sdm_vertical_word(int vertical)
{
    return words[vertical];
}

int sdm_vertical_of_word(const char *word)
{
    for (int k = SDM_ELLIPSOID; k <= SDM_EGM2008; k++)
        if (strcmp(word, words[k]) == 0)
            return k;
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

int sdm_vertical_declared(GDALDatasetH file, char *name, size_t size)
{
    const OGRSpatialReferenceH srs = GDALGetSpatialRef(file);
    const bool compound = srs && OSRIsCompound(srs);
    const char *said = compound ? OSRGetAttrValue(srs, "VERT_CS", 0) : NULL;
    if (!said && srs && !compound && OSRGetAxesCount(srs) == 3)
        said = sdm_vertical_name(SDM_ELLIPSOID);
    if (!said)
        said = GDALGetMetadataItem(file, "VERTICAL_DATUM", NULL);
    snprintf(name, size, "%s", said ? said : "");
    return *name ? datum_of_name(name) : SDM_VERTICAL_UNKNOWN;
}
