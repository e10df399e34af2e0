#!/usr/bin/python3
"""`match` on what cannot be matched: one sentence each, nothing left behind; full disks and stops, too."""
# fault_match.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import resource
import signal
import struct
import subprocess
import time

import fault_base as base

W, H = 60, 40


def noise(width, height, seed):
    draw = random.Random(seed)
    return bytes(draw.randrange(256) for _ in range(width * height))


def shifted(width, height, data, d):
    """right(x) = left(x + d): x_right = x_left - d."""
    rows = [data[y * width:(y + 1) * width] for y in range(height)]
    return b"".join(row[d:] + row[:d] for row in rows)


def make_pair(width=W, height=H, stem="", seed=1):
    left = noise(width, height, seed)
    base.write_tiff(f"{stem}left.tif", width, height, "uint8", left)
    base.write_tiff(f"{stem}right.tif", width, height, "uint8", shifted(width, height, left, 5))


def translate(source, target, *words):
    subprocess.run(["gdal_translate", "-q", *words, source, target], check=True)


def colour(name, *bands):
    """Bands of 8 bits as one image, red, green and blue first."""
    base.put("c.vrt", b"")
    subprocess.run(["gdalbuildvrt", "-q", "-separate", "-overwrite", "c.vrt", *bands], check=True)
    translate("c.vrt", name, "-colorinterp", ",".join(("red", "green", "blue", "alpha")[:len(bands)]))
    base.remove("c.vrt")


