#!/usr/bin/env python3
"""Writes the wheel for Python from the folder of a portable build: module, library, program and their data; for Windows also
the folder as a zip.

wheel.py FOLDER VERSION TARGET OUT; scripts/portable calls it. All times are SOURCE_DATE_EPOCH: the same files give the same bytes.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

folder, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[4])
system, cpu = sys.argv[3].split("-")
library, program = "lib/libstereodem.so.1", "bin/stereodem"
platforms = ["%s_%s" % (kind, cpu) for kind in ("manylinux2014", "manylinux_2_17")]
if system == "windows":
    library, program, platforms = "bin/stereodem.dll", "bin/stereodem.exe", ["win_amd64"]
info = "stereodem-%s.dist-info" % version
readme = (folder / "README.md").read_text(encoding="utf-8")
METADATA = """Metadata-Version: 2.1
Name: stereodem
Version: %s
Summary: Digital elevation models from stereo pairs of satellite images
License: Apache-2.0
Requires-Python: >=3.8
Requires-Dist: numpy
Description-Content-Type: text/markdown

%s""" % (version, readme)
WHEEL = "Wheel-Version: 1.0\nGenerator: stereodem\nRoot-Is-Purelib: false\n" + "".join(
    "Tag: py3-none-%s\n" % platform for platform in platforms)
ENTRY_POINTS = "[console_scripts]\nstereodem = stereodem.__main__:main\n"

# name in the wheel: file
files = {"stereodem/" + path.name: path for path in (folder / "python/stereodem").iterdir() if path.is_file()}
files["stereodem/lib/" + library.split("/")[1]] = folder / library
files["stereodem/" + program] = folder / program
for data in ("proj", "gdal"):
    files.update(("stereodem/share/%s/%s" % (data, path.name), path) for path in (folder / "share" / data).iterdir())
licenses = folder / "share/doc/stereodem/licenses"
files.update(("%s/licenses/%s" % (info, path.relative_to(licenses)), path) for path in licenses.rglob("*") if path.is_file())
files[info + "/licenses/LICENSE"] = folder / "LICENSE"
contents = {name: (path.read_bytes(), os.access(path, os.X_OK)) for name, path in files.items()}
for name, text in (("METADATA", METADATA), ("WHEEL", WHEEL), ("entry_points.txt", ENTRY_POINTS)):
    contents["%s/%s" % (info, name)] = (text.encode(), False)
record = ""
for name, (data, _) in sorted(contents.items()):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
contents[info + "/RECORD"] = ((record + info + "/RECORD,,\n").encode(), False)


def write(path, contents):
    when = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, runs) in sorted(contents.items(), key=lambda entry: (entry[0].startswith(info), entry[0])):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(path)


write(out / ("stereodem-%s-py3-none-%s.whl" % (version, ".".join(platforms))), contents)
if system == "windows":
    write(out / (folder.name + ".zip"), {
        path.relative_to(folder.parent).as_posix(): (path.read_bytes(), True) for path in folder.rglob("*") if path.is_file()})
