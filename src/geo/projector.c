/* Longitude and latitude <-> the CRS of the DEM, through PROJ. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/projector.h"
#include "geo/gdal_scope.h"

#include <cpl_string.h>
#include <math.h>
#include <proj.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 400 };

struct SdmProjector {
    PJ_CONTEXT *context;
    PJ *pj; /* lon, lat in degrees -> x, y */
};

/* The transformations that were found last, kept till the process ends.  A scene or a stack opens the same
 * ones at each of its steps; PROJ takes 4 to 25 ms to find one in its database, and 0.05 ms to copy it. */
enum { KEPT = 4 };
static struct {
    char *wkt; /* NULL: none yet */
    SdmProjector found;
} kept[KEPT];
static int oldest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keeps the first message where it is given room for one. */
static void keep_message(void *user, int level, const char *text)
{
    char *const out = user;
    (void)level;
    if (out && !*out)
        snprintf(out, MESSAGE, "%s", text);
}

/* A new context that searches our own data first. */
static PJ_CONTEXT *create_context(void)
{
    PJ_CONTEXT *const c = proj_context_create();
    char **const folders = sdm_own_proj_folders();
    if (folders)
        proj_context_set_search_paths(c, CSLCount(folders), (const char *const *)folders);
    CSLDestroy(folders);
    return c;
}

struct pj_ctx *sdm_proj_context(void)
{
    PJ_CONTEXT *const c = create_context();
    proj_log_level(c, PJ_LOG_NONE);
    proj_log_func(c, NULL, keep_message); /* some errors come whatever the level is */
    return c;
}

SdmStatus sdm_proj_check(SdmContext *ctx)
{
    char why[MESSAGE] = "";
    PJ_CONTEXT *const c = create_context();
    proj_log_func(c, why, keep_message);
    PJ *const crs = proj_create(c, "EPSG:4326");
    const bool good = crs != NULL;
    proj_destroy(crs);
    proj_context_destroy(c);
    if (good)
        return SDM_OK;
    const char *const name = getenv("PROJ_LIB") ? "PROJ_LIB" : "PROJ_DATA", *const given = getenv(name);
    return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                    "PROJ %s cannot read its database proj.db (%.300s); %s%s%.200s%s", proj_info().version,
                    why, given ? name : "install PROJ's data (proj-data), or let PROJ_DATA name its folder",
                    given ? "=" : "", given ? given : "",
                    given ? " in the environment names the data of another PROJ: unset it" : "");
}

static void release(SdmProjector *p)
{
    proj_destroy(p->pj);
    if (p->context) /* PROJ takes NULL for the context that all share */
        proj_context_destroy(p->context);
    *p = (SdmProjector){0};
}

/* out->pj: NULL where PROJ has none. */
static void find(const char *wkt, SdmProjector *out)
{
    static const char *const options[] = {"ALLOW_BALLPARK=NO", NULL};
    out->context = sdm_proj_context();
    PJ *const from = proj_create(out->context, "OGC:CRS84"), *const to = proj_create(out->context, wkt);
    PJ *const pj = from && to ? proj_create_crs_to_crs_from_pj(out->context, from, to, NULL, options) : NULL;
    out->pj = pj ? proj_normalize_for_visualization(out->context, pj) : NULL;
    proj_destroy(pj);
    proj_destroy(to);
    proj_destroy(from);
}

static void copy(const SdmProjector *from, SdmProjector *out)
{
    out->context = sdm_proj_context();
    out->pj = proj_clone(out->context, from->pj);
}

/* A copy of what is kept for that CRS; out->pj: NULL where PROJ has none, or no memory for it. */
static void copy_kept(const char *wkt, SdmProjector *out)
{
    int k = 0;
    pthread_mutex_lock(&lock);
    while (k < KEPT && !(kept[k].wkt && strcmp(kept[k].wkt, wkt) == 0))
        k++;
    if (k == KEPT) {
        k = oldest;
        oldest = (oldest + 1) % KEPT;
        free(kept[k].wkt);
        release(&kept[k].found);
        find(wkt, &kept[k].found);
        kept[k].wkt = kept[k].found.pj ? strdup(wkt) : NULL;
    }
    if (kept[k].found.pj)
        copy(&kept[k].found, out);
    pthread_mutex_unlock(&lock);
}

SdmStatus sdm_projector_open(SdmContext *ctx, const char *wkt, SdmProjector **out)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &p, 1, sizeof *p, "projector"));
    copy_kept(wkt, p);
    if (!p->pj) {
        PASS(sdm_proj_check(ctx));
        return sdm_fail(
            ctx, SDM_ERR_UNSUPPORTED,
            "PROJ has no transformation of stated accuracy from WGS 84 to the output CRS %.60s...; "
            "a grid file may be missing (see `projinfo`)",
            wkt);
    }
    *out = p;
    p = NULL;
    return SDM_OK;
}

SdmStatus sdm_projector_clone(SdmContext *ctx, const SdmProjector *from, SdmProjector **out)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &p, 1, sizeof *p, "projector"));
    copy(from, p);
    if (!p->pj)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: PROJ cannot copy a transformation");
    *out = p;
    p = NULL;
    return SDM_OK;
}

static void transform(PJ *pj, PJ_DIRECTION direction, size_t n, double *x, double *y)
{
    proj_trans_generic(pj, direction, x, sizeof *x, n, y, sizeof *y, n, NULL, 0, 0, NULL, 0, 0);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) || !isfinite(y[i]))
            x[i] = y[i] = NAN;
    proj_errno_reset(pj);
}

void sdm_projector_forward(SdmProjector *p, size_t n, double *x, double *y)
{
    transform(p->pj, PJ_FWD, n, x, y);
}

void sdm_projector_inverse(SdmProjector *p, size_t n, double *x, double *y)
{
    transform(p->pj, PJ_INV, n, x, y);
}

void sdm_projector_close(SdmProjector **p)
{
    if (!p || !*p)
        return;
    release(*p);
    sdm_free(p);
}
