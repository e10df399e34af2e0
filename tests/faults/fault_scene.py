#!/usr/bin/python3
"""ASTER deliveries that are absent, cut, damaged or mixed up: folder, zip and HDF."""
# fault_scene.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import glob
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import zipfile

import fault_base as base
import hdf4_elements as hdf4

TABLES = ("LatticePoint", "SightVector", "SatellitePosition", "SatelliteVelocity", "Latitude", "Longitude",
          "RadiometricCorrTable")
FILES = ("ImageData.tif",) + tuple(f"{table}.txt" for table in TABLES)
OPTIONAL = ("Latitude.txt", "Longitude.txt", "SatelliteVelocity.txt")  # one of the two kinds must be there
LETTER = b"This is a letter, not an image.\n" * 40


def refuse(bench, name, words, *inputs):
    bench.refuse(name, 1, words, *inputs, "-o", "o.tif")


def archive(name, files):
    """A zip of files, by path: their names in it."""
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as made:
        for path, inside in files.items():
            made.write(path, inside)


def fresh():
    """bad/: the scene, to be damaged; returns the start of its file names."""
    base.remove("bad")
    shutil.copytree("scene", "bad")
    return glob.glob("bad/*3N.ImageData.tif")[0].removesuffix("3N.ImageData.tif")


def whole_files(bench):
    for name in ("e.hdf", "e.zip", "e.tif"):
        for what, data, alone, as_right in (("empty", b"", "empty", "empty"), ("text as", LETTER, "", "not an image")):
            base.put(name, data)
            refuse(bench, f"{what} {name}", [name, alone], name)
            refuse(bench, f"{what} {name}, right", [name, as_right], "good.tif", name)
    os.mkdir("hollow")
    archive("hollow.zip", {})
    base.put("readme.txt", "nothing here")
    archive("text.zip", {"readme.txt": "readme.txt"})
    os.symlink("nowhere", "dangling")
    base.put("magic.hdf", b"\x0e\x03\x13\x01" + bytes(60))
    bench.refuse("one image of a pair", 2, ["good.tif", "right image"], "good.tif", "-o", "o.tif")
    bench.refuse_rows(1, "run", """
absent | /nowhere/scene; no such file | /nowhere/scene -o o.tif
absent, a zip | /nowhere/scene.zip | /nowhere/scene.zip -o o.tif
absent, right | /nowhere/b.tif; no such file | good.tif /nowhere/b.tif -o o.tif
empty folder | hollow; VNIR_Band3N | hollow -o o.tif
zip without a file | hollow.zip | hollow.zip -o o.tif
zip without a scene | text.zip | text.zip -o o.tif
link to nowhere | dangling | dangling -o o.tif
nothing but HDF4's first bytes | magic.hdf | magic.hdf -o o.tif""")


def cut(bench):
    for end, source, words, right in (("zip", "scene.zip", ["cut short"], []), ("tif", "good.tif", [], ["scene/right.tif"])):
        data = base.content(source)
        for share in (0.01, 0.3, 0.7, 0.98):
            base.put(f"cut.{end}", data[:int(share * len(data))])
            refuse(bench, f"{end} cut to {share}", [f"cut.{end}", *words], f"cut.{end}", *right)
    data = bytearray(base.content("scene.zip"))
    at = data.index(b"3B.ImageData.tif") + 3000
    data[at:at + 4000] = bytes(4000)
    base.put("cut.zip", bytes(data))
    refuse(bench, "zip with zeros inside the image", ["cut.zip"], "cut.zip")
    checksums(bench)


def checksums(bench):
    """A byte of a file changed inside a zip: what unpacks all the same is told by its checksum."""
    with zipfile.ZipFile("scene.zip") as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(FILES)]
    data = base.content("scene.zip")
    for member in members:
        told = struct.pack("<I", member.CRC)
        base.put("crc.zip", data.replace(told, struct.pack("<I", member.CRC ^ 0x1234)))
        refuse(bench, f"zip, checksum of {member.filename}", ["crc.zip", member.filename, "the archive is damaged"], "crc.zip")


