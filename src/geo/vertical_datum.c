/* A raster's declaration, name and cells, or a word of the command line -> its vertical datum. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/vertical_datum.h"
#include "core/options.h"
#include "core/system.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <ctype.h>
#include <math.h>
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

/* ---- products ---- */

enum { NAME_SIZE = 200, DEEPEST = 3 /* VRT of VRTs */ };

/* A product by the name of its files, in small letters: * is any text, [abc] and [a-c] one letter; the first
 * row that fits serves.  Words of users come first: they say what was done to a product. */
typedef struct Product {
    const char *pattern, *name;
    int vertical, epsg; /* epsg: of the vertical CRS of SDM_VERTICAL_OTHER */
} Product;

static const Product products[] = {
    {"*ellip*", "heights above an ellipsoid", SDM_ELLIPSOID, 0},
    {"*srtmgl[13]_e*", "SRTM above the ellipsoid", SDM_ELLIPSOID, 0},
    {"*aw3d30_e*", "AW3D30 above the ellipsoid", SDM_ELLIPSOID, 0},
    {"*egm2008*", "heights above EGM2008", SDM_EGM2008, 0},
    {"*egm08*", "heights above EGM2008", SDM_EGM2008, 0},
    {"*egm96*", "heights above EGM96", SDM_EGM96, 0},
    {"*fabdem*", "FABDEM", SDM_EGM2008, 0},
    {"*copernicus*", "the Copernicus DEM (GLO-30, GLO-90)", SDM_EGM2008, 0},
    {"*glo[-_]30*", "the Copernicus DEM (GLO-30)", SDM_EGM2008, 0},
    {"*glo[-_]90*", "the Copernicus DEM (GLO-90)", SDM_EGM2008, 0},
    {"*glo30*", "the Copernicus DEM (GLO-30)", SDM_EGM2008, 0},
    {"*glo90*", "the Copernicus DEM (GLO-90)", SDM_EGM2008, 0},
    {"*cop30*", "the Copernicus DEM (GLO-30)", SDM_EGM2008, 0},
    {"*cop90*", "the Copernicus DEM (GLO-90)", SDM_EGM2008, 0},
    {"*cop[-_]dem*", "the Copernicus DEM (GLO-30, GLO-90)", SDM_EGM2008, 0},
    {"*worlddem*", "WorldDEM", SDM_EGM2008, 0},
    {"*tdm1_*dem*", "the TanDEM-X DEM", SDM_ELLIPSOID, 0},
    {"*arcticdem*", "ArcticDEM", SDM_ELLIPSOID, 0},
    {"setsm_*", "ArcticDEM or REMA", SDM_ELLIPSOID, 0},
    {"rema_*", "REMA", SDM_ELLIPSOID, 0},
    {"*alpsmlc30*", "AW3D30", SDM_EGM96, 0},
    {"*aw3d*", "AW3D30", SDM_EGM96, 0},
    {"[ns][0-9][0-9][0-9][ew][0-9][0-9][0-9]_ave_dsm*", "AW3D30", SDM_EGM96, 0},
    {"*astgtm*", "ASTER GDEM", SDM_EGM96, 0},
    {"*nasadem*", "NASADEM", SDM_EGM96, 0},
    {"*srtm*", "SRTM", SDM_EGM96, 0},
    {"[ns][0-9][0-9]_[ew][0-9][0-9][0-9]_[13]arc*", "SRTM", SDM_EGM96, 0},
    {"[ns][0-9][0-9][ew][0-9][0-9][0-9]*", "SRTM or NASADEM", SDM_EGM96, 0},
    {"*merit*dem*", "MERIT DEM", SDM_EGM96, 0},
    {"*gmted*", "GMTED2010", SDM_EGM96, 0},
    {"usgs_1_*", "3DEP (NAVD 88)", SDM_VERTICAL_OTHER, 5703},
    {"usgs_13_*", "3DEP (NAVD 88)", SDM_VERTICAL_OTHER, 5703},
    {"*swissalti3d*", "swissALTI3D (LN02)", SDM_VERTICAL_OTHER, 5728},
    {"*rge*alti*", "RGE ALTI (NGF-IGN69)", SDM_VERTICAL_OTHER, 5720},
    {"*eu*dem_v1*", "EU-DEM (EVRF2000)", SDM_VERTICAL_OTHER, 5730},
};

