# A raster -> SHA-256 of its samples; the libraries under the program -> a fingerprint of what they compute.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import hashlib
import math
import os
import struct

os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # where LAPACK is OpenBLAS: the same kernels on every processor
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


def of_lapack():
    """Solutions of a least-squares problem and of its normal equations; 'none' where LAPACKE cannot be loaded."""
    try:
        library = ctypes.CDLL("liblapacke.so.3")
    except OSError:
        return "none"
    rows, cols = 120, 20
    i, k = np.mgrid[1:rows + 1, 1:cols + 1]
    a = (i * k * k % 17 - 8) * 11 + (i * i * k % 23) * 7  # whole numbers: their sums are exact in any order
    b = np.arange(rows) * 13 % 31 - 15
    normal, right = a.T @ a / 7.0 + 0.5 * np.eye(cols), a.T @ b / 7.0
    a, b = a / 77.0, b / 9.0
    singular, rank = np.zeros(cols), ctypes.c_int(0)
    address = lambda array: ctypes.c_void_p(array.ctypes.data)
    library.LAPACKE_dposv(101, ctypes.c_char(b"L"), cols, 1, address(normal), cols, address(right), 1)
    library.LAPACKE_dgelsd(101, rows, cols, 1, address(a), cols, address(b), 1, address(singular), ctypes.c_double(1e-12),
                           ctypes.byref(rank))
    return hashlib.sha256(right.tobytes() + b[:cols].tobytes() + singular.tobytes()).hexdigest()
