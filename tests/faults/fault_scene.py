#!/usr/bin/python3
"""ASTER deliveries that are absent, cut, damaged or mixed up: folder, zip and HDF."""
# fault_scene.py STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import random
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
OUTPUT = ("-o", "o.tif")


def fresh(bench):
    """bad/: the scene, to be damaged; returns the start of its file names."""
    base.remove("bad")
    shutil.copytree("scene", "bad")
    return glob.glob("bad/*3N.ImageData.tif")[0].removesuffix("3N.ImageData.tif")


def whole_files(bench):
    bench.refuse("absent", 1, ["/nowhere/scene", "no such file"], "/nowhere/scene", *OUTPUT)
    bench.refuse("absent, a zip", 1, ["/nowhere/scene.zip"], "/nowhere/scene.zip", *OUTPUT)
    bench.refuse("absent, right", 1, ["/nowhere/b.tif", "no such file"], "good.tif", "/nowhere/b.tif", *OUTPUT)
    for name in ("e.hdf", "e.zip", "e.tif"):
        base.put(name, b"")
        bench.refuse(f"empty {name}", 1, [name, "empty"], name, *OUTPUT)
        bench.refuse(f"empty {name}, right", 1, [name, "empty"], "good.tif", name, *OUTPUT)
        base.put(name, b"This is a letter, not an image.\n" * 40)
        bench.refuse(f"text as {name}", 1, [name], name, *OUTPUT)
        bench.refuse(f"text as {name}, right", 1, [name, "not an image"], "good.tif", name, *OUTPUT)
    os.mkdir("hollow")
    bench.refuse("empty folder", 1, ["hollow", "VNIR_Band3N"], "hollow", *OUTPUT)
    with zipfile.ZipFile("hollow.zip", "w"):
        pass
    bench.refuse("zip without a file", 1, ["hollow.zip"], "hollow.zip", *OUTPUT)
    with zipfile.ZipFile("text.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    bench.refuse("zip without a scene", 1, ["text.zip"], "text.zip", *OUTPUT)
    bench.refuse("one image of a pair", 2, ["good.tif", "right image"], "good.tif", *OUTPUT)
    os.symlink("nowhere", "dangling")
    bench.refuse("link to nowhere", 1, ["dangling"], "dangling", *OUTPUT)
    base.put("magic.hdf", b"\x0e\x03\x13\x01" + bytes(60))
    bench.refuse("nothing but HDF4's first bytes", 1, ["magic.hdf"], "magic.hdf", *OUTPUT)


def cut(bench):
    data = base.content("scene.zip")
    for share in (0.01, 0.3, 0.7, 0.98):
        base.put("cut.zip", data[:int(share * len(data))])
        bench.refuse(f"zip cut to {share}", 1, ["cut.zip", "cut short"], "cut.zip", *OUTPUT)
    middle = bytearray(data)
    at = data.index(b"3B.ImageData.tif") + 3000
    middle[at:at + 4000] = bytes(4000)
    base.put("cut.zip", bytes(middle))
    bench.refuse("zip with zeros inside the image", 1, ["cut.zip"], "cut.zip", *OUTPUT)
    checksums(bench)
    data = base.content("good.tif")
    for share in (0.01, 0.3, 0.7, 0.98):
        base.put("cut.tif", data[:int(share * len(data))])
        bench.refuse(f"TIFF cut to {share}", 1, ["cut.tif"], "cut.tif", "scene/right.tif", *OUTPUT)


def checksums(bench):
    """A byte of a file changed inside a zip: what unpacks all the same is told by its checksum."""
    with zipfile.ZipFile("scene.zip") as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(FILES)]
    data = base.content("scene.zip")
    for member in members:
        told = struct.pack("<I", member.CRC)
        base.put("crc.zip", data.replace(told, struct.pack("<I", member.CRC ^ 0x1234)))
        bench.refuse(f"zip, checksum of {member.filename}", 1, ["crc.zip", member.filename, "the archive is damaged"],
                     "crc.zip", *OUTPUT)


