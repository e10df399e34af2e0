"""What people have in Python is taken, or the sentence names what to pass: the ways to hand over images and rasters.
test_python_inputs.py STEREODEM SOURCE_DIR; PYTHONPATH and LD_LIBRARY_PATH as of test_python.py.  Ways that need a package
which is not there are skipped with a word."""
# SPDX-License-Identifier: Apache-2.0
import importlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError as missing:
    print("SKIPPED: %s" % missing)
    sys.exit(77)
import stereodem
from stereodem._values import raster_of

PROGRAM = sys.argv[1]
WORK = tempfile.mkdtemp()


def at(name):
    return os.path.join(WORK, name)


def needs(*names):
    """Skip the test where a package is not there."""
    try:
        return [importlib.import_module(name) for name in names]
    except Exception as error:  # pylint: disable=broad-except
        raise unittest.SkipTest("no %s: %s" % (", ".join(names), error)) from None


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([os.path.join(os.path.dirname(PROGRAM), "stereodem-lab"), "simulate", "-o", at("pair"), "--layout", "rpc", "--width",
                        "256", "--height", "256", "--quiet"], check=True)
        cls.left, cls.right, cls.truth = at("pair/left.tif"), at("pair/right.tif"), at("pair/truth.tif")
        cls.dem = stereodem.run(cls.left, cls.right)
        cls.aligned = stereodem.compare(cls.dem, cls.truth)["aligned"]

    def same(self, *views, **options):
        np.testing.assert_array_equal(stereodem.run(*views, **options).height, self.dem.height)

    def compares(self, reference):
        self.assertEqual(stereodem.compare(self.dem, reference)["aligned"], self.aligned)

    def refused(self, said, function, *arguments, **options):
        with self.assertRaisesRegex(stereodem.Error, said) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.status, "usage")

    # ---- views ----

    def test_ways(self):
        """The 22 ways to hand over views and rasters: each works, or the sentence names what to pass."""
        given = {}

        def views(kind, rpc=lambda source: source.rpcs):
            return lambda: self.same(*(stereodem.Image(kind(s.read()), rpc=rpc(s)) for s in given["views"]))

        def raster(samples=lambda a: a, transform=lambda t: t, crs=lambda c: c, **other):
            return lambda: self.compares(stereodem.Raster(samples(given["samples"]), transform(given["transform"]), crs(given["crs"]),
                                                          **other or {"nodata": given["nodata"]}))

        def three():
            found = stereodem.run(*(stereodem.Image(s.read(1), rpc=s.rpcs) for s in given["views"] + given["views"][:1]))
            self.assertGreater(np.isfinite(found.height).mean(), 0.5)

        rasterio, = needs("rasterio")
        ways = (
            ("names of files", "", lambda: self.same(pathlib.Path(self.left), os.fsencode(self.right))),
            ("datasets of rasterio", "", lambda: self.same(*given["views"])),
            ("bare arrays as views", "found ndarray without a camera; pass stereodem.Image.array, rpc=",
             lambda: stereodem.run(*(s.read(1) for s in given["views"]))),
            ("1 x rows x columns, rasterio's RPC", "", views(lambda a: a)),
            ("rows x columns, RPC.from_metadata(RPC)", "", views(lambda a: a[0], lambda s: stereodem.RPC.from_metadata(s.rpcs))),
            ("the RPC's to_dict()", "", views(lambda a: a[0], lambda s: s.rpcs.to_dict())),
            ("the tags of the domain RPC", "", views(lambda a: a[0], lambda s: s.tags(ns="RPC"))),
            ("float64", "", views(lambda a: a.astype(np.float64))),
            ("a masked array", "", views(lambda a: np.ma.masked_equal(a[0], 0))),
            ("columns first in memory", "", views(lambda a: np.asfortranarray(a[0]))),
            ("three views in memory", "", three),
            ("Raster by an Affine and a CRS of rasterio", "", raster()),
            ("Raster by GDAL's geotransform", "", raster(transform=lambda t: t.to_gdal())),
            ("Raster by six numbers of an Affine", "these are six numbers of an Affine; pass the Affine", raster(transform=lambda t: t[:6])),
            ("Raster of float64 by a code of EPSG", "", raster(lambda a: a.astype(np.float64), crs=lambda c: c.to_epsg())),
            ("Raster of a masked array by WKT", "", raster(lambda a: np.ma.masked_equal(a, given["nodata"]), crs=lambda c: c.to_wkt(), nodata=None)),
            ("a dataset as reference", "", lambda: self.compares(given["truth"])),
            ("a DataArray of one band", "", lambda: self.compares(needs("rioxarray")[0].open_rasterio(self.truth))),
            ("a DataArray of rows and columns", "", lambda: self.compares(needs("rioxarray")[0].open_rasterio(self.truth)[0])),
            ("a DEM of xdem", "", lambda: self.compares(needs("xdem")[0].DEM(self.truth))),
            ("a bare array as reference", "which does not say where it lies; pass stereodem.Raster", lambda: self.compares(given["samples"][0])),
            ("t_srs by a code of EPSG", "", lambda: self.same(self.left, self.right, t_srs=given["crs"].to_epsg())),
        )
        self.assertEqual(len({name for name, _, _ in ways}), 22)
        with rasterio.open(self.left) as left, rasterio.open(self.right) as right, rasterio.open(self.truth) as truth:
            given.update(views=[left, right], truth=truth, samples=truth.read(), transform=truth.transform, crs=truth.crs, nodata=truth.nodata)
            for name, said, way in ways:
                with self.subTest(name):
                    self.refused(said, way) if said else way()

    def test_rasterio_in_memory(self):
        rasterio, = needs("rasterio")
        with rasterio.open(self.left) as left, rasterio.open(self.right) as right:
            with rasterio.MemoryFile() as one, rasterio.MemoryFile() as two:  # in memory: read
                for file, source in ((one, left), (two, right)):
                    with file.open(driver="GTiff", width=source.width, height=source.height, count=1, dtype=source.dtypes[0],
                                   rpcs=source.rpcs) as out:
                        out.write(source.read())
                with one.open() as a, two.open() as b:
                    self.same(a, b)

    def test_cameras(self):
        rasterio, = needs("rasterio")
        with rasterio.open(self.left) as left, rasterio.open(self.right) as right:
            pairs = [(s.read(), s.rpcs) for s in (left, right)]
        self.same(*(stereodem.Image(samples, rpc=stereodem.RPC.from_metadata(rpc.to_dict())) for samples, rpc in pairs))
        self.same(*(stereodem.Image(samples[0].astype(np.float64), rpc=rpc, nodata=0) for samples, rpc in pairs))
        views = [stereodem.Image(samples, rpc=rpc) for samples, rpc in pairs]
        self.refused("one view is in memory", stereodem.run, views[0], self.right)
        self.refused("view 3: found 3, expected a name of a file, a dataset", stereodem.run, *views, 3)
        self.refused("choose a band", stereodem.run, *(stereodem.Image(np.zeros((3, 9, 9), np.uint8), rpc=v.rpc) for v in views))

    def test_arrays_of_match(self):
        rng = np.random.default_rng(1)
        scene = rng.integers(0, 256, (60, 120)).astype(np.uint8)
        found = stereodem.match(scene[:, 10:100], scene[:, 17:107], max_disparity=20)
        self.assertAlmostEqual(float(np.nanmedian(found)), 7.0, places=1)
        self.refused("left image: found an array of 0 x 90, expected at least one row", stereodem.match, scene[:0, :90], scene[:0, :90])

    # ---- rasters ----

    def test_rasters_of_rasterio(self):
        rasterio, = needs("rasterio")
        with rasterio.open(self.truth) as truth:
            samples, place, crs, nodata = truth.read(), truth.transform, truth.crs, truth.nodata
        self.compares(stereodem.Raster(samples, np.array(place), crs, nodata))
        self.same(self.left, self.right, t_srs=crs)
        self.refused("reference: found 3, expected a name of a file, a dataset of rasterio", self.compares, 3)
        self.refused("t_srs: found 3.5, expected a text such as WKT", stereodem.run, self.left, self.right, t_srs=3.5)
        with rasterio.open(self.truth) as truth:
            by_name, by_raster = (stereodem.run(self.left, self.right, reference=r) for r in (self.truth, truth))
            in_memory = stereodem.run(self.left, self.right, reference=stereodem.Raster(samples, place, crs, nodata))
        np.testing.assert_array_equal(by_name.height, by_raster.height)
        np.testing.assert_array_equal(by_name.height, in_memory.height)
        self.assertEqual(in_memory.report["reference"]["state"], by_name.report["reference"]["state"])

    def test_crs_of_pyproj(self):
        pyproj, rasterio = needs("pyproj", "rasterio")
        with rasterio.open(self.truth) as truth:
            crs = pyproj.CRS.from_epsg(truth.crs.to_epsg())
            self.compares(stereodem.Raster(truth.read(1), truth.transform, crs, truth.nodata))
        self.same(self.left, self.right, t_srs=crs)

    def test_data_array(self):
        rioxarray, xarray = needs("rioxarray", "xarray")
        array = rioxarray.open_rasterio(self.truth)
        for part in (array[0, ::-1], array[0, ::2, 1::2]):  # turned, thinned: by their x and y
            found = raster_of(part, "reference")
            self.assertAlmostEqual(found.transform.e, float(part.y[1] - part.y[0]))
            self.assertAlmostEqual(found.transform.c + 0.5 * found.transform.a, float(part.x[0]))
        self.compares(array[0, ::-1])
        self.refused("found a Dataset, expected a DataArray", self.compares, array.to_dataset(name="z"))
        made = self.dem.to_xarray()
        self.assertEqual(set(made.data_vars) & {"height", "score", "reason"}, {"height", "score", "reason"})
        self.assertEqual(stereodem.compare(made.height, self.truth)["aligned"], self.aligned)
        self.assertIsInstance(made, xarray.Dataset)
        plain = xarray.DataArray(self.dem.height, dims=("y", "x"))
        self.refused("without a CRS; pass stereodem.Raster", stereodem.compare, plain, self.truth)

    def test_xdem(self):
        xdem, geoutils = needs("xdem", "geoutils")
        self.compares(geoutils.Raster(self.truth))
        for name, datum in (("Ellipsoid", "ellipsoid"), ("EGM96", "egm96"), ("EGM08", "egm2008"), (5773, "egm96")):
            other = xdem.DEM(self.truth)
            other.set_vcrs(name)
            self.assertEqual(raster_of(other, "reference").vertical, datum)
        other.set_vcrs(5703)
        self.refused("above NAVD88 height, expected the ellipsoid", self.compares, other)
        made = self.dem.to_xdem()
        self.assertEqual(stereodem.compare(made, self.truth)["aligned"]["nmad"], self.aligned["nmad"])

    def test_save(self):
        for name in ("none/saved.tif", "none/saved.html"):
            self.refused("expected a folder that exists", self.dem.save, at(name))
        rasterio, = needs("rasterio")
        self.dem.save(at("saved.tif"))
        with rasterio.open(at("saved.tif")) as saved:
            np.testing.assert_array_equal(saved.read(1, masked=True).filled(np.nan), self.dem.height)
        self.assertEqual(stereodem.compare(at("saved.tif"), self.truth)["aligned"], self.aligned)

    # ---- signatures ----

    def test_signatures(self):
        for function in (stereodem.run, stereodem.info, stereodem.compare, stereodem.stack, stereodem.match):
            names = set(inspect.signature(function).parameters)
            for option in stereodem.options(function.__name__):
                self.assertIn(option["name"] + "_" * (option["name"] == "class"), names)
                self.assertIn(option["help"] if option["name"] != "output" else "output", function.__doc__)
        self.assertEqual(inspect.signature(stereodem.run).parameters["cost"].default, "auto")


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
