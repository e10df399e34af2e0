/* The folder of a product, or one of its tiles -> the file by which GDAL opens the whole image. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "input/source.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, PATH_BYTES = 1024, INDEX_BYTES = 16 << 20 };

/* Descriptions of products in a folder. */
typedef struct Found {
    int count, panchromatic;
    char first[PATH_BYTES], best[PATH_BYTES]; /* best: of the panchromatic image */
} Found;

static bool is_index(const char *base)
{
    return (EQUALN(base, "DIM_", 4) && sdm_path_ends_in(base, ".xml")) || sdm_path_ends_in(base, ".til");
}

static bool is_panchromatic(const char *base)
{
    return strstr(base, "_P_") || strstr(base, "_PAN_") || strstr(base, "-P1B") || strstr(base, "-P2A") ||
           strstr(base, "-P3D");
}

static SdmWalk find_index(void *user, const char *path, const char *name)
{
    Found *const found = user;
    if (is_index(name) && !found->count++)
        snprintf(found->first, sizeof found->first, "%s", path);
    if (is_index(name) && is_panchromatic(name) && !found->panchromatic++)
        snprintf(found->best, sizeof found->best, "%s", path);
    return SDM_WALK_ON;
}

/* The text of a small file. */
static SdmStatus read_text(SdmContext *ctx, const char *path, GByte **out)
{
    SDM_QUIET;
    *out = NULL;
    if (VSIIngestFile(NULL, path, out, NULL, INDEX_BYTES))
        return SDM_OK;
    return sdm_fail(
        ctx, SDM_ERR_INPUT,
        "%s: cannot be read as the description of a product, of at most %d bytes (%.300s); check its "
        "permissions, or fetch it again",
        path, (int)INDEX_BYTES, sdm_gdal_reason());
}

/* Is every image that the description names there?  Names stand in quotes: <DATA_FILE_PATH href="...">,
 * filename = "...". */
static SdmStatus check_tiles(SdmContext *ctx, const char *index)
{
    SDM_CLOSED_BY(sdm_vsi_free) GByte *text = NULL;
    char folder[PATH_BYTES], name[PATH_BYTES], path[2 * PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", CPLGetPath(index));
    PASS(read_text(ctx, index, &text));
    const char *const key = sdm_path_ends_in(index, ".til") ? "filename" : "DATA_FILE_PATH";
    for (const char *at = strstr((const char *)text, key); at; at = strstr(at + 1, key)) {
        const char *const open = at + strcspn(at, "\"'\n>");
        if (*open != '"' && *open != '\'')
            continue;
        const size_t n = strcspn(open + 1, *open == '"' ? "\"" : "'");
        if (snprintf(name, sizeof name, "%.*s", (int)n, open + 1) >= (int)sizeof name)
            continue;
        snprintf(path, sizeof path, "%s/%s", *folder ? folder : ".", name);
        if (!sdm_path_exists(path))
            return sdm_fail(ctx, SDM_ERR_INPUT, "%s: its image %s is missing in %s; fetch the whole product",
                            index, name, *folder ? folder : ".");
    }
    return SDM_OK;
}

bool sdm_product_tile(const char *base, int *row, int *column)
{
    for (const char *r = strstr(base, "_R"); r; r = strstr(r + 1, "_R")) {
        const char *c = r + 2;
        while (isdigit((unsigned char)*c))
            c++;
        if (c > r + 2 && *c == 'C' && isdigit((unsigned char)c[1])) {
            *row = atoi(r + 2);
            *column = atoi(c + 1);
            return true;
        }
    }
    return false;
}

/* The description beside a tile that names it; out stays empty where there is none. */
static SdmStatus find_beside(SdmContext *ctx, const char *tile, char *out, size_t size)
{
    SDM_CLOSED_BY(sdm_vsi_free) GByte *text = NULL;
    char folder[PATH_BYTES], path[2 * PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", CPLGetPath(tile));
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = VSIReadDir(*folder ? folder : ".");
    *out = '\0';
    for (int i = 0; list && list[i] && !*out; i++) {
        if (sdm_path_is_hidden(list[i]) || !is_index(list[i]))
            continue;
        snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", list[i]);
        PASS(read_text(ctx, path, &text));
        if (strstr((const char *)text, sdm_path_base(tile)))
            PASS(sdm_format(ctx, out, size, "%s", path));
        VSIFree(text);
        text = NULL;
    }
    return SDM_OK;
}

static SdmStatus find_in_folder(SdmContext *ctx, const char *folder, char *out, size_t size)
{
    Found found = {.count = 0};
    char trimmed[PATH_BYTES];
    SdmStatus st = sdm_format(ctx, trimmed, sizeof trimmed, "%s", folder);
    for (size_t n = strlen(trimmed); st == SDM_OK && n > 1 && trimmed[n - 1] == '/'; n--)
        trimmed[n - 1] = '\0';
    if (st != SDM_OK)
        return st;
    (void)sdm_folder_walk(trimmed, DEPTH - 1, find_index, &found);
    if (found.count == 0)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "%s: a folder without DIM_*.XML (Pleiades, SPOT 6/7) and without .TIL (WorldView), expected a "
            "product or an image; give the product's folder as it was delivered, or the image file itself "
            "(an ASTER scene holds both views, give it alone)",
            folder);
    if (found.count > 1 && found.panchromatic != 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: holds %d products, such as %s; give one of these files itself", folder,
                        found.count, found.first);
    return sdm_format(ctx, out, size, "%s", found.count > 1 ? found.best : found.first);
}

SdmStatus sdm_product_find(SdmContext *ctx, const char *name, char *out, size_t size)
{
    VSIStatBufL at;
    int row, column;
    const char *const base = sdm_path_base(name);
    PASS(sdm_format(ctx, out, size, "%s", name));
    if (VSIStatL(name, &at) != 0)
        return SDM_OK; /* the caller says so, or GDAL knows the name */
    if (VSI_ISDIR(at.st_mode)) {
        PASS(find_in_folder(ctx, name, out, size));
    } else if (sdm_product_tile(base, &row, &column)) {
        PASS(find_beside(ctx, name, out, size));
        if (!*out && EQUALN(base, "IMG_", 4))
            return sdm_fail(
                ctx, SDM_ERR_INPUT,
                "%s: its name is that of a tile, but no DIM_*.XML in its folder lists it; give the "
                "product's folder as it was delivered, or rename the file where it is the whole image",
                name);
        if (*out)
            sdm_log(ctx, SDM_LOG_INFO, 1, "%s is one tile; the whole product is used: %s", name, out);
        else
            PASS(sdm_format(ctx, out, size, "%s", name));
    }
    if (is_index(sdm_path_base(out)))
        PASS(check_tiles(ctx, out));
    return SDM_OK;
}