def usage(bench):
    make_pair()
    pair = "left.tif right.tif"
    out, near, coarse = f"{pair} -o o.tif --max-disparity 15", f"{pair} -o o.tif --max-disparity 9", "15 x 10 px after --downscale"
    for window in ("99", "33", "0", "-3", "2.5", "nan"):
        for cost in ("census", "sad"):
            bench.refuse_rows(2, "match", f"window {window}, {cost} | --window: found '{window}'; an odd number from 3 to 21, "
                              f"of sad any from 2 to 32 | {out} --window {window} --cost {cost}")
    for cost in ("zncc", "census"):
        bench.refuse_rows(2, "match", f"""
            even window, {cost} | --window 8; even windows need --cost sad | {out} --cost {cost} --window 8
            large window, {cost} | --window 23; 3 to 21 | {out} --cost {cost} --window 23""")
    for name, given in (("o.tif", "pfm"), ("o.TIFF", "pfm"), ("o.pfm", "tif")):
        bench.refuse_rows(2, "match", f"{name} as {given} | --format {given}: -o {name} ends in .{name[2:]}; change the name | "
                          f"{pair} -o {name} --format {given}")
    for option in ("--min-disparity", "--max-disparity", "--lr-threshold", "--uniqueness", "--min-sigma"):
        bench.refuse_rows(2, "match", f"NaN for {option} | {option}; found 'nan' | {pair} -o o.tif {option} nan")
    base.write_tiff("dot.tif", 1, 1, "uint8", b"7")
    translate("left.tif", "view.vrt", "-of", "VRT")
    base.put("there.tif", b"kept")
    base.put("there.png", b"kept")
    bench.refuse_rows(2, "match", f"""
        no output | -o is missing | {pair}
        one image | found 1 argument; the left and the right image | left.tif -o o.tif
        range upside down | --min-disparity: found 9 px; --max-disparity, which is 3 px | {pair} -o o.tif --min-disparity 9 --max-disparity 3
        range above the image | --max-disparity 60; 60 x 40 px | {pair} -o o.tif --max-disparity 60
        range below the image | --min-disparity -60; 60 x 40 px | {out} --min-disparity -60
        range above the smaller image | --max-disparity 15; {coarse} | {out} --downscale 4 --window 3
        window above 21 | --window 22; from 3 to 21 | {out} --cost census --window 22
        nothing left | --downscale 4: nothing is left of the image dot.tif of 1 x 1 px; expected at most 1 | dot.tif dot.tif -o o.tif --downscale 4
        window 1 | --window 1: needs --optimizer sgm or bp; give 2 or more | {out} --window 1
        window above the image | --window 21; {coarse} | {pair} -o o.tif --max-disparity 5 --window 21 --downscale 4
        cost | --cost: found 'ssd'; sad, zncc, census | {out} --cost ssd
        --p1 with local | --p1: needs --optimizer sgm, found auto | {near} --p1 9
        --p2 with bp | --p2: needs --optimizer sgm, found bp | {near} --optimizer bp --p2 90
        --paths as by default with local | --paths: needs --optimizer sgm, found auto | {near} --paths 8
        --bp-outer with sgm | --bp-outer: needs --optimizer bp, found sgm | {near} --optimizer sgm --bp-outer 1
        --bp-weight with local | --bp-weight: needs --optimizer bp, found auto | {near} --bp-weight 9
        --census with sad | --census: needs --cost census or ad-census, found sad | {near} --cost sad --census 9x7
        --census with zncc | --census: needs --cost census; found zncc | {near} --cost zncc --census 5x5
        --uniqueness with sgm | --uniqueness: needs --optimizer local, found sgm | {near} --optimizer sgm --uniqueness 0.1
        zncc with bp | --optimizer bp: found --cost zncc, expected ad-census, census or sad | {near} --optimizer bp --cost zncc
        ad-census with local | --cost ad-census: needs --optimizer sgm or bp, found local | {near} --cost ad-census
        P2 below P1 by the cost | --p2: found 9, expected at least --p1, which is 60 (by the cost) | {near} --optimizer sgm --p2 9
        too many labels | --max-disparity: found 5000 px; 4096 labels | {pair} -o o.tif --optimizer sgm --min-disparity -59 --max-disparity 5000
        too many for bp | found 2000 px, expected at most 964 px with --optimizer bp; 1024 labels | {pair} -o o.tif --optimizer bp --min-disparity -59 --max-disparity 2000
        window above the image, sgm | --window 21; {coarse} | {near} --optimizer sgm --window 21 --downscale 4
        tile of 3 px | --bp-tile: found '3'; 4 to 1024 | {near} --optimizer bp --bp-tile 3
        census | --census: found '3x3' | {out} --census 3x3
        band | --band 2; 1 band | {out} --band 2
        ending | -o o.png; .tif, .tiff or .pfm | {pair} -o o.png
        preview's ending | --preview p.jpg; .png | {out} --preview p.jpg
        onto the input | -o left.tif; input | {pair} -o left.tif --overwrite --max-disparity 9
        onto what view.vrt is read from | -o left.tif would overwrite a file that the input; view.vrt | view.vrt right.tif -o left.tif --overwrite
        onto a directory of a TIFF | -o left.tif would overwrite a file that the input; GTIFF_DIR:1:left.tif | GTIFF_DIR:1:left.tif right.tif -o left.tif --overwrite
        a folder as output | is a folder | {pair} -o ./
        exists | there.tif exists; --overwrite | {pair} -o there.tif
        preview exists | there.png exists; --overwrite | {out} --preview there.png
        first without a sequence | --first; left_%04d.png | {out} --first 3""")
    bench.refuse_rows(1, "match", f"folder | absent; make it first | {pair} -o absent/o.tif")
    base.write_tiff("long.tif", 1000001, 1, "uint8", bytes([9]) * 1000001)
    bench.refuse_rows(2, "match", "wider than a PNG | --preview p.png; 1000001 x 1 px; at most 1000000 px a side | "
                      "long.tif long.tif -o o.tif --max-disparity 15 --optimizer sgm --window 1 --preview p.png")
    base.write_tiff("long.tif", 70000, 9, "uint8", bytes([9]) * 70000 * 9)
    bench.refuse_rows(2, "match", "more disparities than 16 bits number | --max-disparity: found 60000 px, expected at most 59999 px | "
                      "long.tif long.tif -o o.tif --max-disparity 60000")
    base.remove("long.tif")


