/* Layers -> the date of each: --dates, metadata of the file, NAME.json, its name. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/list_file.h"
#include "core/system.h"
#include "coreg/stack_layer.h"
#include "coreg/trend_fit.h"
#include "input/source.h"
#include "product/output_files.h"

#include <cJSON.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

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
    char *text = NULL;
    size_t size = 0;
    struct stat at;
    snprintf(path, sizeof path, "%.*s.json", (int)sdm_output_stem(dem), dem);
    if (stat(path, &at) != 0 || sdm_file_read(ctx, path, LARGEST_JSON, &text, &size) != SDM_OK)
        return false;
    cJSON *const root = cJSON_ParseWithLength(text, size);
    const cJSON *const scene = cJSON_GetObjectItemCaseSensitive(root, "scene");
    const char *const time =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scene, "acquisition_time_utc"));
    const bool found = time && find_date(time, out);
    cJSON_Delete(root);
    sdm_free(&text);
    return found;
}

void sdm_layer_read_date(SdmContext *ctx, GDALDatasetH file, SdmLayer *l)
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

/* A line "NAME DATE" or "NAME,DATE" gives the DEMs of that name their date. */
static SdmStatus take_line(SdmStack *s, const SdmListFile *list, char *entry)
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
    const char *const name = sdm_list_file_unquote(entry);
    const SdmStatus st = sdm_path_join(s->ctx, list->folder, name, path);
    int found = 0;
    for (int i = 0; i < s->count && !st; i++) {
        SdmLayer *const l = &s->layer[i];
        if (strcmp(l->path, name) == 0 || sdm_system_is_same(l->path, path) ||
            (name == sdm_path_base(name) && strcmp(sdm_path_base(l->path), name) == 0)) {
            if (l->date_given && strcmp(l->date, date) != 0)
                return sdm_fail(
                    s->ctx, SDM_ERR_INPUT,
                    "--dates %s: line %d gives %s the date %.10s, an earlier line %.10s; give one",
                    s->opt->dates, list->line, l->path, date, l->date);
            memcpy(l->date, date, sizeof date);
            l->date_given = true;
            found++;
        }
    }
    if (!st && !found)
        sdm_log(s->ctx, SDM_LOG_WARNING, 0,
                "--dates %s: line %d names '%.200s', which is no DEM of this stack", s->opt->dates,
                list->line, name);
    return st;
}

static SdmStatus read_list(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    SdmListFile list = {.lines = 0};
    TRY(sdm_list_file_open(s->ctx, "--dates", s->opt->dates, "a DEM and its date a line", &list));
    for (char *entry; (entry = sdm_list_file_next(&list)) != NULL;)
        TRY(take_line(s, &list, entry));
done:
    sdm_list_file_close(&list);
    return st;
}

/* Three dates that differ make a trend. */
static SdmStatus check_dates(const SdmStack *s)
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

SdmStatus sdm_stack_dates(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    if (s->opt->dates)
        TRY(read_list(s));
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
    TRY(check_dates(s));
done:
    return st;
}
