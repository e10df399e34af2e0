#!/usr/bin/python3
# stereodem stack: accuracy, strips and zones, order, datums, filled cells, on DEMs with known errors.
# test_stack.py [STEREODEM]     exits 77 when GDAL or numpy for Python is missing
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess

import harness as t
from with_gdal import gdal, heights, nmad, np, osr, put, srs_of
path = t.at
X0, Y0, CELL = 500010.0, 4900020.0, 30.0  # UTM 31


def ground(x, y):
    """Heights of the terrain, metres, at UTM 31 positions."""
    return (800 + 300 * np.sin(x / 1500.) * np.cos(y / 1900.) + 80 * np.sin(x / 310. + 1) * np.sin(y / 270.) +
            15 * np.sin(x / 97.) * np.cos(y / 113.))


def centres(x0, y0, cols, rows, cell=CELL):
    return np.meshgrid(x0 + (np.arange(cols) + 0.5) * cell, y0 - (np.arange(rows) + 0.5) * cell)


def write(name, bands, x0, y0, cell=CELL, epsg=32631, nodata=-9999.0, kind=gdal.GDT_Float32, metadata=None):
    return put(path(name), bands, x0, y0, cell, "EPSG:%s" % epsg, nodata, kind, ["TILED=YES"],
               **(metadata or {"VERTICAL_DATUM": "WGS 84 ellipsoid"}))


def read(name, band=1):
    return heights(path(name), band)


def stack(dems, out, *options):
    """Make a stack; its summary by the DEM's base name, or None."""
    words = [t.PROGRAM, "stack"] + dems + ["-o", path(out), "--overwrite", "--log", "json"]
    done = t.call(words + list(options))
    if done.returncode:
        return None
    last = json.loads(done.stdout.strip().split("\n")[-1])
    return {os.path.basename(d["path"]): d for d in last["dems"]}


def part_white_noise():
    """The median of five of white noise: 1.87 times better, were it exact."""
    rng = np.random.default_rng(1)
    truth = ground(*centres(X0, Y0, 400, 380))
    off = [0.0, 7.0, -5.0, 12.0, -3.0]
    dems, single = [], []
    for i, up in enumerate(off):
        z = truth + rng.normal(0, 4, truth.shape) + up
        z[50 * i:50 * i + 30, 100:140] = np.nan
        single.append(nmad(z - truth))
        dems.append(write("white%d.tif" % i, z, X0, Y0))
    found = stack(dems, "white.tif")
    if not t.expect(found is not None, "white noise: a stack is made"):
        return
    ratio = np.median(single) / nmad(read("white.tif") - truth)
    t.expect(ratio >= 1.8, "white noise: NMAD %.2f times better than the median DEM's, >= 1.8" % ratio)
    worst = max(abs(-found["white%d.tif" % i]["apply_m"][2] - up) for i, up in enumerate(off))
    t.expect(worst < 0.1, "white noise: shifts in z within %.3f m" % worst)
    count, mask = read("white_qa.tif", 2), read("white_qa.tif", 3)
    t.expect(count[60, 120] == 4 and count[0, 0] == 5, "white noise: counts 4 in a hole of one, 5 elsewhere")
    t.expect((mask == 1).all(), "white noise: every cell valid")
    spread = read("white_qa.tif", 1) * 0.1
    names = ["white%d.tif" % i for i in range(5)]
    five = np.sort(np.stack([read(name) + found[name]["apply_m"][2] for name in names]), 0)
    cell = five[:, 300, 300]
    t.expect(abs(read("white.tif")[300, 300] - cell[2]) < 0.02,
             "white noise: a cell is the median of its heights")
    want = 1.4826 * np.median(np.abs(cell - cell[2]))
    near = abs(spread[300, 300] - want) <= 0.051
    t.expect(near, "white noise: its NMAD is %.2f, found %.2f" % (want, spread[300, 300]))
    orders(dems)


