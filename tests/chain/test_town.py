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
    from osgeo import gdal
except ImportError:
    t.skip("no numpy and GDAL for Python")
from town import FINE, PIXEL, SIZE, look, moved_cars, pixels, town, write

gdal.UseExceptions()
work = t.folder()


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
    cars = moved_cars(grey, kind, random)
    right, seen = look(height, cars, ratio, random)
    truth, seen = height.reshape(SIZE, SIZE, FINE).mean(axis=2), seen.reshape(SIZE, SIZE, FINE).all(axis=2)
    kind = kind[:, FINE // 2::FINE]
    pair = [write(os.path.join(work, "left.tif"), pixels(left, random)), write(os.path.join(work, "right.tif"), pixels(right, random))]
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
