/* Files -> quiet GDAL data sets, tables of numbers, the list of inputs. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "input/source.h"
#include "core/address.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { TABLE_BYTES_MAX = 16 << 20 };

void sdm_gdal_steady(void (*set)(const char *name, const char *value))
{
    static const char *const usual[][2] = {{"GTIFF_IGNORE_READ_ERRORS", "NO"},
                                           {"GTIFF_REPORT_COMPD_CS", "YES"},
                                           {"GTIFF_POINT_GEO_IGNORE", "NO"},
                                           {"GDAL_PAM_ENABLED", "YES"},
                                           {"GDAL_GEOREF_SOURCES", "PAM,INTERNAL,TABFILE,WORLDFILE"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i)
        if (getenv(usual[i][0]))
            set(usual[i][0], usual[i][1]);
}

SdmStatus sdm_gdal_config_begin(SdmContext *ctx, const SdmOptions *options, SdmGdalConfig *scope)
{
    *scope = (SdmGdalConfig){.before = CPLGetThreadLocalConfigOptions(), .changed = true};
    sdm_gdal_steady(CPLSetThreadLocalConfigOption);
    for (int i = 0; i < SDM_MAX_KEY_VALUES && options->config[i]; ++i) {
        char name[128];
        const char *const entry = options->config[i], *const equals = strchr(entry, '=');
        if (!equals || equals == entry || (size_t)(equals - entry) >= sizeof name) {
            sdm_gdal_config_end(scope);
            return sdm_fail(ctx, SDM_ERR_USAGE, "--config %s: expected NAME=VALUE", entry);
        }
        snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
        CPLSetThreadLocalConfigOption(name, equals + 1);
    }
    return SDM_OK;
}

void sdm_gdal_config_end(SdmGdalConfig *scope)
{
    if (!scope->changed)
        return;
    CPLSetThreadLocalConfigOptions((const char *const *)scope->before);
    CSLDestroy(scope->before);
    *scope = (SdmGdalConfig){NULL, false};
}

const char *sdm_gdal_reason(void)
{
    const char *const text = CPLGetLastErrorMsg();
    return text && *text ? text : "no reason given";
}

GDALDatasetH sdm_gdal_open(const char *name)
{
    /* set in the environment, for images on the network, it hides RPCs, masks and headers beside images on
     * disks; who gives it by --config wants that */
    static const char option[] = "GDAL_DISABLE_READDIR_ON_OPEN";
    const char *const set = getenv(option);
    const bool hides = !sdm_is_virtual(name) && set && EQUAL(set, "EMPTY_DIR") &&
                       !CPLGetThreadLocalConfigOption(option, NULL);
    if (hides)
        CPLSetThreadLocalConfigOption(option, "FALSE");
    const GDALDatasetH out =
        GDALOpenEx(name, GDAL_OF_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR, NULL, NULL, NULL);
    if (hides)
        CPLSetThreadLocalConfigOption(option, NULL);
    return out;
}

size_t sdm_read_head(const char *path, void *head, size_t size)
{
    SDM_CLOSED_BY(sdm_vsi_close) VSILFILE *const file = VSIFOpenL(path, "rb");
    return file ? VSIFReadL(head, 1, size, file) : 0;
}

const char *sdm_open_reason(const char *path, char out[320])
{
    unsigned char head[64] = "";
    snprintf(out, 320, "%.300s", sdm_gdal_reason());
    const size_t count = sdm_read_head(path, head, sizeof head - 1);
    bool text = count > 0;
    for (size_t i = 0; i < count; ++i) {
        text = text && (head[i] >= ' ' || isspace(head[i])) && head[i] != 127;
        head[i] = head[i] < ' ' ? ' ' : head[i];
    }
    if (text)
        snprintf(out, 320, "a text that begins with '%.60s', as an archive's answer to a failed request may",
                 head);
    return out;
}

bool sdm_path_exists(const char *path)
{
    VSIStatBufL at;
    return VSIStatExL(path, &at, VSI_STAT_EXISTS_FLAG) == 0;
}

static SdmWalk walk(const char *folder, int depth, SdmVisit *visit, void *user, bool *listed)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = VSIReadDir(folder);
    SdmWalk next = SDM_WALK_ON;
    *listed = list != NULL;
    for (int below = 0; below <= (depth > 0) && next == SDM_WALK_ON; below++)
        for (int i = 0; list && list[i] && next != SDM_WALK_END; ++i) {
            char path[1024];
            bool is_folder;
            const int n = snprintf(path, sizeof path, "%s/%s", folder, list[i]);
            if (sdm_path_is_hidden(list[i]) || n < 0 || (size_t)n >= sizeof path)
                continue;
            const SdmWalk told =
                below ? walk(path, depth - 1, visit, user, &is_folder) : visit(user, path, list[i]);
            next = below && told == SDM_WALK_NOT_BELOW ? next : told > next ? told : next;
        }
    return next;
}