def orders(dems):
    first = None
    for k, order in enumerate([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]]):
        options = [["--threads", 1], ["--threads", 3], ["--memory", "64M"]][k]
        stack([dems[i] for i in order], "order.tif", "--align", "xyz", *options)
        found = [open(path("order" + s), "rb").read() for s in (".tif", "_qa.tif")]
        first = first or found
        t.expect(found == first, "order %s, %s: the same bytes" % (order, " ".join(map(str, options))))
    renamed = []
    for i, dem in enumerate(dems):
        renamed.append(path("renamed%d.tif" % ((i * 3 + 1) % 5)))
        os.link(dem, renamed[-1])
    t.put_text(path("list.txt"), "# DEMs\n\n" + "\n".join(os.path.basename(r) for r in renamed[2:]) + "\r\n\n")
    stack(renamed[:2], "order.tif", "--align", "xyz", "--list", path("list.txt"))
    found = [open(path("order" + s), "rb").read() for s in (".tif", "_qa.tif")]
    t.expect(found == first, "other names, two as arguments and three in a list: the same bytes")


def part_place():
    """Shifted in x, y and z."""
    rng = np.random.default_rng(5)
    x, y = centres(X0, Y0, 400, 380)
    off = [(0, 0, 0), (20, -10, 5), (-15, 25, -8), (8, 8, 12), (-30, -5, 3)]
    dems = [write("place%d.tif" % i, ground(x - e, y - n) + up + rng.normal(0, 4, x.shape), X0, Y0)
            for i, (e, n, up) in enumerate(off)]
    middle = np.median(np.array(off), 0)
    for name, words in (("mercator.tif", ("--t_srs", "EPSG:3857")), ("place.tif", ())):  # metres on the ground
        found = stack(dems, name, "--align", "xyz", *words)
        if not t.expect(found is not None, "shifted in place: a stack is made"):
            return
        worst = max(np.abs(-np.array(found["place%d.tif" % i]["apply_m"]) - (np.array(o) - middle)).max()
                    for i, o in enumerate(off))
        t.expect(worst < 0.6, "shifted in place: %s: every shift within %.2f m" % (name, worst))
    e = read("place.tif") - ground(x - middle[0], y - middle[1])
    t.expect(nmad(e[10:-10, 10:-10]) < 4 / 1.8, "shifted in place: NMAD %.2f of 4" % nmad(e[10:-10, 10:-10]))


