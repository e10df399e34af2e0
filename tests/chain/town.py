# A town with exact truth at 0.5 m, and views of it: boxes with streets of 6 m, gables, chimneys, trees, flat roofs.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from osgeo import gdal, osr

gdal.UseExceptions()
SIZE, PIXEL, FINE = 640, 0.5, 4  # px, m, columns of the ground to a pixel
EAST, NORTH, EPSG = 400000, 5000000, 32632  # of the corner


def smooth_noise(random, h, w, times):
    z = random.standard_normal((h, w))
    for _ in range(times):
        z = (z + np.roll(z, 1, 0) + np.roll(z, 1, 1) + np.roll(z, (1, 1), (0, 1))) / 4
    return (z - z.mean()) / z.std()


def town(seed):
    """Heights (m) and grey values of the ground in columns of 1 / FINE px, and what lies where: 0 ground, n roof n, -1 tree."""
    random = np.random.default_rng(seed)
    wide = SIZE * FINE
    y, x = np.mgrid[0:SIZE, 0:wide]
    height = 6 * np.sin(x / FINE / 150) + 4 * np.cos(y / 120)
    grey = 110 + 18 * np.repeat(smooth_noise(random, SIZE, SIZE, 1), FINE, axis=1) + 9 * smooth_noise(random, SIZE, wide, 2)
    kind = np.zeros((SIZE, wide), int)
    count = 0
    row = 16
    while row < SIZE - 60:
        deep, column = int(random.integers(20, 36)), 16
        while column < SIZE - 60:
            long, tall = int(random.integers(20, 44)), random.uniform(5, 14)
            count += 1
            box = slice(row, row + deep), slice(column * FINE, (column + long) * FINE)
            base = height[box].min()
            roof = np.full(height[box].shape, base + tall)
            if count % 3 == 0:  # a gable
                roof = roof + 3.0 * (1 - np.abs(np.linspace(-1, 1, deep)))[:, None]
            height[box], kind[box] = roof, count
            level = random.uniform(60, 190)
            strength = 0.0 if count % 11 == 0 else 14.0
            grey[box] = level + strength * np.repeat(smooth_noise(random, deep, long, 1), FINE, axis=1)
            if count % 4 == 1:  # a chimney of 1 x 1 m
                at = row + deep // 2, (column + long // 2) * FINE
                height[at[0]:at[0] + 2, at[1]:at[1] + 2 * FINE] += 2
            column += long + (12 if count % 2 else 18)  # a street of 6 m, or a yard of 9 m
        row += deep + 14
    for _ in range(40):  # trees
        v, u, r, tall = random.integers(10, SIZE - 10), random.integers(10, SIZE - 10), random.integers(3, 8), random.uniform(4, 9)
        d2 = (y - v) ** 2 + (x / FINE - u) ** 2
        tree = (d2 < r * r) & (kind == 0)
        height[tree] += tall * np.sqrt(np.maximum(0, 1 - d2[tree] / (r * r)))
        grey[tree], kind[tree] = 50 + 12 * random.standard_normal(tree.sum()), -1
    return height, grey, kind


def look(height, grey, ratio, random):
    """The view in which ground of column g and height h lies at g - ratio h / PIXEL; the highest ground wins, walls are grey."""
    wide = height.shape[1]
    view, seen = np.empty((SIZE, wide)), np.zeros((SIZE, wide), bool)
    walls = 90 + 25 * smooth_noise(random, SIZE, wide, 2)
    for v in range(SIZE):
        at = np.rint(np.arange(wide) - ratio * height[v] / PIXEL * FINE).astype(int)
        order = np.argsort(height[v], kind="stable")
        top = np.full(wide, -1)
        keep = order[(at[order] >= 0) & (at[order] < wide)]
        top[at[keep]] = keep  # later ones are higher
        for k in range(1, 3):  # single columns that rounding leaves out
            gap = top < 0
            top[gap] = np.where(np.abs(height[v][np.roll(top, k)[gap]] - height[v][np.roll(top, -k)[gap]]) < 1, np.roll(top, k)[gap], -1)
        view[v] = np.where(top >= 0, grey[v][np.maximum(top, 0)], walls[v])
        seen[v, top[top >= 0]] = True
    return view, seen


