#!/usr/bin/python3
"""Jobs as users leave them: odd lists, several merges at once, disks that are full or cannot be written, plans replaced."""
# fault_job_user.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import fault_base as base

TILE = ("--tile", "128")
MARKER = "o/dem/left.tif.part-owner"


def plan(bench, job="o", *more):
    base.remove(job)
    bench.make("plan", "-q", "pair/left.tif", "pair/right.tif", "-o", job, *TILE, *more)
    return base.read_plan(job)["unit_count"]


def computed(bench, job="o"):
    """A job whose units are all there."""
    if not os.path.exists("done"):
        units = plan(bench, "done")
        bench.make("tile", "-q", "done", f"0-{units - 1}")
    base.remove(job)
    shutil.copytree("done", job)


def is_runs(bench, name, folder):
    """DEM and QA raster are run's to the byte, and nothing else lies there."""
    base.check_merged(bench, name, f"{folder}/left.tif", "true.tif")


def planned(bench, text, *more):
    """The names of the scenes that plan finds in a list, and what it says."""
    base.put("l.txt", text)
    if "--overwrite" not in more:
        base.remove("o")
    done = bench.call("plan", "--list", "l.txt", "-o", "o", *TILE, *more)
    return [s["name"] for s in base.read_plan("o")["scenes"]] if os.path.exists("o/plan.json") else [], done


def lists(bench):
    """What editors make of a list; what is no list."""
    os.makedirs("my scenes", exist_ok=True)
    shutil.copytree("pair", "my scenes/a pair", dirs_exist_ok=True)
    plain = '# scenes\n\n"my scenes/a pair/left.tif" "my scenes/a pair/right.tif"\n \t\npair/left.tif\tpair/right.tif # twice\n'
    for name, text in (("plain", plain.encode()), ("CRLF", plain.replace("\n", "\r\n").encode()),
                       ("byte order mark", plain.encode("utf-8-sig")), ("no last line end", plain.rstrip().encode())):
        names, done = planned(bench, text)
        bench.check(f"list: {name}", names == ["left", "left_2"] and "not planned" not in done.stderr, done.stderr)
    names, done = planned(bench, b"pair/left.tif pair/right.tif\n# again:\npair/left.tif pair/right.tif\npair/right.tif pair/left.tif\n")
    bench.check("list: a pair twice, and turned round", names == ["left", "right"] and done.stderr.count("taken once") == 1 and
                "line 3 " in done.stderr and "line 1 " in done.stderr, f"{names} {done.stderr}")
    _, done = planned(bench, b"pair/left.tif pair/right.tif\n./pair//left.tif pair/./right.tif\n")
    bench.check("list: one pair, two spellings", done.stderr.count("taken once") == 1)
    base.simulate(bench, "lone", "aster", "--lon", "7", "--lat", "45")
    names, done = planned(bench, b"pair/left.tif pair/right.tif\npair/left.tif pair/right.tif\nlone\n")
    bench.check("list: a scene that holds both views after a pair that stands twice", len(names) == 2 and
                not any("error" in s for s in base.read_plan("o")["scenes"]) and "not planned" not in done.stderr, done.stderr)
    base.remove("o")
    for name, text, words in (("UTF-16", plain.encode("utf-16"), ["l.txt", "UTF-8", "zero byte"]),
                              ("open quote", b'a b\n"left.tif right.tif\n', ["line 2", "quote"]),
                              ("a scene itself", base.content("pair/left.tif"), ["l.txt"]),
                              ("one long name", b"x" * 5000, ["line 1", "too long"])):
        base.put("l.txt", text)
        bench.refused(f"list: {name}", words, "plan", "-q", "--list", "l.txt", "-o", "o", code=2)
    shutil.copytree("my scenes/a pair", "a pair")
    base.put("l.txt", b"a pair\n")
    bench.refused("list: a name with blanks, no quotes", ["no such file"], "plan", "--list", "l.txt", "-o", "o")
    done = bench.call("plan", "--list", "l.txt", "-o", "o")
    bench.check("and quotes are thought of", "line 1 " in done.stderr and "quotes" in done.stderr, done.stderr)
    plan(bench, "it's a job")
    scene = base.read_plan("it's a job")["scenes"][0]
    bench.check("the plan tells the cost", scene.get("cost") == "zncc", str(scene.get("cost")))
    done = bench.call("merge", "-q", "it's a job")
    last = done.stderr.strip().split("\n")[-1]
    bench.check("merge tells a command for a shell", "stereodem tile 'it'\\''s a job' 0-" in last, last)
    os.mkdir(base.scene("it's a job", 0, "sdm"))
    bench.refused("a folder in a unit's place", [os.path.basename(base.scene("it's a job", 0, "sdm")), "remove what is in the way"], "tile", "-q", "it's a job", "0")
    base.remove("it's a job")
    bench.check("no folder left of a bad list", not os.path.exists("o"))


