#!/usr/bin/python3
# A town with exact truth at 0.5 m: boxes with streets of 6 m, gables, chimneys, trees, flat roofs, roofs of one grey value,
# cars that moved.  The left view looks down, the right view aslant, with what each hides from the other.
# test_town.py [STEREODEM]     exits 77 without numpy or GDAL for Python
# SPDX-License-Identifier: Apache-2.0
import os
import sys

if len(sys.argv) > 1:
    os.environ["STEREODEM"] = os.path.abspath(sys.argv[1])
import harness as t

try:
    import numpy as np
    from osgeo import gdal, osr
except ImportError:
    t.skip("no numpy and GDAL for Python")
gdal.UseExceptions()
SIZE, PIXEL, FINE = 640, 0.5, 4  # px, m, columns of the ground to a pixel
work = t.folder()


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


def write(name, data, kind=gdal.GDT_Byte):
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(32632)
    made = gdal.GetDriverByName("GTiff").Create(os.path.join(work, name), SIZE, SIZE, 1, kind)
    made.SetGeoTransform([400000, PIXEL, 0, 5000000, 0, -PIXEL])
    made.SetProjection(srs.ExportToWkt())
    made.GetRasterBand(1).WriteArray(data)
    return os.path.join(work, name)


def pixels(view, random):
    sampled = view.reshape(SIZE, SIZE, FINE).mean(axis=2)
    return np.clip(np.rint(sampled + random.standard_normal(sampled.shape)), 1, 254)


def read(path):
    data = gdal.Open(path).ReadAsArray().astype(float)
    data[data < -9000] = np.nan
    return data


def nmad(z):
    return 1.4826 * np.nanmedian(np.abs(z - np.nanmedian(z)))


def judge(ratio, seed):
    random = np.random.default_rng(seed + 100)
    height, grey, kind = town(seed)
    left, _ = look(height, grey, 0.0, random)
    cars = grey.copy()
    for _ in range(15):
        v, u = random.integers(5, SIZE - 5), random.integers(5, SIZE - 12) * FINE
        if (kind[v:v + 4, u:u + 9 * FINE] == 0).all():
            cars[v:v + 4, u:u + 9 * FINE] = 230
    right, seen = look(height, cars, ratio, random)
    truth, seen = height.reshape(SIZE, SIZE, FINE).mean(axis=2), seen.reshape(SIZE, SIZE, FINE).all(axis=2)
    kind = kind[:, FINE // 2::FINE]
    pair = [write("left.tif", pixels(left, random)), write("right.tif", pixels(right, random))]
    figures = {}
    for name in ("auto", "local"):
        dem = os.path.join(work, name + ".tif")
        if not t.expect(t.run(pair, dem, "--base-height", ratio, "--tr", PIXEL, "--t_srs", "EPSG:32632", "--cost", "auto", "--optimizer", name,
                              "--hmin", -40, "--hmax", 60), "B/H %g, %s: runs" % (ratio, name)):
            return
        whole = gdal.Warp("", dem, format="MEM", outputBounds=(400000, 5000000 - SIZE * PIXEL, 400000 + SIZE * PIXEL, 5000000), xRes=PIXEL,
                          yRes=PIXEL, resampleAlg="near", dstNodata=-9999).ReadAsArray().astype(float)
        whole[whole < -9000] = np.nan
        error = whole - truth
        inside = np.zeros(error.shape, bool)
        inside[40:-40, 60:-60] = True
        known = np.isfinite(error) & inside
        edge = np.zeros(error.shape, bool)
        for axis in (0, 1):
            for by in (-2, -1, 1, 2):
                edge |= np.abs(truth - np.roll(truth, by, axis)) > 2
        around = [np.roll(truth, (v, u), (0, 1)) for v in (-1, 0, 1) for u in (-1, 0, 1)]
        low, high = np.min(around, axis=0), np.max(around, axis=0)  # cells at a wall must not lie between
        beside = known & seen & (kind >= 0) & (high - low > 4) & ((truth == high) | (truth == low))
        flat = inside & ~edge & (kind >= 0)
        found = {n: (np.abs(error[m]) < 1).mean() > 0.5 for n, m in ((n, inside & ~edge & (kind == n)) for n in range(1, kind.max() + 1)) if m.sum() > 100}
        street = inside & (kind == 0) & seen & ~edge
        figures[name] = {"completeness": float((np.abs(error) < 1)[inside & seen].mean()), "roofs": float(np.mean([found[n] for n in found if n % 11])),
                         "grey roofs": float(np.mean([found[n] for n in found if n % 11 == 0])),
                         "gross": float((np.abs(error) > 3)[known & seen].mean()), "flat": float(nmad(error[flat]) * ratio / PIXEL),
                         "streets": float((np.abs(error) < 1)[street].mean()),
                         "edges": float((np.abs(error) > (high - low) / 2)[beside].mean()),
                         "between": float(((whole > low + 1) & (whole < high - 1))[known & seen & (kind >= 0)].mean())}
        print("  B/H %.1f, %-5s " % (ratio, name) + "  ".join("%s %.3f" % f for f in figures[name].items()), flush=True)
    best, plain = figures["auto"], figures["local"]
    t.expect(best["roofs"] >= 0.97, "B/H %g: roofs within 1 m" % ratio)
    t.expect(best["streets"] >= 0.7, "B/H %g: streets at their level" % ratio)
    t.expect(best["grey roofs"] >= 0.7, "B/H %g: roofs of one grey value" % ratio)
    t.expect(best["gross"] <= 0.02 and best["completeness"] >= 0.96, "B/H %g: few gross errors" % ratio)
    t.expect(best["edges"] <= 0.25, "B/H %g: walls at their place: few cells beside them are on the other side" % ratio)
    t.expect(best["gross"] < plain["gross"] and best["completeness"] > plain["completeness"], "B/H %g: better than local" % ratio)
    t.expect(best["between"] <= 0.01, "B/H %g: cells have the height of the roof or of the street" % ratio)
    t.expect(best["flat"] <= 0.15, "B/H %g: flat is flat, px of parallax" % ratio)


for k, base_height in enumerate((0.2, 0.4, 0.7)):
    judge(base_height, k + 1)
t.finish()
