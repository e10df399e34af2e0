#!/usr/bin/python3
"""Pairs of images from which no DEM must come: no cameras, no overlap, nothing to match, mirrored, exchanged; height ranges that
cannot be, and images too small for theirs."""
# fault_pairs.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import struct

import fault_base as base

PAIR, OUTPUT = ("pair/left.tif", "pair/right.tif"), ("-o", "o.tif")
TOO_FEW = ("too few matches",)


def write_pairs(bench):
    """a.tif and b.tif: a good pair without compression; (size, samples, RPC) of each."""
    base.simulate(bench, "pair", "rpc")
    views = []
    for name, source in (("a.tif", "pair/left.tif"), ("b.tif", "pair/right.tif")):
        width, height, data = base.read_raster(source, "uint16")
        rpc = base.read_rpc(source)
        base.write_tiff(name, width, height, "uint16", data, rpc)
        views.append((width, height, data, rpc))
    return views


def refuse(bench, name, words, left, right, *more, **keys):
    bench.refuse(name, 1, words, left, right, *OUTPUT, *more, **keys)


def no_cameras(bench, views):
    width, height, data, rpc = views[1]
    base.put("copy.tif", base.content("a.tif"))
    nan, inf = float("nan"), float("inf")
    for name, change in (("norpc.tif", None), ("far.tif", {4: rpc[4] + 3.0}), ("beside.tif", {5: rpc[5] + 0.2}),  # LAT_OFF, LONG_OFF
                         ("nan.tif", {15: nan}), ("scale.tif", {9: 0.0}), ("infinite.tif", {40: inf}), ("denominator.tif", {32: 0.0}),
                         ("zero.tif", dict.fromkeys(range(92), 0.0))):
        base.write_tiff(name, width, height, "uint16", data, change and [change.get(i, v) for i, v in enumerate(rpc)])
    bench.refuse("same image twice", 2, ["a.tif"], "a.tif", "a.tif", *OUTPUT)
    bench.refuse_rows(1, "run", """
no RPC, right | norpc.tif; RPC | a.tif norpc.tif -o o.tif
no RPC, left | norpc.tif; RPC | norpc.tif b.tif -o o.tif
a copy of the image | a.tif; copy.tif | a.tif copy.tif -o o.tif
no overlap | footprints; overlap; a.tif lies at lon; far.tif at lon | a.tif far.tif -o o.tif
no overlap, next scene | footprints; overlap; lat | a.tif beside.tif -o o.tif
RPC: NaN | nan.tif | a.tif nan.tif -o o.tif
RPC: zero scale | scale.tif | a.tif scale.tif -o o.tif
RPC: infinite | infinite.tif | a.tif infinite.tif -o o.tif
RPC: zero denominator | denominator.tif | a.tif denominator.tif -o o.tif
RPC: all zero | zero.tif | a.tif zero.tif -o o.tif""")


def nothing_to_match(bench, views):
    width, height, _, rpc = views[1]
    n = width * height
    base.write_tiff("badleft.tif", width, height, "uint16", bytes(2 * n), views[0][3])
    refuse(bench, "all zero, left", ["badleft.tif", "no usable pixel"], "badleft.tif", "b.tif")
    for name, kind, sample in (("all zero", "uint16", bytes(2)), ("all NaN", "float32", struct.pack("<f", float("nan"))),
                               ("all infinite", "float32", struct.pack("<f", float("inf"))), ("one value", "uint16", struct.pack("<H", 700))):
        base.write_tiff("bad.tif", width, height, kind, sample * n, rpc)
        refuse(bench, f"{name}, right", ["bad.tif", "no usable pixel"], "a.tif", "bad.tif")
    base.write_tiff("bad.tif", 1, 1, "uint16", b"\1\2", rpc)
    refuse(bench, "one pixel", ["bad.tif", "1 x 1"], "a.tif", "bad.tif")
    refuse(bench, "one pixel, left", ["bad.tif", "1 x 1"], "bad.tif", "b.tif")
    base.write_tiff("bad.tif", width, height, "uint16", bytes(n) + b"\1\2" + bytes(n - 2), rpc)
    refuse(bench, "one usable pixel", [], "a.tif", "bad.tif", also=("bad.tif", *TOO_FEW))