def part_strip():
    """Four scenes of a strip, of which the first and the last share nothing, and one in the next zone."""
    rng = np.random.default_rng(2)
    x0, up = 735000.0, [2.0, -6.0, 9.0, 4.0]
    dems = []
    for i in range(4):
        sx, sy = x0 + 150 * i, Y0 - 7500 * i
        x, y = centres(sx, sy, 420, 300)
        dems.append(write("strip%d.tif" % i, ground(x, y) + up[i] + rng.normal(0, 3, x.shape), sx, sy))
    zone = [srs_of(32631), srs_of(32632)]
    px, py, _ = osr.CoordinateTransformation(*zone).TransformPoint(x0 + 5000, Y0 - 3000)
    zx, zy = round(px / 30) * 30.0, round(py / 30) * 30.0
    x, y = centres(zx, zy, 400, 300)
    p = np.array(osr.CoordinateTransformation(zone[1], zone[0]).TransformPoints(np.c_[x.ravel(), y.ravel()]))
    z = ground(p[:, 0], p[:, 1]).reshape(x.shape) - 4 + rng.normal(0, 3, x.shape)
    dems.append(write("strip4.tif", z, zx, zy, epsg=32632))
    found = stack(dems, "strip.tif")
    if not t.expect(found is not None, "strip: a stack is made"):
        return
    lay = [found["strip0.tif"]["apply_m"][2] - found["strip%d.tif" % i]["apply_m"][2] for i in range(5)]
    worst = max(abs(a - (b - 2.0)) for a, b in zip(lay, up + [-4.0]))
    t.expect(worst < 0.15, "strip and zones: relative shifts within %.3f m" % worst)
    ds = gdal.Open(path("strip.tif"))
    g = ds.GetGeoTransform()
    t.expect(osr.SpatialReference(ds.GetProjection()).GetAuthorityCode(None) == "32631" and g[1] == 30.0 and
             g[0] % 30 == 0 and g[3] % 30 == 0, "strip and zones: UTM 31, 30 m, aligned")
    z = read("strip.tif")
    e = z - ground(*centres(g[0], g[3], ds.RasterXSize, ds.RasterYSize))
    good = nmad(e) < 3.0 and np.nanmax(np.abs(e - np.nanmedian(e))) < 18
    t.expect(good, "strip and zones: NMAD %.2f" % nmad(e))
    t.expect(np.count_nonzero(~np.isnan(z)) > 420 * 1050 * 0.99 + 30000,
             "strip and zones: the union is covered")
    alone = write("alone.tif", ground(*centres(X0, Y0, 50, 50)) + 40, X0 + 300000, Y0 - 20000)
    done = t.call([t.PROGRAM, "stack"] + dems + [alone, "-o", path("two.tif"), "--overwrite"])
    t.expect(done.returncode == 0 and "alone.tif overlaps no other" in done.stderr,
             "a DEM that overlaps none is named")
    feet = write("feet.tif", ground(*centres(x0, Y0, 420, 300)) / 0.3048, x0, Y0)
    void, cm = write("void.tif", np.full((50, 50), np.nan), x0, Y0), write("cm.tif", 100 * ground(*centres(x0, Y0, 420, 300)), x0, Y0)
    done = t.call([t.PROGRAM, "stack", *dems, feet, void, cm, "-o", path("odd.tif"), "--overwrite"])
    t.expect("feet.tif differs from the others by" in done.stderr and "in metres" in done.stderr and
             all("DEM %s has no measured height" % name in done.stderr for name in (void, cm)),
             "another unit, and no heights: told: %s" % done.stderr[-300:])
    trust = t.parsed(path("odd.json"))["trust"]
    t.expect(trust["doubtful"] and len(trust["warnings"]) == 3 and "This DEM is doubtful" in open(path("odd.html"), encoding="utf-8").read(),
             "the same in the report")
    done = t.call([t.PROGRAM, "stack", *dems, feet, "-o", path("odd.tif"), "--overwrite", "--strict"], True)
    t.expect(done.returncode == 1 and "--strict" in done.stderr and "feet.tif differs" in done.stderr and "moved by, m" in done.stdout,
             "--strict: exit code 1, and the DEM is made and described")
    high = write("high.tif", ground(*centres(x0, Y0, 420, 300)) + 60, x0, Y0)
    for others in (dems[:1], dems):
        done = t.call([t.PROGRAM, "stack", *others, high, "-o", path("odd.tif"), "--overwrite", "--strict"], True)
        t.expect(done.returncode == 1 and "high.tif differs from the others by 5" in done.stderr, "60 m too high: a doubt: %s" % done.stderr[-300:])
    t.refused(1, "m are no heights: give metres", "compare", cm, dems[0])
    done = t.call([t.PROGRAM, "compare", feet, dems[0]], True)
    t.expect("are 3.28 times" in done.stdout and "in feet?" in done.stdout, "compare: heights in feet")
    low = write("low.tif", 0.02 * ground(*centres(x0, Y0, 420, 300)), x0, Y0)
    low_feet = write("low_feet.tif", 0.02 * ground(*centres(x0, Y0, 420, 300)) / 0.3048, x0, Y0)
    down = write("down.tif", 900 - 0.02 * ground(*centres(x0, Y0, 420, 300)), x0, Y0)
    level = write("level.tif", np.full((300, 420), 400.1), x0, Y0)
    for pair, said in (((low_feet, low), "are 3.28 times"), ((low, low_feet), "are 0.30 times"), ((low, low), None),
                       ((down, low), "are -1.00 times"), ((level, low), None)):
        done = t.call([t.PROGRAM, "compare", *pair], True)
        t.expect(said in done.stdout if said else " times those" not in done.stdout, "compare: low relief, %s" % said)
    found = t.parsed(path("two.json"))["stack"]
    t.expect(found["groups"] == 2 and [d["apply_m"][2] for d in found["dems"] if d["path"] == alone] == [0.0],
             "and stays where it is")


