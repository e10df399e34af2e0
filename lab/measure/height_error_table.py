#!/usr/bin/python3
# The table of the predicted error in lab/notebook/accuracy.md: shares of the errors within the prediction (%), by eighths of the
# prediction and by slope of the truth, on scenes that are not in the fit.
# height_error_table.py PROGRAM FOLDER [NAME ...]     scenes stay in FOLDER and are taken from there when they exist
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import subprocess
import sys

import numpy as np
from osgeo import gdal
from scipy import ndimage

import height_error_fit as fit

DATA = os.path.dirname(fit.FULL)
TERRAIN = ["--terrain", os.path.join(fit.FULL, "truth.tif")]
ERRORS = ("--pointing-across 1.7 --pointing-along 0.3 --orbit-noise 0.3 --velocity-noise 0.05 --jitter-left 0.08:300,0.05:90 "
          "--jitter-right 0.12:500 --reference 30").split()


def scenes(folder):
    """Name: a sample beside the repository, or options of simulate."""
    sharp = ["--terrain", os.path.join(folder, fit.SHARP)]
    size = lambda *wh: ["--width", str(wh[0]), "--height", str(wh[-1])]
    words = lambda text: text.split()
    return {
        "aster_full": "aster_full",
        "natural": TERRAIN + size(4100, 4200) + words("--noise 1 --seed 11"),
        "natural_errors": TERRAIN + size(4100, 4200) + words("--noise 1 --seed 12 --texture 14") + ERRORS,
        "sharp": sharp + size(2000) + words("--noise 1 --seed 13 --lon 4.2 --lat 44.7"),
        "sharp_errors": sharp + size(2000) + words("--noise 1 --seed 14 --lon 4.25 --lat 44.65 --roll 6") + ERRORS,
        "relief_300": size(1000) + words("--relief 300 --texture 12 --noise 1.5 --seed 911"),
        "relief_900": size(1200) + words("--relief 900 --seed 912"),
        "relief_1500_errors": size(1500) + words("--relief 1500 --seed 913") + ERRORS,
        "relief_2500": size(1500) + words("--relief 2500 --seed 914 --noise 1.5"),
        "aster_small": "aster_small"}


def make(program, folder, name, what):
    """The folder of a scene's truth, and its DEM."""
    source, dem, reference = os.path.join(folder, name), os.path.join(folder, name + ".tif"), None
    if isinstance(what, str):
        source, reference = os.path.join(DATA, what), os.path.join(folder, name + "_reference.tif")
        images = glob.glob(os.path.join(source, "*.hdf"))[0]
        subprocess.run([os.path.join(DATA, "..", "tools", "refdem"), os.path.join(source, "truth.tif"),
                        os.path.join(source, "class.tif"), reference, "--post", "30", "--change", "blobs", "--seed", "1"],
                       check=True, stdout=subprocess.DEVNULL)
    else:
        images = source
        if not os.path.isdir(source):
            subprocess.run([program + "-lab", "simulate", "-o", source, "--quiet"] + what, check=True)
        if "--reference" in what:
            reference = os.path.join(source, "reference.tif")
    subprocess.run([program, "run", images, "-o", dem, "--quiet", "--overwrite"] +
                   (["--reference", reference] if reference else []), check=True)
    return source, dem


def judge(name, source, dem):
    like, qa = gdal.Open(dem), gdal.Open(os.path.splitext(dem)[0] + "_qa.tif")
    h, band = like.ReadAsArray().astype(float), qa.GetRasterBand(7)
    truth = fit.on(like, os.path.join(source, "truth.tif"), "bilinear")
    land = (fit.on(like, os.path.join(source, "class.tif"), "near") == 1) & (h != -9999)
    land &= ndimage.binary_erosion(np.isfinite(truth), iterations=4)
    error, slope = fit.shifted(h, truth, land, like.GetGeoTransform()[1])
    predicted = band.ReadAsArray()[land] * band.GetScale()
    inside, kind = np.abs(error[land]) <= predicted, np.digitize(np.degrees(np.arctan(slope[land])), fit.SLOPES)
    by = ["%.1f" % (100 * inside[i].mean()) for i in np.array_split(np.argsort(predicted, kind="stable"), 8)]
    slopes = ["%.1f" % (100 * inside[kind == k].mean()) for k in range(len(fit.SLOPES) + 1) if (kind == k).sum() > 500]
    print("%-18s %.1f | %s | %s" % (name, 100 * inside.mean(), " ".join(by), " ".join(slopes)), flush=True)


def main():
    program, folder, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, fit.SHARP)):
        fit.make_sharp(os.path.join(folder, fit.SHARP))
    for name, what in scenes(folder).items():
        if not names or name in names:
            judge(name, *make(program, folder, name, what))


main()
