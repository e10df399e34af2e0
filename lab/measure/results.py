#!/usr/bin/python3
# Figures of the samples into tests/results.csv: coverage, errors in metres, water and cloud, seconds, peak memory.
# results.py [STEREODEM [CSV [WORD [SETTING]]]]   WORD: only samples with it in their name; SETTING: only settings with it
# Samples that are not there are left out; exits 77 when there are none.
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests"), os.path.join(SOURCE, "tests", "chain")]  # pair_score, faces
DATA = os.path.join(SOURCE, "..", "shared", "data")
FIELDS = ["sample", "setting", "coverage_pct", "bias_m", "raw_nmad_m", "nmad_m", "rmse_m", "le90_m", "over30_pct",
          "water_wrong10_pct", "cloud_wrong30_pct", "over5_pct", "edge_m", "seconds", "cpu_seconds", "peak_mib", "note"]
program = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(SOURCE, "build", "release", "stereodem")
target = sys.argv[2] if len(sys.argv) > 2 else os.path.join(SOURCE, "tests", "results.csv")
only = sys.argv[3] if len(sys.argv) > 3 else ""  # samples with this word in their name; the CSV keeps its other rows
how = sys.argv[4] if len(sys.argv) > 4 else ""   # of these, settings with this word
work = tempfile.TemporaryDirectory(prefix="sdm_results_")


