/* The output folder: written as DIR.part, renamed when complete. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "simulate/sim.h"

#include <dirent.h>
#include <errno.h>
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

/* Remove our files and then the folder; or, where `other` is not NULL, copy the name of a file that is not
 * ours.  @return false: it is no folder. */
static bool sweep(const char *folder, char other[256])
{
    DIR *const d = opendir(folder);
    if (!d)
        return false;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        const bool ours = is_output(e->d_name);
        if (!other && ours)
            sdm_file_remove_in(folder, e->d_name);
        else if (other && !ours && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            snprintf(other, 256, "%s", e->d_name);
    }
    closedir(d);
    if (!other)
        rmdir(folder);
    return true;
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
    char target[SIM_PATH], other[256] = "";
    struct stat info;
    PASS(name_folder(sc, "", target));
    PASS(name_folder(sc, ".part", sc->folder));
    if (lstat(target, &info) == 0) {
        if (!sc->opt->overwrite)
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s exists; give --overwrite to replace it", target);
        if (S_ISLNK(info.st_mode))
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s is a link; choose another --output", target);
        if (!sweep(target, other))
            return sdm_fail(sc->ctx, SDM_ERR_USAGE, "%s is not a folder; choose another --output", target);
        if (other[0])
            return sdm_fail(sc->ctx, SDM_ERR_USAGE,
                            "%s holds %s, which simulate did not write; choose another --output", target,
                            other);
    }
    sweep(sc->folder, NULL); /* of a run that was killed */
    if (mkdir(sc->folder, 0777) == 0)
        return SDM_OK;
    const SdmStatus st =
        sdm_fail(sc->ctx, SDM_ERR_IO, "cannot make the folder %s: %s", sc->folder, strerror(errno));
    sc->folder[0] = '\0';
    return st;
}

SdmStatus sim_files_commit(SimScene *sc)
{
    char target[SIM_PATH];
    PASS(name_folder(sc, "", target));
    sweep(target, NULL);
    if (rename(sc->folder, target) != 0)
        return sdm_fail(sc->ctx, SDM_ERR_IO, "cannot rename %s to %s: %s", sc->folder, target,
                        strerror(errno));
    sc->folder[0] = '\0';
    return SDM_OK;
}

void sim_files_abandon(SimScene *sc)
{
    if (sc->folder[0])
        sweep(sc->folder, NULL);
    sc->folder[0] = '\0';
}
