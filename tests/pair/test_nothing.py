#!/usr/bin/python3
"""`match` where an image shows nothing: holes in Middlebury's cones and teddy, images of noise.

test_nothing.py STEREODEM    prints, per view with holes and optimizer, the bad pixels (off by over 1 px or none) within 8 px of
holes with and without them, and how many of those whose match lies in a hole got one; the share of noise that is matched
"""
# SPDX-License-Identifier: Apache-2.0
import os

import pairs
from pairs import check, gdal, np, pair_score, save

NEAR, SIDE, ROWS, COLUMNS = 8, 10, 40, 45  # px: ring about a hole; holes of SIDE x SIDE, one every ROWS and COLUMNS
# of pixels beside holes of the left and the right view: most per cent more bad ones than without; of those whose match lies in
# a hole of the right view: most per cent that get a disparity
MORE, GIVEN = {"left": 0.8, "right": 2.6}, 25.0
# per cent of independent noise that is matched, at most: what chance gives, none of it where --min-sigma is above the noise
NOISE = {"local": 65.0, "sgm": 65.0, "bp": 90.0}
# of which --uniqueness 0.1 leaves at most, and per cent more bad pixels that it costs at most
MOST_UNIQUE, MORE_UNIQUE = 6.0, {"cones": 2.0, "teddy": 4.0}


def grey(path):
    red, green, blue = gdal.Open(path).ReadAsArray().astype(float)
    return np.rint(0.299 * red + 0.587 * green + 0.114 * blue).clip(1, 255).astype(np.uint8)


def matched(views, *options):
    """Disparities of two arrays; 0 is nodata."""
    names = [save(name, view, nodata=0) for name, view in zip(("l.tif", "r.tif"), views)]
    return pairs.match(*names, *options)


def around(mask, reach):
    out = np.zeros_like(mask)
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            out |= np.roll(mask, (y, x), (0, 1))
    return out


def holes(name, optimizer):
    views = [grey(os.path.join(pairs.MIDDLEBURY, name, f"im{k}.png")) for k in (2, 6)]
    truth, seen = pair_score.read_truth(os.path.join(pairs.MIDDLEBURY, name))
    hole = np.zeros(truth.shape, bool)
    for y in range(20, truth.shape[0] - 30, ROWS):
        for x in range(80, truth.shape[1] - 30, COLUMNS):
            hole[y:y + SIDE, x:x + SIDE] = True
    y, x = np.mgrid[0:truth.shape[0], 0:truth.shape[1]]
    meets = np.clip(np.rint(x - np.nan_to_num(truth)).astype(int), 0, truth.shape[1] - 1)
    whole = matched(views, "--optimizer", optimizer)
    for k, view in enumerate(("left", "right")):
        inside = hole[y, meets] if k else hole
        ring = around(inside, NEAR) & ~inside & seen
        found = matched([np.where(hole, 0, v) if i == k else v for i, v in enumerate(views)], "--optimizer", optimizer)
        bad, before = (100 * np.mean(~(np.abs(d - truth) <= 1)[ring]) for d in (found, whole))
        given = 100 * np.isfinite(found[inside & seen]).mean()
        check(f"{name}, {optimizer}, holes in the {view} view", bad <= before + MORE[view] and given <= GIVEN * k,
              f"{bad:.2f} % bad beside them, {before:.2f} % without; {given:.1f} % given inside")


def noise(optimizer):
    random = np.random.default_rng(1)
    views = [random.integers(1, 256, (200, 300)).astype(np.uint8) for _ in range(2)]
    weak = [(128 + random.normal(0, 1, (200, 300))).round().astype(np.uint8) for _ in range(2)]
    options = ("--max-disparity", "31", "--optimizer", optimizer)
    chance = 100 * np.isfinite(matched(views, *options)).mean()
    told = 100 * np.isfinite(matched(weak, *options, "--min-sigma", "2")).mean()
    check(f"{optimizer}, noise", chance <= NOISE[optimizer] and told == 0,
          f"{chance:.1f} % matched, {told:.1f} % of weak noise with --min-sigma")


def unique():
    """--uniqueness 0.1 takes off what chance gives, and some of what is right, too."""
    random = np.random.default_rng(1)
    views = [random.integers(1, 256, (200, 300)).astype(np.uint8) for _ in range(2)]
    chance = 100 * np.isfinite(matched(views, "--max-disparity", "31", "--uniqueness", "0.1")).mean()
    check("noise, --uniqueness 0.1", chance <= MOST_UNIQUE, f"{chance:.1f} % matched")
    for name in ("cones", "teddy") if os.path.isdir(pairs.MIDDLEBURY) else ():
        folder, bad = os.path.join(pairs.MIDDLEBURY, name), []
        for share in ("0", "0.1"):
            pairs.match(os.path.join(folder, "im2.png"), os.path.join(folder, "im6.png"), "--uniqueness", share)
            bad.append(pair_score.score("o.tif", folder)["bad_pct"])
        check(f"{name}, --uniqueness 0.1", bad[1] <= bad[0] + MORE_UNIQUE[name], f"{bad[1]:.2f} % bad, {bad[0]:.2f} % without")


for which in ("local", "sgm", "bp"):
    noise(which)
unique()
for pair in ("cones", "teddy") if os.path.isdir(pairs.MIDDLEBURY) else ():
    for which in ("sgm", "bp"):
        holes(pair, which)
pairs.finish()
