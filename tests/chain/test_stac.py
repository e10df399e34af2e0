#!/usr/bin/python3
# NAME.stac.json: a STAC item, valid by pystac where that is at hand; its footprint holds every height, its grid and bands are
# those of the files; without a time of the scene, and of a stack.
# test_stac.py [STEREODEM]     exits 77 when Python has no numpy or GDAL
# SPDX-License-Identifier: Apache-2.0
import json
import os

import harness as t
from with_gdal import gdal, np, ogr, osr, srs_of
gdal.SetConfigOption("GDAL_PAM_ENABLED", "NO")
try:
    import pystac.validation
except ImportError:
    pystac = None
work, at = t.work, t.at
SCENE = os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")
CUSTOM = "+proj=laea +lat_0=44 +lon_0=5 +datum=WGS84"


NUMBERS = lambda *counts: lambda v: isinstance(v, list) and len(v) in counts and all(isinstance(x, (int, float)) for x in v)  # noqa: E731
NUMBER = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)  # noqa: E731
RULES = {  # of the schemas of the extensions, by version: fields and what they hold
    "projection/v2.0.0": {"proj:code": lambda v: v is None or isinstance(v, str), "proj:wkt2": lambda v: v is None or isinstance(v, str),
                          "proj:shape": lambda v: len(v) == 2 and all(isinstance(x, int) for x in v), "proj:bbox": NUMBERS(4, 6),
                          "proj:transform": NUMBERS(6, 9)},
    "raster/v2.0.0": {"raster:sampling": ("area", "point").__contains__, "raster:spatial_resolution": lambda v: NUMBER(v) and v > 0,
                      "raster:scale": NUMBER, "raster:offset": NUMBER},
    "processing/v1.2.0": {"processing:software": lambda v: all(isinstance(x, str) for x in v.values()),
                          "processing:lineage": lambda v: isinstance(v, str)}}


def fields(value):
    """Names and values of all objects in an item."""
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(name, str):
            yield name, part
        yield from fields(part)


def check_extensions(item, name):
    listed = [address.split(".io/")[1].rsplit("/", 1)[0] for address in item["stac_extensions"]]
    written = [(field, value) for field, value in fields(item) if ":" in field]
    wrong = [f for f, value in written if not any(f in RULES.get(e, {}) and RULES[e][f](value) for e in listed)]
    t.expect(not wrong, "%s: fields are those of the extensions that are listed %s" % (name, wrong))
    t.expect(all(any(f in RULES[e] for f, _ in written) for e in listed), name + ": no extension is listed in vain")


def item_of(name):
    item = t.parsed(at(name + ".stac.json"))
    check_extensions(item, name)
    if not pystac:
        return item
    read = pystac.Item.from_file(at(name + ".stac.json"))
    core = dict(read.to_dict(include_self_link=False), stac_extensions=[])
    try:
        t.expect(bool(pystac.validation.validate_dict(core)), name + ": valid by pystac")
    except pystac.STACValidationError as error:
        t.expect(False, "%s: %s" % (name, error))
    return item


