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


def over(bench, **settings):
    """The environment in which OpenCL fails so."""
    return os.environ | {"LD_PRELOAD": bench.library} | {f"SDM_{k.upper()}": str(v) for k, v in settings.items()}


def ready(bench):
    """Scene and reference; False without a device."""
    base.need_exact_opencl(bench)
    base.simulate(bench, "scene", "aster", "--lon", "7", "--lat", "45", side=256)
    bench.make("run", "scene", "-o", "cpu.tif", "--quiet", "--device", "cpu", *OPTIONS[2:])
    bench.want = base.bytes_of("cpu.tif")


def run_once(bench):
    told = []  # one more queue that cannot be opened costs itself alone, without a word; when it is opened depends on the clock
    for at, error in ((20, LOST), (21, MEMORY), (50, LOST), (110, MEMORY), (270, LOST), (720, LOST)):
        done = bench.ran(f"run, call {at} fails with {error}", "once.tif", bench.want, "--verbose", *OPTIONS,
                         env=over(bench, fail_at=at, fail_times=1, fail_with=error))
        told.append(done and ASKED in done.stderr)
    bench.check("failed calls are told", told.count(True) >= 4, str(told))


def small_groups(bench):
    """Kernels that cannot run groups of 256 items run smaller ones, 16 x 1 for 32 x 8, with the same bytes."""
    done = bench.ran("groups of 24 items", "groups.tif", bench.want, *OPTIONS, env=over(bench, most_items=24))
    bench.check("groups of 24 items: told", done and "once more" not in done.stderr, str(done))


def one_context(bench):
    """Auto leaves OpenCL alone; all queues lie in one context."""
    done = bench.ran("auto", "auto.tif", bench.want, "--verbose", *OPTIONS[2:])
    bench.check("auto: the processor", done and "device: the processor" in done.stderr, str(done))
    done = bench.ran("one context", "one.tif", bench.want, "--verbose", *OPTIONS, env=over(bench, contexts=1))
    bench.check("one context: told", done and "cannot be opened now" not in done.stderr and ASKED not in done.stderr, str(done))


def run_for_good(bench):
    """The processor goes on, and one line says so."""
    words = ("scene", "-o", "lost.tif", *OPTIONS)  # a named device that cannot be opened is an error
    bench.refuse("run, no call succeeds", 1, [], *words, env=over(bench, fail_at=1, fail_with=LOST))
    for at, error in ((40, MEMORY), (300, LOST), (800, LOST)):
        name = f"run, calls from {at} on fail with {error}"
        done = bench.ran(name, "lost.tif", bench.want, *OPTIONS, env=over(bench, fail_at=at, fail_with=error))
        if done:
            told = [line for line in done.stderr.splitlines() if GO_ON in line]
            bench.check(name + ": one line", len(told) == 1, done.stderr[-300:])
            why = json.loads(base.content("lost.json"))["work"].get("device_why", "")
            bench.check(name + ": report", why and why in told[0], f"{why!r}: {told}")


def tiles(bench):
    bench.make("plan", "scene", "-o", "job", "--quiet", *OPTIONS)
    units = json.loads(bench.call("status", "job", "--log", "json").stdout.splitlines()[-1])["units"]
    done = bench.call("tile", "job", f"0-{units // 2}", "--verbose", env=over(bench, fail_at=100, fail_times=1, fail_with=MEMORY))
    bench.check("tile, once more", done.returncode == 0 and ASKED in done.stderr, done.stderr[-300:])
    done = bench.call("tile", "job", f"{units // 2 + 1}-{units - 1}", env=over(bench, fail_at=100))
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
        env = over(bench, fail_call=call)
        if call == "clCreateProgramWithSource":
            env["XDG_CACHE_HOME"] = os.path.abspath("no programs")
        bench.ran_or_told(call, "call.tif", bench.want, *OPTIONS, env=env)


if __name__ == "__main__":
    base.test(ready, small_groups, one_context, run_once, run_for_good, tiles, every_call)
