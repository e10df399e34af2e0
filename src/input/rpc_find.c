/* An image, the files beside it, the description of its product -> the RPC of its camera. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "input/rpc_find.h"
#include "geo/gdal_scope.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <math.h>
#include <string.h>

/* ---- DIMAP: description of a product (DIM_*.XML) and its RPC (RPC_*.XML) ----
 *
 * Read here and not by GDAL, of which some releases (3.5.1 to 3.6 at least) take the first column of the
 * domain of validity for the number of the image's first column. */

/* The name in the first <COMPONENT_PATH href="...RPC_*.XML"/> of a tree, or NULL. */
static const char *find_component(const CPLXMLNode *node)
{
    for (; node; node = node->psNext) {
        if (node->eType != CXT_Element)
            continue;
        const char *const href = EQUAL(node->pszValue, "COMPONENT_PATH")
                                     ? CPLGetXMLValue((CPLXMLNode *)(uintptr_t)node, "href", NULL)
                                     : NULL;
        if (href && EQUALN(sdm_path_base(href), "RPC_", 4) && sdm_path_ends_in(href, ".xml"))
            return href;
        const char *const below = find_component(node->psChild);
        if (below)
            return below;
    }
    return NULL;
}

/* The file that a DIMAP description (DIM_*.XML) names as its RPC; "" where it names none.  SDM_ERR_INPUT
 * where that is not there. */
static SdmStatus dimap_rpc_path(SdmContext *ctx, const char *index, char out[SDM_PATH_SIZE])
{
    SDM_CLOSED_BY(sdm_xml_free) CPLXMLNode *const root = CPLParseXMLFile(index);
    const char *const href = find_component(root);
    out[0] = '\0';
    if (!href)
        return SDM_OK;
    PASS(sdm_format(ctx, out, SDM_PATH_SIZE, "%s", CPLFormFilename(CPLGetPath(index), href, NULL)));
    if (!sdm_path_exists(out))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: names %s as its RPC, which is not there; fetch the whole product", index, href);
    return SDM_OK;
}

/* A number, alone or before its unit; false where there is none, or digits follow, as of "12,5", "1D+02". */
static bool take_number(const char *text, double *out)
{
    char *end = NULL;
    *out = text ? CPLStrtod(text, &end) : NAN;
    return text && end != text && isfinite(*out) && strcspn(end, "0123456789") >= strcspn(end, " \t\r\n");
}

/* The first tag below a node that is not a number is left in `tag`. */
static bool take_all(CPLXMLNode *model, CPLXMLNode *validity, SdmRpc *c, char tag[32])
{
    double *const number = (double *)(void *)c;
    for (int i = 0; i < SDM_RPC_TAGS; i++)
        for (int k = 0; k < sdm_rpc_count(i); k++) {
            const bool single = i < SDM_RPC_SINGLE;
            snprintf(tag, 32, single ? "%s" : "%s_%d", sdm_rpc_tags[i], k + 1);
            if (!take_number(CPLGetXMLValue(single ? validity : model, tag, NULL),
                             &number[sdm_rpc_place(i) + k]))
                return false;
        }
    return true;
}

/* The RPC of a DIMAP file RPC_*.XML, its first pixel (0, 0); is_one: false, and nothing else, where the file
 * is none. */
static SdmStatus read_dimap_rpc(SdmContext *ctx, const char *path, SdmRpc *out, bool *is_one)
{
    char tag[32] = "";
    SDM_CLOSED_BY(sdm_xml_free) CPLXMLNode *const root = CPLParseXMLFile(path);
    CPLXMLNode *const function = root ? CPLSearchXMLNode(root, "=Rational_Function_Model") : NULL;
    CPLXMLNode *const validity = function ? CPLSearchXMLNode(function, "=RFM_Validity") : NULL;
    CPLXMLNode *model = function ? CPLSearchXMLNode(function, "=GroundtoImage_Values") : NULL;
    if (function && !model)
        model = CPLSearchXMLNode(function, "=Inverse_Model");
    *is_one = model && validity;
    if (*is_one) {
        if (!take_all(model, validity, out, tag))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: has no number in %s, which an RPC needs; fetch the product again", path,
                            tag);
        /* Airbus counts the pixels of Pleiades and SPOT from 1, those of Pleiades Neo from 0 */
        const CPLXMLNode *const profile = CPLSearchXMLNode(root, "=METADATA_PROFILE");
        const char *const text = profile ? CPLGetXMLValue((CPLXMLNode *)(uintptr_t)profile, "", "") : "";
        const double first = EQUALN(text, "PNEO", 4) ? 0.0 : 1.0;
        out->line_off -= first;
        out->samp_off -= first;
    }
    return SDM_OK;
}

