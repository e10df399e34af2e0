#!/usr/bin/python3
# --points: the point cloud has the DEM's heights, places and CRS, its score, predicted error and grey value; what is wrong
# with a name, a library that is not there, a full disk.  With laspy or LASzip at hand, what these read.
# test_points.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import resource
import shutil
import struct

import harness as t
import numpy as np
from osgeo import gdal, osr

gdal.UseExceptions()
work, at = t.work, t.at
SCENE = os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")
BOUNDS = ["4.7", "44.58", "4.75", "44.62"]


def run(name, *words, **more):
    return t.call([t.PROGRAM, "run", SCENE, "-o", at(name), "-q", "--bounds", *BOUNDS, *words], True, **more)


def read(path):
    """Header, WKT, points of a file .las; by the letter of LAS 1.4."""
    data = open(path, "rb").read()
    head = dict(zip(("size", "start", "records", "kind", "length"), struct.unpack_from("<HIIBH", data, 94)))
    head["scale"], head["offset"] = np.array(struct.unpack_from("<3d", data, 131)), np.array(struct.unpack_from("<3d", data, 155))
    head["box"] = np.array(struct.unpack_from("<6d", data, 179))
    head["count"], = struct.unpack_from("<Q", data, 247)
    t.expect(data[:4] == b"LASF" and data[24:26] == b"\x01\x04" and struct.unpack_from("<H", data, 6)[0] == 16 and head["size"] == 375, "LAS 1.4 with WKT")
    place, wkt = head["size"], ""
    for _ in range(head["records"]):
        user, record, length = data[place + 2:place + 18].rstrip(b"\0"), *struct.unpack_from("<HH", data, place + 18)
        if (user, record) == (b"LASF_Projection", 2112):
            wkt = data[place + 54:place + 54 + length].rstrip(b"\0").decode()
        place += 54 + length
    t.expect(place == head["start"] and len(data) == head["start"] + head["count"] * head["length"], "records and points fill the file")
    kind = np.dtype([("at", "<i4", 3), ("grey", "<u2"), ("rest", "u1", 16), ("score", "<u2"), ("error", "<u2")])
    return head, wkt, np.frombuffer(data, kind, offset=head["start"])


def check(name, *words):
    done = run(name + ".tif", "--points", "las", *words)
    t.expect(done.returncode == 0, "%s: %s" % (name, done.stderr.strip()[-90:]))
    head, wkt, points = read(at(name + ".las"))
    dem = gdal.Open(at(name + ".tif"))
    height, place = dem.ReadAsArray(), dem.GetGeoTransform()
    row, col = np.nonzero(height != -9999)
    xyz = points["at"] * head["scale"] + head["offset"]
    t.expect(head["count"] == len(row) > 5000 and np.array_equal(xyz[:, 2].astype(np.float32), height[row, col]), "%d heights are the DEM's" % len(row))
    far = max(np.abs(xyz[:, 0] - place[0] - (col + 0.5) * place[1]).max(), np.abs(xyz[:, 1] - place[3] - (row + 0.5) * place[5]).max())
    t.expect(far < 1e-6 * place[1], "places are the middles of the cells: %.1e of a cell" % (far / place[1]))
    box = np.array([v for k in range(3) for v in (xyz[:, k].max(), xyz[:, k].min())])
    t.expect(np.allclose(head["box"], box, rtol=0, atol=1e-9 * max(1, abs(box).max())), "the header's bounds")
    qa, grey = gdal.Open(at(name + "_qa.tif")), gdal.Open(at(name + "_ortho.tif")).ReadAsArray()
    t.expect(np.array_equal(points["score"], qa.GetRasterBand(1).ReadAsArray()[row, col])
             and np.array_equal(points["error"], qa.GetRasterBand(7).ReadAsArray()[row, col]) and np.array_equal(points["grey"], grey[row, col].astype("u2") * (256 if grey.dtype == np.uint8 else 1)),
             "score, predicted error and grey value")
    found, expected = osr.SpatialReference(wkt=wkt), dem.GetSpatialRef().Clone()
    if expected.IsGeographic() and not expected.IsCompound():
        expected.DemoteTo2D()  # WKT of OGC 2001 knows no heights above an ellipsoid
    t.expect(found.IsSame(expected) or found.ExportToWkt() == expected.ExportToWkt(), "CRS %s" % found.GetName())


