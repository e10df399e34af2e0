/* Names of files: last part, ending, relative to a folder, absolute, quoted for a shell. */
// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"
#include "core/system.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

const char *sdm_path_base(const char *path)
{
    const char *const slash = sdm_system_slash(path);
    return slash ? slash + 1 : path;
}

bool sdm_path_ends_in(const char *path, const char *ending)
{
    const char *const base = sdm_path_base(path);
    const size_t n = strlen(base), k = strlen(ending);
    return n > k && strcasecmp(base + n - k, ending) == 0;
}

size_t sdm_path_stem(const char *output)
{
    static const char *const known[] = {".tif", ".tiff", ".gtiff"};
    for (int i = 0; i < 3; i++)
        if (sdm_path_ends_in(output, known[i]))
            return strlen(output) - strlen(known[i]);
    return strlen(output);
}

bool sdm_path_is_hidden(const char *base)
{
    return *base == '.' || strcmp(base, "__MACOSX") == 0;
}

static bool same_folder(const char *a, const char *b)
{
    return sdm_system_is_same(*a ? a : ".", *b ? b : ".");
}

/* Take the last part off a folder ("a/b" -> "a", "a" -> "", "/a" -> "/"); false when it has none that can be
 * taken off. */
static bool strip_last(char *folder)
{
    char *const slash = sdm_system_slash(folder);
    const char *const last = slash ? slash + 1 : folder;
    if (!*last || !strcmp(last, "..") || !strcmp(last, "."))
        return false;
    folder[slash ? slash - folder + (slash == folder) : 0] = '\0';
    return true;
}

SdmStatus sdm_path_join(SdmContext *ctx, const char *folder, const char *rel, char out[SDM_PATH_SIZE])
{
    char near[SDM_PATH_SIZE], far[SDM_PATH_SIZE];
    if (sdm_system_is_absolute(rel))
        return sdm_format(ctx, out, SDM_PATH_SIZE, "%s", rel);
    PASS(sdm_format(ctx, near, sizeof near, "%s", folder));
    for (size_t n = strlen(near); n > 1 && near[n - 1] == '/'; n--)
        near[n - 1] = '\0';
    PASS(sdm_format(ctx, far, sizeof far, "%s", near));
    for (bool more = true;
         more && strncmp(rel, "../", 3) == 0;) { /* shorten while both names denote the same folder; a link
                                                  * may not */
        char tried[SDM_PATH_SIZE];
        memcpy(tried, near, sizeof tried);
        PASS(sdm_format(ctx, far, sizeof far, "%s/..", near));
        more = strip_last(tried) && same_folder(tried, far);
        if (more) {
            memcpy(near, tried, sizeof near);
            rel += 3;
        }
    }
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s%s%s", near, *near && strcmp(near, "/") ? "/" : "", rel);
}

/* Real folder of the path, then its last part. */
static bool real_name(const char *path, char out[PATH_MAX])
{
    char folder[SDM_PATH_SIZE], real[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        folder[n - 1] = '\0';
    char *const slash = sdm_system_slash(folder);
    char last[SDM_PATH_SIZE];
    snprintf(last, sizeof last, "%s", slash ? slash + 1 : folder);
    if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
        return sdm_system_real_path(path, out, PATH_MAX);
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    if (!sdm_system_real_path(slash ? folder : ".", real, sizeof real))
        return false;
    return snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", last) < PATH_MAX;
}

SdmStatus sdm_path_split(SdmContext *ctx, const char *folder, const char *path, char rel[SDM_PATH_SIZE],
                         char absolute[SDM_PATH_SIZE])
{
    char base[PATH_MAX], full[PATH_MAX];
    struct stat s;
    *absolute = '\0';
    if ((strchr(path, ':') && stat(path, &s) != 0) || strncmp(path, "/vsi", 4) == 0)
        return sdm_format(ctx, rel, SDM_PATH_SIZE, "%s", path);
    if (!sdm_system_real_path(folder, base, sizeof base) || !real_name(path, full))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: no such file or folder; check the name", path);
    PASS(sdm_format(ctx, absolute, SDM_PATH_SIZE, "%s", full));
    size_t same = 0; /* length of the common folders, with their last slash */
    for (size_t i = 0; base[i] == full[i] || (!base[i] && full[i] == '/'); i++) {
        if (full[i] == '/')
            same = i + 1;
        if (!base[i] || !full[i])
            break;
    }
    *rel = '\0';
    size_t n = 0;
    for (const char *p = strlen(base) >= same ? base + same : ""; *p;
         p = strchr(p, '/') ? strchr(p, '/') + 1 : "")
        n += (size_t)snprintf(rel + n, n < SDM_PATH_SIZE ? SDM_PATH_SIZE - n : 0, "../");
    if (n + strlen(full + same) >= SDM_PATH_SIZE)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: the name is too long", path);
    memcpy(rel + n, full + same, strlen(full + same) + 1);
    return SDM_OK;
}

SdmStatus sdm_path_find(SdmContext *ctx, const char *folder, const char *rel, const char *absolute,
                        char out[SDM_PATH_SIZE])
{
    struct stat s;
    if (!absolute || !*absolute)
        return sdm_format(ctx, out, SDM_PATH_SIZE, "%s", rel);
    PASS(sdm_path_join(ctx, folder, rel, out));
    const bool longer = strlen(out) > strlen(absolute) && sdm_system_is_same(out, absolute);
    if (!longer && (stat(out, &s) == 0 || stat(absolute, &s) != 0))
        return SDM_OK;
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s", absolute);
}

void sdm_path_quote(const char *path, char *out, size_t size)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@%=";
    size_t n = 0;
    out[0] = '\0';
    if (*path && *path != '-' && strspn(path, plain) == strlen(path)) {
        snprintf(out, size, "%s", path);
        return;
    }
    for (const char *c = path; *c && n + 8 < size; c++) {
        n += (size_t)snprintf(out + n, size - n, "%s", c == path ? "'" : "");
        n += (size_t)snprintf(out + n, size - n, *c == '\'' ? "'\\''" : "%c", *c);
    }
    snprintf(out + n, size - n, "'");
}