bool sdm_folder_walk(const char *folder, int depth, SdmVisit *visit, void *user)
{
    bool listed;
    (void)walk(folder, depth, visit, user, &listed);
    return listed;
}

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8, which editors put before a text */

/* Numbers of one line into row.  Returns their count, or -1: *bad points at the word that is no number. */
static int parse_line(char *line, int columns, double *row, const char **bad)
{
    int n = 0;
    for (char *at = line;;) {
        while (isspace((unsigned char)*at) || *at == ',')
            ++at;
        if (!*at)
            return n;
        char *end = at;
        const double v = CPLStrtod(at, &end);
        const bool hexadecimal = memchr(at, 'x', (size_t)(end - at)) || memchr(at, 'X', (size_t)(end - at));
        if (end == at || hexadecimal || (*end && !isspace((unsigned char)*end) && *end != ',') ||
            !isfinite(v)) {
            at[strcspn(at, " \t\r,")] = '\0';
            *bad = at;
            return -1;
        }
        if (n < columns)
            row[n] = v;
        ++n;
        at = end;
    }
}

static SdmStatus parse_table(SdmContext *ctx, const char *path, char *text, int columns, double *out,
                             int *lines)
{
    int number = 0;
    *lines = 0;
    if (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        text += strlen(BYTE_ORDER_MARK);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        ++number;
        const char *bad = NULL;
        const int n = parse_line(line, columns, out + (size_t)*lines * (size_t)columns, &bad);
        if (n < 0)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: line %d holds '%.40s' where a number is expected; the file is "
                            "damaged, fetch it again",
                            path, number, bad);
        if (n == 0)
            continue;
        if (n != columns)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: line %d holds %d numbers, expected %d; the file is damaged, "
                            "fetch it again",
                            path, number, n, columns);
        ++*lines;
    }
    if (!*lines)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no numbers in it, expected lines of %d; fetch the file again", path, columns);
    return SDM_OK;
}

static SdmStatus fail_packed(SdmContext *ctx, const char *path)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: the unpacked data do not match the archive's checksum; the archive is damaged, "
                    "fetch it again",
                    path);
}

SdmStatus sdm_read_table(SdmContext *ctx, const char *path, int columns, double **out, int *lines)
{
    SDM_CLOSED_BY(sdm_vsi_free) GByte *text = NULL;
    vsi_l_offset bytes = 0;
    size_t count = 1;
    *out = NULL;
    SDM_QUIET;
    const bool there = sdm_path_exists(path);
    const int ok = there && VSIIngestFile(NULL, path, &text, &bytes, TABLE_BYTES_MAX);
    const bool good = CPLGetLastErrorType() != CE_Failure; /* of a zip archive: else a wrong checksum */
    if (!there)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: no such file; the scene is incomplete, fetch it again",
                        path);
    if (ok && bytes == 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the file is empty, expected lines of %d numbers; fetch it again", path, columns);
    if (!ok)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: cannot be read as a table of numbers (%s); fetch it again",
                        path, sdm_gdal_reason());
    if (!good)
        return fail_packed(ctx, path);
    for (vsi_l_offset i = 0; i < bytes; ++i) {
        count += text[i] == '\n';
        if (!text[i])
            text[i] = '?'; /* binary data: let the parser say where */
    }
    PASS(sdm_alloc(ctx, out, count * (size_t)columns, sizeof **out, "table"));
    return parse_table(ctx, path, (char *)text, columns, *out, lines);
}

SdmStatus sdm_check_packed(SdmContext *ctx, const char *path)
{
    enum { PART = 1 << 16 };
    SDM_OWNED char *part = NULL;
    PASS(sdm_alloc(ctx, &part, PART, 1, "part of a file"));
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_vsi_close) VSILFILE *const file = VSIFOpenL(path, "rb");
    while (file && VSIFReadL(part, 1, PART, file) == PART && CPLGetLastErrorType() != CE_Failure)
        ;
    return file && CPLGetLastErrorType() != CE_Failure ? SDM_OK : fail_packed(ctx, path);
}

