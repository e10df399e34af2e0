#!/usr/bin/python3
"""What a scene costs: processor time, memory, bytes and file-system operations of plan, tile and merge; by hand."""
# cost.py STEREODEM SCENE [OPTION OF plan ...]     needs strace; times: the least of three; one thread a task, as xargs runs them
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, SCENE, OPTIONS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+)")


def timed(words):
    """Processor seconds and peak MiB of a command."""
    pid = os.fork()
    if pid == 0:
        os.execv(PROGRAM, [PROGRAM] + words)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit("stereodem %s failed" % " ".join(words))
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0


def traced(words, folder):
    """Counts of what a command does to files of the scene and the job: by name, and MB read and written."""
    log = os.path.join(folder, "trace")
    subprocess.run(["strace", "-ff", "-y", "-o", log, "-e", "trace=read,pread64,write,pwrite64,openat,rename,fsync", PROGRAM] + words,
                   check=True)
    ours = (os.path.join(folder, "job"), SCENE)
    sum_of = dict.fromkeys(("read", "written", "open", "rename", "fsync"), 0)
    for name in [e.path for e in os.scandir(folder) if e.name.startswith("trace.")]:  # one a thread
        with open(name, errors="replace") as f:
            lines = f.readlines()
        os.remove(name)
        for line in lines:
            m = CALL.match(line)
            if not m or int(m[3]) < 0 or not any(name in m[2] for name in ours):
                continue
            kind = {"read": "read", "pread64": "read", "write": "written", "pwrite64": "written", "openat": "open"}.get(m[1], m[1])
            sum_of[kind] += int(m[3]) / 1e6 if kind in ("read", "written") else 1
    return sum_of


def measure(what, words, folder, before):
    """One row; `before` puts the job back to where it was."""
    runs = []
    for _ in range(3):
        before()
        runs.append(timed(words))
    before()
    files = traced(words, folder)
    cost = (min(r[0] for r in runs), max(r[1] for r in runs))
    print("%-12s %6.2f s  %6.0f MiB  read %7.1f MB  written %7.1f MB  opened %3d, renamed %d, fsync %d" %
          (what, *cost, *[files[k] for k in ("read", "written", "open", "rename", "fsync")]), flush=True)
    return cost


def main():
    with tempfile.TemporaryDirectory(prefix="sdm_cost_") as folder:
        job, kept = os.path.join(folder, "job"), os.path.join(folder, "kept")
        plan = ["plan", "-q", SCENE, "-o", job] + OPTIONS
        measure("plan", plan, folder, lambda: shutil.rmtree(job, True))
        with open(os.path.join(job, "plan.json")) as f:
            units = int(re.search(r'"unit_count":(\d+)', f.read())[1])
        costs = []
        for unit in range(units):
            names = ["unit_*_%06d.sdm" % unit] + (["scene_*.sdm"] if unit == 0 else [])
            begin = lambda names=names: [os.remove(f) for n in names for f in glob.glob(os.path.join(job, n))]
            words = ["tile", "-q", job, str(unit), "--threads", "1"]
            if unit < 2 or unit == units // 2:
                costs.append(measure("unit %d" % unit, words, folder, begin))
            else:
                costs.append(timed(words))
        if units > 1:
            rest = costs[1:]
            print("%d tiles: %.1f s in all, %.2f s each, at most %.0f MiB" %
                  (len(rest), sum(c[0] for c in rest), sum(c[0] for c in rest) / len(rest), max(c[1] for c in rest)))
        print("units on the disk: %.1f MB" % (sum(e.stat().st_size for e in os.scandir(job)) / 1e6))
        shutil.copytree(job, kept)

        def again():
            shutil.rmtree(job)
            shutil.copytree(kept, job)
        measure("merge", ["merge", "-q", job, "--threads", "1"], folder, again)
        print("kept: %.1f MB" % (sum(e.stat().st_size for e in os.scandir(os.path.join(job, "dem"))) / 1e6))


main()
