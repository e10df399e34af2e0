/* ASTER level 1A deliveries (HDF, folder, zip) -> scene. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSI functions take 64-bit offsets */
#include "core/math.h"
#include "core/system.h"
#include "input/aster_files.h"
#include "input/image.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <math.h>
#include <string.h>

/* ---- the list at the end of a zip archive: why GDAL cannot unpack a member ---- */

enum { END_BYTES = 22, LONGEST_COMMENT = 65535, ENTRY_BYTES = 46, LIST_BYTES_MAX = 1 << 22, NAME_SHOWN = 80 };

static unsigned number(const unsigned char *at, int bytes)
{
    unsigned v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* `size` bytes of a file; VSIFree(), NULL where they cannot be read. */
static unsigned char *read_part(VSILFILE *file, vsi_l_offset from, size_t size)
{
    unsigned char *const part = size ? VSIMalloc(size) : NULL;
    if (part && VSIFSeekL(file, from, SEEK_SET) == 0 && VSIFReadL(part, 1, size, file) == size)
        return part;
    VSIFree(part);
    return NULL;
}

/* The archive's list of members, *size bytes; VSIFree(), NULL where there is none. */
static unsigned char *read_list(VSILFILE *file, size_t *size)
{
    VSIFSeekL(file, 0, SEEK_END);
    const vsi_l_offset all = VSIFTellL(file);
    const size_t tail = all < LONGEST_COMMENT + END_BYTES ? (size_t)all : LONGEST_COMMENT + END_BYTES;
    SDM_CLOSED_BY(sdm_vsi_free) unsigned char *const end = read_part(file, all - tail, tail);
    for (size_t i = end && tail >= END_BYTES ? tail - END_BYTES + 1 : 0; i > 0; i--)
        if (memcmp(end + i - 1, "PK\5\6", 4) == 0) {
            *size = number(end + i - 1 + 12, 4);
            return *size <= LIST_BYTES_MAX ? read_part(file, number(end + i - 1 + 16, 4), *size) : NULL;
        }
    return NULL;
}

/* Reason why GDAL cannot read a member; NULL: it can. */
static const char *fault_of(const unsigned char *entry, const char *name)
{
    const unsigned method = number(entry + 10, 2);
    if (*name == '/')
        return "has an absolute name";
    if (!strstr(name, "VNIR_Band3"))
        return NULL;
    if (number(entry + 8, 2) & 1)
        return "is encrypted";
    return method == 0 || method == 8 || method == 9 ? NULL /* stored, deflate, deflate64 */
           : method == 12                            ? "is compressed by bzip2"
           : method == 14                            ? "is compressed by LZMA"
           : method == 93                            ? "is compressed by Zstandard"
           : method == 95                            ? "is compressed by xz"
                                                     : "is compressed by a rare method";
}

/* Why GDAL cannot unpack a zip archive, "NAME is encrypted"; "" where nothing is known against it. */
static void find_zip_fault(const char *path, char *why, size_t size)
{
    size_t bytes = 0, at = 0;
    SDM_CLOSED_BY(sdm_vsi_close) VSILFILE *const file = VSIFOpenL(path, "rb");
    SDM_CLOSED_BY(sdm_vsi_free) unsigned char *const list = file ? read_list(file, &bytes) : NULL;
    *why = '\0';
    while (list && !*why && at + ENTRY_BYTES <= bytes && memcmp(list + at, "PK\1\2", 4) == 0) {
        const unsigned char *const entry = list + at;
        const size_t n = number(entry + 28, 2), more = number(entry + 30, 2) + number(entry + 32, 2);
        char name[1024];
        if (at + ENTRY_BYTES + n > bytes)
            break;
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)entry + ENTRY_BYTES);
        const char *const fault = fault_of(entry, name);
        if (fault)
            snprintf(why, size, "%.*s %s", (int)NAME_SHOWN, name, fault);
        at += ENTRY_BYTES + n + more;
    }
}

/* ---- products by name: level 1A makes a DEM, others are refused ---- */

/* Longer names first, since L1B is in L1BE. */
static const char *const product[][2] = {{"L1AE", "AST_L1AE (expedited, without band 3B)"},
                                         {"L1BE", "AST_L1BE (expedited and resampled)"},
                                         {"L1B", "AST_L1B (resampled to a map)"},
                                         {"L1T", "AST_L1T (orthorectified, without band 3B)"}};
