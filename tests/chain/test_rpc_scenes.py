#!/usr/bin/python3
# Real RPC pairs against what is known of them: another program's DSM, a pyramid's planes, a pointing error.
# test_rpc_scenes.py [STEREODEM]      needs ../shared/data, and Python's GDAL and numpy; else skipped
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t

DATA = os.path.join(t.SHARED, "data")
if not os.path.isdir(DATA):
    t.skip("no ../shared/data")
from with_gdal import gdal, image, np
import faces
FACE_DEG, FACE_TOLERANCE_DEG, FACE_NMAD_M = 51.8, 1.5, 1.5
work = t.work


def made(name, folder, left, right, *options):
    """The DEM of a pair, or None: the pair is not there (told) or the run failed (a failure)."""
    pair = [os.path.join(DATA, folder, f) for f in (left, right)]
    if not all(os.path.exists(f) for f in pair):
        print("no %s: left out" % pair[0])
        return None
    dem = os.path.join(work, name + ".tif")
    return dem if t.expect(t.run(pair, dem, "--cost", "auto", *options), "%s: a DEM is made" % name) else None


def against(name, dem, *reference):
    found = t.compare(dem, os.path.join(DATA, *reference))
    if t.expect(found is not None, "%s: it can be compared" % name):
        print("  %s: %s" % (name, t.figures(found)))
    return found


def below(name, what, value, most):
    t.expect(value <= most, "%s: %s %.3f <= %g" % (name, what, value, most))


def reunion():
    dem = made("reunion", "pleiades_reunion", "img_01.tif", "img_02.tif", "--tr", 0.5)
    f = dem and against("reunion", dem, "pleiades_reunion", "dsm_s2p.tif")
    if f:
        below("reunion", "NMAD (m)", f["aligned"]["nmad"], 0.6)
        t.expect(f["coverage"] >= 0.90, "reunion: coverage %.4f >= 0.9" % f["coverage"])


