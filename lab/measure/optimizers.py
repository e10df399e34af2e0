#!/usr/bin/python3
# Which optimizer and cost make the better DEM: every sample with every pair of them; rows of tests/results.csv, a table
# and maps of the errors in lab/notebook.  optimizers.py [STEREODEM].
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(SOURCE, "..", "shared", "data")
sys.path.insert(0, os.path.join(SOURCE, "tests", "chain"))
program = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(SOURCE, "build", "release", "stereodem")
OPTIMIZERS, COSTS = ("local", "sgm"), ("zncc", "census")
PANEL = 240  # cells of a map's side

# name, images, options, reference, classes, metres from which an error is gross, end of the maps' scale in metres
SAMPLES = (
    ("aster_full", ["AST_L1A_00401012001180022_sim.hdf"], [], "truth.tif", "class.tif", 30.0, 20.0),
    ("aster_small", ["AST_L1A_00401012001180005_sim.hdf"], [], "truth.tif", "class.tif", 30.0, 20.0),
    ("pleiades_reunion", ["img_01.tif", "img_02.tif"], ["--tr", "0.5"], "dsm_s2p.tif", None, 5.0, 3.0),
    ("turkey_pre", ["adjusted_1.tif", "adjusted_2.tif"], ["--tr", "0.6", "--vertical", "egm96"], "dsm_cars.tif", None, 5.0, 3.0),
    ("giza", ["gizeh_1.tif", "gizeh_2.tif"], ["--tr", "1"], None, None, 5.0, 3.0),
)


