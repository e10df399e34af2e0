/* Arguments and --list -> layers: each DEM is opened once, checked and described. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/list_file.h"
#include "core/path.h"
#include "core/stats.h"
#include "core/system.h"
#include "coreg/input_raster.h"
#include "coreg/stack_trend.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "input/source.h"
#include "product/output_files.h"

#include <cJSON.h>
#include <cpl_conv.h>
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- dates: --dates, metadata of the file, NAME.json, its name ---- */

enum { LARGEST_JSON = 16 << 20 };

/* The first date in a text. */
static bool find_date(const char *text, char out[32])
{
    for (const char *at = text; *at; at++)
        if (isdigit((unsigned char)*at) && (at == text || !isdigit((unsigned char)at[-1])) &&
            sdm_date_read(at, out))
            return true;
    return false;
}

/* The metadata that programs write; not TIFFTAG_DATETIME, which is the time of the file. */
static bool date_of_metadata(GDALDatasetH file, char out[32])
{
    static const char *const key[][2] = {{"ACQUISITION_TIME_UTC", NULL},
                                         {"ACQUISITIONDATETIME", "IMAGERY"},
                                         {"ACQUISITION_DATETIME", NULL},
                                         {"ACQUISITION_DATE", NULL},
                                         {"DATE_ACQUIRED", NULL}};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        const char *const text = GDALGetMetadataItem(file, key[i][0], key[i][1]);
        if (text && find_date(text, out))
            return true;
    }
    return false;
}

/* scene.acquisition_time_utc of the report beside a DEM of `run`. */
static bool date_of_report(SdmContext *ctx, const char *dem, char out[32])
{
    char path[SDM_PATH_SIZE];
    SDM_OWNED char *text = NULL;
    size_t size = 0;
    struct stat at;
    snprintf(path, sizeof path, "%.*s.json", (int)sdm_path_stem(dem), dem);
    if (stat(path, &at) != 0 || sdm_file_read(ctx, path, LARGEST_JSON, &text, &size) != SDM_OK)
        return false;
    cJSON *const root = cJSON_ParseWithLength(text, size);
    const cJSON *const scene = cJSON_GetObjectItemCaseSensitive(root, "scene");
    const char *const time =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scene, "acquisition_time_utc"));
    const bool found = time && find_date(time, out);
    cJSON_Delete(root);
    return found;
}

/* Set the date that metadata, report or name of a DEM give, "" where none does. */
static void read_date(SdmContext *ctx, GDALDatasetH file, SdmLayer *l)
{
    const char *const name = sdm_path_base(l->path);
    if (date_of_metadata(file, l->date) || date_of_report(ctx, l->path, l->date))
        return;
    sdm_granule_time(name, l->date);
    if (!*l->date)
        (void)find_date(name, l->date);
}

/* The blank, comma or tab of a line behind which nothing but a date stands, with or without quotes; NULL:
 * none. A name may hold any of them. */
static char *find_cut(char *entry, char date[32])
{
    static const char cuts[] = " ,\t";
    for (char *at = entry + strcspn(entry, cuts); *at; at += 1 + strcspn(at + 1, cuts)) {
        const char *const text = at + 1 + strspn(at + 1, " \t");
        const bool quoted = *text == '"';
        const char *const end = sdm_date_read(text + quoted, date);
        if (end && strcmp(end, quoted ? "\"" : "") == 0)
            return at;
    }
    return NULL;
}

/* A line "NAME DATE" or "NAME,DATE" gives the DEMs of that name their date.  *name: points into the entry;
 * *found: how many there are. */
static SdmStatus take_line(SdmStack *s, const SdmListFile *list, char *entry, const char **name, int *found)
{
    char path[SDM_PATH_SIZE], date[32];
    char *cut = find_cut(entry, date);
    if (!cut || list->has_control)
        return sdm_fail(s->ctx, SDM_ERR_INPUT,
                        "--dates %s: line %d is '%.80s', expected the name of a DEM and its date, such as "
                        "dem.tif 2003-05-06, and nothing behind it",
                        s->opt->dates, list->line, entry);
    while (cut > entry && strchr(" \t", cut[-1]))
        cut--;
    *cut = '\0';
    *name = sdm_list_file_unquote(entry);
    PASS(sdm_path_join(s->ctx, list->folder, *name, path));
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        if (strcmp(l->path, *name) != 0 && !sdm_system_is_same(l->path, path) &&
            (*name != sdm_path_base(*name) || strcmp(sdm_path_base(l->path), *name) != 0))
            continue;
        if (l->date_given && strcmp(l->date, date) != 0)
            return sdm_fail(s->ctx, SDM_ERR_INPUT,
                            "--dates %s: line %d gives %s the date %.10s, an earlier line %.10s; give one",
                            s->opt->dates, list->line, l->path, date, l->date);
        memcpy(l->date, date, sizeof date);
        l->date_given = true;
        ++*found;
    }
    return SDM_OK;
}