def part_datums():
    """Whole metres above EGM96 in degrees, beside metres above the ellipsoid in UTM."""
    x, y = centres(X0, Y0, 300, 300)
    dems = [write("datum%d.tif" % i, np.full(x.shape, 500.0), X0, Y0) for i in range(2)]
    geo = write("geo.tif", np.full((600, 600), 448, "i2"), 2.9, 44.35, 1 / 3600., epsg="4326+5773",
                nodata=-32768, kind=gdal.GDT_Int16, metadata={"NOTHING": "0"})
    found = stack(dems + [geo], "datum.tif", "--align", "none")
    if not t.expect(found is not None, "datums: a stack is made"):
        return
    n = float(subprocess.run(["cs2cs", "-f", "%.3f", "EPSG:4326+5773", "EPSG:4979"], input="44.2 3.02 0\n",
                             stdout=subprocess.PIPE, text=True).stdout.split()[2])
    only = (read("datum_qa.tif", 2) == 1) & ~np.isnan(read("datum.tif"))
    level = np.nanmedian(read("datum.tif")[only])
    t.expect(abs(level - (448 + n)) < 1.5, "datums: EGM96 448 m is %.2f m, by cs2cs %.2f" % (level, 448 + n))
    unknown = write("unknown.tif", np.full(x.shape, 500.0), X0, Y0, metadata={"NOTHING": "0"})
    t.refused(1, "declares no vertical datum", "stack", dems[0], unknown, "-o", path("u.tif"))
    t.expect(stack([dems[0], unknown], "u.tif", "--dem-vertical", "ellipsoid") is not None, "and accepted with --dem-vertical")
    other = write("unknown2.tif", np.full(x.shape, 500.0), X0, Y0, metadata={"NOTHING": "0"})
    made = stack([other, unknown], "u.tif")
    ds = gdal.Open(path("u.tif"))
    t.expect(made is not None and not ds.GetMetadataItem("VERTICAL_DATUM"),
             "where none says, the stack does not either")


def part_degrees():
    """DEMs in degrees onto a metric grid: its spacing is found from all of them, not from the first."""
    lon, lat = centres(3.0, 62.0, 100, 2200, 0.001)
    north = write("north.tif", 100 + 50 * np.sin(400 * lon) * np.sin(400 * lat), 3.0, 62.0, 0.001, epsg=4326)
    lon, lat = centres(3.0, 60.2, 100, 2200, 0.001)
    south = write("south.tif", 100 + 50 * np.sin(400 * lon) * np.sin(400 * lat), 3.0, 60.2, 0.001, epsg=4326)
    for name, dems in (("ns.tif", [north, south]), ("sn.tif", [south, north])):
        t.expect(stack(dems, name, "--t_srs", "EPSG:32631") is not None, "degrees: a stack is made")
    same = open(path("ns.tif"), "rb").read() == open(path("sn.tif"), "rb").read()
    t.expect(same, "degrees: the same bytes for either order")


def part_antimeridian():
    """One terrain on 180 degrees in UTM, in degrees past 180 and below -180, and on a map that is cut there."""
    lon, lat = centres(179.95, 60.05, 100, 100, 0.001)
    z = 500 + 40 * np.sin(200 * lon) * np.cos(300 * lat)
    east = write("east.tif", z, 179.95, 60.05, 0.001, epsg=4326)
    west = write("west.tif", z, -180.05, 60.05, 0.001, epsg=4326)
    utm = path("utm.tif")
    gdal.Warp(utm, east, format="GTiff", dstSRS="EPSG:32601", xRes=60, yRes=60, resampleAlg="cubic")
    for name, dems, options in (("degrees", [east, west, utm], ["--t_srs", "EPSG:4326"]),
                                ("wrapped", [west, utm], ["--t_srs", "+proj=longlat +lon_wrap=180 +datum=WGS84"]),
                                ("metres", [west, utm, east], ["--t_srs", "EPSG:32660"])):
        out = "am_%s.tif" % name
        if not t.expect(stack(dems, out, "--align", "none", *options) is not None, "180, %s: a stack is made" % name):
            continue
        h, count = read(out), read(out[:-4] + "_qa.tif", 2)
        t.expect(h.size < 40000 and (count == len(dems)).sum() > 4000,
                 "180, %s: %d x %d cells, all DEMs on %d" % (name, *h.shape, (count == len(dems)).sum()))
        t.expect(np.nanmin(h) > 455 and np.nanmax(h) < 545, "180, %s: heights" % name)
    t.refused(1, "is cut where it lies", "stack", utm, east, "-o", path("am_cut.tif"), "--t_srs", "EPSG:3857")
    north = [write("north85_%d.tif" % k, z, 380000, -380000, 30, epsg=3413) for k in range(2)]
    if t.expect(stack(north, "am_85.tif", "--align", "none", "--t_srs", "EPSG:3857") is not None, "85 N: Mercator"):
        t.expect(read("am_85.tif").size < 40000, "85 N: Mercator's cells are measured on the ground")


