#!/usr/bin/python3
# Every raster that the program writes on fixed cases has the samples whose SHA-256 tests/pins.txt lists.
# test_pins.py [STEREODEM [--update] [PART ...]]     PART: only cases whose names contain one of them
# --update writes the table anew; cases that cannot run here keep their lines.  A case that must equal another one has no
# lines of its own: it is compared with the other's.  Exits 77 without Python's GDAL and numpy, and where libm computes
# other values than the one that the pins were made with.
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import sys

import harness as t

sys.path.insert(0, os.path.dirname(t.HERE))
from with_gdal import gdal, np, save as write
import pin_prints as prints

TABLE = os.path.join(t.SOURCE, "tests", "pins.txt")
HEAD = """# SHA-256 of samples, by tests/chain/test_pins.py, which writes this table with --update: case, product, hash.
# 'library libm': what the mathematical library computed that the pins were made with.
"""
UPDATE = "--update" in sys.argv[2:]
PARTS = [word for word in sys.argv[2:] if word != "--update"]
DATA = os.path.join(t.SHARED, "data")
SAMPLE = os.path.join(t.SOURCE, "sampledata")
work, at = t.work, t.at


def read_table():
    """{(case, product): hash}; empty without a table."""
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE) as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {(case, product): value for case, product, value in rows}


def write_table():
    t.put_text(TABLE + ".new", HEAD + "".join("%s %s %s\n" % (*key, pins[key]) for key in sorted(pins)))
    os.replace(TABLE + ".new", TABLE)
    print("%d lines in %s" % (len(pins), os.path.relpath(TABLE)))


def check_library():
    """Skip the test, or with --update drop all pins, where libm is another one."""
    global pins
    key, here = ("library", "libm"), prints.of_libm()
    other = pins.get(key, here if UPDATE else None) != here
    if other and not UPDATE:
        t.skip("the pins were made with another libm: make them with the program before the change (--update), then test "
               "the one after it")
    if other:
        print("another libm: no line of the old table is kept")
        pins = {}
    pins[key] = here


def asked(case):
    return not PARTS or any(part in case for part in PARTS)


def judge(case, found, like):
    """Compare {product: hash} of a case with the table's lines of `like`, another case or itself."""
    wanted = {product: value for (name, product), value in pins.items() if name == like}
    if UPDATE and like == case:
        for product in wanted:
            del pins[case, product]
        pins.update({(case, product): value for product, value in found.items()})
        print("pinned %s" % case, flush=True)
        return
    beside = "" if like == case else " (as %s)" % like
    if not wanted:
        t.expect(False, "%s%s: the table has no pin; add it with --update" % (case, beside))
    for product in sorted(set(wanted) & set(found)) if like != case else sorted(set(wanted) | set(found)):
        t.expect(wanted.get(product) == found.get(product), "%s%s: %s" % (case, beside, product))


def products(dem, ends=("_qa", "_ortho")):
    """Hashes of a DEM and its companions."""
    found = {"dem": prints.of_raster(dem)}
    for end in ends:
        found[end[1:]] = prints.of_raster(t.companion(dem, end + ".tif"))
    return found


def call(case, words):
    """True when the program went through; else a failure is counted."""
    good = t.call([t.PROGRAM] + list(words)).returncode == 0
    return good or t.expect(False, "%s: the program runs" % case)


def run(case, inputs, *options, like=None):
    """`run` on the processor; levels and devices: test_identity.py, test_device.py."""
    dem = at("dem.tif")
    if asked(case) and call(case, ["run", *inputs, "-o", dem, "--quiet", "--overwrite", "--device", "cpu", *options]):
        judge(case, products(dem), like or case)


def match(case, pair, *options, out="d.tif"):
    """`match` on the processor, with its preview where asked for; levels, threads and devices: tests/pair/test_match.py."""
    if asked(case) and call(case, ["match", *pair, "-o", at(out), "--quiet", "--overwrite", "--device", "cpu", *options]):
        found = {"disparity": prints.of_raster(at(out))}
        if "--preview" in options:
            found["preview"] = prints.of_raster(options[options.index("--preview") + 1])
        judge(case, found, case)


