#!/usr/bin/python3
# run --device: the DEM, its QA raster and its ortho image have the processor's bytes, on every device of this machine.
# test_device.py [STEREODEM [SOURCE_DIR]]     exits 77 when there is none
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import time

import harness as t


def made(inputs, dem, *options):
    """Digests of what a run wrote, and its seconds."""
    begin = time.monotonic()
    if not t.run(inputs, dem, *options):
        return None, 0.0
    return [t.digest(dem)] + [t.digest(t.companion(dem, end)) for end in ("_qa.tif", "_ortho.tif")], time.monotonic() - begin


def same(inputs, name, *options):
    """Every device against the processor."""
    dem = os.path.join(work, "dem.tif")
    usual, cpu_s = made(inputs, dem, "--device", "cpu", *options)
    if not t.expect(usual is not None, "%s runs on the processor" % name):
        return
    for device in exact:
        found, device_s = made(inputs, dem, "--device", device, *options)
        t.expect(found == usual, "%s: %s gives the processor's bytes (%.1f s; processor %.1f s)" % (name, device, device_s, cpu_s))
        t.expect('"%s"' % device in t.text_of(t.companion(dem, ".json")), "%s: the report names %s" % (name, device))


listed = json.loads(t.call([t.PROGRAM, "devices", "--log", "json"]).stdout.splitlines()[-1])
for api in ("opencl", "cuda"):
    if api + "_missing" in listed:
        print("%s: %s" % (api, listed[api + "_missing"]))
able = [d for d in listed["devices"] if d["can_run"]]
exact = [d["device"] for d in able if d["rounds_as_processor"]]
for d in listed["devices"]:
    print("%s %s: %s" % (d["device"], d["name"], d["what"]))
if not exact:
    t.skip("no device that rounds as the processor does")
work = t.work
small = t.simulate(os.path.join(work, "small"), "--width", 340, "--height", 320, "--lon", 7, "--lat", 45, "--cloud", 0.05,
                   "--lake", 0.05, "--jitter", 0.15)
pair = t.simulate(os.path.join(work, "pair"), "--layout", "rpc", "--width", 400, "--height", 400, "--gsd", 0.5,
                  "--relief", 60, "--lon", 7, "--lat", 45)
images = [os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")]
for cost in ("zncc", "census"):
    same([small], "ASTER " + cost, "--cost", cost)
same([small], "ASTER in tiles", "--tile", 97)
veils = t.simulate(os.path.join(work, "veils"), "--width", 543, "--height", 557, "--lon", 7, "--lat", 45, "--relief", 100, "--cloud", 0.46,
                   "--cloud-kind", "cirrus", "--seed", 2026, "--noise", 1.43, "--texture", 13.05, "--pointing-across", 1.54)
same([veils], "ASTER with veils")
same([small], "ASTER in little memory", "--memory", "96M")
same([small], "ASTER with cells of 20 pixels", "--tr", 300)  # too many points a cell: the processor grids
same([small], "ASTER sgm", "--optimizer", "sgm")
same(images, "RPC pair sgm", "--optimizer", "sgm")  # level 0 is matched by the processor
same(images, "RPC pair")  # jumps to bridge: wide retries, on level 0, too
sample = os.path.join(t.SOURCE, "sampledata")
for name in sorted(os.listdir(sample)) if os.path.isdir(sample) else []:
    if name.endswith("_sim.hdf"):
        same([os.path.join(sample, name)], name)


def call_two(words):
    """A call with two devices; once more where PoCL 3.1 ends it: kernels of two of its devices race for a count of its own."""
    for _ in range(4):
        done = t.call(words)
        if "pocl_release_dlhandle_cache: Assertion" not in done.stderr:
            break
        for left in [w for w in words if str(w).endswith(".tif")]:
            shutil.rmtree(left + ".job", ignore_errors=True)
    return done


def shared(inputs, name, usual):
    """Two devices (PoCL shows the processor twice): each gets tiles, two at a time; run, then plan, tile, merge."""
    os.environ["POCL_DEVICES"] = "pthread pthread"
    listed = json.loads(t.call([t.PROGRAM, "devices", "--log", "json"]).stdout.splitlines()[-1])
    several = [d["device"] for d in listed["devices"] if d["device"].startswith("opencl") and d["rounds_as_processor"]]
    if len(several) > 1:
        dem, job = os.path.join(work, "shared.tif"), os.path.join(work, "job")
        words = ["--device", "opencl", "--tile", "64", "--optimizer", "local"]
        done = call_two([t.PROGRAM, "run"] + inputs + ["-o", dem, "--verbose", "--overwrite"] + words)
        t.expect(t.digest(dem) == usual, "%s: %d devices give the processor's bytes" % (name, len(several)))
        for device in several:
            t.expect(" px on %s, " % device in done.stderr, "%s: %s has tiles" % (name, device))
        if all(d["has_doubles"] for d in listed["devices"] if d["device"] in several):
            t.expect("cells came down" in done.stderr and "the surface came down" not in done.stderr, "%s: they grid" % name)
        lines = done.stderr.split("\n")
        first = next(i for i, line in enumerate(lines) if " px on " in line)
        begun = sum(" cells: " in line for line in lines[:first])
        t.expect(begun >= 2 * len(several), "%s: %d tiles begin before the first one ends" % (name, begun))
        t.call([t.PROGRAM, "plan"] + inputs + ["-o", job, "--quiet"] + words)
        units = json.loads(t.call([t.PROGRAM, "status", job, "--log", "json"]).stdout.splitlines()[-1])["units"]
        done = call_two([t.PROGRAM, "tile", job, "0-%d" % (units - 1), "--verbose"])
        for device in several:
            t.expect(" px on %s, " % device in done.stderr, "%s: %s has tiles of a job" % (name, device))
        os.mkdir(os.path.join(work, "merged"))
        t.call([t.PROGRAM, "merge", job, "-o", os.path.join(work, "merged"), "--quiet"])
        dems = [f for f in os.listdir(os.path.join(work, "merged")) if f.endswith(".tif") and not f.endswith(("_qa.tif", "_ortho.tif"))]
        t.expect(len(dems) == 1 and t.digest(os.path.join(work, "merged", dems[0])) == usual, "%s: the job's DEM is the same" % name)
    else:
        print("not run: no driver that shows two devices")
    del os.environ["POCL_DEVICES"]


if made([small], os.path.join(work, "usual.tif"), "--device", "cpu")[0]:
    shared([small], "two devices", t.digest(os.path.join(work, "usual.tif")))
t.finish()
