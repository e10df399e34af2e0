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
