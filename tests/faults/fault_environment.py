#!/usr/bin/python3
"""What the environment sets and limits: PROJ's data of another version, GDAL's settings, threads, stacks, memory, control groups."""
# fault_environment.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import pathlib
import resource
import shutil
import subprocess
import time

import fault_base as base

OTHER_USER = 54321


def proj(bench):
    """A database that PROJ cannot read is named, not what was asked of it; nothing else is printed."""
    os.makedirs("old", exist_ok=True)
    base.put("points.csv", b"lon,lat,height\n7,45,300\n")
    base.put("old/proj.db", b"no database")
    for folder in ("old", "/nonexistent"):
        for name in ("PROJ_LIB", "PROJ_DATA"):
            env = {k: v for k, v in os.environ.items() if k not in ("PROJ_LIB", "PROJ_DATA")} | {name: folder}
            words = ["PROJ ", "proj.db", f"{name}={folder} in the environment", "unset it"]
            bench.refuse(f"{name}={folder}: run", 1, words, "scene", "-o", "no.tif", env=env)
            bench.refuse(f"{name}={folder}: a geoid", 1, words, "scene", "-o", "no.tif", "--vertical", "egm96", env=env)
            bench.refuse(f"{name}={folder}: info", 1, words, "scene", command="info", env=env)
            bench.refuse(f"{name}={folder}: points", 1, words, "a.tif", "points.csv", command="compare", env=env)
            bench.refuse(f"{name}={folder}: stack", 1, words, "a.tif", "b.tif", "-o", "no.tif", command="stack", env=env)
    bench.refuse("a bad CRS is still one", 2, ["--t_srs EPSG:999999"], "scene", "-o", "no.tif", "--t_srs", "EPSG:999999")


def readdir(bench):
    """A setting for images on the network does not hide the RPC beside an image on a disk."""
    os.makedirs("beside", exist_ok=True)
    for name in ("left", "right"):
        subprocess.run(["gdal_translate", "-q", "-co", "PROFILE=BASELINE", f"pair/{name}.tif", f"beside/{name}.tif"], check=True)
        base.remove(f"beside/{name}.tif.aux.xml")
    if not glob.glob("beside/*.RPB") + glob.glob("beside/*_RPC.TXT"):
        print("SKIPPED: this GDAL writes no RPC beside an image")
        return
    bench.make("run", "-q", "beside/left.tif", "beside/right.tif", "-o", "one.tif")
    for setting in ("EMPTY_DIR", "TRUE"):
        bench.make_with({"GDAL_DISABLE_READDIR_ON_OPEN": setting}, "run", "-q", "beside/left.tif", "beside/right.tif", "-o", "two.tif", "--overwrite")
        bench.check(f"{setting}: the same DEM", base.content("one.tif") == base.content("two.tif"))