def simulate(name, *options, layout="aster"):
    """A simulated scene: its inputs for `run`.  Its own rasters and tables are pinned first."""
    folder = t.simulate(at(name), "--layout", layout, *options)
    if asked("simulate/" + name):
        found = {os.path.basename(f)[:-4]: prints.of_raster(f) for f in glob.glob(folder + "/*.tif")}
        tables = sorted(glob.glob(folder + "/*.txt"))
        if tables:
            found["tables"] = prints.of_files(tables)
        judge("simulate/" + name, found, "simulate/" + name)
    return [folder] if layout == "aster" else [os.path.join(folder, "left.tif"), os.path.join(folder, "right.tif")]


def samples():
    """Both scenes of sampledata, of the same pixels."""
    hdf, folder = (sorted(glob.glob(os.path.join(SAMPLE, "*" + end))) for end in (".hdf", ".zip"))
    for name, scene in (("hdf", hdf), ("zip", folder)):
        usual = "sample-%s/default" % name
        run(usual, scene)
        cut = (("tile150", ("--tile", 150)), ("threads1", ("--threads", 1)), ("96M", ("--memory", "96M")))
        for end, options in cut[2:] if name == "hdf" else cut:  # its others, small's levels: test_identity.py
            run("sample-%s/%s" % (name, end), scene, *options, like=usual)
        slow = (("sgm", ("--optimizer", "sgm")), ("tr11", ("--tr", 11)))
        for end, options in (*(slow if name == "hdf" else ()), ("census", ("--cost", "census")),
                             ("egm96", ("--vertical", "egm96")), ("degrees", ("--t_srs", "EPSG:4326", "--tr", 0.0003)),
                             ("prior", ("--dem", os.path.join(SAMPLE, "truth.tif"))),
                             ("heights", ("--hmin", 250, "--hmax", 1000))):
            run("sample-%s/%s" % (name, end), scene, *options)
    run("sample-hdf/tr11-threads1", hdf, "--tr", 11, "--threads", 1, like="sample-hdf/tr11")
    run("sample-hdf/sgm-tile150", hdf, "--optimizer", "sgm", "--tile", 150, like="sample-hdf/sgm")
    units("sample-hdf/units", hdf, "--tile", 150)


def units(case, inputs, *options):
    """`plan`, every unit in a call of its own, the last first, and `merge`, against the DEM of `run`."""
    if not asked(case):
        return
    job = at("job")
    done = t.call([t.PROGRAM, "plan", *inputs, "-o", job, "--overwrite", "--log", "json", "--device", "cpu", *options])
    if not t.expect(done.returncode == 0, "%s: a plan is made" % case):
        return
    count = json.loads(done.stdout.splitlines()[-1])["unit_count"]
    t.expect(count > 3, "%s: %d units" % (case, count))
    for i in [0] + list(range(count - 1, 0, -1)):
        if not call(case, ["tile", job, i, "--quiet"]):
            return
    if call(case, ["merge", job, "--quiet"]):
        dem = [f for f in glob.glob(job + "/dem/*.tif") if not f.endswith(("_qa.tif", "_ortho.tif"))]
        judge(case, products(dem[0], ["_qa"]), "sample-hdf/default")


def simulated():
    """A small ASTER scene for what is slow, a pair with RPC, a pair that is epipolar already."""
    small = simulate("small", "--width", 340, "--height", 320, "--lon", 7, "--lat", 45)
    run("small/default", small)
    run("small/census", small, "--cost", "census")
    run("small/sgm", small, "--optimizer", "sgm")
    tiny = simulate("tiny", "--width", 240, "--height", 220, "--lon", 7, "--lat", 45)
    run("tiny/default", tiny)
    pair = simulate("rpc", "--width", 500, "--height", 500, "--gsd", 0.5, "--relief", 60, layout="rpc")
    run("rpc/default", pair)
    run("rpc/zncc", pair, "--cost", "zncc")
    run("rpc/threads1-tile100", pair, "--threads", 1, "--tile", 100, like="rpc/default")
    run("rpc/local", pair, "--optimizer", "local")


