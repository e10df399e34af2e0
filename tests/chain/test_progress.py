#!/usr/bin/python3
# Progress against the processor time of one thread, with --log json: it only grows, ends at 1, never jumps, never stands still, and is
# near the time that has passed.  A scene of terrain, one of a town (pixels of 0.5 m), and one in tiles.
# test_progress.py [STEREODEM]     exits 77 where there is no /proc
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess

import harness as t

if not os.path.exists("/proc/self/stat"):
    t.skip("no /proc")
TICKS = os.sysconf("SC_CLK_TCK")
work = t.work


def processor_s(process):
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def watch(scene, *options):
    """(share of the processor time, share done) of every progress line."""
    words = [t.PROGRAM, "run", f"{scene}/left.tif", f"{scene}/right.tif", "-o", f"{work}/dem.tif", "--overwrite", "--log", "json",
             "--threads", "1", *options]
    seen, spent = [(0.0, 0.0)], 0.0
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            event = json.loads(line)
            spent = processor_s(process.pid) or spent
            if event["event"] == "progress":
                seen.append((spent, event["done"]))
    t.expect(process.returncode == 0, "it runs")
    return [(at / spent, done) for at, done in seen]


def check(what, seen, most_off):
    steps = list(zip(seen, seen[1:]))
    jump, still = max(b[1] - a[1] for a, b in steps), max(b[0] - a[0] for a, b in steps)
    # what appears within a moment is a jump, too, in however many lines
    moment = max(b[1] - a[1] for i, a in enumerate(seen) for b in seen[i:] if b[0] - a[0] <= 0.02)
    off = max(abs(at - done) for at, done in seen)
    t.expect(all(a[1] <= b[1] for a, b in steps) and seen[-1][1] == 1.0, f"{what}: it only grows, to 1")
    t.expect(jump <= 0.11, f"{what}: the largest step is {100 * jump:.1f} points")
    t.expect(moment <= 0.2, f"{what}: in 2 % of the time it grows by {100 * moment:.1f} points at most")
    t.expect(still <= 0.2, f"{what}: it stands still for {100 * still:.1f} % of the time at most")
    t.expect(off <= most_off, f"{what}: it is off by {100 * off:.1f} points at most")


t.simulate(f"{work}/terrain", "--layout", "rpc", "--gsd", "15", "--width", "1700", "--height", "1700", "--relief", "600")
t.simulate(f"{work}/town", "--layout", "rpc", "--gsd", "0.5", "--width", "1100", "--height", "1100", "--relief", "20")
check("terrain", watch(f"{work}/terrain"), 0.2)
check("town", watch(f"{work}/town"), 0.2)
check("town in tiles", watch(f"{work}/town", "--tile", "200"), 0.35)
t.finish()
