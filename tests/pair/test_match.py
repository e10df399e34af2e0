#!/usr/bin/python3
"""`stereodem match` on pairs whose disparities are known: sign, accuracy, formats, what is left out, sequences."""
# test_match.py STEREODEM
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess

import pairs
from pairs import check, content, gdal, match, np, pair_score, run, save

W, H = 96, 64


def texture(x, y):
    """A band-limited image at real positions; -1..1."""
    draw = np.random.default_rng(7)
    value = np.zeros(np.broadcast(x, y).shape)
    for _ in range(60):
        fx, fy, phase = draw.uniform(-0.9, 0.9), draw.uniform(-0.9, 0.9), draw.uniform(0, 2 * np.pi)
        value += np.cos(fx * x + fy * y + phase)
    return value / 20.0


def views(d, width=W, height=H):
    """(left, right) with x_right = x_left - d."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    return texture(x, y), texture(x + d, y)


def as_bytes(v):
    return pairs.as_bytes(128 + 60 * v)


def save_pair(d, width=W, height=H):
    left, right = views(d, width, height)
    return save("l.tif", as_bytes(left)), save("r.tif", as_bytes(right))


def inside(d, margin=20):
    return d[margin:-margin, margin:-margin]


COSTS = ("sad", "zncc", "census")


def sign_and_accuracy():
    for d, lo, hi in ((5, 0, 9), (-4, -9, 0), (5.3, 0, 9), (-3.6, -9, 0), (0.5, -4, 4)):
        pair = save_pair(d)
        for cost in COSTS:
            found = inside(match(*pair, "--cost", cost, "--min-disparity", lo, "--max-disparity", hi))
            error = found - d
            rms = np.sqrt(np.nanmean(error ** 2))
            check(f"{cost}, shift {d}", np.isfinite(found).mean() > 0.98 and rms < 0.1,
                  f"matched {np.isfinite(found).mean():.3f}, rms {rms:.3f} px, mean {np.nanmean(error):.3f} px")
            whole = inside(match(*pair, "--cost", cost, "--min-disparity", lo, "--max-disparity", hi, "--subpixel", "off"))
            check(f"{cost}, shift {d}, whole pixels", np.all(whole[np.isfinite(whole)] % 1 == 0) and
                  np.nanmax(np.abs(whole - d)) <= 1)
    pair = save_pair(5)
    for window in (4, 8, 16):
        found = inside(match(*pair, "--cost", "sad", "--window", window, "--max-disparity", 9))
        error = np.abs(found - 5)
        check(f"sad, even window {window}", np.nanmean(error) < 0.1 and np.isfinite(found).mean() > 0.98,
              f"matched {np.isfinite(found).mean():.3f}, mean {np.nanmean(error):.3f} px")
    found = match(*pair, "--max-disparity", 9, "--lr-threshold", 1)
    check("no match off the right image", not np.isfinite(found[:, :4]).any())


def formats():
    pair = save_pair(5.3)
    tif = match(*pair, "--max-disparity", 9, "--preview", "p.png", out="o.tif")
    pfm = match(*pair, "--max-disparity", 9, out="o.pfm")
    check("PFM as TIFF", np.array_equal(tif, pfm, equal_nan=True))
    raw = np.frombuffer(content("o.pfm")[-4 * W * H:], "<f4")
    check("PFM: inf, not NaN", np.isinf(raw).sum() == np.isnan(tif).sum() > 0 and not np.isnan(raw).any())
    check("PFM: header", content("o.pfm").startswith(b"Pf\n96 64\n-1.0\n") and len(content("o.pfm")) == 14 + 4 * W * H)
    try:
        import cv2
        seen = cv2.imread("o.pfm", cv2.IMREAD_UNCHANGED)
        check("PFM by OpenCV", np.array_equal(np.where(np.isinf(seen), np.nan, seen), tif, equal_nan=True))
    except ImportError:
        print("SKIPPED: no OpenCV to read the PFM with")
    data = gdal.Open("o.tif")
    check("TIFF: type and nodata", data.GetRasterBand(1).DataType == gdal.GDT_Float32 and
          np.isnan(data.GetRasterBand(1).GetNoDataValue()))
    shown = pair_score.read_raster("p.png")
    want = np.where(np.isnan(tif), 0, np.rint(1 + 254 * np.clip(np.nan_to_num(tif), 0, 9) / 9))
    check("preview", np.abs(shown - want).max() <= 1 and ((shown == 0) == np.isnan(tif)).all())
    run(*pair, "-o", "o.any", "--format", "pfm", "--max-disparity", 9)
    check("--format", content("o.any") == content("o.pfm"))
    os.unlink("o.any")
    check("nothing aside", not [p for p in os.listdir(".") if ".part" in p or p.endswith(".aux.xml")], os.listdir("."))


def kinds_of_images():
    left, right = (as_bytes(v) for v in views(5))
    save("l.tif", left), save("r.tif", right)
    truth = match("l.tif", "r.tif", "--max-disparity", 9)
    grey = content("o.tif")
    rgb = (gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand)
    save("lc.png", np.stack([left] * 3), interp=rgb), save("rc.png", np.stack([right] * 3), interp=rgb)
    match("lc.png", "rc.png", "--max-disparity", 9)
    check("grey as colour", content("o.tif") == grey)
    match("lc.png", "r.tif", "--max-disparity", 9, "--band", 1)
    check("--band", content("o.tif") == grey)
    mixed = [np.stack([v, np.roll(v, 7, 1), 255 - v]) for v in (left, right)]
    luma = [((np.tensordot([299, 587, 114], m.astype(int), 1) + 500) // 1000).astype(np.uint8) for m in mixed]
    save("lc.png", mixed[0], interp=rgb), save("rc.png", mixed[1], interp=rgb)
    match("lc.png", "rc.png", "--max-disparity", 9)
    coloured = content("o.tif")
    match(save("ll.tif", luma[0]), save("rl.tif", luma[1]), "--max-disparity", 9)
    check("colour as its luma", content("o.tif") == coloured)
    bytes_zncc = match("l.tif", "r.tif", "--max-disparity", 9, "--cost", "zncc")
    for kind, gain, offset in ((np.uint16, 20, 3000), (np.int16, 100, -12000), (np.float32, 0.001, -5.0)):
        v = [(offset + gain * w.astype(float)).astype(kind) for w in (left, right)]
        found = match(save("lw.tif", v[0]), save("rw.tif", v[1]), "--max-disparity", 9, "--cost", "zncc")
        error = np.abs(found - bytes_zncc)
        check(f"{kind.__name__} as 8 bits", np.isfinite(found).sum() > 0.8 * found.size and np.nanmax(error) < 0.05,
              f"{np.nanmax(error):.3f} px")
    return truth


def what_is_left_out(truth):
    """A hole in either image leaves no match where a window touches it, and changes nothing further off."""
    left, right = (as_bytes(v) for v in views(5))
    hole = np.zeros((H, W), bool)
    hole[28:32, 50:54] = True
    near = np.zeros((H, W), bool) # census 9x7 words in a 9x9 window reach 8 columns and 7 rows
    near[28 - 7:32 + 7, 50 - 8:54 + 8] = True
    alpha = np.where(hole, 0, 255).astype(np.uint8)
    grey_alpha = (gdal.GCI_GrayIndex, gdal.GCI_AlphaBand)
    floats = np.where(hole, np.nan, left).astype(np.float32)
    cases = {"NaN": save("h.tif", floats), "infinity": save("h2.tif", np.where(hole, np.inf, left).astype(np.float32)),
             "nodata": save("h3.tif", np.where(hole, 1, np.maximum(left, 2)).astype(np.uint8), nodata=1),
             "alpha": save("h4.png", np.stack([left, alpha]), interp=grey_alpha)}
    plain = {"NaN": save("f.tif", right.astype(np.float32)), "nodata": "r.tif", "alpha": "r.tif"}
    plain["infinity"] = plain["NaN"]
    save("r.tif", right)
    for name, path in cases.items():
        found = match(path, plain[name], "--max-disparity", 9)
        far = ~near & np.isfinite(truth)
        check(f"{name}: none in the hole", not np.isfinite(found[hole]).any())
        check(f"{name}: untouched elsewhere", np.nanmax(np.abs(found - truth)[far]) < 0.25 and
              np.isfinite(found[far]).mean() > 0.95, f"{np.isfinite(found[far]).mean():.3f}")
        back = match(plain[name], path, "--min-disparity", -9, "--max-disparity", 0)
        check(f"{name}: hole in the right image", not np.isfinite(back[:, :-5][hole[:, 5:]]).any())


def same_bytes():
    pair = save_pair(5.3, 520, 400) # a million scores for each of three threads; fewer get one
    options = ("--max-disparity", 19, "--median", 3, "--fill", "nearest")
    for how in (*((c,) for c in COSTS), ("census", "--optimizer", "sgm"), ("sad", "--optimizer", "bp")):
        match(*pair, "--cost", *how, *options, "--threads", 1)
        one = content("o.tif")
        for words in (("--threads", 2), ("--threads", 5), *(("--cpu-level", k) for k in
                                                        ("reference", "c", "neon", "sse4.2", "avx2", "avx512bw", "avx512"))):
            done = run(*pair, "-o", "o.tif", "--overwrite", "-q", "--cost", *how, *options, *words, code=None)
            if done.returncode and "does not have it" in done.stderr:
                continue
            check(f"{how} {words}: same bytes", done.returncode == 0 and content("o.tif") == one, done.stderr)


def after_matching():
    pair = save_pair(5)
    plain = match(*pair, "--max-disparity", 9)
    blocks = [np.kron(as_bytes(v), np.ones((4, 4), np.uint8)) for v in views(5)]
    wide = [np.pad(b, ((0, 3), (0, 2)), constant_values=9) for b in blocks]
    small = match(save("lb.tif", wide[0]), save("rb.tif", wide[1]), "--downscale", 4, "--max-disparity", 9)
    check("--downscale", np.array_equal(small, plain, equal_nan=True))
    for how in ("nearest", "interpolate"):
        full = match(*pair, "--max-disparity", 9, "--fill", how)
        seen = np.isfinite(plain)
        check(f"--fill {how}", np.isfinite(full).all() and np.array_equal(full[seen], plain[seen]) and not seen.all())
    for side in (3, 5):
        smooth = match(*pair, "--max-disparity", 9, "--median", side)
        y, x, r = H // 2, W // 2, side // 2
        want = np.median(plain[y - r:y + r + 1, x - r:x + r + 1])
        check(f"--median {side}", smooth[y, x] == np.float32(want) and
              np.array_equal(np.isnan(smooth), np.isnan(plain)) and not np.array_equal(smooth, plain, equal_nan=True))
    strict = match(*pair, "--max-disparity", 9, "--uniqueness", 0.9, "--cost", "sad")
    check("--uniqueness", np.isfinite(strict).sum() < np.isfinite(plain).sum())
    loose = match(*pair, "--max-disparity", 9, "--lr-threshold", -1)
    check("--lr-threshold -1", np.isfinite(loose).sum() > np.isfinite(plain).sum())


def json_lines():
    pair = save_pair(5)
    done = run(*pair, "-o", "o.tif", "--overwrite", "--max-disparity", 9, "--log", "json", "--threads", 1)
    last = json.loads(done.stdout.strip().split("\n")[-1])
    check("json: last line", last["event"] == "summary" and last["status"] == "ok" and last["frames"] == 1 and
          last["width"] == W and last["height"] == H and last["threads"] == 1, str(last))
    check("json: seconds", 0 < last["match_s"] < last["total_s"] and 0 < last["matched"] <= last["valid"] <= 1)
    bad = run(*pair, "-o", "o.tif", "--max-disparity", 9, "--log", "json", code=2)
    check("json: failure", json.loads(bad.stdout.strip().split("\n")[-1])["status"] == "usage")


def sequence():
    for frame in (2, 3, 10, 11):
        left, right = views(frame % 5 + 2)
        save(f"seq_{frame:04d}_l.tif", as_bytes(left)), save(f"seq_{frame:04d}_r.tif", as_bytes(right))
    save("seq_12_l.tif", as_bytes(views(3)[0])) # not as %04d prints it
    names = ("seq_%04d_l.tif", "seq_%04d_r.tif")
    done = run(*names, "-o", "d_%04d.tif", "--preview", "p_%04d.png", "--max-disparity", 9, "--log", "json")
    last = json.loads(done.stdout.strip().split("\n")[-1])
    made = sorted(p for p in os.listdir(".") if p.startswith("d_"))
    check("sequence: frames", made == [f"d_{k:04d}.tif" for k in (2, 3, 10, 11)] and last["frames"] == 4, str(made))
    for frame in (2, 3, 10, 11):
        match(f"seq_{frame:04d}_l.tif", f"seq_{frame:04d}_r.tif", "--max-disparity", 9, "--preview", "p.png")
        check(f"sequence: frame {frame} as alone", content("o.tif") == content(f"d_{frame:04d}.tif") and
              content("p.png") == content(f"p_{frame:04d}.png"))
    run(*names, "-o", "e_%d.pfm", "--max-disparity", 9, "--first", 3, "--last", 10)
    made = sorted(p for p in os.listdir(".") if p.startswith("e_"))
    check("sequence: --first, --last", made == ["e_10.pfm", "e_3.pfm"], str(made))
    check("nothing aside", not [p for p in os.listdir(".") if ".part" in p])


def devices():
    """Every device that rounds as the processor does gives its bytes."""
    listed = subprocess.run([pairs.PROGRAM, "devices", "--log", "json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    exact = [d["device"] for d in json.loads(listed.splitlines()[-1])["devices"]
             if d["can_run"] and d["rounds_as_processor"]]
    left, right = views(5.4)
    save("v_l.tif", as_bytes(left)), save("v_r.tif", as_bytes(right))
    save("w_l.tif", (left * 9000).astype(np.int16), nodata=0), save("w_r.tif", (right * 9000).astype(np.int16), nodata=0)
    for device in exact:
        for cost in ("sad", "zncc", "census"):
            for pair in ("v", "w"):
                words = (f"{pair}_l.tif", f"{pair}_r.tif", "--cost", cost, "--max-disparity", 20, "--uniqueness", 0.02,
                         "--fill", "nearest", "--median", 3)
                match(*words, "--device", "cpu", out="cpu.tif"), match(*words, "--device", device, out="device.tif")
                check(f"{device}: {cost} {pair}", content("cpu.tif") == content("device.tif"))
        for optimizer in ("sgm", "bp"):
            for cost in ("sad", "census", "ad-census"):
                words = ("v_l.tif" if cost == "sad" else "w_l.tif", "v_r.tif" if cost == "sad" else "w_r.tif", "--cost", cost,
                         "--max-disparity", 20, "--optimizer", optimizer)
                match(*words, "--device", "cpu", out="cpu.tif"), match(*words, "--device", device, out="device.tif")
                check(f"{device}: {optimizer} {cost}", content("cpu.tif") == content("device.tif"))


sign_and_accuracy()
formats()
what_is_left_out(kinds_of_images())
same_bytes()
after_matching()
json_lines()
sequence()
devices()
pairs.finish()