static bool fits(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return fits(pattern + 1, name) || (*name && fits(pattern, name + 1));
    if (*pattern != '[' || !*name)
        return *pattern == *name && (!*name || fits(pattern + 1, name + 1));
    const char *const end = strchr(pattern, ']');
    bool inside = false;
    for (const char *p = pattern + 1; p < end; p++)
        if (p[1] == '-' && p + 2 < end) {
            inside = inside || (*name >= p[0] && *name <= p[2]);
            p += 2;
        } else {
            inside = inside || *name == *p;
        }
    return inside && fits(end + 1, name + 1);
}

static const Product *product_of(const char *name)
{
    char small[NAME_SIZE];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof small; n++)
        small[n] = (char)tolower((unsigned char)name[n]);
    small[n] = '\0';
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (fits(products[i].pattern, small))
            return &products[i];
    return NULL;
}

/* Datum by the names of a raster and of its sources. */
typedef struct Names {
    const Product *product, *other; /* the first one; the first of another datum */
    char name[NAME_SIZE];           /* of the file of the first */
} Names;

static void take_name(Names *n, const char *path)
{
    const char *const slash = sdm_system_slash(path), *const name = slash ? slash + 1 : path;
    const Product *const p = product_of(name);
    if (!p)
        return;
    if (!n->product) {
        n->product = p;
        snprintf(n->name, sizeof n->name, "%s", name);
    } else if (!n->other && (p->vertical != n->product->vertical || p->epsg != n->product->epsg)) {
        n->other = p;
    }
}

static void take_sources(Names *n, GDALDatasetH file, int depth);

/* A source of a VRT; one that is a VRT itself is opened. */
static void take_source(Names *n, const char *folder, const char *path, int depth)
{
    const size_t length = strlen(path);
    const Product *const before = n->product;
    take_name(n, path);
    if (n->product != before || depth >= DEEPEST || length < 4 || strcasecmp(path + length - 4, ".vrt") != 0)
        return;
    GDALDatasetH const file = GDALOpen(CPLProjectRelativeFilename(folder, path), GA_ReadOnly);
    if (file) {
        take_sources(n, file, depth + 1);
        GDALClose(file);
    }
}

/* The names of a VRT's sources, from its XML: no file is looked for, since there may be thousands, far
 * away. */
static void take_sources(Names *n, GDALDatasetH file, int depth)
{
    static const char *const tags[] = {"<SourceFilename", "<SourceDataset"};
    char **const xml = GDALGetMetadata(file, "xml:VRT");
    char folder[1024], path[1024];
    snprintf(folder, sizeof folder, "%s", CPLGetPath(GDALGetDescription(file)));
    for (int k = 0; xml && xml[0] && k < 2; k++)
        for (const char *at = strstr(xml[0], tags[k]); at && !n->other; at = strstr(at, tags[k])) {
            const char *const begin = strchr(at, '>'), *const end = begin ? strchr(begin, '<') : NULL;
            if (!end)
                break;
            snprintf(path, sizeof path, "%.*s", (int)(end - begin - 1), begin + 1);
            take_source(n, folder, path, depth);
            at = end;
        }
}

/* ---- what is found ---- */

/* By names.  False: they tell nothing. */
static bool find_by_names(GDALDatasetH file, SdmDatumFound *out)
{
    Names n = {.product = NULL};
    take_name(&n, GDALGetDescription(file));
    CPLPushErrorHandler(CPLQuietErrorHandler);
    if (!n.product)
        take_sources(&n, file, 0);
    CPLPopErrorHandler();
    if (!n.product)
        return false;
    out->by = SDM_DATUM_NAMED;
    out->vertical = n.other ? SDM_VERTICAL_OTHER : n.product->vertical;
    out->epsg = n.other ? 0 : n.product->epsg;
    snprintf(out->name, sizeof out->name, "%s",
             out->vertical == SDM_VERTICAL_OTHER ? n.product->name : datums[out->vertical].name);
    if (n.other)
        snprintf(out->name, sizeof out->name, "those of %.40s and %.40s", n.product->name, n.other->name);
    snprintf(out->why, sizeof out->why, "as the name %.80s is that of %s", n.name, n.product->name);
    return true;
}