def part_copies():
    """Of an acquisition that was delivered several times one DEM is used, whatever the order."""
    rng = np.random.default_rng(8)
    x, y = centres(X0, Y0, 100, 90)
    one_noise = rng.normal(0, 3, x.shape)

    def of(name, kind, time, noise, x0=X0):
        return write(name, ground(x, y) + noise, x0, Y0, metadata={
            "VERTICAL_DATUM": "WGS 84 ellipsoid", "SCENE_KIND": kind, "ACQUISITION_TIME_UTC": time})

    def noise():
        return rng.normal(0, 3, x.shape)

    def call(dems):
        done = t.call([t.PROGRAM, "stack", *dems, "-o", path("copies.tif"), "--overwrite"])
        return done.stderr, sorted(d["path"] for d in t.parsed(path("copies.json"))["stack"]["dems"])

    date = "2003-05-06T10:11:12Z"
    one = [of("copy_%s.tif" % v, "ASTER L1A %s" % v, date, one_noise + rng.normal(0, 0.3, x.shape) + up)
           for v, up in (("V003 (zip)", 0), ("V003 (folder)", 8), ("V004 (HDF)", -5))]
    later = of("copy_later.tif", "ASTER L1A V004 (HDF)", "2004-05-06T10:11:12Z", noise())
    first = None
    for dems in (one + [later], [later] + one[::-1]):
        said, used = call(dems)
        t.expect(used == sorted([one[2], later]) and said.count("of the same acquisition (%s)" % date) == 2,
                 "copies: V004 and the other date are used")
        now = open(path("copies.tif"), "rb").read()
        first = first or now
        t.expect(now == first, "copies: the same bytes for either order")
    said, used = call(one)
    t.expect("all 3 DEMs are of one acquisition" in said and len(used) == 3, "copies alone: a warning")
    part = of("copy_part.tif", "ASTER L1A V004 (HDF)", date, one_noise, X0 + 1500)
    pair = [of("copy_pair%d.tif" % i, "pair with RPC", date, noise()) for i in range(2)]
    for name, dems in (("parts of an acquisition", [one[0], part, later]), ("pairs of one left image", pair + [later])):
        said, used = call(dems)
        t.expect("acquisition" not in said and len(used) == 3, name + " are stacked")


def part_cells():
    """Filled cells serve where nothing else is; two that disagree are marked; fine cells are averaged."""
    rng = np.random.default_rng(4)
    x, y = centres(X0, Y0, 200, 200)
    z = [np.full(x.shape, 100.0) + rng.normal(0, 1, x.shape) for _ in range(2)]
    mask = np.ones(x.shape, "u2")
    z[0][20:30, 20:30] = 180.0
    mask[20:30, 20:30] = 3
    z[1][25:30, 20:30] = np.nan
    z[1][100:110, 100:110] = 160.0
    bits = {"MASK_BIT_0": "valid", "MASK_BIT_1": "filled"}
    write("cell0_qa.tif", mask, X0, Y0, nodata=65535, kind=gdal.GDT_UInt16, metadata=bits)
    dems = [write("cell%d.tif" % i, z[i], X0, Y0) for i in range(2)]
    t.expect(stack(dems, "cells.tif") is not None, "cells: a stack is made")
    h, count, mask = read("cells.tif"), read("cells_qa.tif", 2), read("cells_qa.tif", 3)
    t.expect(abs(h[22, 25] - z[1][22, 25]) < 0.3 and count[22, 25] == 1 and mask[22, 25] == 1,
             "filled beside measured: left out")
    t.expect(abs(h[27, 25] - 180) < 0.3 and mask[27, 25] == 3, "filled alone: used and marked")
    others = np.count_nonzero(mask >= 4096) - 100  # 3 sigma: 0.27 % of 40,000
    t.expect((mask[100:110, 100:110] == 1 + 4096).all() and others < 200,
             "two that disagree are marked, and by chance %d others" % others)
    stack(dems, "cells.tif", "--no-filled")
    t.expect(np.isnan(read("cells.tif")[27, 25]) and read("cells_qa.tif", 3)[27, 25] == 4,
             "--no-filled leaves the hole")
    fine = centres(X0, Y0, 600, 600, 10.0)
    noisy = [write("fine%d.tif" % i, 100 + rng.normal(0, 3, fine[0].shape), X0, Y0, 10.0) for i in range(2)]
    stack(noisy, "fine.tif", "--tr", 30, "--align", "none")
    s = nmad(read("fine.tif") - 100)
    t.expect(abs(s - 3 / np.sqrt(18)) < 0.05, "cells of 10 m averaged to 30 m: NMAD %.3f of 3 / sqrt(18)" % s)


