#!/usr/bin/python3
"""`match` where an image shows nothing: holes in Middlebury's cones and teddy, images of noise.

test_nothing.py STEREODEM    prints, per view with holes and optimizer, the bad pixels (off by over 1 px or none) within 8 px of
holes with and without them, and how many of those whose match lies in a hole got one; the share of noise that is matched
"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
try:
    import numpy as np
    from osgeo import gdal
    import pair_score
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)
gdal.UseExceptions()
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data", "middlebury")
NEAR, SIDE, ROWS, COLUMNS = 8, 10, 40, 45  # px: ring about a hole; holes of SIDE x SIDE, one every ROWS and COLUMNS
# of pixels beside holes of the left and the right view: most per cent more bad ones than without; of those whose match lies in
# a hole of the right view: most per cent that get a disparity
MORE, GIVEN = {"left": 0.6, "right": 2.6}, 25.0
# per cent of independent noise that is matched, at most: what chance gives, none of it where --min-sigma is above the noise
NOISE = {"local": 65.0, "sgm": 65.0, "bp": 90.0}
failed = 0


def check(name, good, figure):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAILED'}: {name}: {figure}", flush=True)


def grey(path):
    red, green, blue = gdal.Open(path).ReadAsArray().astype(float)
    return np.rint(0.299 * red + 0.587 * green + 0.114 * blue).clip(1, 255).astype(np.uint8)


def write(path, image):
    raster = gdal.GetDriverByName("GTiff").Create(path, image.shape[1], image.shape[0], 1, gdal.GDT_Byte)
    band = raster.GetRasterBand(1)
    band.WriteArray(image)
    band.SetNoDataValue(0)
    raster.FlushCache()


def match(work, views, *options):
    paths = [os.path.join(work, name) for name in ("l.tif", "r.tif", "d.tif")]
    for path, view in zip(paths, views):
        write(path, view)
    subprocess.run([sys.argv[1], "match", *paths[:2], "-o", paths[2], "--overwrite", "-q", *options], check=True)
    return pair_score.read_disparity(paths[2])


def around(mask, reach):
    out = np.zeros_like(mask)
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            out |= np.roll(mask, (y, x), (0, 1))
    return out


def holes(work, name, optimizer):
    views = [grey(os.path.join(DATA, name, f"im{k}.png")) for k in (2, 6)]
    truth, seen = pair_score.read_truth(os.path.join(DATA, name))
    hole = np.zeros(truth.shape, bool)
    for y in range(20, truth.shape[0] - 30, ROWS):
        for x in range(80, truth.shape[1] - 30, COLUMNS):
            hole[y:y + SIDE, x:x + SIDE] = True
    y, x = np.mgrid[0:truth.shape[0], 0:truth.shape[1]]
    meets = np.clip(np.rint(x - np.nan_to_num(truth)).astype(int), 0, truth.shape[1] - 1)
    whole = match(work, views, "--optimizer", optimizer)
    for k, view in enumerate(("left", "right")):
        inside = hole[y, meets] if k else hole
        ring = around(inside, NEAR) & ~inside & seen
        found = match(work, [np.where(hole, 0, v) if i == k else v for i, v in enumerate(views)], "--optimizer", optimizer)
        bad, before = (100 * np.mean(~(np.abs(d - truth) <= 1)[ring]) for d in (found, whole))
        given = 100 * np.isfinite(found[inside & seen]).mean()
        check(f"{name}, {optimizer}, holes in the {view} view", bad <= before + MORE[view] and given <= GIVEN * k,
              f"{bad:.2f} % bad beside them, {before:.2f} % without; {given:.1f} % given inside")


def noise(work, optimizer):
    random = np.random.default_rng(1)
    views = [random.integers(1, 256, (200, 300)).astype(np.uint8) for _ in range(2)]
    weak = [(128 + random.normal(0, 1, (200, 300))).round().astype(np.uint8) for _ in range(2)]
    options = ("--max-disparity", "31", "--optimizer", optimizer)
    matched = 100 * np.isfinite(match(work, views, *options)).mean()
    told = 100 * np.isfinite(match(work, weak, *options, "--min-sigma", "2")).mean()
    check(f"{optimizer}, noise", matched <= NOISE[optimizer] and told == 0,
          f"{matched:.1f} % matched, {told:.1f} % of weak noise with --min-sigma")


with tempfile.TemporaryDirectory(prefix="sdm_nothing_") as folder:
    for which in ("local", "sgm", "bp"):
        noise(folder, which)
    for pair in ("cones", "teddy") if os.path.isdir(DATA) else ():
        for which in ("sgm", "bp"):
            holes(folder, pair, which)
sys.exit(1 if failed else 0)