/* Two RPCs that place the ground farther apart than their rounding (RPC00B in NITF) are two cameras. */
static const double SAME_CAMERA_PX = 2.0;
static const char IN_FILE[] = "metadata in the file";
enum { TEXT_BYTES = 1 << 20 };

/* ---- what GDAL makes of an image, and of one file beside it ---- */

/* The tag of an RPC that holds no number, for which GDAL takes 0, or what is before a comma; NULL: none.
 * found: what it holds. */
static const char *find_no_number(char **domain, char found[64])
{
    for (int i = 0; i < SDM_RPC_TAGS; i++) {
        const char *const text = CSLFetchNameValueDef(domain, sdm_rpc_tags[i], "");
        SDM_CLOSED_BY(sdm_string_list_free)
        char **const list = i < SDM_RPC_SINGLE ? CSLAddString(NULL, text) : CSLTokenizeString2(text, " ,", 0);
        double value;
        for (int k = 0; list && list[k]; k++)
            if (!take_number(list[k], &value)) {
                snprintf(found, 64, "%.60s", list[k]);
                return sdm_rpc_tags[i];
            }
    }
    return NULL;
}

static bool take_domain(char **domain, SdmRpc *out)
{
    char found[64];
    GDALRPCInfoV2 info;
    if (!domain || !*domain || find_no_number(domain, found) || !GDALExtractRPCInfoV2(domain, &info))
        return false;
    _Static_assert(offsetof(GDALRPCInfoV2, dfMIN_LONG) == sizeof *out, "GDAL has these numbers in one order");
    memcpy(out, &info, sizeof *out);
    return true;
}

static bool is_same(const SdmRpc *a, const SdmRpc *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The RPC in the file itself: where it is told of no other files, GDAL looks at none. */
static bool read_inside(const char *name, GDALDatasetH like, SdmRpc *out)
{
    const char *const driver[] = {GDALGetDriverShortName(GDALGetDatasetDriver(like)), NULL};
    const char *const siblings[] = {sdm_path_base(name), NULL};
    SDM_CLOSED_BY(sdm_dataset_close)
    GDALDatasetH const ds = GDALOpenEx(name, GDAL_OF_RASTER | GDAL_OF_READONLY, driver, NULL, siblings);
    return ds && take_domain(GDALGetMetadata(ds, "RPC"), out);
}

/* The RPC that GDAL finds in one file beside an image of that name, beside a small image in memory, where no
 * other is.  GDAL's message remains where it finds none. */
static bool read_beside(const char *name, const char *beside, SdmRpc *out)
{
    char folder[64], image[SDM_PATH_SIZE + 64], copy[SDM_PATH_SIZE + 64];
    GByte *text = NULL;
    vsi_l_offset bytes = 0;
    if (!VSIIngestFile(NULL, beside, &text, &bytes, TEXT_BYTES))
        return false;
    snprintf(folder, sizeof folder, "/vsimem/sdm_rpc_%p", (void *)folder); /* of this thread alone */
    snprintf(image, sizeof image, "%s/%.1000s", folder, sdm_path_base(name));
    snprintf(copy, sizeof copy, "%s/%.1000s", folder, sdm_path_base(beside));
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("GTiff"), image, 8, 8, 1, GDT_Byte, NULL);
    GDALClose(ds);
    VSIFCloseL(VSIFileFromMemBuffer(copy, text, bytes, TRUE));
    CPLErrorReset();
    ds = sdm_gdal_open(image);
    const bool found = ds && take_domain(GDALGetMetadata(ds, "RPC"), out);
    if (ds)
        GDALClose(ds);
    VSIRmdirRecursive(folder);
    return found;
}

