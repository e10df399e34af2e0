#!/usr/bin/python3
"""Two runs on the same output at once: the second stops with a sentence, or both end well; nothing is broken."""
# fault_two_runs.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import socket
import subprocess
import time

import fault_base as base

COMMAND = ("run", "-q", "scene", "-o", "o.tif", "--tile", "128")
MARKER = "o.tif.part-owner"


def start(bench, *more):
    return subprocess.Popen([bench.program, *COMMAND, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


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
        first = start(bench)
        time.sleep(share * wall)
        second = start(bench)
        ends = [end(second), end(first)]
        bench.check(f"two runs, {share:.2f} of a run apart", stopped_well(ends) and whole([dem]),
                    f"{ends}, left {base.aside('o.tif')}")
    for _ in range(2):
        base.sweep("o.tif")
        ends = [end(p) for p in [start(bench, "--overwrite"), start(bench, "--overwrite", "--cost", "census")]]
        bench.check("two runs with other parameters", stopped_well(ends) and whole([dem, census]),
                    f"{ends}, left {base.aside('o.tif')}")
    base.sweep("o.tif")
    base.put(MARKER, b"nowhere/x 1 1\n")
    os.utime(MARKER, (0, 0))
    ends = [end(p) for p in [start(bench) for _ in range(4)]]
    bench.check("four runs that find an old marker", stopped_well(ends) and whole([dem]), f"{ends}, left {base.aside('o.tif')}")


def while_one_stands(bench, dem):
    """The first is held in its middle: the second must not touch anything of it."""
    base.sweep("o.tif")
    first = start(bench)
    for _ in range(2000):
        if os.path.exists("o.tif.job/scene.sdm"):
            break
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)
    bench.refuse("another run is at it", 1, ["o.tif", "another run", str(first.pid)], *COMMAND[2:])
    bench.refuse("another run is at it, --overwrite", 1, ["o.tif", "another run"], *COMMAND[2:], "--overwrite")
    first.send_signal(signal.SIGCONT)
    code, said = end(first)
    bench.check("the first goes on", code == 0 and whole([dem]), f"exit code {code}: {said}, left {base.aside('o.tif')}")


def markers(bench, dem):
    """Left by processes that are gone, on this machine and on others."""
    ghost = subprocess.Popen(["true"])
    ghost.wait()
    here = f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}" if os.path.exists("/proc/self/ns/pid") else None
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
    bench.refuse("marker of another machine", 1, ["elsewhere", MARKER, "remove"], *COMMAND[2:])
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
    markers(bench, dem)
    side_by_side(bench, dem, census, wall)


base.test(two_runs)
