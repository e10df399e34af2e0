/* Arguments and --list -> layers: each DEM is opened once, checked and described. */
// SPDX-License-Identifier: Apache-2.0
#include "core/list_file.h"
#include "core/path.h"
#include "core/system.h"
#include "coreg/input_raster.h"
#include "coreg/stack_layer.h"
#include "geo/first_band.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Text -> an own copy. */
static SdmStatus copy_text(SdmContext *ctx, const char *text, char **out)
{
    const size_t size = strlen(text) + 1;
    const SdmStatus st = sdm_alloc(ctx, out, size, 1, "name of a DEM");
    if (!st)
        memcpy(*out, text, size);
    return st;
}

/* Add the DEMs of an open list to the paths, which have room for them. */
static SdmStatus add_list(SdmContext *ctx, const char *path, SdmListFile *list, SdmPaths *out)
{
    SdmStatus st = SDM_OK;
    const int before = out->count;
    for (char *entry; (entry = sdm_list_file_next(list)) != NULL;) {
        char joined[SDM_PATH_SIZE];
        const char *const name = sdm_list_file_unquote(entry);
        if (list->has_control || strlen(list->folder) + strlen(name) + 8 > SDM_PATH_SIZE)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "--list %s: line %d is no file name; expected text with one DEM a line", path,
                            list->line);
        TRY(sdm_path_join(ctx, list->folder, name, joined));
        TRY(copy_text(ctx, joined, &out->path[out->count++]));
    }
    if (out->count == before)
        st = sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: names no DEM; expected one a line", path);
done:
    return st;
}

SdmStatus sdm_stack_paths(SdmContext *ctx, const char *const *dems, int count, const char *list,
                          SdmPaths *out)
{
    SdmStatus st = SDM_OK;
    SdmListFile file = {.lines = 0};
    if (list)
        TRY(sdm_list_file_open(ctx, "--list", list, "one DEM a line", &file));
    TRY(sdm_alloc(ctx, &out->path, (size_t)count + (size_t)file.lines + 1, sizeof *out->path,
                  "list of DEMs"));
    for (int i = 0; i < count; i++)
        TRY(copy_text(ctx, dems[i], &out->path[out->count++]));
    if (list)
        TRY(add_list(ctx, list, &file, out));
done:
    sdm_list_file_close(&file);
    return st;
}

/* Is the path NAME_qa.tif, NAME_ortho.tif ... of a NAME.tif among the paths, and no DEM? */
static bool is_beside(const SdmPaths *paths, const char *path)
{
    static const char *const end[] = {"_qa.tif", "_ortho.tif", "_change.tif", "_trend.tif"};
    bool found = false;
    for (size_t k = 0; k < sizeof end / sizeof *end; k++) {
        if (!sdm_path_ends_in(path, end[k]))
            continue;
        const size_t stem = strlen(path) - strlen(end[k]);
        for (int i = 0; i < paths->count && !found; i++)
            found =
                strncmp(paths->path[i], path, stem) == 0 && (strcasecmp(paths->path[i] + stem, ".tif") == 0 ||
                                                             strcasecmp(paths->path[i] + stem, ".tiff") == 0);
    }
    GDALDatasetH const file = found ? GDALOpenEx(path, GDAL_OF_RASTER, NULL, NULL, NULL) : NULL;
    found = file && GDALGetRasterCount(file) > 0 && sdm_is_companion(file);
    if (file)
        GDALClose(file);
    return found;
}

/* Leave out what lies beside the DEMs: `*.tif` names it, too. */
static SdmStatus drop_companions(SdmContext *ctx, SdmPaths *paths)
{
    SdmStatus st = SDM_OK;
    bool *drop = NULL;
    int kept = 0, first = -1;
    TRY(sdm_alloc(ctx, &drop, (size_t)paths->count + 1, sizeof *drop, "list of DEMs"));
    for (int i = 0; i < paths->count; i++)
        if ((drop[i] = is_beside(paths, paths->path[i])) && first < 0)
            first = i;
    if (first >= 0)
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "left out: %s, as is all that lies beside a DEM of the list and is none", paths->path[first]);
    for (int i = 0; i < paths->count; i++)
        if (drop[i])
            sdm_free(&paths->path[i]);
        else
            paths->path[kept++] = paths->path[i];
    for (int i = kept; i < paths->count; i++)
        paths->path[i] = NULL;
    paths->count = kept;
done:
    sdm_free(&drop);
    return st;
}

void sdm_paths_free(SdmPaths *paths)
{
    for (int i = 0; i < paths->count; i++)
        sdm_free(&paths->path[i]);
    sdm_free(&paths->path);
}