def moved_cars(grey, kind, random):
    """The ground with cars that stand elsewhere in every view."""
    cars = grey.copy()
    for _ in range(15):
        v, u = random.integers(5, SIZE - 5), random.integers(5, SIZE - 12) * FINE
        if (kind[v:v + 4, u:u + 9 * FINE] == 0).all():
            cars[v:v + 4, u:u + 9 * FINE] = 230
    return cars


def pixels(view, random):
    sampled = view.reshape(SIZE, SIZE, FINE).mean(axis=2)
    return np.clip(np.rint(sampled + random.standard_normal(sampled.shape)), 1, 254)


def rpc(ratio, shift=(0.0, 0.0)):
    """RPC of the view in which ground of height h lies at x - ratio h; shift: its pointing error (column, row), px."""
    utm, geographic = osr.SpatialReference(), osr.SpatialReference()
    utm.ImportFromEPSG(EPSG)
    geographic.ImportFromEPSG(4326)
    for srs in (utm, geographic):
        srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    edge = SIZE * PIXEL
    x, y, h = np.meshgrid(EAST + np.linspace(-0.2, 1.2, 12) * edge, NORTH - np.linspace(-0.2, 1.2, 12) * edge, np.linspace(-60, 80, 5), indexing="ij")
    x, y, h = x.ravel(), y.ravel(), h.ravel()
    to_degrees = osr.CoordinateTransformation(utm, geographic)
    lon, lat = np.array(to_degrees.TransformPoints(np.stack([x, y], axis=1).tolist())).T[:2]
    column, row = (x - EAST) / PIXEL - 0.5 - ratio * h / PIXEL + shift[0], (NORTH - y) / PIXEL - 0.5 + shift[1]
    off = {"LONG": (lon.min() + lon.max()) / 2, "LAT": (lat.min() + lat.max()) / 2, "HEIGHT": 10.0, "SAMP": SIZE / 2, "LINE": SIZE / 2}
    scale = {"LONG": np.ptp(lon) / 2, "LAT": np.ptp(lat) / 2, "HEIGHT": 70.0, "SAMP": SIZE / 2, "LINE": SIZE / 2}
    q, p, z = [(v - off[n]) / scale[n] for v, n in ((lon, "LONG"), (lat, "LAT"), (h, "HEIGHT"))]
    one = np.ones_like(q)
    terms = np.stack([one, q, p, z, q * p, q * z, p * z, q * q, p * p, z * z, p * q * z, q ** 3, q * p * p, q * z * z, q * q * p,
                      p ** 3, p * z * z, q * q * z, p * p * z, z ** 3], axis=1)
    told = {n + "_OFF": "%.15g" % v for n, v in off.items()}
    told.update({n + "_SCALE": "%.15g" % v for n, v in scale.items()})
    for n, v in (("SAMP", column), ("LINE", row)):
        found = np.linalg.lstsq(terms, (v - off[n]) / scale[n], rcond=None)[0]
        assert np.abs(terms @ found * scale[n] + off[n] - v).max() < 1e-3
        told[n + "_NUM_COEFF"] = " ".join("%.15g" % c for c in found)
        told[n + "_DEN_COEFF"] = " ".join(["1"] + ["0"] * 19)
    return told


def write(path, data, kind=gdal.GDT_Byte, camera=None):
    """A raster on the ground's grid, or with camera (an rpc()) an image."""
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(EPSG)
    made = gdal.GetDriverByName("GTiff").Create(path, SIZE, SIZE, 1, kind)
    if camera:
        made.SetMetadata(camera, "RPC")
    else:
        made.SetGeoTransform([EAST, PIXEL, 0, NORTH, 0, -PIXEL])
        made.SetProjection(srs.ExportToWkt())
    made.GetRasterBand(1).WriteArray(data)
    return path
