#!/usr/bin/python3
"""Options and outputs that cannot be: every one is refused before any work, and nothing is touched."""
# fault_options.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import os
import struct
import subprocess

import fault_base as base

BAD_VALUES = (
    ("--tr", ("-5", "0", "nan", "x", "inf", "1e300", "-nan", "5m", "")),
    ("--t_srs", ("EPSG:0", "EPSG:999999", "nonsense", "", "EPSG:4978", "/nowhere.prj", "+proj=eqearth +datum=WGS84")),
    ("--threads", ("0", "-1", "1000000", "x", "1.5", "nan")),
    ("--memory", ("0", "-2G", "1", "1000", "x", "2X", "nan", "9e99G", "2GG")),
    ("--tile", ("0", "-64", "1", "1e9", "x")),
    ("--hmin", ("nan", "x", "1e9")),
    ("--hmax", ("nan", "x", "-1e9")),
    ("--base-height", ("0", "-1", "nan", "x", "99")),
    ("--band", ("0", "-1", "x", "1.5")),
    ("--cost", ("nonsense", "", "ZNCC ")),
    ("--optimizer", ("nonsense", "bp")),
    ("--device", ("nonsense",)),
    ("--cpu-level", ("nonsense",)),
    ("--vertical", ("nonsense", "")),
    ("--dem-vertical", ("nonsense",)),
    ("--log", ("xml",)),
    ("--co", ("NOVALUE", "COMPRESS=NONSENSE", "RES=5", "NONSENSE=1")),
    ("--config", ("NOVALUE",)),
)
TAKES_VALUE = [option for option, _ in BAD_VALUES] + ["-o", "--output", "--dem", "--mask-left", "--mask-right"]


def values(bench):
    for option, bad in BAD_VALUES:
        for value in bad:
            bench.refuse(f"{option} '{value}'", 2, [option], "scene", "-o", "o.tif", option, value)
    for option in TAKES_VALUE:
        name = "--output" if option == "-o" else option
        bench.refuse(f"{option} at the end", 2, [name], "scene", option)
        bench.refuse(f"{option} before an option", 2, [name], "scene", option, "--overwrite")
    bench.refuse("no -o", 2, ["-o"], "scene")
    bench.refuse("no scene", 2, ["scene"], "-o", "o.tif")


def other_files(bench):
    base.put("text.txt", b"no raster\n")
    for option in ("--dem", "--mask-left", "--mask-right"):
        bench.refuse(f"{option} absent", 1, ["/nowhere.tif"], "scene", "-o", "o.tif", option, "/nowhere.tif")
        bench.refuse(f"{option} absent: plan", 1, ["/nowhere.tif"], "scene", "-o", "job", option, "/nowhere.tif", command="plan")
        bench.refuse(f"{option} text", 1, ["text.txt"], "scene", "-o", "o.tif", option, "text.txt")
        bench.refuse(f"{option} a folder", 1, ["folder"], "scene", "-o", "o.tif", option, "folder")
    base.write_tiff("small.tif", 10, 10, "uint8", bytes(100))
    bench.refuse("--mask-left of another size", 1, ["--mask-left", "10 x 10"], "scene", "-o", "o.tif", "--mask-left",
                 "small.tif")
    base.write_tiff("all.tif", 400, 400, "uint8", bytes(400 * 400))
    bench.refuse("--mask-left of everything", 1, ["no usable pixel"], "scene", "-o", "o.tif", "--mask-left", "all.tif")
    bench.refuse("--dem without georeference", 1, ["small.tif"], "scene", "-o", "o.tif", "--dem", "small.tif")
    place = ["-a_srs", "EPSG:4326", "-a_ullr", "4", "46", "6", "43"]
    for name, words in (("whole.tif", place), ("centre.tif", ["-a_srs", "EPSG:4978", *place[2:]])):
        subprocess.run(["gdal_translate", "-q", *words, "all.tif", name], check=True)
    base.put("cut.tif", base.content("whole.tif")[:40000])
    bench.refuse("--dem cut short", 1, ["--dem cut.tif", "cut short or damaged"], "scene", "-o", "o.tif", "--dem", "cut.tif")
    bench.refuse("--dem in a geocentric CRS", 1, ["--dem centre.tif", "neither projected nor geographic"], "scene", "-o", "o.tif",
                 "--dem", "centre.tif")
    for height, code_words in ((9000.0, ["too few matches", "--dem", "leave --dem out"]),
                               (1e30, ["--dem high.tif", "does not cover the scene", "beyond 12000 m"])):
        base.write_tiff("flat.tif", 40, 40, "float32", struct.pack("<f", height) * 1600)
        subprocess.run(["gdal_translate", "-q", *place, "flat.tif", "high.tif"], check=True)
        bench.refuse(f"--dem of {height:g} m", 1, code_words, "scene", "-o", "o.tif", "--dem", "high.tif",
                     "--dem-vertical", "ellipsoid")
    bench.refuse("--dem-vertical without --dem", 2, ["--dem-vertical", "needs --dem"], "scene", "-o", "o.tif", "--dem-vertical",
                 "egm96")
    for kind, value in (("int16", struct.pack("<h", -1)), ("float32", struct.pack("<f", 0.25))): # neither is 0
        base.write_tiff("used.tif", 400, 400, kind, value * (400 * 400))
        bench.make("run", "left.tif", "right.tif", "-o", "masked.tif", "--quiet", "--mask-left", "used.tif")
        base.sweep("masked.tif")
    base.write_tiff("nan.tif", 400, 400, "float32", struct.pack("<f", float("nan")) * (400 * 400))
    bench.refuse("--mask-left all NaN", 1, ["no usable pixel"], "scene", "-o", "o.tif", "--mask-left", "nan.tif")