def part_waves():
    """Waves of five phases (jitter), a tilt, a cloud: smooth errors go to the mean; noise alone is left to the median."""
    rng = np.random.default_rng(6)
    x, y = centres(X0, Y0, 420, 400)
    truth = ground(x, y)
    along = (x * 0.22 - y) / 4500.0
    dems, single = [], []
    for i, phase in enumerate([0.3, 1.9, 2.6, 4.4, 5.8]):
        z = truth + 4 * np.sin(2 * np.pi * along + phase) + (i - 2) * 2e-4 * (x - X0) + rng.normal(0, 1.5, x.shape)
        single.append(nmad(z - truth))
        if i == 1:
            z[150:230, 90:190] += 700
        dems.append(write("wave%d.tif" % i, z, X0, Y0))
    kept = stack(dems, "kept.tif", "--bias", "keep")
    found = stack(dems, "waves.tif")
    if not t.expect(kept is not None and found is not None, "waves: stacks are made"):
        return
    ratio = [np.median(single) / nmad(read(name) - truth) for name in ("kept.tif", "waves.tif")]
    t.expect(ratio[1] >= 1.8 and ratio[1] >= 1.25 * ratio[0],
             "waves: NMAD %.2f times better than the median DEM's, --bias keep %.2f" % (ratio[1], ratio[0]))
    worst = np.abs(read("waves.tif") - truth - np.median(read("waves.tif") - truth))[150:230, 90:190].max()
    t.expect(worst < 12, "waves: the cloud has no effect, %.1f m at most" % worst)
    given = [d["smooth_m"] for d in found.values()]
    t.expect(all(s is not None for s in given) and all(d["smooth_m"] is None for d in kept.values()),
             "waves: smooth errors of %s m are reported" % ", ".join("%.1f" % s for s in given))
    same = read("kept_qa.tif", 1) == read("waves_qa.tif", 1)
    t.expect(same.all(), "waves: the NMAD of a cell is that of the heights as they came")
    first = None
    for order, options in (([0, 1, 2, 3, 4], ["--threads", 3]), ([3, 1, 4, 0, 2], ["--memory", "64M"])):
        stack([dems[i] for i in order], "wave_order.tif", *options)
        now = [open(path("wave_order" + s), "rb").read() for s in (".tif", "_qa.tif")]
        first = first or now
        t.expect(now == first, "waves, order %s, %s: the same bytes" % (order, " ".join(map(str, options))))
    noise = [path("white%d.tif" % i) for i in range(5)]
    stack(noise, "auto.tif")
    stack(noise, "keep.tif", "--bias", "keep")
    t.expect(open(path("auto.tif"), "rb").read() == open(path("keep.tif"), "rb").read(),
             "white noise: --bias auto takes nothing out")


