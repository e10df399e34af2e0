#!/usr/bin/python3
# Heights of simulated ASTER scenes and RPC pairs against their truth, with the tolerances of the acceptance.
# test_accuracy.py [STEREODEM [SOURCE_DIR [PART]]]     PART: errors, cover, planes, places, layouts, pairs, tiny; all without
# SPDX-License-Identifier: Apache-2.0
import os
import sys

import harness as t

ALL_ERRORS = ["--pointing-across", 1.8, "--pointing-along", 0.3, "--jitter", 0.15, "--noise", 1, "--striping", 1,
              "--orbit-noise", 0.3, "--velocity-noise", 0.05]
work = t.work


def judged(name, options, inputs=None, size=(560, 560), extra=()):
    """Simulate, run, compare; the figures, or None with a failure noted."""
    scene = t.simulate(os.path.join(work, name), "--width", size[0], "--height", size[1], *options)
    dem = os.path.join(work, name + ".tif")
    made = t.run([os.path.join(scene, i) for i in inputs] if inputs else [scene], dem, *extra)
    if not t.expect(made, "%s: a DEM is made" % name):
        return None
    found = t.compare(dem, os.path.join(scene, "truth.tif"), "--class", os.path.join(scene, "class.tif"))
    if t.expect(found is not None, "%s: it can be compared" % name):
        print("  %s: %s" % (name, t.figures(found)))
    return found


def below(name, what, value, most):
    t.expect(value <= most, "%s: %s %.3f <= %g" % (name, what, value, most))


def good_land(name, f, figures, nmad, rmse, over30, coverage):
    below(name, "NMAD", figures["nmad"], nmad)
    below(name, "RMSE", figures["rmse"], rmse)
    below(name, "share beyond 30 m", figures["over30"], over30)
    t.expect(f["coverage"] >= coverage, "%s: coverage %.4f >= %g" % (name, f["coverage"], coverage))


def wrong_share(group, over):
    """Share of all cells of a class that are filled and off by more; the figure itself counts the filled ones."""
    return group["filled"] * group[over]


def part_errors():
    f = judged("error-free", ["--lon", 7, "--lat", 45, "--roll", 5, "--seed", 3])
    if f:
        good_land("error-free", f, f["raw"], 2.3, 2.5, 0.0001, 0.998) # heights reach the border of the common area
        below("error-free", "|bias|", abs(f["raw"]["median"]), 0.5)
    f = judged("all errors", ["--lon", 7, "--lat", 45, "--roll", 8.5, "--seed", 4] + ALL_ERRORS)
    if f:
        good_land("all errors", f, f["aligned"], 6.5, 12.0, 0.006, 0.995)
    f = judged("faint texture", ["--relief", 100, "--texture", 3, "--noise", 1, "--seed", 51])
    if f:
        good_land("faint texture", f, f["raw"], 3.2, 3.6, 0.001, 0.95)


def part_cover():
    for name, options in (("lake", ["--lake", 0.12]), ("ocean", ["--ocean", 0.2, "--base", 0]),
                          ("lake and ocean", ["--lake", 0.08, "--ocean", 0.15, "--base", 0])):
        f = judged(name, ["--lon", 7, "--lat", 45, "--seed", 5] + options)
        if f and t.expect(f.get("water", {}).get("cells", 0) > 1000, "%s: there is water" % name):
            below(name, "share of water filled and off by 10 m", wrong_share(f["water"], "over10"), 0.10)
    for cost in ("zncc", "census"):
        name = "cloud by " + cost
        f = judged(name, ["--lon", 7, "--lat", 45, "--seed", 6, "--cloud", 0.08] + ALL_ERRORS, extra=["--cost", cost])
        if f and t.expect(f.get("cloud", {}).get("cells", 0) > 1000, name + ": there is cloud"):
            below(name, "share of cloud filled and off by 30 m", wrong_share(f["cloud"], "over30"), 0.03)
            below(name, "NMAD of land", f["aligned"]["nmad"], 6.5 if cost == "zncc" else 7.5)

    # mountains: a level that starts between a cloud's height and the slope's must not leave the slope open
    f = judged("cloud over mountains", ["--relief", 2500, "--seed", 3, "--cloud", 0.08], size=(820, 840))
    if f:
        good_land("cloud over mountains", f, f["aligned"], 6.5, 12.0, 0.008, 0.94)
        below("cloud over mountains", "share of cloud filled and off by 30 m", wrong_share(f["cloud"], "over30"), 0.03)