/* By the cells: DEMs of the whole Earth come in degrees, above a geoid.  The elder ones hold whole
 * numbers. */
static void find_by_cells(GDALDatasetH file, SdmDatumFound *out)
{
    double g[6];
    OGRSpatialReferenceH const srs = GDALGetSpatialRef(file);
    GDALRasterBandH const band = GDALGetRasterBand(file, 1);
    out->by = SDM_DATUM_ASSUMED;
    if (!srs || !band || !OSRIsGeographic(srs) || GDALGetGeoTransform(file, g) != CE_None)
        return;
    const bool whole = GDALDataTypeIsInteger(GDALGetRasterDataType(band));
    out->vertical = whole ? SDM_EGM96 : SDM_EGM2008;
    snprintf(out->name, sizeof out->name, "%s", datums[out->vertical].name);
    snprintf(out->why, sizeof out->why,
             "as nothing tells its datum, and %s in degrees (%.3g\" a cell) are usually of %s",
             whole ? "whole numbers" : "heights", 3600.0 * fabs(g[5]),
             whole ? "SRTM, NASADEM or ASTER GDEM" : "GLO-30");
}

void sdm_vertical_find(GDALDatasetH file, SdmDatumFound *out)
{
    *out = (SdmDatumFound){.by = SDM_DATUM_DECLARED};
    out->vertical =
        sdm_vertical_of_srs(GDALGetSpatialRef(file), GDALGetMetadataItem(file, "VERTICAL_DATUM", NULL),
                            out->name, sizeof out->name);
    if (out->vertical != SDM_VERTICAL_UNKNOWN)
        snprintf(out->why, sizeof out->why, "as it declares");
    else if (!find_by_names(file, out))
        find_by_cells(file, out);
}

void sdm_vertical_give(SdmDatumFound *datum, const char *option, const char *word)
{
    const int vertical = sdm_vertical_of_word(word);
    if (vertical == SDM_VERTICAL_UNKNOWN)
        return;
    *datum = (SdmDatumFound){.vertical = vertical, .by = SDM_DATUM_GIVEN};
    snprintf(datum->name, sizeof datum->name, "%s", datums[vertical].name);
    snprintf(datum->why, sizeof datum->why, "as %s says", option);
}

char *sdm_vertical_crs(GDALDatasetH file, const SdmDatumFound *datum)
{
    char *wkt = NULL;
    const char *const form[] = {"FORMAT=WKT2", NULL};
    OGRSpatialReferenceH srs = OSRClone(GDALGetSpatialRef(file)), flat = NULL, up = NULL;
    if (datum->epsg) {
        flat = srs;
        up = OSRNewSpatialReference(NULL);
        srs = OSRNewSpatialReference(NULL);
        OSRDemoteTo2D(flat, NULL);
        if (OSRImportFromEPSG(up, datum->epsg) != OGRERR_NONE ||
            OSRSetCompoundCS(srs, "compound", flat, up) != OGRERR_NONE)
            goto done;
    }
    if (OSRIsCompound(srs) || OSRGetAxesCount(srs) == 3)
        OSRExportToWktEx(srs, &wkt, form);
done:
    OSRDestroySpatialReference(srs);
    OSRDestroySpatialReference(flat);
    OSRDestroySpatialReference(up);
    return wkt;
}

void sdm_vertical_phrase(const SdmDatumFound *datum, char *text, size_t size)
{
    if (datum->vertical == SDM_VERTICAL_UNKNOWN)
        snprintf(text, size, "the WGS 84 ellipsoid, as nothing tells its datum");
    else
        snprintf(text, size, "%s, %s",
                 datum->vertical == SDM_ELLIPSOID ? datums[SDM_ELLIPSOID].name : datum->name, datum->why);
}