static SdmStatus read_list(SdmStack *s)
{
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {.lines = 0};
    int known = 0, unknown = 0;
    char first[256] = ""; /* of the unknown ones */
    PASS(sdm_list_file_open(s->ctx, "--dates", s->opt->dates, "a DEM and its date a line", &list));
    for (char *entry; (entry = sdm_list_file_next(&list)) != NULL;) {
        const char *name = NULL;
        int found = 0;
        PASS(take_line(s, &list, entry, &name, &found));
        known += found > 0;
        if (!found && unknown++ == 0)
            snprintf(first, sizeof first, "line %d: '%.200s'", list.line, name);
    }
    if (known == 0)
        return sdm_fail(
            s->ctx, SDM_ERR_INPUT,
            "--dates %s: no line names a DEM of this stack%s%s; expected lines such as '%s 2003-05-06'",
            s->opt->dates, unknown ? ", the first is " : "", first, sdm_path_base(s->layer[0].path));
    if (unknown)
        sdm_log(
            s->ctx, SDM_LOG_WARNING, 0,
            "--dates %s: %d of %d lines name no DEM of this stack (the first is %s); expected its path or "
            "file name",
            s->opt->dates, unknown, known + unknown, first);
    return SDM_OK;
}

SdmStatus sdm_stack_check_dates(const SdmStack *s)
{
    int different = 0;
    for (int i = 0; i < s->count; i++) {
        bool first = true;
        for (int k = 0; k < i && first; k++)
            first = strcmp(s->layer[k].date, s->layer[i].date) != 0;
        different += first;
    }
    if (different >= SDM_TREND_LEAST)
        return SDM_OK;
    return sdm_fail(s->ctx, SDM_ERR_DATA,
                    "--trend: the %d DEMs are of %d date%s, expected at least %d; add DEMs of other dates",
                    s->count, different, different == 1 ? "" : "s", SDM_TREND_LEAST);
}

/* --dates before others. */
static SdmStatus set_dates(SdmStack *s)
{
    if (s->opt->dates)
        PASS(read_list(s));
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        if (!*l->date)
            return sdm_fail(s->ctx, SDM_ERR_DATA,
                            "DEM %s has no date in its metadata (ACQUISITION_TIME_UTC), NAME.json or name; "
                            "give --dates FILE with lines such as '%s 2003-05-06'",
                            l->path, sdm_path_base(l->path));
        l->year = sdm_time_days(l->date) / 365.25;
        if (!*l->acquisition && !strstr(l->date, "T00:00:00"))
            memcpy(l->acquisition, l->date, sizeof l->date);
    }
    return sdm_stack_check_dates(s);
}

/* ---- copies: a median of layers of one acquisition has the errors of one ---- */

static const double SAME_PLACE = 0.05, SAME_SIZE = 1.1; /* of the diagonal of a layer */
/* In cells: NMAD of the difference of copies.  DEMs of two dates differ some ten times as much. */
static const double SAME_HEIGHTS = 0.03;

/* Set acquisition and kind from the metadata that `run` writes. */
static void read_acquisition(GDALDatasetH file, SdmLayer *l)
{
    const char *const kind = GDALGetMetadataItem(file, "SCENE_KIND", NULL),
                      *const time = GDALGetMetadataItem(file, "ACQUISITION_TIME_UTC", NULL),
                      *const id = GDALGetMetadataItem(file, "SCENE_ID", NULL);
    snprintf(l->kind, sizeof l->kind, "%s", kind ? kind : "");
    snprintf(l->acquisition, sizeof l->acquisition, "%s", time ? time : id ? id : "");
}

