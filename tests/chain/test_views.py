#!/usr/bin/python3
# Three views: a town and rugged terrain with pointing errors, the DEM against the truth and beside each of its pairs; what is
# refused; the same bytes for any threads and memory, and after a stop.
# test_views.py [STEREODEM]     exits 77 without numpy or GDAL for Python
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import signal
import subprocess
import time

import harness as t
from with_gdal import gdal, image, np, on_grid_of
work, at = t.work, t.at


def figures(dem, truth, inside, gross_m):
    """NMAD and RMSE (m), gross errors and coverage (%), with the median taken out."""
    error = (dem - truth)[inside]
    known = error[np.isfinite(error)]
    known = known - np.median(known)
    return (1.4826 * np.median(np.abs(known)), np.sqrt((known ** 2).mean()), 100 * (np.abs(known) > gross_m).mean(), 100 * known.size / inside.sum())


def in_place(dem, truth, inside, reach):
    """The truth at the place of a DEM: its pointing error is as large as that of its left view."""
    shifts = [(r, c) for r in range(-reach, reach + 1) for c in range(-reach, reach + 1)]
    return min((np.roll(truth, s, (0, 1)) for s in shifts), key=lambda moved: figures(dem, moved, inside, 1.0)[0])


def hold(name, dem, truth_file, inside_of, gross_m, reach, gross_times=1.0):
    """Print the figures of a DEM of views and of its pairs; it is better than each in all four, in gross errors
    than gross_times the best one: at walls that is another pair from cell to cell."""
    report = t.parsed(dem[:-4] + ".json")
    truth = gdal.Open(truth_file).ReadAsArray().astype(float)
    truth[truth < -9000] = np.nan
    pairs = [dem + ".views/pair_%d.tif" % (k + 1) for k in range(len(report["pairs"]))]
    inside = inside_of(pairs, truth)
    rows = []
    for path in pairs + [dem]:
        data = on_grid_of(path, truth_file)
        rows.append(figures(data, in_place(data, truth, inside, reach), inside, gross_m))
    for k, row in enumerate(rows):
        label = "three views" if k == len(pairs) else "pair, base/height %.2f" % report["pairs"][k]["base_height"]
        print("  %-8s %-24s NMAD %.3f  RMSE %.3f  beyond %g m %.2f %%  coverage %.2f %%" % (name, label, row[0], row[1], gross_m, row[2], row[3]), flush=True)
    best = [min(r[i] for r in rows[:-1]) for i in range(3)] + [max(r[3] for r in rows[:-1])]
    for i, what in enumerate(("NMAD", "RMSE", "gross errors")):
        t.expect(rows[-1][i] < (gross_times if i == 2 else 1.0) * best[i], "%s: %s %.3f, of the best pair %.3f" % (name, what, rows[-1][i], best[i]))
    t.expect(rows[-1][3] > best[3] - 0.5, "%s: coverage %.2f %%, of the best pair %.2f %%" % (name, rows[-1][3], best[3]))
    data = on_grid_of(dem, truth_file)
    error = data - in_place(data, truth, inside, reach)
    error = np.abs(error - np.nanmedian(error[inside]))
    predicted = on_grid_of(dem[:-4] + "_qa.tif", truth_file, band=8, none=65535) * report["grid"]["qa_error_step_m"]
    within = (error <= predicted)[inside & np.isfinite(error)].mean()
    t.expect(0.45 < within < 0.85 and report["height_m"]["predicted_error_median"] > 0, "%s: %.0f %% of the errors within the predicted one" % (name, 100 * within))
    seconds = [p["wall_s"] for p in report["pairs"]]
    print("  %-8s %.1f s, %.1f times a pair" % (name, report["work"]["wall_s"], report["work"]["wall_s"] / (sum(seconds) / len(seconds))))
    return report


def run(views, out, *options, code=0):
    done = t.call([t.PROGRAM, "run"] + list(views) + ["-o", out, "--overwrite"] + list(options), quiet=code != 0)
    t.expect(done.returncode == code, "%s: exit code %d" % (os.path.basename(out), done.returncode)) if done.returncode != code else None
    return done


