/* The output folder: written as DIR.part, renamed when complete. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names of files that simulate writes, and of those that GIS programs derive from them. */
static bool is_output(const char *name)
{
    static const char *const ours[] = {"truth.tif", "class.tif", "reference.tif", "change.tif",
                                       "left.tif",  "right.tif", "AST_L1A_003"};
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
        if (strncmp(name, ours[k], strlen(ours[k])) == 0)
            return true;
    return false;
}

/* First file in the folder that is not ours, "" if none; false when it is no folder. */
static bool find_other_file(const char *folder, char *name, size_t size)
{
    DIR *const d = opendir(folder);
    if (!d)
        return false;
    name[0] = '\0';
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !is_output(e->d_name)) {
            snprintf(name, size, "%s", e->d_name);
            break;
        }
    closedir(d);
    return true;
}

/* Remove a folder that holds nothing but our files. */
static void remove_folder(const char *folder)
{
    char path[SIM_PATH + 300];
    DIR *const d = opendir(folder);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (is_output(e->d_name)) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    closedir(d);
    rmdir(folder);
}

/* `DIR` without trailing slashes and with `suffix`. */
static SdmStatus name_folder(const SimScene *sc, const char *suffix, char out[SIM_PATH])
{
    int n = (int)strlen(sc->opt->output);
    while (n > 1 && sc->opt->output[n - 1] == '/')
        n--;
    return sdm_format(sc->ctx, out, SIM_PATH, "%.*s%s", n, sc->opt->output, suffix);
}

SdmStatus sim_files_begin(SimScene *sc)
{
    SdmStatus st = SDM_OK;
    char target[SIM_PATH], other_file[256];
    struct stat info;
    TRY(name_folder(sc, "", target));
    TRY(name_folder(sc, ".part", sc->folder));
    if (lstat(target, &info) == 0 && S_ISLNK(info.st_mode))
        return sdm_fail(sc->ctx, SDM_ERR_USAGE,
                        "%s is a link; give the name of its folder, or remove the link", target);
    if (stat(target, &info) == 0) {
        if (!sc->opt->overwrite)
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s exists; give --overwrite to replace it", target);
        if (!find_other_file(target, other_file, sizeof other_file))
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s is not a folder; choose another --output", target);
        if (other_file[0])
            return sdm_fail(sc->ctx, SDM_ERR_USAGE,
                            "%s holds %s, which simulate did not write; choose another --output", target,
                            other_file);
    }
    remove_folder(sc->folder); /* of a run that was killed */
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
    TRY(name_folder(sc, "", target));
    TRY(name_folder(sc, ".old", old));
    remove_folder(old);
    const bool had = rename(target, old) == 0;
    if (rename(sc->folder, target) != 0) {
        const int why = errno;
        if (had && rename(old, target) != 0)
            return sdm_fail(sc->ctx, SDM_ERR_IO, "cannot rename %s to %s; the former content is in %s",
                            sc->folder, target, old);
        return sdm_fail(sc->ctx, SDM_ERR_IO, "cannot rename %s to %s: %s", sc->folder, target, strerror(why));
    }
    sc->folder[0] = '\0';
    remove_folder(old);
done:
    return st;
}

void sim_files_abandon(SimScene *sc)
{
    if (sc->folder[0])
        remove_folder(sc->folder);
    sc->folder[0] = '\0';
}
