# A raster -> SHA-256 of its samples; the mathematical library -> a fingerprint of what it computes.
# SPDX-License-Identifier: Apache-2.0
import hashlib
import math
import struct

import numpy as np
from osgeo import gdal

gdal.UseExceptions()


def of_raster(path):
    """Size, position, and the data type, nodata value and samples of all bands and overviews; not the file's bytes."""
    if path.endswith(".pfm"):
        import pair_score
        return hashlib.sha256(pair_score.read_pfm(path).tobytes()).hexdigest()
    found = hashlib.sha256()
    data = gdal.Open(path)
    found.update(repr((data.RasterXSize, data.RasterYSize, data.RasterCount, data.GetGeoTransform())).encode())
    for i in range(data.RasterCount):
        band = data.GetRasterBand(i + 1)
        for level in [band] + [band.GetOverview(k) for k in range(band.GetOverviewCount())]:
            said = (level.XSize, level.YSize, gdal.GetDataTypeName(level.DataType), level.GetNoDataValue())
            found.update(repr(said).encode())
            found.update(level.ReadAsArray().tobytes())
    return found.hexdigest()


def of_files(paths):
    """The bytes of several files, in this order."""
    found = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def of_libm():
    found = hashlib.sha256()
    for i in range(1, 3001):
        x, y = 0.00317 * i, 0.713 * i - 900.1
        for value in (math.sin(x), math.cos(x), math.tan(x), math.atan2(y, x), math.exp(x), math.log(x), math.sqrt(x),
                      math.hypot(x, y), math.pow(x, 1.37), math.asin(i / 3001), math.acos(i / 3001)):
            found.update(struct.pack("<d", value))
    return found.hexdigest()