static bool is_camera_file(const char *path)
{
    return sdm_path_ends_in(path, ".txt") || sdm_path_ends_in(path, ".rpb") ||
           sdm_path_ends_in(path, ".rpc") || sdm_path_ends_in(path, ".xml") || sdm_path_ends_in(path, ".pvl");
}

/* Files beside an image from which GDAL may take its RPC: those that it lists, and those with the names that
 * it looks for.  To be freed with CSLDestroy(). */
static char **list_beside(const char *name, GDALDatasetH ds)
{
    static const char *const endings[] = {"_RPC.TXT", "_rpc.txt", ".RPB", ".rpb", ".RPC", ".rpc"};
    char **out = NULL, folder[SDM_PATH_SIZE], stem[SDM_PATH_SIZE];
    SDM_CLOSED_BY(sdm_string_list_free) char **const used = GDALGetFileList(ds);
    snprintf(folder, sizeof folder, "%s", CPLGetPath(name));
    snprintf(stem, sizeof stem, "%s", CPLFormFilename(folder, CPLGetBasename(name), NULL));
    const char *const hidden = CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "NO");
    const bool is_local =
        !sdm_is_virtual(name) || !strncmp(name, "/vsimem/", 8) || !strncmp(name, "/vsizip/", 8);
    for (int i = 0; used && used[i]; i++)
        if (strcmp(used[i], name) != 0 && is_camera_file(used[i]) && !strcmp(CPLGetPath(used[i]), folder))
            out = CSLAddString(out, used[i]);
    for (int i = 0; i < 7 && is_local && !EQUAL(hidden, "EMPTY_DIR"); i++) {
        char path[SDM_PATH_SIZE];
        const int n = i < 6 ? snprintf(path, sizeof path, "%s%s", stem, endings[i])
                            : snprintf(path, sizeof path, "%s.aux.xml", name);
        if (n < (int)sizeof path && CSLFindString(out, path) < 0 && sdm_path_exists(path))
            out = CSLAddString(out, path);
    }
    return out;
}

/* ---- sentences where there is none ---- */

/* Does a text hold a part, in letters of either case? */
static bool holds(const char *text, const char *part)
{
    const size_t n = strlen(part);
    while (*text && !EQUALN(text, part, n))
        text++;
    return *text;
}

/* Does the text of a small file look like an RPC? */
static bool looks_like_rpc(const char *path)
{
    SDM_CLOSED_BY(sdm_vsi_free) GByte *text = NULL; /* GDAL ends it with a 0 */
    return VSIIngestFile(NULL, path, &text, NULL, TEXT_BYTES) &&
           (holds((const char *)text, "line_off") || holds((const char *)text, "lineOffset"));
}

/* A file beside the image that holds its name and is or seems to be an RPC; out: "" where there is none. */
static void find_misnamed(const char *name, char out[SDM_PATH_SIZE])
{
    char folder[SDM_PATH_SIZE], stem[SDM_PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", CPLGetPath(name));
    snprintf(stem, sizeof stem, "%s", CPLGetBasename(name));
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = VSIReadDir(*folder ? folder : ".");
    out[0] = '\0';
    for (int i = 0; list && list[i] && !*out; i++) {
        if (!holds(list[i], stem) || !is_camera_file(list[i]))
            continue;
        snprintf(out, SDM_PATH_SIZE, "%s", CPLFormFilename(folder, list[i], NULL));
        if (!holds(list[i], "rpc") && !looks_like_rpc(out))
            out[0] = '\0';
    }
}

static SdmStatus fail_none(SdmContext *ctx, const char *name, char **beside)
{
    SdmRpc rpc;
    char misnamed[SDM_PATH_SIZE];
    for (int i = 0; beside && beside[i]; i++)
        if (!read_beside(name, beside[i], &rpc) && *CPLGetLastErrorMsg())
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: its RPC in %s cannot be read (%.300s); mend that file, or fetch it again",
                            name, beside[i], sdm_path_base(sdm_gdal_reason()));
    find_misnamed(name, misnamed);
    if (*misnamed && EQUAL(CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "NO"), "EMPTY_DIR"))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %s lies beside it, but GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR hides that from "
                        "GDAL; unset it, or give --config GDAL_DISABLE_READDIR_ON_OPEN=NO",
                        name, misnamed);
    if (*misnamed)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no RPC camera with it; %s seems to be one, but GDAL looks for %s_RPC.TXT or "
                        "%s.RPB in their own formats: rename or convert it",
                        name, misnamed, CPLGetBasename(name), CPLGetBasename(name));
    return sdm_fail(
        ctx, SDM_ERR_INPUT,
        "%s: no RPC camera with it (neither metadata in the file nor _RPC.TXT, .RPB or the like beside it); "
        "fetch the image with its RPC, or give --base-height for a georeferenced epipolar pair",
        name);
}