def flat():
    """The same with pixels of twice the height: the pointing is corrected across the rays on the ground."""
    if not os.path.isdir(os.path.join(DATA, "pleiades_reunion")):
        return
    pair = []
    for k in (1, 2):
        pair.append(os.path.join(work, "flat%d.tif" % k))
        source = gdal.Open(os.path.join(DATA, "pleiades_reunion", "img_0%d.tif" % k))
        gdal.Translate(pair[-1], source, width=source.RasterXSize, height=source.RasterYSize // 2, resampleAlg="average")
    dem = os.path.join(work, "flat.tif")
    f = t.expect(t.run(pair, dem, "--cost", "auto"), "flat: a DEM is made") and against("flat", dem, "pleiades_reunion", "dsm_s2p.tif")
    if f:
        below("flat", "median (m), either way", abs(f["raw"]["median"]), 0.1)
        below("flat", "NMAD (m)", f["raw"]["nmad"], 0.5)


def coarse(path, n, out):
    """An image of the means of n x n pixels.  GDAL 3.6 itself scales the RPC as if (0, 0) were a pixel's corner."""
    source = gdal.Open(path)
    size = [source.RasterXSize // n, source.RasterYSize // n]
    made = gdal.Translate("", source, format="MEM", width=size[0], height=size[1], resampleAlg="average",
                                srcWin=[0, 0, size[0] * n, size[1] * n])
    rpc = source.GetMetadata("RPC")
    for axis in ("SAMP", "LINE"):
        rpc[axis + "_OFF"] = repr((float(rpc[axis + "_OFF"]) + 0.5) / n - 0.5)
        rpc[axis + "_SCALE"] = repr(float(rpc[axis + "_SCALE"]) / n)
    made.SetMetadata(rpc, "RPC")
    gdal.GetDriverByName("GTiff").CreateCopy(out, made)
    return out


def unlike():
    """One view of pixels four times as large: the other is binned to 3 x 3, its mask with it, and the DEM is better than of
    either the full detail (NMAD 0.96 and 1.05 m) or the same pixels (0.83 m)."""
    if not os.path.isdir(os.path.join(DATA, "pleiades_reunion")):
        return
    fine = [os.path.join(DATA, "pleiades_reunion", "img_0%d.tif" % k) for k in (1, 2)]
    for k, most in ((0, 0.9), (1, 0.8)):
        pair = list(fine)
        pair[k] = coarse(fine[k], 4, os.path.join(work, "coarse%d.tif" % k))
        dem, name = os.path.join(work, "unlike%d.tif" % k), "%s view coarser by 4" % ("left", "right")[k]
        f = t.expect(t.run(pair, dem, "--cost", "auto", "--tr", 4), name + ": a DEM is made") and \
            against(name, dem, "pleiades_reunion", "dsm_s2p.tif")
        if f:
            below(name, "median (m), either way", abs(f["raw"]["median"]), 0.1)
            below(name, "NMAD (m)", f["raw"]["nmad"], most)
        t.expect(t.parsed(t.companion(dem, ".json"))["scene"][("right", "left")[k] + "_bin"] == 3, name + ": the report tells of the bins")
        told = t.call([t.PROGRAM, "info"] + pair)
        t.expect("each pixel is the mean of 3 x 3" in told.stdout, name + ": info tells of the bins")
    left = gdal.Open(fine[0])
    mask = image(os.path.join(work, "mask.tif"), np.tile(np.arange(left.RasterXSize) < left.RasterXSize // 2, (left.RasterYSize, 1)).astype("u1"))
    masked = os.path.join(work, "masked.tif")
    if t.expect(t.run(pair, masked, "--cost", "auto", "--tr", 4, "--mask-left", mask), "masked: a DEM is made"):
        share = [float((gdal.Open(f).ReadAsArray() > -9000).sum()) for f in (masked, dem)]
        t.expect(0.4 < share[0] / share[1] < 0.55, "masked: %.2f of the heights remain beside a mask of half the finer view" % (
            share[0] / share[1]))


def giza():
    """East, west and south are lit.  The north face lies in shadow, where noise is twice the texture: it stays open but
    for its rim, and what is there must lie on the plane."""
    dem = made("giza", "giza", "gizeh_1.tif", "gizeh_2.tif", "--tr", 1)
    if not dem:
        return
    found = faces.fit(dem)
    for name, f in found.items():
        print("  giza, %s" % faces.words({name: f}))
        off = abs(f["slope_deg"] - FACE_DEG)
        t.expect(off <= FACE_TOLERANCE_DEG, "giza, %s: slope %.2f deg off %g" % (name, off, FACE_DEG))
        below("giza, " + name, "NMAD (m)", f["nmad_m"], FACE_NMAD_M)
        if name == "north":
            t.expect(f["filled"] <= 0.2, "giza, north: %.2f of the shadow has heights, at most 0.2" % f["filled"])
            t.expect(f["inlier"] >= 0.75, "giza, north: %.2f of them within %g m of their plane, at least 0.75" % (
                f["inlier"], faces.INLIER_M))
        else:
            t.expect(f["filled"] >= 0.95, "giza, %s: %.3f of the face has heights, at least 0.95" % (name, f["filled"]))


def ridges():
    """Windows alone put the pyramid's ridges 1.4 and 1.6 m too low within 1 m; lines along them give back two fifths."""
    dem = made("giza_auto", "giza", "gizeh_1.tif", "gizeh_2.tif", "--tr", 1, "--optimizer", "auto")
    for side in ("east", "west") if dem else ():
        low = [-v for v in faces.ridge(dem, side)]
        print("  giza, ridge of the south and %s faces: %s m low" % (side, " ".join("%.2f" % v for v in low)))
        below("giza, ridge beside the %s face" % side, "too low within 1 m (m)", low[0], 1.15)


def turkey():
    """A town, and the same with a pointing error of 0.8 px that also moves it: then judged once both DSMs are aligned."""
    for kind in ("adjusted", "raw"):
        name = "turkey_" + kind
        dem = made(name, "turkey_pre", kind + "_1.tif", kind + "_2.tif", "--tr", 0.6, "--vertical", "egm96")
        f = dem and against(name, dem, "turkey_pre", "dsm_cars.tif")
        if f:
            below(name, "NMAD (m)", f["aligned"]["nmad"], 0.8)
            t.expect(f["coverage"] >= 0.8, "%s: coverage %.4f >= 0.8" % (name, f["coverage"]))
        if dem:
            rounds = t.parsed(t.companion(dem, ".json"))["pointing"]["rounds"]
            below(name, "pointing residual (px)", rounds[-1]["after_nmad_px"], 0.3)
            t.expect(rounds[-1]["inliers"] >= 500, "%s: from %d matches, at least 500" % (name, rounds[-1]["inliers"]))


reunion()
flat()
unlike()
giza()
ridges()
turkey()
t.finish()
