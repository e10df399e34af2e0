#!/usr/bin/python3
# What the options and the kinds of images do to a DEM: prior, height range, CRS, datum, masks, types, bands, parallel pair.
# test_options.py [STEREODEM [SOURCE_DIR [PART]]]     exits 77 when Python has no numpy or GDAL
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import subprocess
import sys

import harness as t
import with_gdal
from with_gdal import gdal, image, np, osr, overwrite, put
work, at = t.work, t.at


def heights(path):
    return with_gdal.heights(path), gdal.Open(path).GetGeoTransform()


def same_within(name, dem, other, most):
    """Two DEMs agree: bias and NMAD below `most`, coverage alike."""
    f = t.compare(dem, other)
    if t.expect(f is not None, name + ": comparable"):
        raw = f["raw"]
        t.expect(raw["nmad"] <= most and abs(raw["median"]) <= most and f["coverage"] > 0.97,
                 "%s: bias %.3f, NMAD %.3f m within %g, coverage %.3f" % (name, raw["median"], raw["nmad"], most,
                                                                         f["coverage"]))


def patch(path, value, x, y, width, height):
    """One value in a part of a raster."""
    def change(data):
        data[y:y + height, x:x + width] = value
        return data
    overwrite(path, change)


def pair_with(name, pair, change, **how):
    """A copy of an RPC pair with other pixels: change(band array, side) -> array, of one band or several."""
    return [image(at("%s_%d.tif" % (name, side)), change(gdal.Open(path).ReadAsArray(), side), path, **how) for side, path in enumerate(pair)]


def part_fill():
    """--fill: none fills nothing, gentle nothing steep, all everything; tiles and threads change nothing."""
    options = ["--width", 480, "--height", 480, "--lon", 7, "--lat", 45, "--seed", 5, "--relief", 2200, "--base", 500,
               "--texture", 6, "--noise", 2, "--roll", 8]
    scene = t.simulate(at("fill"), *options)
    made = {how: at("fill_%s.tif" % how) for how in ("none", "gentle", "all", "usual", "tiles")}
    for how, path in made.items():
        choice = {"usual": [], "tiles": ["--tile", 100, "--threads", 1]}.get(how, ["--fill", how])
        if not t.expect(t.run([scene], path, *choice), "fill %s: runs" % how):
            return
    cells = {}
    for how, path in made.items():
        h, geo = heights(path)
        qa = gdal.Open(t.companion(path, "_qa.tif"))
        mask = qa.GetRasterBand(5).ReadAsArray()
        along = np.gradient(h, geo[1])
        cells[how] = (np.isfinite(h), (mask & 2) > 0, np.degrees(np.arctan(np.hypot(*along))), mask)
    t.expect(all(t.digest(made["gentle"]) == t.digest(made[o]) for o in ("usual", "tiles")), "gentle is the default, in tiles, too")
    filled = {how: int(c[1].sum()) for how, c in cells.items()}
    t.expect(filled["none"] == 0 < filled["gentle"] < filled["all"], "cells filled: %s" % filled)
    # slopes by the heights that are all filled: cells beside holes have none else
    steep = {how: np.nanmax(np.where(cells[how][1], cells["all"][2], np.nan)) for how in ("gentle", "all")}
    t.expect(steep["gentle"] < 30 < steep["all"], "steepest filled cell: gentle %.1f, all %.1f deg" % (steep["gentle"], steep["all"]))
    # but for a few cells: the pointing correction is fitted to strips that are filled, too
    fewer = int((cells["none"][0] & ~cells["gentle"][0]).sum() + (cells["gentle"][0] & ~cells["all"][0]).sum())
    t.expect(fewer < 1e-3 * cells["all"][0].sum(), "%d cells have a height with less filling alone" % fewer)
    lost = cells["all"][0] & ~cells["gentle"][0]
    t.expect(lost.any() and (cells["gentle"][3][lost] & ~3 != 0).all(), "%d cells stay open, each with its reason" % lost.sum())