enum { PRODUCTS = sizeof product / sizeof *product };

/* The product other than level 1A that a text names by a word such as ASTL1B; NULL: none. */
static const char *other_product(const char *text)
{
    static const char *const before[] = {"AST_", "AST"}; /* names of granules and collections */
    char word[16];
    for (int i = 0; text && i < PRODUCTS; ++i)
        for (int k = 0; k < 2; ++k) {
            snprintf(word, sizeof word, "%s%s", before[k], product[i][0]);
            if (strstr(text, word))
                return product[i][1];
        }
    return NULL;
}

const char *sdm_aster_product_of(CSLConstList metadata, const char *path)
{
    static const char *const keys[] = {"SHORTNAME", "IDOFASTERGDSDATAGRANULE", "LOCALGRANULEID", "GRANULEID"};
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        const char *const value = CSLFetchNameValue(metadata, keys[i]);
        const char *const other = other_product(value);
        if (other)
            return other;
        known = known || (value && (strstr(value, "ASTL1A") || strstr(value, "AST_L1A")));
    }
    const char *const level = CSLFetchNameValue(metadata, "PROCESSINGLEVELID");
    for (int i = 0; level && i < PRODUCTS; ++i)
        if (strcmp(level, product[i][0] + 1) == 0)
            return product[i][1];
    return known ? NULL : other_product(sdm_path_base(path));
}

/* The first answer to a name. */
typedef struct Question {
    const char *(*ask)(const char *name);
    const char *answer; /* NULL: none yet */
} Question;

static SdmWalk ask_name(void *user, const char *path, const char *name)
{
    Question *const q = user;
    (void)path;
    q->answer = q->ask(name);
    return q->answer ? SDM_WALK_END : SDM_WALK_ON;
}

/* The first answer to the names in a folder (GDAL's name) and `depth` levels below. */
static const char *ask_names(const char *folder, int depth, const char *(*ask)(const char *name))
{
    Question q = {.ask = ask};
    (void)sdm_folder_walk(folder, depth, ask_name, &q);
    return q.answer;
}

static const char *product_of_name(const char *name)
{
    const char *const found = other_product(name);
    return found || !strstr(name, ".VNIR_Swath.") ? found : "an ASTER level 1B or 1T scene";
}

/* The bands other than 3N and 3B that a name speaks of ("TIR bands"); NULL: none. */
static const char *bands_of(const char *name)
{
    return strstr(name, "VNIR_Band3")  ? NULL
           : strstr(name, "VNIR_Band") ? "VNIR bands 1 and 2"
           : strstr(name, "SWIR_Band") ? "SWIR bands"
           : strstr(name, "TIR_Band")  ? "TIR bands"
                                       : NULL;
}

SdmStatus sdm_aster_refuse(SdmContext *ctx, const char *path, const char *other)
{
    return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                    "%s: is %s, from which no stereo DEM can be made; order the same scene as AST_L1A V004",
                    path, other);
}

/* ---- tables of one telescope -> its camera ---- */

static void band_free(SdmAsterBand *band)
{
    SDM_FREE(&band->lattice_px, &band->sight, &band->position_m, &band->velocity_mps, &band->geocentric_deg,
             &band->radiometry);
}

/* Open the camera of a band.  silent: no line in the log.  Fails where it does not look as `telescope` ("3N":
 * down, "3B": back) should. */
static SdmStatus open_camera(SdmContext *ctx, const SdmAsterBand *band, const char *telescope, bool silent,
                             SdmCamera **out)
{
    const SdmAsterArrays in = {band->nrow,       band->ncol,         band->lattice_px,     band->sight,
                               band->position_m, band->velocity_mps, band->geocentric_deg, silent};
    const double *const s = band->sight + 3 * (band->ncol / 2); /* 3N looks down, 3B 27.6 degrees back */
    const bool back = strcmp(telescope, "3B") == 0;
    int zero = 0;
    *out = NULL;
    for (int i = 0; i < band->nrow * band->ncol; ++i)
        zero += band->sight[3 * i] == 0.0 && band->sight[3 * i + 1] == 0.0 && band->sight[3 * i + 2] == 0.0;
    if (zero)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d of its %d sight vectors are 0, so where band %s looked was not recorded; "
                        "take another scene of the place",
                        band->source, zero, band->nrow * band->ncol, telescope);
    if (back ? !(s[0] < -0.3 * s[2]) : !(fabs(s[0]) < 0.15 * s[2]))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: sight vectors look %.1f degrees back, expected %s for band %s; 3N and 3B are "
                        "exchanged or damaged, fetch the scene again",
                        band->source, atan2(-s[0], s[2]) / 3.14159265358979323846 * 180.0,
                        back ? "about 27.6" : "about 0", telescope);
    return sdm_camera_open_aster(ctx, band->source, &in, out);
}

