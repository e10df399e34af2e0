#!/usr/bin/python3
# The processor's bytes by every OpenCL implementation that is here, each alone: run with zncc and census; match with local,
# sgm and bp.  And `bench papers` ends well on each.
# test_opencl.py [STEREODEM [SOURCE_DIR]]     exits 77 when there is none; scripts/opencl lists them
# SPDX-License-Identifier: Apache-2.0
import json
import os
import time

import harness as t
from with_gdal import image, np
work = t.work
os.environ["RUSTICL_ENABLE"] = "llvmpipe"


def scene():
    return [t.simulate(os.path.join(work, "scene"), "--width", 340, "--height", 320, "--lon", 7, "--lat", 45, "--cloud", 0.05,
                       "--lake", 0.05, "--jitter", 0.15)]


def pair():
    """A texture at three disparities, with noise."""
    rng = np.random.default_rng(1)
    ground = rng.integers(0, 256, (90, 400))
    left, right = ground[:, 40:360], np.concatenate([ground[:30, 47:367], ground[30:60, 52:372], ground[60:, 60:380]])
    names = [os.path.join(work, name) for name in ("left.tif", "right.tif")]
    return [image(name, np.clip(view + rng.integers(-8, 9, view.shape), 0, 255).astype(np.uint8)) for name, view in zip(names, (left, right))]


SCENE, PAIR = scene(), pair()
CASES = [("run zncc", ["run"], SCENE, ["--cost", "zncc", "--optimizer", "local"], ("", "_qa")),
         ("run census", ["run"], SCENE, ["--cost", "census", "--optimizer", "local"], ("", "_qa"))]
CASES += [("match %s" % name, ["match"], PAIR, ["--max-disparity", 40, "--optimizer", name], ("",)) for name in ("local", "sgm", "bp")]


def bytes_of(case, device):
    _, command, inputs, options, ends = case
    out = os.path.join(work, "out.tif")
    done = t.call([t.PROGRAM] + command + inputs + ["-o", out, "--overwrite", "--quiet", "--device", device] + options)
    return [t.digest(t.companion(out, end + ".tif")) for end in ends] if done.returncode == 0 else None


usual = [bytes_of(case, "cpu") for case in CASES]
t.expect(all(usual), "the processor makes them")
tried = 0
for line in t.call([os.path.join(t.SOURCE, "scripts", "opencl"), "--list"]).stdout.splitlines():
    name, _, library = line.partition(" ")
    os.environ["OCL_ICD_VENDORS"] = library or "none"
    listed = json.loads(t.call([t.PROGRAM, "devices", "--log", "json"]).stdout.splitlines()[-1])
    if not any(d["can_run"] and d["device"] == "opencl:0" for d in listed["devices"]):
        print("%s is not here, skipped" % name)
        continue
    tried += 1
    for case, want in zip(CASES, usual):
        begin = time.monotonic()
        found = bytes_of(case, "opencl")
        t.expect(found == want, "%s: %s gives the processor's bytes (%.1f s)" % (name, case[0], time.monotonic() - begin))
    begin = time.monotonic()
    done = t.call([t.LAB, "bench", "papers", "--quick", "--repeats", 1, "--threads", 1, "--device", "opencl"])
    t.expect(done.returncode == 0 and "opencl:0" in done.stdout, "%s: bench papers ends (%.1f s)" % (name, time.monotonic() - begin))
if not tried:
    t.skip("no OpenCL implementation")
t.finish()
