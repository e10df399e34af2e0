#!/usr/bin/python3
"""Height ranges that cannot be, and images too small for theirs: which option or camera leaves nothing to search."""
# fault_heights.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import fault_base as base

PAIR, OUTPUT = ("pair/left.tif", "pair/right.tif"), ("-o", "o.tif")


def ranges(bench):
    """HEIGHT_OFF and HEIGHT_SCALE of the pair say what its cameras are for."""
    base.simulate(bench, "pair", "rpc")
    rpc = base.read_rpc(PAIR[0])
    low, high = rpc[6] - rpc[11], rpc[6] + rpc[11]
    bench.refuse("--hmin above the cameras' heights", 2, ["--hmin 8000", f"up to {high:g} m", "leave it out"], *PAIR, *OUTPUT,
                 "--hmin", "8000")
    bench.refuse("--hmax below the cameras' heights", 2, ["--hmax -600", f"from {max(low, -500):g} m", "leave it out"], *PAIR,
                 *OUTPUT, "--hmax", "-600")
    bench.refuse("hardly a range", 2, ["--hmin 100 and --hmax 101.5: a range of 1.5 m", "10 m"], *PAIR, *OUTPUT, "--hmin",
                 "100", "--hmax", "101.5")
    bench.refuse("terrain elsewhere", 1, ["terrain outside --hmin and --hmax"], *PAIR, *OUTPUT, "--hmin", f"{high - 100:g}",
                 "--hmax", f"{high - 50:g}")
    width, height, data = base.read_raster(PAIR[1], "uint16")
    other = base.read_rpc(PAIR[1])
    other[6], other[11] = high + 300, 100  # its heights begin above those of the left one
    base.write_tiff("high.tif", width, height, "uint16", data, other)
    bench.refuse("cameras of other heights", 1, ["the camera of pair/left.tif is for heights of", "that of high.tif", "in common"],
                 PAIR[0], "high.tif", *OUTPUT)


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


base.test(ranges, small)