static void set_crs(SdmLayerCrs *crs, const SdmInputRaster *raster)
{
    OSRDestroySpatialReference(crs->srs);
    CPLFree(crs->wkt);
    crs->srs = OSRClone(raster->srs);
    OSRSetAxisMappingStrategy(crs->srs, OAMS_TRADITIONAL_GIS_ORDER);
    crs->wkt = CPLStrdup(raster->wkt);
}

/* Index of the raster's CRS, which is added when it is new.  Where one CRS is spelt in two ways, the
 * alphabetically first is kept, so that the order of the DEMs makes no difference. */
static int find_crs(SdmStack *s, const SdmInputRaster *raster)
{
    for (int i = 0; i < s->crs_count; i++)
        if (strcmp(s->crs[i].wkt, raster->wkt) == 0 || OSRIsSame(s->crs[i].srs, raster->srs)) {
            if (strcmp(raster->wkt, s->crs[i].wkt) < 0)
                set_crs(&s->crs[i], raster);
            return i;
        }
    set_crs(&s->crs[s->crs_count], raster);
    return s->crs_count++;
}

/* Find NAME_qa.tif beside NAME.tif: a raster on the same pixels with a mask whose bit 1 is `filled`. */
static SdmStatus find_qa(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    char *qa = NULL;
    double transform[6];
    const char *const dot = strrchr(l->path, '.');
    GDALDatasetH ds = NULL;
    if (!dot || (strcasecmp(dot, ".tif") != 0 && strcasecmp(dot, ".tiff") != 0))
        return SDM_OK;
    const size_t size = (size_t)(dot - l->path) + sizeof "_qa.tif";
    TRY(sdm_alloc(s->ctx, &qa, size, 1, "name of a DEM"));
    snprintf(qa, size, "%.*s_qa.tif", (int)(dot - l->path), l->path);
    ds = GDALOpenEx(qa, GDAL_OF_RASTER, NULL, NULL, NULL);
    const char *const bit = ds ? GDALGetMetadataItem(ds, "MASK_BIT_1", NULL) : NULL;
    if (!bit || strcmp(bit, sdm_qa_names[1]) != 0 || GDALGetRasterXSize(ds) != l->width ||
        GDALGetRasterYSize(ds) != l->height || GDALGetGeoTransform(ds, transform) != CE_None ||
        memcmp(transform, l->transform, sizeof transform) != 0)
        goto done;
    for (int b = GDALGetRasterCount(ds); b > 0; b--) {
        const char *const name = GDALGetDescription(GDALGetRasterBand(ds, b));
        l->qa_band = strcmp(name, "mask") == 0 ? b : l->qa_band;
        l->error_band = s->opt->trend && strcmp(name, sdm_qa_scene.band[6].name) == 0 ? b : l->error_band;
    }
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

/* A datum that the file declares goes before the option, and the option before a guess from name or cells. */
static SdmStatus read_datum(SdmStack *s, SdmInputRaster *raster, SdmLayer *l)
{
    SdmDatumFound *const datum = &raster->datum;
    char phrase[360];
    if (datum->by >= SDM_DATUM_NAMED)
        sdm_vertical_give(datum, "--dem-vertical", s->opt->dem_vertical);
    l->vertical = datum->vertical;
    if (datum->vertical == SDM_VERTICAL_OTHER)
        return sdm_fail(
            s->ctx, SDM_ERR_UNSUPPORTED,
            "DEM %s: its heights are above '%s', and only ellipsoid, EGM96 and EGM2008 can be converted; "
            "run gdalwarp on it first",
            l->path, datum->name);
    if (datum->by >= SDM_DATUM_NAMED && datum->vertical != SDM_VERTICAL_UNKNOWN) {
        sdm_vertical_phrase(datum, phrase, sizeof phrase);
        sdm_log(s->ctx, SDM_LOG_INFO, 1, "DEM %s: heights above %s (--dem-vertical says otherwise)", l->path,
                phrase);
    }
    return SDM_OK;
}

static SdmStatus describe(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    SdmInputRaster raster = {0};
    TRY(sdm_input_raster_open(s->ctx, l->path, "DEM", &raster));
    l->width = GDALGetRasterXSize(raster.file);
    l->height = GDALGetRasterYSize(raster.file);
    GDALGetGeoTransform(raster.file, l->transform);
    l->pixel = sqrt(fabs(l->transform[1] * l->transform[5] - l->transform[2] * l->transform[4]));
    sdm_layer_read_acquisition(raster.file, l);
    TRY(read_datum(s, &raster, l));
    l->crs = find_crs(s, &raster);
    s->crs[l->crs].pixels += l->width * l->height;
    TRY(find_qa(s, l));
    if (s->opt->trend)
        sdm_layer_read_date(s->ctx, raster.file, l);
done:
    sdm_input_raster_close(&raster);
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
            if (strcmp(paths[i], paths[j]) == 0 || (file && sdm_system_is_same(paths[i], paths[j]))) {
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

/* Either all layers declare a vertical datum, or none does. */
static SdmStatus check_datums(SdmStack *s)
{
    int known = -1, unknown = -1;
    for (int i = 0; i < s->count; i++) {
        known = s->layer[i].vertical >= 0 && known < 0 ? i : known;
        unknown = s->layer[i].vertical < 0 && unknown < 0 ? i : unknown;
    }
    if (known >= 0 && unknown >= 0)
        return sdm_fail(
            s->ctx, SDM_ERR_DATA,
            "DEM %s declares no vertical datum, but %s declares %s; give --dem-vertical ellipsoid, "
            "egm96 or egm2008",
            s->layer[unknown].path, s->layer[known].path, sdm_vertical_name(s->layer[known].vertical));
    s->datum_unknown = unknown >= 0;
    if (s->datum_unknown && s->options->vertical != SDM_ELLIPSOID)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "--vertical %s needs the vertical datums of the DEMs, and %s declares none; give "
                        "--dem-vertical ellipsoid, egm96 or egm2008",
                        sdm_vertical_word(s->options->vertical), s->layer[unknown].path);
    if (s->datum_unknown)
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "no DEM declares a vertical datum: assumed to be the same for all, and the stack declares "
                "none; otherwise give --dem-vertical");
    return SDM_OK;
}

static SdmStatus find_paths(SdmStack *s, const char *const *dems, int count, SdmPaths *paths)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_stack_paths(s->ctx, dems, count, s->opt->list, paths));
    TRY(drop_companions(s->ctx, paths));
    if (paths->count < 2) {
        st = sdm_fail(s->ctx, SDM_ERR_USAGE, "found %d DEM%s, expected at least two to stack", paths->count,
                      paths->count == 1 ? "" : "s");
        goto done;
    }
    if (s->opt->dates && !s->opt->trend) {
        st = sdm_fail(s->ctx, SDM_ERR_USAGE, "--dates: needs --trend, found none");
        goto done;
    }
    TRY(check_twice(s->ctx, paths->path, paths->count));
    if (s->keep)
        TRY(sdm_grid_check_srs(s->ctx, s->options->t_srs));
    else
        TRY(sdm_product_check(s->ctx, s->options, (const char *const *)paths->path, paths->count));