def part_prior():
    options = ["--width", 480, "--height", 480, "--lon", 7, "--lat", 45, "--seed", 11, "--cloud", 0.08]
    scene = t.simulate(at("prior"), *options)
    truth, cover = os.path.join(scene, "truth.tif"), os.path.join(scene, "class.tif")
    plain, led, narrow = at("plain.tif"), at("led.tif"), at("narrow.tif")
    if not t.expect(t.run([scene], plain) and t.run([scene], led, "--dem", truth, "--dem-vertical", "ellipsoid") and
                    t.run([scene], narrow, "--hmin", 200, "--hmax", 1000), "plain, with prior, with range: all run"):
        return
    same_within("prior", led, plain, 1.0)
    same_within("height range", narrow, plain, 1.5) # another frame, other noise
    a, b = (t.compare(d, truth, "--class", cover) for d in (plain, led))
    t.expect(abs(a["raw"]["nmad"] - b["raw"]["nmad"]) < 0.3, "prior: NMAD %.2f as without, %.2f" % (b["raw"]["nmad"],
                                                                                                 a["raw"]["nmad"]))
    t.expect(b["cloud"]["filled"] <= a["cloud"]["filled"] + 0.02,
             "prior: fills no cloud: %.3f, without %.3f" % (b["cloud"]["filled"], a["cloud"]["filled"]))
    false_prior = at("false.tif")
    t.call([t.tool("gdal_translate"), "-q", "-ot", "Float32", "-scale", 0, 1, 60, 61, truth, false_prior])
    moved = at("moved.tif") # a prior 60 m too high must not show in the DEM
    if t.expect(t.run([scene], moved, "--dem", false_prior, "--dem-vertical", "ellipsoid"), "prior 60 m too high: runs"):
        same_within("prior 60 m too high", moved, plain, 1.0)
    told = t.call([t.PROGRAM, "run", scene, "-o", at("own.tif"), "--dem", truth, "--cost", "zncc"]).stderr
    t.expect(told and "vertical datum" not in told, "prior of our own: its datum is read")
    judged = t.call([t.PROGRAM, "compare", at("own.tif"), truth]).stdout
    t.expect("nmad" in judged and "note:" not in judged, "our own truth says what its heights are above")
    holed = at("holed.tif") # voids that the file does not declare
    t.call([t.tool("gdal_translate"), "-q", "-a_nodata", "none", truth, holed])
    patch(holed, -32768, 100, 100, 100, 60)
    done = t.call([t.PROGRAM, "run", scene, "-o", at("void.tif"), "--dem", holed, "--cost", "zncc"])
    if t.expect(done.returncode == 0 and "-32768 m are no heights" in done.stderr, "voids not declared in a prior: told"):
        same_within("voids in the prior", at("void.tif"), led, 1.0)
    tenths, feet, same = at("tenths.tif"), at("feet.tif"), at("same.tif") # decimetres, the band's scale says so
    t.call([t.tool("gdal_translate"), "-q", "-ot", "Int16", "-scale", 0, 1000, 0, 10000, "-a_scale", 0.1, truth, tenths])
    if t.expect(t.run([scene], same, "--dem", tenths, "--dem-vertical", "ellipsoid"), "prior in decimetres: runs"):
        same_within("prior in decimetres", same, led, 0.5)
    t.call([t.tool("gdal_translate"), "-q", truth, feet])
    data = gdal.Open(feet, gdal.GA_Update)
    data.GetRasterBand(1).SetUnitType("ft")
    data = None
    t.refused(1, "heights are in 'ft'", "run", scene, "-o", at("none.tif"), "-q", "--dem", feet)
    done = t.call([t.PROGRAM, "run", scene, "-o", at("none.tif"), "-q", "--hmin", 3000, "--hmax", 4000], quiet=True)
    wrong = done.returncode == 0 and t.compare(at("none.tif"), truth, "--class", cover)["raw"]["over30"] > 0.003
    t.expect(not wrong, "a height range that misses the terrain makes no false DEM (rc %d)" % done.returncode)


