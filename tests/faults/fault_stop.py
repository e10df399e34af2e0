#!/usr/bin/python3
"""A run is stopped at any moment; the same command again gives the same bytes.  Damaged finished work is done anew."""
# fault_stop.py STEREODEM SOURCE_FOLDER [LIBRARY]   LIBRARY: of stop_at_call.c, or "none"
# SPDX-License-Identifier: Apache-2.0
import os
import random
import shutil
import signal
import subprocess
import time

import fault_base as base

STOP_SECONDS = 10  # a polite stop takes no longer, on a busy machine too
COMMAND = ("run", "-q", "scene", "-o", "o.tif", "--tile", "128")


def after_stop(bench, name, number, done, sentence):
    """What a stopped run may leave: by a polite stop no file but finished work."""
    if number == signal.SIGKILL:
        return
    left = [p for p in os.listdir(".") if p.startswith("o") and p not in ("o.tif.job", "o.log")]
    job = os.listdir("o.tif.job") if os.path.isdir("o.tif.job") else ["nothing"]
    lines = [line for line in sentence.split("\n") if line]
    asked = len(lines) == 1 and "stopped on request" in lines[0]
    good = done in (1, 0) and (done == 0 or (asked and not left and job and not any(".part" in p for p in job)))
    # before the program is ready for signals, or when asked twice, the signal ends it at once
    good = good or (done == -number and not left)
    blocks = len([p for p in job if p.startswith("unit_") and p.endswith(".sdm")])
    if asked and "o.tif" in sentence:
        good = good and (f"{blocks} finished block" in sentence if blocks else "before the first block" in sentence)
    elif asked:
        good = good and job == ["nothing"] and "nothing is kept" in sentence
    bench.check(name, good, f"exit code {done}, left {left} {job}: {sentence}")


def stop_at(bench, number, seconds):
    """True when the run was stopped, False when it was done before."""
    process = bench.start(*COMMAND)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass
    asked = time.monotonic()
    process.send_signal(number)
    sentence = process.stderr.read()
    done = process.wait(timeout=base.SECONDS)
    name = f"{signal.Signals(number).name} after {seconds:.2f} s"
    took = time.monotonic() - asked
    bench.check(f"{name}: ends in time", took < STOP_SECONDS, f"took {took:.1f} s")
    after_stop(bench, name, number, done, sentence)
    return done != 0


def random_moments(bench, dem, wall):
    """Several stops of one run, one after the other; then it ends."""
    draw = random.Random(20110607)
    for chain in range(3):
        base.sweep("o.tif")
        stops = []
        for _ in range(3):
            number = draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU))
            seconds = draw.uniform(0.02, 1.0) * wall
            stops.append(f"{signal.Signals(number).name} {seconds:.2f} s")
            if not stop_at(bench, number, seconds):
                break
        done = bench.call(*COMMAND)
        left = base.aside("o.tif")
        # a run that was done before its last stop stays: the command then says that the DEM exists
        ended = done.returncode == 0 or (done.returncode == 2 and "exists" in done.stderr)
        bench.check(f"chain {chain}: {stops}", ended and base.content("o.tif") == dem and not left,
                    f"{stops}: exit code {done.returncode}, left {left}: {done.stderr}")


def nohup(bench, dem):
    """HUP stays ignored where the program was started so; it is not a stop then."""
    base.sweep("o.tif")
    process = subprocess.Popen([bench.program, *COMMAND], stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.1)
    process.send_signal(signal.SIGHUP)
    bench.check("nohup", process.wait(timeout=base.SECONDS) == 0 and base.content("o.tif") == dem, process.stderr.read())


def at_each_call(bench, dem):
    """Killed right before each rename and each removal of a run whose blocks are done, up to its end."""
    if not os.path.isfile(bench.library):
        print("SKIPPED: no library to preload")
        return
    for call in range(1, 100):
        base.sweep("o.tif")
        shutil.copytree("whole.job", "o.tif.job")
        seen = os.environ | {"LD_PRELOAD": bench.library, "SDM_STOP_AT": str(call)}
        done = bench.call(*COMMAND, env=seen)
        if done.returncode == 0:
            bench.check("calls to stop at", call > 12, f"only {call}")
            break
        before = os.path.exists("o.tif")
        again = bench.call(*COMMAND)
        ended = again.returncode == 0 or (before and "exists" in again.stderr)  # the latter: all was tidy already
        good = done.returncode == -signal.SIGKILL and ended and base.content("o.tif") == dem
        bench.check(f"killed before call {call}", good and not base.aside("o.tif"),
                    f"exit codes {done.returncode}, {again.returncode}; DEM named: {before}; left "
                    f"{base.aside('o.tif')}: {again.stderr}")