def check(name):
    item, dem = item_of(name), gdal.Open(at(name + ".tif"))
    p, g = item["properties"], dem.GetGeoTransform()
    t.expect(item["type"] == "Feature" and item["id"] == name and p["proj:shape"] == [dem.RasterYSize, dem.RasterXSize] and
             np.allclose(p["proj:transform"], [g[1], g[2], g[0], g[4], g[5], g[3]]), name + ": name and grid")
    missing = [a["href"] for a in item["assets"].values() if not os.path.exists(os.path.join(work, a["href"]))]
    t.expect(not missing, "%s: its %d files are there %s" % (name, len(item["assets"]), missing))
    qa = gdal.Open(at(name + "_qa.tif"))
    bands = item["assets"]["quality"]["bands"]
    t.expect([(b["name"], b["raster:scale"]) for b in bands] ==
             [(qa.GetRasterBand(k + 1).GetDescription(), qa.GetRasterBand(k + 1).GetScale() or 1) for k in range(qa.RasterCount)],
             name + ": bands and scales of the quality")
    heights = dem.ReadAsArray()
    valid = heights != -9999
    told = item["assets"]["dem"]["bands"][0]["statistics"]
    t.expect(np.allclose([told["minimum"], told["maximum"], told["mean"], told["valid_percent"]],
                         [heights[valid].min(), heights[valid].max(), heights[valid].mean(dtype=float), 100 * valid.mean()], atol=0.01),
             name + ": statistics")
    ring = item["geometry"]["coordinates"][0]
    shape = ogr.CreateGeometryFromJson(json.dumps(item["geometry"]))
    move = osr.CoordinateTransformation(dem.GetSpatialRef(), srs_of(4326))
    rows, cols = np.nonzero(valid)
    some = np.random.default_rng(1).choice(len(rows), 400, replace=False)
    inside = sum(shape.Contains(ogr.CreateGeometryFromWkt("POINT (%.9f %.9f)" % move.TransformPoint(
        g[0] + (cols[k] + 0.5) * g[1], g[3] + (rows[k] + 0.5) * g[5])[:2])) for k in some)
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:]))
    x, y = [q[0] for q in ring], [q[1] for q in ring]
    t.expect(inside == 400 and shape.IsValid() and ring[0] == ring[-1] and area > 0 and item["bbox"] == [min(x), min(y), max(x), max(y)],
             "%s: the footprint has %d corners, against the clock, and holds %d of 400 heights" % (name, len(ring) - 1, inside))
    return item


t.expect(t.run([SCENE], at("a.tif")), "an ASTER scene")
item = check("a")
t.expect(item["properties"]["datetime"] == "2001-01-01T18:00:05Z" and item["properties"]["proj:code"] == "EPSG:32631" and
         item["properties"]["instruments"] == ["aster"] and len(item["stac_extensions"]) == 3, "time, CRS, instrument")
t.expect(t.run([SCENE], at("b.tif"), "--t_srs", CUSTOM, "--bounds", "4.7", "44.58", "4.75", "44.62"), "a CRS without a code")
item = check("b")
t.expect(item["properties"]["proj:code"] is None and "Lambert Azimuthal" in item["properties"]["proj:wkt2"], "its WKT")
pair = t.simulate(at("pair"), "--layout", "rpc", "--width", "400", "--height", "400", "--gsd", "5")
t.expect(t.run([os.path.join(pair, k) for k in ("left.tif", "right.tif")], at("c.tif")), "a pair without a time")
item = check("c")
t.expect(item["properties"]["datetime"] == item["properties"]["created"], "has the time of the run")
t.expect(t.call([t.PROGRAM, "stack", at("a.tif"), at("b.tif"), "-o", at("s.tif"), "-q"]).returncode == 0, "a stack")
t.expect("ortho" not in check("s")["assets"], "has no orthoimage")

# ---- a job of many scenes ----
t.put_text(at("list.txt"), "%s\n%s %s\n%s\n" % (SCENE, os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif"), at("none.hdf")))
for words in (["plan", "--list", at("list.txt"), "-o", at("job")], ["tile", at("job"), "0-1"], ["merge", at("job")]):
    done = t.call([t.PROGRAM, *words, "-q"], True)
collection = t.parsed(at("job", "dem", "stac_collection.json"))
items = [t.parsed(at("job", "dem", link["href"])) for link in collection["links"] if link["rel"] == "item"]
box = [pick(item["bbox"][k] for item in items) for k, pick in enumerate((min, min, max, max))]
times = sorted(item["properties"]["datetime"] for item in items)
t.expect(done.returncode == 3 and len(items) == 2 and collection["extent"] == {"spatial": {"bbox": [box]}, "temporal": {"interval": [times]}},
         "a collection of the two scenes that have a DEM")
if pystac:
    read = pystac.Collection.from_file(at("job", "dem", "stac_collection.json"))
    t.expect(bool(pystac.validation.validate_dict(read.to_dict(include_self_link=False))) and len(list(read.get_items())) == 2,
             "it is valid by pystac, which finds its items")
t.finish()
