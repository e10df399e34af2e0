#!/usr/bin/python3
"""The disk is full at every stage of writing: one sentence, nothing half-written, and the next run ends as if undisturbed."""
# fault_disk.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import os
import re
import resource
import subprocess

import fault_base as base


def cap_files(limit):
    """For a child: no file may grow past it."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def undisturbed(bench):
    """The DEM as it should be, and the job folder that a run of several blocks leaves."""
    base.simulate(bench, "scene", "aster")
    bench.make("run", "-q", "scene", "-o", "true.tif", "--tile", "128", "--keep-job")
    names = sorted(name for name in os.listdir("true.tif.job") if name.endswith(".sdm"))
    sizes = [os.path.getsize(f"true.tif.job/{name}") for name in names[1:] + names[:1]]  # the scene's file last
    return base.content("true.tif"), sizes


def resumed(bench, name, output, dem):
    """The same command with room: the same bytes, and no trace of the failure."""
    done = bench.call("run", "-q", "scene", "-o", output, "--tile", "128")
    good = done.returncode == 0 and base.content(output) == dem
    bench.check(f"{name}, then with room", good and base.aside(output) == [],
                f"exit code {done.returncode}, other bytes or left behind {base.aside(output)}: {done.stderr[-300:]}")
    base.sweep(output)


def full(bench, name, output, **keys):
    """Must fail in one sentence; only finished work may stay.  Returns whether the run failed."""
    done = bench.call("run", "-q", "scene", "-o", output, "--tile", "128", **keys)
    if done.returncode == 0:
        return False
    lines = [line for line in done.stderr.split("\n") if line]
    folder = os.path.dirname(output) or "."
    job = f"{os.path.basename(output)}.job"
    left = [p for p in os.listdir(folder) if p.startswith(os.path.basename(output)[:-4]) and p != job and not p.endswith(".log")]
    inside = os.listdir(f"{folder}/{job}") if job in os.listdir(folder) else ["nothing"]
    parts = [p for p in inside if ".part" in p]
    good = done.returncode == 1 and len(lines) == 1 and os.path.basename(output) in lines[0] and (inside == ["nothing"] or job in lines[0])
    bench.check(name, good and not left and not parts and inside,
                f"exit code {done.returncode}, left {left} {parts or inside}: {done.stderr[-500:]}")
    print(f"{name}: {done.stderr.strip()}", flush=True)
    return True


def limited(bench, dem, sizes):
    """No file may grow past a limit: first the scene's file fails, then a block, then each kind of product."""
    limits = [sizes[-1] - 1, max(sizes[:-1]) - 1]
    html = max(os.path.getsize(path) for path in base.products("true.tif"))
    products = sorted({os.path.getsize(path) - 1 for path in base.products("true.tif")})[1::2]
    failed = 0
    for limit in limits:
        if full(bench, f"no file above {limit} bytes", "o.tif", preexec_fn=cap_files(limit)):
            failed += 1
            resumed(bench, f"no file above {limit} bytes", "o.tif", dem)
        base.sweep("o.tif")
    # with the blocks done, only the products are left to fail
    bench.make("run", "-q", "scene", "-o", "o.tif", "--tile", "128", "--keep-job")
    for limit in products:
        for path in base.products("o.tif"):
            base.remove(path)
        failed += full(bench, f"no product above {limit} bytes", "o.tif", preexec_fn=cap_files(limit))
    for path in base.products("o.tif"):
        base.remove(path)
    resumed(bench, "no product above a limit", "o.tif", dem)
    bench.check("limits that bite", failed >= 3, f"only {failed} of them did; the largest product has {html} bytes")


def simulated_scene(bench):
    """simulate writes aside, too."""
    bench.refuse("simulate on a full disk", 1, ["sim"], "-o", "sim", "--width", "200", "--height", "200",
                 command="simulate", preexec_fn=cap_files(20000))
    with open("/dev/full", "w", encoding="utf-8") as nowhere:
        done = subprocess.run([bench.program, "info", "scene"], stdout=nowhere, stderr=subprocess.PIPE, text=True,
                              check=False)
    bench.check("standard output full", done.returncode == 1 and re.search("standard output", done.stderr),
                f"exit code {done.returncode}: {done.stderr}")


def disk(bench):
    dem, sizes = undisturbed(bench)
    limited(bench, dem, sizes)
    simulated_scene(bench)


base.test(disk)