def stacks():
    """Three scenes of one place, each with errors of its own."""
    dems = []
    for i in (6, 7, 8):
        scene = simulate("scene%d" % i, "--width", 400, "--height", 400, "--lon", 7, "--lat", 45, "--seed", 4,
                         "--error-seed", i, "--pointing-across", 1 + 0.1 * i, "--jitter", 0.15, "--noise", 1,
                         "--orbit-noise", 0.3, "--velocity-noise", 0.05, "--cloud", 0.08)
        dems.append(at("stacked%d.tif" % i))
        if not call("stack/dem%d" % i, ["run", *scene, "-o", dems[-1], "--quiet", "--device", "cpu"]):
            return
        if asked("stack/dem%d" % i):
            judge("stack/dem%d" % i, products(dems[-1]), "stack/dem%d" % i)
    for case, options, like in (("stack/default", (), None), ("stack/xyz", ("--align", "xyz"), None),
                                ("stack/keep", ("--bias", "keep"), None), ("stack/tr45", ("--tr", 45), None),
                                ("stack/threads1-64M", ("--threads", 1, "--memory", "64M"), "stack/default")):
        out = at("stack.tif")
        if asked(case) and call(case, ["stack", *dems, "-o", out, "--quiet", "--overwrite", *options]):
            judge(case, products(out, ["_qa"]), like or case)


def noise(seed, height, width):
    """Random whole numbers 0..255 by integer arithmetic, the same everywhere."""
    word = np.arange(height * width, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed * 40503 + 1)
    for shift, factor in ((16, 0x7feb352d), (15, 0x846ca68b)):
        word = (word ^ (word >> np.uint32(shift))) * np.uint32(factor)
    return ((word ^ (word >> np.uint32(16))) >> np.uint32(24)).astype(np.int64).reshape(height, width)


