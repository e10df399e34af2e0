/* Arguments and --list -> layers: each DEM opened once and described. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "coreg/stack_layer.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static SdmStatus own(SdmContext *ctx, const char *text, size_t length, const char *more, char **out)
{
    const size_t size = length + strlen(more) + 1;
    const SdmStatus st = sdm_alloc(ctx, out, size, 1, "name of a DEM");
    if (!st)
        snprintf(*out, size, "%.*s%s", (int)length, text, more);
    return st;
}

static void set_crs(SdmLayerCrs *crs, const SdmOperand *op)
{
    OSRDestroySpatialReference(crs->srs);
    CPLFree(crs->wkt);
    crs->srs = OSRClone(op->srs);
    OSRSetAxisMappingStrategy(crs->srs, OAMS_TRADITIONAL_GIS_ORDER);
    crs->wkt = CPLStrdup(op->wkt);
}

/* Index of the CRS among those met so far, added when it is new.  Of two spellings of one CRS the first in
 * the order of their text stays, whatever the order of the DEMs. */
static int find_crs(SdmStack *s, const SdmOperand *op)
{
    for (int i = 0; i < s->crs_count; i++)
        if (strcmp(s->crs[i].wkt, op->wkt) == 0 || OSRIsSame(s->crs[i].srs, op->srs)) {
            if (strcmp(op->wkt, s->crs[i].wkt) < 0)
                set_crs(&s->crs[i], op);
            return i;
        }
    set_crs(&s->crs[s->crs_count], op);
    return s->crs_count++;
}

/* NAME_qa.tif beside NAME.tif: a raster on the same pixels with a mask whose bit 1 is `filled`. */
static SdmStatus find_qa(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    char *qa = NULL;
    double geo[6];
    const char *const dot = strrchr(l->path, '.');
    GDALDatasetH ds = NULL;
    if (!dot || (strcasecmp(dot, ".tif") != 0 && strcasecmp(dot, ".tiff") != 0))
        return SDM_OK;
    TRY(own(s->ctx, l->path, (size_t)(dot - l->path), "_qa.tif", &qa));
    ds = GDALOpenEx(qa, GDAL_OF_RASTER, NULL, NULL, NULL);
    const char *const bit = ds ? GDALGetMetadataItem(ds, "MASK_BIT_1", NULL) : NULL;
    if (!bit || strcmp(bit, sdm_qa_names[1]) != 0 || GDALGetRasterXSize(ds) != l->width ||
        GDALGetRasterYSize(ds) != l->height || GDALGetGeoTransform(ds, geo) != CE_None ||
        memcmp(geo, l->geo, sizeof geo) != 0)
        goto done;
    for (int b = 1; b <= GDALGetRasterCount(ds) && !l->qa_band; b++)
        if (strcmp(GDALGetDescription(GDALGetRasterBand(ds, b)), "mask") == 0)
            l->qa_band = b;
    if (l->qa_band) {
        l->qa = qa;
        qa = NULL;
    }
done:
    if (ds)
        GDALClose(ds);
    sdm_free(&qa);
    return st;
}

static SdmStatus read_datum(SdmStack *s, const SdmOperand *op, SdmLayer *l)
{
    static const char *const words[] = {"ellipsoid", "egm96", "egm2008"};
    l->vertical = op->vertical;
    if (op->vertical == SDM_VERTICAL_OTHER)
        return sdm_fail(
            s->ctx, SDM_ERR_UNSUPPORTED,
            "DEM %s: its heights are above '%s', and only ellipsoid, EGM96 and EGM2008 can be converted; "
            "run gdalwarp on it first",
            l->path, op->vertical_name);
    for (int k = 0; k < 3 && l->vertical == SDM_VERTICAL_UNKNOWN && s->opt->dem_vertical; k++)
        if (strcmp(s->opt->dem_vertical, words[k]) == 0)
            l->vertical = k;
    return SDM_OK;
}

static SdmStatus describe(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    SdmOperand op = {0};
    TRY(sdm_operand_open(s->ctx, l->path, "DEM", &op));
    l->width = GDALGetRasterXSize(op.file);
    l->height = GDALGetRasterYSize(op.file);
    if (GDALGetGeoTransform(op.file, l->geo) != CE_None || !GDALInvGeoTransform(l->geo, l->to_pixel)) {
        st = sdm_fail(s->ctx, SDM_ERR_INPUT, "DEM %s: has no geotransform, so its place is unknown", l->path);
        goto done;
    }
    if (GDALDataTypeIsComplex(GDALGetRasterDataType(GDALGetRasterBand(op.file, 1)))) {
        st = sdm_fail(s->ctx, SDM_ERR_INPUT, "DEM %s: its pixels are complex numbers, expected heights",
                      l->path);
        goto done;
    }
    if (!OSRIsProjected(op.srs) && !OSRIsGeographic(op.srs)) {
        st = sdm_fail(s->ctx, SDM_ERR_INPUT,
                      "DEM %s: its coordinate reference system is neither projected nor geographic", l->path);
        goto done;
    }
    l->cell = sqrt(fabs(l->geo[1] * l->geo[5] - l->geo[2] * l->geo[4]));
    TRY(read_datum(s, &op, l));
    l->crs = find_crs(s, &op);
    s->crs[l->crs].cells += l->width * l->height;
    TRY(find_qa(s, l));
done:
    sdm_operand_close(&op);
    return st;
}