def part_planes():
    # 3B looks back along a descending orbit: what goes down to the north faces it
    for slope in (20, 30, 45):
        for azimuth, way in ((10, "towards"), (190, "away from")):
            name = "%d deg %s 3B" % (slope, way)
            f = judged(name, ["--lon", 7, "--lat", 45, "--shape", "plane", "--slope", slope, "--slope-azimuth", azimuth,
                              "--base", 1500, "--seed", 7], size=(340, 340))
            if f:
                below(name, "|bias|", abs(f["raw"]["median"]), 1.0)
                least = {20: 0.99, 30: 0.98, 45: 0.7}[slope]
                t.expect(f["coverage"] >= least, "%s: coverage %.3f >= %g" % (name, f["coverage"], least))


def part_places():
    for name, lon, lat in (("antimeridian", 180, 10), ("82 N", 30, 82), ("50 S", -70, -50)):
        f = judged(name, ["--lon", lon, "--lat", lat, "--seed", 8], size=(480, 480))
        if f:
            good_land(name, f, f["raw"], 4.0, 8.0, 0.003, 0.95)
            below(name, "|bias|", abs(f["raw"]["median"]), 0.5)


def part_layouts():
    """The sample as V004 HDF, V003 folder and zip: each near the truth, and near each other."""
    small = "AST_L1A_00301012001180005_sim"
    homes = [os.path.join(t.SOURCE, "sampledata"), os.path.join(t.SHARED, "data", "aster_small")]
    made = []
    for kind, file in (("hdf", "AST_L1A_00401012001180005_sim.hdf"), ("folder", small), ("zip", small + ".zip")):
        found = [h for h in homes if os.path.exists(os.path.join(h, file))]
        if not found:
            print("no sample as " + kind)
            continue
        dem = os.path.join(work, "sample_%s.tif" % kind)
        if not t.expect(t.run([os.path.join(found[0], file)], dem), "sample as %s: runs" % kind):
            continue
        f = t.compare(dem, os.path.join(found[0], "truth.tif"), "--class", os.path.join(found[0], "class.tif"))
        below("sample as " + kind, "NMAD", f["aligned"]["nmad"], 7.0)
        made.append((kind, dem))
    for kind, dem in made[1:]:
        below("sample as %s against %s" % (kind, made[0][0]), "NMAD", t.compare(dem, made[0][1])["raw"]["nmad"], 1.0)


def part_pairs():
    scene = t.simulate(os.path.join(work, "both"), "--with-rpc", "--width", 560, "--height", 560, "--lon", 7, "--lat", 45,
                       "--roll", 5, *ALL_ERRORS)
    one, two = os.path.join(work, "both_aster.tif"), os.path.join(work, "both_rpc.tif")
    if t.expect(t.run([scene], one) and t.run([os.path.join(scene, n) for n in ("left.tif", "right.tif")], two),
                "one scene as ASTER and as RPC: both run"):
        f = t.compare(two, one)
        print("  as RPC against as ASTER: " + t.figures(f))
        below("as RPC against as ASTER", "NMAD", f["raw"]["nmad"], 1.5)
    for ratio in (0.3, 0.6):
        name = "rpc pair of B/H %g" % ratio
        f = judged(name.replace(" ", "_").replace("/", ""), ["--layout", "rpc", "--base-height", ratio, "--gsd", 0.5, "--relief", 60, "--lon", 7,
                          "--lat", 45, "--seed", 9], ["left.tif", "right.tif"], (800, 800))
        if f: # ASTER's 4 m are 0.16 px
            pixel_m = 0.5 / ratio
            good_land(name, f, f["raw"], 0.16 * pixel_m, 0.4 * pixel_m, 0.001, 0.95)
            below(name, "|bias|", abs(f["raw"]["median"]), 0.05 * pixel_m)


def part_tiny():
    """Scenes of a few windows give a DEM or a sentence."""
    for size in ((220, 240), (300, 260), (200, 200), (130, 140)):
        name = "%d x %d px" % size
        scene = t.simulate(os.path.join(work, name.replace(" ", "")), "--width", size[0], "--height", size[1], "--lon", 7,
                           "--lat", 45, "--seed", 3)
        dem = os.path.join(work, "tiny.tif")
        done = t.call([t.PROGRAM, "run", scene, "-o", dem, "-q", "--overwrite"], quiet=True)
        if done.returncode == 0:
            f = t.compare(dem, os.path.join(scene, "truth.tif"), "--class", os.path.join(scene, "class.tif"))
            good_land(name, f, f["raw"], 5.0, 8.0, 0.003, 0.85)
        t.expect(done.returncode == 0 or (min(size) < 220 and done.stderr.startswith("stereodem run: ") and
                                          done.stderr.count("\n") == 1), "%s: a DEM or a sentence %s" %
                 (name, done.stderr.strip()[:70]))


parts = {"errors": part_errors, "cover": part_cover, "planes": part_planes, "places": part_places, "layouts": part_layouts,
         "pairs": part_pairs, "tiny": part_tiny}
for part in sys.argv[3:] or parts:
    parts[part]()
t.finish()
