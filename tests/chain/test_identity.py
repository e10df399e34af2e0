#!/usr/bin/python3
# The same bytes in the DEM, its QA raster and its ortho image for any number of threads, tile size, memory budget and CPU level.
# test_identity.py [STEREODEM [SOURCE_DIR]]     exits 77 when gdal_translate is missing
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t

SETTINGS = [["--threads", 1], ["--threads", 2], ["--threads", 3], ["--tile", 97], ["--tile", 200], ["--memory", "96M"],
            ["--threads", 1, "--tile", 131, "--memory", "200M"]]
LEVELS = ["c", "neon", "sse4.2", "avx2", "avx512bw", "avx512"]


def bytes_of(scene, dem, *options):
    if not t.run(scene, dem, *options):
        return None
    return [t.digest(dem)] + [t.digest(t.companion(dem, end)) for end in ("_qa.tif", "_ortho.tif")]


def differences(scene, name, options, settings):
    """Every setting against the plain run of one scene."""
    first, other = os.path.join(work, "first.tif"), os.path.join(work, "other.tif")
    usual = bytes_of(scene, first, *options)
    if not t.expect(usual is not None, "%s runs" % name):
        return
    for more in settings:
        found = bytes_of(scene, other, *(options + more))
        said = "%s: %s gives the same bytes" % (name, " ".join(str(m) for m in more))
        if found is None and more[0] == "--cpu-level":
            print("no %s here" % more[1])
        elif not t.expect(found == usual, said) and found:
            print("  DEM, QA, ortho: same %s" % [a == b for a, b in zip(found, usual)])


t.tool("gdal_translate")
work = t.work
scene = t.simulate(os.path.join(work, "aster"), "--width", 500, "--height", 500, "--lon", 7, "--lat", 45, "--roll", 5,
                   "--seed", 3, "--jitter", 0.15, "--pointing-across", 1.2, "--cloud", 0.05, "--lake", 0.05)
small = t.simulate(os.path.join(work, "small"), "--width", 340, "--height", 320, "--lon", 7, "--lat", 45)
tiny = t.simulate(os.path.join(work, "tiny"), "--width", 240, "--height", 220, "--lon", 7, "--lat", 45)
pair = t.simulate(os.path.join(work, "pair"), "--layout", "rpc", "--width", 500, "--height", 500, "--gsd", 0.5,
                  "--relief", 60, "--lon", 7, "--lat", 45)
images = [os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")]
differences([scene], "aster zncc", ["--cost", "zncc"], SETTINGS)
for cost in ("zncc", "census"):
    differences([small], "small " + cost, ["--cost", cost], [["--cpu-level", level] for level in LEVELS])
for optimizer in ("local", "sgm"):  # the reference is slow
    differences([tiny], "tiny " + optimizer, ["--optimizer", optimizer], [["--cpu-level", "reference"]])
differences([scene], "aster census", ["--cost", "census"], [["--threads", 1], ["--tile", 97]])
differences([scene], "aster with overviews", ["--tr", 11], [["--threads", 1], ["--tile", 300], ["--memory", "96M"]])
differences([small], "small sgm", ["--optimizer", "sgm"],
            [["--threads", 1], ["--threads", 3], ["--tile", 97]] + [["--cpu-level", level] for level in LEVELS])
differences(images, "rpc sgm", ["--optimizer", "sgm", "--cost", "census"], [["--threads", 1], ["--tile", 100]])
differences(images, "rpc zncc", ["--cost", "zncc"], [["--threads", 1], ["--tile", 100]])
sample = os.path.join(t.SOURCE, "sampledata")
for name in sorted(os.listdir(sample)) if os.path.isdir(sample) else []:
    if name.endswith("_sim.hdf"):
        differences([os.path.join(sample, name)], name, ["--cost", "zncc"], [["--threads", 1], ["--tile", 150]])
        differences([os.path.join(sample, name)], name + ", rasters beyond the budget", ["--tr", 11], [["--memory", "96M"]])
t.finish()