/* ---- which file it came from; is it the only one? ---- */

/* The most that two RPCs place the same ground apart, px of an image of w x h pixels; INFINITY where one of
 * them has no place for it. */
static double rpc_distance_px(const SdmRpc *a, const SdmRpc *b, int64_t w, int64_t h)
{
    double most = 0.0;
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *one = NULL, *other = NULL;
    if (sdm_camera_open_rpc(NULL, "", a, &one) != SDM_OK ||
        sdm_camera_open_rpc(NULL, "", b, &other) != SDM_OK)
        return INFINITY;
    for (int i = 0; i < 18; i++) {
        const double at[3] = {0.5 * (i % 3) * (double)w, 0.5 * (double)(i / 3 % 3) * (double)h,
                              i < 9 ? fmax(one->hmin_m, -500.0) : fmin(one->hmax_m, 9000.0)};
        double ground[3], back[2];
        sdm_camera_locate(one, 1, at, ground);
        sdm_camera_project(other, 1, ground, back);
        const double d = hypot(back[0] - at[0], back[1] - at[1]);
        most = d <= most ? most : isnan(d) ? INFINITY : d;
    }
    return most;
}

/* out->rpc is what GDAL takes: name its source.  False where no single file gives it (a product's index). */
static bool name_source(const char *name, char **beside, const SdmRpc *own, SdmFoundRpc *out)
{
    SdmRpc other;
    const char *guess = NULL;
    if (own && is_same(own, &out->rpc))
        return true;
    for (int i = 0; beside[i]; i++) {
        const bool is = read_beside(name, beside[i], &other) && is_same(&other, &out->rpc);
        if (is || (!guess && !sdm_path_ends_in(beside[i], ".xml"))) {
            guess = beside[i];
            snprintf(out->source, sizeof out->source, "%.200s", sdm_path_base(guess));
            snprintf(out->path, sizeof out->path, "%s", guess);
        }
        if (is)
            return true;
    }
    return false;
}

/* Fails where the file or another one beside it has another camera than that in use. */
static SdmStatus check_sources(SdmContext *ctx, const char *name, GDALDatasetH ds, char **beside,
                               SdmFoundRpc *out)
{
    SdmRpc own, other;
    const bool has_own = read_inside(name, ds, &own),
               is_nitf = EQUAL(GDALGetDriverShortName(GDALGetDatasetDriver(ds)), "NITF");
    const int w = GDALGetRasterXSize(ds), h = GDALGetRasterYSize(ds);
    if (!name_source(name, beside, has_own ? &own : NULL, out) || is_nitf) /* whose RPC00B is rounded */
        return SDM_OK;
    for (int i = -1; i < 0 || beside[i]; i++) {
        const char *const rival = i < 0 ? IN_FILE : sdm_path_base(beside[i]);
        if (i < 0 ? !has_own : !read_beside(name, beside[i], &other) || (has_own && is_same(&other, &own)))
            continue; /* the file's own, or the same once more */
        const SdmRpc *const c = i < 0 ? &own : &other;
        const double px = is_same(c, &out->rpc) ? 0.0 : rpc_distance_px(&out->rpc, c, w, h);
        if (px > SAME_CAMERA_PX)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: has two cameras, which lie %.4g px apart: %s and %s beside it; remove or "
                            "rename the one that is "
                            "not the image's, or take that in the file with --config "
                            "GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR",
                            name, px, i < 0 || !*out->path ? IN_FILE : out->source,
                            i < 0 ? out->source : rival);
        const size_t n = strlen(out->source);
        if (px > 0.01)
            snprintf(out->source + n, sizeof out->source - n, " (%.100s is up to %.2g px off)", rival, px);
    }
    return SDM_OK;
}

