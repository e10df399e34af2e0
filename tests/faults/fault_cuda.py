#!/usr/bin/python3
"""`--device cuda` over a driver without a device (fake_cuda.c): what `devices` tells of it, drivers and devices that
cannot run, a device that is lost or has no memory left, once and for good.

    fault_cuda.py STEREODEM SOURCE_DIR FAKE_LIBRARY
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import sys

import fault_base as base

LOST, MEMORY = 719, 2  # CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_OUT_OF_MEMORY
MATCHING = ("--cost", "zncc", "--optimizer", "local")
OPTIONS = ("--device", "cuda", "--tile", "64", *MATCHING)
GO_ON = "the processor goes on"


def over(bench, **settings):
    folder = os.path.dirname(bench.library)
    return os.environ | {"LD_LIBRARY_PATH": folder} | {f"FAKE_CUDA_{k.upper()}": str(v) for k, v in settings.items()}


def ready(bench):
    if not os.path.exists(bench.library):
        print("SKIPPED: this build has no CUDA back end")
        bench.close()
        sys.exit(77)
    base.simulate(bench, "scene", "aster", "--lon", "7", "--lat", "45", side=256)


def devices(bench):
    done = bench.call("devices", "--log", "json", env=over(bench, devices=2))
    found = [d for d in json.loads(done.stdout.splitlines()[-1])["devices"] if d["device"].startswith("cuda")]
    bench.check("devices: both", [d["device"] for d in found] == ["cuda:0", "cuda:1"] and all(d["can_run"] for d in found),
                done.stdout)
    for settings, words in (({"capability": 70}, "compute capability 7.0 is older than 7.5"),
                            ({"driver": 11040}, "its driver is for CUDA 11.4, and the kernels of this build need"),
                            ({"fail": "cuInit:1:0:100"}, "driver does not start")):
        done = bench.call("devices", env=over(bench, **settings))
        bench.check(f"devices: {settings}", done.returncode == 0 and words in done.stdout, done.stdout)


def refused(bench):
    for name, device, settings, words in (
            ("none", "cuda", {"devices": 0}, ["--device cuda", "has no device"]),
            ("beyond the last", "cuda:2", {"devices": 2}, ["cuda:2", "found 2", "0 to 1"]),
            ("too old", "cuda:0", {"capability": 61}, ["6.1", "--device opencl serves it"]),
            ("an old driver", "cuda", {"driver": 11040}, ["Fake 0", "CUDA 11.4", "--device opencl may serve it"]),
            ("driver", "cuda", {"fail": "cuInit:1:0:803"}, ["does not start", "803"]),
            ("no kernels for it", "cuda", {"fail": "cuModuleLoadData:1:0:209"}, ["Fake 0", "the kernels", "209"]),
            ("all memory taken", "cuda", {"fail": "cuDevicePrimaryCtxRetain:1:0:2"}, ["Fake 0", "out of memory"]),
            ("nonsense", "cuda", {"nonsense": 1}, ["Fake 0", "instead of", "faulty"])):
        bench.refuse(f"--device {device}: {name}", 1, words, "scene", "-o", "dem.tif", "--device", device,
                     env=over(bench, **settings))


def told_in(done):
    """Lines of the log that say why a card is not taken, or was left."""
    return [line for line in done.stderr.splitlines()
            if "cannot be used" in line or "the processor goes on" in line or "device: the processor; cuda: " in line]


def every_call(bench):
    """Each call that the program makes fails, from the first time on, and when all else is well the 12th launch does: the card is
    lost at last, whatever else its driver refuses.  By itself the run ends well; --device cuda says a sentence."""
    calls = re.findall(r'F\("(cu\w+)"', base.content(os.path.join(bench.source, "gpu", "cuda_api.h")).decode())
    bench.check("calls", len(calls) > 30, str(calls))
    for call in calls:
        env = over(bench, fail=f"{call}:1:0:{LOST}", fail_too=f"cuLaunchKernel:12:0:{LOST}")
        done = bench.ran(f"auto: {call}", "auto.tif", bench.want, env=env)
        if done:
            told = told_in(done)
            bench.check(f"auto: {call}: one line", len(told) == 1, done.stderr[-500:])
            report = json.loads(base.content("auto.json"))
            why = report["work"].get("device_why", "")
            bench.check(f"auto: {call}: the device of the options", "cannot be used" not in told[0] or
                        report["effective_options"]["device"] == report["work"]["device"] == "cpu", str(report["effective_options"]["device"]))
            bench.check(f"auto: {call}: report", why and why in told[0], f"{why!r}: {told}")
            bench.check(f"auto: {call}: page", b"Devices: " in base.content("auto.html"), "nothing on the page")
        bench.ran_or_told(f"--device cuda: {call}", "dem.tif", bench.want, "--device", "cuda", env=env)


def automatic(bench):
    """Without --device nothing that a card does fails a run, whichever call it is, when it is opened or in the middle."""
    bench.make("run", "scene", "-o", "cpu.tif", "--quiet", "--device", "cpu")
    bench.want = base.bytes_of("cpu.tif")
    cases = [(f"calls from {at} on fail", {"fail": f"*:{at}:0:{LOST}"}) for at in (12, 16, 20, 30, 45, 60)]
    cases += [("memory ends", {"fail": f"cuMemAlloc_v2:8:0:{MEMORY}"}), ("fused products", {"fused": 1}), ("nonsense", {"nonsense": 1})]
    for name, settings in cases:
        done = bench.ran(f"auto: {name}", "auto.tif", bench.want, env=over(bench, **settings))
        bench.check(f"auto: {name}: told once", done and len(told_in(done)) == 1, str(done))
    for at in (1150, 1300, 1450):  # the last block is begun while one before it is in work, whose device is lost
        done = bench.call("run", "scene", "-o", "auto.tif", "--overwrite", "--tile", "80", *MATCHING,
                          env=over(bench, fail=f"*:{at}:0:{LOST}"))
        bench.check(f"auto: calls from {at} of tiles fail", done.returncode == 0, done.stderr[-300:])
    done = bench.call("run", "scene", "-o", "fused.tif", "--device", "cuda", env=over(bench, fused=1))
    bench.check("--device cuda: fused products", "does not round as the processor does" in done.stderr, done.stderr[-300:])


def resumed(bench):
    """Plan and report name what matched, also where all units are there and none asks for the card, which cannot be opened."""
    env = over(bench, fail=f"cuDevicePrimaryCtxRetain:1:0:{LOST}")
    words = ("run", "scene", "-o", "kept.tif", "--keep-job", "--tile", "80", *MATCHING)
    for name in ("first", "resumed"):
        done = bench.call(*words, env=env)
        planned = json.loads(base.content("kept.tif.job/plan.json"))
        bench.check(f"auto, {name}: the device is left", done.returncode == 0 and len(told_in(done)) == 1, done.stderr[-400:])
        bench.check(f"auto, {name}: the plan", '"device": "cpu"' in json.dumps(planned), json.dumps(planned)[:400])
        work = json.loads(base.content("kept.json"))["work"]
        bench.check(f"auto, {name}: the report", work["device"] == "cpu" and "cannot be used" in work.get("device_why", ""), str(work)[:400])
        for path in [p for p in os.listdir(".") if p.startswith(("kept.", "kept_")) and not os.path.isdir(p)]:
            os.remove(path)


def lost(bench):
    words = ("run", "scene", "-o", "dem.tif", "--overwrite", "--verbose")
    for at, error in ((80, LOST), (500, MEMORY)):
        done = bench.call(*words, *OPTIONS, env=over(bench, fail=f"*:{at}:0:{error}"))
        told = done.returncode == 0 and done.stderr.count(GO_ON) == 1 and "opened anew and asked once more" in done.stderr
        bench.check(f"run, calls from {at} fail with {error}: told, asked again", told, done.stderr[-300:])
    one = ("--device", "cuda", "--tile", "256", *MATCHING)  # over heights of kernels that did nothing each tile takes long
    done = bench.call(*words, *one, env=over(bench, fail="cuMemHostAlloc:1:0:2"))
    bench.check("no page-locked memory", "opened anew" not in done.stderr, done.stderr[-300:])


if __name__ == "__main__":
    base.test(ready, devices, refused, automatic, every_call, resumed, lost)
