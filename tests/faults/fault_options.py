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
        bench.refuse(f"{option} absent: plan", 1, ["/nowhere.tif"], "scene", "-o", "job", option, "/nowhere.tif", command="plan")
        for what, path in (("absent", "/nowhere.tif"), ("text", "text.txt"), ("a folder", "folder")):
            bench.refuse(f"{option} {what}", 1, [path], "scene", "-o", "o.tif", option, path)
    floats = {name: struct.pack("<f", float(name)) for name in ("nan", "0.25", "9000", "1e30")}
    for name, side, kind, sample in (("small", 10, "uint8", b"\0"), ("all", 400, "uint8", b"\0"), ("-1", 400, "int16", b"\xff\xff"),
                                     *((name, 400, "float32", sample) for name, sample in floats.items())):
        base.write_tiff(f"{name}.tif", side, side, kind, sample * side ** 2)
    place = ["-a_srs", "EPSG:4326", "-a_ullr", "4", "46", "6", "43"]
    for name, source, words in (("whole.tif", "all.tif", place), ("centre.tif", "all.tif", ["-a_srs", "EPSG:4978", *place[2:]]),
                                ("high.tif", "9000.tif", place), ("higher.tif", "1e30.tif", place)):
        subprocess.run(["gdal_translate", "-q", *words, source, name], check=True)
    base.put("cut.tif", base.content("whole.tif")[:40000])
    bench.refuse_rows(1, "run", """
--mask-left of another size | --mask-left; 10 x 10 | scene -o o.tif --mask-left small.tif
--mask-left of everything | no usable pixel | scene -o o.tif --mask-left all.tif
--mask-left all NaN | no usable pixel | scene -o o.tif --mask-left nan.tif
--dem without georeference | small.tif | scene -o o.tif --dem small.tif
--dem cut short | --dem cut.tif; cut short or damaged | scene -o o.tif --dem cut.tif
--dem in a geocentric CRS | --dem centre.tif; neither projected nor geographic | scene -o o.tif --dem centre.tif
--dem of 9000 m | too few matches; --dem; leave --dem out | scene -o o.tif --dem high.tif --dem-vertical ellipsoid
--dem of 1e30 m | --dem higher.tif; does not cover the scene; beyond 12000 m | scene -o o.tif --dem higher.tif --dem-vertical ellipsoid""")
    bench.refuse("--dem-vertical without --dem", 2, ["--dem-vertical", "needs --dem"], "scene", "-o", "o.tif", "--dem-vertical", "egm96")
    for mask in ("-1.tif", "0.25.tif"):  # neither is 0
        bench.make("run", "left.tif", "right.tif", "-o", "masked.tif", "--quiet", f"--mask-left=./{mask}")
        base.sweep("masked.tif")


def outputs(bench):
    os.symlink("nowhere/at/all", "dangling.tif")
    base.put("o.tif.job", b"a file where the job folder belongs")
    bench.refuse_rows(1, "run", """
missing folder | nowhere | scene -o nowhere/o.tif
below a file | text.txt | scene -o text.txt/o.tif
link to nowhere | dangling.tif | scene -o dangling.tif --overwrite
a file where the job folder belongs | o.tif.job | scene -o o.tif""")
    os.unlink("o.tif.job")
    bench.refuse_rows(2, "run", """
onto a folder | folder | scene -o folder
onto a folder, with a slash | folder/ | scene -o folder/
onto a folder, --overwrite | folder | scene -o folder --overwrite
empty name | --output | scene -o ''
a device | /dev/null | scene -o /dev/null --overwrite""")
    for name in ("-", "o.png", "o.VRT", "sub/o.json"):
        bench.refuse(f"a name of something else: {name}", 2, [f"-o {name}", "GeoTIFF", "ends in .tif"], "scene", f"--output={name}")
    for n in (300, 212, 240):  # before the work, since files are written aside under longer names
        bench.refuse("a name too long", 2, ["name too long", f"{n + 4} bytes"], "scene", "-o", "o" * n + ".tif")
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
    os.mkdir("real")
    for link, of in (("soft.tif", "left.tif"), ("sub/up", ".."), ("pointer", "real")):
        os.symlink(of, link)
    band = sorted(name for name in os.listdir("scene") if name.endswith("3N.ImageData.tif"))[0]
    for link, of in (("hard.tif", "right.tif"), ("x_qa.tif", "left.tif"), ("y.tif.part-raw-dem", "left.tif"), ("z.tif", f"scene/{band}"),
                     ("m.tif", "mask.tif"), ("d.tif", "mask.tif")):
        os.link(of, link)
    for output in (*pair, "hard.tif", "sub/up/left.tif", "./left.tif"):
        bench.refuse(f"onto the input as {output}", 2, [output.removeprefix("./"), "exists"], *pair, "-o", output)
        bench.refuse(f"onto the input as {output}, --overwrite", 2, [output.removeprefix("./"), "overwrite the input"],
                     *pair, "-o", output, "--overwrite")
    base.put("old.tif", b"old")
    for link in ("l.tif", "l_qa.tif", "l.json"):
        os.symlink("old.tif", link)
        bench.refuse(f"{link} is a link", 2, [f"{link} is a link"], *pair, "-o", "l.tif", "--overwrite")
        os.unlink(link)
    bench.refuse("a folder that is a link", 2, ["pointer is a link"], "-o", "pointer/", "--overwrite", command="simulate")
    bench.refuse_rows(2, "run", """
a link to the input | soft.tif is a link to left.tif | left.tif right.tif -o soft.tif --overwrite
a companion onto the input | x_qa.tif; overwrite the input | left.tif right.tif -o x.tif --overwrite
what is written aside onto the input | y.tif | y.tif.part-raw-dem right.tif -o y.tif
onto the scene's image | z.tif; overwrite the input | scene -o z.tif --overwrite
onto the mask | m.tif; overwrite the input | left.tif right.tif -o m.tif --mask-left mask.tif --overwrite
onto the prior DEM | d.tif; overwrite the input | left.tif right.tif -o d.tif --dem mask.tif --overwrite""")


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
