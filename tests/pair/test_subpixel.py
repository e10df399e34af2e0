#!/usr/bin/python3
"""Fractions of disparities on a ramp of known slope: no optimizer may lock to whole pixels.  Rows that are off are found.

test_subpixel.py STEREODEM    prints the error and the histogram of the fractional parts (1 = as often as it should be)
"""
# SPDX-License-Identifier: Apache-2.0
import json

import pairs
from pairs import check, match, np, save

W, H, NEAR, RISE = 640, 200, 10.0, 12.0  # disparities rise from NEAR by RISE over the width
# (options, most RMS in px, most deviation of a tenth of a pixel from its share)
CASES = ((("--optimizer", "local"), 0.06, 0.2), (("--optimizer", "sgm"), 0.08, 0.25),
         (("--optimizer", "sgm", "--cost", "census"), 0.08, 0.2), (("--optimizer", "sgm", "--window", "3"), 0.07, 0.25),
         (("--optimizer", "bp"), 0.08, 0.25), (("--optimizer", "bp", "--cost", "census"), 0.08, 0.2))
random = np.random.default_rng(5)


def texture(x, y):
    """Waves of 3 to 30 px in all directions, the longer the stronger; x, y in px, any numbers."""
    out = np.zeros(np.broadcast(x, y).shape)
    source = np.random.default_rng(7)
    for length in np.geomspace(3.0, 30.0, 60):
        angle, phase = source.uniform(0, 2 * np.pi, 2)
        out += length ** 0.5 * np.sin(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / length + phase)
    return 128 + out * 35 / out.std()


def view(x, y):
    return pairs.as_bytes(texture(x, y) + random.normal(0, 2, y.shape))


y, x = np.mgrid[0:H, 0:W].astype(float)
truth = NEAR + RISE * x / W
left, right = save("l.tif", view(x, y)), save("r.tif", view((x + NEAR) / (1 - RISE / W), y))  # x_right = x - truth(x), for x
inner = (slice(20, -20), slice(60, -40))
for options, most_px, most_off in CASES:
    found, known = match(left, right, "--max-disparity", "31", *options)[inner], truth[inner]
    some = np.isfinite(found) & (np.abs(found - known) < 1)
    rms = float(np.sqrt(np.mean((found - known)[some] ** 2)))
    share, wanted = (np.histogram(v[some] % 1.0, 10, (0, 1))[0] / some.sum() for v in (found, known))
    ratio = share / wanted
    # the place half way falls to either side of a label: its two tenths count together
    ratio[4] = ratio[5] = (share[4] + share[5]) / (wanted[4] + wanted[5])
    check(" ".join(options), rms <= most_px and some.mean() > 0.97 and np.abs(ratio - 1).max() <= most_off,
          f"RMS {rms:.3f} px, matched {100 * some.mean():.1f} %, tenths " + " ".join(f"{r:.2f}" for r in ratio))


def rows(constant, slope):
    """The match of row y lies in row y + constant + slope y: the figure of the log, and disparities as if it did not."""
    right = save("r.tif", view((x + NEAR) / (1 - RISE / W), (y - constant) / (1 + slope)))
    done = pairs.run(left, right, "-o", "o.tif", "--overwrite", "--max-disparity", "31", "--log", "json")
    told = json.loads(done.stdout.splitlines()[-1])["row_offset_px"]
    off = pairs.pair_score.read_disparity("o.tif")[inner] - truth[inner]
    some = np.isfinite(off) & (np.abs(off) < 1)
    middle, moved = constant + slope * H / 2, "its rows lie" in done.stdout
    check(f"rows off by {middle:.2f} px", abs(told - middle) < 0.05 and some.mean() > 0.95 and moved == (max(abs(constant), abs(constant + slope * H)) > 0.2),
          f"{told:.3f} px found, {100 * some.mean():.1f} % matched")


for case in ((0.0, 0.0), (0.1, 0.0), (1.2, 0.0), (-0.6, 0.004), (2.0, -0.004), (-2.7, 0.0), (6.0, 0.0), (-19.0, 0.01), (-4.0, 0.04)):
    rows(*case)
pairs.finish()
