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

import numpy as np
from osgeo import gdal
from scipy import ndimage

gdal.UseExceptions()
FULL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data", "aster_full")
SIDE, NEAR, FAR, LAGS, ADDED = 8, 1, 4, (1, 4, 8), (0.02, 0.05, 0.002, 0.008, 0.016)
QUANTILE, SAMPLES, SLOPES = 0.68, 3000, (5, 10, 20, 30, 40, 50)


def scene_list(folder):
    """Name: options of simulate, and --tr."""
    out = {}

    def add(name, tr=0, like=None, **options):
        words = dict(width=1000, height=1000, roll=5)
        words.update(options)
        out[name] = (like or name, [str(w) for k, v in words.items() for w in ("--" + k.replace("_", "-"), v)], tr)

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
        out[like + "_60"] = (like, out[like][1], 60)
    for like in ("n2", "t13"):
        for tr in (20, 45, 90):
            out["%s_%d" % (like, tr)] = (like, out[like][1], tr)
    return out


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


def make(program, folder, name, scene, options, tr):
    """The scene and its DEM."""
    source, dem = os.path.join(folder, scene), os.path.join(folder, name + ".tif")
    if not os.path.isdir(source):
        subprocess.run([program, "simulate", "-o", source, "--quiet"] + options, check=True)
    if not os.path.exists(dem):
        pair = [os.path.join(source, v) for v in ("left.tif", "right.tif")] if "rpc" in options else [source]
        subprocess.run([program, "run"] + pair + ["-o", dem, "--quiet"] + (["--tr", str(tr)] if tr else []), check=True)
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
    """Of a window of blocks; of a wider one where it knows fewer than five cells."""
    (a, n), (b, m) = window(sums, half), window(sums, half + 2)
    return np.where(n > 4, a / np.maximum(n, 1), b / np.maximum(m, 1))


def shifted(error, truth, land, cell):
    """The errors after a 3-D shift, and the tangent of the true slope."""
    filled = np.where(np.isfinite(truth), truth, np.nanmedian(truth))
    gx, gy = ndimage.sobel(filled, 1) / 8 / cell, ndimage.sobel(filled, 0) / 8 / cell
    use = land.copy()
    for _ in range(6):
        x = np.linalg.lstsq(np.c_[gx[use], gy[use], np.ones(use.sum())], error[use], rcond=None)[0]
        left = error - (x[0] * gx + x[1] * gy + x[2])
        use = land & (np.abs(left) < 3 * 1.4826 * np.median(np.abs(left[land])))
    return left, np.hypot(gx, gy)


def on(like, path, how):
    g = like.GetGeoTransform()
    out = gdal.Warp("", path, format="MEM", dstSRS=like.GetProjection(), width=like.RasterXSize, height=like.RasterYSize,
                    outputBounds=(g[0], g[3] + g[5] * like.RasterYSize, g[0] + g[1] * like.RasterXSize, g[3]),
                    resampleAlg=how, dstNodata=-99999.0, outputType=gdal.GDT_Float64).ReadAsArray()
    return np.where(out == -99999.0, np.nan, out)


