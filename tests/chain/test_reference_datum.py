#!/usr/bin/python3
# run --reference with references as people have them: tiles of GLO-30 without a vertical CRS, heights above another datum
# than was taken, small voids; and what was asked for and not done is a doubt, with --strict exit code 1.
# test_reference_datum.py [STEREODEM]     exits 77 when GDAL's programs are missing
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random

import harness as t
from with_gdal import gdal, np, put

LON, LAT, UNDULATION = 37.4, 50.0, 12.0  # EGM96 and EGM2008 there
EAST, NORTH = 12.0, -9.0                 # of the references against the truth
for name in ("gdal_translate", "gdalwarp", "gdalbuildvrt", "gdalinfo"):
    t.tool(name)
work = t.work
scene = t.simulate(os.path.join(work, "scene"), "--width", 560, "--height", 640, "--lon", LON, "--lat", LAT, "--seed", 5,
                   "--pointing-along", 0.05, "--pointing-across", 1.2)
truth = os.path.join(scene, "truth.tif")
source = gdal.Open(truth)
srs, w, h, g = source.GetProjection(), source.RasterXSize, source.RasterYSize, source.GetGeoTransform()
heights = source.ReadAsArray().astype(float)


def write(name, up, crs=srs, voids=0.0):
    """The truth moved, as a GeoTIFF; with that share of its cells in voids of 3 x 3."""
    values, rng = np.where(heights == -9999, heights, heights + up), random.Random(7)
    for _ in range(int(voids / 9 * w * h)):
        c, r = rng.randrange(w - 2), rng.randrange(h - 2)
        values[r:r + 3, c:c + 3] = -9999
    return put(os.path.join(work, name + ".tif"), values, g[0] + EAST, g[3] + NORTH, g[1], crs)


def in_degrees(source, name, *options):
    out = os.path.join(work, name)
    t.call(["gdalwarp", "-q", "-overwrite", "-t_srs", "EPSG:4326", "-tr", 1 / 3600, 1 / 3600, "-tap", "-r", "bilinear"] +
           list(options) + [source, out])
    return out


dem = os.path.join(work, "dem.tif")


