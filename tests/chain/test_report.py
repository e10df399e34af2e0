#!/usr/bin/python3
# What the program says of itself: `info` before a run against the run, masks and saturation against counts made here,
# times per stage and the error of the lattice in the report.
# test_report.py [STEREODEM [SOURCE_DIR]]     exits 77 when Python has no numpy or GDAL
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shlex
import time
from html import unescape

import harness as t
from with_gdal import gdal, image, np


def info(*words):
    """The last JSON line of `info`."""
    done = t.call([t.PROGRAM, "info", "--log", "json"] + list(words))
    return json.loads(done.stdout.strip().split("\n")[-1]) if done.returncode == 0 else {}


def measured_run(words, dem):
    """Resident memory (bytes) and processor time (s) of a run of its own."""
    pid = os.spawnv(os.P_NOWAIT, t.PROGRAM, [t.PROGRAM, "run", "--quiet", "--overwrite", "-o", dem] + words)
    _, status, used = os.wait4(pid, 0)
    return (used.ru_maxrss * 1024, used.ru_utime + used.ru_stime) if status == 0 else (0, 0)


def report_of(dem):
    return t.parsed(t.companion(dem, ".json"))


def estimates(name, words, dem):
    """Expected cells, blocks, memory and time against what a run takes."""
    said = info("--threads", "1", *words)
    start = time.monotonic()
    memory, cpu = measured_run(["--threads", "1"] + words, dem)
    wall = time.monotonic() - start
    if not t.expect(bool(said) and memory > 0, "%s: info and run" % name):
        return
    work, grid = report_of(dem)["work"], report_of(dem)["grid"]
    t.expect(said["tiles"] == work["blocks"] or abs(said["tiles"] / work["blocks"] - 1) < 0.3,
             "%s: %d tiles expected, %d made" % (name, said["tiles"], work["blocks"]))
    cells = said["cols"] * said["rows"] / (grid["cols"] * grid["rows"])
    t.expect(0.96 < cells < 1.04, "%s: cells expected / made: %.2f" % (name, cells))
    ratio = said["expected_memory_bytes"] / memory
    t.expect(0.9 < ratio < 1.6, "%s: memory expected / used: %.2f" % (name, ratio))
    # processors differ and are shared: the figure is printed, and is a time
    t.expect(0.0 < said["expected_seconds"] < 3600.0, "%s: %.1f s expected, %.1f s of processor used" % (
        name, said["expected_seconds"], cpu))
    stages = work["stage_s"]
    t.expect(len(stages) == 9 and all(s > 0.0 for s in stages.values()), "%s: every stage has its time" % name)
    share = sum(stages.values()) / work["wall_s"]
    t.expect(0.0 < share <= 1.0 + 1e-6 and work["wall_s"] <= wall, "%s: the stages are %.0f %% of the whole" % (name, 100 * share))
    error = work["lattice_error_px"]
    t.expect(0.0 < error < 0.1, "%s: lattice off by at most %.5f px" % (name, error))


def once_more(words, dem):
    """The command of the page makes the same DEM."""
    words += ["--hmin", "-300.5", "--co", "COMPRESS=DEFLATE", "--co", "LEVEL=1"]
    t.expect(t.call([t.PROGRAM, "run", "-q", "-o", dem] + words).returncode == 0, "a DEM with options")
    before = open(dem, "rb").read()
    line = unescape(re.search("Once more: <code>(.*?)</code>", t.text_of(t.companion(dem, ".html")))[1])
    again = t.call([t.PROGRAM] + shlex.split(line)[1:] + ["--overwrite"])
    t.expect(again.returncode == 0 and before == open(dem, "rb").read(), "once more: " + line)


