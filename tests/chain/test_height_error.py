#!/usr/bin/python3
# The predicted error of each height against the errors themselves, on simulated scenes with truth.
# test_height_error.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t
from with_gdal import gdal, np
work = t.work
BAND, NONE = 7, 65535


def bands(dem):
    """Heights, predicted errors in metres (NaN: none), filled cells."""
    height = gdal.Open(dem).ReadAsArray().astype(float)
    qa = gdal.Open(t.companion(dem, "_qa.tif"))
    band = qa.GetRasterBand(BAND)
    steps = band.ReadAsArray()
    t.expect(band.GetDescription() == "predicted standard error" and band.GetUnitType() == "m", "band 7 is the predicted error")
    error = np.where(steps == NONE, np.nan, steps * band.GetScale())
    t.expect(((height == -9999) == np.isnan(error)).all(), "every height has a predicted error, and nothing else has")
    return np.where(height == -9999, np.nan, height), error, (qa.GetRasterBand(5).ReadAsArray() & 2) != 0


def judged(name, least, most, eighths, *options, match=()):
    """68 % of the errors, as a share, within what is predicted: all cells, and eighths of them by prediction and by slope
    (least and most of them)."""
    scene = t.simulate(os.path.join(work, name), "--overwrite", "--width", 700, "--height", 700, *options)
    dem = os.path.join(work, name + ".tif")
    if not t.expect(t.run([scene], dem, *match), name + ": a DEM is made"):
        return
    height, error, filled = bands(dem)
    like = gdal.Open(dem)
    g = like.GetGeoTransform()
    truth = gdal.Warp("", os.path.join(scene, "truth.tif"), format="MEM", dstSRS=like.GetProjection(), resampleAlg="bilinear",
                      outputBounds=(g[0], g[3] + g[5] * like.RasterYSize, g[0] + g[1] * like.RasterXSize, g[3]),
                      width=like.RasterXSize, height=like.RasterYSize, dstNodata=-9999.0).ReadAsArray().astype(float)
    truth[truth == -9999] = np.nan
    gy, gx = np.gradient(truth, g[1])
    d = height - truth
    good = np.isfinite(d) & np.isfinite(gx) & np.isfinite(gy) & ~filled
    plane = np.stack([gx[good], gy[good], np.ones(good.sum())], 1)  # a 3-D shift
    e = np.abs(d[good] - plane @ np.linalg.lstsq(plane, d[good], rcond=None)[0])
    inside, slope = e <= error[good], np.hypot(gx, gy)[good]
    share = 100 * inside.mean()
    t.expect(least <= share <= most, "%s: %.1f %% within the prediction, from %g to %g" % (name, share, least, most))
    # heights of a plane, weighted by a Gaussian of 0.6 cells: their standard deviation, to which noise and bends add
    qa = gdal.Open(t.companion(dem, "_qa.tif"))
    spread = qa.GetRasterBand(3)
    steep = (slope > 0.2) & (slope < 0.6)
    ratio = np.median((spread.ReadAsArray()[good] * spread.GetScale())[steep] / (0.6 * g[1] * slope[steep]))
    t.expect((0.5 if "sgm" in match else 0.8) < ratio < 1.3, "%s: the spread of a cell's heights is that of its slope, times %.2f" % (name, ratio))
    for what, value in (("prediction", error[good]), ("slope", slope)):
        shares = [100 * inside[i].mean() for i in np.array_split(np.argsort(value, kind="stable"), 8)]
        t.expect(eighths[0] <= min(shares) and max(shares) <= eighths[1],
                 "%s: eighths by %s from %g to %g: %s" % (name, what, *eighths, " ".join("%.0f" % s for s in shares)))


# the coefficients were fitted to none of these scenes
judged("rough", 55, 80, (50, 85), "--relief", 1500, "--seed", 901)
judged("gentle", 55, 80, (50, 85), "--relief", 400, "--texture", 12, "--noise", 1.5, "--seed", 902)
judged("steep", 55, 80, (50, 85), "--relief", 2500, "--texture", 20, "--noise", 2, "--seed", 903)
judged("census", 45, 80, (40, 85), "--relief", 1500, "--seed", 901, match=("--cost", "census"))
judged("sgm", 45, 80, (40, 85), "--relief", 400, "--seed", 904, match=("--cost", "census", "--optimizer", "sgm"))

dem, small = os.path.join(work, "rough.tif"), os.path.join(work, "small.tif")
t.expect(t.run([os.path.join(work, "rough")], small, "--threads", 1, "--tile", 128) and
         t.digest(t.companion(dem, "_qa.tif")) == t.digest(t.companion(small, "_qa.tif")), "tiles and threads: the same QA raster")
t.finish()
