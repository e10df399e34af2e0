#!/usr/bin/python3
"""Names of files with blanks, percent signs, quotes, braces, bytes that are no UTF-8, and endings that say nothing."""
# fault_names.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import shutil
import subprocess
import zipfile

import fault_base as base

NAMES = (b"a b", b"a%sb%n", b"caf\xc3\xa9", b"caf\xe9", b"a'b", b"a:b", b"a;b", b"a,b", b"[x]", b"a*b?", b"a\\b", b"a{b}c",
         b"-x", b"n" * 200)


def run(bench, command, *words):
    return subprocess.run([os.fsencode(bench.program), command, b"-q", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=base.SECONDS, check=False)


def inputs(bench):
    """The kind of a delivery is told by what is in it."""
    sample = glob.glob(f"{bench.source}/sampledata/*.hdf")
    for name in NAMES:
        for ending, source in ((b".zip", "scene.zip"), (b".bin", "scene.zip"), (b"", "scene.zip"), (b"_d", "scene"),
                               *([(b".hdf", sample[0]), (b".x", sample[0])] if sample else [])):
            path = name + ending
            if os.path.isdir(source):
                shutil.copytree(os.fsencode(source), path)
            else:
                shutil.copy(source, b"./" + path)
            done = run(bench, b"info", b"--", path)
            braces = ending != b".zip" and source == "scene.zip" and b"{" in name  # GDAL has no way
            good = done.returncode == 0 or (braces and done.returncode == 1 and b"rename" in done.stderr)
            bench.check(f"input {path!r}", good, f"exit code {done.returncode}: {done.stderr!r}")
            base.remove(os.fsdecode(b"./" + path))


def outputs(bench):
    for name in NAMES:
        done = run(bench, b"run", b"scene", b"--output=" + name + b".tif")
        made = sorted(p for p in os.listdir(b".") if p.startswith(name) and not p.endswith(b".log"))
        bench.check(f"output {name!r}", done.returncode == 0 and len(made) == len(base.COMPANIONS),
                    f"exit code {done.returncode}, made {made}: {done.stderr!r}")
        try:
            report, page = json.loads(base.content(name + b".json")), base.content(name + b".html").decode("utf-8")
            bench.check(f"report {name!r}", report["program"] == "stereodem" and "<title>" in page)
        except (OSError, ValueError) as why:
            bench.fault(f"report {name!r}", why)
        shown = subprocess.run([os.fsencode(bench.program), b"info", b"--log=json", b"--", name + b".tif"], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:  # refused, for it is a single image; in JSON even so
            said = [json.loads(line) for line in shown.stdout.decode("utf-8").strip().split("\n")]
            bench.check(f"JSON lines {name!r}", said[-1]["exit_code"] == 2)
        except ValueError as why:
            bench.fault(f"JSON lines {name!r}", why)
        for path in made:
            os.unlink(b"./" + path)


def names(bench):
    base.simulate(bench, "scene", "aster", side=240)
    with zipfile.ZipFile("scene.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(glob.glob("scene/AST_*")):
            archive.write(path, os.path.basename(path))
    inputs(bench)
    outputs(bench)


base.test(names)