SdmStatus sdm_scene_add_file(SdmContext *ctx, SdmScene *scene, const char *path)
{
    VSIStatBufL at;
    SdmInputFile *grown = NULL, file;
    for (int i = 0; i < scene->file_count; ++i)
        if (strcmp(scene->files[i].path, path) == 0)
            return SDM_OK;
    if (VSIStatL(path, &at) != 0)
        return SDM_OK; /* a subdataset or the like: its container is in the list */
    file = (SdmInputFile){.size_bytes = (int64_t)at.st_size, .mtime_s = (int64_t)at.st_mtime};
    PASS(sdm_format(ctx, file.path, sizeof file.path, "%s", path));
    PASS(sdm_alloc(ctx, &grown, (size_t)scene->file_count + 1, sizeof *grown, "list of inputs"));
    if (scene->file_count)
        memcpy(grown, scene->files, (size_t)scene->file_count * sizeof *grown);
    sdm_free(&scene->files);
    scene->files = grown;
    scene->files[scene->file_count++] = file;
    return SDM_OK;
}

/* The first `want` digits of a text whose groups of digits have signs between them. */
static bool take_digits(const char *text, int want, char *out)
{
    int n = 0;
    for (; *text && n < want; ++text) {
        if (isdigit((unsigned char)*text))
            out[n++] = *text;
        else if (!strchr("-:/", *text))
            return false;
    }
    return n == want;
}

bool sdm_time_read(const char *date, const char *time, char time_utc[32])
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    char d[15] = "";
    time_utc[0] = '\0';
    if (!take_digits(date, 8, d) || !take_digits(time, 6, d + 8))
        return false;
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    (void)sscanf(d, "%4d%2d%2d%2d%2d%2d", &year, &month, &day, &hour, &minute, &second);
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1850 || year > 2200 || month < 1 || month > 12 || day < 1 ||
        day > days[month - 1] + (month == 2 && leap) || hour > 23 || minute > 59 ||
        second > 60) /* a leap second */
        return false;
    snprintf(time_utc, 32, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", d, d + 4, d + 6, d + 8, d + 10, d + 12);
    return true;
}

const char *sdm_date_read(const char *text, char time_utc[32])
{
    enum { DAY = 8, MOMENT = 14 /* digits */ };
    static const char digits[] = "0123456789";
    char day[DAY + 1];
    const size_t run = strspn(text, digits);
    const bool parted = run == 4 && text[4] && strchr("-_.:/", text[4]) && strspn(text + 5, digits) == 2 &&
                        text[7] == text[4] && strspn(text + 8, digits) == 2;
    if (run == MOMENT)
        return sdm_time_read(text, text + DAY, time_utc) ? text + MOMENT : NULL;
    if (run != DAY && !parted)
        return NULL;
    snprintf(day, sizeof day, "%.4s%.2s%.2s", text, text + 4 + parted, text + 6 + 2 * parted);
    const char *rest = text + DAY + 2 * parted;
    if ((*rest != 'T' && *rest != ' ') || !sdm_time_read(day, rest + 1, time_utc))
        return sdm_time_read(day, "000000", time_utc) ? rest : NULL;
    rest += 1 + strspn(rest + 1, "0123456789:");
    rest += *rest == '.' ? 1 + strspn(rest + 1, digits) : 0;
    return rest + (*rest == 'Z' ? 1 : strncmp(rest, "+00:00", 6) == 0 ? 6 : 0);
}

double sdm_time_days(const char *time_utc)
{
    int y, m, d, h, min;
    double s;
    if (sscanf(time_utc, "%d-%d-%dT%d:%d:%lf", &y, &m, &d, &h, &min, &s) != 6)
        return NAN;
    const int a = m <= 2 ? y - 1 : y, b = m <= 2 ? m + 12 : m; /* days of the Gregorian calendar */
    const int days = 365 * a + a / 4 - a / 100 + a / 400 + (153 * (b - 3) + 2) / 5 + d;
    return days + (3600.0 * h + 60.0 * min + s) / 86400.0;
}

void sdm_granule_time(const char *granule, char time_utc[32])
{
    char date[9];
    time_utc[0] = '\0';
    const char *at = strstr(granule, "AST");      /* _L1A_, 14DEM_ ... */
    while (at && strspn(at, "0123456789") < 17) { /* 3 of the version, 14 of MMDDYYYYhhmmss */
        at = strchr(at, '_');
        at += at != NULL;
    }
    if (!at)
        return;
    snprintf(date, sizeof date, "%.4s%.4s", at + 7, at + 3);
    (void)sdm_time_read(date, at + 11, time_utc);
}

SdmStatus sdm_gdal_name(SdmContext *ctx, const char *name, char *out, size_t size)
{
    const char *rest, *const beginning = sdm_address_split(name, &rest);
    return sdm_format(ctx, out, size, "%s%s", beginning, rest);
}

bool sdm_is_virtual(const char *name)
{
    return strncmp(name, "/vsi", 4) == 0 || strstr(name, "://");
}