def names(bench):
    """A scene is not called as what lies beside another's DEM; thousands of one name take no longer than others."""
    for name in ("left", "left_qa", "left_ortho_2"):
        for side in ("left", "right"):
            os.makedirs(f"beside/{name}", exist_ok=True)
            shutil.copy(f"pair/{side}.tif", f"beside/{name}/{name if side == 'left' else side}.tif")
    where = ("left/left", "left_qa/left_qa", "left_ortho_2/left_ortho_2")
    for order, expected in (((0, 1, 2), ["left", "left_qa_2", "left_ortho_2"]), ((1, 0, 2), ["left_qa", "left_2", "left_ortho_2"])):
        found, _ = planned(bench, "".join(f"beside/{where[i]}.tif beside/{os.path.dirname(where[i])}/right.tif\n" for i in order))
        bench.check("names that lie beside a DEM", found == expected, str(found))
    base.remove("o")
    lines = []
    for folder in ("first", "second"):
        os.makedirs(f"beside/{folder}")
        for side in ("left", "right"):
            shutil.copy(f"pair/{side}.tif", f"beside/{folder}/{side}.tif")
        lines.append(f"beside/{folder}/left.tif beside/{folder}/right.tif\n")
    for kept, expected in ((lines, ["left", "left_2"]), (lines[1:], ["left_2"]), (lines[::-1], ["left_2", "left"])):
        found, _ = planned(bench, "".join(kept), "--overwrite")
        bench.check("planned again: a scene keeps its name, and so its DEM", found == expected, str(found))
    took = []
    for many in (500, 2000):  # none of them is there, but for one: naming is what takes the time
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found, done = planned(bench, "pair/left.tif pair/right.tif\n" + "".join(f"{i}/left\n" for i in range(many)))
        bench.check("all but one are not there", done.returncode == 3)
        took.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime)
        bench.check("names of many", found == ["left"] + [f"left_{i + 2}" for i in range(many)])
        base.remove("o")
    bench.check("time of many of one name", took[1] < 10 * took[0] + 1.0, f"500 took {took[0]:.2f} s, 2000 {took[1]:.2f} s")


def merges_at_once(bench):
    for keep in ((), ("--keep-job",), ("--overwrite",)):
        computed(bench)
        tasks = [bench.start("merge", "o", *keep) for _ in range(4)]
        ends = [task.communicate(timeout=base.SECONDS)[1] for task in tasks]
        bench.check(f"four merges {keep}", all(t.returncode == 0 for t in tasks), str(ends))
        is_runs(bench, f"four merges {keep}: bytes", "o/dem")
        bench.check("no marker left", not os.path.exists(MARKER))


def two_jobs_one_folder(bench):
    """Merges of two jobs into one folder at once: one is done, the other refused with a sentence or done before or after."""
    for job in ("o", "p"):
        plan(bench, job)
        bench.make("tile", "-q", job, f"0-{base.read_plan(job)['unit_count'] - 1}")
    first = bench.start("merge", "o", "-o", "both")
    while not os.path.exists("both/left.tif.part-owner") and first.poll() is None:
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    stands = os.path.exists("both/left.tif.part-owner")
    second = bench.call("merge", "-q", "p", "-o", "both")
    first.send_signal(signal.SIGCONT)
    said = first.communicate(timeout=base.SECONDS)[1]
    bench.check("two jobs into one folder", first.returncode == 0 and second.returncode == 1 and
                (not stands or "is being written by another run" in second.stderr), f"{said} {second.stderr}")
    is_runs(bench, "two jobs into one folder: bytes", "both")
    left = [name for name in os.listdir("both") if "part" in name]
    bench.check("two jobs into one folder: nothing left", not left, str(left))
    for folder in ("both", "o", "p"):
        base.remove(folder)