/* Do two layers lie at one place, with one size?  Parts of a DEM do not. */
static bool same_place(const SdmStack *s, const SdmLayer *a, const SdmLayer *b)
{
    const double east = (sdm_longitude_near(a->lon_deg, b->lon_deg) - b->lon_deg) * cos(a->lat_deg * SDM_DEG),
                 north = a->lat_deg - b->lat_deg;
    const double first_m = sdm_layer_diagonal_m(s, a), other_m = sdm_layer_diagonal_m(s, b);
    return hypot(east, north) * SDM_METRES_PER_DEGREE < SAME_PLACE * first_m &&
           fmax(first_m / other_m, other_m / first_m) < SAME_SIZE;
}

/* Do the heights of two layers agree but for a shift, by their samples?  Pairs with one left image are of one
 * time, too, and simulated scenes are, but their errors differ. */
static SdmStatus compare_heights(SdmStack *s, const SdmLayer *a, const SdmLayer *b, bool *same)
{
    SDM_OWNED float *difference_m = NULL;
    int64_t n = 0;
    PASS(sdm_alloc(s->ctx, &difference_m, (size_t)(a->sample_cols * a->sample_rows), sizeof *difference_m,
                   "differences of DEMs"));
    for (int64_t i = 0; i < a->sample_cols * a->sample_rows; i++) {
        const int64_t at =
            sdm_layer_sample_at(b, a->sample_col0 + i % a->sample_cols, a->sample_row0 + i / a->sample_cols);
        const float d = at < 0 ? NAN : a->sample[i] - b->sample[at];
        if (!isnan(d))
            difference_m[n++] = d;
    }
    *same = n >= SDM_STACK_MIN_SAMPLES && sdm_nmad_f32(difference_m, n, NULL) < SAME_HEIGHTS * s->dy_m;
    return SDM_OK;
}

/* A layer to keep instead of layer i; NULL: none.  The later version is kept ("ASTER L1A V004" after V003),
 * of equal ones the alphabetically first file. */
static SdmStatus find_better(SdmStack *s, int i, const SdmLayer **out)
{
    const SdmLayer *const l = &s->layer[i];
    *out = NULL;
    for (int k = 0; k < s->count && *l->acquisition && !*out; k++) {
        const SdmLayer *const other = &s->layer[k];
        const int kind = strncmp(other->kind, l->kind, strlen("ASTER L1A V004")),
                  better = kind ? kind : strcmp(l->path, other->path);
        if (k == i || strcmp(other->acquisition, l->acquisition) != 0 || better <= 0)
            continue;
        bool same = same_place(s, other, l);
        if (same && !s->opt->trend) /* one date counts once, however it was processed */
            PASS(compare_heights(s, other, l, &same));
        *out = same ? other : NULL;
    }
    return SDM_OK;
}

static void close_layer(SdmLayer *l)
{
    SDM_FREE(&l->path, &l->qa, &l->sample, &l->residual, &l->unstable, &l->texture, &l->bias_m);
}

SdmStatus sdm_stack_drop_copies(SdmStack *s)
{
    const SdmLayer *better;
    int copies = 0;
    for (int i = 0; i < s->count; i++) {
        PASS(find_better(s, i, &better));
        copies += better != NULL;
    }
    if (copies > 0 && copies == s->count - 1) {
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "all %d DEMs are of one acquisition (%s): their stack has its errors, however many there "
                "are; add DEMs of other dates",
                s->count, s->layer[0].acquisition);
        return SDM_OK;
    }
    for (int i = s->count - 1; i >= 0 && copies > 0; i--) {
        PASS(find_better(s, i, &better));
        if (!better)
            continue;
        sdm_log(s->ctx, SDM_LOG_WARNING, 1, "%s is left out: it is of the same acquisition (%s) as %s",
                s->layer[i].path, s->layer[i].acquisition, better->path);
        close_layer(&s->layer[i]);
        s->count--;
        copies--;
        memmove(&s->layer[i], &s->layer[i + 1], (size_t)(s->count - i) * sizeof *s->layer);
    }
    return SDM_OK;
}

/* Text -> an own copy. */
static SdmStatus copy_text(SdmContext *ctx, const char *text, char **out)
{
    const size_t size = strlen(text) + 1;
    PASS(sdm_alloc(ctx, out, size, 1, "name of a DEM"));
    memcpy(*out, text, size);
    return SDM_OK;
}

