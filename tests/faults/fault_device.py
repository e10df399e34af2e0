#!/usr/bin/python3
"""A device that is lost or has no memory left, through `run` and `tile`: once, and nothing is to be seen in the
bytes; for good, and the run stops with one sentence, and the same command goes on when the device is back.

OpenCL's calls fail through a library that is preloaded (opencl_fails.c).  Skipped where OpenCL has no device.
    fault_device.py STEREODEM SOURCE_DIR PRELOAD
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os

import fault_base as base

LOST, MEMORY = "-5", "-4"  # CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE
GO_ON = "finished blocks are kept: give the same command to go on, or --device cpu"
OPTIONS = ("--device", "opencl:0", "--tile", "64", "--cost", "zncc", "--optimizer", "local")


def failing(bench, at, times=0, with_error=LOST):
    more = {"SDM_FAIL_TIMES": str(times)} if times else {}
    return os.environ | {"LD_PRELOAD": bench.library, "SDM_FAIL_AT": str(at), "SDM_FAIL_WITH": with_error} | more


def ready(bench):
    """Scene and reference; False without a device."""
    base.need_exact_opencl(bench)
    base.simulate(bench, "scene", "aster", "--lon", "7", "--lat", "45", side=256)
    bench.make("run", "scene", "-o", "cpu.tif", "--quiet", "--device", "cpu", *OPTIONS[2:])
    bench.want = base.bytes_of("cpu.tif")


def run_once(bench):
    told = []  # one more queue that cannot be opened costs itself alone, without a word; when it is opened depends on the clock
    for at, error in ((20, LOST), (21, MEMORY), (50, LOST), (110, MEMORY), (270, LOST), (720, LOST)):
        done = bench.call("run", "scene", "-o", "once.tif", "--overwrite", *OPTIONS, env=failing(bench, at, 1, error))
        name = f"run, call {at} fails with {error}"
        if bench.check(name, done.returncode == 0, done.stderr[-300:]):
            bench.check(name + ": bytes", base.bytes_of("once.tif") == bench.want, "other bytes than the processor's")
            told.append("opened anew and asked once more" in done.stderr)
    bench.check("failed calls are told", sum(told) >= 4, str(told))


def small_groups(bench):
    """Kernels that cannot run groups of 256 items run smaller ones, 16 x 1 for 32 x 8, with the same bytes."""
    done = bench.call("run", "scene", "-o", "groups.tif", "--overwrite", *OPTIONS,
                      env=os.environ | {"LD_PRELOAD": bench.library, "SDM_MOST_ITEMS": "24"})
    if bench.check("groups of 24 items", done.returncode == 0, done.stderr[-300:]):
        bench.check("groups of 24 items: bytes", base.bytes_of("groups.tif") == bench.want, "other bytes than the processor's")
        bench.check("groups of 24 items: told", "once more" not in done.stderr, done.stderr[-300:])


def run_for_good(bench):
    for at, error in ((1, LOST), (40, MEMORY), (300, LOST), (800, LOST)):
        base.sweep("lost.tif")
        name = f"run, calls from {at} on fail with {error}"
        done = bench.call("run", "scene", "-o", "lost.tif", "--quiet", *OPTIONS, env=failing(bench, at, 0, error))
        why = base.judge(done, 1, [GO_ON] if at > 1 else [], ())
        if not bench.check(name, why is None, why):
            continue
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        bench.check(name + ": no DEM", not os.path.exists("lost.tif"), "a DEM is there")
        kept = [f for f in os.listdir("lost.tif.job") if f.startswith("unit_")] if os.path.isdir("lost.tif.job") else []
        bench.check(name + ": blocks", at < 800 or kept, "no block is kept")
        done = bench.call("run", "scene", "-o", "lost.tif", *OPTIONS)
        bench.check(name + ": goes on", done.returncode == 0 and base.bytes_of("lost.tif") == bench.want, done.stderr[-300:])
        bench.check(name + ": from there", not kept or "going on from" in done.stderr, done.stderr[-300:])


def tiles(bench):
    bench.make("plan", "scene", "-o", "job", "--quiet", *OPTIONS)
    units = json.loads(bench.call("status", "job", "--log", "json").stdout.splitlines()[-1])["units"]
    every = f"0-{units - 1}"
    done = bench.call("tile", "job", every, "--quiet", env=failing(bench, 400))
    why = base.judge(done, 1, ["units failed, the first because of this", GO_ON], ())
    bench.check("tile, the device is lost", why is None, why)
    made = [f for f in os.listdir("job") if f.startswith("unit_") and f.endswith(".sdm")]
    bench.check("tile: some blocks are there", 0 < len(made) < units, f"{len(made)} of {units} units")
    done = bench.call("tile", "job", every, env=failing(bench, 100, 1, MEMORY))
    bench.check("tile, goes on, and once more", done.returncode == 0 and "asked once more" in done.stderr, done.stderr[-300:])
    os.mkdir("merged")
    bench.make("merge", "job", "-o", "merged", "--quiet")
    dem = [f for f in os.listdir("merged") if f.endswith(".tif") and "_qa" not in f and "_ortho" not in f]
    bench.check("merge: bytes", len(dem) == 1 and base.content(os.path.join("merged", dem[0])) == bench.want[0],
                "other bytes than the processor's")


if __name__ == "__main__":
    base.test(ready, small_groups, run_once, run_for_good, tiles)
