#!/usr/bin/python3
"""A WorldView-3 pair of two dates in epipolar geometry, whose rows are 1.2 px off, against its lidar disparities.

test_us3d.py STEREODEM    OpenCV's StereoSGBM (5 px, HH, uniqueness 10, speckle 100/2): 72.8 % matched, 11.9 % of them bad, more
than 3 px off after removing the median; skipped where the pair is not at hand
"""
# SPDX-License-Identifier: Apache-2.0
import os

import pairs
from pairs import check, gdal, np

PAIR = os.path.join(os.path.dirname(pairs.MIDDLEBURY), "us3d", "JAX_079_006_007_")
LEAST_MATCHED, MOST_BAD = 85.0, 11.0  # per cent
if not os.path.exists(PAIR + "truth.tif"):
    pairs.skip("no US3D pair")
truth = gdal.Open(PAIR + "truth.tif").ReadAsArray().astype(float)
known = truth > -999


def score(*options):
    found = pairs.match(PAIR + "left.tif", PAIR + "right.tif", "--min-disparity", "-64", "--max-disparity", "64",
                        "--optimizer", "sgm", *options)
    there = known & np.isfinite(found)
    off = found - truth
    bad = np.abs(off - np.median(off[there])) > 3
    return 100 * there.sum() / known.sum(), 100 * (bad & there).sum() / there.sum()


matched, wrong = score()
plain = score("--speckle", "0")[1], score("--align-rows", "off")[1]
check("US3D", matched >= LEAST_MATCHED and wrong <= MOST_BAD, f"{matched:.1f} % matched, {wrong:.1f} % of them bad")
check("checks pay", wrong < min(plain), f"{plain[0]:.1f} % bad with speckles, {plain[1]:.1f} % with rows that are off")
pairs.finish()
