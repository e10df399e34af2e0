#!/usr/bin/python3
# --bounds and --area: the cells of a part are those of the whole DEM, byte for byte, in `run`, tiles, `stack` and memory;
# `compare` counts them alone; wrong bounds are one sentence each.
# test_part.py [STEREODEM]     exits 77 when Python has no numpy or GDAL
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t
from with_gdal import gdal, np
gdal.SetConfigOption("GDAL_PAM_ENABLED", "NO")
work, at = t.work, t.at
ASTER = [os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")]
TRUTH = os.path.join(t.SOURCE, "sampledata", "truth.tif")
DEGREES = ["4.7", "44.58", "4.75", "44.62"]


def read(path, window=()):
    data = gdal.Open(path)
    cells = data.ReadAsArray(*window)
    return cells if cells.ndim == 3 else cells[None]


def window_of(whole, part):
    """The cells of the whole that the part has: column, row, columns, rows."""
    a, b = gdal.Open(whole), gdal.Open(part)
    g, h = a.GetGeoTransform(), b.GetGeoTransform()
    place = [(h[k] - g[k]) / g[1 if k == 0 else 5] for k in (0, 3)]
    same = all(abs(p - round(p)) < 1e-6 for p in place)
    t.expect(same and g[1] == h[1], "%s: edges of cells are those of the whole" % os.path.basename(part))
    return [int(round(p)) for p in place] + [b.RasterXSize, b.RasterYSize]


def check(name, whole, part, inside=None):
    """DEM, orthoimage and QA bands 1 to 6 of both; inside: of --area, where alone they are compared."""
    window = window_of(whole, part)
    for end in (".tif", "_qa.tif", "_ortho.tif"):
        if not os.path.exists(t.companion(part, end)):
            continue
        a, b = read(t.companion(whole, end), window)[:6], read(t.companion(part, end))[:6]
        other = (a != b) if inside is None else (a != b) & inside
        t.expect(a.size > 1000 and not other.any(), "%s%s: %d x %d cells are those of the whole" % (name, end, window[2], window[3]))
    return window


def area(name, ring):
    return t.put_polygons(at(name), ({}, "Polygon", [ring]))


# ---- run: whole, bounds in metres and degrees, tiles, area ----
whole = at("whole.tif")
t.expect(t.run(ASTER, whole), "the whole scene")
g = gdal.Open(whole).GetGeoTransform()
metres = [repr(v) for v in (g[0] + 4400.0, g[3] - 9000.5, g[0] + 7431.0, g[3] - 5100.0)]
t.expect(t.run(ASTER, at("metres.tif"), "--bounds", *metres), "bounds in metres")
window = check("metres", whole, at("metres.tif"))
t.expect(window[2:] == [102, 131], "the cells that the bounds touch: %d x %d" % tuple(window[2:]))
t.expect(t.run(ASTER, at("tiles.tif"), "--tile", "64", "--bounds", ",".join(DEGREES)), "bounds in degrees, in tiles")
check("tiles", whole, at("tiles.tif"))
outline = area("area.geojson", [[4.70, 44.58], [4.75, 44.585], [4.74, 44.62], [4.71, 44.61], [4.70, 44.58]])
for name, more in (("area", []), ("area64", ["--tile", "64"])):
    t.expect(t.run(ASTER, at(name + ".tif"), "--area", outline, *more), "%s of polygons" % name)
mask = read(at("area_qa.tif"))[4]
window = check("area", whole, at("area.tif"), mask != 1 << 13)
t.expect(t.digest(at("area.tif")) == t.digest(at("area64.tif")) and t.digest(at("area_qa.tif")) == t.digest(at("area64_qa.tif")),
         "an area does not depend on the tiles")
share = np.mean(mask != 1 << 13)
t.expect(0.55 < share < 0.75 and (read(at("area.tif"))[0][mask == 1 << 13] == -9999).all(), "outside of the area is masked: %.2f inside" % share)

# ---- a job, whose prepared scene serves another part ----
plan = ["plan", *ASTER, "-o", at("job"), "--cost", "zncc", "--optimizer", "local", "--tile", "100", "--bounds"]
t.call([t.PROGRAM, *plan, *DEGREES])
t.expect(t.call([t.PROGRAM, "tile", at("job"), "0-4", "-q"]).returncode == 0, "tiles of a part")
t.expect(t.call([t.PROGRAM, "merge", at("job"), "-o", at("job.tif"), "-q"]).returncode == 0, "merge of a part")
check("job", whole, at("job.tif"))
again = ["run", *ASTER, "-o", at("kept.tif"), "--keep-job", "--cost", "zncc", "--optimizer", "local", "--overwrite", "-v", "--bounds"]
t.call([t.PROGRAM, *again, *DEGREES])
second = t.call([t.PROGRAM, *again, "4.72", "44.58", "4.76", "44.6"])
t.expect("going on from" in second.stderr or "coarse surface" not in second.stderr, "a kept scene is not prepared again")
check("kept", whole, at("kept.tif"))

# ---- a town: semi-global matching ----
pair = t.simulate(at("town"), "--layout", "rpc", "--width", "700", "--height", "700", "--gsd", "0.5", "--town", "--relief", "40", "--seed", "5")
pair = [os.path.join(pair, k) for k in ("left.tif", "right.tif")]
t.expect(t.run(pair, at("town.tif"), "--optimizer", "sgm", "--cost", "census"), "a town")
g = gdal.Open(at("town.tif")).GetGeoTransform()
box = [repr(v) for v in (g[0] + 120.0, g[3] - 220.0, g[0] + 230.0, g[3] - 130.0)]
t.expect(t.run(pair, at("block.tif"), "--optimizer", "sgm", "--cost", "census", "--bounds", *box), "a part of it")
check("block", at("town.tif"), at("block.tif"))
kept = [t.PROGRAM, "run", *pair, "-o", at("kept_town.tif"), "--optimizer", "sgm", "--cost", "census", "--keep-job", "--overwrite", "-q", "--bounds"]
for k in (0, 1):  # the second time from the scene's record
    ended = t.call([*kept, box[0], box[1], box[2], repr(float(box[3]) - k)])
    t.expect(ended.returncode == 0, "a town from %s" % ("a kept scene" if k else "its images"))
check("kept block", at("town.tif"), at("kept_town.tif"))

# ---- stack and compare ----
for name, more in (("s.tif", []), ("sp.tif", ["--bounds", *DEGREES])):
    t.expect(t.call([t.PROGRAM, "stack", whole, at("metres.tif"), "-o", at(name), "-q", *more]).returncode == 0, "stack " + name)
check("stack", at("s.tif"), at("sp.tif"))
some = t.compare(whole, TRUTH, "--bounds", *DEGREES, "--difference", at("d.tif"))
all_of = t.compare(whole, TRUTH)
inside = t.compare(whole, TRUTH, "--area", outline)
t.expect(some["cells"] == 136 * 151 and inside["cells"] < some["cells"] < all_of["cells"] / 5,
         "compare counts the part: %d, %d of %d cells" % (some["cells"], inside["cells"], all_of["cells"]))
t.expect([gdal.Open(at("d.tif")).RasterXSize, gdal.Open(at("d.tif")).RasterYSize] == [136, 151], "the difference ends there")

# ---- wrong input: one sentence ----
tiny = area("tiny.geojson", [[4.75001, 44.60001], [4.75002, 44.60001], [4.75002, 44.60002], [4.75001, 44.60001]])
none_in = area("none_in.geojson", [[4.75, 44.6]] * 4)
two = at("two.gpkg")
for name in "ab":
    gdal.VectorTranslate(two, outline, format="GPKG", layerName=name, accessMode="update" if name == "b" else None)
far = area("far.geojson", [[9.7, 44.58], [9.75, 44.58], [9.74, 44.62], [9.7, 44.58]])
for words, code, said in ((["--bounds", "1", "2", "3", "4"], 2, "taken as degrees, lies outside of the DEM, whose W S E N are 4.6"),
                          (["--bounds", "1000", "2000", "3000", "4000"], 2, "taken as units of the output CRS, lies outside"),
                          (["--bounds", "44.58", "4.7", "44.62", "4.75"], 2, "lies outside"),
                          (["--bounds", "4.75", "44.58", "4.7", "44.62"], 2, "west is 4.75 and east 4.7"),
                          (["--bounds", "4.7", "44.62", "4.75", "44.58"], 2, "south is 44.62 and north 44.58"),
                          (["--bounds", "4.7", "44.58", "4.75"], 2, "needs the values W S E N"),
                          (["--bounds", "4.7,44.58,4.75,x"], 2, "expected the four numbers W S E N"),
                          (["--t_srs", "EPSG:4326", "--bounds", *metres], 2, "EPSG:4326 is in degrees, found metres"),
                          (["--bounds", "170", "-10", "-170", "10"], 2, "taken as degrees, lies outside"),
                          (["--area", none_in], 1, "its polygons have no area within the DEM"),
                          (["--area", two], 1, "has 2 layers that can hold polygons (a, b); give a file with one of them"),
                          (["--area", TRUTH], 1, "is a raster, expected polygons"),
                          (["--area", at("none.gpkg")], 1, "none.gpkg"),
                          (["--area", tiny], 1, "--area: the part has 0 cells"),
                          (["--area", far], 1, "none of its polygons"),
                          (["--area", outline, "--bounds", "4.8", "44.58", "4.82", "44.6"], 2, "nothing in common")):
    t.refused(code, said, "run", *ASTER, "-o", at("no.tif"), "-q", *words)
t.refused(2, "lies outside", "info", *ASTER, "--t_srs", "EPSG:4326", "--bounds", "179.9", "44.58", "-179.9", "44.62")  # across longitude 180
done = t.call([t.PROGRAM, "info", *ASTER, "--log", "json", "--bounds", "-180", "-90", "180", "90"])
t.expect(done.returncode == 0, "bounds of the whole earth hold the whole DEM")
t.finish()
