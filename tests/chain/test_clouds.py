#!/usr/bin/python3
# The ground between clouds, not their tops: small scenes that clouds fill; height bounds of what is written; walls and mesas.
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t
from with_gdal import heights, np, on_grid_of, overwrite, put
work, at = t.work, t.at


def made(inputs, name, *options):
    return t.call([t.PROGRAM, "run"] + inputs + ["-o", at(name), "--quiet", "--overwrite"] + list(options), quiet=True)


def judge(what, inputs, *options):
    """The DEM of a simulated scene or pair: the cells with a height, its errors (m), truth.tif and class.tif there; None: there is no DEM."""
    done, dem, scene = made(inputs, "c.tif", *options), at("c.tif"), os.path.dirname(inputs[0]) if len(inputs) > 1 else inputs[0]
    if not t.expect(done.returncode == 0, "%s: a DEM %s" % (what, done.stderr.strip()[-160:])):
        return None
    truth, kind = on_grid_of(os.path.join(scene, "truth.tif"), dem, "bilinear"), on_grid_of(os.path.join(scene, "class.tif"), dem, none=0)
    off = heights(dem) - truth
    return np.isfinite(off), np.nan_to_num(off), truth, kind


def pair_of(scene):
    return [os.path.join(scene, "left.tif"), os.path.join(scene, "right.tif")]


# Scenes that clouds fill; then heaps and veils in every coarse window; a few clouds over steep ground, where grey values hardly
# fall in two classes; a veil, under which right matches score less: the final score falls to where rays still meet; gaps far
# from others over low hills; heaps where half of the pixels match, without two classes of grey values; at last heaps that move,
# with shadows.
SEA = ("--base", 0, "--pointing-across", 1.7, "--noise", 1)
ALPS = ("--lon", 7, "--lat", 45)
for width, height, share, kind, seed, least, most, options in (
        (500, 500, 0.5, "patches", 3, 95, 0.5, SEA), (700, 700, 0.3, "patches", 1, 95, 0.5, SEA), (700, 700, 0.8, "patches", 8, 95, 0.5, SEA),
        (747, 729, 0.34, "patches", 1016, 98, 0.5, ALPS + ("--relief", 2500, "--roll", -7.44, "--noise", 0.6, "--texture", 18.61, "--pointing-across", -1.32,
                                                        "--pointing-along", 0.16)),
        (600, 600, 0.56, "broken", 41, 94, 0.3, SEA), (600, 600, 0.4, "layers", 42, 94, 0.3, SEA),
        (763, 753, 0.11, "layers", 315, 90, 1, ALPS + ("--relief", 2500, "--roll", -3.87, "--noise", 1.61, "--texture", 9.73, "--pointing-across", 0.57,
                                                    "--pointing-along", -0.42)),
        (696, 735, 0.64, "cirrus", 12002, 97, 0.1, ALPS + ("--relief", 300, "--noise", 1.27, "--texture", 9.46)),
        (543, 557, 0.46, "cirrus", 2026, 97, 0.1, ALPS + ("--relief", 100, "--noise", 1.43, "--texture", 13.05, "--pointing-across", 1.54)),
        (541, 668, 0.59, "layers", 2003, 93, 0.1, ALPS + ("--relief", 600, "--roll", 5.42, "--noise", 1.6, "--texture", 18.78, "--pointing-across", -0.77,
                                                      "--pointing-along", -0.1)),
        (941, 758, 0.66, "layers", 20051, 95, 0.5, ALPS + ("--relief", 100, "--roll", -3.06, "--noise", 1.59, "--texture", 18.13, "--pointing-across", 0.48,
                                                        "--pointing-along", -0.28)),
        (794, 942, 0.12, "broken", 20161, 98, 0.1, ALPS + ("--relief", 600, "--roll", 2.47, "--noise", 1.6, "--texture", 19.66, "--pointing-across", 0.39,
                                                        "--pointing-along", -0.4)),
        (700, 700, 0.3, "broken", 41, 97, 0.5, SEA)):
    what = "%s on %g of %d px" % (kind, share, width)
    scene = t.simulate(at(what), "--width", width, "--height", height, "--cloud", share, "--cloud-kind", kind, "--seed", seed, *options)
    seen = judge(what, [scene])
    if seen:
        valid, off, _, ground = seen
        found, cloud = 100 * (valid & (abs(off) < 100))[ground == 1].mean(), 100 * (off > 100).sum() / valid.sum()
        t.expect(found > least and cloud < most, "%s: %.1f %% of the ground, %.2f %% cloud" % (what, found, cloud))
# Of the last scene the passes match more than half of the heights; the rest are labels and planes.
mask = heights(t.companion(at("c.tif"), "_qa.tif"), 5)
t.expect((mask == 1).sum() > 0.52 * ((mask == 1) | (mask == 3)).sum(), "%d of %d heights are matches" % ((mask == 1).sum(), ((mask == 1) | (mask == 3)).sum()))
made([scene], "tiles.tif", "--tile", 233, "--threads", 1)
t.expect(t.digest(at("c.tif")) == t.digest(at("tiles.tif")), "the same ground between clouds from tiles")
# Where steep ground is not matched, a DEM as users have it tells its shape: of 84 % found and 1.4 % cloud without.
scene = t.simulate(at("steep"), "--width", 591, "--height", 691, "--cloud", 0.39, "--cloud-kind", "layers", "--seed", 13019, "--relief", 2500,
                   "--noise", 1.49, "--texture", 9.56, "--roll", 6, "--pointing-across", 0.97, "--reference", 30, *ALPS)