def synthetic(height=180, width=260, most=256):
    """(left, right), whole numbers below `most`: a ramp and a block before it, with some noise and a smooth patch."""
    fine, coarse = noise(1, height, width + 64), noise(2, height // 8 + 1, (width + 64) // 8 + 1)
    scene = 2 * fine + np.roll(fine, 1, 1) + np.roll(fine, 1, 0)
    scene += 3 * np.kron(coarse, np.ones((8, 8), int))[:height, :width + 64]
    scene[height // 2:height // 2 + 30, 100:150] = 700
    y, x = np.mgrid[0:height, 0:width]
    d = 5 + x // 24 + np.where((abs(y - 60) < 25) & (abs(x - 130) < 40), 14, 0)
    left = scene[y, np.minimum(x + 40 - d, width + 63)]
    right = scene[:, 40:40 + width]
    return [np.clip(view * most // 1792 + noise(seed, height, width) * most // 8192, 0, most - 1)
            for view, seed in ((left, 3), (right, 4))]


COLOURS = (gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand)


def save(name, bands):
    """Whole numbers, bands x height x width, as .png or .tif; the path."""
    return write(at(name), np.array(bands, "u1" if np.max(bands[0]) < 256 else "u2"), interp=COLOURS if len(bands) == 3 else ())


OPTIMIZERS = ("local", "sgm", "bp")
MATCH_OPTIONS = (
    ("paths4", "--optimizer sgm --paths 4"), ("p1p2", "--optimizer sgm --cost census --p1 5 --p2 60"),
    ("bp-tile13", "--optimizer bp --cost sad --bp-tile 13 --bp-inner 3 --bp-outer 2"),
    ("bp-weight", "--optimizer bp --bp-weight 9 --bp-truncation 3"),
    ("even", "--cost sad --window 8"), ("wide", "--cost zncc --window 15"), ("census5x5", "--census 5x5"),
    ("census7x7", "--census 7x7"), ("census9x9", "--census 9x9"), ("whole", "--subpixel off"),
    ("unchecked", "--lr-threshold -1"),
    ("unique", "--uniqueness 0.1"), ("sigma", "--min-sigma 12"), ("median3", "--median 3"), ("median5", "--median 5"),
    ("nearest", "--fill nearest"), ("interpolate", "--fill interpolate --median 3"), ("half", "--downscale 2"),
    ("band1", "--band 1"), ("range64", "--max-disparity 63 --cost sad"), ("range100", "--max-disparity 99 --cost zncc"))


def matches():
    """`match` on a pair made of whole numbers: costs and optimizers, options, sequences."""
    views = synthetic()
    pair = [save("%s.png" % side, [view]) for side, view in zip("lr", views)]
    colours = [save("colour_%s.png" % side, [view, 255 - view // 2, view // 3]) for side, view in zip("lr", views)]
    deep = [save("deep_%s.tif" % side, [view]) for side, view in zip("lr", synthetic(most=4096))]
    near = ("--max-disparity", 40)
    for cost in ("sad", "zncc", "census", "ad-census"):
        for optimizer in OPTIMIZERS:
            if (cost, optimizer) in (("ad-census", "local"), ("zncc", "sgm"), ("zncc", "bp")):
                continue  # refused
            words = ("--cost", cost, "--optimizer", optimizer, *near)
            match("match/%s-%s" % (cost, optimizer), pair, *words)
            match("match/%s-%s-deep" % (cost, optimizer), deep, *words)
    for optimizer in OPTIMIZERS:
        match("match/negative-" + optimizer, pair[::-1], "--min-disparity", -40, "--max-disparity", -1,
              "--optimizer", optimizer)
    for name, words in MATCH_OPTIONS:
        match("match/" + name, pair, *(() if "--max" in words else near), *words.split())
    match("match/colour", colours, *near)
    match("match/preview", pair, *near, "--preview", at("p.png"))
    match("match/pfm", pair, *near, out="d.pfm")
    sequence(views, near)


def sequence(views, near):
    """Two frames; the second is the first with its rows turned over."""
    if not asked("match/sequence"):
        return
    for k in (1, 2):
        for side, view in zip("lr", views):
            save("%s_%d.png" % (side, k), [view[::-1] if k == 2 else view])
    if call("match/sequence", ["match", at("l_%d.png"), at("r_%d.png"), "-o", at("d_%d.tif"), "--quiet", "--device", "cpu",
                               *near]):
        judge("match/sequence", {"frame%d" % k: prints.of_raster(at("d_%d.tif" % k)) for k in (1, 2)}, "match/sequence")


def shared():
    """Scenes and pairs of ../shared/data."""
    for case, files, options in (
            ("aster_full/default", ("aster_full/AST_L1A_00401012001180022_sim.hdf",), ()),
            ("aster_full/census", ("aster_full/AST_L1A_00401012001180022_sim.hdf",), ("--cost", "census")),
            ("pleiades_reunion/default", ("pleiades_reunion/img_01.tif", "pleiades_reunion/img_02.tif"), ()),
            ("giza/default", ("giza/gizeh_1.tif", "giza/gizeh_2.tif"), ()),
            ("turkey_pre/adjusted", ("turkey_pre/adjusted_1.tif", "turkey_pre/adjusted_2.tif"), ()),
            ("turkey_pre/raw", ("turkey_pre/raw_1.tif", "turkey_pre/raw_2.tif"), ())):
        inputs = here(case, files)
        if inputs:
            run(case, inputs, *options)
    for name, files in (("cones", ("im2.png", "im6.png")), ("teddy", ("im2.png", "im6.png")),
                        ("tsukuba", ("im_left.png", "im_right.png"))):
        pair = here("middlebury/" + name, ["middlebury/%s/%s" % (name, f) for f in files])
        for optimizer in OPTIMIZERS if pair else ():
            match("middlebury/%s-%s" % (name, optimizer), pair, "--optimizer", optimizer)


def here(case, files):
    """Paths of files of ../shared/data, or None, told."""
    paths = [os.path.join(DATA, f) for f in files]
    if all(os.path.exists(p) for p in paths):
        return paths
    print("%s: no %s here: left out" % (case, os.path.dirname(paths[0])))
    return None


pins = read_table()
check_library()
for group in (matches, samples, simulated, stacks, shared):
    group()
if UPDATE and not t.failures:
    write_table()
t.finish()