def settings(bench):
    """Settings of GDAL that would hide or invent what inputs hold are taken for their usual values; HDF4 needs no driver of it."""
    for name in ("left", "right"):
        subprocess.run(["gdal_translate", "-q", "-of", "PNG", "-ot", "UInt16", f"pair/{name}.tif", f"{name}.png"], check=True)
    subprocess.run(["gdalwarp", "-q", "-t_srs", "EPSG:4326+5773", "-tr", "0.0003", "0.0003", "pair/truth.tif", "degrees.tif"], check=True)
    command = ("run", "-q", "left.png", "right.png", "--reference", "degrees.tif", "-o")
    bench.make(*command, "usual.tif")
    for setting in ("GDAL_PAM_ENABLED=NO", "GTIFF_REPORT_COMPD_CS=NO", "GDAL_GEOREF_SOURCES=NONE", "GTIFF_POINT_GEO_IGNORE=TRUE",
                    "OSR_DEFAULT_AXIS_MAPPING_STRATEGY=AUTHORITY_COMPLIANT"):
        bench.make_with(dict([setting.split("=")]), *command, "set.tif", "--overwrite")
        bench.check(setting, base.content("usual.tif") == base.content("set.tif"))
    shutil.copytree("scene", "cut")
    image = glob.glob("cut/*3B.ImageData.tif")[0]
    base.put(image, base.content(image)[:os.path.getsize(image) * 6 // 10])
    bench.refuse("errors are no zeros", 1, ["cut short or damaged"], "cut", "-o", "no.tif", env=os.environ | {"GTIFF_IGNORE_READ_ERRORS": "YES"})
    sample = f"{bench.source}/sampledata/AST_L1A_00401012001180005_sim.hdf"
    bench.make("run", "-q", sample, "-o", "usual.tif", "--overwrite")
    bench.make_with({"GDAL_SKIP": "HDF4,HDF4Image"}, "run", "-q", sample, "-o", "set.tif", "--overwrite")
    bench.check("HDF4 without GDAL's driver", base.content("usual.tif") == base.content("set.tif"))


def threads(bench):
    """Fewer processes than threads: fewer threads, or a sentence; the same bytes.  Small stacks are refused."""
    def limited(processes):
        def begin():
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            if os.geteuid() == 0:  # the limit does not bind root
                os.setgroups([])
                os.setgid(OTHER_USER)
                os.setuid(OTHER_USER)
        return begin
    whole = base.content("a.tif")
    private = [f for f in pathlib.Path(bench.program).resolve().parents if not f.stat().st_mode & 1]
    if private:
        print(f"SKIPPED, few processes: another user cannot enter {private[0]}")
    elif os.geteuid() == 0:
        os.chmod(".", 0o777)
        for processes in (1, 2, 3, 5, 20):
            done = bench.call("run", "scene", "-o", "few.tif", "--threads", "8", preexec_fn=limited(processes))
            lines = [line for line in done.stderr.split("\n") if line.startswith("stereodem run: ") and ": warning" not in line]
            good = (done.returncode == 0 and base.content("few.tif") == whole) or (done.returncode == 1 and len(lines) == 1 and "no thread" in lines[0])
            bench.check(f"{processes} processes", good and "libgomp" not in done.stderr and (processes > 11 or "threads are used" in done.stderr or done.returncode),
                        f"{done.returncode}: {done.stderr}")
            base.sweep("few.tif")
    for name, value in (("OMP_STACKSIZE", "64K"), ("OMP_STACKSIZE", "100"), ("GOMP_STACKSIZE", " 65536 B"), ("OMP_STACKSIZE", "16k")):
        bench.refuse(f"{name}={value}", 2, [f"{name}={value}", "at least 256 KiB", "unset it"], "scene", "-o", "no.tif", env=os.environ | {name: value})
    for value in ("256K", "4M", "1 G", "rubbish"):
        done = bench.call("run", "-q", "scene", "-o", "stack.tif", env=os.environ | {"OMP_STACKSIZE": value})
        bench.check(f"OMP_STACKSIZE={value}", done.returncode == 0 and base.content("stack.tif") == whole, done.stderr)
        base.sweep("stack.tif")
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (200 << 10, 200 << 10))}
    bench.refuse("ulimit -s 200", 2, ["stack is 200 KiB", "ulimit -s"], "scene", "-o", "no.tif", **small)
    for given, expected in ((("--threads", "2"), 2), ((), 1)):
        done = bench.call("match", "l.tif", "r.tif", "-o", "m.tif", "--max-disparity", "9", "--overwrite", "--log", "json", *given,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
        bench.check(f"OMP_NUM_THREADS=1 {given}", json.loads(done.stdout.splitlines()[-1])["threads"] == expected, done.stdout)


def cache(bench):
    """A platform of OpenCL that cannot write its cache has no device: what it lacks is named."""
    vendor = "/etc/OpenCL/vendors/pocl.icd"
    if not os.path.exists(vendor):
        print("SKIPPED: no pocl here")
        return
    env = dict(os.environ, OCL_ICD_VENDORS=vendor, HOME="/dev/null", XDG_CACHE_HOME="/dev/null/c", POCL_CACHE_DIR="/dev/null/c")
    said = bench.call("devices", env=env).stdout
    bench.check("a cache that cannot be written is named", "opencl     none" not in said or "(HOME, POCL_CACHE_DIR)" in said, said)


def group(controller, settings):
    """A control group of this test's own; None where it cannot be made."""
    for path, version in ((f"/sys/fs/cgroup/{controller}/stereodem_{os.getpid()}", 1), (f"/sys/fs/cgroup/stereodem_{os.getpid()}", 2)):
        try:
            if version == 1 and not os.path.exists(os.path.join(os.path.dirname(path), "cgroup.procs")):
                continue
            os.mkdir(path)
        except OSError:
            continue
        try:
            for name, value in settings[version]:
                base.put(os.path.join(path, name), value)
            return path
        except OSError:
            os.rmdir(path)
    return None


def groups(bench):
    """Memory and quota of a control group: the defaults keep within them, and a budget beyond is told."""
    def inside(path):
        def begin():
            with open(f"{path}/cgroup.procs", "w", encoding="utf-8") as file:
                file.write(str(os.getpid()))
        return {"preexec_fn": begin}

    def leave(path):
        for _ in range(50):
            try:
                return os.rmdir(path)
            except OSError:
                time.sleep(0.1)
    memory = group("memory", {1: [("memory.limit_in_bytes", "300M")], 2: [("memory.max", "300M")]})
    if memory:
        bench.check("plan in a group", bench.call("plan", "-q", "scene", "-o", "job", **inside(memory)).returncode == 0)
        told = base.content("job/plan.json").decode()
        bench.check("three quarters of it", str(225 << 20) in told or '"225M"' in told, told[:2000])
        done = bench.call("run", "scene", "-o", "more.tif", "--memory", "2G", **inside(memory))
        bench.check("more than it grants", done.returncode == 0 and "--memory is 2048 MiB" in done.stderr and "give 225 MiB or less" in done.stderr, done.stderr)
        done = bench.call("run", "scene", "-o", "more.tif", "--overwrite", **inside(memory))
        bench.check("the default keeps within", done.returncode == 0 and "--memory" not in done.stderr, done.stderr)
        leave(memory)
    little = group("memory", {1: [("memory.limit_in_bytes", "88M")], 2: [("memory.max", "88M")]})
    if little:
        bench.refuse("too little for the scene", 1, ["--memory 66 MiB (the default: at most 3/4 of what is granted here)", "give at least"],
                     "scene", "-o", "no.tif", **inside(little))
        leave(little)
    quota = group("cpu", {1: [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "90000")], 2: [("cpu.max", "90000 100000")]})
    if quota:
        done = bench.call("match", "l.tif", "r.tif", "-o", "m.tif", "--max-disparity", "9", "--overwrite", "--log", "json", **inside(quota))
        bench.check("a quota of 0.9 processors", json.loads(done.stdout.splitlines()[-1])["threads"] == 1, done.stdout)
        leave(quota)
    if not memory and not quota:
        print("no control groups can be made here")


def environment(bench):
    base.simulate(bench, "scene", "aster")
    base.simulate(bench, "pair", "rpc", side=300)
    for name in ("l.tif", "r.tif"):
        base.write_tiff(name, 1200, 1200, "uint8", bytes((7 * k * k) % 251 for k in range(1200)) * 1200)
    for name in ("a", "b"):
        bench.make("run", "-q", "scene", "-o", f"{name}.tif", *(["--cost", "census"] if name == "b" else []))
    if os.geteuid() == 0:
        for root, _, _ in os.walk("scene"):
            os.chmod(root, 0o755)
    proj(bench)
    readdir(bench)
    settings(bench)
    threads(bench)
    groups(bench)
    cache(bench)
    shutil.rmtree("job", ignore_errors=True)


base.test(environment)