def merge_markers(bench):
    """A merge that stands is waited for; one that is gone, here or elsewhere, is not."""
    computed(bench)
    first = bench.start("merge", "o")
    while not os.path.exists(MARKER) and first.poll() is None:
        time.sleep(0.002)
    first.send_signal(signal.SIGSTOP)
    second = bench.start("merge", "o")
    time.sleep(2.0)
    third = bench.start("merge", "o")
    time.sleep(4.0)  # a loaded machine takes long to start it
    third.send_signal(signal.SIGTERM)
    said = third.communicate(timeout=base.SECONDS)[1]
    bench.check("a merge that waits ends when asked", third.returncode == 1 and "waiting" in said, f"{third.returncode}: {said}")
    waits = second.poll() is None
    first.send_signal(signal.SIGCONT)
    ends = [task.communicate(timeout=base.SECONDS)[1] for task in (first, second)]
    bench.check("the second waits", waits and first.returncode == 0 and second.returncode == 0, f"{waits}, {ends}")
    is_runs(bench, "after the wait: bytes", "o/dem")
    computed(bench)
    os.makedirs("o/dem")
    base.put(MARKER, b"elsewhere/pid:[1] 1 77\n")
    began = time.monotonic()
    done = bench.call("merge", "-q", "o")
    took = time.monotonic() - began
    bench.check("marker of another machine that is silent", done.returncode == 0 and took < 60, f"{took:.0f} s: {done.stderr}")
    is_runs(bench, "marker taken over: bytes", "o/dem")