def one_estimate(scene):
    """info, plan and run speak of the same memory (info of writing the products, too), and refuse the same budgets with the same words."""
    for number, options in enumerate(([], ["--memory", "96M"], ["--tile", "150"])):
        said, job = info(*options, scene), os.path.join(work, "job%d" % number)
        done = t.call([t.PROGRAM, "plan", "-q", "-o", job, scene] + options)
        t.expect(done.returncode == 0 and bool(said), "plan and info with %s" % options)
        planned = t.parsed(os.path.join(job, "plan.json"))["scenes"][0]
        units = [u["memory_bytes"] for u in planned["tiles"] + [planned.get("preparation", {"memory_bytes": 0})]]
        most = max(units)  # to write the products of a small scene may take more
        t.expect(most <= said["expected_memory_bytes"] < most + (64 << 20) and said["tiles"] == len(planned["tiles"]),
                 "%s: info %.1f MiB, plan %.1f MiB" % (options, said["expected_memory_bytes"] / 2**20, max(units) / 2**20))
    told = set()
    for words in (["run", "-o", os.path.join(work, "no.tif")], ["plan", "-o", os.path.join(work, "nojob")], ["info"]):
        for tile in ([], ["--tile", "1000"], ["--tile", "64"]):
            done = t.call([t.PROGRAM] + words + [scene, "--memory", "64M"] + tile, quiet=True)
            t.expect(done.returncode == 1, "%s %s: 64 MiB are refused" % (words[0], tile))
            told.add(done.stderr.split(": ", 1)[-1])
    named = [re.search(r"give at least (\d+M)$", sentence.strip()) for sentence in told]
    if not t.expect(len(told) == 1 and named[0], "one sentence for all, with a budget: %s" % told):
        return
    least = named[0].group(1)
    used, _ = measured_run(["--threads", "1", "--memory", least, scene], os.path.join(work, "least.tif"))
    t.expect(0 < used <= int(least[:-1]) * 2**20, "with the budget it names it runs: %d of %s MiB" % (used >> 20, least))


