#!/usr/bin/python3
# Same pixels, same DEM, however they are stored: a 16-bit RPC pair in strips, tiles, compressed, by lines, behind a VRT.
# test_stored.py [STEREODEM]     exits 77 without Python's GDAL or numpy
# SPDX-License-Identifier: Apache-2.0
import os

import harness as t
from with_gdal import gdal, image, np

SIDE = 900  # more pixels than are looked at for the stretch
COPIES = (("one-row strips", "tif", "GTiff", ["BLOCKYSIZE=1"]),
          ("one strip, compressed", "tif", "GTiff", ["BLOCKYSIZE=%d" % SIDE, "COMPRESS=DEFLATE", "PREDICTOR=2"]),
          ("tiles", "tif", "GTiff", ["TILED=YES"]),
          ("narrow tiles, compressed", "tif", "GTiff", ["TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=512", "COMPRESS=LZW"]),
          ("lines, raw", "img", "ENVI", ["INTERLEAVE=BIL"]),
          ("VRT", "vrt", "VRT", []))
work = t.work
scene = t.simulate(os.path.join(work, "scene"), "--layout", "rpc", "--width", SIDE, "--height", SIDE, "--seed", 7)


def make_wide(name):
    """The image over more of the 16 bits, a few pixels as bright as roofs that mirror the sun, so that percentiles decide
    on the stretch; with overviews that hold something else."""
    path = os.path.join(work, name + ".tif")
    small = gdal.Open(os.path.join(scene, name + ".tif"))
    pixels = small.ReadAsArray().astype(np.int64)
    y, x = np.indices(pixels.shape)
    noise = (x * 7919 + y * 104729 + x * y) % 4001
    wide = np.where(pixels > 0, 16 * pixels + noise % 16, 0)
    wide[noise == 0] = 60000
    gdal.Open(image(path, wide.astype(np.uint16), small.GetMetadata("RPC")), gdal.GA_Update).BuildOverviews("AVERAGE", [2, 4])
    return path


def stored(path, kind, ending, driver, how):
    """A copy; its RPC goes with it as text, for not every format keeps all digits."""
    copy = "%s_%s.%s" % (os.path.splitext(path)[0], kind.replace(" ", "_").replace(",", ""), ending)
    source = gdal.Open(path)
    gdal.GetDriverByName(driver).CreateCopy(copy, source, options=how)
    t.put_text(os.path.splitext(copy)[0] + "_RPC.TXT", t.rpc_text(source.GetMetadata("RPC")))
    return copy


def same(kind, ending, driver, how):
    pair = [stored(path, kind, ending, driver, how) for path in wide]
    dem = os.path.join(work, kind.replace(" ", "_") + ".tif")
    if t.expect(t.run(pair, dem), "%s: a DEM is made" % kind):
        t.expect(t.digest(dem) == first, "%s: the same heights" % kind)
        for companion in ("_qa.tif", "_ortho.tif"):
            t.expect(t.digest(t.companion(dem, companion)) == t.digest(t.companion(reference, companion)),
                     "%s: the same %s" % (kind, companion))


wide = [make_wide(name) for name in ("left", "right")]
reference = os.path.join(work, "reference.tif")
if t.expect(t.run(wide, reference), "a DEM is made"):
    found = t.compare(reference, os.path.join(scene, "truth.tif"))
    t.expect(found is not None, "it can be compared with the truth")
    print("  16 bits: %s" % t.figures(found))
    first = t.digest(reference)
    for one in COPIES:
        same(*one)
t.finish()
