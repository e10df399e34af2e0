#!/usr/bin/python3
# Height error of the cameras of a pair, without any matching of stereodem: GDAL projects both images onto the true DEM, squares of the
# orthoimages are laid upon each other by least squares, and their shift along the parallax is a height that no pair can know to be wrong.
# camera_heights.py LEFT RIGHT TRUTH     prints base/height, the height that a right match has above the truth (m: median, NMAD, squares;
#                                        median on ground with slopes below 0.2), and the shift across the parallax (m)
# SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
SIDE, FLAT, UP = 48, 0.2, 2.0  # px; slope; m by which the truth is raised to see which way heights move the images


def orthoimage(image, dem, cell):
    grid = gdal.Open(dem)
    x, dx, _, y, _, dy = grid.GetGeoTransform()
    bounds = x, y + dy * grid.RasterYSize, x + dx * grid.RasterXSize, y
    return gdal.Warp("", image, format="MEM", rpc=True, transformerOptions=["RPC_DEM=" + dem, "RPC_DEMINTERPOLATION=cubic"], errorThreshold=0, outputBounds=bounds,
                     xRes=cell, yRes=cell, dstSRS=grid.GetProjection(), resampleAlg="cubic", dstNodata=0, outputType=gdal.GDT_Float32).ReadAsArray()


def shift(a, b):
    """Columns and rows by which b lies off a, by Gauss and Newton with a gain and an offset; None where they do not look alike."""
    inner, window = slice(4, -4), np.outer(np.hanning(SIDE + 2), np.hanning(SIDE + 2))[1:-1, 1:-1]
    frequency, spectrum, found = np.fft.fftfreq(SIDE), np.fft.fft2(b), np.zeros(2)
    moved = b
    for _ in range(8):
        along_v, along_u = np.gradient((moved + a) / 2)
        parts = np.stack([along_u, along_v, moved, np.ones_like(a)], -1)[inner, inner].reshape(-1, 4)
        weight = window[inner, inner].reshape(-1)
        x = np.linalg.lstsq(parts * weight[:, None], a[inner, inner].reshape(-1) * weight, rcond=None)[0]
        if abs(x[2]) < 0.2 or np.abs(found).max() > 3:
            return None
        found += x[:2] / x[2]
        moved = np.real(np.fft.ifft2(spectrum * np.exp(2j * np.pi * (frequency * found[0] + frequency[:, None] * found[1]))))
    return found if np.corrcoef(a[inner, inner].ravel(), moved[inner, inner].ravel())[0, 1] > 0.75 else None


def shifts(a, b, slope, cells):
    """Of squares: shift in cells east and north, and the median slope."""
    rows = []
    for v in range(0, a.shape[0] - SIDE, SIDE // 2):
        for u in range(0, a.shape[1] - SIDE, SIDE // 2):
            p, q = (i[v:v + SIDE, u:u + SIDE].astype(float) for i in (a, b))
            ground = slope[int(v / cells):int((v + SIDE) / cells), int(u / cells):int((u + SIDE) / cells)]
            found = shift(p, q) if p.all() and q.all() and p.std() > 3 and np.isfinite(ground).all() else None
            if found is not None:
                rows.append((found[0], -found[1], np.median(ground)))
    return np.array(rows)


def main(left, right, truth):
    source = gdal.Open(truth)
    step, heights = source.GetGeoTransform()[1], source.ReadAsArray().astype(float)
    heights[heights == source.GetRasterBand(1).GetNoDataValue()] = np.nan
    raised = gdal.GetDriverByName("GTiff").CreateCopy("/vsimem/raised.tif", source)
    raised.GetRasterBand(1).WriteArray(np.nan_to_num(heights + UP, nan=source.GetRasterBand(1).GetNoDataValue() or 0))
    raised = None
    cell = step / 4
    slope = np.hypot(*np.gradient(heights, step))
    low, high = (shifts(orthoimage(left, dem, cell), orthoimage(right, dem, cell), slope, 4) for dem in (truth, "/vsimem/raised.tif"))
    middle = np.median(low[:, :2], axis=0) * cell
    a_metre = (np.median(high[:, :2], axis=0) * cell - middle) / UP
    ratio = np.hypot(*a_metre)
    height, flat = -low[:, :2] @ a_metre * cell / ratio ** 2, low[:, 2] < FLAT
    nmad = 1.4826 * np.median(np.abs(height - np.median(height)))
    print("base/height %.2f  height %+.2f m  NMAD %.2f m of %d  flat %+.2f m of %d  across %+.2f m" % (
        ratio, np.median(height), nmad, len(height), np.median(height[flat]), flat.sum(), (a_metre[0] * middle[1] - a_metre[1] * middle[0]) / ratio))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("camera_heights.py LEFT RIGHT TRUTH")
    main(*sys.argv[1:])