def inputs(bench):
    make_pair()
    out = ("-o", "o.tif", "--max-disparity", "15")

    def refuse(name, words, left, right, *more, code=1):
        bench.refuse(name, code, words, left, right, *out, *more, command="match")
    refuse("absent", ["RIGHT absent.tif"], "left.tif", "absent.tif")
    base.put("text.tif", b"no image at all\n")
    refuse("no image", ["LEFT text.tif", "not an image"], "text.tif", "right.tif")
    base.put("cut.tif", base.content("left.tif")[:-900])
    refuse("cut short", ["RIGHT cut.tif"], "left.tif", "cut.tif")
    base.write_tiff("wide.tif", W + 1, H, "uint8", noise(W + 1, H, 3))
    refuse("sizes", ["LEFT left.tif has 60 x 40", "RIGHT wide.tif has 61 x 40"], "left.tif", "wide.tif")
    base.write_tiff("deep.tif", W, H, "uint16", b"".join(struct.pack("<H", 7 * v) for v in noise(W, H, 4)))
    refuse("8 and 16 bits", ["Byte", "UInt16"], "left.tif", "deep.tif")
    colour("rgb.tif", "left.tif", "right.tif", "left.tif")
    refuse("colour against grey", ["LEFT rgb.tif is in colour", "RIGHT right.tif is grey", "--band"], "rgb.tif",
           "right.tif")
    refuse("grey against colour", ["RIGHT rgb.tif is in colour", "LEFT left.tif is grey"], "left.tif", "rgb.tif")
    colour("two.tif", "left.tif", "right.tif")
    refuse("two bands", ["LEFT two.tif: 2 bands", "--band"], "two.tif", "two.tif", code=2)
    base.write_tiff("nan.tif", W, H, "float32", struct.pack("<f", float("nan")) * W * H)
    base.write_tiff("float.tif", W, H, "float32", b"".join(struct.pack("<f", v) for v in noise(W, H, 5)))
    refuse("all NaN", ["RIGHT nan.tif", "no usable pixel"], "float.tif", "nan.tif")
    base.write_tiff("fill.tif", W, H, "float32", struct.pack("<f", -3.4e38) * W * H)
    refuse("fill that is not declared", ["RIGHT fill.tif", "no usable pixel"], "float.tif", "fill.tif")
    translate("float.tif", "complex.tif", "-ot", "CFloat32")
    refuse("complex", ["LEFT complex.tif", "CFloat32"], "complex.tif", "complex.tif")
    translate("left.tif", "void.tif", "-a_nodata", "0", "-scale", "0", "255", "0", "0")
    refuse("all nodata", ["LEFT void.tif", "no usable pixel"], "void.tif", "right.tif")


