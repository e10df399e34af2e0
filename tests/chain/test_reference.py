#!/usr/bin/python3
# run --reference: the DEM comes to lie on the reference, whatever threads, tiles and commands make it; change since the
# reference stays and is marked; references that do not serve leave the DEM as it is.
# test_reference.py [STEREODEM]     exits 77 when gdal_translate is missing
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import time

import harness as t
from with_gdal import gdal, np, put

EAST, NORTH, UP = 12.0, -9.0, 4.0  # of the reference against the truth
JITTER_PX = 0.15


def read(path):
    """Samples of the first band, with its geotransform's corner and cell."""
    data = gdal.Open(path)
    g = data.GetGeoTransform()
    return data.GetRasterBand(1).ReadAsArray().astype(float), g[0], g[3], g[1]


def write(name, values, *place):
    return put(t.at(name + ".tif"), np.asarray(values, float), *(place or the_place), -9999)


def report(dem):
    return t.parsed(t.companion(dem, ".json"))


def all_of(dem):
    return [t.digest(dem if not end else t.companion(dem, end)) for end in ("", "_qa.tif", "_ortho.tif", "_change.tif")]


t.tool("gdal_translate")
t.tool("gdalinfo")
work = t.work
scene = t.simulate(os.path.join(work, "aster"), "--width", 700, "--height", 900, "--lon", 7, "--lat", 45, "--seed", 3,
                   "--jitter", JITTER_PX, "--pointing-along", 0.3, "--pointing-across", 1.2)
values, x, y, cell = read(os.path.join(scene, "truth.tif"))
h, w = values.shape
srs = gdal.Open(os.path.join(scene, "truth.tif")).GetProjection()
the_place = (x + EAST, y + NORTH, cell, srs)
row, col = np.mgrid[:h, :w]


def part(left, right, top, bottom):
    return (left * w < col) & (col < right * w) & (top * h < row) & (row < bottom * h)


def raised(by):
    return np.where(values == -9999, values, values + by)


changed = part(0.3, 0.5, 0.4, 0.55)  # by 20 m
heights = raised(UP + 20.0 * changed)
reference = write("reference", heights)
plain, dem = os.path.join(work, "plain.tif"), os.path.join(work, "dem.tif")

t.expect(t.run([scene], plain), "the scene runs without a reference")
before = t.compare(plain, os.path.join(scene, "truth.tif"))
t.expect(t.run([scene], dem, "--reference", reference), "and with one")
after = t.compare(dem, os.path.join(scene, "truth.tif"))
print("without: " + t.figures(before))
print("with:    " + t.figures(after))
found = report(dem)["reference"]
print("shift %s, %d waves, %.0f %% masked" % (found["apply_m"], len(found["waves"]), 100 * found["share_masked"]))
t.expect(found["state"] == "fitted" and not found["reason"], "the cameras are fitted")
t.expect(abs(after["raw"]["median"] - UP) < 0.8, "the DEM lies %.2f m above the truth, the reference %.0f m" % (after["raw"]["median"], UP))
t.expect(after["aligned"]["nmad"] < 0.9 * before["aligned"]["nmad"],
         "NMAD %.2f -> %.2f m" % (before["aligned"]["nmad"], after["aligned"]["nmad"]))
t.expect(any(abs(v["wavelength_rows"] - 303.0) < 15.0 and abs(v["amplitude_px"] - JITTER_PX) < 0.05 for v in found["waves"]),
         "a wave of 303 rows and %.2f px is among %s" % (JITTER_PX, [(round(v["wavelength_rows"]), round(v["amplitude_px"], 3)) for v in found["waves"]]))
for key in ("rows", "columns"):
    cv = found["cross_validation"][key]
    t.expect(cv["after_px"] < 0.8 * cv["before_px"], "cross-validation by %s: %.3f -> %.3f px" % (key, cv["before_px"], cv["after_px"]))
t.expect(0.05 < found["correction_error_m"] < 0.6, "the correction's standard error is %.2f m" % found["correction_error_m"])

# what has changed
difference, dx, dy, dcell = read(t.companion(dem, "_change.tif"))
down, along = np.mgrid[:difference.shape[0], :difference.shape[1]] + 0.5
c, r = (dx + along * dcell - the_place[0]) / cell, (the_place[1] - dy + down * dcell) / cell
beyond = np.max([0.3 * w - c, c - 0.5 * w, 0.4 * h - r, r - 0.55 * h], axis=0)  # of the changed part, cells; below 0 inside
inside, outside = (difference[(difference != -9999) & where] for where in (beyond < -3, beyond > 3))
middle = np.median(inside), np.median(outside)
t.expect(abs(middle[1]) < 0.3, "the DEM minus the reference is %.2f m on unchanged ground" % middle[1])
t.expect(abs(middle[0] - middle[1] + 20.0) < 1.0, "and %.2f m where it has changed by -20 m" % middle[0])
t.expect(found["dem"]["used_cells"] > found["dem"]["left_out_cells"] > 0.5 * len(inside), "the mask marks it")