/* Add the DEMs of an open list to the paths, which have room for them. */
static SdmStatus add_list(SdmContext *ctx, const char *path, SdmListFile *list, SdmPaths *out)
{
    const int before = out->count;
    for (char *entry; (entry = sdm_list_file_next(list)) != NULL;) {
        char joined[SDM_PATH_SIZE];
        const char *const name = sdm_list_file_unquote(entry);
        if (list->has_control || strlen(list->folder) + strlen(name) + 8 > SDM_PATH_SIZE)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "--list %s: line %d is no file name; expected text with one DEM a line", path,
                            list->line);
        PASS(sdm_path_join(ctx, list->folder, name, joined));
        PASS(copy_text(ctx, joined, &out->path[out->count++]));
    }
    if (out->count == before)
        return sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: names no DEM; expected one a line", path);
    return SDM_OK;
}

SdmStatus sdm_stack_paths(SdmContext *ctx, const char *const *dems, int count, const char *list,
                          SdmPaths *out)
{
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile file = {.lines = 0};
    if (list)
        PASS(sdm_list_file_open(ctx, "--list", list, "one DEM a line", &file));
    PASS(sdm_alloc(ctx, &out->path, (size_t)count + (size_t)file.lines + 1, sizeof *out->path,
                   "list of DEMs"));
    for (int i = 0; i < count; i++)
        PASS(copy_text(ctx, dems[i], &out->path[out->count++]));
    if (list)
        PASS(add_list(ctx, list, &file, out));
    return SDM_OK;
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
    SDM_CLOSED_BY(sdm_dataset_close)
    GDALDatasetH const file = found ? GDALOpenEx(path, GDAL_OF_RASTER, NULL, NULL, NULL) : NULL;
    return file && GDALGetRasterCount(file) > 0 && sdm_is_companion(file);
}

/* Leave out what lies beside the DEMs: `*.tif` names it, too. */
static void drop_companions(SdmContext *ctx, SdmPaths *paths)
{
    const int given = paths->count;
    for (int i = 0; i < paths->count;) {
        if (!is_beside(paths, paths->path[i])) {
            i++;
            continue;
        }
        if (paths->count-- == given)
            sdm_log(ctx, SDM_LOG_WARNING, 1,
                    "left out: %s, as is all that lies beside a DEM of the list and is none", paths->path[i]);
        sdm_free(&paths->path[i]);
        memmove(&paths->path[i], &paths->path[i + 1], (size_t)(paths->count - i) * sizeof *paths->path);
    }
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
    SDM_OWNED char *qa = NULL;
    double transform[6];
    const char *const dot = strrchr(l->path, '.');
    if (!dot || (strcasecmp(dot, ".tif") != 0 && strcasecmp(dot, ".tiff") != 0))
        return SDM_OK;
    const size_t size = (size_t)(dot - l->path) + sizeof "_qa.tif";
    PASS(sdm_alloc(s->ctx, &qa, size, 1, "name of a DEM"));
    snprintf(qa, size, "%.*s_qa.tif", (int)(dot - l->path), l->path);
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH const ds = GDALOpenEx(qa, GDAL_OF_RASTER, NULL, NULL, NULL);
    const char *const bit = ds ? GDALGetMetadataItem(ds, "MASK_BIT_1", NULL) : NULL;
    if (!bit || strcmp(bit, sdm_qa_names[1]) != 0 || GDALGetRasterXSize(ds) != l->width ||
        GDALGetRasterYSize(ds) != l->height || GDALGetGeoTransform(ds, transform) != CE_None ||
        memcmp(transform, l->transform, sizeof transform) != 0)
        return SDM_OK;
    for (int b = GDALGetRasterCount(ds); b > 0; b--) {
        const char *const name = GDALGetDescription(GDALGetRasterBand(ds, b));
        l->qa_band = strcmp(name, "mask") == 0 ? b : l->qa_band;
        if ((s->opt->trend || s->opt->fusion) && strcmp(name, sdm_qa_scene.band[6].name) == 0)
            l->error_band = b;
    }
    if (l->qa_band) {
        l->qa = qa;
        qa = NULL;
    }
    return SDM_OK;
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
    SDM_CLOSED_BY(sdm_input_raster_close) SdmInputRaster raster = {0};
    PASS(sdm_input_raster_open(s->ctx, l->path, "DEM", &raster));
    l->width = GDALGetRasterXSize(raster.file);
    l->height = GDALGetRasterYSize(raster.file);
    GDALGetGeoTransform(raster.file, l->transform);
    l->pixel = sqrt(fabs(l->transform[1] * l->transform[5] - l->transform[2] * l->transform[4]));
    read_acquisition(raster.file, l);
    PASS(read_datum(s, &raster, l));
    l->crs = find_crs(s, &raster);
    s->crs[l->crs].pixels += l->width * l->height;
    PASS(find_qa(s, l));
    if (s->opt->trend)
        read_date(s->ctx, raster.file, l);
    return SDM_OK;
}