# ---- a town: views at -0.3, 0 and 0.3, two of them with pointing errors ----
TOWN = ("--layout", "rpc", "--town", "--gsd", "0.5", "--width", "640", "--height", "640", "--relief", "12", "--base", "20", "--texture", "40", "--seed", "3")
t.simulate(at("wide"), *TOWN, "--symmetric", "--base-height", "0.6", "--pointing-across", "-3", "--pointing-along", "-1")
t.simulate(at("upright"), *TOWN, "--base-height", "0.02", "--error-seed", "4", "--pointing-across", "2", "--pointing-along", "1")
town_views = [at("wide/left.tif"), at("upright/right.tif"), at("wide/right.tif")]
truth_file, town_dem = at("wide/truth.tif"), at("town.tif")
run(town_views, town_dem, "--tr", "0.5", "--t_srs", "EPSG:32631", "--keep-job")


def margin(pairs, truth):
    """Cells 40 m inside of what both of the outer views see."""
    seen = gdal.Open(at("wide/class.tif")).ReadAsArray() > 0
    around = np.maximum.accumulate(seen, axis=1) & np.maximum.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    for axis in (0, 1):
        around = np.min([np.roll(around, k, axis) for k in (-80, 0, 80)], axis=0).astype(bool)
    return around


report = hold("town", town_dem, truth_file, margin, 3.0, 3, 1.1)
t.expect([p["reference"] for p in report["pairs"]] == [True, False, False] and abs(report["pairs"][0]["base_height"] - 0.6) < 0.01, "the widest pair is the reference")
shifts = [p["apply_m"] for p in report["pairs"]]
to_map = gdal.Transformer(gdal.Open(at("upright/left.tif")), None, ["METHOD=RPC", "RPC_HEIGHT=26", "DST_SRS=EPSG:32631"])
(x0, y0, _), (x1, y1, _) = (to_map.TransformPoint(0, u, 320)[1] for u in (0, 640))  # along a row
across = (shifts[0][0] * (x1 - x0) + shifts[0][1] * (y1 - y0)) / float(np.hypot(x1 - x0, y1 - y0))
t.expect(shifts[0][2] == 0 and abs(abs(across) - 1.0) < 0.1 and np.abs([s[:2] for s in shifts[1:]]).max() < 0.2,
         "the reference keeps its height, the others their place: moved by %.2f m across the flight, made 1.00" % across)
qa = gdal.Open(at("town_qa.tif"))
names = [qa.GetRasterBand(b).GetDescription() for b in range(1, qa.RasterCount + 1)]
t.expect(names[:6] == ["score", "ray intersection error", "spread of the heights in the cell", "points in the cell", "mask", "reason"] and
         names[6:] == ["pairs in the cell", "predicted standard error"], "bands of a pair, the number of pairs before the predicted error")
count, mask, dem = qa.GetRasterBand(7).ReadAsArray(), qa.GetRasterBand(5).ReadAsArray(), gdal.Open(town_dem).ReadAsArray()
t.expect(((count > 0) == (dem > -9000)).all() and count.max() == 3 and (mask[count > 0] & 1).all(), "heights have one to three pairs")
shutil.rmtree(town_dem + ".views")

# ---- a view whose camera is 30 m off, as raw ones are: of three in a row, off along it, none can be told to be right ----
def move_camera(source, name, **by):
    """A copy of an image whose RPC's offsets are moved."""
    data = gdal.Open(source)
    rpc = data.GetMetadata("RPC")
    return image(at(name), data.ReadAsArray(), dict(rpc, **{k + "_OFF": "%.15g" % (float(rpc[k + "_OFF"]) + off) for k, off in by.items()}))


truth = gdal.Open(truth_file).ReadAsArray().astype(float)
inside, before = margin([], truth), on_grid_of(town_dem, truth_file)
middle = np.nanmedian(before)
before = figures(before, in_place(before, truth, inside, 3), inside, 3.0)
for k, lines, samples, is_guess in ((2, 52, -33, False), (1, 52, 33, False), (0, 80, 0, True)):
    moved = list(town_views)
    moved[k] = move_camera(town_views[k], "far_off.tif", LINE=lines, SAMP=samples)
    run(moved, at("home.tif"), "--tr", "0.5", "--t_srs", "EPSG:32631")
    home = on_grid_of(at("home.tif"), truth_file)
    off_m = np.nanmedian(home) - middle
    at_home = figures(home, in_place(home, truth, inside, 4), inside, 3.0)
    doubts = [d for d in t.parsed(at("home.json"))["trust"]["warnings"] if "of other views, and was moved to them" in d]
    t.expect(len(doubts) == 1 and ("do not tell" in doubts[0]) == is_guess and (is_guess or "far_off.tif is" in doubts[0]), "view %d 30 m off is told: %s" % (k, doubts))
    t.expect(is_guess or (at_home[1] < 1.1 * before[1] and at_home[3] > before[3] - 1 and abs(off_m) < 3),
             "view %d 30 m off: RMSE %.3f m of %.3f, coverage %.1f %% of %.1f, %.1f m higher" % (k, at_home[1], before[1], at_home[3], before[3], off_m))