def undeclared_fill(bench):
    """A fill that the file does not declare is left out as one that it does: the same bytes; a black image is an image."""
    for kind, code, fill in (("uint8", "B", 0), ("uint16", "H", 0), ("int16", "h", -32768), ("float32", "f", -9999.0)):
        for side in ("left", "right"):
            values = [max(v, 1) for v in base.content("left.tif")[-W * H:]] if side == "left" else values
            shown = values if side == "left" else [values[i + 5 if i % W < W - 5 else i] for i in range(W * H)]
            shown = [fill if i % W < 12 or i // W < 9 else v for i, v in enumerate(shown)]
            base.write_tiff(f"{side}_fill.tif", W, H, kind, struct.pack(f"<{W * H}{code}", *shown))
            translate(f"{side}_fill.tif", f"{side}_told.tif", "-a_nodata", str(fill))
        said = ""
        for name in ("fill", "told"):
            done = bench.call("match", f"left_{name}.tif", f"right_{name}.tif", "-o", f"{name}.pfm", "--max-disparity", "15",
                              "--cost", "zncc", "--window", "5", "-v")
            bench.check(f"{kind}, {name}", done.returncode == 0, done.stderr)
            said = said or done.stderr + done.stdout
        words = "zeros along the edges are taken for no data, though the file does not declare it" if kind == "uint8" else f"{fill:g} is taken for no data"
        bench.check(f"{kind}: fill is told", f"LEFT left_fill.tif: {words}" in said and f"RIGHT right_fill.tif: {words}" in said,
                    said)
        bench.check(f"{kind}: fill as if declared", base.content("fill.pfm") == base.content("told.pfm"), "other disparities")
        base.remove("fill.pfm")
        base.remove("told.pfm")
    base.write_tiff("black.tif", W, H, "uint8", bytes(W * H))
    bench.make("match", "-q", "black.tif", "left.tif", "-o", "black.pfm", "--max-disparity", "15")
    base.remove("black.pfm")


def constant(bench):
    """Windows of one value have no match, whatever the cost; threads beyond use are kept back."""
    base.write_tiff("flat_l.tif", W, H, "uint8", bytes([9]) * W * H)
    base.write_tiff("flat_r.tif", W, H, "uint8", bytes([9]) * W * H)
    def match(*options):
        done = bench.call("match", "flat_l.tif", "flat_r.tif", "-o", "constant.pfm", "--overwrite", "--max-disparity", "16", *options)
        return done, done.stdout + done.stderr
    for cost in ("zncc", "sad", "census"):
        done, said = match("--cost", cost, "-v", "--threads", "1024")
        bench.check(f"{cost}: constant images", done.returncode == 0 and " 0.0 % matched" in said, said)
        bench.check(f"{cost}: no warning without --fill", "nothing to fill from" not in done.stderr, said)
        bench.check("threads are kept back", "--threads 1024: " in done.stderr, said)
        done, said = match("--cost", cost, "--fill", "nearest")
        bench.check(f"{cost}: nothing to fill from", done.returncode == 0 and done.stderr.count("nothing to fill from") == 1 and
                    "constant.pfm: not one pixel has a match" in done.stderr, said)
    for options in (("sgm",), ("bp",), ("sgm", "--cost", "census"), ("bp", "--cost", "sad", "--window", "5")):
        done, said = match("--optimizer", *options)
        bench.check(f"{options}: constant images", done.returncode == 0 and " 0.0 % matched" in said, said)
    # noise that has nothing to do with each other: chance matches; those of little noise can be told by --min-sigma
    for optimizer, least, most in (("local", 30, 70), ("sgm", 20, 70), ("bp", 40, 95)):
        base.write_tiff("noise_l.tif", 300, 200, "uint8", bytes(126 + v % 5 for v in noise(300, 200, 5)))
        base.write_tiff("noise_r.tif", 300, 200, "uint8", bytes(126 + v % 5 for v in noise(300, 200, 6)))
        for sigma, low, high in (("0", least, most), ("2", 0, 0)):
            said = bench.call("match", "noise_l.tif", "noise_r.tif", "-o", "constant.pfm", "--overwrite", "--max-disparity",
                              "31", "--optimizer", optimizer, "--min-sigma", sigma, "--log", "json")
            share = 100 * json.loads(said.stdout.strip().split("\n")[-1])["matched"] if said.returncode == 0 else -1
            bench.check(f"{optimizer}: noise, --min-sigma {sigma}", low <= share <= high, f"{share} % matched {said.stderr}")
    base.remove("constant.pfm")


def sequences(bench):
    for frame in (3, 4, 6):
        make_pair(stem=f"s{frame:03d}_", seed=frame)
    make_pair(stem="7_", seed=7)

    def refuse(name, words, left, right, out, *more, code=2):
        bench.refuse(name, code, words, left, right, "-o", out, "--max-disparity", "15", *more, command="match")
    frames = ("s%03d_left.tif", "s%03d_right.tif")
    refuse("pattern in one", ["RIGHT right.tif has no number", "LEFT s%03d_left.tif"], frames[0], "right.tif", "o%03d.tif")
    refuse("no pattern in the output", ["-o o.tif has no number"], *frames, "o.tif")
    refuse("pattern in the output alone", ["-o o%d.tif has a number"], "left.tif", "right.tif", "o%d.tif")
    refuse("no pattern in the preview", ["--preview p.png has no number"], *frames, "o%03d.tif", "--preview", "p.png")
    for bad in ("%s", "%n", "%04x", "%-4d", "%4d", "%0d", "%012d", "%d%d", "%", "%*d", "%ld", "%04"):
        refuse(f"pattern {bad}", [f"LEFT s{bad}_left.tif", "%04d"], f"s{bad}_left.tif", "s%03d_right.tif", "o%03d.tif")
    refuse("number in the folder", ["not of its folder"], "a%03d/left.tif", "a%03d/right.tif", "o%03d.tif")
    refuse("no frame", ["no image from 0", "t%03d_left.tif"], "t%03d_left.tif", "t%03d_right.tif", "o%03d.tif", code=1)
    refuse("no frame in the range", ["no image from 50"], *frames, "o%03d.tif", "--first", "50", code=1)
    refuse("first behind last", ["--first: found 5", "--last, which is 4"], *frames, "o%03d.tif", "--first", "5", "--last", "4")
    # what is told of a frame is told in a sequence, too, and its memory counted
    for frame in (1, 2, 3):
        make_pair(400, H, stem=f"b{frame}_", seed=frame)
        for side in ("left", "right"):
            data = bytes(v if x % 400 > 20 else 0 for x, v in enumerate(noise(400, H, frame)))
            base.write_tiff(f"b{frame}_{side}.tif", 400, H, "uint8", data)
    peak = []
    for count in (1, 3):
        done = bench.call("match", "b%d_left.tif", "b%d_right.tif", "-o", "o%d.tif", "--overwrite", "--max-disparity", "15", "--last",
                          str(count), "--log", "json")
        lines = [json.loads(line) for line in done.stdout.strip().split("\n")]
        told = [k for k in lines if "taken for no data" in k.get("message", "")]
        peak.append(lines[-1]["memory_peak_bytes"])
        bench.check(f"{count} frames: fill is told", len(told) == 2 * count, f"{len(told)} lines")
    bench.check("memory of two pairs at once", peak[1] > peak[0] + 400 * H * 2, str(peak))
    for frame in (1, 2, 3):
        base.remove(f"o{frame}.tif")
    base.put("o006.tif", b"kept")
    refuse("one output exists", ["o006.tif exists"], "s%03d_left.tif", "s%03d_right.tif", "o%03d.tif")
    base.remove("o006.tif")
    # what was done before a frame that is missing stays, whole
    os.unlink("s006_right.tif")
    done = bench.call("match", "-q", "s%03d_left.tif", "s%03d_right.tif", "-o", "o%03d.tif", "--max-disparity", "15")
    left = sorted(p for p in os.listdir(".") if p.startswith("o"))
    bench.check("frame without a right image", done.returncode == 1 and "RIGHT s006_right.tif" in done.stderr and
                len(done.stderr.strip().split("\n")) == 1 and left == ["o003.tif", "o004.tif"] and
                "the pairs before it, 2 of 3, are whole" in done.stderr,
                f"exit code {done.returncode}, left {left}: {done.stderr}")
    alone = [bench.call("match", "-q", f"s{k:03d}_left.tif", f"s{k:03d}_right.tif", "-o", "alone.tif", "--overwrite",
                        "--max-disparity", "15").returncode == 0 and base.content("alone.tif") == base.content(f"o{k:03d}.tif")
             for k in (3, 4)]
    bench.check("frames before a missing one are whole", all(alone), str(alone))
    for path in [*left, "alone.tif"]:
        base.remove(path)


def full_disk(bench):
    make_pair()
    cap = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))}
    for out in ("o.tif", "o.pfm"):
        words = ("left.tif", "right.tif", "-o", out, "--max-disparity", "15")
        bench.refuse(f"full disk, {out}", 1, [out, "cannot be written", "nothing half-written"], *words, command="match", **cap)
        base.put(out, b"what was there")
        bench.refuse(f"full disk over {out}", 1, [out, "cannot be written"], *words, "--overwrite", command="match", **cap)
        base.remove(out)