/* ---- HDF-EOS (V004, V003): swath of one telescope -> band ---- */

/* A field as bands x lines x columns of double.  shape: the sizes to expect, 0 for any -> its sizes. */
static SdmStatus read_field(SdmContext *ctx, SdmHdf4 *hdf, const char *path, const char *telescope,
                            const char *field, double **out, int shape[3])
{
    char swath[16];
    const int expected[3] = {shape[0], shape[1], shape[2]};
    snprintf(swath, sizeof swath, "VNIR_Band%s", telescope);
    PASS(sdm_hdf4_table(ctx, hdf, swath, field, out, shape));
    if (!sdm_all_finite((size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2], *out))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: field %s of VNIR_Band%s holds NaN; the file is damaged, fetch it again", path,
                        field, telescope);
    for (int k = 0; k < 3; k++)
        if (expected[k] && shape[k] != expected[k])
            return sdm_fail(
                ctx, SDM_ERR_INPUT,
                "%s: field %s of VNIR_Band%s has %d x %d x %d values, expected %d x %d x %d (0: any) "
                "to go with LatticePoint; the file is damaged, fetch it again",
                path, field, telescope, shape[0], shape[1], shape[2], expected[0], expected[1], expected[2]);
    return SDM_OK;
}

/* V004 or V003 HDF-EOS: fields of the swath VNIR_Band<telescope>. */
static SdmStatus read_hdf(SdmContext *ctx, SdmHdf4 *hdf, const char *path, const char *telescope,
                          SdmAsterBand *out)
{
    int s[3] = {0, 0, 2}, table[3] = {1, 0, 3};
    PASS(sdm_format(ctx, out->source, sizeof out->source, "%s (VNIR_Band%s)", path, telescope));
    PASS(read_field(ctx, hdf, path, telescope, "LatticePoint", &out->lattice_px, s));
    out->nrow = s[0];
    out->ncol = s[1];
    int sight[3] = {out->nrow, out->ncol, 3}, state[3] = {1, out->nrow, 3};
    PASS(read_field(ctx, hdf, path, telescope, "SightVector", &out->sight, sight));
    PASS(read_field(ctx, hdf, path, telescope, "SatellitePosition", &out->position_m, state));
    PASS(read_field(ctx, hdf, path, telescope, "SatelliteVelocity", &out->velocity_mps, state));
    PASS(sdm_format(ctx, out->table, sizeof out->table, "%s (RadiometricCorrTable of VNIR_Band%s)", path,
                    telescope));
    PASS(read_field(ctx, hdf, path, telescope, "RadiometricCorrTable", &out->radiometry, table));
    out->radiometry_lines = table[1];
    return SDM_OK;
}

/* ---- V003: text tables of one telescope -> band ---- */

typedef struct Tables {
    const char *base, *telescope;
    SdmScene *scene;
} Tables;

/* The file's name; where the folder has it in other letters (".TIF"), as it stands there. */
static SdmStatus table_path(SdmContext *ctx, const Tables *t, const char *suffix, char path[1024])
{
    PASS(sdm_format(ctx, path, 1024, "%s.VNIR_Band%s.%s", t->base, t->telescope, suffix));
    if (sdm_path_exists(path))
        return SDM_OK;
    char *const base = path + (sdm_path_base(path) - path);
    char folder[1024];
    snprintf(folder, sizeof folder, "%.*s", (int)(base - path), path);
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = VSIReadDir(*folder ? folder : ".");
    const int at = CSLFindString(list, base);
    if (at >= 0)
        memcpy(base, list[at], strlen(base));
    return SDM_OK;
}

static SdmStatus read_file(SdmContext *ctx, const Tables *t, const char *suffix, int columns, double **out,
                           int *lines)
{
    char path[1024];
    PASS(table_path(ctx, t, suffix, path));
    PASS(sdm_read_table(ctx, path, columns, out, lines));
    return t->scene ? sdm_scene_add_file(ctx, t->scene, path) : SDM_OK;
}

