#!/usr/bin/python3
"""Each call of OpenCL that the program makes fails for good, on a device that poses as a graphics card and is known to be faster
than the processor: by itself a run ends well, with the processor's bytes, and says in one line of the log and in the report why it
left the device; with --device opencl it says a sentence, or does without that call.  As fault_cuda.py does for CUDA.

Skipped where OpenCL has no device.
    fault_calls.py STEREODEM SOURCE_DIR PRELOAD
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re

import fault_base as base
import fault_card as posing

# The device is not there without these, or cannot be used, which no run waits for: nothing is to be said of it.
UNSEEN = ("clGetPlatformIDs", "clGetDeviceIDs")
# What fails when nothing depends on it any more, or has another way: the device goes on.
HARMLESS = ("clGetPlatformInfo", "clReleaseContext", "clReleaseCommandQueue", "clCreateProgramWithBinary", "clGetProgramBuildInfo",
            "clGetProgramInfo", "clReleaseProgram", "clReleaseKernel", "clGetKernelWorkGroupInfo", "clReleaseMemObject",
            "clEnqueueMapBuffer", "clEnqueueUnmapMemObject", "clReleaseEvent", "clFlush")

# Of copies that go through page-locked memory in pieces: small scenes have none.
PIECES = ("clEnqueueMarkerWithWaitList", "clWaitForEvents")


def told_in(done):
    return [line for line in done.stderr.splitlines()
            if "cannot be used" in line or "the processor goes on" in line or "device: the processor; " in line]


def ready(bench):
    posing.ready(bench)
    base.simulate(bench, "pieces", "aster", "--lon", "7", "--lat", "45", side=800)
    bench.make("run", "pieces", "-o", "pieces.tif", "--quiet", "--device", "cpu", *posing.OPTIONS[:2])
    bench.call("run", "scene", "-o", "auto.tif", "--overwrite", "--quiet", *posing.OPTIONS, env=posing.posing(bench))
    for path in posing.measured_files():
        posing.write(path, 0.01, 0.02)


def every_call(bench):
    with open(os.path.join(bench.source, "gpu", "opencl_api.h"), encoding="ascii") as f:
        calls = ["cl" + name for name in re.findall(r"F\([\w *]+, (\w+),", f.read())]
    bench.check("calls", len(calls) > 30 and not set(UNSEEN + HARMLESS) - set(calls), str(calls))
    for call in calls:
        scene = "pieces" if call in PIECES else "scene"
        options, want = posing.OPTIONS[:2] if call in PIECES else posing.OPTIONS, base.bytes_of(f"{scene}.tif")
        env = posing.posing(bench, SDM_FAIL_CALL=call)
        if call == "clCreateProgramWithSource":
            env["XDG_CACHE_HOME"] = os.path.abspath("no programs")
        done = bench.call("run", scene, "-o", "auto.tif", "--overwrite", *options, env=env)
        if bench.check(f"auto: {call}", done.returncode == 0, done.stderr[-300:]):
            bench.check(f"auto: {call}: bytes", base.bytes_of("auto.tif") == want, "other bytes than the processor's")
            told, work = told_in(done), json.loads(base.content("auto.json"))["work"]
            why = work.get("device_why", "")
            print(f"{call}: {work['device']}: {why}")
            if call in HARMLESS:
                bench.check(f"auto: {call}: not told", not told or why, str(told))
            else:
                bench.check(f"auto: {call}: one line", len(told) == (0 if call in UNSEEN else 1), done.stderr[-500:])
                bench.check(f"auto: {call}: report", call in UNSEEN or (why and why in told[0]), f"{why!r}: {told}")
        done = bench.call("run", scene, "-o", "dem.tif", "--overwrite", "--quiet", "--device", "opencl:0", *options, env=env)
        why = None if done.returncode == 0 and base.bytes_of("dem.tif") == want else base.judge(done, 1, [], ())
        bench.check(f"--device opencl:0: {call}", why is None, why)


if __name__ == "__main__":
    base.test(ready, every_call)