def stop(bench):
    """Asked to stop, it does so soon: whole outputs of whole frames, nothing else.  The slow definition of the kernels
    makes the sequence long, so that a moment after its first frame lies within the work on any machine."""
    for frame in range(40):
        make_pair(240, 160, f"q{frame:02d}_", frame)
    draw = random.Random(3)
    stopped = 0
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
        process = subprocess.Popen([bench.program, "match", "-q", "q%02d_left.tif", "q%02d_right.tif", "-o", "q%02d.pfm",
                                    "--max-disparity", "63", "--cpu-level", "reference"], stderr=subprocess.PIPE,
                                   text=True)
        while not os.path.exists("q00.pfm") and process.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.3))
        asked = time.monotonic()
        process.send_signal(number)
        sentence = process.stderr.read()
        code = process.wait(timeout=base.SECONDS)
        took = time.monotonic() - asked
        found = sorted(p for p in os.listdir(".") if p.startswith("q") and "_" not in p)
        whole = all(p.endswith(".pfm") and os.path.getsize(p) == len("Pf\n240 160\n-1.0\n") + 4 * 240 * 160 for p in found)
        stopped += code == 1
        good = code in (0, -number) or (code == 1 and "stopped on request" in sentence)
        bench.check(f"{number.name}", good and whole and took < 10, f"exit code {code} after {took:.1f} s, left {found}: "
                    f"{sentence}")
        for path in found:
            base.remove(path)
    bench.check("stops that met the work", stopped > 0, "each run was done or not ready before")


def killed(bench):
    """What a process that was killed has left beside the output goes with the next run; two at once do not mix."""
    make_pair()
    words = ("match", "-q", "left.tif", "right.tif", "-o", "o.tif", "--max-disparity", "15", "--preview", "p.png")
    for name in ("o.tif.part-0123456789abcdef", "p.png.part-0123456789abcdef", "o.tif.part-owner.part-0123456789abcdef"):
        base.put(name, b"half a file")
    base.put("o.tif.part-mine", b"of somebody")
    bench.make(*words)
    found = sorted(p for p in os.listdir(".") if p.startswith(("o.", "p.")))
    bench.check("swept", found == ["o.tif", "o.tif.part-mine", "p.png"], str(found))
    for path in found:
        base.remove(path)
    here = base.place()
    if here:
        base.put("o.tif.part-owner", f"{here} {os.getpid()} 0\n".encode())
        bench.refuse("another match is at it", 1, ["o.tif is being written by another run", str(os.getpid())], *words[2:], command="match")
        base.remove("o.tif.part-owner")
    os.symlink("far.tif", "o.tif")
    base.put("far.tif", b"old")
    bench.refuse("the output is a link", 2, ["o.tif is a link to far.tif"], *words[2:], "--overwrite", command="match")
    base.remove("o.tif")
    bench.refuse("a long name", 2, ["name too long: 234 bytes"], "left.tif", "right.tif", "-o", 230 * "x" + ".tif", "--max-disparity",
                 "15", command="match")


base.test(usage, inputs, undeclared_fill, constant, sequences, full_disk, killed, stop)
