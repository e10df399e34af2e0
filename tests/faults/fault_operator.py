#!/usr/bin/python3
"""An operator's day: 30 scenes of which 3 cannot be, tasks that are killed, a list that changes twice; nothing is done twice,
nothing is lost, exit codes are as documented, and the accounts add up."""
# fault_operator.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import csv
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import fault_base as base

JOB = "job"
KEYS = ("wall_s", "user_s", "system_s", "cpu_s")
spent = {"cpu": 0.0, "done": 0}  # of tasks that computed a unit: processor time by the system's account


def last(done):
    return json.loads([line for line in done.stdout.split("\n") if line][-1])


def plan(bench, scenes, code):
    base.put("scenes.txt", "".join(f"{name}/{name}.tif {name}/right.tif\n" for name in scenes).encode())
    done = bench.call("plan", "--list", "scenes.txt", "-o", JOB, "--overwrite", "--tile", "128", "--log", "json")
    bench.check(f"plan of {len(scenes)} scenes", done.returncode == code and last(done)["exit_code"] == code, done.stderr)
    asks = last(done)
    bench.check("what to ask for", 64 < asks["task_memory_mib"] < 2000 and asks["task_minutes"] >= 5, str(asks))
    return asks["unit_count"]


def tiles(bench, units, kill=0):
    """Every unit as a task of its own, in any order, some of them killed; how many were computed."""
    draw, computed = random.Random(units), 0
    order = list(range(units))
    draw.shuffle(order)
    for number, unit in enumerate(order):
        task = subprocess.Popen([bench.program, "tile", JOB, str(unit), "--threads", "2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        if number < kill:
            time.sleep(0.02 * number)
            task.send_signal(signal.SIGKILL)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = task.communicate(timeout=base.SECONDS)[1]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if task.returncode == 0 and said.rstrip().endswith(": done"):
            spent["cpu"] += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            computed += 1
    spent["done"] += computed
    return computed


def status(bench, *more):
    done = bench.call("status", JOB, "--log", "json", *more)
    return done.returncode, last(done)


def accounts(bench, merged):
    """What the units' headers say against what the tasks said; merged: scenes that were."""
    done = bench.call("status", JOB, "--accounting", "accounts.json", "--log", "json")
    bench.check("accounts", done.returncode == 3 and last(done)["accounting"]["units"] > 0, done.stderr)
    told = json.loads(base.content("accounts.json"))
    units, totals = told["units"], told["totals"]
    for key in KEYS:
        sums = [sum(part[key] for part in parts) for parts in (units, told["kinds"].values(), [totals])]
        bench.check(f"{key} adds up", max(sums) - min(sums) < 1e-6 and sums[0] > 0, str(sums))
    bench.check("every merge", sum(unit["kind"] == "merge" for unit in units) == merged, str(told["kinds"]))
    blocks = [(unit["name"], unit["unit"]) for unit in units if unit["kind"] == "block"]
    bench.check("every block once", len(blocks) == len(set(blocks)) >= merged, str(blocks))
    computed = sum(unit["cpu_s"] for unit in units if unit["kind"] != "merge")
    bench.check("processor time is within the system's account", 0.6 * spent["cpu"] <= computed <= spent["cpu"] + 0.1,
                f"{computed} of {spent['cpu']} s")
    stages = [sum(unit["stages_s"].values()) - unit["wall_s"] for unit in units]
    bench.check("stages add up", max(map(abs, stages)) < 0.01 and min(u["stages_s"]["other"] for u in units) > -0.05, str(stages))
    bench.check("hosts and memory", all(u["host"] and u["peak_bytes"] > 1 << 24 for u in units))
    done = bench.call("status", JOB, "--accounting", JOB + "/plan.json", "--overwrite")
    bench.check("the plan stays", done.returncode == 2 and "whose .json files are the job's own" in done.stderr, done.stderr)
    bench.check("accounts as CSV", bench.call("status", "-q", JOB, "--accounting", "accounts.csv").returncode == 3)
    with open("accounts.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for key in KEYS:
        bench.check(f"CSV, {key}", abs(sum(float(row[key]) for row in rows) - totals[key]) < 0.001 * len(rows) + 1e-6)
    bench.check("CSV, units", [(r["name"], r["kind"], int(r["peak_bytes"])) for r in rows] ==
                [(u["name"], u["kind"], u["peak_bytes"]) for u in units])


def wrong_heights(scenes):
    """Scenes whose DEM has other heights than that of run: all are copies of one of two pairs."""
    true = [base.read_raster(f"true{number}.tif", "float32") for number in (0, 1)]
    return [name for name in scenes if not os.path.exists(f"{JOB}/dem/{name}.tif") or
            base.read_raster(f"{JOB}/dem/{name}.tif", "float32") != true[int(name[1:]) % 10 == 1]]


def make_scenes(bench):
    """s00 to s29, three of them hopeless: one is not there, one is cut short, one shows nothing."""
    base.simulate(bench, "small", "rpc", "--gsd", "15", "--relief", "200", side=240)
    base.simulate(bench, "large", "rpc", "--gsd", "15", "--relief", "200", side=300)
    for number, name in enumerate(("small", "large")):
        bench.make("run", "-q", f"{name}/left.tif", f"{name}/right.tif", "-o", f"true{number}.tif", "--tile", "128")
    for number in range(30):
        name, source = f"s{number:02d}", "large" if number % 10 == 1 else "small"
        if number == 7:
            continue
        os.mkdir(name)
        shutil.copy(f"{source}/left.tif", f"{name}/{name}.tif")
        shutil.copy(f"{source}/right.tif", f"{name}/right.tif")
    base.put("s13/right.tif", base.content("s13/right.tif")[:1000])
    data = bytearray(base.content("s24/s24.tif"))
    middle = len(data) // 2
    data[middle:middle + 8000] = bytes(8000)
    base.put("s24/s24.tif", data)


def day(bench):
    make_scenes(bench)
    every = [f"s{number:02d}" for number in range(30)]
    hopeless = {"s07", "s13", "s24"}
    first = every[5:25]
    units = plan(bench, first, 3)
    tiles(bench, units // 2, kill=6)  # the rest of the array never starts
    done = bench.call("merge", "-q", JOB)
    bench.check("units are missing yet: 1", done.returncode == 1 and "stereodem tile" in done.stderr, done.stderr)
    begun = {name for name in first if os.path.exists(f"{JOB}/dem/{name}.tif")}
    stamps = {path: os.stat(path).st_mtime_ns for path in glob.glob(f"{JOB}/dem/*.tif")}
    bench.check("some are merged", len(begun) > 2, str(begun))

    second = every[:15] + every[20:25]  # five at the head, five fewer in the middle
    units = plan(bench, second, 3)
    had = status(bench)[1]["done"]
    computed = tiles(bench, units)
    bench.check("nothing is done twice", had > 0 and had + computed <= units and computed < units, f"{had} + {computed} of {units}")
    done = bench.call("merge", "-q", JOB)
    bench.check("all but hopeless ones: 3", done.returncode == 3 and "3 of 20 scenes" in done.stderr, f"{done.returncode}: {done.stderr}")
    code, state = status(bench)
    bench.check("status: 3", code == 3 and state["exit_code"] == 3 and state["scenes_merged"] == 17, str(code))
    failed = {s["name"][:3] for s in status(bench, "--failed")[1]["scenes"]}
    bench.check("status --failed", failed == hopeless, str(failed))
    bench.check("DEMs of the first list are as they were", all(os.stat(p).st_mtime_ns == t for p, t in stamps.items()))

    units = plan(bench, every[::-1], 3)
    tiles(bench, units, kill=3)
    computed = tiles(bench, units)
    bench.check("once more, what was killed alone", computed <= 3, str(computed))
    done = bench.call("merge", "-q", JOB)
    bench.check("the whole list: 3", done.returncode == 3 and "3 of 30 scenes" in done.stderr, f"{done.returncode}: {done.stderr}")
    bench.check("DEMs are as they were", all(os.stat(p).st_mtime_ns == t for p, t in stamps.items()))
    wrong = wrong_heights([name for name in every if name not in hopeless])
    bench.check("every DEM is run's", not wrong, str(wrong))

    accounts(bench, 27)

    bench.check("a name for all", bench.call("merge", "-q", JOB, "-o", "one.tif").returncode == 2)
    bench.make("plan", "-q", "s03/s03.tif", "s03/right.tif", "-o", "one", "--tile", "128")
    bench.make("tile", "-q", "one", f"0-{base.read_plan('one')['unit_count'] - 1}")
    bench.make("merge", "-q", "one", "0", "-o", "one.tif")
    bench.check("merge -o NAME.tif", base.read_raster("one.tif", "float32") == base.read_raster("true0.tif", "float32") and os.path.exists("one_qa.tif"))


base.test(day)