# the same bytes
once = all_of(dem)
other = os.path.join(work, "other.tif")
for more in (["--threads", 1], ["--threads", 3, "--tile", 130], ["--memory", "96M"]):
    t.run([scene], other, "--reference", reference, *more)
    t.expect(all_of(other) == once, "%s gives the same bytes" % " ".join(str(m) for m in more))
job = os.path.join(work, "job")
t.call([t.PROGRAM, "plan", scene, "-o", job, "--reference", reference, "--cost", "zncc", "--memory", "96M", "--tile", 128,
        "--quiet"])
units = t.parsed(os.path.join(job, "plan.json"))["unit_count"]
t.call([t.PROGRAM, "tile", job, "0-%d" % (units - 1), "--quiet"])
t.call([t.PROGRAM, "merge", job, "--quiet"])
made = [os.path.join(root, n) for root, _, names in os.walk(job) for n in names if n.endswith("_change.tif")]
t.expect(len(made) == 1 and all_of(made[0].replace("_change.tif", ".tif")) == once, "plan, tile and merge (%d units) give the same bytes" % units)

devices = json.loads(t.call([t.PROGRAM, "devices", "--log", "json"]).stdout.splitlines()[-1])["devices"]
for device in [d["device"] for d in devices if d["can_run"] and d["rounds_as_processor"]]:
    t.run([scene], other, "--reference", reference, "--device", device, "--tile", 200)
    t.expect(all_of(other) == once, "%s gives the same bytes" % device)

# killed, and asked for again: the preparation with the reference and the blocks that were done are used
words = [t.PROGRAM, "run", scene, "-o", os.path.join(work, "stopped.tif"), "--reference", reference, "--optimizer", "local",
         "--cost", "zncc", "--tile", "128", "--threads", "1"]