/* ---- the one that serves ---- */

/* The RPC of a DIMAP file RPC_*.XML among the files of a data set. */
static SdmStatus find_dimap(SdmContext *ctx, GDALDatasetH ds, SdmFoundRpc *out, bool *found)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = GDALGetFileList(ds);
    for (int i = 0; list && list[i] && !*found; i++) {
        const char *const base = sdm_path_base(list[i]);
        if (!EQUALN(base, "RPC_", 4) || !sdm_path_ends_in(base, ".xml"))
            continue;
        PASS(read_dimap_rpc(ctx, list[i], &out->rpc, found));
        if (*found)
            PASS(sdm_format(ctx, out->path, sizeof out->path, "%s", list[i]));
    }
    return SDM_OK;
}

/* The first tile, which begins where the image does: some products have their RPC there alone. */
static GDALDatasetH open_first_tile(GDALDatasetH ds)
{
    GDALDatasetH tile = NULL;
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = GDALGetFileList(ds);
    for (int i = 0; list && list[i] && !tile; i++)
        tile = strstr(sdm_path_base(list[i]), "_R1C1") ? sdm_gdal_open(list[i]) : NULL;
    return tile;
}

/* found becomes true where the description of a product has it, or its first tile. */
static SdmStatus find_in_product(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmFoundRpc *out,
                                 bool *found)
{
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH tile = NULL;
    if (EQUAL(GDALGetDriverShortName(GDALGetDatasetDriver(ds)), "DIMAP"))
        PASS(dimap_rpc_path(ctx, name, out->path));
    if (*out->path)
        PASS(read_dimap_rpc(ctx, out->path, &out->rpc, found));
    if (!*found)
        PASS(find_dimap(ctx, ds, out, found));
    if (!*found && !GDALGetMetadata(ds, "RPC"))
        tile = open_first_tile(ds);
    if (tile) {
        PASS(find_dimap(ctx, tile, out, found));
        if (!*found && take_domain(GDALGetMetadata(tile, "RPC"), &out->rpc)) {
            *found = true;
            PASS(sdm_format(ctx, out->path, sizeof out->path, "%s", GDALGetDescription(tile)));
        }
    }
    if (*found)
        snprintf(out->source, sizeof out->source, "%.200s", sdm_path_base(out->path));
    return SDM_OK;
}

SdmStatus sdm_rpc_find(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmFoundRpc *out)
{
    bool found = false;
    char held[64];
    SDM_CLOSED_BY(sdm_string_list_free) char **beside = NULL;
    *out = (SdmFoundRpc){.path = ""};
    PASS(find_in_product(ctx, name, ds, out, &found));
    if (found)
        return SDM_OK;
    out->path[0] = '\0';
    char **const domain = GDALGetMetadata(ds, "RPC");
    beside = list_beside(name, ds);
    if (!domain || !*domain)
        return fail_none(ctx, name, beside);
    const char *const none = find_no_number(domain, held);
    if (none)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its RPC has %s '%s', expected a number; fetch the image with its RPC again",
                        name, none, held);
    if (!take_domain(domain, &out->rpc))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its RPC is incomplete (%.300s); fetch the image with its RPC again", name,
                        sdm_gdal_reason());
    snprintf(out->source, sizeof out->source, "%s", IN_FILE);
    if (beside)
        PASS(check_sources(ctx, name, ds, beside, out));
    return SDM_OK;
}
