# numpy and GDAL for Python; a test that imports this module is skipped where they are missing.  Rasters read and written.
# SPDX-License-Identifier: Apache-2.0
import harness as t

try:
    import numpy as np
    from osgeo import gdal, gdal_array, ogr, osr  # noqa: F401
except ImportError as missing:
    t.skip("no %s for Python" % missing.name)
gdal.UseExceptions()


def heights(path, band=1):
    """A band as floats, NaN where it has no value."""
    data = gdal.Open(path)  # kept while its band is read
    values = data.GetRasterBand(band).ReadAsArray().astype(float)
    values[values == data.GetRasterBand(band).GetNoDataValue()] = np.nan
    return values


def nmad(values):
    values = values[np.isfinite(values)]
    return 1.4826 * np.median(np.abs(values - np.median(values)))


def srs_of(which):
    """A coordinate reference system by its code of EPSG or a text, longitude first."""
    srs = osr.SpatialReference()
    srs.SetFromUserInput("EPSG:%d" % which if isinstance(which, int) else which)
    srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return srs


def put(path, bands, x0, y0, cell, crs="EPSG:32631", nodata=-9999.0, kind=gdal.GDT_Float32, options=(), **items):
    """A GeoTIFF of one array, or several, square cells from the corner (x0, y0) on; NaN becomes nodata, items its metadata."""
    bands = [bands] if isinstance(bands, np.ndarray) else bands
    out = gdal.GetDriverByName("GTiff").Create(path, bands[0].shape[1], bands[0].shape[0], len(bands), kind, list(options))
    out.SetGeoTransform((x0, cell, 0, y0, 0, -cell))
    out.SetProjection(srs_of(crs).ExportToWkt())
    for key, value in items.items():
        out.SetMetadataItem(key, value)
    for i, data in enumerate(bands):
        if nodata is not None:
            out.GetRasterBand(i + 1).SetNoDataValue(nodata)
            data = np.where(np.isfinite(data), data, nodata) if data.dtype.kind == "f" else data
        out.GetRasterBand(i + 1).WriteArray(data)
        if path.endswith("_qa.tif"):
            out.GetRasterBand(i + 1).SetDescription("mask")
    return path


def image(path, samples, rpc=None, nodata=None, options=()):
    """A GeoTIFF without a place, of the samples' type: one band or several; rpc: metadata, or the image whose camera it gets."""
    bands = np.array(samples, ndmin=3)
    out = gdal.GetDriverByName("GTiff").Create(path, bands.shape[2], bands.shape[1], len(bands),
                                               gdal_array.NumericTypeCodeToGDALTypeCode(bands.dtype), list(options))
    if rpc:
        out.SetMetadata(gdal.Open(rpc).GetMetadata("RPC") if isinstance(rpc, str) else rpc, "RPC")
    for i, band in enumerate(bands):
        out.GetRasterBand(i + 1).WriteArray(band)
    if nodata is not None:
        out.GetRasterBand(1).SetNoDataValue(nodata)
    return path


def save(name, array, nodata=None, interp=()):
    """Write height x width or bands x height x width samples as .tif or .png; returns the name."""
    bands = array if array.ndim == 3 else array[None]
    kind = gdal_array.NumericTypeCodeToGDALTypeCode(array.dtype)
    with_png = name.endswith(".png")
    data = gdal.GetDriverByName("MEM" if with_png else "GTiff").Create("" if with_png else name, array.shape[-1],
                                                                     array.shape[-2], len(bands), kind)
    for i, band in enumerate(bands):
        data.GetRasterBand(i + 1).WriteArray(band)
        if nodata is not None:
            data.GetRasterBand(i + 1).SetNoDataValue(nodata)
        if interp:
            data.GetRasterBand(i + 1).SetColorInterpretation(interp[i])
    if with_png:
        gdal.GetDriverByName("PNG").CreateCopy(name, data)
    data.FlushCache()
    return name


def overwrite(path, change):
    """Other samples in the first band: change(samples)."""
    data = gdal.Open(path, gdal.GA_Update)
    data.GetRasterBand(1).WriteArray(change(data.GetRasterBand(1).ReadAsArray()))


def on_grid_of(path, like, how="near", band=1, none=-9999.0):
    """A band on the cells of another raster; NaN where there is none."""
    to = gdal.Open(like)
    g = to.GetGeoTransform()
    alone = gdal.Translate("", path, format="MEM", bandList=[band], noData=none)
    data = gdal.Warp("", alone, format="MEM", dstSRS=to.GetProjection(), width=to.RasterXSize, height=to.RasterYSize,
                     outputBounds=(g[0], g[3] + g[5] * to.RasterYSize, g[0] + g[1] * to.RasterXSize, g[3]), resampleAlg=how,
                     dstNodata=none, outputType=gdal.GDT_Float64).ReadAsArray()
    data[data == none] = np.nan
    return data
