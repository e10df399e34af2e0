#!/usr/bin/python3
"""compare_perturb.py TRUTH FOLDER: DEMs dem_*.tif that differ from TRUTH, and references ref_*.tif made from it."""
import sys

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
truth, folder = gdal.Open(sys.argv[1]), sys.argv[2]
noise = np.random.default_rng(7)
grid, px = truth.GetGeoTransform(), truth.GetGeoTransform()[1]
NODATA = -9999.0


def save(name, heights, dx=0.0, dy=0.0, crop=None):
    g = list(grid)
    if crop:
        heights = heights[crop[1]:crop[3], crop[0]:crop[2]]
        g[0], g[3] = g[0] + crop[0] * g[1], g[3] + crop[1] * g[5]
    g[0], g[3] = g[0] + dx, g[3] + dy
    path = f'{folder}/{name}.tif'
    out = gdal.GetDriverByName('GTiff').Create(path, heights.shape[1], heights.shape[0], 1, gdal.GDT_Float32)
    out.SetGeoTransform(g)
    out.SetProjection(truth.GetProjection())
    out.GetRasterBand(1).SetNoDataValue(NODATA)
    out.GetRasterBand(1).WriteArray(np.where(np.isfinite(heights), heights, NODATA))
    return path


def warp(name, source, **options):
    gdal.Warp(f'{folder}/{name}.tif', source, **options)


heights = truth.GetRasterBand(1).ReadAsArray().astype(float)
nodata = truth.GetRasterBand(1).GetNoDataValue()
if nodata is not None:
    heights[heights == nodata] = np.nan
rows, cols = heights.shape
dem = heights + noise.normal(0, 0.1 * px, heights.shape) + 2.5
dem[noise.random(dem.shape) < 0.02] = np.nan
dem[noise.random(dem.shape) < 0.01] += 60
dem[rows // 5:rows // 4, cols // 3:cols // 2] = np.nan
source = save('dem_noisy', dem)
save('dem_shifted', dem, dx=0.31 * px, dy=-0.77 * px)
save('dem_far', dem, dx=3.2 * px, dy=4.6 * px)
save('dem_cropped', dem, crop=(cols // 6, rows // 7, cols * 5 // 6, rows * 4 // 5))
warp('dem_coarse', source, xRes=2.3 * px, yRes=2.3 * px, resampleAlg='average')
warp('dem_fine', source, xRes=0.7 * px, yRes=0.7 * px, resampleAlg='cubic')
srs = truth.GetSpatialRef()
zone = srs.GetUTMZone()
if not srs.IsCompound():
    code = (32600 if zone > 0 else 32700) + abs(zone) + 1
    warp('dem_zone', source, dstSRS=f'EPSG:{code}', xRes=px, yRes=px, resampleAlg='bilinear')
    warp('ref_zone', truth, dstSRS=f'EPSG:{code}', xRes=px, yRes=px, resampleAlg='cubic', dstNodata=NODATA)
    warp('ref_degrees', truth, dstSRS='EPSG:4326', resampleAlg='cubic', dstNodata=NODATA)
warp('ref_fine', truth, xRes=0.4 * px, yRes=0.4 * px, resampleAlg='cubic', dstNodata=NODATA)
warp('ref_coarse', truth, xRes=3 * px, yRes=3 * px, resampleAlg='average', dstNodata=NODATA)
