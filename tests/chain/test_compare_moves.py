#!/usr/bin/python3
# compare: pairs of rasters moved by known amounts, of mountains and of a town, with voids on 0 to 60 % of either: the move
# within 0.02 cells, the NMAD after alignment within 2 % of that without voids.
# test_compare_moves.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess

import harness as t
from with_gdal import gdal, np, osr, put, srs_of

try:
    from scipy import ndimage as ndi
except ImportError as missing:
    t.skip("no %s for Python" % missing.name)
folder, at = t.work, t.at
rng = np.random.default_rng(11)
NONE = -9999.0
worst = {"move": 0.0, "nmad": 0.0}


def save(name, heights, place, cell, epsg=32632):
    """place: west, north."""
    return put(at(name), heights, *place, cell, "EPSG:%d" % epsg, NONE)


def warped(name, source, **how):
    gdal.Warp(at(name), source, dstNodata=NONE, errorThreshold=0, **how)
    return at(name)


def means(a, n, east, south):
    """Means of n x n cells, counted from a cell that lies so many cells east and south."""
    a = a[south:, east:]
    rows, cols = a.shape[0] // n, a.shape[1] // n
    return a[:rows * n, :cols * n].reshape(rows, n, cols, n).mean((1, 3))


# ---- surfaces ----

def mountains():
    """Real terrain where it is at hand, else a fractal one: heights, cell."""
    path = os.path.join(t.SHARED, "data", "aster_full", "truth.tif")
    if os.path.exists(path):
        a = gdal.Open(path).ReadAsArray(700, 500, 1200, 1200).astype(float)
        return a, 30.0
    spectrum = np.fft.rfft2(rng.normal(size=(1200, 1200)))
    f = np.hypot(*np.meshgrid(np.fft.rfftfreq(1200), np.fft.fftfreq(1200)))
    f[0, 0] = 1.0
    a = np.fft.irfft2(spectrum / np.maximum(f, 1e-3) ** 1.9)
    return 900.0 + 250.0 * (a - a.mean()) / a.std(), 30.0


def town():
    """Lidar of a town where it is at hand, else blocks on a slope: heights, cell."""
    path = os.path.join(t.SHARED, "data", "jax068", "JAX_068_truth.tif")
    if os.path.exists(path):
        return gdal.Open(path).ReadAsArray().astype(float), 0.5
    y, x = np.mgrid[0:512, 0:512]
    a = 0.02 * x + 3.0 * np.sin(y / 90.0)
    for _ in range(160):
        i, j = rng.integers(0, 480, 2)
        a[j:j + rng.integers(12, 40), i:i + rng.integers(12, 40)] += rng.uniform(3, 25)
    return a, 0.5


# ---- voids ----

def specks(shape, share, side=3):
    holes = np.zeros(shape, bool)
    while holes.mean() < share:
        for j, i in rng.integers(0, min(shape) - side, (max(1, int(0.02 * holes.size / side ** 2)), 2)):
            holes[j:j + side, i:i + side] = True
    return holes


def discs(shape, share):
    g = ndi.gaussian_filter(rng.normal(size=shape), 12)
    return g > np.quantile(g, 1 - share)


def stripes(shape, share):
    return np.broadcast_to((np.arange(shape[0]) % 40 < 40 * share)[:, None], shape)


def edges(shape, share):
    y, x = np.mgrid[0:shape[0], 0:shape[1]]
    return x + 0.3 * y > np.quantile(x + 0.3 * y, 1 - share)


# ---- pairs ----