/* A table of so many lines. */
static SdmStatus read_lines(SdmContext *ctx, const Tables *t, const char *suffix, int columns, int expected,
                            double **out)
{
    char path[1024];
    int found = 0;
    PASS(read_file(ctx, t, suffix, columns, out, &found));
    if (found == expected)
        return SDM_OK;
    PASS(table_path(ctx, t, suffix, path));
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: %d lines of numbers, expected %d to go with LatticePoint.txt; "
                    "%s is cut short or one of them of another scene, fetch both again",
                    path, found, expected, found < expected ? "the file" : "LatticePoint.txt");
}

/* Lattice: columns are the points that share the first one's row. */
static SdmStatus read_lattice(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    char path[1024];
    int lines = 0;
    PASS(read_file(ctx, t, "LatticePoint.txt", 2, &out->lattice_px, &lines));
    PASS(table_path(ctx, t, "LatticePoint.txt", path));
    while (out->ncol < lines && out->lattice_px[2 * out->ncol + 1] == out->lattice_px[1])
        out->ncol++;
    out->nrow = lines / out->ncol;
    if (out->nrow * out->ncol != lines || out->ncol < 2)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d points do not fill rows of %d; the file is cut short or damaged, fetch it "
                        "again",
                        path, lines, out->ncol);
    return SDM_OK;
}

static SdmStatus read_velocity(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    static const char suffix[] = "SatelliteVelocity.txt";
    char path[1024];
    PASS(table_path(ctx, t, suffix, path));
    return sdm_path_exists(path) ? read_lines(ctx, t, suffix, 3, out->nrow, &out->velocity_mps) : SDM_OK;
}

/* Latitude and longitude, when both are there. */
static SdmStatus read_geocentric(SdmContext *ctx, const Tables *t, SdmAsterBand *out)
{
    static const char *const suffix[2] = {"Latitude.txt", "Longitude.txt"};
    SDM_OWNED double *latitude = NULL, *longitude = NULL;
    double **const degrees[2] = {&latitude, &longitude};
    int missing = 0;
    for (int k = 0; k < 2; ++k) {
        char path[1024];
        PASS(table_path(ctx, t, suffix[k], path));
        if (!sdm_path_exists(path)) {
            if (!out->velocity_mps)
                return sdm_fail(ctx, SDM_ERR_INPUT,
                                "%s: no such file, and no SatelliteVelocity.txt to do without; the scene "
                                "is incomplete, fetch it again",
                                path);
            sdm_log(ctx, SDM_LOG_WARNING, 1, "%s is missing; going on with positions and velocities", path);
            ++missing;
            continue;
        }
        PASS(read_lines(ctx, t, suffix[k], out->ncol, out->nrow, degrees[k]));
    }
    if (missing)
        return SDM_OK;
    const size_t count = (size_t)out->nrow * (size_t)out->ncol;
    PASS(sdm_alloc(ctx, &out->geocentric_deg, count, 2 * sizeof(double), "table"));
    for (size_t i = 0; i < count; ++i) {
        out->geocentric_deg[2 * i] = latitude[i];
        out->geocentric_deg[2 * i + 1] = longitude[i];
    }
    return SDM_OK;
}

/* V003: read the files <base>.VNIR_Band<telescope>.<suffix>.txt; the radiometric table only if `image` is
 * true.  scene: the files are added to it, or NULL.  The caller frees *out. */
static SdmStatus read_text(SdmContext *ctx, const char *base, const char *telescope, bool image,
                           SdmScene *scene, SdmAsterBand *out)
{
    const Tables t = {base, telescope, scene};
    if (image) {
        PASS(table_path(ctx, &t, "ImageData.tif", out->image));
        if (!sdm_path_exists(out->image))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: no such file; the scene is incomplete (a scene without band %s cannot make "
                            "a DEM), fetch it again",
                            out->image, telescope);
        if (scene)
            PASS(sdm_scene_add_file(ctx, scene, out->image));
    }
    PASS(sdm_format(ctx, out->source, sizeof out->source, "%s.VNIR_Band%s.*.txt", base, telescope));
    PASS(read_lattice(ctx, &t, out));
    PASS(read_lines(ctx, &t, "SightVector.txt", 3, out->nrow * out->ncol, &out->sight));
    PASS(read_lines(ctx, &t, "SatellitePosition.txt", 3, out->nrow, &out->position_m));
    PASS(read_velocity(ctx, &t, out));
    PASS(read_geocentric(ctx, &t, out));
    PASS(table_path(ctx, &t, "RadiometricCorrTable.txt", out->table));
    if (image)
        PASS(read_file(ctx, &t, "RadiometricCorrTable.txt", 3, &out->radiometry, &out->radiometry_lines));
    return SDM_OK;
}

