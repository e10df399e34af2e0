#!/usr/bin/python3
"""plan, tile and merge under everything that happens on a cluster: whatever is done to a job, its DEM is that of run."""
# fault_job.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import fault_base as base

TILE = ("--tile", "128")


def plan(bench, job, *words):
    base.remove(job)
    bench.make("plan", "-q", *words, "-o", job)
    return base.read_plan(job)["unit_count"]


def expect(bench, name, job, true, *words):
    """merge must succeed, and DEM and QA raster must be run's to the byte."""
    done = bench.call("merge", "-q", job, *words)
    if bench.check(name, done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"):
        base.check_merged(bench, f"{name}: bytes", f"{job}/dem/{base.read_plan(job)['scenes'][0]['name']}.tif", true)


def every_unit(units):
    return f"0-{units - 1}"


def whole_job(bench):
    """A finished job to damage copies of."""
    base.simulate(bench, "scene", "aster")
    bench.make("run", "-q", "scene", "-o", "true.tif")
    units = plan(bench, "job", "scene", *TILE)
    bench.check("units of the job", units >= 10, f"{units}")
    order = list(range(units))
    random.Random(1).shuffle(order)
    bench.make("tile", "-q", "job", ",".join(str(i) for i in order))
    expect(bench, "units in random order", "job", "true.tif", "--keep-job")
    again = bench.call("merge", "-q", "job")
    bench.check("merged twice", again.returncode == 0, again.stderr)
    plan(bench, "small", "scene")
    bench.check("a small scene is one unit", base.read_plan("small")["unit_count"] == 1)
    bench.make("tile", "-q", "small", "0")
    expect(bench, "one unit", "small", "true.tif")
    left = sorted(os.listdir("small"))
    bench.check("units go when merged", left == ["dem", "plan.json", os.path.basename(base.product("small", 0))],
                str(left))
    return units


def copy_of(job, name="o"):
    base.remove(name)
    shutil.copytree(job, name)
    for left in (os.path.basename(base.product(name, 0)), "dem"):
        base.remove(f"{name}/{left}")


def damaged_units(bench, units):
    for kind in ("cut", "empty", "zeroed", "all zero", "one bit", "longer"):
        copy_of("job")
        base.change(base.unit("o", 3, "sdm"), kind)
        bench.refused(f"merge of a unit {kind}", ["units 3 ", "stereodem tile o 3"], "merge", "-q", "o")
        bench.make("tile", "-q", "o", every_unit(units))
        expect(bench, f"unit {kind}, computed again", "o", "true.tif")
    copy_of("job")
    base.change(base.scene("o", 0, "sdm"), "cut")
    bench.refused("merge without preparation", ["units 0 ", "stereodem tile o 0"], "merge", "-q", "o")
    bench.make("tile", "-q", "o", "0")
    expect(bench, "preparation computed again", "o", "true.tif")
    copy_of("job")
    for i in (2, 5, 6, 7):
        base.remove(base.unit("o", i, "sdm"))
    bench.refused("units missing", ["2,5-7", "stereodem tile o 2,5-7"], "merge", "-q", "o")
    listed = base.content("o/missing.txt").split()
    bench.check("missing.txt", listed == [b"2", b"5", b"6", b"7"], str(listed))
    state = base.state_of(bench, "o")
    bench.check("status of missing units", state["missing"] == 4 and state["done"] == units - 4, str(state))
    bench.make("tile", "-q", "o", "2,5-7")
    expect(bench, "missing units computed", "o", "true.tif")
    bench.check("missing.txt gone", not os.path.exists("o/missing.txt"))


def foreign_units(bench, units):
    plan(bench, "other", "scene", *TILE, "--cost", "census")
    bench.make("tile", "-q", "other", "0-4")
    for name in map(os.path.basename, (base.unit("job", 3, "sdm"), base.scene("job", 0, "sdm"))):
        copy_of("job")
        shutil.copy(f"other/{name}", f"o/{name}")
        bench.refused(f"{name} of other parameters", ["missing or damaged"], "merge", "-q", "o")
        told = bench.call("tile", "o", every_unit(units)).stderr.split("\n")
        told = [line for line in told if "computed again" in line]
        good = len(told) == 1 and name in told[0] and "other inputs or options" in told[0]
        bench.check(f"{name} of other parameters: one line", good, str(told))
        expect(bench, f"{name} of other parameters, computed again", "o", "true.tif")
    copy_of("job")
    os.rename(base.unit("o", 3, "sdm"), "held")
    os.rename(base.unit("o", 4, "sdm"), base.unit("o", 3, "sdm"))
    os.rename("held", base.unit("o", 4, "sdm"))
    bench.refused("units exchanged", ["3-4"], "merge", "-q", "o")
    text = base.content("o/plan.json")
    base.put("o/plan.json", text.replace(b'"version":"', b'"version":"9.'))
    for call in (("tile", "o", "3"), ("merge", "o"), ("status", "o")):
        bench.refused(f"{call[0]} of another version", ["stereodem 9.", "plan"], *call, "-q")
    for kind in ("cut", "empty", "all zero"):
        base.put("o/plan.json", text)
        base.change("o/plan.json", kind)
        bench.refused(f"plan {kind}", ["o/plan.json", "damaged"], "tile", "-q", "o", "3")
    base.put("o/plan.json", text)
    bench.refused("another plan in the same folder", ["o/plan.json", "--overwrite"], "plan", "-q", "scene", "-o", "o",
            code=2)
    bench.make("plan", "-q", "scene", "-o", "o", *TILE)  # the same plan is no harm
    bench.check("the same plan again", base.content("o/plan.json") == text)


def changed_input(bench, units):
    copy_of("job")
    base.remove(base.unit("o", 3, "sdm"))
    table = [f"scene/{p}" for p in os.listdir("scene") if p.endswith("3B.ImageData.tif")][0]
    at = os.stat(table)
    os.utime(table, ns=(at.st_atime_ns, at.st_mtime_ns - 86400 * 10**9))
    words = ["3B.ImageData.tif", "has changed", "then", "now", "Z"]
    bench.refused("tile with a changed input", words, "tile", "-q", "o", "3")
    bench.refused("merge with a changed input", ["1 of 1 scenes", *words], "merge", "-q", "o")
    state = bench.call("status", "o").stdout
    bench.check("status tells why", "has changed" in state, state)
    os.utime(table, ns=(at.st_atime_ns, at.st_mtime_ns // 10**9 * 10**9))  # as a copy keeps it
    bench.make("tile", "-q", "o", "3")
    expect(bench, "input as it was", "o", "true.tif")
    os.utime(table, ns=(at.st_atime_ns, at.st_mtime_ns))
    copy_of("job")
    os.rename("scene", "away")
    bench.refused("tile without its input", ["no such file", "planned"], "tile", "-q", "o", "3")
    expect(bench, "merge needs no input", "o", "true.tif")
    os.rename("away", "scene")


def moved_job(bench, units):
    """Job and scene moved together; then the job alone."""
    base.remove("far")
    os.makedirs("far/place")
    copy_of("job")
    for i in (0, 3):
        base.remove(base.unit("o", i, "sdm"))
    base.remove(base.scene("o", 0, "sdm"))
    shutil.copytree("o", "far/place/o")
    shutil.copytree("scene", "far/place/scene")
    os.rename("scene", "away")
    bench.make("tile", "-q", "far/place/o", every_unit(units))
    expect(bench, "moved with its scene", "far/place/o", "true.tif")
    os.rename("away", "scene")
    os.makedirs("far/off")
    shutil.copytree("o", "far/off/o")
    bench.make("tile", "-q", "far/off/o", every_unit(units))
    expect(bench, "moved alone", "far/off/o", "true.tif")


def full_disk(bench, units):
    def cap(limit):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    copy_of("job")
    size = os.path.getsize(base.unit("o", 3, "sdm"))
    base.remove(base.unit("o", 3, "sdm"))
    bench.refused("tile on a full disk", ["_000003.sdm", "make room"], "tile", "-q", "o", "3",
            preexec_fn=cap(size - 1))
    bench.refused("plan on a full disk", ["plan.json", "make room"], "plan", "-q", "scene", "-o", "full", *TILE,
            preexec_fn=cap(100))
    bench.check("nothing of a plan left", not os.path.exists("full"))
    left = [p for p in os.listdir("o") if ".part" in p]
    bench.check("nothing half-written", not left, str(left))
    bench.make("tile", "-q", "o", "3")
    bench.refused("merge on a full disk", ["1 of 1 scenes", "cannot be written"], "merge", "-q", "o",
            preexec_fn=cap(os.path.getsize("true_qa.tif") - 1))
    state = bench.call("status", "o").stdout
    bench.check("status tells of the merge", "merge failed" in state and "cannot be written" in state, state)
    made = [name for name in os.listdir("o/dem") if not name.endswith(".log")]
    bench.check("no product half-written", not made, str(made))
    expect(bench, "merge with room", "o", "true.tif")


def at_the_same_time(bench, units):
    plan(bench, "o", "scene", *TILE)
    tasks = [bench.start("tile", "o", units_of) for units_of in ("0", "0,1,2", every_unit(units), every_unit(units))]
    ends = [task.communicate(timeout=base.SECONDS)[1] for task in tasks]
    bench.check("four tasks on the same units", all(t.returncode == 0 for t in tasks), str(ends))
    expect(bench, "four tasks on the same units", "o", "true.tif")


def killed(bench, units):
    """Tasks are killed at random moments, one after the other; then merge is."""
    draw = random.Random(20190411)
    plan(bench, "o", "scene", *TILE)
    began = time.monotonic()
    for _ in range(6):
        task = bench.start("tile", "-q", "o", every_unit(units))
        number = draw.choice((signal.SIGKILL, signal.SIGTERM))
        try:
            task.wait(timeout=draw.uniform(0.05, 2.5))
        except subprocess.TimeoutExpired:
            task.send_signal(number)
        asked = time.monotonic()
        sentence = task.communicate(timeout=base.SECONDS)[1]
        took = time.monotonic() - asked
        good = task.returncode in (0, -number) or (task.returncode == 1 and "stopped on request" in sentence)
        bench.check(f"{signal.Signals(number).name}", good and took < 10, f"{took:.1f} s, {task.returncode}: {sentence}")
        if number == signal.SIGTERM and task.returncode == 1:
            left = [p for p in os.listdir("o") if ".part" in p and not p.endswith(".err")]
            bench.check("a polite stop records no failure", not any(p.endswith(".err") for p in os.listdir("o")), str(left))
    print(f"killed for {time.monotonic() - began:.1f} s")
    bench.make("tile", "-q", "o", every_unit(units))
    open(base.product("o", 0) + ".part-0123456789abcdef", "w").close()  # as of a merge that is killed while it writes it
    for _ in range(3):
        task = bench.start("merge", "-q", "o")
        try:
            task.wait(timeout=draw.uniform(0.02, 0.7))
        except subprocess.TimeoutExpired:
            task.kill()
        task.communicate()
    expect(bench, "tasks and merge killed", "o", "true.tif")
    left = sorted(os.listdir("o"))
    bench.check("tidy in the end", left == ["dem", "plan.json", os.path.basename(base.product("o", 0))], str(left))


def waiting(bench):
    """A tile waits for the one who prepares, ends at once when asked, and goes on by itself when nobody is there."""
    plan(bench, "o", "scene", *TILE)
    base.put(base.scene("o", 0, "sdm") + ".part-owner", b"somebody 1\n")
    task = bench.start("tile", "o", "5")
    time.sleep(1.5)
    bench.check("waits for the preparation", task.poll() is None and not os.path.exists(base.unit("o", 5, "sdm")))
    task.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    sentence = task.communicate(timeout=base.SECONDS)[1]
    good = task.returncode == 1 and "stopped on request" in sentence and "waiting" in sentence
    bench.check("stops while it waits", good and time.monotonic() - asked < 5, f"{task.returncode}: {sentence}")
    bench.make("tile", "-q", "o", "5", "--wait", "0.5")
    bench.check("waits no longer than told", os.path.exists(base.unit("o", 5, "sdm")))
    prepared_once(bench)


def prepared_once(bench):
    """Tasks that begin together prepare the scene once; where the preparer is killed, another one does."""
    for kill in (False, True):
        units = plan(bench, "o", "scene", *TILE)
        owner = base.scene("o", 0, "sdm") + ".part-owner"
        tasks = [bench.start("tile", "-v", "o", str(unit)) for unit in range(4)]
        while kill and all(task.poll() is None for task in tasks):
            holder = base.content(owner).split() if os.path.exists(owner) else []
            if len(holder) > 1 and not os.path.exists(base.scene("o", 0, "sdm")):
                os.kill(int(holder[1]), signal.SIGKILL)
                break
        ends = [(task.communicate(timeout=base.SECONDS)[1], task.returncode) for task in tasks]
        prepared = sum("coarse surface " in said for said, code in ends if code == 0)
        killed = [code for _, code in ends if code != 0]
        bench.check(f"four tasks, preparer killed: {kill}", prepared == 1 and killed == ([-signal.SIGKILL] if kill else []),
                    f"prepared {prepared} times, exit codes {killed}")
        bench.make("tile", "-q", "o", every_unit(units))
        expect(bench, f"four tasks, preparer killed: {kill}", "o", "true.tif")


def indices(bench, units):
    copy_of("job")
    for i in range(units):
        base.remove(base.unit("o", i, "sdm"))
    for name, value, words, made in (("SGE_TASK_ID", "4", (), (3,)), ("PBS_ARRAY_INDEX", "4", (), (4,)),
                                     ("JOB_COMPLETION_INDEX", "5", (), (5,)), ("SLURM_ARRAY_TASK_ID", "3", ("--count", "2"), (6, 7)),
                                     ("PBS_ARRAY_INDEX", "9", ("--index-base", "1"), (8,))):
        bench.make_with({name: value}, "tile", "-q", "o", "--index-env", name, *words)
        there = tuple(i for i in range(units) if os.path.exists(base.unit("o", i, "sdm")))
        bench.check(f"{name}={value} {words}", there == made, f"units {there}, expected {made}")
        for i in made:
            base.remove(base.unit("o", i, "sdm"))
    for value in ("undefined", "", "0", "-1", "1.5", "99999999999999999999"):
        bench.refused(f"SGE_TASK_ID={value}", ["SGE_TASK_ID"], "tile", "-q", "o", "--index-env", "SGE_TASK_ID", code=2,
                env=os.environ | {"SGE_TASK_ID": value})
    bench.refused("no such variable", ["NOT_SET"], "tile", "-q", "o", "--index-env", "NOT_SET", code=2)
    for text in ("x", "3-", "-3", "3-2", "1,,2", "1;2", "3,", "0x3"):
        bench.refused(f"units '{text}'", ["unit"], "tile", "-q", "o", "--", text, code=2)
    bench.refused("beyond the last unit", ["unit 4000", f"0 to {units - 1}"], "tile", "-q", "o", "4000", code=2)
    bench.refused("no index", ["--index-env"], "tile", "-q", "o", code=2)
    bench.refused("no job", ["nowhere/plan.json"], "merge", "-q", "nowhere")
    bench.refused("no such scene", ["scene 7"], "merge", "-q", "o", "7", code=2)


def bad_scene(bench):
    """One bad scene of a list costs that scene alone."""
    base.simulate(bench, "second", "rpc", side=300)
    base.put("empty.hdf", b"")
    os.makedirs("list", exist_ok=True)
    base.put("list/scenes.txt", b"# three scenes and one that fails later\n../scene\n../empty.hdf\n\n"
             b"../second/left.tif \"../second/right.tif\" # a pair\n../cut\n")
    base.remove("cut")
    shutil.copytree("scene", "cut")
    name = [p for p in os.listdir("cut") if p.endswith("3N.ImageData.tif")][0]
    data = base.content(f"cut/{name}")
    base.put(f"cut/{name}", data[:len(data) // 2])
    base.remove("o")
    done = bench.call("plan", "--list", "list/scenes.txt", "-o", "o")
    bench.check("plan names the bad scene", done.returncode == 3 and "empty.hdf" in done.stderr, done.stderr)
    units = base.read_plan("o")["unit_count"]
    bench.check("units of good scenes alone", units == 3, f"{units}")
    bench.refused("one unit fails", ["cut", "cut short"], "tile", "-q", "o", "0-2")
    state = base.state_of(bench, "o")
    states = [s["state"] for s in state["scenes"]]
    bench.check("status", states == ["ready to merge", "not planned", "ready to merge", "failed"] and
                "cut short" in state["scenes"][3]["error"] and "empty" in state["scenes"][1]["error"], str(state))
    bench.refused("merge names both", ["2 of 4 scenes", "because of this"], "merge", "o", code=3)
    bench.check("the good ones are merged", sorted(p for p in os.listdir("o/dem") if p.endswith("sim.tif") or p == "left.tif") != [],
                str(os.listdir("o/dem")))
    names = [s["name"] for s in base.read_plan("o")["scenes"]]
    same = base.content(f"o/dem/{names[0]}.tif") == base.content("true.tif")
    bench.check("bytes of a scene among others", same)
    bench.make("run", "-q", "second/left.tif", "second/right.tif", "-o", "pair.tif")
    bench.check("bytes of a pair among others", base.content(f"o/dem/{names[2]}.tif") == base.content("pair.tif"))
    base.put("list/bad.txt", b"a b c\n")
    bench.refused("three names in a line", ["line 1", "bad.txt"], "plan", "-q", "--list", "list/bad.txt", "-o", "p", code=2)
    base.put("list/bad.txt", b"# nothing\n")
    bench.refused("an empty list", ["no scenes"], "plan", "-q", "--list", "list/bad.txt", "-o", "p", code=2)
    bench.refused("all scenes bad", ["nix"], "plan", "-q", "nix", "-o", "p")
    bench.check("no folder left", not os.path.exists("p"))


def jobs(bench):
    units = whole_job(bench)
    damaged_units(bench, units)
    foreign_units(bench, units)
    changed_input(bench, units)
    moved_job(bench, units)
    full_disk(bench, units)
    at_the_same_time(bench, units)
    killed(bench, units)
    waiting(bench)
    indices(bench, units)
    bad_scene(bench)


base.test(jobs)