def masks(pair):
    """Nodata, saturation and a mask of one's own, with known shares."""
    left, right = os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")
    data = gdal.Open(left).ReadAsArray()
    data = np.clip(255.0 * data / data.max(), 1, 254).astype(np.uint8)
    high = len(data)
    data[:high // 4] = 0        # a quarter without data
    data[-(high // 10):] = 255  # a tenth saturated
    spoiled, marked = image(t.at("spoiled.tif"), data, left), image(t.at("marked.tif"), data, left, 0)
    mask = image(t.at("mask.tif"), np.repeat(np.uint8([0, 1]), [high // 2, high - high // 2])[:, None].repeat(data.shape[1], 1))
    for said, share, words in (("--mask-left " + mask, 0.5, [left, right, "--mask-left", mask]), ("nodata 0", 0.25, [marked, right]),
                               ("0 = no data", 0.25, [spoiled, right])):
        view = info(*words).get("left", {})
        named = view.get("mask", "")
        t.expect(named == said or (said.startswith("--") and said in named), "%s: %s" % (said, named))
        t.expect(abs(view.get("unusable", 9) - share) < 0.01, "%s: %.3f not usable" % (said, view.get("unusable", 9)))
    t.expect(abs(view.get("saturated", 9) - 0.1) < 0.01, "a tenth saturated: %.3f" % view.get("saturated", 9))
    shown = t.call([t.PROGRAM, "info", marked, right]).stdout
    t.expect("nodata 0" in shown and "25." in shown and "not usable" in shown, "the same for people")


def known_scenes():
    """Every scene of the shared data is described without a warning; the one without images is refused by name."""
    data = os.path.join(t.SHARED, "data")
    if not os.path.isdir(data):
        print("no shared data here")
        return
    small = os.path.join(data, "aster_small", "AST_L1A_00%s01012001180005_sim")
    pairs = {"giza": ("gizeh_1", "gizeh_2"), "turkey_pre": ("raw_1", "raw_2"), "pleiades_reunion": ("img_01", "img_02")}
    scenes = {"hdf": [small % 4 + ".hdf"], "folder": [small % 3], "zip": [small % 3 + ".zip"],
              "full": [os.path.join(data, "aster_full", "AST_L1A_00401012001180022_sim.hdf")]}
    for name, images in pairs.items():
        scenes[name] = [os.path.join(data, name, image + ".tif") for image in images]
    for name, words in scenes.items():
        if not all(os.path.exists(word) for word in words):
            continue
        said = info(*words)
        numbers = ("convergence_deg", "base_height", "gsd_m", "overlap", "expected_seconds", "expected_memory_bytes", "tiles")
        t.expect(bool(said) and all((said[n] or 0) > 0 for n in numbers) and said["left"]["mask"] and said["right"]["mask"],
                 "%s: every figure is there" % name)
    camera = os.path.join(data, "aster_rainier", "camera")
    if os.path.isdir(camera):
        done = t.call([t.PROGRAM, "info", camera], True)
        t.expect(done.returncode == 1 and "ImageData.tif" in done.stderr, "tables without images: " + done.stderr.strip())


def page(dem):
    """The page is small, folds defaults away and says what they stood for."""
    html = t.text_of(t.companion(dem, ".html"))
    report = report_of(dem)
    given, rest = html[html.index("<h2>Parameters"):].split("<details>")
    t.expect(len(html) < 1e6 and "prefers-color-scheme:dark" in html, "the page takes %.2f MB" % (1e-6 * len(html)))
    t.expect("--tile" in given and "--threads" in given and "--cost" not in given, "options that were given stand before the others")
    found = report["effective_options"]
    t.expect(found["tr"] == "30 m" and "UTM" in found["t_srs"] and found["threads"] == "1" and found["cost"] == "zncc" and
             "searched" in found["hmin"] and not any(v in ("", "0") for v in found.values()),
             "what options stood for: %s" % {k: found[k] for k in ("tr", "t_srs", "threads", "hmin", "cost")})
    t.expect(report["options"]["tr"] == "0" and report["options"]["hmin"] == "", "options as they were given")
    t.expect("class='length'" in html and "class='good'" in html and "<td>30 m</td>" in rest, "scale bars, judgements, the spacing")


def progress_and_summary(scene, work):
    """Progress never falls nor jumps; the last lines, of the text and of the log, say what the report says."""
    for name, options in (("whole", []), ("tiles", ["--tile", "128"])):
        dem = os.path.join(work, name + ".tif")
        done = t.call([t.PROGRAM, "run", scene, "-o", dem, "--log", "json", "--threads", "1"] + options)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        shares = [e["done"] for e in events if e["event"] == "progress"]
        steps = [b - a for a, b in zip([0] + shares, shares)]
        t.expect(done.returncode == 0 and min(steps) >= 0 and max(steps) < 0.2 and shares[-1] == 1,
                 "%s: progress %s" % (name, shares))
    page(dem)
    html = t.text_of(t.companion(dem, ".html"))
    t.expect(not re.search(r"[^0-9]0\.00 s\b", html), "stages that took no time are not on the page")
    said, report = events[-1], report_of(dem)
    cells, rounds = report["cells"], report["pointing"]["rounds"]
    want = cells["with_height"] / (cells["total"] - cells["mask_bits"]["outside"])
    t.expect(abs(said["coverage"] - want) < 1e-9 and said["pointing_residual_px"] == rounds[-1]["after_nmad_px"] and
             said["doubts"] == report["trust"]["warnings"], "the last line of the log: coverage, pointing, doubts")
    t.expect(len(said["files"]) == 11 and all(os.path.exists(f) for f in said["files"]), "the last line of the log: files")
    memory, _ = measured_run(["--threads", "1", scene], dem)
    ratio = said["memory_peak_bytes"] / memory
    t.expect(0.7 < ratio < 1.4, "memory said / resident of another run: %.2f" % ratio)
    text = t.call([t.PROGRAM, "run", scene, "-o", dem, "--overwrite", "--threads", "1"]).stdout
    t.expect("%.1f %% of the cells" % (100 * want) in text and "doubts              none; only a reference" in text and "whole_qa" not in text and
             "tiles_qa.tif" in text and "MiB of memory at most" in text, "the last lines of the text")


work = t.work
scene = t.simulate(os.path.join(work, "aster"), "--width", 700, "--height", 700, "--lon", 7, "--lat", 45, "--seed", 3,
                   "--jitter", 0.15, "--pointing-across", 1.2)
pair = t.simulate(os.path.join(work, "pair"), "--layout", "rpc", "--width", 400, "--height", 400, "--gsd", 0.5,
                  "--relief", 60, "--lon", 7, "--lat", 45)
estimates("aster", [scene], os.path.join(work, "a.tif"))
estimates("aster in blocks", [scene, "--tile", "128"], os.path.join(work, "b.tif"))
estimates("rpc", [os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")], os.path.join(work, "c.tif"))
once_more([os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")], os.path.join(work, "once more.tif"))
one_estimate(scene)
masks(pair)
progress_and_summary(scene, work)
known_scenes()
t.finish()