static const char *const TELESCOPE[2] = {"3N", "3B"};

SdmStatus sdm_aster_open_tables(SdmContext *ctx, const char *base_path, const char *telescope,
                                SdmCamera **out)
{
    SDM_CLOSED_BY(band_free) SdmAsterBand band = {.nrow = 0};
    *out = NULL;
    PASS(read_text(ctx, base_path, telescope, false, NULL, &band));
    return open_camera(ctx, &band, telescope, false, out);
}

/* The lattice must cover the image, and no more than that. */
static SdmStatus check_cover(SdmContext *ctx, const SdmAsterBand *band, const SdmImage *im)
{
    const double *const first = band->lattice_px;
    const double *const last = band->lattice_px + 2 * ((size_t)band->nrow * (size_t)band->ncol - 1);
    const double dc = (last[0] - first[0]) / (band->ncol - 1), dr = (last[1] - first[1]) / (band->nrow - 1);
    const double w = (double)im->width, h = (double)im->height;
    if (fabs(first[0]) <= dc && fabs(last[0] - w) <= dc && fabs(first[1]) <= 1.5 * dr &&
        fabs(last[1] - h) <= 2.5 * dr)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: the image has %lld columns x %lld rows, but the lattice of %s spans columns %g to "
                    "%g, rows %g to %g; the files are of different bands or scenes (3N and 3B exchanged?), "
                    "fetch the scene again",
                    im->name, (long long)im->width, (long long)im->height, band->source, first[0], last[0],
                    first[1], last[1]);
}

/* unpacked: samples of the image, or NULL. */
static SdmStatus open_view(SdmContext *ctx, int k, SdmAsterBand *band, SdmUnpackedBand *unpacked,
                           SdmScene *scene)
{
    SdmView *const view = &scene->view[k];
    const char *const label = *band->image ? band->image : band->source;
    const SdmImageSource src = {.scene = scene,
                                .view = k,
                                .name = band->image,
                                .label = label,
                                .table = band->radiometry,
                                .table_lines = band->radiometry_lines,
                                .table_name = band->table,
                                .unpacked = unpacked};
    PASS(sdm_format(ctx, view->name, sizeof view->name, "%s", label));
    PASS(sdm_image_open(ctx, &src, &view->image));
    if (scene->depth == SDM_DEPTH_WHOLE && strncmp(band->image, "/vsizip/", 8) == 0)
        PASS(sdm_check_packed(ctx, band->image));
    PASS(check_cover(ctx, band, view->image));
    return open_camera(ctx, band, TELESCOPE[k], scene->depth != SDM_DEPTH_WHOLE, &view->camera);
}

/* A scene that was taken at night, or with the VNIR telescopes off. */
static SdmStatus fail_bands(SdmContext *ctx, const char *path, const char *bands)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: an ASTER scene with %s, but without VNIR_Band3N and VNIR_Band3B, from which a DEM "
                    "is made (taken at night, or with these telescopes off); take another scene of the place",
                    path, bands);
}

/* The file is HDF4 but lacks the two telescopes: say which product it is, and what to order. */
static SdmStatus refuse_hdf(SdmContext *ctx, const SdmHdf4 *hdf, const char *path)
{
    bool n3 = false, b3 = false, resampled = false;
    const char *bands = NULL, *swath, *field;
    for (int i = 0; sdm_hdf4_field(hdf, i, &swath, &field); ++i) {
        const bool image = strcmp(field, "ImageData") == 0;
        bands = bands ? bands : bands_of(swath);
        n3 = n3 || (image && strcmp(swath, "VNIR_Band3N") == 0);
        b3 = b3 || (image && strcmp(swath, "VNIR_Band3B") == 0);
        resampled = resampled || strcmp(swath, "VNIR_Swath") == 0;
    }
    if (n3 && b3)
        return SDM_OK;
    const char *const other = sdm_aster_product_of((CSLConstList)sdm_hdf4_metadata(hdf), path);
    if (other || resampled)
        return sdm_aster_refuse(ctx, path, other ? other : "an ASTER level 1B or 1T scene");
    if (n3 || b3)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: holds VNIR_Band%s but no VNIR_Band%s (that telescope was off, or its data are "
                        "lost), and a DEM needs both; take another scene of the place",
                        path, n3 ? "3N" : "3B", n3 ? "3B" : "3N");
    if (bands)
        return fail_bands(ctx, path, bands);
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: an HDF4 file without VNIR_Band3N and VNIR_Band3B, expected an ASTER level 1A scene; "
                    "it is damaged or of another kind, order AST_L1A V004",
                    path);
}