def run(words):
    """Processor seconds and peak resident MiB of a command that must succeed."""
    code = ("import resource,subprocess,sys\nc=subprocess.run(sys.argv[1:]).returncode\n"
            "u=resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(u.ru_utime+u.ru_stime,u.ru_maxrss/1024)\nsys.exit(c)")
    done = subprocess.run([sys.executable, "-c", code] + words, stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def heights(path):
    raster = gdal.Open(path)
    h = raster.ReadAsArray().astype(np.float64)
    h[h == raster.GetRasterBand(1).GetNoDataValue()] = np.nan
    return h, raster


def reference_on(dem, path, shift):
    """The reference, moved by `shift` (east, north, up; m) so that it lies as the DEM does, on the DEM's cells."""
    gt = list(dem.GetGeoTransform())
    west, north = gt[0] + shift[0], gt[3] + shift[1]
    on = gdal.Warp("", path, format="MEM", dstSRS=dem.GetProjection(), xRes=gt[1], yRes=-gt[5], resampleAlg="bilinear",
                   outputBounds=(west, north + gt[5] * dem.RasterYSize, west + gt[1] * dem.RasterXSize, north),
                   dstNodata=float("nan"), outputType=gdal.GDT_Float64)
    return on.ReadAsArray() + shift[2]


def classes_on(dem, path):
    gt = dem.GetGeoTransform()
    on = gdal.Warp("", path, format="MEM", dstSRS=dem.GetProjection(), xRes=gt[1], yRes=-gt[5], resampleAlg="near",
                   outputBounds=(gt[0], gt[3] + gt[5] * dem.RasterYSize, gt[0] + gt[1] * dem.RasterXSize, gt[3]))
    return on.ReadAsArray()


def blurred(h, sigma):
    """Gaussian of sigma cells, over the cells that there are."""
    if sigma <= 0:
        return h
    reach = int(np.ceil(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    there = np.isfinite(h).astype(np.float64)
    value = np.where(there > 0, h, 0.0)
    for axis in (0, 1):
        moved = [np.roll(value, k, axis) for k in range(-reach, reach + 1)], [np.roll(there, k, axis) for k in range(-reach, reach + 1)]
        value, there = (sum(w * m for w, m in zip(kernel, part)) for part in moved)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isfinite(h), value / there, np.nan)


def edge_blur(h, truth, land, cell_m):
    """How sharp edges are: the sigma in metres of the Gaussian by which the reference is nearest to the DEM over the 2 %
    of cells where the reference bends most."""
    bend = np.abs(4 * truth - sum(np.roll(truth, k, a) for k in (1, -1) for a in (0, 1)))
    usable = land & np.isfinite(h) & np.isfinite(bend)
    edges = usable & (bend >= np.percentile(bend[usable], 98))
    off = []
    for sigma in np.arange(0.0, 3.01, 0.25):  # cells
        e = (h - blurred(truth, sigma))[edges]
        e = e[np.isfinite(e)]
        off.append(np.mean(np.minimum(np.abs(e - np.median(e)), 5 * cell_m)))
    k = int(np.argmin(off))
    at = 0.25 * k
    if 0 < k < len(off) - 1:
        at += 0.125 * (off[k - 1] - off[k + 1]) / (off[k - 1] - 2 * off[k] + off[k + 1])
    return at * cell_m


def paint(error, end):
    """Errors as colours: blue too low, white right, red too high; grey where there is none."""
    t = np.clip(np.nan_to_num(error / end), -1, 1)
    red, blue = np.where(t < 0, 1 + t, 1), np.where(t > 0, 1 - t, 1)
    picture = np.stack([red, 1 - np.abs(t), blue])
    picture[:, ~np.isfinite(error)] = 0.55
    return (255 * picture).astype(np.uint8)


def middle(a):
    y, x = max(0, (a.shape[0] - PANEL) // 2), max(0, (a.shape[1] - PANEL) // 2)
    part = np.full((PANEL, PANEL), np.nan)
    found = a[y:y + PANEL, x:x + PANEL]
    part[:found.shape[0], :found.shape[1]] = found
    return part


def write_png(path, picture):
    memory = gdal.GetDriverByName("MEM").Create("", picture.shape[2], picture.shape[1], 3)
    for i in range(3):
        memory.GetRasterBand(i + 1).WriteArray(picture[i])
    gdal.GetDriverByName("PNG").CreateCopy(path, memory, options=["ZLEVEL=9"])
    if os.path.exists(path + ".aux.xml"):
        os.remove(path + ".aux.xml")


def judged(name, dem, reference, classes, gross):
    """Figures of a DEM against its reference after alignment, and its errors as an array."""
    folder = os.path.join(DATA, name)
    words = [program, "compare", dem, os.path.join(folder, reference), "--json"]
    words += ["--class", os.path.join(folder, classes)] if classes else []
    f = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    h, raster = heights(dem)
    truth = reference_on(raster, os.path.join(folder, reference), f["apply_m"][:2] + [-f["apply_m"][2]])
    land = classes_on(raster, os.path.join(folder, classes)) == 1 if classes else np.isfinite(truth)
    error = np.where(land, h - truth, np.nan)
    there = np.isfinite(error)
    best = f["aligned"]
    return {"coverage_pct": "%.2f" % (100 * f["coverage"]), "bias_m": "%.3f" % f["raw"]["bias"],
            "raw_nmad_m": "%.3f" % f["raw"]["nmad"], "nmad_m": "%.3f" % best["nmad"], "rmse_m": "%.3f" % best["rmse"],
            "le90_m": "%.3f" % best["le90"], "over30_pct": "%.3f" % (100 * best["over30"]),
            "over5_pct": "%.3f" % (100 * np.mean(np.abs(error[there]) > 5)),
            "gross": 100 * np.mean(np.abs(error[there]) > gross),
            "cloud_wrong30_pct": cloud_share(f), "edge_m": "%.2f" % edge_blur(h, truth, land, abs(raster.GetGeoTransform()[1]))}, error


def cloud_share(f):
    cloud = f.get("cloud")
    return "%.2f" % (100 * cloud["filled"] * cloud["over30"]) if cloud and cloud.get("cells") else ""


def main():
    rows, lines = [], []
    with tempfile.TemporaryDirectory(prefix="sdm_optimizers_") as work:
        for name, images, options, reference, classes, gross, end in SAMPLES:
            files = [os.path.join(DATA, name, i) for i in images]
            if not all(os.path.exists(f) for f in files):
                print("no %s: left out" % name)
                continue
            maps = []
            for cost in COSTS:
                for optimizer in OPTIMIZERS:
                    dem = os.path.join(work, "dem.tif")
                    setting = ["--cost", cost, "--optimizer", optimizer] + options
                    seconds, peak = run([program, "run"] + files + ["-o", dem, "--overwrite", "-q"] + setting)
                    row = {"sample": name, "setting": " ".join(setting), "cpu_seconds": "%.1f" % seconds, "peak_mib": "%.0f" % peak}
                    if reference:
                        figures, error = judged(name, dem, reference, classes, gross)
                        maps.append(middle(error))
                        share = figures.pop("gross")
                        row.update(figures)
                        told = [row["coverage_pct"] + " %", row["nmad_m"], row["rmse_m"], "%.3f %%" % share, row["edge_m"]]
                    else:
                        import faces
                        found = faces.fit(dem)
                        row["note"] = "faces " + faces.words(found)
                        lit = [found[n] for n in ("east", "west", "south")]
                        told = ["%.1f %%" % (100 * min(f["filled"] for f in lit)), " / ".join("%.2f" % f["nmad_m"] for f in lit), "",
                                "", " / ".join("%.1f deg" % f["slope_deg"] for f in lit)]
                    rows.append(row)
                    lines.append("| %s | %s %s | %s | %.1f s | %.0f MiB |" % (name, optimizer, cost, " | ".join(told), seconds, peak))
                    print(lines[-1], flush=True)
            if maps:
                n = len(OPTIMIZERS)
                gap = np.full((PANEL, 4), np.nan)
                strips = [np.hstack(sum(([m, gap] for m in maps[i:i + n]), [])[:-1]) for i in range(0, len(maps), n)]
                line = np.full((4, strips[0].shape[1]), np.nan)
                write_png(os.path.join(SOURCE, "docs", "images", "errors_%s.png" % name), paint(np.vstack([strips[0], line, strips[1]]), end))
    if not rows:
        print("SKIPPED: no samples")
        sys.exit(77)
    keep_rows(rows)
    keep_table(lines)


def keep_rows(rows):
    """Into tests/results.csv, in the place of the rows of the same samples and settings."""
    path = os.path.join(SOURCE, "tests", "results.csv")
    with open(path, newline="") as f:
        reader = csv.DictReader(f)
        kept, fields = list(reader), list(reader.fieldnames)
    mine = {(r["sample"], r["setting"]) for r in rows}
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows([r for r in kept if (r["sample"], r["setting"]) not in mine] + rows)


def keep_table(lines):
    """lab/notebook/optimizers.txt."""
    head = ["| sample | optimizer, cost | coverage | NMAD (m) | RMSE (m) | gross | edges (m) | processor | peak |", "|" + " --- |" * 9]
    with open(os.path.join(SOURCE, "lab", "notebook", "optimizers.txt"), "w") as f:
        f.write("\n".join(head + lines) + "\n")


main()