def part_datum():
    scene = t.simulate(at("datum"), "--width", 400, "--height", 400, "--lon", 7, "--lat", 45, "--seed", 12)
    ell, geo, flat, named = at("ell.tif"), at("egm96.tif"), at("degrees.tif"), at("l93.tif")
    if not t.expect(t.run([scene], ell) and t.run([scene], flat, "--t_srs", "EPSG:4326", "--tr", 0.0003) and
                    t.run([scene], named, "--t_srs", "EPSG:2154", "--tr", 25), "ellipsoid, degrees, Lambert 93: all run"):
        return
    back = at("degrees_back.tif") # compare takes metres only
    grid = gdal.Open(ell)
    x0, dx, _, y0, _, dy = grid.GetGeoTransform()
    gdal.Warp(back, flat, dstSRS=grid.GetProjection(), resampleAlg="bilinear", dstNodata=-9999,
              outputBounds=[x0, y0 + dy * grid.RasterYSize, x0 + dx * grid.RasterXSize, y0], xRes=dx, yRes=-dy)
    for name, dem in (("degrees", back), ("Lambert 93", named)):
        f = t.compare(dem, os.path.join(scene, "truth.tif"), "--class", os.path.join(scene, "class.tif"))
        t.expect(f["raw"]["nmad"] < 4.0 and abs(f["raw"]["median"]) < 0.5 and f["coverage"] > 0.93,
                 "%s: %s" % (name, t.figures(f)))
    gt = gdal.Open(flat).GetGeoTransform()
    t.expect(abs(gt[1] - 0.0003) < 1e-12 and abs(gt[0] / 0.0003 - round(gt[0] / 0.0003)) < 1e-4,
             "degrees: spacing as asked, grid aligned")
    done = t.call([t.PROGRAM, "run", scene, "-o", geo, "-q", "--overwrite", "--vertical", "egm96"], quiet=True)
    if done.returncode:
        t.expect("grid" in done.stderr, "no EGM96 grid here, and the sentence says so")
        return
    a, transform = heights(ell)
    b, other = heights(geo)
    t.expect(transform == other and a.shape == b.shape, "egm96: same grid as ellipsoid")
    both = np.argwhere(np.isfinite(a) & np.isfinite(b))[::97]
    x = transform[0] + transform[1] * (both[:, 1] + 0.5)
    y = transform[3] + transform[5] * (both[:, 0] + 0.5)
    code = osr.SpatialReference(wkt=gdal.Open(ell).GetProjection()).GetAuthorityCode(None)
    lines = "".join("%.3f %.3f 0\n" % p for p in zip(x, y))
    run = subprocess.run([t.tool("cs2cs"), "-f", "%.9f", "EPSG:" + code, "EPSG:4326"], input=lines, text=True,
                         stdout=subprocess.PIPE)
    run = subprocess.run([t.tool("cs2cs"), "-f", "%.6f", "EPSG:4979", "EPSG:4326+5773"], input=run.stdout, text=True,
                         stdout=subprocess.PIPE)
    undulation = -np.array([float(line.split()[2]) for line in run.stdout.splitlines()])
    gap = a[tuple(both.T)] - b[tuple(both.T)] - undulation
    t.expect(len(gap) > 200 and np.abs(undulation).min() > 10 and np.abs(gap).max() <= 0.05,
             "egm96: %d cells differ by PROJ's grid (%.1f m) within %.3f m" % (len(gap), undulation.mean(),
                                                                              np.abs(gap).max()))
    said = t.call([t.tool("gdalinfo"), geo]).stdout
    t.expect("COMPOUNDCRS" in said and "EGM96" in said, "egm96: gdalinfo names the compound CRS")
    said = t.call(["gdalinfo", ell]).stdout
    t.expect("COMPOUNDCRS" not in said and "llipsoid" in said, "ellipsoid: gdalinfo names no compound CRS, and the datum")