/* Name without folder and ending; acquisition time from it. */
static void name_scene(const char *base, size_t length, SdmScene *scene)
{
    snprintf(scene->id, sizeof scene->id, "%.*s", (int)(length < 255 ? length : 255), base);
    sdm_granule_time(scene->id, scene->time_utc);
}

/* The same of a file's name: its own, or where that says nothing of a scene, that of the file that it is a
 * link to. */
static void name_by_file(const char *path, SdmScene *scene)
{
    char real[4096];
    const bool known = sdm_system_real_path(path, real, sizeof real);
    for (int k = 0; k < 2 && !scene->time_utc[0]; ++k) {
        const char *const base = sdm_path_base(k && known ? real : path), *const dot = strrchr(base, '.');
        if (k == 0 || (known && strstr(base, "AST_L1A_")))
            name_scene(base, dot && dot > base ? (size_t)(dot - base) : strlen(base), scene);
    }
}

/* Name and time as the metadata of real scenes give them, where they do. */
static void name_from_metadata(SdmContext *ctx, char **metadata, const char *path, SdmScene *scene)
{
    const char *const granule = CSLFetchNameValue(metadata, "LOCALGRANULEID");
    const char *const date = CSLFetchNameValue(metadata, "CALENDARDATE");
    const char *const time = CSLFetchNameValue(metadata, "TIMEOFDAY");
    char time_utc[32];
    const size_t length = granule ? strlen(granule) : 0;
    if (granule && strncmp(granule, "AST_L1A_", 8) == 0 && !strchr(granule, '/'))
        name_scene(granule, sdm_path_ends_in(granule, ".hdf") ? length - 4 : length, scene);
    if (!date || !time)
        return;
    if (sdm_time_read(date, time, time_utc))
        memcpy(scene->time_utc, time_utc, sizeof time_utc);
    else
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s: its metadata give %.40s %.40s as the time of acquisition, which is not a time; %s", path,
                date, time,
                scene->time_utc[0] ? "that in its name is taken" : "the time is taken as unknown");
}

static SdmStatus open_hdf(SdmContext *ctx, const char *path, SdmHdf4 *hdf, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
    SdmUnpackedBand unpacked[2] = {{.sample = NULL}};
    TRY(refuse_hdf(ctx, hdf, path));
    name_by_file(path, scene);
    name_from_metadata(ctx, sdm_hdf4_metadata(hdf), path, scene);
    TRY(sdm_hdf4_images(ctx, hdf, (const char *const[2]){"VNIR_Band3N", "VNIR_Band3B"},
                        scene->depth != SDM_DEPTH_CAMERAS, unpacked));
    for (int k = 0; k < 2; ++k) {
        SDM_CLOSED_BY(band_free) SdmAsterBand band = {.nrow = 0};
        TRY(read_hdf(ctx, hdf, path, TELESCOPE[k], &band));
        TRY(open_view(ctx, k, &band, &unpacked[k], scene));
    }
done:
    for (int k = 0; k < 2; ++k)
        sdm_free(&unpacked[k].sample);
    return st;
}

SdmStatus sdm_aster_open_hdf(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    SDM_CLOSED_BY(sdm_hdf4_close) SdmHdf4 *hdf = NULL;
    if (scene->depth == SDM_DEPTH_WHOLE && strncmp(gdal_path, "/vsizip/", 8) == 0)
        PASS(sdm_check_packed(ctx, gdal_path));
    PASS(sdm_hdf4_open(ctx, gdal_path, &hdf));
    scene->sensor = SDM_SENSOR_ASTER;
    const bool v003 = strncmp(sdm_path_base(gdal_path), "AST_L1A_003", 11) == 0;
    snprintf(scene->kind, sizeof scene->kind, "ASTER L1A V00%d (HDF)", v003 ? 3 : 4);
    PASS(sdm_scene_add_file(ctx, scene, path));
    return open_hdf(ctx, gdal_path, hdf, scene);
}