def run(reference, *options):
    """Exit code, summary, report, what was said."""
    done = t.call([t.PROGRAM, "run", scene, "-o", dem, "--overwrite", "--optimizer", "local", "--cost", "zncc", "--log", "json",
                   "--reference", reference] + list(options), quiet=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    report = t.parsed(t.companion(dem, ".json"))
    return done.returncode, events[-1], report, " ".join(e.get("message", "") for e in events)


plain = os.path.join(work, "plain.tif")
t.run([scene], plain)
unchanged = t.digest(plain)
used = ("fitted", "shift")
above_geoid = write("above_geoid", -UNDULATION)
on_truth = write("on_truth", 0.0)

# README's step as typed: tiles that have EPSG:4326 and nothing else, as a VRT
middle = LON
for at, side in (("E036", ("-te", LON - 1, LAT - 1, middle, LAT + 1)), ("E037", ("-te", middle, LAT - 1, LON + 1, LAT + 1))):
    in_degrees(above_geoid, "Copernicus_DSM_COG_10_N50_00_%s_00_DEM.tif" % at, "-dstnodata", -9999, *side)
vrt = os.path.join(work, "mosaic.vrt")
t.call(["gdalbuildvrt", "-q", vrt] + [os.path.join(work, "Copernicus_DSM_COG_10_N50_00_%s_00_DEM.tif" % at) for at in ("E036", "E037")])
tile = in_degrees(above_geoid, "tile.tif")
whole = in_degrees(above_geoid, "whole.tif", "-ot", "Int16", "-dstnodata", -32768)
for path, name, sign in ((vrt, "EGM2008", "Copernicus DEM"), (tile, "EGM2008", "nothing tells its datum"),
                         (whole, "EGM96", "whole numbers")):
    code, summary, report, said = run(path, "--strict")
    found, off = report["reference"], t.compare(dem, truth)["raw"]["bias"]
    t.expect(code == 0 and found["state"] in used and summary["doubts"] == [],
             "%s: %s, doubts %s" % (os.path.basename(path), found["state"], summary.get("doubts")))
    t.expect(found["datum"].startswith(name) and sign in found["datum"] and found["datum"] in said, "it says: " + found["datum"])
    t.expect(abs(off) < 0.8 and os.path.exists(t.companion(dem, "_change.tif")), "the DEM lies %.2f m above the truth" % off)

# heights that are above another datum than was taken end the fit; the files are written all the same
named = os.path.join(work, "srtm_utm.tif")
t.call(["gdal_translate", "-q", on_truth, named])
for path, right in ((above_geoid, "egm96 or egm2008"), (named, "ellipsoid")):
    code, summary, report, said = run(path, "--strict")
    found = report["reference"]
    t.expect(code == 1 and summary["exit_code"] == 1 and found["state"] == "refused",
             "%s: code %d, %s" % (os.path.basename(path), code, found["reason"]))
    t.expect("--reference-vertical: " + right in found["reason"], "it names %s" % right)
    t.expect(any(found["reason"] in v for v in summary["doubts"]) and summary["doubts"] == report["trust"]["warnings"]
             and "--strict" in said, "it is a doubt in summary and report")
    t.expect(t.digest(dem) == unchanged, "the DEM is that without a reference")
code, summary, _, _ = run(named)
t.expect(code == 0 and summary["doubts"], "without --strict the doubt is told alone")
code, summary, report, _ = run(above_geoid, "--reference-vertical", "egm2008", "--strict")
t.expect(code == 0 and report["reference"]["state"] in used and not summary["doubts"], "the right datum is fitted")
code, summary, report, _ = run(above_geoid, "--reference-vertical", "ellipsoid", "--strict")
t.expect(code == 1 and report["reference"]["state"] in used and "geoid" in summary["doubts"][0],
         "a wrong one that was given is fitted, with a doubt: %s" % summary["doubts"])
code, summary, report, _ = run(write("high", 24.0))
question = report["reference"]["question"]
t.expect("usually stay within 16." in question and question in summary["doubts"][0], "24 m: " + question)

# tile tells the doubts of what it prepares, merge those of its DEMs, also of those that were merged before
job = os.path.join(work, "job")
t.call([t.PROGRAM, "plan", scene, "-o", job, "--reference", above_geoid, "--quiet"])
tiled = t.call([t.PROGRAM, "tile", job, "0", "--strict", "--quiet"], quiet=True)
t.expect(tiled.returncode == 1 and "--strict" in tiled.stderr and "wrong datum" in tiled.stderr, "tile: " + tiled.stderr.strip()[:90])
for options, code in ((["--strict"], 1), (["--strict"], 1), ([], 0)):
    merged = t.call([t.PROGRAM, "merge", job, "--quiet"] + options, quiet=True)
    t.expect(merged.returncode == code and ("1 of 1 DEMs are doubtful" in merged.stderr) == (code == 1),
             "merge: %d, %s" % (merged.returncode, merged.stderr.strip()[:90]))
t.expect(len([n for n in os.listdir(os.path.join(job, "dem")) if n.endswith(".tif")]) >= 3, "its files are there")

# a datum that cannot be converted is refused before any work
for path, what in ((write("national", 0.0, "EPSG:25832+5783"), "DHHN92"), (write("USGS_13_n50", 0.0), "NAVD 88")):
    done = t.call([t.PROGRAM, "run", scene, "-o", os.path.join(work, "none.tif"), "--reference", path, "--quiet"], quiet=True)
    if what == "DHHN92" and done.returncode == 0:
        continue  # PROJ has the grid here
    t.expect(done.returncode == 1 and what in done.stderr and "gdalwarp" in done.stderr, done.stderr.strip()[:120])

# 3 x 3 voids on 24 % of the cells
holes = write("holes", 0.0, voids=0.27)
code, _, report, _ = run(holes, "--strict")
found = report["reference"]
t.expect(code == 0 and found["state"] in used and found["share_covered"] > 0.5,
         "voids: heights for %.0f %%" % (100 * found["share_covered"]))
off = t.compare(dem, truth)["raw"]["bias"]
t.expect(abs(off) < 0.8, "the DEM lies %.2f m above the truth" % off)

# voids that are not declared, as 0 and as -32768: the same DEM; longitudes of 0 to 360, and of less than -180
made = []
for void in (-9999, 0, -32768):
    filled, bare = in_degrees(write("few", -UNDULATION, voids=0.05), "filled.tif", "-ot", "Int16", "-dstnodata", void), os.path.join(work, "bare.tif")
    t.call(["gdal_translate", "-q"] + ([] if void == -9999 else ["-a_nodata", "none"]) + [filled, bare])
    code, _, report, said = run(bare, "--strict")
    made.append(t.digest(dem))
    t.expect(code == 0 and report["reference"]["state"] in used and ("cells of %d are taken as voids" % void in said) == (void != -9999),
             "voids of %d: %s" % (void, report["reference"]["state"]))
t.expect(made[1] == made[0] and made[2] == made[0], "they are left out as declared ones are")
place = json.loads(t.call(["gdalinfo", "-json", tile]).stdout)
made = []
for turn in (0, 360, -360):
    moved, ((x, y), (x1, y1)) = os.path.join(work, "turned.tif"), [place["cornerCoordinates"][k] for k in ("upperLeft", "lowerRight")]
    t.call(["gdal_translate", "-q", "-a_ullr", x + turn, y, x1 + turn, y1, tile, moved])
    code, _, report, _ = run(moved, "--strict")
    made.append((code, [round(v, 3) for v in report["reference"]["apply_m"]]))
t.expect(made[0] == made[1] == made[2] and made[0][0] == 0, "longitudes: %s" % made)

# compare and stack know the datum, too; the prior DEM's is in the report
result = t.compare(plain, vrt)
off = result["raw"]["bias"] - t.compare(plain, on_truth)["raw"]["bias"]
t.expect("EGM2008" in json.dumps(result) and abs(off) < 0.7, "compare: bias %.2f m" % result["raw"]["bias"])
pile = os.path.join(work, "pile.tif")
done = t.call([t.PROGRAM, "stack", plain, vrt, "-o", pile], quiet=True)
t.expect(done.returncode == 0 and "EGM2008" in done.stderr, "stack: " + done.stderr.strip()[-80:])
t.expect(t.run([scene], dem, "--dem", tile), "a prior DEM")
prior = t.parsed(t.companion(dem, ".json"))["scene"]["prior_dem"]
t.expect(prior["datum"].startswith("EGM2008") and prior["share_covered"] > 0.5, "prior: %s" % prior)

# both geoids on every machine; the report says where they are from
for datum in ("egm96", "egm2008"):
    t.expect(t.run([scene], dem, "--vertical", datum), "heights above " + datum)
    grid = t.parsed(t.companion(dem, ".json"))["grid"]
    off = t.compare(dem, truth, "--dem-vertical", "ellipsoid")["raw"]["bias"] - t.compare(plain, truth)["raw"]["bias"]
    t.expect("grid" in grid["geoid_from"] and abs(off + UNDULATION) < 0.7, "%.2f m by %s" % (off, grid["geoid_from"]))
t.finish()