def undeclared_fill(bench, views):
    """A fifth of the left image on a value that the file does not declare: said, left out, and the DEM as without."""
    width, height, data, rpc = views[0]
    values = struct.unpack(f"<{width * height}H", data)
    cut = height // 5 * width
    for name, kind, code, fill, other in (("floats", "float32", "f", -9999.0, 1.0), ("huge floats", "float32", "f", 1e30, 1.0),
                                          ("zeros in floats", "float32", "f", 0.0, 0.01), ("signed", "int16", "h", -32768, 1)):
        limit = 30000 if code == "h" else 65535
        samples = [fill] * cut + [min(v, limit) * other for v in values[cut:]]
        base.write_tiff("fill.tif", width, height, kind, struct.pack(f"<{len(samples)}{code}", *samples), rpc)
        done = bench.call("run", "fill.tif", "b.tif", "-o", "fill_dem.tif", "--overwrite")
        lines = [line for line in done.stderr.split("\n") if "no data" in line]
        bench.check(f"{name}: told", done.returncode == 0 and len(lines) == 1 and f"{fill:.7g} is taken" in lines[0] and
                    "gdal_edit.py -a_nodata" in lines[0], done.stderr[-600:])
        told = bench.call("info", "fill.tif", "b.tif").stdout
        bench.check(f"{name}: info", f"{fill:.7g} = no data, not declared" in told and "20.00 %" in told, told)
        shown = json.load(open("fill_dem.json", encoding="utf-8"))
        bench.check(f"{name}: the rest is matched", shown["trust"]["matched_share_of_texture"] > 0.9 and
                    shown["height_m"]["max"] - shown["height_m"]["min"] < 700, str(shown["height_m"]))
    base.write_tiff("whole.tif", width, height, "float32", struct.pack(f"<{len(values)}f", *values), rpc)
    done = bench.call("run", "whole.tif", "b.tif", "-o", "fill_dem.tif", "--overwrite")
    bench.check("floats without fill: no word of it", done.returncode == 0 and "no data" not in done.stderr, done.stderr)


def noise(seed, views, k, kind):
    """White noise, or noise smoothed over a few pixels, in the geometry of view k."""
    width, height, _, rpc = views[k]
    draw = random.Random(seed)
    raw = [[draw.gauss(0.0, 100.0) for _ in range(width)] for _ in range(height)]
    if kind == "smooth":
        for _ in range(2):
            raw = [[(row[x - 1] + 2.0 * row[x] + row[(x + 1) % width]) / 2.0 for x in range(width)] for row in raw]
            raw = [[(raw[y - 1][x] + 2.0 * raw[y][x] + raw[(y + 1) % height][x]) / 2.0 for x in range(width)]
                   for y in range(height)]
    flat = [min(max(int(1000.0 + value), 1), 60000) for row in raw for value in row]
    return width, height, "uint16", struct.pack(f"<{len(flat)}H", *flat), rpc


def upside_down(width, height, data):
    return b"".join(data[2 * width * y:2 * width * (y + 1)] for y in range(height - 1, -1, -1))


def must_not_match(bench, views):
    """Each would give a plausible but wrong DEM if the number of matches were not looked at."""
    for kind in ("white", "smooth"):
        for seed in (1, 2):
            base.write_tiff("n0.tif", *noise(seed, views, 0, kind))
            base.write_tiff("n1.tif", *noise(seed + 100, views, 1, kind))
            for more in ((), ("--optimizer", "sgm")) if seed == 1 else ((),):
                refuse(bench, f"{kind} noise {seed}, both {more}", ["n0.tif", "n1.tif"], "n0.tif", "n1.tif", *more, also=TOO_FEW)
            refuse(bench, f"{kind} noise {seed}, right", ["a.tif", "n1.tif"], "a.tif", "n1.tif", also=TOO_FEW)
    for k, names in ((1, ("a.tif", "bad.tif")), (0, ("bad.tif", "b.tif"))):
        width, height, data, rpc = views[k]
        upside = upside_down(width, height, data)
        for how, samples in (("mirrored", base.mirrored(width, height, 2, data)), ("upside down", upside),
                             ("turned by 180 degrees", base.mirrored(width, height, 2, upside))):
            base.write_tiff("bad.tif", width, height, "uint16", samples, rpc)
            refuse(bench, f"view {k} {how}", names, *names, also=TOO_FEW)
    bench.make("simulate", "--quiet", "-o", "strange", "--layout", "rpc", "--width", "400", "--height", "400", "--seed", "77")
    width, height, data = base.read_raster("strange/right.tif", "uint16")
    base.write_tiff("bad.tif", width, height, "uint16", data, views[1][3])
    refuse(bench, "image of another place", ["a.tif", "bad.tif"], "a.tif", "bad.tif", also=TOO_FEW)
    for k in (0, 1):  # 3N's image with 3B's camera, and the other way
        width, height, data, _ = views[k]
        base.write_tiff(f"x{k}.tif", width, height, "uint16", data, views[1 - k][3])
    refuse(bench, "cameras exchanged", ["x0.tif", "of a whole image"], "x0.tif", "x1.tif")