kept = os.path.join(work, "stopped.tif.job")
for blocks in (0, 2):
    process = subprocess.Popen([str(v) for v in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        names = os.listdir(kept) if os.path.isdir(kept) else []
        if any(n.startswith("scene_") and n.endswith(".sdm") for n in names) and sum(n.startswith("unit_") and n.endswith(".sdm") for n in names) >= blocks:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    names = os.listdir(kept) if os.path.isdir(kept) else []
    t.expect(process.returncode == -signal.SIGKILL and any(n.startswith("scene_") and n.endswith(".sdm") for n in names), "killed with %d files of work" % len(names))
done = t.call(words + ["--verbose"])
t.expect(all_of(words[4]) == once, "the same bytes after being killed twice")
t.expect(report(words[4])["reference"]["apply_m"] == found["apply_m"], "and the same report of the reference")
t.expect("waves, " not in done.stderr, "without a second fit")

# references that do not serve
unchanged = [t.digest(plain), t.digest(t.companion(plain, "_qa.tif"))]
void = np.full((h, w), -9999.0)
one = np.where((row == h // 2) & (col == w // 2), heights, void)
bad = {"void": write("void", void), "nan": write("nan", void * np.nan), "one cell": write("one", one), "upside down": write("flip", heights[::-1]),
       "elsewhere": write("away", heights, x + 3e5, y, cell, srs), "200 m away": write("near", heights, x + 150, y + 150, cell, srs),
       "300 m above": write("above", np.where(heights == -9999, -9999, heights + 300)), "in degrees": write("degrees", heights, x, y, cell, "EPSG:4326")}
for name, path in bad.items():
    good = t.run([scene], other, "--reference", path)
    said = report(other)["reference"] if good else {}
    same = good and [t.digest(other), t.digest(t.companion(other, "_qa.tif"))] == unchanged
    t.expect(same and said["state"] == "refused" and said["reason"], "%s: %s" % (name, said.get("reason")))
    t.expect(not os.path.exists(t.companion(other, "_change.tif")), "%s: no change raster" % name)
# heights that may be of another datum: 45 m cannot be told from an error of pointing, but is asked for; 80 m and the
# undulation (53 m) can
t.expect(found["question"] == "", "nothing is asked of a good reference: " + found["question"])
for up, state, key in ((45, "fitted", "question"), (-53, "refused", "reason"), (-80, "refused", "reason")):
    path = write("up_%d" % abs(up), np.where(heights == -9999, -9999, heights + up))
    done = t.call([t.PROGRAM, "run", scene, "-o", other, "--overwrite", "--cost", "zncc", "--reference", path])
    said = report(other)["reference"]
    t.expect(said["state"] == state and "--reference-vertical" in said[key] and said[key] in done.stderr, "%d m: %s" % (up, said[key]))
# files that are of no use are told before anything else is done, by plan, too; those cut short before anything is matched
def told(*options):
    """Exit code, sentence, and the progress before it."""
    done = t.call([t.PROGRAM, "run", scene, "-o", other, "--overwrite", "--log", "json"] + list(options), quiet=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return (done.returncode, [e["message"] for e in events if e["event"] == "error"],
            [(e["stage_name"], e["done"]) for e in events if e["event"] == "progress"])


flat, cut = os.path.join(work, "flat.asc"), os.path.join(work, "cut.tif")
t.put_text(flat, "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4\n")
with open(reference, "rb") as f, open(cut, "wb") as to:
    content = f.read()
    to.write(content[:len(content) * 6 // 10])
nowhere = os.path.join(work, "nowhere.tif")
for name, path, what in (("no file", nowhere, "cannot be opened as a raster"), ("no raster", __file__, "cannot be opened as a raster"),
                         ("no georeference", flat, "has no coordinate reference system; give a DEM with a CRS")):
    code, said, progress = told("--reference", path)
    t.expect(code == 1 and len(said) == 1 and said[0].startswith("--reference %s %s" % (path, what)), "%s: %s" % (name, said))
    t.expect(progress == [], "%s: told before %s" % (name, progress[:1]))
    t.refused(1, said[0], "plan", scene, "-o", t.at("none.job"), "--reference", path)
code, said, progress = told("--reference", reference, "--reference-mask", nowhere)
t.expect(code == 1 and said[0].startswith("--reference-mask %s cannot be opened" % nowhere) and not progress, "no mask: %s" % said)
code, said, progress = told("--reference", cut)
t.expect(code == 1 and "cannot be read where the scene lies" in said[0] and "cut short" in said[0], "cut short: %s" % said)
t.expect(all(share < 0.05 for _, share in progress), "cut short: told after %s" % progress[-1:])
t.refused(2, "--reference-mask", "run", scene, "-o", other, "--overwrite", "-q", "--reference-mask", reference)

# voids of a reference as nodata, by the file's mask and by an alpha band: the same DEM and the same change; compare and
# stack read the same heights
def with_opacity(name, *options):
    """The reference with a void of zeros, as two bands: heights and opacity."""
    out, known = os.path.join(work, name + ".tif"), voids != -9999
    base = put(t.at(name + "_two.tif"), [np.where(known, voids, 0.0), 255.0 * known], *the_place, None)
    t.call(["gdal_translate", "-q"] + list(options) + [base, out])
    return out


voids = np.where(col < 0.4 * w, -9999, heights)
files = [write("voids", voids),
         with_opacity("masked", "-b", 1, "-mask", 2, "--config", "GDAL_TIFF_INTERNAL_MASK", "YES"),
         with_opacity("opacity", "-colorinterp_2", "alpha")]
made, seen, stacked = [], [], []
for path in files:
    t.expect(t.run([scene], other, "--reference", path), "runs with " + os.path.basename(path))
    made.append(all_of(other))
    seen.append(t.compare(plain, path)["raw"])
    pile = os.path.join(work, "pile.tif")
    t.call([t.PROGRAM, "stack", plain, path, "-o", pile, "--overwrite", "--quiet", "--dem-vertical", "ellipsoid"])
    stacked.append(t.raw_pixels(pile))
for what, answers in (("run --reference", made), ("compare", seen), ("stack", stacked)):
    t.expect(answers[1] == answers[0], what + ": a mask leaves out what nodata does")
    t.expect(answers[2] == answers[0], what + ": so does an alpha band")

# the mask of the user
stable = write("stable", ~changed)
t.expect(t.run([scene], other, "--reference", reference, "--reference-mask", stable), "with a mask of stable ground")
masked = report(other)["reference"]
t.expect(masked["state"] == "fitted" and masked["share_masked"] >= 0.02, "it leaves out %.0f %%" % (100 * masked["share_masked"]))
nothing = write("nothing", 0 * values)
t.run([scene], other, "--reference", reference, "--reference-mask", nothing)
t.expect(report(other)["reference"]["state"] in ("refused", "shift"), "a mask of nothing: " + report(other)["reference"]["reason"])

def areas():
    """Masks as polygons in degrees: inside of them or outside, chosen by an attribute, planned; change on half of the scene."""
    corners = json.loads(t.call(["gdalinfo", "-json", reference]).stdout)["wgs84Extent"]["coordinates"][0]
    upper_left, lower_left, lower_right, upper_right = corners[:4]

    def at(u, v):
        """Longitude and latitude of shares of width and height, close enough for this."""
        return [(1 - v) * ((1 - u) * upper_left[k] + u * upper_right[k]) + v * ((1 - u) * lower_left[k] + u * lower_right[k])
                for k in (0, 1)]

    def ring(left, right, top, bottom):
        return [at(left, top), at(right, top), at(right, bottom), at(left, bottom), at(left, top)]

    def polygons(name, *features):
        return t.put_polygons(t.at(name + ".geojson"), *(({"kind": kind}, geometry, places) for kind, geometry, places in features))

    ice, all_of_it = ring(0.3, 0.5, 0.4, 0.55), ring(-1, 2, -1, 2)
    outlines = polygons("outlines", ("ice", "Polygon", [ice]), ("area", "Polygon", [all_of_it]))
    rock = polygons("rock", ("rock", "Polygon", [all_of_it, ice]))
    chosen = ["--exclude", outlines, "--where", "kind = 'ice'"]
    t.expect(t.run([scene], other, "--reference", reference, *chosen), "with outlines")
    left, made = report(other)["reference"], all_of(other)
    t.expect(left["state"] == "fitted" and left["share_masked"] < found["share_masked"],
             "%.1f %% are left out, %.1f %% without outlines" % (100 * left["share_masked"], 100 * found["share_masked"]))
    t.expect(abs(left["apply_m"][2] - found["apply_m"][2]) < 0.3 and left["dem"]["left_out_cells"] > 0.5 * len(inside),
             "the shift is that of the rest: %s" % left["apply_m"])
    bands = json.loads(t.call(["gdalinfo", "-json", t.companion(other, "_change.tif")]).stdout)["bands"]
    t.expect([b["description"] for b in bands] == ["height minus reference", "left out of the fit"], "the bands say what they are")
    t.run([scene], other, "--reference", reference, "--reference-mask", rock)
    t.expect(all_of(other) == made, "stable ground as polygons: the same bytes")
    planned = os.path.join(work, "planned")
    t.call([t.PROGRAM, "plan", scene, "-o", planned, "--reference", reference, "--cost", "zncc", "--quiet", *chosen])
    units = t.parsed(os.path.join(planned, "plan.json"))["unit_count"]
    t.call([t.PROGRAM, "tile", planned, "0-%d" % (units - 1), "--quiet"])
    t.call([t.PROGRAM, "merge", planned, "--quiet"])
    merged = [os.path.join(root, n) for root, _, names in os.walk(planned) for n in names if n.endswith("_change.tif")]
    t.expect(len(merged) == 1 and all_of(merged[0].replace("_change.tif", ".tif")) == made, "plan, tile and merge give the same bytes")

    # 20 m lower on most of the scene: without outlines the DEM follows
    glaciers = write("glaciers", raised(UP + 20.0 * part(0.1, 0.7, 0.1, 0.9)))
    large = polygons("large", ("ice", "Polygon", [ring(0.1, 0.7, 0.1, 0.9)]))
    for options, low, high in (([], 15, 30), (["--exclude", large], UP - 1, UP + 1)):
        t.run([scene], other, "--reference", glaciers, *options)
        bias = t.compare(other, os.path.join(scene, "truth.tif"))["raw"]["median"]
        t.expect(low < bias < high, "most of the ground is 20 m lower: the DEM lies %.2f m above the truth %s" % (bias, options[:1]))

    # polygons that are elsewhere change nothing, and are told; what is of no use is told before any work
    far = polygons("far", ("ice", "Polygon", [[[100, 10], [101, 10], [101, 11], [100, 10]]]))
    done = t.call([t.PROGRAM, "run", scene, "-o", other, "--overwrite", "--cost", "zncc", "--reference", reference, "--exclude", far])
    t.expect(all_of(other) == once and "none of its polygons covers" in done.stderr, "polygons elsewhere: %s" % done.stderr.strip()[-150:])
    points = polygons("points", ("ice", "Point", at(0.4, 0.4)))
    for options, what in ((["--exclude", points], "--exclude %s holds Point, expected polygons" % points),
                          (["--exclude", nowhere], "--exclude %s cannot be opened as a raster or as polygons" % nowhere),
                          (["--exclude", outlines, "--where", "kinds = 'ice'"], "its fields are kind"),
                          (["--exclude", outlines, "--where", "kind = 'tree'"], "--where kind = 'tree': selects no polygon of --exclude")):
        code, said, progress = told("--reference", reference, *options)
        t.expect(code == 1 and len(said) == 1 and what in said[0] and not progress, "%s: %s" % (options[-1], said))
    for options, what in ((["--exclude", outlines], "--exclude: needs --reference FILE"),
                          (["--reference", reference, "--where", "a = 1"], "--where: needs polygons"),
                          (["--reference", reference, "--reference-mask", stable, "--layer", "x"], "--layer: needs polygons")):
        code, said, progress = told(*options)
        t.expect(code == 2 and len(said) == 1 and said[0].startswith(what) and not progress, "%s: %s" % (what, said))


areas()
t.finish()
