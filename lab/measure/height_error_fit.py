#!/usr/bin/python3
# Fits the coefficients of src/product/height_error.c to the errors of simulated scenes, and prints them with shares of the
# errors that lie within the prediction.
# height_error_fit.py PROGRAM FOLDER [--test]      scenes and DEMs stay in FOLDER and are taken from there when they exist
# --test: fit to every second scene, judge the others.
# PROGRAM must write fine scores:   cmake --preset release -B build/fit -DCMAKE_C_FLAGS=-DSDM_SCORE_STEP=0.0002
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import random
import subprocess
import sys

from scipy import ndimage, optimize

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "chain"))
from with_gdal import gdal, heights, np, on_grid_of, put, t

FULL = os.path.join(t.SHARED, "data", "aster_full")
SIDE, NEAR, FAR, MOST_ROUGH = 8, 1, 24, 0.5
SLOPES = (5, 10, 20, 30, 40, 50)  # limits of classes, degrees
QUANTILE = 0.69  # 0.68 and the share that cameras without errors leave out: every real pair has some
SAMPLES = 6000  # cells of a scene
NAMES = "LEVEL NOISE NEAR_NOISE ROUGHNESS NEAR_ROUGHNESS SLOPE OWN_SLOPE CELL CENSUS SEMI_GLOBAL".split()
# options of each matcher, which follow a scene's name, and what its scenes count
MATCHERS = {"": ([], 1), "-census": (["--cost", "census"], 0.25), "-sgm": (["--optimizer", "sgm"], 0.1),
            "-csgm": (["--optimizer", "sgm", "--cost", "census"], 0.25)}
SHARP = "terrain_sharp.tif"


def scene_list(folder):
    """Name: folder, options of simulate, --tr, and what is done to both images (see change_images)."""
    out = {}

    def add(name, image=None, **options):
        words = dict(width=1000, height=1000, roll=5)
        words.update(options)
        out[name] = (name, [str(w) for k, v in words.items() for w in ("--" + k.replace("_", "-"), v)], 0, image)

    ground = dict(terrain=os.path.join(FULL, "truth.tif"))
    for i, (lon, lat, noise, texture) in enumerate([
            (4.05, 44.85, 1, 16), (4.3, 44.8, 2, 12), (4.0, 44.6, 1, 8), (4.3, 44.5, 0.5, 20), (4.05, 44.6, 3, 16),
            (4.25, 44.7, 1, 16), (3.95, 44.75, 2, 30)]):
        add("n%d" % (i + 1), seed=11 + i, lon=lon, lat=lat, noise=noise, texture=texture, **ground)
    for i, (seed, relief, noise, texture) in enumerate([
            (1, 2500, 1, 16), (2, 1200, 2, 16), (3, 600, 1.5, 10), (5, 300, 1.5, 8), (6, 2500, 0.5, 24), (7, 1800, 1, 10),
            (8, 3500, 1, 16), (9, 600, 1, 16), (19, 2000, 1.5, 8), (21, 100, 1, 16), (22, 900, 0, 12), (23, 3000, 3, 30)]):
        add("f%d" % (i + 1), seed=seed, relief=relief, noise=noise, texture=texture)
    add("r1", layout="rpc", gsd=5, base_height=0.4, seed=31, relief=600)
    add("r2", layout="rpc", gsd=10, base_height=0.8, seed=32, relief=1200, noise=2)
    random.seed(5)
    for k in range(30):
        o = dict(relief=round(50 * 80 ** random.random()), noise=random.choice([0.3, 0.5, 1, 1, 1, 1.5, 2, 3]),
                 texture=random.choice([6, 8, 12, 16, 16, 20, 30]), seed=100 + k, roll=round(random.uniform(-8, 8), 1))
        if k % 6 == 5:
            o.update(layout="rpc", gsd=random.choice([6, 8, 12, 20]), base_height=round(random.uniform(0.3, 0.9), 2))
        add("t%02d" % k, width=800, height=800, **o)
    for k in range(10):
        lon, lat = random.uniform(3.9, 4.45), random.uniform(44.5, 44.9)
        noise, texture, roll = random.choice([0.5, 1, 1, 1.5, 2]), random.choice([8, 12, 16, 24]), random.uniform(-8, 8)
        if k % 2 == 0:
            add("u%02d" % k, width=800, height=800, lon=round(lon, 3), lat=round(lat, 3), noise=noise, texture=texture,
                seed=200 + k, roll=round(roll, 1), **ground)
    fine = dict(terrain=os.path.join(folder, "fine.tif"), roll=4)
    for i, (lon, lat, noise, texture) in enumerate([
            (4.05, 44.85, 1, 16), (4.25, 44.6, 2, 12), (4.0, 44.65, 1, 8), (4.3, 44.8, 0.5, 24), (4.15, 44.7, 1, 16)]):
        add("w%d" % (i + 1), seed=401 + i, lon=lon, lat=lat, noise=noise, texture=texture, **fine)
    for like in ("n1", "n4", "n5", "f1", "f3", "f11", "t07", "t28"):
        out[like + "_60"] = (like, out[like][1], 60, None)
    for like in ("n2", "t13"):
        for tr in (20, 45, 90):
            out["%s_%d" % (like, tr)] = (like, out[like][1], tr, None)
    rough_scenes(folder, ground, add)
    short_textures(folder, ground, add)
    return out


