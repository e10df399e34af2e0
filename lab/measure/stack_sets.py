#!/usr/bin/python3
# Sets of five simulated scenes with errors of one kind each -> how many times better than one scene their stack is.
# stack_sets.py STEREODEM SOURCE_DIR [SET ...]     a minute of a core a set; the table of docs/stack.md
# SPDX-License-Identifier: Apache-2.0
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "chain"))
import harness as t

COMMON = "--lon 7 --lat 45 --seed 4 --striping 1 --orbit-noise 0.3 --velocity-noise 0.05 "
USUAL = COMMON + "--jitter 0.15 --noise 1 --cloud 0.08"
SETS = {
    "jitter 0.15 px, seeds 1-5": (USUAL, 1),
    "jitter 0.15 px, seeds 6-10": (USUAL, 6),
    "jitter 0.15 px, seeds 11-15": (USUAL, 11),
    "jitter 0.15 px, seeds 16-20": (USUAL, 16),
    "no jitter, noise 1 DN": (COMMON + "--noise 1 --cloud 0.08", 31),
    "no jitter, noise 4 DN": (COMMON + "--noise 4 --cloud 0.03", 41),
    "jitter 0.3 px of 15 km, relief 1500 m, 20 % cloud":
    ("--lon 7 --lat 45 --seed 9 --relief 1500 --jitter 0.3 --jitter-frequency 0.001 --noise 2 --cloud 0.2", 51),
    "jitter 0.2 px of 1.5 km, relief 300 m":
    ("--lon 7 --lat 45 --seed 11 --relief 300 --jitter 0.2 --jitter-frequency 0.01 --noise 2", 61),
    "orbit 30 m, 2 m/s": ("--lon 7 --lat 45 --seed 12 --orbit-noise 30 --velocity-noise 2 --noise 2 --cloud 0.1", 71),
}


def one(work, name, options, first):
    dems, single = [], []
    for i in range(first, first + 5):
        scene = t.simulate(os.path.join(work, "scene%d" % i), "--width", 700, "--height", 700, "--error-seed", i,
                           "--pointing-across", 1 + 0.1 * (i % 10), "--pointing-along", ((i * 37) % 9 - 4) / 10.,
                           *options.split())
        dems.append(os.path.join(work, "run%d.tif" % i))
        t.run([scene], dems[-1])
        found = t.compare(dems[-1], os.path.join(work, "scene%d" % first, "truth.tif"), "--class",
                          os.path.join(scene, "class.tif"))
        single.append(found["aligned"]["nmad"])
    better = []
    for bias in ("keep", "auto"):
        out = os.path.join(work, "stack.tif")
        t.call([t.PROGRAM, "stack"] + dems + ["-o", out, "--overwrite", "--quiet", "--bias", bias])
        found = t.compare(out, os.path.join(work, "scene%d" % first, "truth.tif"))
        better.append(statistics.median(single) / found["aligned"]["nmad"])
    print("| %s | %.2f m | %.2f | %.2f |" % (name, statistics.median(single), *better), flush=True)


for name, (options, first) in SETS.items():
    if len(sys.argv) < 4 or name in sys.argv[3:]:
        one(t.folder(), name, options, first)
