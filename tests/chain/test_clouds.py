#!/usr/bin/python3
# The ground between clouds, not their tops: small scenes that clouds fill; height bounds of what is written; walls and mesas.
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t
from with_gdal import gdal, np, put
work, at = t.work, t.at


def read(path):
    return gdal.Open(path).ReadAsArray()


def on(path, dem, method):
    """A raster on the cells of a DEM."""
    d = gdal.Open(dem)
    g = d.GetGeoTransform()
    box = (g[0], g[3] + g[5] * d.RasterYSize, g[0] + g[1] * d.RasterXSize, g[3])
    return gdal.Warp("", path, format="MEM", outputBounds=box, width=d.RasterXSize, height=d.RasterYSize,
                     dstSRS=d.GetProjection(), resampleAlg=method, dstNodata=0 if method == "near" else -9999).ReadAsArray()


def made(inputs, name, *options):
    return t.call([t.PROGRAM, "run"] + inputs + ["-o", at(name), "--quiet", "--overwrite"] + list(options), quiet=True)


def judge(scene, dem):
    """Share of the ground that both views see which is found; share of the heights that are cloud; %."""
    h, truth, kind = read(dem), on(os.path.join(scene, "truth.tif"), dem, "bilinear"), on(os.path.join(scene, "class.tif"), dem, "near")
    valid, land = h > -9000, kind == 1
    off = np.where(valid & (truth > -9000), h - truth, 0)
    return 100 * (valid & land & (abs(off) < 100)).sum() / land.sum(), 100 * (off > 100).sum() / valid.sum()


def cloudy(name, size, share, *options):
    return t.simulate(at(name), "--base", 0, "--width", size, "--height", size, "--pointing-across", 1.7, "--noise", 1,
                      "--cloud", share, *options)


for size, share, seed in ((500, 0.5, 3), (700, 0.3, 1), (1000, 0.8, 8)):
    scene = cloudy("c%d" % seed, size, share, "--seed", seed)
    done = made([scene], "c.tif")
    t.expect(done.returncode == 0, "%d px, %g of cloud: a DEM" % (size, share))
    if done.returncode == 0:
        found, cloud = judge(scene, at("c.tif"))
        t.expect(found > 95 and cloud < 0.5, "%.1f %% of the ground, %.2f %% cloud" % (found, cloud))
scene = cloudy("heaps", 700, 0.3, "--cloud-kind", "broken", "--seed", 41)
done = made([scene], "c.tif")
t.expect(done.returncode == 0, "heaps: a DEM " + done.stderr.strip()[-160:])
if done.returncode == 0:
    found, cloud = judge(scene, at("c.tif"))
    t.expect(found > 97 and cloud < 0.5, "heaps that move, with shadows: %.1f %% of the ground, %.2f %% cloud" % (found, cloud))
    made([scene], "tiles.tif", "--tile", 97, "--threads", 1)
    t.expect(t.digest(at("c.tif")) == t.digest(at("tiles.tif")), "the same ground between clouds from tiles")

# Heaps and veils that fill every coarse window.
for kind, share, seed in (("broken", 0.56, 41), ("layers", 0.4, 42)):
    scene = cloudy(kind, 600, share, "--cloud-kind", kind, "--seed", seed)
    done = made([scene], "many.tif")
    t.expect(done.returncode == 0, "%g of %s: a DEM %s" % (share, kind, done.stderr.strip()[-160:]))
    if done.returncode == 0:
        found, cloud = judge(scene, at("many.tif"))
        t.expect(found > 94 and cloud < 0.3, "between many %s: %.1f %% of the ground, %.2f %% cloud" % (kind, found, cloud))

# Few of them, over steep ground: grey values hardly fall in two classes.
scene = t.simulate(at("few"), "--relief", 2500, "--lon", 7, "--lat", 45, "--width", 763, "--height", 753, "--roll", -3.87, "--noise", 1.61,
                   "--texture", 9.73, "--pointing-across", 0.57, "--pointing-along", -0.42, "--cloud", 0.11, "--cloud-kind", "layers", "--seed", 315)
done = made([scene], "few.tif")
t.expect(done.returncode == 0, "few clouds: a DEM " + done.stderr.strip()[-160:])
if done.returncode == 0:
    found, cloud = judge(scene, at("few.tif"))
    t.expect(found > 90 and cloud < 1, "few clouds: %.1f %% of the ground, %.2f %% cloud" % (found, cloud))

# Right matches under a veil score less: the final score falls to where rays still meet.
scene = t.simulate(at("veil"), "--relief", 300, "--lon", 7, "--lat", 45, "--width", 696, "--height", 735, "--noise", 1.27, "--texture", 9.46,
                   "--cloud", 0.64, "--cloud-kind", "cirrus", "--seed", 12002)