/* A DEM given twice would count twice. */
static SdmStatus check_twice(SdmContext *ctx, const SdmPaths *paths)
{
    char **const path = paths->path;
    for (int i = 0; i < paths->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(path[i], path[j]) == 0 || sdm_system_is_same(path[i], path[j]))
                return sdm_fail(ctx, SDM_ERR_USAGE, "DEM %s: given twice (also as %s), expected once",
                                path[i], path[j]);
    return SDM_OK;
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
            s->layer[unknown].path, s->layer[known].path, sdm_vertical_datum(s->layer[known].vertical)->name);
    s->datum_unknown = unknown >= 0;
    if (s->datum_unknown && s->options->vertical != SDM_ELLIPSOID)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "--vertical %s needs the vertical datums of the DEMs, and %s declares none; give "
                        "--dem-vertical ellipsoid, egm96 or egm2008",
                        sdm_vertical_datum(s->options->vertical)->word, s->layer[unknown].path);
    if (s->datum_unknown)
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "no DEM declares a vertical datum: assumed to be the same for all, and the stack declares "
                "none; otherwise give --dem-vertical");
    return SDM_OK;
}

SdmStatus sdm_stack_open(SdmStack *s, const char *const *dems, int count)
{
    SDM_CLOSED_BY(sdm_paths_free) SdmPaths paths = {0};
    const SdmStackFusion *const f = s->opt->fusion;
    PASS(sdm_stack_paths(s->ctx, dems, count, s->opt->list, &paths));
    drop_companions(s->ctx, &paths);
    if (paths.count < 2)
        return sdm_fail(s->ctx, SDM_ERR_USAGE, "found %d DEM%s, expected at least two to stack", paths.count,
                        paths.count == 1 ? "" : "s");
    if (s->opt->dates && !s->opt->trend)
        return sdm_fail(s->ctx, SDM_ERR_USAGE, "--dates: needs --trend, found none");
    PASS(check_twice(s->ctx, &paths));
    PASS(s->keep ? sdm_grid_check_srs(s->ctx, s->options->t_srs)
                 : sdm_product_check(s->ctx, s->options, (const char *const *)paths.path, paths.count));
    const size_t most = (size_t)paths.count;
    PASS(SDM_ALLOC(s->ctx, "DEMs", SDM_ARRAY(s->layer, most), SDM_ARRAY(s->crs, most)));
    while (s->count < paths.count) {
        SdmLayer *const l = &s->layer[s->count];
        l->given = s->count;
        const double ratio = f ? f->dem[0].sigma_m / f->dem[l->given].sigma_m : 1.0;
        l->weight = ratio * ratio;
        l->path = paths.path[s->count]; /* handed over */
        paths.path[s->count++] = NULL;
        PASS(describe(s, l));
        PASS(sdm_check_stop(s->ctx));
    }
    PASS(check_datums(s));
    if (s->opt->trend)
        PASS(set_dates(s));
    return SDM_OK;
}

void sdm_stack_close(SdmStack *s)
{
    for (int i = 0; i < s->count; i++)
        close_layer(&s->layer[i]);
    for (int i = 0; i < s->crs_count; i++) {
        if (s->crs[i].to_grid)
            OCTDestroyCoordinateTransformation(s->crs[i].to_grid);
        OSRDestroySpatialReference(s->crs[i].srs);
        CPLFree(s->crs[i].wkt);
    }
    SDM_FREE(&s->crs, &s->tolerance_m);
    sdm_stack_trend_close(s);
    sdm_free(&s->layer);
}
