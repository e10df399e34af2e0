#!/usr/bin/python3
# The accuracy of `run --reference` on a scene with known truth: kinds of change x cells of the reference x seeds.
# reference_table.py PROGRAM [--scene FOLDER] [--cases 30:blobs:0.1:1,90:band:0.1:2,...] [--keep FOLDER]
# References are made from the truth by ../shared/tools/refdem: moved by (7, -5, 3) m, with noise, forest, voids and real
# change.  Errors are those of the DEM against the truth moved likewise: what an exact alignment to the reference gives.
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "..", "..", "..", "shared")
try:
    import numpy as np
    from osgeo import gdal
    from scipy import ndimage
except ImportError as why:
    print("SKIPPED: %s" % why)
    sys.exit(77)
gdal.UseExceptions()
SHIFT = (7.0, -5.0, 3.0)
ALL = ",".join("%d:%s:%s:%d" % c for c in [
    (30, "none", "0.1", 1), (30, "blobs", "0.1", 1), (30, "blobs", "0.1", 2), (30, "blobs", "0.3", 3), (30, "ellipse", "0.1", 4),
    (30, "valley", "0.1", 5), (30, "band", "0.1", 6), (90, "none", "0.1", 1), (90, "blobs", "0.1", 1), (90, "blobs", "0.1", 2),
    (90, "blobs", "0.3", 3), (90, "ellipse", "0.1", 4), (90, "valley", "0.1", 5), (90, "band", "0.1", 6)])


def on(like, path, how):
    source, g = gdal.Open(path), like.GetGeoTransform()
    bounds = (g[0], g[3] + g[5] * like.RasterYSize, g[0] + g[1] * like.RasterXSize, g[3])
    out = gdal.Warp("", source, format="MEM", dstSRS=like.GetProjection(), outputBounds=bounds, width=like.RasterXSize,
                    height=like.RasterYSize, resampleAlg=how, srcNodata=source.GetRasterBand(1).GetNoDataValue(),
                    dstNodata=-99999.0, outputType=gdal.GDT_Float64, options=["-ovr", "NONE"]).ReadAsArray()
    out[(out == -99999.0) | ~np.isfinite(out)] = np.nan
    return out


def nmad(x):
    return 1.4826 * np.median(np.abs(x - np.median(x)))


def median(x):
    return np.median(x) if x.size else np.nan


def judge(dem, truth, classes, reference=None, change=None, shift=(0.0, 0.0, 0.0)):
    """Figures of a DEM on land: against the moved truth inside and outside of change, and against the reference."""
    like = gdal.Open(dem)
    h = like.ReadAsArray().astype(float)
    h[h == -9999] = np.nan
    t, cell = on(like, truth, "bilinear"), like.GetGeoTransform()[1]
    inner = ndimage.binary_erosion(np.isfinite(t), iterations=3)
    moved = ndimage.shift(np.where(np.isfinite(t), t, np.nanmedian(t)), (-shift[1] / cell, shift[0] / cell), order=3,
                          mode="nearest") + shift[2]
    good = (on(like, classes, "near") == 1) & inner & np.isfinite(h)
    e = np.where(good, h - moved, np.nan)
    v = e[good] - np.median(e[good])
    out = dict(bias=np.median(e[good]), nmad=nmad(e[good]), rmse=np.sqrt(np.mean(v * v)), over30=100 * np.mean(np.abs(v) > 30))
    if reference:
        c = on(like, change, "near") != 0
        d = h - on(like, reference, "bilinear")
        out.update(inside=median(e[good & c]), outside=median(e[good & ~c]),
                   to_reference=median(d[good & ~c & np.isfinite(d)]))
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--scene", default=os.path.join(SHARED, "data", "aster_full"))
    p.add_argument("--cases", default=ALL)
    p.add_argument("--keep")
    a = p.parse_args()
    refdem = os.path.join(SHARED, "tools", "refdem")
    images = sorted(glob.glob(os.path.join(a.scene, "*.hdf"))) or [a.scene]  # or a folder that simulate made
    if not os.path.exists(refdem) or not os.path.exists(os.path.join(a.scene, "truth.tif")):
        print("SKIPPED: no refdem, or no scene in " + a.scene)
        sys.exit(77)
    truth, classes = os.path.join(a.scene, "truth.tif"), os.path.join(a.scene, "class.tif")
    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keep or scratch
        print("case                  bias  inside outside to ref.   NMAD   RMSE  >30 m %  masked  cpu s  waves", flush=True)

        def run(name, reference, change):
            dem = os.path.join(folder, name + ".tif")
            words = [a.program, "run", images[0], "-o", dem, "--overwrite", "--quiet"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(words + (["--reference", reference] if reference else []), check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            f = judge(dem, truth, classes, reference, change, SHIFT if reference else (0.0, 0.0, 0.0))
            with open(os.path.splitext(dem)[0] + ".json") as text:
                r = json.load(text).get("reference", {})
            waves = " ".join("%s %.0f rows %.3f px;" % (w["view"], w["wavelength_rows"], w["amplitude_px"])
                             for w in r.get("waves") or [])
            print("%-20s %6.2f %7.2f %7.2f %7.2f %6.3f %6.3f %8.4f %6.1f%% %6.1f  %s %s" % (
                name, f["bias"], f.get("inside", np.nan), f.get("outside", np.nan), f.get("to_reference", np.nan), f["nmad"],
                f["rmse"], f["over30"], 100 * (r.get("share_masked") or 0.0), cpu, r.get("state", "-"), waves), flush=True)

        run("without", None, None)
        for case in a.cases.split(","):
            post, kind, share, seed = case.split(":")
            name = "_".join((post, kind, share, seed))
            reference = os.path.join(folder, "reference_" + name + ".tif")
            if not os.path.exists(reference):
                subprocess.run([refdem, truth, classes, reference, "--post", post, "--change", kind, "--share", share, "--seed",
                                seed], check=True, stdout=subprocess.DEVNULL)
            run(name, reference, os.path.splitext(reference)[0] + "_change.tif")


main()
