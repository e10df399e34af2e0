/* Blocks of pixels -> GeoTIFF, every write checked. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_error.h>
#include <cpl_string.h>
#include <gdal.h>

struct SimRaster {
    SdmContext *ctx;
    GDALDatasetH ds;
    char path[SIM_PATH + 128];
    int row; /* below it every block is on disk */
};

static SdmStatus fail_write(const SimRaster *r)
{
    return sdm_fail(r->ctx, SDM_ERR_IO, "cannot write %s: %s", r->path, CPLGetLastErrorMsg());
}

SdmStatus sim_raster_create(SimScene *sc, const SimRasterSpec *spec, SimRaster **out)
{
    SimRaster *r = NULL;
    PASS(sdm_alloc(sc->ctx, &r, 1, sizeof *r, "raster"));
    *out = r;
    r->ctx = sc->ctx;
    PASS(sdm_format(sc->ctx, r->path, sizeof r->path, "%s/%s", sc->folder, spec->name));
    char **co = CSLTokenizeString("TILED=YES COMPRESS=DEFLATE ZLEVEL=1 BIGTIFF=IF_SAFER");
    co = CSLSetNameValue(co, "PREDICTOR", spec->type == GDT_Float32 ? "3" : "2");
    co = CSLSetNameValue(co, "NUM_THREADS", CPLSPrintf("%d", sc->threads));
    CPLErrorReset();
    r->ds = GDALCreate(GDALGetDriverByName("GTiff"), r->path, spec->nx, spec->ny, 1, (GDALDataType)spec->type,
                       co);
    CSLDestroy(co);
    if (!r->ds)
        return fail_write(r);
    CPLErr err = CE_None;
    if (spec->geo)
        err = GDALSetGeoTransform(r->ds, (double *)(uintptr_t)spec->geo) | GDALSetSpatialRef(r->ds, sc->srs);
    if (!isnan(spec->nodata))
        err |= GDALSetRasterNoDataValue(GDALGetRasterBand(r->ds, 1), spec->nodata);
    if (spec->heights_above)
        err |= GDALSetMetadataItem(r->ds, "VERTICAL_DATUM", spec->heights_above, NULL);
    if (spec->rpc)
        err |= GDALSetMetadata(r->ds, spec->rpc, "RPC");
    if (err != CE_None)
        return fail_write(r);
    return SDM_OK;
}

SdmStatus sim_raster_write(SimRaster *r, int x, int y, int nx, int ny, const void *data, int type)
{
    CPLErrorReset();
    if (GDALRasterIO(GDALGetRasterBand(r->ds, 1), GF_Write, x, y, nx, ny, (void *)(uintptr_t)data, nx, ny,
                     (GDALDataType)type, 0, 0) != CE_None)
        return fail_write(r);
    if (y > r->row) { /* a row of blocks is whole: out of the cache with it */
        r->row = y;
        GDALFlushCache(r->ds);
        if (CPLGetLastErrorType() >= CE_Failure)
            return fail_write(r);
    }
    return SDM_OK;
}

SdmStatus sim_raster_close(SimRaster **slot)
{
    SimRaster *const r = *slot;
    CPLErrorReset();
    GDALFlushCache(r->ds);
    CPLErr worst = CPLGetLastErrorType();
    GDALClose(r->ds);
    r->ds = NULL;
    if (CPLGetLastErrorType() > worst)
        worst = CPLGetLastErrorType();
    const SdmStatus st = worst >= CE_Failure ? fail_write(r) : SDM_OK;
    sdm_free(slot);
    return st;
}

void sim_raster_drop(SimRaster **slot)
{
    if (!*slot)
        return;
    if ((*slot)->ds)
        GDALClose((*slot)->ds);
    sdm_free(slot);
}