def compared(dem, reference, words=()):
    run = subprocess.run([t.PROGRAM, "compare", dem, reference, "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    if run.returncode:
        return {"apply_m": [float("nan")] * 3, "aligned": {"nmad": float("nan"), "n": 1}, "fault": run.stderr.strip()}
    return json.loads(run.stdout)


def pair(name, dem, reference, apply_m, cell_m, nmad=None, words=(), vertical=0.05):
    """The move within 0.02 cells, the NMAD within 2 %.  Returns the NMAD."""
    f = compared(dem, reference, words)
    off = max(abs(f["apply_m"][k] - apply_m[k]) for k in (0, 1)) / cell_m
    worst["move"] = max(worst["move"], off)
    t.expect(off <= 0.02 and abs(f["apply_m"][2] - apply_m[2]) <= vertical * max(1.0, nmad or 1.0) and "not_applied" not in f,
             "%s: %s, expected %s: %.4f cells %s" % (name, np.round(f["apply_m"], 3), np.round(apply_m, 3), off, f.get("fault", "")))
    if nmad:
        off, n = abs(f["aligned"]["nmad"] / nmad - 1), f["aligned"]["n"]
        worst["nmad"] = max(worst["nmad"], off)
        t.expect(off <= max(0.02, 3.5 * 1.17 / n ** 0.5),  # few cells: 3.5 standard errors of an NMAD
                 "%s: NMAD %.3f of %d cells, %.3f without voids" % (name, f["aligned"]["nmad"], n, nmad))
    return f["aligned"]["nmad"]


def hold(kind, surface, cell, noise_m, moves, place, area):
    """All pairs of a surface; place: west, north, multiples of many cells."""
    kinds = (("specks", specks), ("discs", discs), ("stripes", stripes), ("edges", edges))
    n = 2 if area else 1
    coarse = n * cell
    for number, (east, south) in enumerate(moves):  # of the DEM, cells of the surface
        if area:  # means of other cells of the surface
            truth = means(surface, n, 8, 8)
            moved = means(surface, n, 8 - east, 8 - south)[:truth.shape[0], :truth.shape[1]]
            truth = truth[:moved.shape[0], :moved.shape[1]]
            there = place
        else:  # the same cells in another place, since means of walls are no surface that a spline could follow
            truth = moved = surface
            there = place[0] + east * cell, place[1] - south * cell
        dem = moved + 2.0 + rng.normal(0, noise_m, moved.shape)
        reference = truth + rng.normal(0, noise_m, truth.shape)
        apply_m = (-east * cell, south * cell, -2.0)
        paths = save("dem.tif", dem, there, coarse), save("ref.tif", reference, place, coarse)
        whole = pair("%s %d, whole" % (kind, number), *paths, apply_m, coarse)
        back = [-v for v in apply_m]
        turned = pair("%s %d, the other way round" % (kind, number), *paths[::-1], back, coarse)
        for k, share in enumerate((0.04, 0.24, 0.6)):
            word, voids = kinds[(number + k) % 4]
            lost = voids(dem.shape, share)
            holes = save("holes.tif", np.where(lost, np.nan, reference), place, coarse)
            pair("%s %d, %s on %.0f %% of the reference" % (kind, number, word, 100 * share), paths[0], holes, apply_m, coarse, whole)
            word, voids = kinds[(number + k + 1) % 4]
            lost = voids(dem.shape, share)
            holes = save("holes.tif", np.where(lost, np.nan, dem), there, coarse)
            pair("%s %d, %s on %.0f %% of the DEM" % (kind, number, word, 100 * share), holes, paths[1], apply_m, coarse, whole)
            pair("%s %d, the same, the other way round" % (kind, number), paths[1], holes, back, coarse, turned)
        if number == 0:
            classes = save("class.tif", np.where(discs(dem.shape, 0.3), 3.0, 1.0), place, coarse)
            pair(kind + ", --class", *paths, apply_m, coarse, whole, ["--class", classes])
            pair(kind + ", --mask", *paths, apply_m, coarse, whole, ["--mask", save("mask.tif", 1.0 - specks(dem.shape, 0.2), place, coarse)])
            lost = specks(dem.shape, 0.15)
            both = save("both.tif", np.where(lost, np.nan, dem), there, coarse), save(
                "both_ref.tif", np.where(discs(dem.shape, 0.2), np.nan, reference), place, coarse)
            pair(kind + ", voids in both", *both, apply_m, coarse, whole)
            # cells that are not the DEM's: the figure without voids is that of the same cells
            other = place[0] + 0.37 * coarse, place[1] - 0.21 * coarse
            shifted = [save("other%d.tif" % k, np.where(lost, np.nan, reference) if k else reference, other, coarse) for k in (0, 1)]
            beside = apply_m[0] + 0.37 * coarse, apply_m[1] - 0.21 * coarse, apply_m[2]
            pair(kind + ", cells of another place, voids", paths[0], shifted[1], beside, coarse, pair(
                kind + ", cells of another place", paths[0], shifted[0], beside, coarse))


def frames(kind, surface, cell, place):
    """Other CRS, other spacing, degrees: smooth surfaces, so that the resampling by GDAL makes no error of its own."""
    smooth = ndi.gaussian_filter(surface, 3.0)[:600, :600]
    moved = np.array(place) + [13.0 * cell / 30.0, -7.0 * cell / 30.0]
    apply_m = (-13.0 * cell / 30.0, 7.0 * cell / 30.0, -1.0)
    dem = save("dem.tif", smooth + 1.0, moved, cell)
    reference = save("ref.tif", smooth, place, cell)
    lost = specks(smooth.shape, 0.1)
    holes = save("holes.tif", np.where(lost, np.nan, smooth), place, cell)
    for word, how in (("zone", dict(dstSRS="EPSG:32633", xRes=cell, yRes=cell, resampleAlg="cubic")),
                      ("degrees", dict(dstSRS="EPSG:4326", resampleAlg="cubic")),
                      ("fine", dict(xRes=0.4 * cell, yRes=0.4 * cell, resampleAlg="cubic")),
                      ("coarse", dict(xRes=1.7 * cell, yRes=1.7 * cell, resampleAlg="average"))):
        pair("%s, reference: %s" % (kind, word), dem, warped("there.tif", reference, **how), apply_m, cell)
        pair("%s, reference with voids: %s" % (kind, word), dem, warped("there.tif", holes, **how), apply_m, cell)
    f = compared(warped("degrees.tif", dem, dstSRS="EPSG:4326", resampleAlg="cubic"), reference)
    to = osr.CoordinateTransformation(srs_of(32632), srs_of(4326))
    middle = moved + np.array([300.0, -300.0]) * cell
    lon0, lat0, _ = to.TransformPoint(*middle)
    lon1, lat1, _ = to.TransformPoint(middle[0] + apply_m[0], middle[1] + apply_m[1])
    expected = (lon1 - lon0) * 111319.49 * np.cos(np.radians(lat0)), (lat1 - lat0) * 111132.0
    off = max(abs(f["apply_m"][k] - expected[k]) for k in (0, 1)) / cell
    t.expect(off < 0.02, "%s, DEM in degrees: %s, expected %s: %.4f cells" % (kind, np.round(f["apply_m"], 3),
                                                                           np.round(expected, 3), off))
    f = compared(warped("mercator.tif", dem, dstSRS="EPSG:3857", resampleAlg="cubic"), reference)  # whose metres are 0.7 m there
    off = max(abs(f["apply_m"][k] - expected[k]) for k in (0, 1)) / cell
    t.expect(off < 0.02, "%s, DEM in Web Mercator: %s, expected %s: %.4f cells" % (kind, np.round(f["apply_m"], 3),
                                                                                np.round(expected, 3), off))


def kept_in_its_place():
    """Where a move would make it worse, or the halves disagree, the DEM stays."""
    a, cell = mountains()
    a = a[:400, :400]
    place = (600000.0, 5000010.0)
    reference = save("ref.tif", a, place, cell)
    half = a.copy()
    half[:200] = ndi.shift(a, (1.5, 0), order=3, mode="nearest")[:200]  # 45 m south
    half[200:] = ndi.shift(a, (-1.5, 1.5), order=3, mode="nearest")[200:]
    f = compared(save("dem.tif", half, place, cell), reference)
    t.expect(f["apply_m"][:2] == [0.0, 0.0] and "halves" in f["not_applied"]["reason"],
             "halves that disagree: %s" % f.get("not_applied"))
    text = subprocess.run([t.PROGRAM, "compare", at("dem.tif"), reference], stdout=subprocess.PIPE, text=True).stdout
    t.expect("moved in height only: the two halves" in text, "said in the text")
    elsewhere = mountains()[0][700:1100, 700:1100]
    f = compared(save("dem.tif", elsewhere, place, cell), reference)
    t.expect(f["apply_m"][:2] == [0.0, 0.0], "another place: no horizontal move (%s, %s)" % (f["apply_m"], f.get("not_applied")))


def world():
    """References that go round the Earth: what both have in common is read."""
    a, cell = mountains()
    place = (600000.0, 5000010.0)
    dem = save("dem.tif", a[:300, :300], place, cell)
    second = 1.0 / 3600.0
    near = warped("near.tif", save("ref.tif", a[:300, :300], place, cell), dstSRS="EPSG:4326", resampleAlg="cubic", xRes=second,
                  yRes=second, targetAlignedPixels=True)
    far = save("far.tif", np.full((100, 100), 7.0), (-179.0, -40.0), second, 4326)
    gdal.BuildVRT(at("world.vrt"), [near, far], outputBounds=(-180, -90, 180, 90), resolution="highest").FlushCache()
    f, g = compared(dem, at("world.vrt")), compared(dem, near)
    t.expect(np.allclose(f["apply_m"], g["apply_m"], atol=0.02) and f["raw"]["n"] == g["raw"]["n"],
             "a mosaic round the world: %s, %s" % (f["apply_m"], g["apply_m"]))
    f = compared(at("world.vrt"), dem)
    t.expect(abs(f["apply_m"][0]) < 0.5 and abs(f["apply_m"][1]) < 0.5, "the other way round: %s" % (f.get("fault") or f["apply_m"]))


def footprint():
    """Coverage within the DEM's footprint: a turned one has corners of the rectangle that it does not reach; one point is told."""
    a, cell = mountains()
    a = a[:200, :200].copy()
    y, x = np.mgrid[:200, :200]
    place = (600000.0, 5000010.0)
    reference = save("ref.tif", a, place, cell)
    a[np.abs(x - 99.5) + np.abs(y - 99.5) > 99.0] = np.nan
    a[95:100, 90:110] = np.nan  # 100 of some 19,800 cells
    f = compared(save("dem.tif", a, place, cell), reference)
    t.expect(abs(f["coverage"] - 0.49) < 0.02 and 0.993 < f["footprint_coverage"] < 0.996,
             "coverage %.4f, within the footprint %.4f" % (f["coverage"], f["footprint_coverage"]))
    t.put_text(at("one.csv"), "x,y,z\n%f,%f,100\n" % (place[0] + 100.5 * cell, place[1] - 80.5 * cell))
    said = subprocess.run([t.PROGRAM, "compare", at("dem.tif"), at("one.csv")], stdout=subprocess.PIPE, text=True).stdout
    t.expect("only 1 point: after a move that was fitted to so few" in said, "one point is no figure")


footprint()
a, cell = mountains()
hold("mountains", a, cell, 1.0, ((0, 0), (1, -1), (3, 5), (-8, 6)), (480000.0, 5100000.0), True)
frames("mountains", a, cell, (480000.0, 5100000.0))
a, cell = town()
hold("town", a, cell, 0.15, ((0.8, 3.1), (4.4, -4.4)), (480000.0, 5100000.0), False)
frames("town", a, cell, (480000.0, 5100000.0))
kept_in_its_place()
world()
print("at most %.4f cells off, NMAD by %.2f %%" % (worst["move"], 100 * worst["nmad"]))
t.finish()