def files_of_the_folder(bench):
    for view in ("3N", "3B"):
        for suffix in FILES:
            name, start = f"{view}.{suffix}", fresh()
            data, reason = base.content(start + name), "not an image" if "Image" in suffix else "empty"
            cases = [("emptied", b"", [name, reason]), ("cut", data[:int(0.6 * len(data)) + 3], [view, suffix])]
            for what, other, words in cases + ([("a text", LETTER, [name, reason])] if "Image" in suffix else []):
                base.put(start + name, other)
                refuse(bench, f"{name} {what}", words, "bad")
            os.unlink(start + name)
            if suffix not in OPTIONAL:
                refuse(bench, f"{name} missing", [name, "no such file"], "bad")
        start = fresh()
        os.unlink(f"{start}{view}.SatelliteVelocity.txt")
        os.unlink(f"{start}{view}.Latitude.txt")
        refuse(bench, f"{view}: neither velocity nor latitude", [f"{view}.Latitude.txt", "no SatelliteVelocity.txt"], "bad")
    for path in glob.glob(f"{fresh()}3B.*"):
        os.unlink(path)
    refuse(bench, "no 3B at all", ["3B"], "bad")


def spoil(text, word):
    """Another word in the middle of a table."""
    lines = text.split("\n")
    full = [i for i, line in enumerate(lines) if line.strip()]
    at = full[len(full) // 2]
    numbers = lines[at].split()
    numbers[-1] = word
    lines[at] = " ".join(numbers)
    return "\n".join(lines)


def tables(bench):
    for view, table in itertools.product(("3N", "3B"), TABLES):
        name = f"{view}.{table}.txt"
        start = fresh()
        text = base.content(start + name).decode()
        rows = [line for line in text.split("\n") if line.strip()]
        block = 11 if table in ("LatticePoint", "SightVector") else 1
        short = "LatticePoint.txt is cut short" if table == "LatticePoint" else view
        cases = [(f"with '{word}'", name, spoil(text, word)) for word in ("five", "nan", "-inf", "1e999", "1,5", "0x1F", "", "1 2 3")]
        cases += [("not a text", name, bytes(range(256)) * 20), ("one endless line", name, b"0 " * 2000000)]
        changed = [("shorter", short, rows[:-block]), ("longer", view, rows + rows[-block:]), ("one row", view, rows[:block])]
        if table == "LatticePoint":
            changed += [("rows backwards", view, rows[::-1]), ("one row for all", view, rows[:11] * (len(rows) // 11))]
        cases += [(what, word, "\n".join(kept) + "\n") for what, word, kept in changed]
        if table in ("SightVector", "SatellitePosition"):
            cases.append(("all zero", view, re.sub(r"\S+", "0", text)))
        for what, word, data in cases:
            base.put(start + name, data)
            refuse(bench, f"{name} {what}", [view, word], "bad")


def texts_of_editors(bench):
    """Ends of lines and a mark in front, as other systems' editors write them, change nothing."""
    start = fresh()
    told = bench.call("info", "bad").stdout
    for path in glob.glob(f"{start}*.txt"):
        base.put(path, b"\xef\xbb\xbf" + base.content(path).replace(b"\n", b"\r\n"))
    done = bench.call("info", "bad")
    bench.check("byte order mark and CR LF", done.returncode == 0 and done.stdout == told != "", done.stderr)


def exchanged(bench):
    """3N and 3B mixed up: images alone, with their tables, everything."""
    for upto, what, word in ((1, "images", "exchanged"), (3, "images, lattice and sight vectors", ""),
                             (len(FILES), "everything", "degrees back")):
        start = fresh()
        for suffix in FILES[:upto]:
            os.rename(start + "3N." + suffix, "held")
            os.rename(start + "3B." + suffix, start + "3N." + suffix)
            os.rename("held", start + "3B." + suffix)
        refuse(bench, f"3N and 3B exchanged: {what}", ["3N", word], "bad")
    start = fresh()
    shutil.copy(start + "3N.ImageData.tif", start + "3B.ImageData.tif")
    refuse(bench, "the same image as 3N and 3B", ["3B"], "bad")
    start = fresh()
    for suffix in FILES:
        shutil.copy(start + "3N." + suffix, start + "3B." + suffix)
    refuse(bench, "3N twice", ["3B"], "bad")


def spoiled_hdf(bench, data):
    """Bits changed where tables and tags lie: one sentence, or a scene that still reads."""
    draw = random.Random(7)
    for number in range(12):
        spoiled = bytearray(data)
        for _ in range(draw.choice((20, 200))):
            spoiled[draw.choice((draw.randrange(20000), len(data) - 1 - draw.randrange(40000)))] ^= 1 << draw.randrange(8)
        base.put("cut.hdf", bytes(spoiled))
        done = bench.call("info", "cut.hdf")
        why = base.judge(done, 1, ["cut.hdf"], ())
        bench.check(f"HDF with changed bits, {number}", done.returncode == 0 or not why, why)
        if done.returncode:
            before = sorted(os.listdir("."))
            done = bench.call("run", "cut.hdf", "-o", "spoiled.tif")
            left = [name for name in sorted(os.listdir(".")) if name not in before and name != "spoiled.log"]
            bench.check(f"HDF with changed bits, {number}: run", done.returncode == 1 and not left, f"{done.returncode}, left {left}")


def hdf(bench):
    """The delivery of today: cut, spoiled, stored in other ways, in an archive."""
    sample = f"{bench.source}/sampledata/AST_L1A_00401012001180005_sim.hdf"
    data = base.content(sample)
    for share in (0.001, 0.1, 0.5, 0.9, 0.999):
        base.put("cut.hdf", data[:int(share * len(data))])
        refuse(bench, f"HDF cut to {share}", ["cut.hdf", "cut short"], "cut.hdf")
    spoiled_hdf(bench, data)
    base.put("cut.hdf", data[:2000] + bytes(len(data) - 2000))
    refuse(bench, "HDF of zeros", ["cut.hdf"], "cut.hdf")
    told = bench.call("info", sample).stdout
    elements = hdf4.read(sample)
    packed = (hdf4.DEFLATE, 4096)
    stored = {"as it is": elements, "plain": hdf4.stored(elements, (hdf4.NONE, 0)),
              "linked blocks": hdf4.stored(elements, (hdf4.NONE, 4096), (hdf4.NONE, 100)),
              "runs": hdf4.stored(elements, (hdf4.RUNS, 0), (hdf4.RUNS, 100)),
              "deflated tables": hdf4.stored(elements, packed, packed),
              "little-endian tables": hdf4.stored(elements, packed, little_endian=True)}
    heights = set()
    for how, made in stored.items():
        hdf4.write("stored.hdf", made)
        done = bench.call("info", "stored.hdf")
        bench.check(f"HDF stored as {how}", done.returncode == 0 and done.stdout.count("\n") == told.count("\n"), done.stderr)
        bench.make("run", "-q", "stored.hdf", "-o", "stored.tif", "--overwrite")
        heights.add(base.read_raster("stored.tif", "float32"))
    hdf4.write("stored.hdf", hdf4.stored(elements, (hdf4.NBIT, 0)))
    refuse(bench, "HDF in another coding", ["stored.hdf", "ImageData", "coder 2", "hrepack"], "stored.hdf")
    shutil.copy(sample, 'a "quoted" name.hdf')
    archive("hdf.zip", {sample: "inside/scene.hdf"})
    for name in ('a "quoted" name.hdf', "hdf.zip"):
        bench.make("run", "-q", name, "-o", "stored.tif", "--overwrite")
        heights.add(base.read_raster("stored.tif", "float32"))
    bench.check("HDF: the same heights, however stored, in an archive, under a name with quotes", len(heights) == 1)


def odl(name, level):
    """Inventory metadata as the archive writes them."""
    objects = "".join(f'OBJECT = {key}\nNUM_VAL = 1\nVALUE = "{value}"\nEND_OBJECT = {key}\n'
                      for key, value in (("SHORTNAME", name), ("PROCESSINGLEVELID", level)))
    return f"GROUP = INVENTORYMETADATA\nGROUPTYPE = MASTERGROUP\n{objects}END_GROUP = INVENTORYMETADATA\nEND\n"


def other_products(bench):
    """Level 1B, 1T and expedited scenes: refused by what stands in them, whatever they are called."""
    formats = subprocess.run(["gdalinfo", "--formats"], stdout=subprocess.PIPE, text=True, check=True).stdout
    products = (("ASTL1B", "1B", "AST_L1B"), ("AST_L1T", "1T", "AST_L1T"), ("ASTL1AE", "1AE", "AST_L1AE"))
    for name, level, said in products if "HDF4Image" in formats else ():
        for attributes in (("-mo", f"coremetadata.0={odl(name, level)}"), ("-mo", f"SHORTNAME={name}"),
                           ("-mo", f"PROCESSINGLEVELID={level}"), ("-mo", f"IDOFASTERGDSDATAGRANULE={name} 0111051037240111"),
                           ("-mo", f"coremetadata.0={odl(name, level)}", "-mo", "LOCALGRANULEID=AST_L1A_00307312017190728.hdf")):
            subprocess.run(["gdal_translate", "-q", "-of", "HDF4Image", *attributes, "good.tif", "renamed.hdf"], check=True,
                           stderr=subprocess.DEVNULL)
            refuse(bench, f"{said} as HDF, {attributes[1][:20]!r}", ["renamed.hdf", said, "AST_L1A V004"], "renamed.hdf")
        subprocess.run(["gdal_translate", "-q", "-of", "HDF4Image", "good.tif", f"{said}_00307312017.hdf"], check=True)
        refuse(bench, f"{said} by its name", [said, "AST_L1A V004"], f"{said}_00307312017.hdf")
    subprocess.run(["gdal_translate", "-q", "-of", "HDF4Image", "-mo", "SHORTNAME=MOD09", "good.tif", "renamed.hdf"],
                   check=True)
    refuse(bench, "HDF of another sensor", ["renamed.hdf", "AST_L1A V004"], "renamed.hdf")
    for start, said in (("AST_L1B_00307312017190728", "AST_L1B"), ("AST_L1T_00307312017190728", "AST_L1T"),
                        ("AST_L1AE_00307312017190728", "AST_L1AE"), ("scene", "level 1B or 1T")):
        base.remove("other")
        os.mkdir("other")
        for file in ("VNIR_Swath.ImageData3N.tif", "VNIR_Swath.ImageData3B.tif") if said != "AST_L1AE" else (
                "VNIR_Band3N.ImageData.tif", "VNIR_Band3N.LatticePoint.txt"):
            shutil.copy("good.tif", f"other/{start}.{file}")
        refuse(bench, f"folder of {said}", ["other", said, "AST_L1A V004"], "other")
        archive("other.zip", {f"other/{name}": f"inside/{name}" for name in os.listdir("other")})
        refuse(bench, f"zip of {said}", ["other.zip", said, "AST_L1A V004"], "other.zip")
    shutil.copytree("scene", "mixed")
    shutil.copy("good.tif", "mixed/AST_L1T_00307312017190728_V.tif")
    done = bench.call("info", "mixed")
    bench.check("level 1T beside the scene", done.returncode == 0, done.stderr)


def several(bench):
    """More than one scene in what is given: told, never chosen from, wherever they lie."""
    for name in ("many/a", "many/b"):
        shutil.copytree("scene", name)
    refuse(bench, "folder of two folders with scenes", ["many", "more than one ASTER scene"], "many")
    archive("many.zip", {path: path for path in sorted(glob.glob("many/*/AST_*"))})
    refuse(bench, "zip of two folders with scenes", ["many.zip", "more than one ASTER scene"], "many.zip")
    base.remove("many/b")
    for path in glob.glob("many/a/AST_*"):
        shutil.copy(path, path.replace("AST_L1A", "AST_L1A_another"))
    refuse(bench, "two scenes in a folder", ["many", "more than one ASTER scene"], "many/a")
    for path in glob.glob("many/a/*_another*"):
        os.unlink(path)
    os.makedirs("many/notes/old")
    done = bench.call("info", "many")
    bench.check("one scene in a folder below", done.returncode == 0, done.stderr)


def listed(bench):
    """A list that a command made: hidden files are no scenes, and deliveries of one acquisition are told."""
    base.put("made.txt", b"scene\n._scene.hdf\n.scene.hdf.kG9aX2\n__MACOSX/scene\n\"scene.zip\"\n")
    done = bench.call("plan", "--list", "made.txt", "-o", "listed")
    bench.check("hidden files in a list", done.returncode == 0 and done.stderr.count("a hidden file") == 3, done.stderr)
    told = "1 scene is of an acquisition that is planned already (AST_L1A_00301012001180005_sim and AST_L1A_00301012001180005_sim_2"
    bench.check("two deliveries in a list", told in done.stderr and "2 units" in done.stdout + done.stderr, done.stderr)
    base.put("hidden.txt", b"._scene.hdf\n")
    bench.refuse("a list of hidden files", 2, ["hidden.txt", "no scenes in it"], command="plan", *("--list", "hidden.txt", "-o", "hidden"))
    base.remove("listed")


def scenes(bench):
    base.simulate(bench, "scene", "aster", "--with-rpc")
    width, height, data = base.read_raster("scene/left.tif", "uint8")
    base.write_tiff("good.tif", width, height, "uint8", data, base.read_rpc("scene/left.tif"))
    archive("scene.zip", {path: os.path.basename(path) for path in sorted(glob.glob("scene/AST_*"))})


base.test(scenes, whole_files, several, listed, cut, files_of_the_folder, tables, texts_of_editors, exchanged, hdf, other_products)