check("utm")
check("egm", "--vertical", "egm96", "--tr", "45")
check("degrees", "--t_srs", "EPSG:4326", "--tr", "0.0004")

try:
    import laspy
    cloud = laspy.read(at("utm.las"))
    t.expect(str(cloud.header.version) == "1.4" and cloud.header.parse_crs().to_epsg() == 32631 and float(np.max(cloud.score)) <= 1.0, "laspy reads it")
except ImportError:
    t.expect(True, "laspy is not here")

# ---- wrong ----
done = run("utm.tif", "--points", "las")
t.expect(done.returncode == 2 and "exists" in done.stderr, "nothing is replaced: %s" % done.stderr.strip()[-80:])
t.put_text(at("mine.las"), "mine")
t.expect("mine.las exists" in run("mine.tif", "--points", "las").stderr, "nor a point cloud")
t.expect(run("mine.tif").returncode == 0 and open(at("mine.las")).read() == "mine", "a run without --points leaves it")
t.expect("expected one of none, las, laz" in run("no.tif", "--points", "ply").stderr, "another format")
os.link(at("utm.las"), at("utm2.las"))
t.expect("utm2.las exists; give --overwrite" in run("utm2.tif").stderr, "a point cloud of an earlier run is a companion")
t.expect(run("utm2.tif", "--overwrite").returncode == 0 and not os.path.exists(at("utm2.las")), "which removes it")
try:
    ctypes.CDLL("liblaszip.so.8")
    t.expect(run("z.tif", "--points", "laz").returncode == 0 and 0 < os.path.getsize(at("z.laz")) < 0.6 * os.path.getsize(at("utm.las"))
             and not os.path.exists(at("z.las")), "LASzip compresses it")
except OSError:
    done = run("z.tif", "--points", "laz")
    t.expect(done.returncode == 1 and "LASzip" in done.stderr and done.stderr.count("\n") == 1, "without LASzip: %s" % done.stderr.strip())
if shutil.which("cc"):
    with open(at("zip.c"), "w") as f:  # a LASzip that cannot write, and forgets why when it is closed
        f.write('#include <stdint.h>\nstatic char *why = "", point[99];\n')
        for name in ("create(void **z) { *z = point;", "get_error(void *z, char **t) { *t = why;", "write_point(void *z) { why = \"no room for points\"; return 1;",
                     "close_writer(void *z) { why = \"\";", "get_point_pointer(void *z, void **p) { *p = point;", "get_header_pointer(void *z, void **p) { *p = point;"):
            f.write("int32_t laszip_%s return 0; }\n" % name)
        for name in ("destroy", "open_reader", "read_point", "close_reader", "set_header", "preserve_generating_software", "request_native_extension", "open_writer", "set_point"):
            f.write("int32_t laszip_%s(void *z) { return 0; }\n" % name)
    t.call(["cc", "-shared", "-fPIC", at("zip.c"), "-o", at("liblaszip.so.8")])
    done = run("f.tif", "--points", "laz", env=dict(os.environ, LD_LIBRARY_PATH=work))
    t.expect(done.returncode == 1 and "no room for points" in done.stderr and done.stderr.count("\n") == 1, "LASzip's reason: %s" % done.stderr.strip()[-120:])
limit = os.path.getsize(at("utm.las")) - 1000
done = run("full.tif", "--points", "las", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
t.expect(done.returncode == 1 and "File too large" in done.stderr and not [n for n in os.listdir(work) if n.startswith("full") and not n.endswith(".log") and ".job" not in n],
         "a full disk: %s" % done.stderr.strip()[-90:])
t.finish()
