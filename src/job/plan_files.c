/* Inputs of a plan: size and time stamp then, and now. */
// SPDX-License-Identifier: Apache-2.0
#include "job/plan.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int64_t micros(const struct stat *s)
{
    return (int64_t)s->st_mtim.tv_sec * 1000000 + s->st_mtim.tv_nsec / 1000;
}

/* ISO 8601, to the second, or to the microsecond where it has one. */
static void print_time(int64_t us, char out[40])
{
    const time_t t = (time_t)(us / 1000000);
    struct tm tm;
    char text[32] = "?";
    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (us % 1000000)
        snprintf(out, 40, "%s.%06dZ", text, (int)(us % 1000000));
    else
        snprintf(out, 40, "%sZ", text);
}

cJSON *sdm_plan_path(SdmContext *ctx, const char *folder, const char *path)
{
    char rel[SDM_PATH_SIZE], absolute[SDM_PATH_SIZE];
    if (sdm_path_split(ctx, folder, path, rel, absolute) != SDM_OK)
        return NULL;
    cJSON *const out = cJSON_CreateObject();
    cJSON_AddStringToObject(out, "path", rel);
    if (*absolute)
        cJSON_AddStringToObject(out, "absolute", absolute);
    return out;
}

cJSON *sdm_plan_file(SdmContext *ctx, const char *folder, const char *path)
{
    struct stat s;
    char when[40];
    cJSON *const out = sdm_plan_path(ctx, folder, path);
    if (!out || stat(path, &s) != 0)
        return out;
    cJSON_AddNumberToObject(out, "size_bytes", (double)s.st_size);
    cJSON_AddNumberToObject(out, "mtime_us", (double)micros(&s));
    print_time(micros(&s), when);
    cJSON_AddStringToObject(out, "mtime_utc", when);
    return out;
}

/* Copies keep the time to the second at least; what they drop is 0. */
static bool same_time(int64_t a, int64_t b)
{
    return a == b || (a / 1000000 == b / 1000000 && (a % 1000000 == 0 || b % 1000000 == 0));
}

SdmStatus sdm_plan_check_files(SdmContext *ctx, const char *folder, const SdmPlanScene *scene, bool needed)
{
    SdmStatus st = SDM_OK;
    const cJSON *file;
    cJSON_ArrayForEach(file, scene->files)
    {
        const cJSON *const rel = cJSON_GetObjectItemCaseSensitive(file, "path");
        const cJSON *const absolute = cJSON_GetObjectItemCaseSensitive(file, "absolute");
        const cJSON *const size = cJSON_GetObjectItemCaseSensitive(file, "size_bytes");
        const cJSON *const time = cJSON_GetObjectItemCaseSensitive(file, "mtime_us");
        char path[SDM_PATH_SIZE], then[40], now[40];
        struct stat s;
        if (!cJSON_IsString(rel) || !cJSON_IsNumber(size) || !cJSON_IsNumber(time))
            continue; /* no file of its own */
        TRY(sdm_path_find(ctx, folder, rel->valuestring,
                          cJSON_IsString(absolute) ? absolute->valuestring : NULL, path));
        const bool gone = stat(path, &s) != 0;
        if (gone && !needed)
            continue;
        if (gone)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: no such file, but the job was planned with it; put it back, or plan "
                            "the job again with --overwrite",
                            path);
        if ((int64_t)size->valuedouble == (int64_t)s.st_size &&
            same_time((int64_t)time->valuedouble, micros(&s)))
            continue;
        print_time((int64_t)time->valuedouble, then);
        print_time(micros(&s), now);
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s has changed since the job was planned: then %lld bytes of %s, now %lld "
                        "bytes of %s; put the old file back, or plan the job again with --overwrite",
                        path, (long long)size->valuedouble, then, (long long)s.st_size, now);
    }
done:
    return st;
}