def rough_scenes(folder, ground, add):
    """Scenes with detail of the ground down to a pixel, without (s) and with (e) a sensor's blur, fractals of several exponents
    (g), and blurred images of all kinds of ground (b)."""
    sharp = dict(terrain=os.path.join(folder, SHARP))
    rng = random.Random(9)
    place = lambda: dict(lon=round(rng.uniform(3.95, 4.42), 3), lat=round(rng.uniform(44.52, 44.85), 3))
    roll = lambda: round(rng.uniform(-8, 8), 1)
    for i in range(14):
        add("s%02d" % i, **place(), seed=500 + i, noise=rng.choice([.5, 1, 1, 1, 1.5, 2]),
            texture=rng.choice([8, 12, 16, 16, 20, 24]), roll=roll(), **sharp)
    for i in range(16):
        beta, slope = (3.2, 3.6, 4.0, 4.4)[i // 4], (3, 8, 16, 24)[i % 4]
        add("g%02d" % i, seed=600 + i, lon=4.18, lat=44.69, noise=rng.choice([.5, 1, 1, 1.5, 2]),
            texture=rng.choice([8, 12, 16, 20, 24]), roll=roll(), terrain=make_power(folder, beta, slope, 700 + i))
    for i in range(16):
        blur = [(.4, .4), (.6, .6), (.7, .2), (.2, .7), (.8, .5), (.5, .8), (.8, .8), (.3, .3)][i % 8]
        noise = rng.choice([.5, 1, 1, 1.5])
        what = dict(sharp if i % 2 == 0 else ground, **place()) if i % 4 < 2 else dict(relief=round(100 * 30 ** rng.random()))
        add("b%02d" % i, dict(blur=blur, noise=noise, seed=i), seed=800 + i, noise=0, texture=rng.choice([12, 16, 20, 30]),
            roll=roll(), **what)
    rng.seed(77)
    for i in range(14):
        blur = [.5, .6, .7, .55, .65, .45][i % 6]
        what = dict(**place(), roll=roll(), **sharp)
        image = dict(blur=(blur * rng.choice([1, 1, 1.2]), blur), noise=[.7, 1, 1, 1, 1.3][i % 5], seed=50 + i)
        add("e%02d" % i, image, seed=900 + i, noise=0, texture=[8, 12, 16, 10][i % 4], width=900, height=900, **what)


def short_textures(folder, ground, add):
    """Rough fractals with a strong texture (h), and textures without long waves, as a sensor blurs them (k)."""
    rng = random.Random(31)
    middle = dict(lon=4.18, lat=44.69)
    for i in range(12):
        terrain = make_power(folder, (2.9, 3.2, 3.6)[i % 3], (6, 10, 16, 24)[i // 3], 1000 + i)
        add("h%02d" % i, seed=1000 + i, texture=rng.choice([20, 26, 32]), noise=rng.choice([.4, .7, 1]), width=900, height=900,
            terrain=terrain, **middle)
    for i in range(48):
        blur = rng.choice([.4, .5, .6, .7, .8, .9, 1])
        image = dict(blur=(blur, blur), longest=rng.choice([3.5, 4.5, 6, 10, 20]), deviation=rng.choice([9, 12, 16, 20]),
                     noise=rng.choice([.5, .7, 1, 1, 1.3]), seed=3000 + i)
        what = dict(lon=round(rng.uniform(3.95, 4.42), 3), lat=round(rng.uniform(44.52, 44.85), 3))
        if i % 6 in (0, 3):
            what = dict(middle, terrain=make_power(folder, rng.choice([2.9, 3.2, 3.5, 3.9]), rng.choice([4, 7, 10, 14, 18, 22]),
                                                   2000 + i, rng.choice([0, 0, 50])))
        elif i % 6 == 5:
            what = dict(relief=rng.choice([150, 400, 800, 1500, 2500]))
        else:
            what.update(ground if i % 6 == 2 else dict(terrain=os.path.join(folder, SHARP)))
        add("k%02d" % i, image, seed=3000 + i, texture=30, noise=0, width=900, height=900, roll=round(rng.uniform(-8, 8), 1),
            **what)


def make_fine(path):
    """The terrain of aster_full, whose truth is smooth below 30 m, with detail of 20 to 120 m that grows with the slope."""
    data = gdal.Warp(path, os.path.join(FULL, "truth.tif"), xRes=10, yRes=10, resampleAlg="cubicspline", dstNodata=-9999,
                     outputType=gdal.GDT_Float32, outputBounds=(560000, 4925000, 620000, 4980000))
    h = data.ReadAsArray()
    h[h == -9999] = np.median(h[h != -9999])
    gy, gx = np.gradient(h, 10)
    steep = ndimage.gaussian_filter(np.minimum(np.hypot(gx, gy), 1.5), 6)
    k = np.hypot(np.fft.fftfreq(h.shape[0])[:, None], np.fft.rfftfreq(h.shape[1])[None, :]) / 10
    shape = np.where(k > 1 / 120, np.maximum(k, 1e-6) ** -2.0, 0) * np.clip(120 * k - 1, 0, 1)
    detail = np.fft.irfft2(np.fft.rfft2(np.random.default_rng(3).standard_normal(h.shape)) * shape, s=h.shape)
    data.GetRasterBand(1).WriteArray((h + detail / detail.std() * (0.2 + 3.0 * steep)).astype(np.float32))


def smoothing(k):
    """What simulate's surface (nodes of 15 m) takes off a wave of k cycles a metre."""
    return np.maximum(np.sinc(15 * k), 0.35) ** 3.4


def noise_of(shape, metres, spectrum, seed):
    """Gaussian noise with that amplitude spectrum, cycles a metre, as simulate shows it."""
    k = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]) / metres
    return np.fft.irfft2(np.fft.rfft2(np.random.default_rng(seed).standard_normal(shape)) * spectrum(k) / smoothing(k), s=shape)


def write_terrain(path, h, left, top, metres):
    crs = gdal.Open(os.path.join(FULL, "truth.tif")).GetProjection()
    put(path, h.astype(np.float32), left, top, metres, crs, None, options=["COMPRESS=DEFLATE", "TILED=YES"])


def make_sharp(path):
    """The terrain of aster_full with cells of 10 m, such that means over 30 m are its truth in what simulate renders, and with
    shorter waves whose spectrum goes on as that of the truth ends."""
    data, edge = gdal.Open(os.path.join(FULL, "truth.tif")), 64
    h, g = data.ReadAsArray().astype(float), data.GetGeoTransform()
    z = np.pad(h, edge, mode="reflect")
    ramp = lambda n: 0.5 - 0.5 * np.cos(np.pi * np.clip(np.minimum(np.arange(n), np.arange(n)[::-1]) / edge, 0, 1))
    z = z.mean() + (z - z.mean()) * np.outer(ramp(z.shape[0]), ramp(z.shape[1]))
    f = [np.fft.fftfreq(n) for n in z.shape]
    cell = [np.sinc(v) * smoothing(np.abs(v) / 30) for v in f]
    rows, cols = z.shape
    fine = np.zeros((3 * rows, 3 * cols), complex)
    at = [np.r_[0:n // 2, 3 * n - (n - n // 2):3 * n] for n in z.shape]
    fine[np.ix_(*at)] = np.fft.fft2(z) / np.outer(*cell) * np.exp(-2j / 3 * np.pi * (f[0][:, None] + f[1][None, :]))
    out = 9 * np.fft.ifft2(fine).real[3 * edge:-3 * edge, 3 * edge:-3 * edge]
    gy, gx = np.gradient(h, 30)
    steep = ndimage.zoom(ndimage.gaussian_filter(np.minimum(np.hypot(gx, gy), 1.5), 2), 3, order=1, grid_mode=True, mode="nearest")
    detail = noise_of(out.shape, 10, lambda k: np.where(k > 1 / 60, np.maximum(k, 1e-4) ** -1.55, 0), 3)
    write_terrain(path, out + detail / detail.std() * (0.5 + 2.2 * steep), g[0], g[3], 10)


def make_power(folder, beta, slope_deg, seed, shortest=0):
    """A fractal whose power falls with the wave number to the beta, down to waves of so many metres; slopes over 90 m have that
    root mean square."""
    path, n = os.path.join(folder, "power_%g_%d_%d.tif" % (beta, slope_deg, seed)), 3072
    if not os.path.exists(path):
        power = lambda k: np.maximum(k, 1e-6) ** (-beta / 2) * np.exp(-(k * shortest / 2.2) ** 4)
        h = noise_of((n, n), 15, lambda k: np.where(k > 1 / 12000, power(k), 0), seed)
        gy, gx = np.gradient(ndimage.uniform_filter(h, 6), 15)
        h *= np.tan(np.radians(slope_deg)) / np.sqrt((gx ** 2 + gy ** 2).mean())
        write_terrain(path, h - h.min() + 100, 593000 - 7.5 * n, 4949000 + 7.5 * n, 15)
    return path


def change_images(source, blur, noise, seed, longest=0, deviation=0):
    """A sensor's blur (sigmas in pixels) of both images, then its noise. longest, deviation: of the texture, waves that a
    Gaussian of that sigma keeps are left out, and the standard deviation is set."""
    rng = np.random.default_rng(seed)
    for name in sorted(os.listdir(source)):
        if name.endswith(".ImageData.tif"):
            data = gdal.Open(os.path.join(source, name), gdal.GA_Update)
            image = data.ReadAsArray()
            seen = image > 0
            grey = np.where(seen, image, image[seen].mean()) if longest else image.astype(float)
            grey, long_waves = ndimage.gaussian_filter(grey, blur), ndimage.gaussian_filter(grey, longest) if longest else None
            if longest:
                grey = 110 + (grey - long_waves) * deviation / (grey - long_waves)[seen].std()
            grey += rng.normal(0, noise, image.shape)
            data.GetRasterBand(1).WriteArray(np.where(seen, np.clip(np.round(grey), 1, 254), 0).astype(np.uint8))


def make(program, folder, name, scene, options, tr, image, match=()):
    """The scene and its DEM."""
    source, dem = os.path.join(folder, scene), os.path.join(folder, name + ".tif")
    if not os.path.isdir(source):
        subprocess.run([program + "-lab", "simulate", "-o", source, "--quiet"] + options, check=True)
        if image:
            change_images(source, **image)
    if not os.path.exists(dem):
        pair = [os.path.join(source, v) for v in ("left.tif", "right.tif")] if "rpc" in options else [source]
        subprocess.run([program, "run"] + pair + ["-o", dem, "--quiet"] + (["--tr", str(tr)] if tr else []) + list(match), check=True)
    return source, dem


def blocks(values, known):
    """Sums of what is known over blocks of SIDE x SIDE cells, and their number."""
    high, wide = -(-values.shape[0] // SIDE), -(-values.shape[1] // SIDE)
    out = []
    for a in (np.where(known, values, 0.0), known.astype(float)):
        room = np.zeros((high * SIDE, wide * SIDE))
        room[:a.shape[0], :a.shape[1]] = a
        out.append(room.reshape(high, SIDE, wide, SIDE).sum((1, 3)))
    return out


def window(sums, half):
    return [ndimage.uniform_filter(a, 2 * half + 1, mode="constant") * (2 * half + 1) ** 2 for a in sums]


def mean(sums, half):
    a, n = window(sums, half)
    return np.where(n > 4, a / np.maximum(n, 1), 0)


def shifted(height, truth, land, cell):
    """The errors after a 3-D shift (Nuth and Kaab, the truth moved by cubic splines), and the tangent of the true slope."""
    filled, east, north = np.where(np.isfinite(truth), truth, np.nanmedian(truth)), 0.0, 0.0
    for _ in range(6):
        moved = ndimage.shift(filled, (-north / cell, east / cell), order=3, mode="nearest") if east or north else filled
        gy, gx = np.gradient(moved, cell)
        error = height - moved
        off = np.abs(error - np.median(error[land]))
        use = land & (off < 3 * 1.4826 * np.median(off[land]))
        x = np.linalg.lstsq(np.c_[gx[use], gy[use], np.ones(use.sum())], error[use], rcond=None)[0]
        east, north = east - x[0], north + x[1]
    return error - x[2], np.hypot(gx, gy)


def second(a, axis, lag):
    """Second differences along an axis; NaN at the ends."""
    a, out = np.moveaxis(a, axis, 0), np.full_like(np.moveaxis(a, axis, 0), np.nan)
    out[lag:-lag] = a[2 * lag:] - 2 * a[lag:-lag] + a[:-2 * lag]
    return np.moveaxis(out, 0, axis)


def measure(source, dem, kind):
    """The terms of src/product/height_error.c at some cells that were matched, the logarithms of their errors, px of parallax."""
    base = os.path.splitext(dem)[0]
    with open(base + ".json") as text:
        scene = json.load(text)["scene"]
    h, cell = heights(dem), gdal.Open(dem).GetGeoTransform()[1]
    qa = gdal.Open(base + "_qa.tif")
    if qa.GetRasterBand(1).GetScale() > 0.001:
        sys.exit("%s_qa.tif: scores in steps of %g; see the head of this script" % (base, qa.GetRasterBand(1).GetScale()))
    score = qa.GetRasterBand(1).ReadAsArray() * qa.GetRasterBand(1).GetScale()
    rho = np.clip(np.sin(np.pi / 2 * np.clip(score, 0, 1)) if kind in ("-census", "-csgm") else score, 0.3, 0.998)
    filled, gsd = (qa.GetRasterBand(5).ReadAsArray() & 2) > 0, scene["ground_sample_distance_m"]
    per_px = gsd / scene["base_height"]
    gy, gx = np.full(h.shape, np.nan), np.full(h.shape, np.nan)
    gx[:, 1:-1], gy[1:-1] = (h[:, 2:] - h[:, :-2]) * 0.5 / cell, (h[2:] - h[:-2]) * 0.5 / cell
    steep = gx * gx + gy * gy
    rough = [np.abs(second(second(h, axis, 1), axis, 1)) / per_px for axis in range(2)]
    rough = [blocks(np.minimum(d, MOST_ROUGH), np.isfinite(d)) for d in rough]
    sums = [blocks((1 - rho) / rho, np.isfinite(h) & ~filled), [rough[0][k] + rough[1][k] for k in range(2)],
            blocks(steep, np.isfinite(steep))]
    logs = {half: (0.5 * np.log(mean(sums[0], half) + 0.02 ** 2), np.log(mean(sums[1], half) + 0.003)) for half in (NEAR, FAR)}
    truth = on_grid_of(os.path.join(source, "truth.tif"), dem, "average" if cell > 45 else "bilinear")
    land = (on_grid_of(os.path.join(source, "class.tif"), dem, none=0) == 1) & np.isfinite(h - truth) & ~filled
    land &= ndimage.binary_erosion(np.isfinite(truth), iterations=3)
    error, true_slope = shifted(h, truth, land, cell)
    places = np.nonzero(land)
    pick = np.random.default_rng(0).permutation(len(places[0]))[:SAMPLES]
    y, x = places[0][pick], places[1][pick]
    at = lambda a: ndimage.map_coordinates(a, [(y + 0.5) / SIDE - 0.5, (x + 0.5) / SIDE - 0.5], order=1, mode="nearest")
    noise, roughness, near_noise, near_roughness = [at(a) for half in (FAR, NEAR) for a in logs[half]]
    slope, own = np.minimum(at(np.sqrt(mean(sums[2], NEAR))), 1.7), np.minimum(np.sqrt(steep[y, x]), 1.7)
    one = np.ones(len(y))
    terms = [one, noise, near_noise - noise, roughness, near_roughness - roughness, slope, np.where(np.isfinite(own), own - slope, 0),
             one * np.log(np.clip(cell / gsd, 1.2, 6) / 2), one * (kind == "-census"), one * (kind in ("-sgm", "-csgm"))]
    return dict(x=np.stack(terms, -1), y=np.log(np.maximum(np.abs(error[y, x]) / per_px, 1e-4)),
                slope=np.degrees(np.arctan(true_slope[y, x])), kind=kind)


def learn(scenes):
    """The coefficients for which QUANTILE of the errors lie within the prediction: least absolute deviations of their logarithms,
    with that share of positive ones."""
    x, y = [np.concatenate([d[k] for d in scenes.values()]) for k in "xy"]
    weight = np.concatenate([np.full(len(d["y"]), MATCHERS[d["kind"]][1] / len(d["y"])) for d in scenes.values()])
    weight /= weight.sum()

    def cost(v):
        left = y - x @ v
        slope = weight * np.where(left > 0, QUANTILE, QUANTILE - 1)
        return (slope * left).sum() + 1e-5 * (v[1:] ** 2).sum(), -(x.T @ slope) + 2e-5 * np.r_[0, v[1:]]

    root = np.sqrt(weight)
    start = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
    start[0] += 0.6
    return optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options=dict(maxiter=400, maxcor=30)).x


def judge(name, scenes, model):
    s, inside = [np.concatenate(a) for a in zip(*[(d["x"] @ model, d["y"] <= d["x"] @ model) for d in scenes])]
    by = [100 * inside[i].mean() for i in np.array_split(np.argsort(s, kind="stable"), 8)]
    print("%14s %5.1f %%  by prediction %s" % (name, 100 * inside.mean(), " ".join("%.0f" % v for v in by)), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--test", action="store_true")
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    for name, make_terrain in (("fine.tif", make_fine), (SHARP, make_sharp)):
        if not os.path.exists(os.path.join(a.folder, name)):
            make_terrain(os.path.join(a.folder, name))
    scenes = {}
    for k, (name, (scene, options, tr, image)) in enumerate(scene_list(a.folder).items()):
        for kind in ("", list(MATCHERS)[1 + k % 3]):
            files = make(os.path.abspath(a.program), a.folder, name + kind, scene, options, tr, image, MATCHERS[kind][0])
            scenes[name + kind] = measure(*files, kind)
    names = list(scenes)
    model = learn({n: scenes[n] for n in (names[::2] if a.test else names)})
    judged = names[1::2] if a.test else names
    for n in judged:
        judge(n, [scenes[n]], model)
    for kind in MATCHERS:
        judge("all" + kind, [scenes[n] for n in judged if scenes[n]["kind"] == kind], model)
    print("\n".join("%s = %.3f" % line for line in zip(NAMES, model)))


if __name__ == "__main__":
    main()