def while_naming(bench, dem):
    """Stopped between the first and the last rename, as the disk shows it; and after the last."""
    base.sweep("o.tif")
    bench.make(*COMMAND, "--keep-job")
    for path in ("o.tif", "o_qa.tif"):
        os.rename(path, f"o.tif.part-{'dem' if path == 'o.tif' else 'qa'}-0badcafe")
    base.put("o.tif.part-naming", b"1 0badcafe\n")
    done = bench.call(*COMMAND)
    bench.check("stopped while naming", done.returncode == 0 and base.content("o.tif") == dem and
                not base.aside("o.tif"), f"exit code {done.returncode}, left {base.aside('o.tif')}: {done.stderr}")
    base.put("o.tif.part-naming", b"1 0badcafe\n")
    bench.refuse("named by another job", 2, ["o.tif", "exists"], *COMMAND[2:])
    base.remove("o.tif.part-naming")
    bench.refuse("done, and asked for again", 2, ["o.tif", "exists"], *COMMAND[2:])


def damaged_work(bench, dem):
    """Every file of the job folder, damaged in every way, is computed again."""
    base.sweep("o.tif")
    bench.make(*COMMAND, "--keep-job")
    shutil.move("o.tif.job", "whole.job")
    names = sorted(os.listdir("whole.job"))
    plan, scene, *blocks = names
    expected = list(map(os.path.basename, ["plan.json", base.scene("whole.job", 0, "sdm"),
                                           *(base.unit("whole.job", i + 1, "sdm") for i in range(len(blocks)))]))
    bench.check("names in the job folder", names == expected and len(blocks) >= 4, str(names))
    plans = [[(scene, kind)] for kind in ("cut", "zeroed", "one bit")]
    plans += [[(blocks[i], kind) for i, kind in enumerate(("cut", "empty", "zeroed", "all zero"))],
              [(blocks[0], "one bit"), (blocks[1], "longer")], [(plan, "cut"), (blocks[0], "cut")]]
    for plan in plans:
        base.sweep("o.tif")
        shutil.copytree("whole.job", "o.tif.job")
        base.put(base.unit("o.tif.job", 1, "sdm") + ".part-0000000000000001", b"half a block")
        for name, kind in plan:
            base.change(f"o.tif.job/{name}", kind)
        expect_dem(bench, f"{plan}", dem)


def expect_dem(bench, name, dem):
    done = bench.call(*COMMAND)
    good = done.returncode == 0 and base.content("o.tif") == dem and not base.aside("o.tif")
    bench.check(name, good, f"exit code {done.returncode}, other bytes or left {base.aside('o.tif')}: {done.stderr}")


def changed_input(bench, _):
    """Work of an input that has changed since is not taken up."""
    base.sweep("o.tif")
    shutil.copytree("whole.job", "o.tif.job")
    table = [f"scene/{p}" for p in os.listdir("scene") if p.endswith("3B.RadiometricCorrTable.txt")][0]
    held = base.content(table)
    base.put(table, held.replace(b"1.000000", b"1.050000", 50) if b"1.000000" in held else held[:-1] + b"\n\n")
    bench.make(*COMMAND)
    changed = base.content("o.tif")
    base.sweep("o.tif")
    bench.make(*COMMAND)
    bench.check("input changed in place", changed == base.content("o.tif"), "the blocks of the old input were used")
    base.put(table, held)


def stops(bench):
    base.simulate(bench, "scene", "aster")
    began = time.monotonic()
    bench.make(*COMMAND)
    wall = time.monotonic() - began
    dem = base.content("o.tif")
    random_moments(bench, dem, wall)
    nohup(bench, dem)
    while_naming(bench, dem)
    damaged_work(bench, dem)
    at_each_call(bench, dem)
    changed_input(bench, dem)


base.test(stops)