seen = judge("steep", [scene], "--dem", at("steep/reference.tif"))
if seen:
    valid, off, _, ground = seen
    found, cloud = 100 * (valid & (abs(off) < 100))[ground == 1].mean(), 100 * (off > 100).sum() / valid.sum()
    t.expect(found > 96 and cloud < 0.3, "about a DEM: %.1f %% of the ground, %.2f %% cloud" % (found, cloud))
made([scene], "tiles.tif", "--tile", 233, "--threads", 1, "--dem", at("steep/reference.tif"))
t.expect(t.digest(at("c.tif")) == t.digest(at("tiles.tif")), "the same ground about a DEM from tiles")
for name, options in (("whole", ()), ("tiles", ("--tile", 97))):
    made([at("cirrus on 0.46 of 543 px")], name + ".tif", *options)
for name in ".tif", "_ortho.tif":
    t.expect(np.array_equal(heights(at("whole" + name)), heights(at("tiles" + name)), equal_nan=True), "the same below veils from tiles: " + name)

# Bright land beside a dark, noisy sea is no cloud, and what meets at its shore no wall.
coast = t.simulate(at("coast"), "--base", 0, "--width", 700, "--height", 700, "--pointing-across", 1.7, "--texture", 10)
rng = np.random.default_rng(7)


def with_sea(grey):
    rows, columns = np.mgrid[:grey.shape[0], :grey.shape[1]]
    sea = columns + 40 * np.sin(rows / 60) - (grey.shape[1] - 700) / 2 < 350
    return np.where(sea, rng.normal(35, 6, grey.shape), np.clip(0.8 * grey.astype(float) + 90, 1, 250)).astype(np.uint8)


for name in os.listdir(coast):
    if name.endswith("ImageData.tif"):
        overwrite(os.path.join(coast, name), with_sea)
seen = judge("a coast", [coast])
if seen:
    valid, off = seen[:2]
    t.expect(valid.sum() > 45000 and (abs(off) > 100).sum() < 0.001 * valid.sum(), "%d cells of land, within 100 m but %d" % (valid.sum(), (abs(off) > 100).sum()))

# Neither is land beside waves, which match at few places by accident.
for share in (0.5, 0.7):
    scene = t.simulate(at("waves%g" % share), "--layout", "rpc", "--gsd", 1, "--width", 800, "--height", 800, "--base-height", 0.4, "--seed", 3,
                       "--ocean", share, "--relief", 80, "--base", 0)
    seen = judge("%g of waves" % share, pair_of(scene))
    if seen:
        valid, off, _, kind = seen
        found, wrong = 100 * valid[kind == 1].mean(), 100 * (abs(off) > 10)[kind == 2].mean()
        t.expect(found > 99 and wrong < 0.1, "%.1f %% of the land, islands off by 10 m and more on %.2f %% of the water" % (found, wrong))

# Bounds hold for what is written.
scene = at("patches on 0.3 of 700 px")
done = made([scene], "b.tif", "--hmin", "0", "--hmax", "400")
low, high = np.nanmin(heights(at("b.tif"))), np.nanmax(heights(at("b.tif")))
t.expect(done.returncode == 0 and low >= 0 and high <= 400, "heights of %.0f to %.0f m" % (low, high))
clear = t.simulate(at("clear"), "--base", 400, "--width", 400, "--height", 400, "--relief", 300)
done = made([clear], "w.tif", "--hmin", "3000", "--hmax", "4000")
t.expect(done.returncode == 1 and "--hmin and --hmax" in done.stderr and not os.path.exists(at("w.tif")),
         "heights of another place: " + done.stderr.strip()[-160:])

# A wall across the scene, a mesa.

def stepped(name, least, gsd, px, height_m, upper):
    """A pair of terrain with walls: the upper ground must have heights on that share."""
    cell, n = 4 * gsd, px // 2
    y, x = np.mgrid[:n, :n]
    up = upper(x / n - 0.5, y / n - 0.5)
    ground = 100 + 8 * gsd * np.sin(x / 7) * np.cos(y / 9) + height_m * up
    terrain = put(at(name + ".tif"), ground, 500000, 4900000, cell, "EPSG:32632", None)
    scene = t.simulate(at(name), "--terrain", terrain, "--layout", "rpc", "--gsd", gsd, "--width", px, "--height", px,
                       "--base-height", 0.3, "--seed", 3)
    valid, off, truth, kind = judge(name, pair_of(scene))
    right = valid & (abs(off) < 5)
    inner = np.zeros(right.shape, bool)
    inner[right.shape[0] // 4:-right.shape[0] // 4, right.shape[1] // 4:-right.shape[1] // 4] = True
    share = right[(truth > 100 + 0.9 * height_m) & inner].mean()
    low = right[(truth < 100 + 0.1 * height_m) & inner & (kind == 1)].mean()
    t.expect(share > least and low > 0.9, "%s: %.1f %% of the upper ground, %.1f %% of the lower" % (name, 100 * share, 100 * low))


stepped("wall", 0.9, 2.5, 800, 1000, lambda x, y: 1 / (1 + np.exp(-x * 600)))
stepped("high wall", 0.9, 2.5, 800, 3000, lambda x, y: 1 / (1 + np.exp(-x * 600)))
stepped("tower", 0.1, 0.5, 1000, 300, lambda x, y: 1 / (1 + np.exp(-(0.035 - np.hypot(x, y)) * 500)))
stepped("mesa", 0.6, 0.5, 1000, 250, lambda x, y: 1 / (1 + np.exp(-(0.06 - np.hypot(x, y)) * 500)))
t.finish()