run(town_views + [move_camera(town_views[1], "copy.tif", LINE=100)], at("copies.tif"), "--tr", "1")
doubts = t.parsed(at("copies.json"))["trust"]["warnings"]
t.expect([d for d in doubts if "copy.tif have one camera" in d or "and copy.tif" in d and "counts twice" in d], "a copy under a camera that is off: %s" % doubts)

# ---- clips between whole images, in mountains: all cameras are right, whatever the sizes ----
def two_pairs(name, *options):
    """Two pairs of one terrain with errors of their own."""
    for k in range(2):
        t.simulate(at("%s%d" % (name, k)), "--layout", "rpc", "--gsd", 0.7, "--width", 700, "--height", 700, "--base", 200, "--seed", 5, "--noise", 5,
                   "--texture", 8, "--base-height", (0.25, 0.5)[k], "--error-seed", 11 + k, *options)


two_pairs("peaks", "--relief", 600)
for clip, whole, window in (("clip0.tif", "peaks0/left.tif", (400, 400, 260, 260)), ("clip1.tif", "peaks1/right.tif", (394, 724, 330, 400))):
    gdal.Translate(at(clip), at(whole), srcWin=window)
run([at("clip0.tif"), at("clip1.tif"), at("peaks0/right.tif"), at("peaks1/right.tif")], at("peaks.tif"))
report = t.parsed(at("peaks.json"))
shifts = np.abs([p["apply_m"] for p in report["pairs"]])
t.expect(shifts.max() < 2 and not [d for d in report["trust"]["warnings"] if "moved to them" in d], "clips and whole images: no camera is moved, the DEMs by %.2f m" % shifts.max())

# ---- terrain ----
two_pairs("sim", "--relief", 200, "--pointing-across", 0.8, "--pointing-along", -1.2)
terrain_views = [at("sim0/left.tif"), at("sim0/right.tif"), at("sim1/right.tif")]
run(terrain_views, at("terrain.tif"), "--tr", "1.4", "--keep-job")


def common(pairs, truth):
    inside = np.isfinite(truth)
    for pair in pairs:
        seen = on_grid_of(pair[:-4] + "_qa.tif", at("sim0/truth.tif"), band=5, none=4)
        inside &= np.isfinite(seen) & ((np.nan_to_num(seen).astype(int) & 4) == 0)
    inside[:8], inside[-8:], inside[:, :8], inside[:, -8:] = False, False, False, False
    return inside


hold("terrain", at("terrain.tif"), at("sim0/truth.tif"), common, 1.5, 1)