def measured(words):
    """Exit code, standard error, seconds and peak resident MiB of one command, through a child of its own."""
    done = subprocess.run(["/usr/bin/time", "-q", "-f", "%e %M"] + words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    *said, figures = done.stderr.splitlines()
    seconds, kib = figures.split()
    return done.returncode, said, float(seconds), int(kib) / 1024


def share(group, over):
    return "%.2f" % (100 * group["filled"] * group[over]) if group and group.get("cells") else ""


def judge(row, dem, reference, cover):
    words = [program, "compare", dem, reference, "--json"]
    words += ["--class", cover] if cover else []
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        row["note"] = "cannot be compared"
        return
    f = json.loads(done.stdout)
    raw, best = f["raw"], f["aligned"]
    row.update(coverage_pct="%.2f" % (100 * f["coverage"]), bias_m="%.3f" % raw["bias"],
               raw_nmad_m="%.3f" % raw["nmad"], nmad_m="%.3f" % best["nmad"], rmse_m="%.3f" % best["rmse"],
               le90_m="%.3f" % best["le90"], over30_pct="%.3f" % (100 * best["over30"]),
               water_wrong10_pct=share(f.get("water"), "over10"), cloud_wrong30_pct=share(f.get("cloud"), "over30"))


def fit_faces(dem):
    """The pyramid's four faces, as the test of the RPC scenes fits them."""
    import faces
    return "faces " + faces.words(faces.fit(dem))


def pointing_of(dem):
    """The residual across the lines after the last round, from the run report."""
    with open(os.path.splitext(dem)[0] + ".json") as f:
        text = f.read()
    rounds = json.loads(text).get("pointing", {}).get("rounds", [])
    return "pointing left %.3f px" % rounds[-1]["after_nmad_px"] if rounds and "after_nmad_px" in rounds[-1] else ""


def figures(name, options, inputs, words, fill):
    """Run a command of a sample that is here and asked for; fill(row) adds what its output is worth."""
    if only not in name or how not in " ".join(options) or not all(os.path.exists(i) for i in inputs):
        return
    row = dict.fromkeys(FIELDS, "")
    code, said, seconds, peak = measured(words + inputs + ["--overwrite", "-q"] + options)
    row.update(sample=name, setting=" ".join(words[1:2] * (words[1] == "match") + options), seconds="%.1f" % seconds,
               peak_mib="%.0f" % peak)
    if code:
        row["note"] = said[-1] if said else "exit code %d" % code
    else:
        fill(row)
    rows.append(row)
    print(" ".join("%s=%s" % (k, v) for k, v in row.items() if v), flush=True)


def sample(name, inputs, options, reference=None, cover=None, note=None):
    dem = os.path.join(work.name, name + ".tif")

    def fill(row):
        if reference:
            judge(row, dem, reference, cover)
        row["note"] = row["note"] or (note(dem) if note else "")
    optimizer = [] if "--optimizer" in options else ["--optimizer", "local"]
    figures(name, options, inputs, [program, "run", "-o", dem] + optimizer, fill)


def pair(name, left, right, options):
    """A rectified pair of Middlebury: `match` without filling; unmatched pixels count as bad, occluded ones do not."""
    import pair_score
    folder, out = data("middlebury", name), os.path.join(work.name, name + ".tif")

    def fill(row):
        score = pair_score.score(out, folder)
        row["coverage_pct"] = "%.2f" % (100 - score["none_pct"])
        row["note"] = "bad pixels %.2f %% (off by over 1 px %.2f %% and none %.2f %%) of %d" % (
            score["bad_pct"], score["wrong_pct"], score["none_pct"], score["counted"])
    inputs = [os.path.join(folder, left), os.path.join(folder, right)]
    figures("middlebury_" + name, options, inputs, [program, "match", "-o", out], fill)


def data(*parts):
    return os.path.join(DATA, *parts)


rows = []
full = data("aster_full", "AST_L1A_00401012001180022_sim.hdf")
for optimizer in ([], ["--optimizer", "sgm"]):
    for cost in ("zncc", "census"):
        sample("aster_full", [full], ["--cost", cost] + optimizer, data("aster_full", "truth.tif"), data("aster_full", "class.tif"))
small = "AST_L1A_00301012001180005_sim"
for file, name in (("AST_L1A_00401012001180005_sim.hdf", "hdf"), (small, "folder"), (small + ".zip", "zip")):
    sample("aster_small_" + name, [data("aster_small", file)], ["--cost", "zncc"], data("aster_small", "truth.tif"),
           data("aster_small", "class.tif"))
for optimizer in ([], ["--optimizer", "sgm"]):
    sample("pleiades_reunion", [data("pleiades_reunion", "img_01.tif"), data("pleiades_reunion", "img_02.tif")],
           ["--cost", "zncc", "--tr", "0.5"] + optimizer, data("pleiades_reunion", "dsm_s2p.tif"))
sample("giza", [data("giza", "gizeh_1.tif"), data("giza", "gizeh_2.tif")], ["--cost", "zncc", "--tr", "1"],
       note=fit_faces)
for kind in ("adjusted", "raw"):
    sample("turkey_" + kind, [data("turkey_pre", kind + "_1.tif"), data("turkey_pre", kind + "_2.tif")],
           ["--cost", "zncc", "--tr", "0.6"], data("turkey_pre", "dsm_cars.tif"), note=pointing_of)
for folder, views, options, truth in [
        ("turkey_pre", ("adjusted_1", "adjusted_2"), ["--tr", "0.6", "--vertical", "egm96"], "dsm_cars.tif")] + \
        [("jax068", ["JAX_068_" + v for v in n.split()], ["--tr", "0.5"], "JAX_068_truth.tif") for n in ("001 002", "009 010", "018 019", "001 002 009 010 018 019")] + \
        [("zy3", [b + "_" + v for v in n.split()], ["--tr", "5"], b + "_truth.tif") for b in ("0066", "0067", "0074", "0075")
         for n in ("fwd nadir", "nadir bwd", "fwd bwd", "nadir fwd bwd")]:
    sample(" ".join([folder] + [v.replace("JAX_068_", "") for v in views]), [data(folder, v + ".tif") for v in views],
           ["--optimizer", "auto"] + options, data(folder, truth))
kept = os.path.join(SOURCE, "sampledata")
for name in sorted(os.listdir(kept)) if os.path.isdir(kept) else []:
    if name.startswith("AST_L1A"):
        truth, cover = os.path.join(kept, "truth.tif"), os.path.join(kept, "class.tif")
        for cost in ("zncc", "census"):
            sample("sampledata_" + name[-3:], [os.path.join(kept, name)], ["--cost", cost], truth if os.path.exists(truth) else None,
                   cover if os.path.exists(cover) else None)
for options in ([], ["--cost", "zncc"], ["--cost", "zncc", "--window", "7"], ["--cost", "sad"], ["--optimizer", "sgm"],
                ["--optimizer", "sgm", "--cost", "census"], ["--optimizer", "bp"]):
    pair("cones", "im2.png", "im6.png", options)
    pair("teddy", "im2.png", "im6.png", options)
    pair("tsukuba", "im_left.png", "im_right.png", ["--max-disparity", "31"] + options)
if not rows:
    print("SKIPPED: no samples")
    sys.exit(77)
if os.path.exists(target): # other rows stay, among them those of OpenCV
    made = {(r["sample"], r["setting"]): r for r in rows}
    with open(target, newline="") as kept:
        rows = [made.pop((r["sample"], r["setting"]), r) for r in csv.DictReader(kept)] + list(made.values())
with open(target, "w", newline="") as out:
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
