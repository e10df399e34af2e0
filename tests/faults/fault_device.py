#!/usr/bin/python3
"""A device that is lost or has no memory left, through `run` and `tile`: it is asked once more, then the processor goes on with
the same bytes and one line.

OpenCL's calls fail through a library that is preloaded (opencl_fails.c).  Skipped where OpenCL has no device.
    fault_device.py STEREODEM SOURCE_DIR PRELOAD
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re

import fault_base as base

LOST, MEMORY = "-5", "-4"  # CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE
GO_ON, ASKED = "the processor goes on", "opened anew and asked once more"
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
        done = bench.call("run", "scene", "-o", "once.tif", "--overwrite", "--verbose", *OPTIONS, env=failing(bench, at, 1, error))
        name = f"run, call {at} fails with {error}"
        if bench.check(name, done.returncode == 0, done.stderr[-300:]):
            bench.check(name + ": bytes", base.bytes_of("once.tif") == bench.want, "other bytes than the processor's")
            told.append(ASKED in done.stderr)
    bench.check("failed calls are told", sum(told) >= 4, str(told))


def small_groups(bench):
    """Kernels that cannot run groups of 256 items run smaller ones, 16 x 1 for 32 x 8, with the same bytes."""
    done = bench.call("run", "scene", "-o", "groups.tif", "--overwrite", *OPTIONS,
                      env=os.environ | {"LD_PRELOAD": bench.library, "SDM_MOST_ITEMS": "24"})
    if bench.check("groups of 24 items", done.returncode == 0, done.stderr[-300:]):
        bench.check("groups of 24 items: bytes", base.bytes_of("groups.tif") == bench.want, "other bytes than the processor's")
        bench.check("groups of 24 items: told", "once more" not in done.stderr, done.stderr[-300:])


def one_context(bench):
    """Auto leaves OpenCL alone; all queues lie in one context."""
    done = bench.call("run", "scene", "-o", "auto.tif", "--verbose", *OPTIONS[2:])
    bench.check("auto", done.returncode == 0 and "device: the processor" in done.stderr, done.stderr[-300:])
    done = bench.call("run", "scene", "-o", "one.tif", "--verbose", *OPTIONS,
                      env=os.environ | {"LD_PRELOAD": bench.library, "SDM_CONTEXTS": "1"})
    bench.check("one context", done.returncode == 0 and "cannot be opened now" not in done.stderr and ASKED not in done.stderr,
                done.stderr[-400:])


def run_for_good(bench):
    """The processor goes on, and one line says so."""
    for at, error in ((1, LOST), (40, MEMORY), (300, LOST), (800, LOST)):
        base.sweep("lost.tif")
        name = f"run, calls from {at} on fail with {error}"
        done = bench.call("run", "scene", "-o", "lost.tif", *OPTIONS, env=failing(bench, at, 0, error))
        if at == 1:  # a named device that cannot be opened is an error
            why = base.judge(bench.call("run", "scene", "-o", "lost.tif", "--quiet", *OPTIONS, env=failing(bench, at, 0, error)), 1, [], ())
            bench.check(name, why is None, why)
            continue
        if bench.check(name, done.returncode == 0, done.stderr[-300:]):
            bench.check(name + ": bytes", base.bytes_of("lost.tif") == bench.want, "other bytes than the processor's")
            told = [line for line in done.stderr.splitlines() if GO_ON in line]
            bench.check(name + ": one line", len(told) == 1, done.stderr[-300:])
            why = json.loads(base.content("lost.json"))["work"].get("device_why", "")
            bench.check(name + ": report", why and why in told[0], f"{why!r}: {told}")


def tiles(bench):
    bench.make("plan", "scene", "-o", "job", "--quiet", *OPTIONS)
    units = json.loads(bench.call("status", "job", "--log", "json").stdout.splitlines()[-1])["units"]
    done = bench.call("tile", "job", f"0-{units // 2}", "--verbose", env=failing(bench, 100, 1, MEMORY))
    bench.check("tile, once more", done.returncode == 0 and ASKED in done.stderr, done.stderr[-300:])
    done = bench.call("tile", "job", f"{units // 2 + 1}-{units - 1}", env=failing(bench, 100))
    bench.check("tile, the device is lost", done.returncode == 0 and done.stderr.count(GO_ON) == 1, done.stderr[-300:])
    os.mkdir("merged")
    bench.make("merge", "job", "-o", "merged", "--quiet")
    dem = [f for f in os.listdir("merged") if f.endswith(".tif") and "_qa" not in f and "_ortho" not in f]
    bench.check("merge: bytes", len(dem) == 1 and base.content(os.path.join("merged", dem[0])) == bench.want[0],
                "other bytes than the processor's")


def every_call(bench):
    """Each call of OpenCL that the program makes fails always: the run ends with the processor's bytes, or at once with a sentence."""
    declared = base.content(os.path.join(bench.source, "gpu", "opencl_api.h")).decode()
    calls = ["cl" + name for name in re.findall(r"F\([\w *]+, (\w+),", declared)]
    bench.check("calls", len(calls) > 30, str(calls))
    for call in calls:
        env = os.environ | {"LD_PRELOAD": bench.library, "SDM_FAIL_CALL": call}
        if call == "clCreateProgramWithSource":
            env["XDG_CACHE_HOME"] = os.path.abspath("no programs")
        done = bench.call("run", "scene", "-o", "call.tif", "--overwrite", "--quiet", *OPTIONS, env=env)
        why = None if done.returncode == 0 and base.bytes_of("call.tif") == bench.want else base.judge(done, 1, [], ())
        bench.check(call, why is None, why)


if __name__ == "__main__":
    base.test(ready, small_groups, one_context, run_once, run_for_good, tiles, every_call)