# ---- the same bytes; stop and go on ----
def parts(name, count):
    """Parts of the town; of each view several, a few pixels apart."""
    names = [at("%s%d.tif" % (name, k)) for k in range(count)]
    for k, path in enumerate(names):
        gdal.Translate(path, town_views[k % 3], srcWin=[100 + 3 * (k // 3), 100 + 2 * (k // 3), 300, 300])
    return names


small = parts("part", 3)
digests = []
for name, options in (("one", ("--threads", "1", "--memory", "150M")), ("two", ("--threads", "2", "--tile", "96"))):
    run(small, at(name + ".tif"), "--quiet", *options)
    digests.append([t.digest(at(name + end)) for end in (".tif", "_qa.tif", "_ortho.tif")])
t.expect(digests[0] == digests[1] and None not in digests[0], "the same cells for any threads, memory and tiles")
t.expect(not os.path.exists(at("one.tif.views")), "the folder of the pairs is removed")

# ---- nine views: three parts of each ----
many = parts("many", 9)
run(many, at("many.tif"), "--quiet")
pairs = t.parsed(at("many.json"))["pairs"]
left = [sum(p["left"] == view for p in pairs) for view in many]
apart = on_grid_of(at("many.tif"), at("one.tif")) - gdal.Open(at("one.tif")).ReadAsArray()
apart = apart[np.isfinite(apart) & (np.abs(apart) < 9000)]
t.expect(len(pairs) == 9 and max(left) <= 3, "nine views: nine pairs, left views %s" % left)
t.expect(1.4826 * np.median(np.abs(apart - np.median(apart))) < 0.15, "nine views: the town of three")

x, step, _, y, _, _ = gdal.Open(at("one.tif")).GetGeoTransform()
run(small, at("some.tif"), "--quiet", "--bounds", *[repr(v) for v in (x + 40 * step, y - 100 * step, x + 100 * step, y - 50 * step)])
for end in (".tif", "_qa.tif", "_ortho.tif"):
    both = [gdal.Open(at("one" + end)).ReadAsArray(40, 50, 60, 50), gdal.Open(at("some" + end)).ReadAsArray()]
    t.expect(both[0].shape == both[1].shape and (both[0] == both[1]).all(), "%s of a part: the cells of the whole" % end)
done = run(small, at("away.tif"), "--quiet", "--bounds", "1", "2", "3", "4", code=2)
t.expect("lies outside" in done.stderr and not os.path.exists(at("away.tif.views")), "bounds elsewhere are refused")
stopped = subprocess.Popen([t.PROGRAM, "run"] + small + ["-o", at("stop.tif"), "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
since = time.time()
while not os.path.exists(at("stop.tif.views/pair_1.sdm")) and stopped.poll() is None and time.time() - since < 60:
    time.sleep(0.005)
stopped.send_signal(signal.SIGINT)
told = stopped.communicate()[1]
if stopped.returncode == 1:
    t.expect("kept in " in told and not os.path.exists(at("stop.tif")), "stopped: finished pairs are kept")
    again = run(small, at("stop.tif"))
    t.expect("was finished before" in again.stderr, "the next call goes on")
else:
    t.expect(stopped.returncode == 0, "finished before it could be stopped")
t.expect([t.digest(at("stop" + end)) for end in (".tif", "_qa.tif", "_ortho.tif")] == digests[0], "the same cells after a stop")
t.expect(not [n for n in os.listdir(work) if n.startswith("stop.tif.")], "nothing is left behind")

pixels = gdal.Open(small[0]).ReadAsArray()  # a view of the wider base, a fifth of it noise: it may join, but gives no height to the others
pixels[:, :60] = np.random.default_rng(5).integers(1, 255, (300, 60))
half = image(at("half.tif"), pixels, small[0])
run([half, small[1], small[2]], at("half_dem.tif"), "--quiet")
reference = t.parsed(at("half_dem.json"))["pairs"][0]
t.expect(half not in (reference["left"], reference["right"]), "reference: %(left)s and %(right)s" % reference)


# ---- what is refused ----
def refused(code, words, *arguments):
    t.refused(code, words, *arguments, "-q")


a, b, c = small
out = at("no.tif")
close = at("close.tif")  # of almost the same place as the first view: no base
gdal.Translate(close, a)
far, far_too = move_camera(a, "far.tif", LONG=1), move_camera(b, "far_too.tif", LONG=1)
plain = image(at("plain.tif"), np.full((300, 300), 7, "u1"))
refused(2, ["given twice", "expected 3 different views"], "run", a, b, a, "-o", out)
os.symlink(a, at("link.tif"))
refused(2, ["given twice"], "run", a, b, at("link.tif"), "-o", out)
refused(1, ["no two of the 3 views make a pair"], "run", a, far, c, "-o", out)  # a and c have too few matches
grey = image(at("grey.tif"), np.full((300, 300), 7, "u2"), c)  # views of nothing, with a camera
noises = [image(at("noise%d.tif" % seed), np.random.default_rng(seed).integers(1, 255, (300, 300), "u2"), camera) for seed, camera in ((9, c), (1, b), (2, c))]
for given, less, words in (([far, a, b, c], [far], "do not overlap"), ([a, grey, b], [grey], "has no usable pixel"), ([a, b, noises[0]], noises[:1], "too few matches"),
                           ([far, far_too, a, b, c], [far, far_too], "do not overlap")):  # the last two make a pair
    run(given, at("left.tif"), "--quiet")
    report = t.parsed(at("left.json"))
    told = [d for d in report["trust"]["warnings"] if "is left out: no pair joins it with the %d others; the first: " % (len(given) - len(less)) in d]
    t.expect([d.split()[0] for d in told] == [os.path.basename(n) for n in less] and all(words in d for d in told) and report["scene"]["id"].startswith("part"),
             "left out with a doubt: %s" % told)
run([far, a, b, c], at("without.tif"), "--strict", code=1)
# ---- what is to be said of an image is said once ----
said = at("said.tif")
view = gdal.Open(town_views[0])
copy = gdal.Open(image(said, np.pad(view.ReadAsArray(), ((0, 800 - view.RasterYSize), (0, 800 - view.RasterXSize))), town_views[0]), gdal.GA_Update)
copy.SetMetadata({"ACQUISITIONDATETIME": "yesterday"}, "IMAGERY")  # and larger than the image of its camera
copy = None
done = run([said] + town_views[1:], at("once.tif"))
doubts = t.parsed(at("once.json"))["trust"]["warnings"]
t.expect(sum("said.tif has 800 x 800 px" in d for d in doubts) == 1, "a doubt about an image is said once: %s" % doubts)
t.expect(done.stderr.count("give yesterday as the time") == 1, "a warning of an image is said once, not %d times" % done.stderr.count("give yesterday"))
refused(1, ["no two of the 3 views make a pair"], "run", a, far, close, "-o", out)
refused(1, ["no RPC camera"], "run", a, b, plain, "-o", out)
refused(1, ["no such file"], "run", a, b, at("nothing.tif"), "-o", out)
refused(2, ["found 33 views, expected at most 32"], "run", *([a] * 33 + ["-o", out]))
refused(2, ["--mask-left: is for one pair"], "run", a, b, c, "-o", out, "--mask-left", a)
refused(2, ["--base-height: is for one pair"], "run", a, b, c, "-o", out, "--base-height", "0.3")
refused(2, ["--reference: is for one pair"], "run", a, b, c, "-o", out, "--reference", truth_file)
refused(2, ["part1.tif"], "run", a, b, c, "-o", b, "--overwrite")
refused(2, ["one.tif"], "run", a, b, c, "-o", at("one.tif"))
refused(2, ["-o is missing"], "run", a, b, c)
refused(2, ["plan takes a scene or a pair"], "plan", a, b, c, "-o", at("job"))
refused(2, ["info takes a scene or a pair"], "info", a, b, c)
refused(1, ["far.tif sees another place than", "give views of one place"], "run", a, b, far, far_too, "-o", out)
# all pairs but one fail, and all that could take their place
refused(1, ["makes a pair with none of the other 3 views", "too few matches", "leave it out"], "run", a, b, noises[0], noises[1], "-o", out)
refused(1, ["no two of the 4 views make a pair", "too few matches"], "run", a, *noises, "-o", out)

# ---- real views of three days, without times: more of them are better ----
real = os.path.join(t.SHARED, "data", "jax068")
if os.path.isdir(real):
    views = [os.path.join(real, "JAX_068_%s.tif" % n) for n in ("001", "002", "009", "010", "018", "019")]
    rmse = {}
    for n in (2, 4, 6):
        run(views[:n], at("real.tif"), "--tr", "0.5", "--quiet")
        found = t.compare(at("real.tif"), os.path.join(real, "JAX_068_truth.tif"))["aligned"]
        print("  %d views: NMAD %.3f  RMSE %.3f" % (n, found["nmad"], found["rmse"]), flush=True)
        rmse[n] = found["rmse"]
    t.expect(rmse[2] < 2.65 and rmse[4] < 1.02 * rmse[2] and rmse[6] < rmse[4] and rmse[6] < 2.55 and found["nmad"] < 0.46,
             "RMSE of 2, 4 and 6 views: %.2f, %.2f, %.2f m" % (rmse[2], rmse[4], rmse[6]))
scene = os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")
refused(2, ["an ASTER scene holds both views, give it alone"], "run", scene, a, b, "-o", out)
t.finish()