done:
    return st;
}

static double weight_of(const SdmStackFusion *fusion, int given)
{
    const double ratio = fusion ? fusion->sigma_m[fusion->reference] / fusion->sigma_m[given] : 1.0;
    return ratio * ratio;
}

SdmStatus sdm_stack_open(SdmStack *s, const char *const *dems, int count)
{
    SdmStatus st = SDM_OK;
    SdmPaths paths = {0};
    TRY(find_paths(s, dems, count, &paths));
    TRY(sdm_alloc(s->ctx, &s->layer, (size_t)paths.count, sizeof *s->layer, "DEMs"));
    TRY(sdm_alloc(s->ctx, &s->crs, (size_t)paths.count, sizeof *s->crs, "DEMs"));
    while (s->count < paths.count) {
        SdmLayer *const l = &s->layer[s->count];
        l->given = s->count;
        l->weight = weight_of(s->opt->fusion, l->given);
        l->path = paths.path[s->count]; /* handed over */
        paths.path[s->count++] = NULL;
        TRY(describe(s, l));
        TRY(sdm_check_stop(s->ctx));
    }
    TRY(check_datums(s));
    if (s->opt->trend)
        TRY(sdm_stack_dates(s));
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
        sdm_free(&s->layer[i].residual);
        sdm_free(&s->layer[i].unstable);
        sdm_free(&s->layer[i].bias_m);
    }
    for (int i = 0; i < s->crs_count; i++) {
        if (s->crs[i].to_grid)
            OCTDestroyCoordinateTransformation(s->crs[i].to_grid);
        OSRDestroySpatialReference(s->crs[i].srs);
        CPLFree(s->crs[i].wkt);
    }
    sdm_free(&s->crs);
    sdm_free(&s->tolerance_m);
    sdm_stack_trend_close(s);
    sdm_free(&s->layer);
}