def files_of_the_folder(bench):
    for view in ("3N", "3B"):
        for suffix in FILES:
            name = f"{view}.{suffix}"
            start = fresh(bench)
            base.put(start + name, b"")
            bench.refuse(f"{name} emptied", 1, [name, "not an image" if "Image" in name else "empty"], "bad", *OUTPUT)
            data = base.content(f"scene/{os.path.basename(start)}{name}")
            base.put(start + name, data[:int(0.6 * len(data)) + 3])
            bench.refuse(f"{name} cut", 1, [view, suffix], "bad", *OUTPUT)
            if suffix == "ImageData.tif":
                base.put(start + name, b"This is a letter, not an image.\n" * 40)
                bench.refuse(f"{name} a text", 1, [name, "not an image"], "bad", *OUTPUT)
            os.unlink(start + name)
            if suffix not in OPTIONAL:
                bench.refuse(f"{name} missing", 1, [name, "no such file"], "bad", *OUTPUT)
        start = fresh(bench)
        os.unlink(f"{start}{view}.SatelliteVelocity.txt")
        os.unlink(f"{start}{view}.Latitude.txt")
        bench.refuse(f"{view}: neither velocity nor latitude", 1, [f"{view}.Latitude.txt", "no SatelliteVelocity.txt"], "bad", *OUTPUT)
    start = fresh(bench)
    for path in glob.glob(f"{start}3B.*"):
        os.unlink(path)
    bench.refuse("no 3B at all", 1, ["3B"], "bad", *OUTPUT)


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
    for view in ("3N", "3B"):
        for table in TABLES:
            name = f"{view}.{table}.txt"
            start = fresh(bench)
            text = base.content(start + name).decode()
            for word in ("five", "nan", "-inf", "1e999", "1,5", "0x1F"):
                base.put(start + name, spoil(text, word).encode())
                bench.refuse(f"{name} with '{word}'", 1, [name], "bad", *OUTPUT)
            base.put(start + name, spoil(text, "").encode())
            bench.refuse(f"{name}: a number missing", 1, [name], "bad", *OUTPUT)
            base.put(start + name, spoil(text, "1 2 3").encode())
            bench.refuse(f"{name}: numbers too many", 1, [name], "bad", *OUTPUT)
            rows = [line for line in text.split("\n") if line.strip()]
            block = 11 if table in ("LatticePoint", "SightVector") else 1
            for change, kept in (("shorter", rows[:-block]), ("longer", rows + rows[-block:]), ("one row", rows[:block])):
                if table == "LatticePoint" and change == "longer":
                    continue  # its last rows twice: said of the lattice, see below
                base.put(start + name, ("\n".join(kept) + "\n").encode())
                bench.refuse(f"{name} {change}", 1, [view], "bad", *OUTPUT)
            base.put(start + name, bytes(range(256)) * 20)
            bench.refuse(f"{name} not a text", 1, [name], "bad", *OUTPUT)
            base.put(start + name, b"0 " * 2000000)
            bench.refuse(f"{name}: one endless line", 1, [name], "bad", *OUTPUT)
        start = fresh(bench)
        name = f"{start}{view}.LatticePoint.txt"
        rows = [line for line in base.content(name).decode().split("\n") if line.strip()]
        base.put(name, ("\n".join(rows[:-11]) + "\n").encode())
        bench.refuse(f"{view} LatticePoint: a row missing", 1, [view, "LatticePoint.txt is cut short"], "bad", *OUTPUT)
        for change, kept in (("same row twice", rows + rows[-11:]), ("rows backwards", rows[::-1]),
                             ("one row for all", rows[:11] * (len(rows) // 11))):
            base.put(name, ("\n".join(kept) + "\n").encode())
            bench.refuse(f"{view} LatticePoint: {change}", 1, [view], "bad", *OUTPUT)
        zero = {"SightVector": "0 0 0", "SatellitePosition": "0 0 0"}
        for table, row in zero.items():
            start = fresh(bench)
            rows = [row if line.strip() else line for line in base.content(f"{start}{view}.{table}.txt").decode().split("\n")]
            base.put(f"{start}{view}.{table}.txt", "\n".join(rows).encode())
            bench.refuse(f"{view} {table} all zero", 1, [view], "bad", *OUTPUT)


def texts_of_editors(bench):
    """Ends of lines and a mark in front, as other systems' editors write them, change nothing."""
    start = fresh(bench)
    told = bench.call("info", "bad").stdout
    for path in glob.glob(f"{start}*.txt"):
        base.put(path, b"\xef\xbb\xbf" + base.content(path).replace(b"\n", b"\r\n"))
    done = bench.call("info", "bad")
    bench.check("byte order mark and CR LF", done.returncode == 0 and done.stdout == told != "", done.stderr)


def exchanged(bench):
    """3N and 3B mixed up: images alone, with their tables, everything."""
    for upto, what, word in ((1, "images", "exchanged"), (3, "images, lattice and sight vectors", ""),
                             (len(FILES), "everything", "degrees back")):
        start = fresh(bench)
        for suffix in FILES[:upto]:
            os.rename(start + "3N." + suffix, "held")
            os.rename(start + "3B." + suffix, start + "3N." + suffix)
            os.rename("held", start + "3B." + suffix)
        bench.refuse(f"3N and 3B exchanged: {what}", 1, ["3N", word], "bad", *OUTPUT)
    start = fresh(bench)
    shutil.copy(start + "3N.ImageData.tif", start + "3B.ImageData.tif")
    bench.refuse("the same image as 3N and 3B", 1, ["3B"], "bad", *OUTPUT)
    start = fresh(bench)
    for suffix in FILES:
        shutil.copy(start + "3N." + suffix, start + "3B." + suffix)
    bench.refuse("3N twice", 1, ["3B"], "bad", *OUTPUT)


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
        bench.refuse(f"HDF cut to {share}", 1, ["cut.hdf", "cut short"], "cut.hdf", *OUTPUT)
    spoiled_hdf(bench, data)
    base.put("cut.hdf", data[:2000] + bytes(len(data) - 2000))
    bench.refuse("HDF of zeros", 1, ["cut.hdf"], "cut.hdf", *OUTPUT)
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
    bench.check("HDF: the same heights, however stored", len(heights) == 1)
    hdf4.write("stored.hdf", hdf4.stored(elements, (hdf4.NBIT, 0)))
    bench.refuse("HDF in another coding", 1, ["stored.hdf", "ImageData", "coder 2", "hrepack"], "stored.hdf", *OUTPUT)
    shutil.copy(sample, 'a "quoted" name.hdf')
    with zipfile.ZipFile("hdf.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(sample, "inside/scene.hdf")
    for name in ('a "quoted" name.hdf', "hdf.zip"):
        bench.make("run", "-q", name, "-o", "stored.tif", "--overwrite")
        heights.add(base.read_raster("stored.tif", "float32"))
    bench.check("HDF in an archive, under a name with quotes", len(heights) == 1)


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
            bench.refuse(f"{said} as HDF, {attributes[1][:20]!r}", 1, ["renamed.hdf", said, "AST_L1A V004"], "renamed.hdf",
                         *OUTPUT)
        subprocess.run(["gdal_translate", "-q", "-of", "HDF4Image", "good.tif", f"{said}_00307312017.hdf"], check=True)
        bench.refuse(f"{said} by its name", 1, [said, "AST_L1A V004"], f"{said}_00307312017.hdf", *OUTPUT)
    subprocess.run(["gdal_translate", "-q", "-of", "HDF4Image", "-mo", "SHORTNAME=MOD09", "good.tif", "renamed.hdf"],
                   check=True)
    bench.refuse("HDF of another sensor", 1, ["renamed.hdf", "AST_L1A V004"], "renamed.hdf", *OUTPUT)
    for start, said in (("AST_L1B_00307312017190728", "AST_L1B"), ("AST_L1T_00307312017190728", "AST_L1T"),
                        ("AST_L1AE_00307312017190728", "AST_L1AE"), ("scene", "level 1B or 1T")):
        base.remove("other")
        os.mkdir("other")
        for file in ("VNIR_Swath.ImageData3N.tif", "VNIR_Swath.ImageData3B.tif") if said != "AST_L1AE" else (
                "VNIR_Band3N.ImageData.tif", "VNIR_Band3N.LatticePoint.txt"):
            shutil.copy("good.tif", f"other/{start}.{file}")
        bench.refuse(f"folder of {said}", 1, ["other", said, "AST_L1A V004"], "other", *OUTPUT)
        with zipfile.ZipFile("other.zip", "w") as archive:
            for name in os.listdir("other"):
                archive.write(f"other/{name}", f"inside/{name}")
        bench.refuse(f"zip of {said}", 1, ["other.zip", said, "AST_L1A V004"], "other.zip", *OUTPUT)


    shutil.copytree("scene", "mixed")
    shutil.copy("good.tif", "mixed/AST_L1T_00307312017190728_V.tif")
    done = bench.call("info", "mixed")
    bench.check("level 1T beside the scene", done.returncode == 0, done.stderr)


def several(bench):
    """More than one scene in what is given: told, never chosen from, wherever they lie."""
    for name in ("many/a", "many/b"):
        shutil.copytree("scene", name)
    bench.refuse("folder of two folders with scenes", 1, ["many", "more than one ASTER scene"], "many", *OUTPUT)
    with zipfile.ZipFile("many.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(glob.glob("many/*/AST_*")):
            archive.write(path)
    bench.refuse("zip of two folders with scenes", 1, ["many.zip", "more than one ASTER scene"], "many.zip", *OUTPUT)
    base.remove("many/b")
    for path in glob.glob("many/a/AST_*"):
        shutil.copy(path, path.replace("AST_L1A", "AST_L1A_another"))
    bench.refuse("two scenes in a folder", 1, ["many", "more than one ASTER scene"], "many/a", *OUTPUT)
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
    with zipfile.ZipFile("scene.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(glob.glob("scene/AST_*")):
            archive.write(path, os.path.basename(path))
    whole_files(bench)
    several(bench)
    listed(bench)
    cut(bench)
    files_of_the_folder(bench)
    tables(bench)
    texts_of_editors(bench)
    exchanged(bench)
    hdf(bench)
    other_products(bench)


base.test(scenes)