def part_companions():
    """What a glob takes along beside DEMs is left out; anything else that holds no heights is refused by name."""
    scene, folder = t.simulate(path("pair"), "--layout", "rpc", "--width", 320, "--height", 320), path("glob")
    os.mkdir(folder)
    views = [os.path.join(scene, "left.tif"), os.path.join(scene, "right.tif")]
    dems = [os.path.join(folder, name) for name in ("a.tif", "b.tif", "c.tif")]
    for dem, more in zip(dems, ([], ["--cost", "census"], ["--reference", os.path.join(scene, "truth.tif")])):
        t.expect(t.run(views, dem, *more), "companions: %s is made" % dem)
    expected = stack(dems, "named.tif")
    every = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".tif"))
    t.expect(len(every) >= 9, "companions: %d rasters" % len(every))
    t.expect(stack(every, "glob.tif") == expected and open(path("glob.tif"), "rb").read() == open(path("named.tif"), "rb").read(),
             "companions: *.tif gives the stack of the DEMs")
    t.put_text(path("list.txt"), "\n".join(every))
    t.expect(stack([], "list.tif", "--list", path("list.txt")) == expected, "companions: --list, too")
    for name in set(every) - set(dems):
        t.refused(1, ("holds no heights", name), "stack", dems[0] if not os.path.basename(name).startswith("a") else dems[1], name, "-o", path("no.tif"))
    for role in (["compare", t.companion(dems[0], "_ortho.tif"), dems[1]], ["compare", dems[0], t.companion(dems[1], "_qa.tif")],
                 ["run", *views, "-o", path("no.tif"), "--dem", t.companion(dems[1], "_qa.tif")],
                 ["run", *views, "-o", path("no.tif"), "--reference", t.companion(dems[1], "_ortho.tif")]):
        t.refused(1, "holds no heights", *role)
    holes = ground(*centres(X0, Y0, 60, 60))
    holes[:20] = 0
    holes = write("holes.tif", holes.astype("f4"), X0, Y0, nodata=None)
    whole = write("whole.tif", ground(*centres(X0, Y0, 60, 60)).astype("f4"), X0, Y0)
    done = t.call([t.PROGRAM, "stack", holes, whole, "-o", path("holed.tif")])
    t.expect(done.stderr.count("cells of 0 are taken as voids") == 1 and np.nanmax(np.abs(read("holed.tif") - read("whole.tif"))) < 0.1,
             "voids of 0 that are not declared: told, and left out")
    two = write("two.tif", [ground(*centres(X0, Y0, 60, 60)).astype("f4"), np.zeros((60, 60), "f4")], X0, Y0)
    one = write("one.tif", ground(*centres(X0, Y0, 60, 60)).astype("f4"), X0, Y0)
    done = t.call([t.PROGRAM, "stack", two, one, "-o", path("two_bands.tif")])
    t.expect(done.returncode == 0 and "two.tif has 2 bands: the first is taken" in done.stderr, "several bands: a warning")
    colours = write("colours.tif", [np.full((60, 60), k, "u1") for k in range(3)], X0, Y0, kind=gdal.GDT_Byte)
    ds = gdal.Open(colours, gdal.GA_Update)
    for k in range(3):
        ds.GetRasterBand(k + 1).SetColorInterpretation(gdal.GCI_RedBand + k)
    ds = None
    t.refused(1, "colours.tif: its bands are colours", "stack", colours, one, "-o", path("no.tif"))


def part_scenes():
    """Five scenes of one terrain with errors of their own, through the whole chain."""
    dems, single = [], []
    for i in range(6, 11):
        scene = t.simulate(path("scene%d" % i), "--width", 700, "--height", 700, "--lon", 7, "--lat", 45,
                           "--seed", 4, "--error-seed", i, "--pointing-across", 1 + 0.1 * (i % 10),
                           "--pointing-along", ((i * 37) % 9 - 4) / 10., "--jitter", 0.15, "--noise", 1,
                           "--striping", 1, "--orbit-noise", 0.3, "--velocity-noise", 0.05, "--cloud", 0.08)
        dems.append(path("run%d.tif" % i))
        if not t.expect(t.run([scene], dems[-1]), "scene %d: a DEM is made" % i):
            return
        found = t.compare(dems[-1], path("scene6/truth.tif"), "--class", os.path.join(scene, "class.tif"))
        single.append(found["aligned"]["nmad"])
    t.expect(stack(dems, "scenes.tif") is not None, "scenes: a stack is made")
    found = t.compare(path("scenes.tif"), path("scene6/truth.tif"))
    ratio = np.median(single) / found["aligned"]["nmad"]
    t.expect(ratio >= 1.5, "scenes: NMAD %.2f, of the median DEM %.2f: %.2f times better, >= 1.5" %
             (found["aligned"]["nmad"], np.median(single), ratio))


for part in (part_white_noise, part_place, part_strip, part_datums, part_degrees, part_antimeridian, part_copies, part_cells, part_waves,
             part_companions, part_scenes):
    part()
t.finish()