def merged_elsewhere(bench):
    """The mark of a merge is no DEM."""
    computed(bench)
    base.remove("far")
    os.makedirs("far")
    bench.make("merge", "-q", "o", "--keep-job")
    bench.make("merge", "-q", "o", "-o", "far")
    is_runs(bench, "units kept, merged elsewhere, too", "far")
    base.remove("far")
    os.makedirs("far")
    bench.refused("units gone, merged elsewhere", ["far/left.tif", "not there", "--overwrite"], "merge", "-q", "o", "-o", "far")
    for where in ("far", "far/left.tif"):
        scene = ("o", "0") if where.endswith("tif") else ("o",)
        base.put("far/left.tif", b"another file")
        bench.refused(f"another file at {where}", ["far/left.tif", "is not the DEM", "--overwrite"], "merge", "-q", *scene, "-o", where)
        bench.check("it is left alone", base.content("far/left.tif") == b"another file")
        base.put("far/left.tif", base.content("o/dem/left.tif"))
        bench.make("merge", "-q", *scene, "-o", where)
        same = bytearray(base.content("o/dem/left.tif"))
        same[len(same) // 2] ^= 1
        base.put("far/left.tif", same)
        bench.refused(f"a byte differs at {where}", ["far/left.tif", "is not the DEM"], "merge", "-q", *scene, "-o", where)
    whole = base.content("o/dem/left.tif")
    base.put("o/dem/left.tif", whole + b"0")
    done = bench.call("merge", "o")
    bench.check("a DEM that was edited stays", done.returncode == 0 and "was changed since it was merged" in done.stderr and
                base.content("o/dem/left.tif") == whole + b"0", done.stderr)
    base.remove("o/dem/left.tif")
    done = bench.call("merge", "o")
    bench.check("a DEM that was moved away", done.returncode == 0 and "moved away" in done.stderr, done.stderr)
    units = base.read_plan("o")["unit_count"]
    bench.refused("to be computed again", [f"tile o 0-{units - 1}"], "merge", "-q", "o", "--overwrite")
    bench.make("tile", "-q", "o", f"0-{units - 1}")
    bench.make("merge", "-q", "o")
    is_runs(bench, "computed again: bytes", "o/dem")
    base.put("far/left.tif", b"another file")
    bench.refused("another file, to be replaced", [f"tile o 0-{units - 1}"], "merge", "-q", "o", "-o", "far", "--overwrite")
    bench.make("tile", "-q", "o", f"0-{units - 1}")
    bench.make("merge", "-q", "o", "-o", "far", "--overwrite")
    is_runs(bench, "replaced: bytes", "far")


def other_plan(bench):
    """What the old plan left behind says nothing of the new one."""
    units = plan(bench)
    base.put(base.unit("o", 1, "err"), "an old failure")
    base.put(base.unit("o", units, "sdm"), b"of an older plan still")
    bench.make("plan", "-q", "pair/left.tif", "pair/right.tif", "-o", "o", *TILE, "--cost", "census", "--overwrite")
    state = base.state_of(bench, "o")
    bench.check("old failures forgotten", state["failed"] == 0 and state["missing"] == units, str(state))
    bench.check("files beyond the plan removed", os.listdir("o") == ["plan.json"], str(os.listdir("o")))
    plan(bench)
    text = base.content("o/plan.json").replace(b'"col":128', b'"cut":128', 1)
    base.put("o/plan.json", text)
    for call in (("tile", "o", "1"), ("merge", "o"), ("status", "o")):
        bench.refused(f"{call[0]}: a tile without its place", ["o/plan.json", "damaged", "tile"], *call, "-q")


def numbers(bench):
    computed(bench)
    units = base.read_plan("o")["unit_count"]
    last = (units - 1) // 4
    bench.make_with({"TASK": str(last)}, "tile", "-q", "o", "--index-env", "TASK", "--count", "4")
    bench.refused("a task beyond the last", [f"unit {4 * (last + 1)} ", f"0 to {units - 1}"], "tile", "-q", "o", "--index-env",
            "TASK", "--count", "4", code=2, env=os.environ | {"TASK": str(last + 1)})
    for value in ("NaN", "-4", " 1", "1 ", "+1", "1e3", "\u0661"):
        bench.refused(f"TASK={value}", ["TASK", "whole number"], "tile", "-q", "o", "--index-env", "TASK", code=2,
                env=os.environ | {"TASK": value})


def small_budgets(bench):
    """A budget that cannot hold the scene is refused with one that can, and that one holds."""
    base.simulate(bench, "wide", "rpc", side=700)
    done = bench.call("plan", "-q", "wide/left.tif", "wide/right.tif", "-o", "p", "--memory", "64M")
    words = done.stderr.split("at least ")
    bench.check("budget refused", done.returncode == 1 and len(words) == 2, done.stderr)
    least = words[-1].strip()
    bench.make("plan", "-q", "wide/left.tif", "wide/right.tif", "-o", "p", "--memory", least)
    base.remove("p")
    less = f"{int(least[:-1]) - 1}M"
    bench.refused("a MiB less", [least], "plan", "-q", "wide/left.tif", "wide/right.tif", "-o", "p", "--memory", less)


def unseen(folder, name, size, side):
    """An image of the pair in `folder` made larger, without a pixel: cameras are all that plan reads."""
    shown = subprocess.run(["gdalinfo", "-json", f"{folder}/{name}.tif"], stdout=subprocess.PIPE, check=True)
    found = json.loads(shown.stdout)
    factor, rpc = size / side, found["metadata"]["RPC"]
    for axis in ("LINE", "SAMP"):
        rpc[f"{axis}_OFF"] = repr((float(rpc[f"{axis}_OFF"]) + 0.5) * factor - 0.5)
        rpc[f"{axis}_SCALE"] = repr(float(rpc[f"{axis}_SCALE"]) * factor)
    items = "".join(f'<MDI key="{key}">{value}</MDI>' for key, value in rpc.items())
    width, height = (int(n * factor) for n in found["size"])
    base.put(f"{folder}/{name}_{size}.vrt",
             f'<VRTDataset rasterXSize="{width}" rasterYSize="{height}"><Metadata domain="RPC">{items}</Metadata>'
             '<VRTRasterBand dataType="UInt16" band="1"/></VRTDataset>')
    return f"{folder}/{name}_{size}.vrt"


def vast_pairs(bench):
    """Pairs of 40,000 x 40,000 and 100,000 x 100,000 px are planned within the default budget and below it, and every unit
    fits; less than the least is refused with the least, which is taken."""
    base.simulate(bench, "coarse", "rpc", "--gsd", "200", "--relief", "300")
    for size in (40000, 100000):
        pair = [unseen("coarse", name, size, 400) for name in ("left", "right")]
        bench.make("plan", "-q", *pair, "-o", "v")
        scene = json.loads(base.content("v/plan.json"))["scenes"][0]
        need = [scene["preparation"]["memory_bytes"]] + [tile["memory_bytes"] for tile in scene["tiles"]]
        bench.check(f"{size} px within 2 GiB", scene["tiled"] and max(need) <= 2 << 30, f"{max(need) >> 20} MiB")
        bench.check(f"{size} px: tiles use 80 to 95 % of it", 0.80 <= max(need[1:]) / (2 << 30) <= 0.95, f"{max(need) >> 20} MiB")
        base.remove("v")
        words = bench.call("plan", "-q", *pair, "-o", "v", "--memory", "128M").stderr.split("at least ")
        bench.make("plan", "-q", *pair, "-o", "v", "--memory", words[-1].strip())
        base.remove("v")


def disks(bench):
    """A job on a disk that cannot be written, then on one that is too small; needs to be allowed to mount."""
    os.makedirs("disk", exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", "disk"]
    if os.geteuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("SKIPPED: not allowed to mount a small disk")
        return
    try:
        on_a_disk(bench)
    finally:
        subprocess.run(["umount", "disk"], check=False)


def remount(options):
    subprocess.run(["mount", "-o", f"remount,{options}", "disk"], check=True)


def on_a_disk(bench):
    units = plan(bench, "disk/o")
    every = f"0-{units - 1}"
    remount("ro")
    bench.refused("tile on a disk that is read only", ["disk/o", "cannot be written"], "tile", "-q", "disk/o", "0")
    bench.check("status of it", base.state_of(bench, "disk/o")["missing"] == units)
    remount("rw")
    bench.refused("tile on a full disk", ["No space left", "make room"], "tile", "-q", "disk/o", every)
    state = base.state_of(bench, "disk/o")
    bench.check("status of a full disk", state["done"] > 0 and state["failed"] > 0, str(state))
    whole = [p for p in os.listdir("disk/o") if ".part" in p]
    bench.check("nothing half-written", not whole, str(whole))
    remount("size=4m")
    bench.make("tile", "-q", "disk/o", every)
    used = os.statvfs("disk")
    remount(f"size={(used.f_blocks - used.f_bfree) * used.f_frsize // 1024 + 60}k")
    bench.refused("merge on a full disk", ["1 of 1 scenes", "cannot be written"], "merge", "-q", "disk/o")
    remount("size=8m,ro")
    bench.refused("merge on a disk that is read only", ["disk/o", "Read-only"], "merge", "-q", "disk/o")
    remount("rw")
    bench.make("merge", "-q", "disk/o")
    is_runs(bench, "after room was made: bytes", "disk/o/dem")
    remount("ro")
    bench.make("merge", "-q", "disk/o")  # all is done: nothing to write
    remount("rw")


def few_addresses(bench):
    """A limit of addresses (ulimit -v): done, or a sentence, but no end without one."""
    for limit_mib in (300, 360, 390, 440):
        plan(bench)
        cap = {"preexec_fn": lambda most=limit_mib << 20: resource.setrlimit(resource.RLIMIT_AS, (most, most))}
        done = bench.call("tile", "-q", "o", "0", "--threads", "1", **cap)
        base.remove("o")
        said = done.stderr.strip().split("\n")
        good = done.returncode == 0 or (done.returncode == 1 and len(said) == 1 and said[0])
        bench.check(f"{limit_mib} MiB of addresses", good, f"{done.returncode}: {done.stderr}")
        print(f"{limit_mib} MiB of addresses: {said[0]}", flush=True)


def node_faults(bench):
    """What one machine lacks is not final: merge names the unit, another machine computes it.  A damaged input is final."""
    os.makedirs("node", exist_ok=True)
    shutil.copytree("pair", "node/pair", dirs_exist_ok=True)
    shutil.copy(os.path.join(bench.source, "sampledata", "AST_L1A_00401012001180005_sim.hdf"), "node/a.hdf")
    base.put("node/l.txt", b"a.hdf\npair/left.tif pair/right.tif\n")
    subprocess.run(["gdalbuildvrt", "-q", "node/prior.vrt", "node/pair/truth.tif"], check=True)
    held = base.content("node/pair/right.tif")

    def missing():
        os.rename("node/pair", "node/away")
        os.rename("node/a.hdf", "node/away.hdf")

    def loop():
        missing()
        os.symlink("pair", "node/pair")
        os.symlink("a.hdf", "node/a.hdf")

    def back():
        for name, away in (("node/pair", "node/away"), ("node/a.hdf", "node/away.hdf")):
            if os.path.exists(away):
                base.remove(name)
                os.rename(away, name)
        base.put("node/pair/right.tif", held)
        os.utime("node/pair/right.tif", ns=(stamp, stamp))
    stamp = os.stat("node/pair/right.tif").st_mtime_ns
    for name, harm, env, word, failed in (
            ("no mount", missing, {}, "no such file here", "0-1"), ("a folder that cannot be entered", loop, {}, "cannot be read here: Too many levels", "0-1"),
            ("the images' driver", back, {"GDAL_SKIP": "GTiff"}, "a TIFF image, and this GDAL", "1"),
            ("an old copy", lambda: os.utime("node/pair/right.tif"), {}, "has changed since", "1")):
        base.remove("o")
        bench.make("plan", "-q", "--list", "node/l.txt", "-o", "o")
        harm()
        bench.refused(f"{name}: tile", [word], "tile", "-q", "o", failed if len(failed) == 1 else "0", env=os.environ | env)
        bench.call("tile", "-q", "o", "0-1", env=os.environ | env)
        back()
        done = bench.call("merge", "-q", "o")
        bench.check(f"{name}: merge tells what to compute", done.returncode == 1 and f"stereodem tile o {failed}" in done.stderr and
                    base.content("o/missing.txt").split() == [b"%d" % k for k in range(2) if str(k) in failed], f"{done.returncode}: {done.stderr}")
        bench.check(f"{name}: status", bench.call("status", "-q", "o").returncode != 3)
        bench.make("tile", "-q", "o", failed)
        done = bench.call("merge", "-q", "o")
        bench.check(f"{name}: another machine", done.returncode == 0, done.stderr)
    base.remove("o")
    bench.make("plan", "-q", "node/pair/left.tif", "node/pair/right.tif", "-o", "o", "--dem", "node/prior.vrt", "--dem-vertical", "ellipsoid")
    os.rename("node/pair/truth.tif", "node/away.tif")
    bench.refused("the source of a VRT: tile", ["truth.tif", "missing"], "tile", "-q", "o", "0")
    os.rename("node/away.tif", "node/pair/truth.tif")
    done = bench.call("merge", "-q", "o")
    bench.check("the source of a VRT: merge tells what to compute", "stereodem tile o 0" in done.stderr, done.stderr)
    cut = bytearray(held)
    cut[len(cut) // 3:] = bytes(len(cut) - len(cut) // 3)
    base.put("node/pair/right.tif", bytes(cut))  # as it was planned, damaged before
    base.remove("o")
    planned = bench.call("plan", "-q", "--list", "node/l.txt", "-o", "o")
    bench.call("tile", "-q", "o", "0-1")
    done = bench.call("merge", "-q", "o")
    bench.check("a damaged input is final", planned.returncode in (0, 3) and done.returncode == 3 and "1 of 2 scenes" in done.stderr,
                f"{planned.returncode} {done.returncode}: {done.stderr}")
    base.remove("o")
    base.remove("node")


def ready(bench):
    base.simulate(bench, "pair", "rpc", side=300)
    bench.make("run", "-q", "pair/left.tif", "pair/right.tif", "-o", "true.tif")


base.test(ready, lists, node_faults, names, merges_at_once, two_jobs_one_folder, merge_markers, merged_elsewhere, other_plan, numbers,
          small_budgets, vast_pairs, few_addresses, disks)