def larger(bench):
    """Accidental matches grow with the area: their number alone must not be what tells them from true ones."""
    bench.make("simulate", "--quiet", "-o", "large", "--layout", "rpc", "--width", "1200", "--height", "1200", "--seed", "9")
    width, height, data = base.read_raster("large/right.tif", "uint16")
    base.write_tiff("bad.tif", width, height, "uint16", upside_down(width, height, data), base.read_rpc("large/right.tif"))
    refuse(bench, "larger pair, right upside down", ["large/left.tif", "bad.tif"], "large/left.tif", "bad.tif", also=TOO_FEW)


def damaged_hdf5(bench):
    """HDF5's library prints what it met by itself; one sentence is all that is to be seen."""
    base.put("bad.h5", b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 40)
    for inputs in (("bad.h5",), ("bad.h5", "b.tif"), ("a.tif", "bad.h5")):
        bench.refuse(f"damaged HDF5: {inputs}", 1, ["bad.h5"], *inputs, *OUTPUT)
    bench.refuse("damaged HDF5 as --dem", 1, ["--dem bad.h5"], "a.tif", "b.tif", *OUTPUT, "--dem", "bad.h5")


def ranges(bench):
    """HEIGHT_OFF and HEIGHT_SCALE of the pair say what its cameras are for."""
    rpc = base.read_rpc(PAIR[0])
    low, high = rpc[6] - rpc[11], rpc[6] + rpc[11]
    start = "pair/left.tif pair/right.tif -o o.tif"
    bench.refuse_rows(2, "run", f"""
--hmin above the cameras' heights | --hmin 8000; up to {high:g} m; leave it out | {start} --hmin 8000
--hmax below the cameras' heights | --hmax -600; from {max(low, -500):g} m; leave it out | {start} --hmax -600
hardly a range | --hmin 100 and --hmax 101.5: a range of 1.5 m; 10 m | {start} --hmin 100 --hmax 101.5""")
    refuse(bench, "terrain elsewhere", ["terrain outside --hmin and --hmax"], *PAIR, "--hmin", f"{high - 100:g}", "--hmax", f"{high - 50:g}")
    width, height, data = base.read_raster(PAIR[1], "uint16")
    other = base.read_rpc(PAIR[1])
    other[6], other[11] = high + 300, 100  # its heights begin above those of the left one
    base.write_tiff("high.tif", width, height, "uint16", data, other)
    refuse(bench, "cameras of other heights", ["the camera of pair/left.tif is for heights of", "that of high.tif", "in common"], PAIR[0], "high.tif")


def small(bench):
    """Strips and corners of a scene: cameras may not reach, matches may be few; sentences name true places."""
    for width, height in ((64, 64), (64, 700), (700, 64), (200, 200), (1500, 100)):
        for layout in ("aster", "rpc"):
            folder = f"{layout}{width}x{height}"
            bench.make("simulate", "--quiet", "-o", folder, "--layout", layout, "--width", str(width), "--height", str(height),
                       "--lon", "7", "--lat", "45")
            inputs = (folder,) if layout == "aster" else (f"{folder}/left.tif", f"{folder}/right.tif")
            if (layout, width) == ("rpc", 1500):  # enough
                bench.make("run", "--quiet", *inputs, *OUTPUT)
                base.sweep("o.tif")
                continue
            bench.refuse(f"{layout}, {width} x {height} px", 1, [], *inputs, *OUTPUT, also=(
                "too few matches", "do not overlap", "cameras cannot be followed"))


def pairs(bench):
    views = write_pairs(bench)
    for part in (no_cameras, nothing_to_match, undeclared_fill, must_not_match):
        part(bench, views)


base.test(pairs, damaged_hdf5, ranges, small, larger)