/* Files of one kind that a walk finds. */
typedef struct Found {
    int count;
    char first[1024];
} Found;

/* Scenes by their files <base>.VNIR_Band3N.* and 3B, in letters of either case; first: path up to ".VNIR". */
static SdmWalk find_base(void *user, const char *path, const char *name)
{
    static const char mark[] = ".VNIR_Band3";
    Found *const found = user;
    for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
        char base[1024];
        if (!EQUALN(at, mark, sizeof mark - 1))
            continue;
        snprintf(base, sizeof base, "%.*s", (int)(strlen(path) - strlen(at)), path);
        const bool another = found->count && strcmp(base, found->first) != 0;
        found->count = another ? 2 : 1;
        if (!another)
            memcpy(found->first, base, sizeof base);
        return another ? SDM_WALK_END : SDM_WALK_NOT_BELOW;
    }
    return SDM_WALK_ON;
}

static SdmWalk find_hdf(void *user, const char *path, const char *name)
{
    Found *const found = user;
    if (sdm_path_ends_in(name, ".hdf") && !found->count++)
        snprintf(found->first, sizeof found->first, "%s", path);
    return SDM_WALK_ON;
}

/* Open the HDF file of a folder or archive without the files of a V003 scene, or fail. */
static SdmStatus open_other(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    Found hdf = {.count = 0};
    const bool zip = strcmp(path, gdal_path) != 0;
    const char *const kind = zip ? "zip archive" : "folder", *const bands = ask_names(gdal_path, 2, bands_of);
    (void)sdm_folder_walk(gdal_path, 2, find_hdf, &hdf);
    if (hdf.count == 1)
        return sdm_aster_open_hdf(ctx, zip ? path : hdf.first, hdf.first, scene); /* or says what it is */
    const char *const other = hdf.count == 0 ? ask_names(gdal_path, 2, product_of_name) : NULL;
    if (other)
        return sdm_aster_refuse(ctx, path, other);
    if (hdf.count > 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: a %s with %d HDF files (%s and others); give one of them itself", path, kind,
                        hdf.count, sdm_path_base(hdf.first));
    if (bands)
        return fail_bands(ctx, path, bands);
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: a %s without files NAME.VNIR_Band3N.ImageData.tif and without an HDF file, expected "
                    "an ASTER scene; give the scene's own %s%s",
                    path, kind, kind, zip ? ", or images in it by GDAL's names, /vsizip/FILE/IMAGE" : "");
}

SdmStatus sdm_aster_open_folder(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    Found found = {.count = 0};
    const char *const base = found.first;
    char fault[256] = "";
    const bool zip = strcmp(path, gdal_path) != 0;
    const char *const kind = zip ? "zip archive" : "folder";
    if (zip)
        find_zip_fault(path, fault, sizeof fault);
    if (*fault)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "%s: %s, so GDAL cannot open it inside the archive; unpack it, then give the folder",
                        path, fault);
    const bool listed = sdm_folder_walk(gdal_path, 2, find_base, &found);
    const char *const other = found.count > 0 ? other_product(sdm_path_base(base)) : NULL;
    if (other)
        return sdm_aster_refuse(ctx, path, other);
    if (!listed)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: the %s cannot be listed%s; %s", path, kind,
                        zip ? ", it is cut short or "
                              "damaged"
                            : "",
                        zip ? "fetch it again" : "check its permissions");
    if (found.count == 0)
        return open_other(ctx, path, gdal_path, scene);
    if (found.count > 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: a %s with more than one ASTER scene (%s and others); give one scene's own %s",
                        path, kind, sdm_path_base(base), kind);
    scene->sensor = SDM_SENSOR_ASTER;
    snprintf(scene->kind, sizeof scene->kind, "ASTER L1A V003 (%s)", zip ? "zip" : "folder");
    name_scene(sdm_path_base(base), strlen(sdm_path_base(base)), scene);
    if (zip)
        PASS(sdm_scene_add_file(ctx, scene, path));
    for (int k = 0; k < 2; ++k) {
        SDM_CLOSED_BY(band_free) SdmAsterBand band = {.nrow = 0};
        PASS(read_text(ctx, base, TELESCOPE[k], true, zip ? NULL : scene, &band));
        PASS(open_view(ctx, k, &band, NULL, scene));
    }
    return SDM_OK;
}
