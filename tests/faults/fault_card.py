#!/usr/bin/python3
"""An OpenCL device that poses as a graphics card (opencl_fails.c, card.h): `auto` takes it where a measurement in the cache
says that it beats the processor, else not; all its queues lie in one context; its memory is shared with others, another run
or a program that takes and gives as it likes, and runs go on in smaller windows, or wait.

Skipped where OpenCL has no device.
    fault_card.py STEREODEM SOURCE_DIR PRELOAD
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import shutil
import struct
import subprocess
import threading
import time

import fault_base as base

SLOWER, TAKEN, MEASURED = "is slower than the processor: ", "device: ", "was measured in"
OPTIONS = ("--optimizer", "local", "--tile", "160")
MASK = 2**64 - 1


def content_hash(data):
    """core/hash.h, seed 0."""
    h = 0xCBF29CE484222325
    for i in range(0, len(data) - 7, 8):
        h = (h ^ int.from_bytes(data[i:i + 8], "little")) * 0x100000001B3 & MASK
        h ^= h >> 29
    for byte in data[len(data) // 8 * 8:]:
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def card(mib, taken=0):
    with open("card", "wb") as f:
        f.write(struct.pack("<qq", mib << 20, taken << 20))


def taken():
    return struct.unpack("<qq", base.content("card"))[1] >> 20


def change(mib):
    """Another program takes memory of the card, or gives it back; not exact beside a run, as nothing has to be."""
    with open("card", "r+b") as f:
        was = struct.unpack("<qq", f.read(16))[1]
        f.seek(8)
        f.write(struct.pack("<q", was + (mib << 20)))


def posing(bench, **more):
    return os.environ | {"LD_PRELOAD": bench.library, "SDM_CARD": os.path.abspath("card")} | more


def ready(bench):
    """Scenes, references, a cache of our own with the programs that were built before."""
    base.need_exact_opencl(bench)
    base.simulate(bench, "scene", "aster", "--lon", "7", "--lat", "45", side=256)
    base.simulate(bench, "large", "aster", "--lon", "7", "--lat", "45", side=640)
    for name in ("scene", "large"):
        bench.make("run", name, "-o", f"{name}.tif", "--quiet", "--device", "cpu", *OPTIONS)
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    bench.call("run", "scene", "-o", "first.tif", "--quiet", "--device", "opencl:0", *OPTIONS, timeout=500)  # builds kernels
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(usual, "pocl", "kcache"))
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
    shutil.copytree(os.path.join(usual, "stereodem"), "cache/stereodem")
    for path in measured_files():
        os.remove(path)
    card(4096)


def measured_files():
    return [p for p in glob.glob("cache/stereodem/*.bin") if base.content(p)[40:46] == b"speed "]


def write(path, device_s, processor_s, same=1):
    """In place of what was measured."""
    old = base.content(path)
    magic, key_bytes = struct.unpack("<16sQ", old[:24])
    data = f"1024 x 768: {device_s:.6f} {processor_s:.6f} {same}\n".encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<16sQQQ", magic, key_bytes, len(data), content_hash(data)) + old[40:40 + key_bytes] + data)


def auto(bench, name, words, never=(), env=None, options=OPTIONS):
    """A run with defaults: it ends well, its log has the words and no others, the bytes are the processor's."""
    done = bench.call("run", "scene", "-o", "auto.tif", "--overwrite", "--verbose", *options, env=env or posing(bench))
    good = bench.check(name, done.returncode == 0, done.stderr[-400:])
    if good:
        bench.check(name + ": bytes", base.bytes_of("auto.tif") == base.bytes_of("scene.tif"), "other bytes than the processor's")
        log = "\n".join(line for line in done.stderr.splitlines() if line)
        for word in words:
            bench.check(f"{name}: '{word}'", word in log, log[:1500])
        for word in never:
            bench.check(f"{name}: no '{word}'", word not in log, log[:1500])