done = made([scene], "veil.tif")
t.expect(done.returncode == 0, "a veil: a DEM " + done.stderr.strip()[-160:])
if done.returncode == 0:
    found, cloud = judge(scene, at("veil.tif"))
    t.expect(found > 97 and cloud < 0.1, "under a veil: %.1f %% of the ground, %.2f %% cloud" % (found, cloud))

# Bright land beside a dark, noisy sea is no cloud, and what meets at its shore no wall.
coast = t.simulate(at("coast"), "--base", 0, "--width", 700, "--height", 700, "--pointing-across", 1.7, "--texture", 10)
rng = np.random.default_rng(7)
for name in os.listdir(coast):
    if name.endswith("ImageData.tif"):
        data = gdal.Open(os.path.join(coast, name), gdal.GA_Update)
        grey = data.ReadAsArray().astype(float)
        rows, columns = np.mgrid[:grey.shape[0], :grey.shape[1]]
        sea = columns + 40 * np.sin(rows / 60) - (grey.shape[1] - 700) / 2 < 350
        data.GetRasterBand(1).WriteArray(np.where(sea, rng.normal(35, 6, grey.shape), np.clip(0.8 * grey + 90, 1, 250)).astype(np.uint8))
        data = None
done = made([coast], "s.tif")
t.expect(done.returncode == 0, "a coast: a DEM " + done.stderr.strip()[-160:])
if done.returncode == 0:
    h, truth = read(at("s.tif")), on(os.path.join(coast, "truth.tif"), at("s.tif"), "bilinear")
    valid = (h > -9000) & (truth > -9000)
    t.expect(valid.sum() > 45000, "%d cells of land" % valid.sum())
    t.expect((abs(h - truth)[valid] > 100).mean() < 0.001, "within 100 m but %d cells" % (abs(h - truth)[valid] > 100).sum())

# Neither is land beside waves, which match at few places by accident.
for share in (0.5, 0.7):
    scene = t.simulate(at("waves%g" % share), "--layout", "rpc", "--gsd", 1, "--width", 800, "--height", 800, "--base-height", 0.4, "--seed", 3,
                       "--ocean", share, "--relief", 80, "--base", 0)
    done = made([os.path.join(scene, "left.tif"), os.path.join(scene, "right.tif")], "o.tif")
    t.expect(done.returncode == 0, "%g of waves: a DEM %s" % (share, done.stderr.strip()[-160:]))
    if done.returncode == 0:
        h, truth, kind = read(at("o.tif")), on(os.path.join(scene, "truth.tif"), at("o.tif"), "bilinear"), on(os.path.join(scene, "class.tif"), at("o.tif"), "near")
        found = 100 * (h > -9000)[kind == 1].mean()
        wrong = 100 * ((h > -9000) & (abs(h - truth) > 10))[kind == 2].mean()
        t.expect(found > 99 and wrong < 0.1, "%.1f %% of the land, islands off by 10 m and more on %.2f %% of the water" % (found, wrong))

# Bounds hold for what is written.
scene = at("c1")
done = made([scene], "b.tif", "--hmin", "0", "--hmax", "400")
h = read(at("b.tif"))
h = h[h > -9000]
t.expect(done.returncode == 0 and h.min() >= 0 and h.max() <= 400, "heights of %.0f to %.0f m" % (h.min(), h.max()))
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
    made([os.path.join(scene, "left.tif"), os.path.join(scene, "right.tif")], name + "_dem.tif")
    dem = at(name + "_dem.tif")
    h, truth = read(dem), on(os.path.join(scene, "truth.tif"), dem, "bilinear")
    right = (h > -9000) & (abs(h - truth) < 5)
    inner = np.zeros(h.shape, bool)
    inner[h.shape[0] // 4:-h.shape[0] // 4, h.shape[1] // 4:-h.shape[1] // 4] = True
    share = right[(truth > 100 + 0.9 * height_m) & inner].mean()
    seen = on(os.path.join(scene, "class.tif"), dem, "near") == 1
    low = right[(truth < 100 + 0.1 * height_m) & inner & seen].mean()
    t.expect(share > least and low > 0.9, "%s: %.1f %% of the upper ground, %.1f %% of the lower" % (name, 100 * share, 100 * low))


stepped("wall", 0.9, 2.5, 800, 1000, lambda x, y: 1 / (1 + np.exp(-x * 600)))
stepped("high wall", 0.9, 2.5, 800, 3000, lambda x, y: 1 / (1 + np.exp(-x * 600)))
stepped("tower", 0.1, 0.5, 1000, 300, lambda x, y: 1 / (1 + np.exp(-(0.035 - np.hypot(x, y)) * 500)))
stepped("mesa", 0.6, 0.5, 1000, 250, lambda x, y: 1 / (1 + np.exp(-(0.06 - np.hypot(x, y)) * 500)))
t.finish()
