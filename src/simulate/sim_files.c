/* The output folder: written aside as DIR.part, renamed when whole. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names that simulate writes, and what GIS programs put beside them. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"truth.tif", "class.tif", "left.tif", "right.tif", "AST_L1A_003"};
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
        if (strncmp(name, ours[k], strlen(ours[k])) == 0)
            return true;
    return false;
}

/* First file in the folder that is not ours, "" if none; false when it is no folder. */
static bool find_stranger(const char *folder, char *name, size_t size)
{
    DIR *const d = opendir(folder);
    if (!d)
        return false;
    name[0] = '\0';
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !is_ours(e->d_name)) {
            snprintf(name, size, "%s", e->d_name);
            break;
        }
    closedir(d);
    return true;
}

/* Remove a folder that holds nothing but our files. */
static void remove_ours(const char *folder)
{
    char path[SIM_PATH + 300];
    DIR *const d = opendir(folder);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (is_ours(e->d_name)) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    closedir(d);
    rmdir(folder);
}

/* `DIR` without trailing slashes and with `suffix`. */
static SdmStatus beside(const SimScene *sc, const char *suffix, char out[SIM_PATH])
{
    int n = (int)strlen(sc->opt->output);
    while (n > 1 && sc->opt->output[n - 1] == '/')
        n--;
    return sdm_format(sc->ctx, out, SIM_PATH, "%.*s%s", n, sc->opt->output, suffix);
}

SdmStatus sim_files_begin(SimScene *sc)
{
    SdmStatus st = SDM_OK;
    char target[SIM_PATH], stranger[256];
    struct stat info;
    TRY(beside(sc, "", target));
    TRY(beside(sc, ".part", sc->folder));
    if (stat(target, &info) == 0) {
        if (!sc->opt->overwrite)
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s exists; give --overwrite to replace it", target);
        if (!find_stranger(target, stranger, sizeof stranger))
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s is not a folder; choose another --output", target);
        if (stranger[0])
            return sdm_fail(sc->ctx, SDM_ERR_USAGE,
                            "%s holds %s, which simulate did not write; choose another --output", target,
                            stranger);
    }
    remove_ours(sc->folder); /* of a run that was killed */
    if (mkdir(sc->folder, 0777) != 0) {
        const int why = errno;
        sdm_fail(sc->ctx, SDM_ERR_IO, "cannot make the folder %s: %s", sc->folder, strerror(why));
        sc->folder[0] = '\0';
        return SDM_ERR_IO;
    }
done:
    return st;
}

SdmStatus sim_files_commit(SimScene *sc)
{
    SdmStatus st = SDM_OK;
    char target[SIM_PATH], old[SIM_PATH];
    TRY(beside(sc, "", target));
    TRY(beside(sc, ".old", old));
    remove_ours(old);
    const bool had = rename(target, old) == 0;
    if (rename(sc->folder, target) != 0) {
        const int why = errno;
        if (had && rename(old, target) != 0)
            return sdm_fail(sc->ctx, SDM_ERR_IO, "cannot rename %s to %s; the former content is in %s",
                            sc->folder, target, old);
        return sdm_fail(sc->ctx, SDM_ERR_IO, "cannot rename %s to %s: %s", sc->folder, target, strerror(why));
    }
    sc->folder[0] = '\0';
    remove_ours(old);
done:
    return st;
}

void sim_files_abandon(SimScene *sc)
{
    if (sc->folder[0])
        remove_ours(sc->folder);
    sc->folder[0] = '\0';
}
