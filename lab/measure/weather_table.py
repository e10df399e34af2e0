#!/usr/bin/python3
# How much of the ground `run` finds under clouds, and how much of its heights is cloud, on scenes that are drawn by seed.
# weather_table.py PROGRAM [--scenes N] [--first SEED] [--largest PX] [-- OPTION ...]   options behind -- go to `run`
# Seen: ground that neither terrain nor clouds hide from either view.  Found: of it, cells with a height within 100 m of the
# truth; inner: the same of cells that a window of 9 pixels sees without hidden ground.  Cloud: of all heights, those more than 100 m above it.
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

from scipy import ndimage

from height_error_fit import FULL
from with_gdal import gdal, heights, nmad, np, on_grid_of, osr

NATURAL, KINDS = os.path.join(FULL, "truth.tif"), ("patches", "broken", "cirrus", "layers")
FAR_M = 100.0  # from the truth: not its height
FOUND, CLOUD = 95.0, 0.5  # aims, %


def natural_place(rng, half_m):
    """Options for natural terrain around a random place; the middle where the scene is as large as the terrain."""
    source = gdal.Open(NATURAL)
    g, size = source.GetGeoTransform(), (source.RasterXSize, source.RasterYSize)
    room = [max(0.0, 0.3 * n * g[1] - half_m) for n in size]  # its corners are empty
    x, y = (g[3 * a] + 0.5 * size[a] * g[1 + 4 * a] + rng.uniform(-room[a], room[a]) for a in (0, 1))
    there = osr.SpatialReference(source.GetProjection())
    degrees = osr.SpatialReference()
    degrees.ImportFromEPSG(4326)
    degrees.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    lon, lat, _ = osr.CoordinateTransformation(there, degrees).TransformPoint(x, y)
    return ["--terrain", NATURAL, "--lon", "%.4f" % lon, "--lat", "%.4f" % lat]


def draw(seed, largest):
    """Name of a scene, and its options."""
    rng, kind = random.Random(seed), KINDS[seed % 4]
    width = round(500 * (largest / 500) ** rng.random())
    height = min(max(500, round(width * rng.uniform(0.8, 1.25))), largest)
    share, natural = round(rng.uniform(0.1, 0.8), 2), seed // 4 % 2 == 1 and os.path.exists(NATURAL)
    relief = rng.choice([100, 300, 600, 1200, 2500])
    words = natural_place(rng, 7.5 * max(width, height)) if natural else ["--relief", relief, "--lon", 7, "--lat", 45]
    words += ["--width", width, "--height", height, "--seed", seed, "--cloud", share, "--cloud-kind", kind]
    for name, low, high in (("pointing-across", -2, 2), ("pointing-along", -0.5, 0.5), ("noise", 0.5, 2), ("texture", 8, 20),
                            ("roll", -8, 8)):
        words += ["--" + name, "%.2f" % rng.uniform(low, high)]
    return (seed, "%d x %d" % (width, height), "natural" if natural else "%d m" % relief, kind, share), [str(w) for w in words]


def run(program, scene, dem, options):
    """'' or the sentence of a refusal."""
    images = glob.glob(os.path.join(scene, "*ImageData.tif"))
    assert len(images) == 2, scene
    done = subprocess.run([program, "run", scene, "-o", dem, "--quiet", "--overwrite"] + options, stderr=subprocess.PIPE, text=True)
    said = done.stderr.strip().splitlines()
    why = said[-1].split(": ", 1)[-1].replace(os.path.dirname(scene) + os.sep, "") if said else "exit code %d" % done.returncode
    return "" if done.returncode == 0 else "refused: " + why


def errors(scene, dem):
    """Classes, and heights minus truth, on the grid of the truth."""
    grid, truth = os.path.join(scene, "class.tif"), heights(os.path.join(scene, "truth.tif"))
    off = on_grid_of(dem, grid) - truth if dem else np.full(truth.shape, np.nan)
    return gdal.Open(grid).ReadAsArray(), off


def percent(part, whole):
    return 100.0 * np.count_nonzero(part) / max(1, np.count_nonzero(whole))


def weather(program, seed, largest, options):
    """Draw, run and judge one scene."""
    what, words = draw(seed, largest)
    with tempfile.TemporaryDirectory() as work:
        scene, dem = os.path.join(work, "scene"), os.path.join(work, "dem.tif")
        subprocess.run([program + "-lab", "simulate", "-o", scene, "--quiet", "--reference", "30"] + words, check=True)
        said = run(program, scene, dem, options + [os.path.join(scene, "reference.tif")] * (options[-1:] == ["--dem"]))
        kind, off = errors(scene, None if said else dem)
        if not said:
            with open(os.path.join(work, "dem.json"), encoding="utf-8") as f:
                said = "; ".join(json.load(f)["trust"]["warnings"])
    ground, has = (kind == 1) | (kind == 2), np.isfinite(off)
    right = np.abs(np.where(has, off, np.inf)) <= FAR_M
    inner = ndimage.binary_erosion(ground, np.ones((3, 3)), iterations=2)
    return what, dict(seen=percent(ground, kind > 0), found=percent(ground & right, ground), inner=percent(inner & right, inner),
                      cloud=percent(off > FAR_M, has), nmad=nmad(off[ground & has]), refused=not has.any(), said=said,
                      cells=np.array([(ground & has).sum(), ground.sum(), (off > FAR_M).sum(), has.sum()]))


def met(r):
    """Does a scene meet its aims?  Where less than 10 % of the ground is seen, ground or a refusal will do."""
    clean = r["cloud"] <= CLOUD
    return clean if r["seen"] < 10.0 else clean and r["found"] >= FOUND


def weather_table(program, a):
    print("seed | size, px | terrain | clouds | seen % | found % | inner % | cloud % | NMAD, m | meets | says")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        seeds = range(a.first, a.first + a.scenes)
        for what, r in two.map(lambda seed: weather(program, seed, a.largest, a.options), seeds):
            rows.append((what[3], r))
            print("%d | %s | %s | %s %.2f" % what, "| %(seen).1f | %(found).1f | %(inner).1f | %(cloud).2f | %(nmad).2f" % r,
                  "|", "yes" if met(r) else "no", "|", r["said"][:160], flush=True)
    for kind in KINDS + ("all",):
        judged = [r for k, r in rows if kind in (k, "all")]
        wide = [r for r in judged if r["seen"] >= 10.0]
        sums = sum((r["cells"] for r in wide), np.zeros(4))
        share = lambda good, of: "%d of %d" % (sum(map(good, of)), len(of))
        print("%-8s found >= %g %%: %s; cloud <= %g %%: %s; refused: %s; less than 10 %% seen, ground or a refusal: %s; meet all: %s" % (
            kind, FOUND, share(lambda r: r["found"] >= FOUND, wide), CLOUD, share(lambda r: r["cloud"] <= CLOUD, wide),
            share(lambda r: r["refused"], wide), share(met, [r for r in judged if r["seen"] < 10.0]), share(met, judged)))
        print("%-8s of their ground %.1f %% has a height, of their heights %.2f %% are cloud" % (
            "", *(100 * sums[k] / max(1, sums[k + 1]) for k in (0, 2))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--largest", type=int, default=4200, metavar="PX")
    parser.add_argument("--dem", action="store_true", help="with a DEM of 30 m as users have it")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    a = parser.parse_args(sys.argv[1:end])
    a.options = sys.argv[end + 1:] + ["--dem"] * a.dem
    weather_table(os.path.abspath(a.program), a)


if __name__ == "__main__":
    main()