def measure(source, dem):
    """What src/product/height_error.c measures, and the true errors."""
    like, base = gdal.Open(dem), os.path.splitext(dem)[0]
    with open(base + ".json") as text:
        scene = json.load(text)["scene"]
    h, cell = like.ReadAsArray().astype(float), like.GetGeoTransform()[1]
    h[h == -9999] = np.nan
    qa = gdal.Open(base + "_qa.tif")
    if qa.GetRasterBand(1).GetScale() > 0.001:
        sys.exit("%s_qa.tif: scores in steps of %g; see the head of this script" % (base, qa.GetRasterBand(1).GetScale()))
    rho = np.clip(qa.GetRasterBand(1).ReadAsArray() * qa.GetRasterBand(1).GetScale(), 0.3, 0.998)
    filled, valid = (qa.GetRasterBand(5).ReadAsArray() & 2) > 0, np.isfinite(h)
    per_px = scene["ground_sample_distance_m"] / scene["base_height"]
    ortho = gdal.Open(base + "_ortho.tif").ReadAsArray().astype(float)
    ortho[(ortho == -9999) | ~valid] = np.nan

    def gradient(a, step):
        out = np.full((2,) + a.shape, np.nan)
        out[0, :, 1:-1], out[1, 1:-1] = a[:, 2:] - a[:, :-2], a[2:] - a[:-2]
        return (out * out).sum(0) * step * step

    steep, rise = gradient(h, 0.5 / cell), gradient(ortho, 8 ** -0.5)
    sums = {"noise": blocks((1 - rho) / rho, valid & ~filled), "steep": blocks(steep, np.isfinite(steep)),
            "rise": blocks(rise, np.isfinite(rise)), "grey": blocks(ortho, np.isfinite(ortho)),
            "square": blocks(ortho * ortho, np.isfinite(ortho))}
    for lag in LAGS:
        bend = np.full((2,) + h.shape, np.nan)
        bend[0, :, lag:-lag] = h[:, 2 * lag:] - 2 * h[:, lag:-lag] + h[:, :-2 * lag]
        bend[1, lag:-lag] = h[2 * lag:] - 2 * h[lag:-lag] + h[:-2 * lag]
        parts = [blocks((b / per_px) ** 2, np.isfinite(b)) for b in bend]
        sums[lag] = [parts[0][k] + parts[1][k] for k in range(2)]
    logs, slope = {}, {}
    for half in (NEAR, FAR):
        variance = np.maximum(mean(sums["square"], half) - mean(sums["grey"], half) ** 2, 0)
        means = [mean(sums["noise"], half), (variance + 0.01) / (mean(sums["rise"], half) + 0.01)]
        logs[half] = np.stack([0.5 * np.log(m + a * a) for m, a in zip(means + [mean(sums[k], half) for k in LAGS], ADDED)], -1)
        slope[half] = np.sqrt(np.minimum(mean(sums["steep"], half), 3))
    truth = on(like, os.path.join(source, "truth.tif"), "average" if cell > 45 else "bilinear")
    land = (on(like, os.path.join(source, "class.tif"), "near") == 1) & np.isfinite(h - truth) & ~filled & np.isfinite(steep)
    land &= ndimage.binary_erosion(np.isfinite(truth), iterations=3)
    error, true_slope = shifted(h - truth, truth, land, cell)
    return dict(logs=logs, slope=slope, place=np.nonzero(land), error=np.abs(error[land]) / per_px, per_px=per_px,
                true=np.degrees(np.arctan(true_slope[land])), own=np.minimum(np.sqrt(steep[land]), 1.7),
                q=np.log(np.clip(cell / scene["ground_sample_distance_m"], 1.2, 6) / 2),
                dense=window(sums["noise"], FAR)[1] > 0.5 * (SIDE * (2 * FAR + 1)) ** 2)


def terms(d, limits, pick):
    """A row for each cell picked: those of the formula for cells of two ground sample distances, and the others."""
    low, high, middle = limits
    b = np.clip(d["logs"][FAR], low, high) - middle
    near = np.clip(d["logs"][NEAR] - d["logs"][FAR], -1, 1)[..., :3]
    t, far_t = d["slope"][NEAR], d["slope"][FAR]
    n = b.shape[-1]
    f = [np.ones_like(t)] + [b[..., i] for i in range(n)] + [b[..., i] * b[..., j] for i in range(n) for j in range(i, n)]
    f += [near[..., i] for i in range(3)] + [near[..., i] ** 2 for i in range(3)]
    f += [t, t * t, far_t, t * b[..., 2], t * b[..., 0]]
    at = [(d["place"][k][pick] + 0.5) / SIDE - 0.5 for k in range(2)]
    x = np.stack([ndimage.map_coordinates(a, at, order=1, mode="nearest") for a in f + [t]], -1)
    z = d["own"][pick] - x[:, -1]
    x = np.concatenate([x[:, :-1], np.stack([z, z * z, z * x[:, -1]], -1)], -1)
    return x, d["q"] * np.concatenate([np.ones((len(x), 1)), np.full((len(x), 1), d["q"]), x[:, 1:1 + n]], -1)