def outputs(bench):
    bench.refuse("missing folder", 1, ["nowhere"], "scene", "-o", "nowhere/o.tif")
    bench.refuse("onto a folder", 2, ["folder"], "scene", "-o", "folder")
    bench.refuse("onto a folder, with a slash", 2, ["folder/"], "scene", "-o", "folder/")
    bench.refuse("onto a folder, --overwrite", 2, ["folder"], "scene", "-o", "folder", "--overwrite")
    bench.refuse("below a file", 1, ["text.txt"], "scene", "-o", "text.txt/o.tif")
    bench.refuse("empty name", 2, ["--output"], "scene", "-o", "")
    for name in ("-", "o.png", "o.VRT", "sub/o.json"):
        bench.refuse(f"a name of something else: {name}", 2, [f"-o {name}", "GeoTIFF", "ends in .tif"], "scene", f"--output={name}")
    bench.refuse("a device", 2, ["/dev/null"], "scene", "-o", "/dev/null", "--overwrite")
    for n in (300, 212, 240):  # before the work, since files are written aside under longer names
        bench.refuse("a name too long", 2, ["name too long", f"{n + 4} bytes"], "scene", "-o", "o" * n + ".tif")
    os.symlink("nowhere/at/all", "dangling.tif")
    bench.refuse("link to nowhere", 1, ["dangling.tif"], "scene", "-o", "dangling.tif", "--overwrite")
    base.put("o.tif.job", b"a file where the job folder belongs")
    bench.refuse("a file where the job folder belongs", 1, ["o.tif.job"], "scene", "-o", "o.tif")
    os.unlink("o.tif.job")
    for path in base.products("e.tif"):
        base.put(path, b"precious")
        bench.refuse(f"{path} exists", 2, [path, "--overwrite"], "scene", "-o", "e.tif")
        os.unlink(path)
    if os.geteuid() != 0:
        os.mkdir("closed", 0o555)
        bench.refuse("folder that cannot be written", 1, ["closed"], "scene", "-o", "closed/o.tif")


def onto_inputs(bench):
    """Also through links: the input must survive whatever is asked."""
    pair = ("left.tif", "right.tif")
    os.mkdir("sub")
    os.symlink("left.tif", "soft.tif")
    os.link("right.tif", "hard.tif")
    os.symlink("..", "sub/up")
    for output in (*pair, "hard.tif", "sub/up/left.tif", "./left.tif"):
        bench.refuse(f"onto the input as {output}", 2, [output.removeprefix("./"), "exists"], *pair, "-o", output)
        bench.refuse(f"onto the input as {output}, --overwrite", 2, [output.removeprefix("./"), "overwrite the input"],
                     *pair, "-o", output, "--overwrite")
    bench.refuse("a link to the input", 2, ["soft.tif is a link to left.tif"], *pair, "-o", "soft.tif", "--overwrite")
    base.put("old.tif", b"old")
    for link in ("l.tif", "l_qa.tif", "l.json"):
        os.symlink("old.tif", link)
        bench.refuse(f"{link} is a link", 2, [f"{link} is a link"], *pair, "-o", "l.tif", "--overwrite")
        os.unlink(link)
    os.mkdir("real")
    os.symlink("real", "pointer")
    bench.refuse("a folder that is a link", 2, ["pointer is a link"], "-o", "pointer/", "--overwrite", command="simulate")
    os.link("left.tif", "x_qa.tif")
    bench.refuse("a companion onto the input", 2, ["x_qa.tif", "overwrite the input"], *pair, "-o", "x.tif",
                 "--overwrite")
    os.link("left.tif", "y.tif.part-raw-dem")
    bench.refuse("what is written aside onto the input", 2, ["y.tif"], "y.tif.part-raw-dem", "right.tif", "-o", "y.tif")
    band = sorted(name for name in os.listdir("scene") if name.endswith("3N.ImageData.tif"))[0]
    os.link(f"scene/{band}", "z.tif")
    bench.refuse("onto the scene's image", 2, ["z.tif", "overwrite the input"], "scene", "-o", "z.tif", "--overwrite")
    os.link("mask.tif", "m.tif")
    bench.refuse("onto the mask", 2, ["m.tif", "overwrite the input"], *pair, "-o", "m.tif", "--mask-left", "mask.tif",
                 "--overwrite")
    os.link("mask.tif", "d.tif")
    bench.refuse("onto the prior DEM", 2, ["d.tif", "overwrite the input"], *pair, "-o", "d.tif", "--dem", "mask.tif",
                 "--overwrite")


def options(bench):
    base.simulate(bench, "scene", "aster", "--with-rpc")
    for name in ("left.tif", "right.tif"):
        os.rename(f"scene/{name}", name)
    os.mkdir("folder")
    base.write_tiff("mask.tif", 400, 400, "uint8", b"\1" * (400 * 400))
    values(bench)
    other_files(bench)
    outputs(bench)
    onto_inputs(bench)


base.test(options)