/* A DEM given twice would count twice. */
static SdmStatus check_twice(SdmContext *ctx, char **paths, int count)
{
    SdmStatus st = SDM_OK;
    struct stat *info = NULL;
    TRY(sdm_alloc(ctx, &info, (size_t)count, sizeof *info, "list of DEMs"));
    for (int i = 0; i < count; i++) {
        const bool file = stat(paths[i], &info[i]) == 0;
        for (int j = 0; j < i; j++)
            if (strcmp(paths[i], paths[j]) == 0 ||
                (file && info[j].st_ino == info[i].st_ino && info[j].st_dev == info[i].st_dev)) {
                st = sdm_fail(ctx, SDM_ERR_USAGE, "DEM %s: given twice (also as %s), expected once", paths[i],
                              paths[j]);
                goto done;
            }
        if (!file)
            info[i] = (struct stat){0};
    }
done:
    sdm_free(&info);
    return st;
}

/* Either all layers say what their heights are above, or none does. */
static SdmStatus check_datums(SdmStack *s)
{
    static const char *const name[] = {"the WGS 84 ellipsoid", "EGM96", "EGM2008"};
    int known = -1, unknown = -1;
    for (int i = 0; i < s->count; i++) {
        known = s->layer[i].vertical >= 0 && known < 0 ? i : known;
        unknown = s->layer[i].vertical < 0 && unknown < 0 ? i : unknown;
    }
    if (known >= 0 && unknown >= 0)
        return sdm_fail(
            s->ctx, SDM_ERR_DATA,
            "DEM %s does not say what its heights are above, but %s says %s; give --dem-vertical ellipsoid, "
            "egm96 or egm2008",
            s->layer[unknown].path, s->layer[known].path, name[s->layer[known].vertical]);
    s->datum_unknown = unknown >= 0;
    if (s->datum_unknown && sdm_options(s->ctx)->vertical != SDM_ELLIPSOID)
        return sdm_fail(
            s->ctx, SDM_ERR_DATA,
            "--vertical %s needs to know what the heights of the DEMs are above, and %s does not say; give "
            "--dem-vertical ellipsoid, egm96 or egm2008",
            sdm_options(s->ctx)->vertical == SDM_EGM96 ? "egm96" : "egm2008", s->layer[unknown].path);
    if (s->datum_unknown)
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "no DEM says what its heights are above: taken as the same, and the stack will not say "
                "either; else give --dem-vertical");
    return SDM_OK;
}

static SdmStatus gather(SdmStack *s, const char *const *dems, int count, SdmPaths *paths)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < count; i++)
        TRY(sdm_paths_add(s->ctx, paths, "", 0, dems[i]));
    if (s->opt->list)
        TRY(sdm_stack_list(s->ctx, s->opt->list, paths));
    if (paths->count < 2) {
        st = sdm_fail(s->ctx, SDM_ERR_USAGE, "found %d DEM%s, expected at least two to stack", paths->count,
                      paths->count == 1 ? "" : "s");
        goto done;
    }
    TRY(check_twice(s->ctx, paths->path, paths->count));
    TRY(sdm_product_check(s->ctx, sdm_options(s->ctx), (const char *const *)paths->path, paths->count));
done:
    return st;
}

SdmStatus sdm_stack_open(SdmStack *s, const char *const *dems, int count)
{
    SdmStatus st = SDM_OK;
    SdmPaths paths = {0};
    TRY(gather(s, dems, count, &paths));
    TRY(sdm_alloc(s->ctx, &s->layer, (size_t)paths.count, sizeof *s->layer, "DEMs"));
    TRY(sdm_alloc(s->ctx, &s->crs, (size_t)paths.count, sizeof *s->crs, "DEMs"));
    while (s->count < paths.count) {
        SdmLayer *const l = &s->layer[s->count];
        l->path = paths.path[s->count]; /* moves */
        paths.path[s->count++] = NULL;
        TRY(describe(s, l));
        TRY(sdm_check_stop(s->ctx));
    }
    TRY(check_datums(s));
done:
    sdm_paths_free(&paths);
    return st;
}

void sdm_stack_close(SdmStack *s)
{
    for (int i = 0; i < s->count; i++) {
        sdm_free(&s->layer[i].path);
        sdm_free(&s->layer[i].qa);
        sdm_free(&s->layer[i].sample);
        sdm_free(&s->layer[i].rest);
        sdm_free(&s->layer[i].unstable);
        sdm_free(&s->layer[i].bias_m);
    }
    for (int i = 0; i < s->crs_count; i++) {
        for (int t = 0; s->crs[i].from_grid && t < s->threads; t++)
            if (s->crs[i].from_grid[t])
                OCTDestroyCoordinateTransformation(s->crs[i].from_grid[t]);
        if (s->crs[i].to_grid)
            OCTDestroyCoordinateTransformation(s->crs[i].to_grid);
        sdm_free(&s->crs[i].from_grid);
        OSRDestroySpatialReference(s->crs[i].srs);
        CPLFree(s->crs[i].wkt);
    }
    sdm_free(&s->crs);
    sdm_free(&s->layer);
}