def fit(x, y, centred):
    """Coefficients whose product with x is the QUANTILE of y (least absolute deviations, by reweighting)."""
    mu, sd = x.mean(0) * centred, x.std(0)
    constant = sd < 1e-12
    z = (x - np.where(constant, 0, mu)) / np.where(constant, 1, sd)
    ridge, b = 1e-4 * len(y) * np.diag(~constant).astype(float), np.zeros(x.shape[1])
    for _ in range(60):
        r = y - z @ b
        w = np.where(r > 0, QUANTILE, 1 - QUANTILE) / np.maximum(np.abs(r), 0.03)
        b = np.linalg.solve((z * w[:, None]).T @ z + ridge, (z * w[:, None]).T @ y)
    b = b / np.where(constant, 1, sd)
    b[0] -= (b * np.where(constant, 0, mu)).sum()
    return b


def choose(d, rng):
    """Cells, some from each class of slope."""
    out, kind = [rng.choice(len(d["error"]), min(SAMPLES, len(d["error"])), False)], np.digitize(d["true"], SLOPES)
    for k in range(len(SLOPES) + 1):
        cells = np.nonzero(kind == k)[0]
        if len(cells) > 300:
            out.append(rng.choice(cells, min(700, len(cells)), False))
    return np.concatenate(out)


def learn(scenes):
    rng = np.random.default_rng(1)
    usual = [d for d in scenes if abs(d["q"]) < 0.05]
    every = np.concatenate([d["logs"][FAR][d["dense"]][::7] for d in usual])
    limits = [np.round(v, 2) for v in (np.quantile(every, 0.002, 0), np.quantile(every, 0.998, 0), np.median(every, 0))]
    picked = [(d, choose(d, rng)) for d in usual]
    log_error = lambda d, i: np.log(np.maximum(d["error"][i], 1e-3))
    first = fit(np.concatenate([terms(d, limits, i)[0] for d, i in picked]),
                np.concatenate([log_error(d, i) for d, i in picked]), 1)
    rows, left = [], []
    for d, i in [(d, choose(d, rng)) for d in scenes if abs(d["q"]) >= 0.05] + picked[::3]:
        x, more = terms(d, limits, i)
        rows.append(more)
        left.append(log_error(d, i) - x @ first)
    x, y = np.concatenate(rows), np.concatenate(left)
    return limits, first, fit(x, y, 0)


def judge(name, d, model):
    limits, first, second = model
    x, more = terms(d, limits, slice(None))
    s = np.exp(x @ first + more @ second)
    inside, kind = d["error"] <= s, np.digitize(d["true"], SLOPES)
    by = ["%.0f" % (100 * inside[i].mean()) for i in np.array_split(np.argsort(s, kind="stable"), 8)]
    slopes = ["%.0f" % (100 * inside[kind == k].mean()) if (kind == k).sum() > 300 else "-" for k in range(len(SLOPES) + 1)]
    print("%8s %5.1f %%  median %.2f m  by prediction %s  by slope %s" % (
        name, 100 * inside.mean(), np.median(s) * d["per_px"], " ".join(by), " ".join(slopes)), flush=True)


def show(model):
    limits, c, q = model
    line = lambda name, values: print("%s = {%s};" % (name, ", ".join("%.4g" % v for v in values)))
    for name, values in zip(("LOWEST", "HIGHEST", "TYPICAL"), limits):
        line(name, values)
    for name, a, b in (("CONSTANT", 0, 1), ("LINEAR", 1, 6), ("SQUARE", 6, 21), ("NEAR", 21, 24), ("NEAR_SQUARE", 24, 27)):
        line(name, c[a:b])
    line("MORE", list(c[27:32]) + list(q[:2]))
    line("BY_CELL", q[2:])
    line("OWN_SLOPE", c[32:])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--test", action="store_true")
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    if not os.path.exists(os.path.join(a.folder, "fine.tif")):
        make_fine(os.path.join(a.folder, "fine.tif"))
    scenes = {}
    for name, (scene, options, tr) in scene_list(a.folder).items():
        scenes[name] = measure(*make(os.path.abspath(a.program), a.folder, name, scene, options, tr))
    names = list(scenes)
    model = learn([scenes[n] for n in (names[::2] if a.test else names)])
    for n in (names[1::2] if a.test else names):
        judge(n, scenes[n], model)
    show(model)


main()