def part_pixels():
    pair = t.simulate(at("pixels"), "--layout", "rpc", "--width", 420, "--height", 420, "--gsd", 0.5, "--relief", 50,
                      "--lon", 7, "--lat", 45, "--seed", 13)
    pair = [os.path.join(pair, n) for n in ("left.tif", "right.tif")]
    plain = at("u12.tif") # 45..1372 DN
    if not t.expect(t.run(pair, plain), "12 bit: runs"):
        return
    rng = np.random.default_rng(1)
    cases = [("8 bit", pair_with("u8", pair, lambda p, s: np.clip(p // 5, 1, 254).astype("u1")), []),
             ("16 bit", pair_with("u16", pair, lambda p, s: p.astype(np.uint16) * 37 + 900), []),
             ("float32", pair_with("f32", pair, lambda p, s: p.astype(np.float32) / 999), []),
             ("signed 16 bit", pair_with("i16", pair, lambda p, s: p.astype(np.int16) * 9 - 1000), []),
             ("band 2", pair_with("b2", pair, lambda p, s: np.array([rng.integers(0, 999, p.shape), p, p * 0], "u2")), ["--band", 2])]
    for name, files, options in cases:
        dem = at("kind.tif")
        if t.expect(t.run(files, dem, *options), name + ": runs"):
            same_within(name, dem, plain, 0.1)
    done = t.call([t.PROGRAM, "run"] + cases[4][1] + ["-o", at("no.tif")], quiet=True)
    t.expect("the mean of bands 1, 2, 3 (--band takes one of them)" in done.stderr, "three bands without --band: their mean, and a line")

    def left_part_gone(value):
        def change(p, side):
            p = p.copy()
            p[:, :150] = p[:, :150] if side else value
            return p
        return change

    def alpha(kind):
        return lambda p, side: np.array([p, left_part_gone(0)(np.full_like(p, 65535), side)], kind)
    gone = pair_with("nodata", pair, left_part_gone(0), nodata=0)
    hole = pair_with("nan", pair, lambda p, s: left_part_gone(np.nan)(p.astype(np.float32), s))
    mask = image(at("mask.tif"), np.tile(np.arange(420) >= 150, (420, 1)).astype("u1"))
    whole, transform = heights(plain)
    for name, files, options in (("nodata", gone, []), ("NaN", hole, []), ("alpha", pair_with("alpha", pair, alpha("u2"),
                                 options=["ALPHA=YES"]), []), ("alpha of floats", pair_with("floats", pair, alpha("f4"), options=["ALPHA=YES"]), []),
                                 ("--mask-left", pair, ["--mask-left", mask])):
        dem = at("part.tif")
        if not t.expect(t.run(files, dem, *options), name + ": runs"):
            continue
        part, other = heights(dem)
        share = np.isfinite(part).sum() * other[1] ** 2 / (np.isfinite(whole).sum() * transform[1] ** 2)
        t.expect(0.5 < share < 270 / 420 + 0.01, "%s: 36 %% of the left image gone, %.1f %% of the cells left" %
                 (name, 100 * share))
        f = t.compare(dem, plain)
        t.expect(f["raw"]["nmad"] < 0.1 and f["raw"]["over30"] == 0, "%s: what is left agrees, NMAD %.3f" %
                 (name, f["raw"]["nmad"]))


def part_saturated():
    """A bright patch at the sensor's limit in both views; detector levels differ by column, as in real scenes."""
    scene = t.simulate(at("bright"), "--width", 560, "--height", 560, "--lon", 7, "--lat", 45, "--seed", 14, "--striping", 1)
    dem = at("bright.tif")
    plain = at("not_bright.tif")
    if not t.expect(t.run([scene], plain), "without a bright patch: runs"):
        return
    for band, x0, y0, wide in (("3N", 200, 200, 90), ("3B", 230, 230, 170)): # 3B: the same ground and more
        patch(glob.glob(os.path.join(scene, "*Band%s.ImageData*" % band))[0], 255, x0, y0, wide, wide)
    if not t.expect(t.run([scene], dem), "a saturated patch: runs"):
        return
    quality = gdal.Open(t.companion(dem, "_qa.tif"))
    mask = quality.GetRasterBand(5).ReadAsArray().astype(int)
    bright = (mask & 8) > 0
    t.expect(not (bright & ((mask & 1) > 0)).any(), "no saturated cell has a height")
    t.expect(abs(bright.sum() / (wide / 2) ** 2 - 1) < 0.15, "%d cells of 30 m say that they are saturated, the larger "
             "patch has %d" % (bright.sum(), (wide / 2) ** 2))
    if not bright.any():
        return
    rows, columns = (np.sort(v)[[len(v) // 50, -1 - len(v) // 50]] for v in bright.nonzero())
    h, _ = heights(dem)
    inside = h[rows[0] + 16:rows[1] - 15, columns[0] + 16:columns[1] - 15] # the patch lies turned on the map
    t.expect(inside.size > 1500 and np.isfinite(inside).mean() < 0.002, "the patch stays open: %.2f %% have a height" %
             (100 * np.isfinite(inside).mean()))
    f = t.compare(dem, os.path.join(scene, "truth.tif"), "--class", os.path.join(scene, "class.tif"))
    t.expect(f["raw"]["over30"] < 0.002 and f["raw"]["nmad"] < 4.0, "what is left is right: " + t.figures(f))


def texture(shape, seed):
    """Random texture as a sum of smooth noise at several scales, 0..255."""
    rng = np.random.default_rng(seed)
    total = np.zeros(shape)
    for scale in (1, 2, 4, 8):
        spectrum = np.fft.rfft2(rng.standard_normal(shape))
        fy, fx = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
        layer = np.fft.irfft2(spectrum * np.exp(-0.5 * ((fx ** 2 + fy ** 2) * (4 * scale) ** 2)), shape)
        total += layer / layer.std()
    return total


def part_cost():
    """auto: by the size of a pixel, whatever the file; the same bytes as the cost that it stands for."""
    for gsd, cost in ((0.5, "census"), (10, "zncc")):
        name = "cost%s" % gsd
        pair = t.simulate(at(name), "--layout", "rpc", "--width", 340, "--height", 340, "--gsd", gsd, "--relief", 40 * gsd,
                          "--lon", 7, "--lat", 45)
        images = [os.path.join(pair, "left.tif"), os.path.join(pair, "right.tif")]
        usual, named = at("terrain_" + name + ".tif"), at(name + cost + ".tif")
        if t.expect(t.run(images, usual, "--cost", "auto") and t.run(images, named, "--cost", cost), "pixels of %g m: auto and %s" % (gsd, cost)):
            t.expect(t.parsed(t.companion(usual, ".json"))["scene"]["cost"] == cost, "pixels of %g m are matched by %s" % (gsd, cost))
            t.expect(t.digest(usual) == t.digest(named), "pixels of %g m: the same bytes" % gsd)


def part_parallel():
    """Two georeferenced views of one surface, the right one moved by B/H x height; terrain and truth by formula."""
    size, spacing, ratio = 500, 2.0, 0.4
    j, i = np.mgrid[0:size, 0:size].astype(float)
    wide = texture((size, size + 200), 5)
    height = 100 + 30 * np.sin(i / 40) * np.cos(j / 55)

    def lookup(rows, cols):
        base = np.clip(np.floor(cols).astype(int), 1, size + 197)
        f, r = cols - base, rows.astype(int)
        p = [wide[r, base + k] for k in (-1, 0, 1, 2)]
        return p[1] + 0.5 * f * (p[2] - p[0] + f * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3] +
                                                   f * (3 * (p[1] - p[2]) + p[3] - p[0])))
    left = lookup(j, i + 100)
    source = i.copy() # column of the ground that right column i sees: g - (B/H) h(g) / spacing = i
    for _ in range(60):
        source = i + ratio * (100 + 30 * np.sin(source / 40) * np.cos(j / 55)) / spacing
    right = lookup(j, source + 100)
    for name, data, kind in (("par_left", left, gdal.GDT_Byte), ("par_right", right, gdal.GDT_Byte),
                             ("par_truth", height, gdal.GDT_Float32)):
        data = data if kind == gdal.GDT_Float32 else np.clip(np.rint(128 + 25 * data), 1, 254)
        put(at(name + ".tif"), data, 400000, 5000000, spacing, "EPSG:32632", None, kind)
    dem = at("parallel.tif")
    made = t.run([at("par_left.tif"), at("par_right.tif")], dem, "--base-height", ratio, "--tr", spacing, "--hmin", 0,
                 "--hmax", 200)
    if t.expect(made, "parallel pair: runs"):
        f = t.compare(dem, at("par_truth.tif"))
        pixel_m = spacing / ratio
        print("  parallel pair: " + t.figures(f))
        t.expect(f["raw"]["nmad"] < 0.16 * pixel_m and abs(f["raw"]["median"]) < 0.05 * pixel_m and f["coverage"] > 0.85,
                 "parallel pair: NMAD under 0.16 px, bias under 0.05 px, covered")


def part_antimeridian():
    """Scenes on 180 degrees: degrees go on past it; a map that is cut there is refused before any work."""
    aster = t.simulate(at("am"), "--lon", 180, "--lat", 70, "--width", 300, "--height", 300)
    t.simulate(at("rp"), "--layout", "rpc", "--gsd", 5, "--lon", 179.9995, "--lat", -17, "--width", 300, "--height", 300)
    for name, scene in (("ASTER", [aster]), ("RPC", [at("rp/left.tif"), at("rp/right.tif")])):
        truth = os.path.join(os.path.dirname(scene[0]) if len(scene) > 1 else aster, "truth.tif")
        said = json.loads(t.call([t.PROGRAM, "info", *scene, "--log", "json", "--t_srs", "EPSG:4326"]).stdout)
        t.expect(said["cols"] < 1000 and said["rows"] < 1000, "180, %s: info %d x %d cells" % (name, said["cols"], said["rows"]))
        dem, tiled, back = at("am.tif"), at("am_tiled.tif"), at("am_back.tif")
        if not t.expect(t.run(scene, dem, "--t_srs", "EPSG:4326"), "180, %s: EPSG:4326" % name):
            continue
        h, g = heights(dem)
        t.expect(179 < g[0] < 180 < g[0] + h.shape[1] * g[1] < 181, "180, %s: from %.3f to %.3f" % (
            name, g[0], g[0] + h.shape[1] * g[1]))
        t.run(scene, tiled, "--t_srs", "EPSG:4326", "--tile", 64)
        t.expect(t.digest(dem) == t.digest(tiled), "180, %s: the same cells in tiles" % name)
        gdal.Warp(back, dem, format="GTiff", dstSRS=gdal.Open(truth).GetProjection(), resampleAlg="bilinear")
        f = t.compare(back, truth)
        t.expect(f is not None and f["raw"]["nmad"] < 4 and abs(f["raw"]["median"]) < 2, "180, %s: heights, %s" % (name, f and t.figures(f)))
        for code in ("EPSG:3857", "EPSG:6933", "EPSG:8857"):
            for words in (["info"], ["run", "-o", at("no.tif")], ["plan", "-o", at("no_job")]):
                done = t.call([t.PROGRAM, words[0], *scene, *words[1:], "--t_srs", code], True)
                cut = "map is cut where the scene lies" in done.stderr and "EPSG:4326" in done.stderr
                t.expect(done.returncode == 2 and (cut or "cannot be stored in a GeoTIFF" in done.stderr),
                         "180, %s: %s %s is refused" % (name, words[0], code))
        t.expect(not [n for n in os.listdir(work) if n.startswith("no") and n != "no.log"], "180: nothing is left")


def part_holes():
    """Masks in specks, lost lines and dead columns: heights wherever a window has pixels, and the truth of what is missing."""
    scene = t.simulate(at("specks"), "--width", 500, "--height", 500, "--lon", 7, "--lat", 45, "--seed", 21, "--noise", 1)
    plain, truth = at("no_mask.tif"), os.path.join(at("specks"), "truth.tif")
    if not t.expect(t.run([scene], plain), "without a mask: runs"):
        return
    whole = t.compare(plain, truth)
    rng = np.random.default_rng(4)
    right = gdal.Open(os.path.join(at("specks"), next(n for n in os.listdir(at("specks")) if n.endswith("3B.ImageData.tif")))).ReadAsArray()
    for name, side, share, worse, option, shape in (  # side of a speck, share of the pixels, NMAD in those of the whole
            ("right, 20 % in specks of 10 px", 10, 0.2, 1.08, "--mask-right", right.shape), ("5 % in pixels", 1, 0.05, 1.04, "--mask-left", (500, 500)),
            ("20 % in pixels", 1, 0.2, 1.11, "--mask-left", (500, 500)), ("10 % in specks of 4 px", 4, 0.1, 1.05, "--mask-left", (500, 500)),
            ("20 % in specks of 10 px", 10, 0.2, 1.08, "--mask-left", (500, 500))):
        use = np.ones(shape, np.uint8)
        while (use == 0).mean() < share:
            y, x = rng.integers(0, shape)
            use[y:y + side, x:x + side] = 0
        mask, dem = image(at("mask.tif"), use), at("masked.tif")
        if not t.expect(t.run([scene], dem, option, mask), "mask, %s: runs" % name):
            continue
        f, cells = t.compare(dem, truth), t.parsed(t.companion(dem, ".json"))["cells"]
        found, masked = cells["with_height"] / cells["seen"], cells["mask_bits"]["masked"] / cells["total"]
        t.expect(found > 0.97, "mask, %s: %.1f %% of what it leaves" % (name, 100 * found))
        t.expect(f["raw"]["nmad"] < worse * whole["raw"]["nmad"], "mask, %s: NMAD %.2f m, %.2f m without" %
                 (name, f["raw"]["nmad"], whole["raw"]["nmad"]))
        least, most = (0.08, 1) if option == "--mask-right" else (0.01, share)
        t.expect(least < masked < most, "mask, %s: %.1f %% of the cells are masked" % (name, 100 * masked))
    same = [at("units.tif"), dem]
    if t.expect(t.run([scene], same[0], "--mask-left", mask, "--tile", 96, "--threads", 1, "--cpu-level", "c"), "mask, in tiles: runs"):
        t.expect(t.digest(same[0]) == t.digest(same[1]), "mask: the same bytes in tiles, by plain C")
    lost, open_, sides = at("lost.tif"), at("open.tif"), {}
    scene = t.simulate(at("lines"), "--width", 500, "--height", 500, "--lon", 7, "--lat", 45, "--seed", 21, "--noise", 1,
                       "--lost-lines", 12, "--dead-columns", 6)
    for dem, fill in (lost, "gentle"), (open_, "none"):
        if t.expect(t.run([scene], dem, "--fill", fill), "lost lines, --fill %s: runs" % fill):
            sides[fill] = t.compare(dem, truth)["coverage"]
    if len(sides) == 2:
        t.expect(sides["gentle"] > whole["coverage"] - 0.005, "lost lines: coverage %.4f, %.4f without" % (sides["gentle"], whole["coverage"]))
        t.expect(sides["none"] < sides["gentle"], "they are filled heights: %.4f with --fill none" % sides["none"])
        quality = gdal.Open(t.companion(lost, "_qa.tif"))
        filled = quality.GetRasterBand(5).ReadAsArray() & 2
        t.expect((filled > 0).any(), "filled heights say so")


def part_poles():
    """Cells are measured on the ground, edges are kept, a scene that holds the pole has no map in degrees."""
    for name, lat in (("near", 89), ("south", -89), ("pole", 89.98)):
        scene = t.simulate(at(name), "--lon", 30, "--lat", lat, "--width", 300, "--height", 300)
        info = lambda code: t.call([t.PROGRAM, "info", scene, "--log", "json"] + (["--t_srs", code] if code else []), name == "pole")
        own = json.loads(info(None).stdout)
        for code in ("EPSG:4326", "EPSG:3857", "EPSG:3413", "EPSG:3031"):
            done = info(code)
            if name == "pole" and (code in ("EPSG:4326", "EPSG:3857", "EPSG:3031")):
                t.expect(done.returncode == 2 and "map is cut where the scene lies" in done.stderr and "+lon_0" not in done.stderr,
                         "the pole in %s is refused" % code)
                continue
            said = json.loads(done.stdout.splitlines()[-1])  # after warnings of the area of use
            t.expect(0.3 < said["cols"] * said["rows"] / (own["cols"] * own["rows"]) < 10,
                     "%s, %s: %d x %d cells of %g" % (name, code, said["cols"], said["rows"], said["spacing"]))


parts = {"poles": part_poles, "antimeridian": part_antimeridian, "fill": part_fill, "prior": part_prior,
         "datum": part_datum, "pixels": part_pixels, "saturated": part_saturated, "holes": part_holes, "cost": part_cost, "parallel": part_parallel}
for name in sys.argv[3:] or parts:
    parts[name]()
t.finish()
