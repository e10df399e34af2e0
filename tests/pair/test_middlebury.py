#!/usr/bin/python3
"""Bad pixels of `stereodem match` on Middlebury's cones and teddy, against what OpenCV's StereoBM reaches at its best."""
# test_middlebury.py STEREODEM    unmatched pixels are bad, nothing is filled; skipped where the images are not at hand
# SPDX-License-Identifier: Apache-2.0
import os

import pairs
from pairs import check, match, pair_score

# per cent, its best window: between what it reaches with its own checks and without them (docs/match.md)
STEREO_BM = {"cones": 11.0, "teddy": 17.5}
AIM = {"cones": 9.0, "teddy": 14.0}
STEREO_SGBM = {"cones": 5.5, "teddy": 10.0}  # in its best mode, 64 columns of margin
AIM_SGM = {"cones": 5.1, "teddy": 7.5}  # by default, for images of satellites: test_us3d.py
AIM_STRONG = {"cones": 4.7, "teddy": 7.8}  # with penalties for images of strong contrast
LOCAL = {"cones": 6.3, "teddy": 11.4}  # what --optimizer local reaches
BELIEF = {"cones": 4.6, "teddy": 6.5}
if not os.path.isdir(pairs.MIDDLEBURY):
    pairs.skip("no Middlebury images")
for options, limit in (((), AIM), (("--cost", "zncc", "--window", "7"), STEREO_BM),
                       (("--optimizer", "sgm"), AIM_SGM),
                       (("--optimizer", "sgm", "--window", "1", "--p1", "25", "--p2", "150", "--speckle", "0"), AIM_STRONG),
                       (("--optimizer", "sgm", "--cost", "census", "--p1", "20", "--p2", "120", "--speckle", "0"), STEREO_SGBM),
                       (("--optimizer", "sgm", "--paths", "4"), STEREO_SGBM),
                       (("--optimizer", "bp"), BELIEF), (("--optimizer", "bp", "--bp-inner", "1"), LOCAL)):
    for name, most in limit.items():
        folder = os.path.join(pairs.MIDDLEBURY, name)
        match(os.path.join(folder, "im2.png"), os.path.join(folder, "im6.png"), *options)
        bad = pair_score.score("o.tif", folder)["bad_pct"]
        check(f"{name} {' '.join(options)}", bad <= most, f"{bad:.2f} % bad, at most {most} %")
pairs.finish()