def measured(bench):
    taken_line, cpu_line = " (opencl:0); 1024 x 768 px take 0.010 s, on the processor 0.020 s", "device: the processor"
    told = bench.call("devices", env=posing(bench)).stdout
    bench.check("devices: not measured", "measured before auto takes it" in told, told)
    auto(bench, "measured", [MEASURED, " px take "])
    path = measured_files()
    if not bench.check("one file", len(path) == 1, str(path)):
        return
    path = path[0]
    found = json.loads(bench.call("devices", "--log", "json", env=posing(bench)).stdout.splitlines()[-1])["devices"][0]
    bench.check("devices: measured", found.get("device_s", 0) > 0 and found.get("processor_s", 0) > 0, str(found))
    print(f"{found['name']}: {found['device_s']} s, the processor {found['processor_s']} s")
    write(path, 0.03, 0.02)
    auto(bench, "slower", [SLOWER + "1024 x 768 px take 0.030 s, on the processor 0.020 s", cpu_line], [MEASURED, "opencl:0 cannot be used"])
    told = bench.call("devices", env=posing(bench)).stdout
    bench.check("devices: slower", "never taken by auto, for it is slower than the processor; 1024 x 768 px take 0.030 s" in told, told)
    write(path, 0.01, 0.02)
    auto(bench, "faster", [taken_line, " px on opencl:0, "], [MEASURED, cpu_line])
    told = bench.call("devices", env=posing(bench)).stdout
    bench.check("devices: faster", "run; the processor's bytes; 1024 x 768 px take 0.010 s, on the processor 0.020 s" in told, told)
    auto(bench, "other threads: measured anew", [MEASURED], options=OPTIONS + ("--threads", "1"))
    write(path, 0.01, 0.02, 0)
    auto(bench, "other heights", ["opencl:0 cannot be used", "its heights of a test scene are not the processor's", cpu_line], [MEASURED])
    named = bench.call("run", "scene", "-o", "auto.tif", "--overwrite", "--verbose", "--device", "opencl", *OPTIONS, env=posing(bench))
    bench.check("a device that is named", named.returncode == 0 and " px on opencl:0, " in named.stderr and MEASURED not in named.stderr,
                named.stderr[-400:])
    for name, damage in (("cut short", lambda b: b[:-3]), ("empty", lambda b: b""), ("a bit", lambda b: b[:-4] + bytes([b[-4] ^ 1]) + b[-3:])):
        write(path, 0.01, 0.02)
        with open(path, "r+b") as f:
            whole = f.read()
            f.seek(0)
            f.truncate()
            f.write(damage(whole))
        auto(bench, "a damaged file: " + name, [MEASURED])
        bench.check("a damaged file is written anew: " + name, base.content(path) != damage(whole), "as it was")
    os.remove(path)
    with open("file", "w", encoding="ascii") as f:
        f.write("no folder\n")
    done = bench.call("devices", "--verbose", env=posing(bench, XDG_CACHE_HOME=os.path.abspath("file")), timeout=500)
    bench.check("no folder for a cache", done.returncode == 0 and "and devices measured each time" in done.stderr and " px take " in done.stdout,
                done.stdout + done.stderr[-400:])
    both = [subprocess.Popen([bench.program, "run", "scene", "-o", f"both{i}.tif", "--quiet", *OPTIONS], env=posing(bench)) for i in range(2)]
    bench.check("two at a time", [p.wait() for p in both] == [0, 0] and len(measured_files()) == 2, str(measured_files()))


def contexts(bench):
    """Two windows at a time have four queues, and one context."""
    done = bench.call("run", "large", "-o", "one.tif", "--verbose", "--device", "opencl:0", *OPTIONS, env=posing(bench, SDM_CONTEXTS="1"))
    bench.check("one context", done.returncode == 0 and "cannot be opened now" not in done.stderr and "once more" not in done.stderr,
                done.stderr[-400:])
    bench.check("one context: bytes", base.bytes_of("one.tif") == base.bytes_of("large.tif"), "other bytes than the processor's")


def start(bench, name):
    with open(f"{name}.log", "w", encoding="utf-8") as log:
        return subprocess.Popen([bench.program, "run", "large", "-o", f"{name}.tif", "--overwrite", "--verbose", "--device", "opencl:0", *OPTIONS],
                                env=posing(bench), stdout=log, stderr=log)


def ended(bench, name, run, words=()):
    code = run.wait(timeout=300)
    with open(f"{name}.log", encoding="utf-8") as f:
        log = f.read()
    if bench.check(name, code == 0, log[-600:]):
        bench.check(name + ": bytes", base.bytes_of(f"{name}.tif") == base.bytes_of("large.tif"), "other bytes than the processor's")
    for word in words:
        bench.check(f"{name}: '{word}'", word in log, log[-1500:])


def two_runs(bench):
    """On one card, with room for little more than one of them."""
    card(96)
    runs = {name: start(bench, name) for name in ("left", "right")}
    for name, run in runs.items():
        ended(bench, name, run, [", in parts"])
    bench.check("all is given back", taken() == 0, f"{taken()} MiB")


def others(bench):
    """Another program has nearly all of the memory when the run begins, gives it back, takes most of it again."""
    card(128, 124)
    run = start(bench, "waits")
    plan = threading.Thread(target=lambda: [(time.sleep(after), change(by)) for after, by in ((4, -124), (2, 70))])
    plan.start()
    ended(bench, "waits", run, ["once more"])
    plan.join()
    card(128, 90)
    ended(bench, "little", start(bench, "little"), ["windows take at most"])
    card(128, 127)
    done = bench.call("run", "scene", "-o", "none.tif", "--quiet", "--device", "opencl:0", *OPTIONS, env=posing(bench))
    why = base.judge(done, 1, ["memory of the device cannot be allocated", "finished blocks are kept"], ())
    bench.check("none for long", why is None, why)
    card(4096)


if __name__ == "__main__":
    base.test(ready, measured, contexts, two_runs, others)
