/* DIMAP's description of a product (DIM_*.XML) and of its camera (RPC_*.XML) -> RPC.  Read here and not by
 * GDAL, of which some releases (3.5.1 to 3.6 at least) take the first column of the domain of validity for
 * the number of the image's first column. */
// SPDX-License-Identifier: Apache-2.0
#include "input/rpc_find.h"

#include <cpl_conv.h>
#include <cpl_minixml.h>
#include <cpl_string.h>
#include <math.h>

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

SdmStatus sdm_dimap_rpc_path(SdmContext *ctx, const char *index, char out[SDM_PATH_SIZE])
{
    SdmStatus st = SDM_OK;
    CPLXMLNode *const root = CPLParseXMLFile(index);
    const char *const href = find_component(root);
    out[0] = '\0';
    if (href) {
        TRY(sdm_format(ctx, out, SDM_PATH_SIZE, "%s", CPLFormFilename(CPLGetPath(index), href, NULL)));
        if (!sdm_path_exists(out))
            st =
                sdm_fail(ctx, SDM_ERR_INPUT,
                         "%s: names %s as its RPC, which is not there; fetch the whole product", index, href);
    }
done:
    CPLDestroyXMLNode(root);
    return st;
}

/* A number of a tag below a node; false where it is missing or no number. */
static bool take(CPLXMLNode *node, const char *tag, double *out)
{
    const char *const text = CPLGetXMLValue(node, tag, NULL);
    char *end = NULL;
    *out = text ? CPLStrtod(text, &end) : NAN;
    return text && end != text && isfinite(*out);
}

/* The first tag below a node that is not a number is left in `tag`. */
static bool take_all(CPLXMLNode *model, CPLXMLNode *validity, SdmRpc *c, char tag[32])
{
    const struct {
        const char *name;
        double *to;
    } one[] = {{"LINE_OFF", &c->line_off},     {"SAMP_OFF", &c->samp_off},
               {"LAT_OFF", &c->lat_off},       {"LONG_OFF", &c->long_off},
               {"HEIGHT_OFF", &c->height_off}, {"LINE_SCALE", &c->line_scale},
               {"SAMP_SCALE", &c->samp_scale}, {"LAT_SCALE", &c->lat_scale},
               {"LONG_SCALE", &c->long_scale}, {"HEIGHT_SCALE", &c->height_scale}},
      many[] = {{"LINE_NUM_COEFF", c->line_num},
                {"LINE_DEN_COEFF", c->line_den},
                {"SAMP_NUM_COEFF", c->samp_num},
                {"SAMP_DEN_COEFF", c->samp_den}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        snprintf(tag, 32, "%s", one[i].name);
        if (!take(validity, tag, one[i].to))
            return false;
    }
    for (int i = 0; i < 4 * 20; i++) {
        snprintf(tag, 32, "%s_%d", many[i / 20].name, i % 20 + 1);
        if (!take(model, tag, many[i / 20].to + i % 20))
            return false;
    }
    return true;
}

SdmStatus sdm_dimap_rpc_read(SdmContext *ctx, const char *path, SdmRpc *out, bool *is_one)
{
    SdmStatus st = SDM_OK;
    char tag[32] = "";
    CPLXMLNode *const root = CPLParseXMLFile(path);
    CPLXMLNode *const function = root ? CPLSearchXMLNode(root, "=Rational_Function_Model") : NULL;
    CPLXMLNode *const validity = function ? CPLSearchXMLNode(function, "=RFM_Validity") : NULL;
    CPLXMLNode *model = function ? CPLSearchXMLNode(function, "=GroundtoImage_Values") : NULL;
    if (function && !model)
        model = CPLSearchXMLNode(function, "=Inverse_Model");
    *is_one = model && validity;
    if (*is_one) {
        if (!take_all(model, validity, out, tag))
            TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                         "%s: has no number in %s, which an RPC needs; fetch the product again", path, tag));
        /* Airbus counts the pixels of Pleiades and SPOT from 1, those of Pleiades Neo from 0 */
        const CPLXMLNode *const profile = CPLSearchXMLNode(root, "=METADATA_PROFILE");
        const char *const text = profile ? CPLGetXMLValue((CPLXMLNode *)(uintptr_t)profile, "", "") : "";
        const double first = EQUALN(text, "PNEO", 4) ? 0.0 : 1.0;
        out->line_off -= first;
        out->samp_off -= first;
    }
done:
    CPLDestroyXMLNode(root);
    return st;
}
