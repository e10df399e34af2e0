#!/usr/bin/python3
# A run whose own figures show that its DEM is wrong says so, in the report and in one line, or makes none; a good
# scene raises no alarm, nor does any scene of the shared data.
# test_quality.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import zipfile

import harness as t
from with_gdal import np, overwrite
work = t.work


def judged(name, inputs, *options):
    """Exit code, lines on stderr that say `doubtful` or are the error, the report."""
    dem = os.path.join(work, name + ".tif")
    done = t.call([t.PROGRAM, "run", "--overwrite", "-o", dem, "--cost", "zncc", "--optimizer", "local"] + list(inputs) +
                  list(options), quiet=True)
    lines = [l for l in done.stderr.split("\n") if "doubtful" in l or "too few" in l or "clouds hide" in l]
    report, page = {}, ""
    if done.returncode == 0:
        report = t.parsed(t.companion(dem, ".json"))
        page = t.text_of(t.companion(dem, ".html"))
    else:
        t.expect(not os.path.exists(dem) and not os.path.exists(dem + ".job"), name + ": nothing is left")
    return done.returncode, lines, report.get("trust", {}), page


def scene(name, *options):
    return t.simulate(os.path.join(work, name), "--lon", 7, "--lat", 45, "--seed", 4, *options)


def doubtful(name, word, *options, inputs=None):
    rc, lines, trust, page = judged(name, inputs or [scene("scene_" + name, *options)])
    t.expect(rc == 0 and len(lines) == 1 and word in lines[0], "%s: one line of warning: %s" % (name, lines))
    t.expect(trust.get("doubtful") is True and any(word in w for w in trust["warnings"]), name + ": the report says so")
    t.expect("This DEM is doubtful" in page and word in page, name + ": so does the page")


def refused(name, word, *options):
    rc, lines, _, _ = judged(name, [scene("scene_" + name, *options)])
    t.expect(rc == 1 and len(lines) == 1 and word in lines[0], "%s: no DEM: rc %d %s" % (name, rc, lines))


def trusted(name, inputs):
    rc, lines, trust, page = judged(name, inputs)
    t.expect(rc == 0 and not lines and trust["doubtful"] is False and not trust["warnings"] and
             "is doubtful" not in page, "%s: no alarm: %s" % (name, lines))
    t.expect(trust["matched_share_of_texture"] > 0.5, "%s: %.2f of the texture matched" % (
        name, trust["matched_share_of_texture"]))


trusted("good", [scene("scene_good", "--jitter", 0.15, "--pointing-across", 1.8, "--noise", 2, "--striping", 1)])
trusted("lake", [scene("scene_lake", "--lake", 0.5)])
doubtful("cloud", "clouds", "--cloud", 0.9)
found = t.compare(os.path.join(work, "cloud.tif"), os.path.join(work, "scene_cloud", "truth.tif"))["raw"]
t.expect(found["rmse"] < 15, "cloud: what is seen between clouds is ground: RMSE %.1f m" % found["rmse"])
refused("hidden", "clouds hide the ground", "--cloud", 0.9, "--cloud-kind", "broken", "--width", 600, "--height", 600)
trusted("noise", [scene("scene_noise", "--noise", 8)])
doubtful("much_noise", "matched", "--noise", 14)
doubtful("jitter", "jitter", "--jitter", 1, "--noise", 1)
refused("shaken", "too few matches", "--jitter", 10)
# Cameras that bend between the nodes of the lattice; a right view that ends early is no such camera.
bent = t.call([t.PROGRAM, "run", scene("scene_bent", "--jitter-right", "0.6:60"), "-o", os.path.join(work, "bent.tif")])
t.expect(bent.returncode == 0 and bent.stderr.count("the cameras and their correction bend by up to 0.") == 1, "cameras that bend: " + bent.stderr.strip())
with zipfile.ZipFile(os.path.join(t.SOURCE, "sampledata", "AST_L1A_00301012001180005_sim.zip")) as archive:
    archive.extractall(os.path.join(work, "sample"))
for made in (os.path.dirname(glob.glob(os.path.join(work, "sample", "**", "*Band3B.ImageData.tif"), recursive=True)[0]),
             scene("scene_short", "--pointing-across", 1.7)):
    overwrite(glob.glob(os.path.join(made, "*Band3B.ImageData.tif"))[0], lambda a: np.where(np.arange(len(a))[:, None] < len(a) * 6 // 10, a, 0))
    done = t.call([t.PROGRAM, "run", made, "-o", os.path.join(work, "short.tif"), "--overwrite"])
    t.expect(done.returncode == 0 and "warning" not in done.stderr, "a right view that ends early: " + done.stderr.strip())
data = os.path.join(t.SHARED, "data")
if os.path.isdir(data):
    for folder, files in (("aster_full", ["AST_L1A_00401012001180022_sim.hdf"]), ("pleiades_reunion", ["img_01.tif", "img_02.tif"]),
                          ("aster_small", ["AST_L1A_00401012001180005_sim.hdf"]),
                          ("turkey_pre", ["adjusted_1.tif", "adjusted_2.tif"]), ("turkey_pre", ["raw_1.tif", "raw_2.tif"])):
        trusted(folder + " " + files[0].split("_")[0], [os.path.join(data, folder, f) for f in files])
    doubtful("giza", "base/height is 0.09", inputs=[os.path.join(data, "giza", "gizeh_%d.tif" % k) for k in (1, 2)])
t.finish()
