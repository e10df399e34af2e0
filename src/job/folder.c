/* The files of a job folder: which are ours, and their removal. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is the name <stem>, alone or as it is written aside? */
static bool is_named(const char *name, const char *stem)
{
    const size_t n = strlen(stem);
    return strncmp(name, stem, n) == 0 && (!name[n] || strncmp(name + n, ".part-", 6) == 0);
}

/* A file that units write: of the scene numbered `scene` and units first..last; scene < 0: of any. */
static bool is_unit_file(const char *name, int64_t scene, int64_t first, int64_t last)
{
    static const char *const end[] = {"sdm", "err", "run"};
    char *rest = NULL, stem[64];
    const bool unit = strncmp(name, "unit_", 5) == 0;
    if (!unit && strncmp(name, "scene_", 6) != 0)
        return false;
    const long long number = strtoll(name + (unit ? 5 : 6), &rest, 10);
    for (int i = 0; i < (unit ? 3 : 2); i++) {
        snprintf(stem, sizeof stem, "%s_%06lld.%s", unit ? "unit" : "scene", number, end[i]);
        if (is_named(name, stem))
            return scene < 0 || (unit ? number >= first && number <= last : number == scene);
    }
    return false;
}

void sdm_job_sweep(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene)
{
    DIR *const dir = opendir(job->folder);
    (void)ctx;
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (is_unit_file(e->d_name, scene->number, scene->first_unit,
                         scene->first_unit + scene->unit_count - 1))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
}

void sdm_job_renew(const char *folder, int64_t units, int64_t scenes)
{
    DIR *const dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const bool unit = strncmp(e->d_name, "unit_", 5) == 0;
        const char *const end = strrchr(e->d_name, '.');
        if (is_unit_file(e->d_name, -1, 0, 0) &&
            (strcmp(end, ".err") == 0 ||
             strtoll(e->d_name + (unit ? 5 : 6), NULL, 10) >= (unit ? units : scenes)))
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
}

int64_t sdm_job_blocks(const char *folder)
{
    DIR *const dir = opendir(folder);
    int64_t n = 0;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *const end = strrchr(e->d_name, '.');
        n += strncmp(e->d_name, "unit_", 5) == 0 && end && strcmp(end, ".sdm") == 0;
    }
    if (dir)
        closedir(dir);
    return n;
}

bool sdm_job_has_work(const char *folder)
{
    DIR *const dir = opendir(folder);
    bool any = false;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && !any; e = readdir(dir)) {
        const char *const end = strrchr(e->d_name, '.');
        any = is_unit_file(e->d_name, -1, 0, 0) && end && strcmp(end, ".sdm") == 0;
    }
    if (dir)
        closedir(dir);
    return any;
}

void sdm_job_remove(const char *folder)
{
    DIR *const dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (is_unit_file(e->d_name, -1, 0, 0) || is_named(e->d_name, "scene_000000.merged") ||
            is_named(e->d_name, "plan.json"))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(folder);
}
