#!/usr/bin/python3
"""Two runs on the same output at once: the second stops with a sentence, or both end well; nothing is broken."""
# fault_two_runs.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import signal
import subprocess
import time

import fault_base as base

COMMAND = ("run", "-q", "scene", "-o", "o.tif", "--tile", "128")
MARKER = "o.tif.part-owner"


def end(process):
    """Exit code and what it said."""
    said = process.communicate(timeout=base.SECONDS)[1]
    return process.returncode, said.strip()


def stopped_well(ends):
    """Every run ended well, or was refused with one sentence; one at least made the DEM."""
    for code, said in ends:
        refused = (code == 1 and "another run" in said) or (code == 2 and "exists" in said)
        if code != 0 and not (refused and "\n" not in said):
            return False
    return any(code == 0 for code, _ in ends)


def whole(dems):
    """The DEM is one of these, every companion is there, nothing else."""
    return base.content("o.tif") in dems and all(map(os.path.isfile, base.products("o.tif"))) and not base.aside("o.tif")


def side_by_side(bench, dem, census, wall):
    for share in (0.0, 0.0, 0.15, 0.5, 0.9, 0.97):
        base.sweep("o.tif")
        first = bench.start(*COMMAND)
        time.sleep(share * wall)
        second = bench.start(*COMMAND)
        ends = [end(second), end(first)]
        bench.check(f"two runs, {share:.2f} of a run apart", stopped_well(ends) and whole([dem]),
                    f"{ends}, left {base.aside('o.tif')}")
    for _ in range(2):
        base.sweep("o.tif")
        ends = [end(p) for p in [bench.start(*COMMAND, "--overwrite"), bench.start(*COMMAND, "--overwrite", "--cost", "census")]]
        bench.check("two runs with other parameters", stopped_well(ends) and whole([dem, census]),
                    f"{ends}, left {base.aside('o.tif')}")
    base.sweep("o.tif")
    base.put(MARKER, b"nowhere/x 1 1\n")
    os.utime(MARKER, (0, 0))
    ends = [end(p) for p in [bench.start(*COMMAND) for _ in range(4)]]
    bench.check("four runs that find an old marker", stopped_well(ends) and whole([dem]), f"{ends}, left {base.aside('o.tif')}")


def while_one_stands(bench, dem):
    """The first is held in its middle: the second must not touch anything of it."""
    base.sweep("o.tif")
    first = bench.start(*COMMAND)
    for _ in range(2000):
        if glob.glob("o.tif.job/scene_*.sdm"):
            break
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)
    bench.refuse("another run is at it", 1, ["o.tif", "another run", str(first.pid)], *COMMAND[2:])
    bench.refuse("another run is at it, --overwrite", 1, ["o.tif", "another run"], *COMMAND[2:], "--overwrite")
    first.send_signal(signal.SIGCONT)
    code, said = end(first)
    bench.check("the first goes on", code == 0 and whole([dem]), f"exit code {code}: {said}, left {base.aside('o.tif')}")


def others_files():
    return {path: seen for path, seen in base.snapshot(".").items() if seen}


def taken_over(bench, dem):
    """The first is suspended for so long that another run takes its output over: it stops, and touches nothing of that one."""
    other = b"elsewhere/pid:[1]/b 1 77 0\n"
    for whole_run in (False, True):
        base.sweep("o.tif")
        first = bench.start(*COMMAND)
        while not glob.glob("o.tif.job/scene_*.sdm") and first.poll() is None:
            time.sleep(0.005)
        first.send_signal(signal.SIGSTOP)
        base.put(MARKER, other)
        if whole_run:  # another one, which is done by the time
            os.utime(MARKER, (0, 0))
            bench.make(*COMMAND)
        before = others_files()
        first.send_signal(signal.SIGCONT)
        code, said = end(first)
        after = others_files()
        word = "was removed" if whole_run else "process 1 on elsewhere"
        bench.check(f"taken over, {'until it was done' if whole_run else 'at work'}",
                    code == 1 and word in said and "\n" not in said and before == after,
                    f"exit code {code}: {said}, {set(before.items()) ^ set(after.items())}")
        if whole_run:
            bench.check("the other's files", whole([dem]), f"left {base.aside('o.tif')}")


def markers(bench, dem):
    """Left by processes that are gone, on this machine and on others."""
    ghost = subprocess.Popen(["true"])
    ghost.wait()
    here = base.place()
    gone = {"empty": b"", "no text of ours": bytes(range(256)) * 4, "another machine": b"elsewhere/pid:[1] 1 77\n"}
    if here:
        gone["a process that ended"] = f"{here} {ghost.pid} 77\n".encode()
        gone["a number that another process has now"] = f"{here} {os.getpid()} 77\n".encode()
    for name, text in gone.items():
        base.sweep("o.tif")
        base.put(MARKER, text)
        if "process" not in name:  # nothing but time can tell
            os.utime(MARKER, (time.time() - 4000, time.time() - 4000))
        done = bench.call(*COMMAND)
        bench.check(f"marker of {name}", done.returncode == 0 and whole([dem]),
                    f"exit code {done.returncode}: {done.stderr}, left {base.aside('o.tif')}")
    base.sweep("o.tif")
    base.put(MARKER, gone["another machine"])
    bench.refuse("marker of another machine", 1, ["elsewhere", MARKER, "remove", "again after 3"], *COMMAND[2:])
    os.utime(MARKER, (time.time() + 3600, time.time() + 3600))  # its clock is ahead
    before = base.content(MARKER)
    done = bench.call(*COMMAND)
    bench.check("marker of a clock that is ahead", done.returncode == 1 and "sign of life 0 s ago" in done.stderr and "after 31 s" in done.stderr and
                base.content(MARKER) == before and abs(os.stat(MARKER).st_mtime - time.time()) < 60, f"{done.returncode}: {done.stderr}")
    os.utime(MARKER, (time.time() - 31, time.time() - 31))  # 31 s later, nobody has renewed it
    done = bench.call(*COMMAND)
    bench.check("31 s later", done.returncode == 0 and whole([dem]), f"{done.returncode}: {done.stderr}")
    base.sweep("o.tif")
    base.put(MARKER, gone["another machine"])
    base.remove(MARKER)


def two_runs(bench):
    base.simulate(bench, "scene", "aster")
    began = time.monotonic()
    bench.make(*COMMAND)
    wall = time.monotonic() - began
    dem = base.content("o.tif")
    bench.make(*COMMAND, "--overwrite", "--cost", "census")
    census = base.content("o.tif")
    while_one_stands(bench, dem)
    taken_over(bench, dem)
    markers(bench, dem)
    side_by_side(bench, dem, census, wall)


base.test(two_runs)
