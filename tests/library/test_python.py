"""The Python module beside the program: the same bytes, its sentences, threads, cancelling, memory, types.
test_python.py STEREODEM SOURCE_DIR; PYTHONPATH and LD_LIBRARY_PATH name the module and the shared library."""
# SPDX-License-Identifier: Apache-2.0
import copy
import ctypes
import importlib
import inspect
import json
import logging
import os
import pathlib
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import numpy as np
    from osgeo import gdal
except ImportError as missing:
    print("SKIPPED: %s" % missing)
    sys.exit(77)
import stereodem
from stereodem._values import raster_of

PROGRAM, SOURCE = sys.argv[1:3]
LAB = os.path.join(os.path.dirname(PROGRAM), "stereodem-lab")  # simulates
ASTER = os.path.join(SOURCE, "sampledata", "AST_L1A_00301012001180005_sim.zip")
TRUTH = os.path.join(SOURCE, "sampledata", "truth.tif")
WORK = tempfile.mkdtemp()
gdal.UseExceptions()
logging.disable(logging.WARNING)


def program(*words, code=0):
    """Run the program; its sentence."""
    done = subprocess.run([LAB if words[0] == "simulate" else PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, (words, done.stderr)
    return done.stderr


def at(name):
    return os.path.join(WORK, name)


def band(path, number=1):
    data = gdal.Open(path)  # a band alone does not keep it open
    return data.GetRasterBand(number).ReadAsArray()


def image(path):
    data = gdal.Open(path)
    return stereodem.Image(data.ReadAsArray(), rpc=stereodem.RPC.from_metadata(data.GetMetadata("RPC")))


def needs(*names):
    """Skip the test where a package is not there."""
    try:
        return [importlib.import_module(name) for name in names]
    except Exception as error:  # pylint: disable=broad-except
        raise unittest.SkipTest("no %s: %s" % (", ".join(names), error)) from None


def simulate(side, name):
    program("simulate", "-o", at(name), "--layout", "rpc", "--width", side, "--height", side, "--quiet")


def says(test, said, function, *arguments, **options):
    """The status of the error that a call ends with."""
    with test.assertRaisesRegex(stereodem.Error, said) as caught:
        function(*arguments, **options)
    return caught.exception.status


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        simulate(320, "pair")
        cls.left, cls.right = at("pair/left.tif"), at("pair/right.tif")
        program("run", cls.left, cls.right, "-o", at("pair.tif"), "--quiet", "--threads", 2)
        rng = np.random.default_rng(1)
        scene = rng.integers(0, 256, (90, 160)).astype(np.uint8)
        cls.views = np.ascontiguousarray(scene[:, 10:130]), np.ascontiguousarray(scene[:, 17:137])
        for name, view in zip("lr", cls.views):
            data = gdal.GetDriverByName("GTiff").Create(at(name + ".tif"), 120, 90, 1)
            data.WriteArray(view)
            data = None

    says = says

    def same_files(self, one, two):
        with open(at(one), "rb") as first, open(at(two), "rb") as second:
            self.assertEqual(first.read(), second.read(), one)

    def same_dem(self, dem, path):
        expected = band(path)
        np.testing.assert_array_equal(np.where(np.isnan(dem.height), np.float32(-9999), dem.height), expected)
        self.assertEqual(dem.transform, tuple(gdal.Open(path).GetGeoTransform()))

    def test_files_are_the_programs(self):
        result = stereodem.run(self.left, self.right, output=at("files.tif"), threads=2)
        for kind in ("", "_qa", "_ortho"):
            self.same_files("pair%s.tif" % kind, "files%s.tif" % kind)
        self.assertIn("stage_seconds", result)

    def test_aster_in_memory(self):
        program("run", ASTER, "-o", at("aster.tif"), "--quiet", "--vertical", "egm96")
        self.same_dem(stereodem.run(ASTER, vertical="egm96"), at("aster.tif"))

    def test_strict(self):
        """A doubtful DEM in memory is an error, which leaves neither DEM nor result."""
        with stereodem._Context("run", {"reference": TRUTH, "reference_vertical": "egm2008", "strict": True}) as context:
            made = ctypes.c_void_p()
            status = stereodem.lib.sdm_make_dem(context.handle, ASTER.encode(), None, ctypes.byref(made))
            self.assertRaisesRegex(stereodem.Error, "strict.*reference was not used", context.check, status)
            self.assertEqual((made.value, context.result()), (None, {}))

    def test_pair_in_memory(self):
        dem = stereodem.run(self.left, self.right)
        self.same_dem(dem, at("pair.tif"))
        np.testing.assert_array_equal(dem.mask, band(at("pair_qa.tif"), 5))

    def test_layers_and_report(self):
        """All layers hold what the files hold, and the report its figures."""
        program("run", ASTER, "-o", at("all.tif"), "--quiet", "--reference", TRUTH)
        dem = stereodem.run(ASTER, reference=TRUTH)
        self.same_dem(dem, at("all.tif"))
        with open(at("all.json"), encoding="utf-8") as file:
            report = json.load(file)
        def figures(of):
            return {k: v for k, v in of.items() if k not in ("output", "work", "options", "effective_options")}
        self.assertEqual(figures(dem.report), figures(report))
        self.assertEqual(dem.report["reference"]["state"], report["reference"]["state"])
        for name, number, nodata, scale in (("score", 1, 65535, .01), ("ray_error", 2, 65535, report["grid"]["qa_gap_step_m"]),
                                            ("predicted_error", 7, 65535, report["grid"]["qa_error_step_m"])):
            stored = band(at("all_qa.tif"), number)
            np.testing.assert_allclose(getattr(dem, name), np.where(stored == nodata, np.nan, stored * scale), rtol=1e-6)
        np.testing.assert_array_equal(dem.reason, band(at("all_qa.tif"), 6))
        for name, number in (("change", 1), ("left_out", 2)):
            np.testing.assert_array_equal(np.nan_to_num(getattr(dem, name), nan=-9999), band(at("all_change.tif"), number))
        self.assertLess(np.abs(np.nan_to_num(dem.ortho) - band(at("all_ortho.tif"))).max(), 0.51)  # which is rounded
        self.assertIsNone(dem.pairs)
        self.assertIn("<iframe srcdoc=", dem._repr_html_())
        self.assertIn("layers height, score", repr(dem))
        dem.save(at("saved.html"))
        with open(at("saved.html"), encoding="utf-8") as file:
            self.assertIn("DEM in memory", file.read())
        self.says("path: found .*saved.png", dem.save, at("saved.png"))
        made = stereodem.stack([dem, at("all.tif")], align="none")
        self.assertEqual(made.report["stack"]["count"] if "count" in made.report["stack"] else len(made.report["stack"]["dems"]), 2)

    def test_arrays(self):
        one, two = image(self.left), image(self.right)
        files = stereodem.run(self.left, self.right)
        gaps = np.zeros((one.samples.shape[0], one.samples.shape[1] + 7), dtype=one.samples.dtype)
        gaps[:, :-7] = one.samples
        dem = stereodem.run(stereodem.Image(gaps[:, :-7], rpc=one.rpc), two)
        np.testing.assert_array_equal(dem.height, files.height)
        again = stereodem.run(one, two)
        np.testing.assert_array_equal(again.height, dem.height)

    def test_arrays_of_bytes_are_the_programs(self):
        views = []
        for name, path in (("l8.tif", self.left), ("r8.tif", self.right)):
            view = image(path)
            low, high = view.samples[view.samples > 0].min(), view.samples.max()
            view.samples = np.where(view.samples, 1 + 253 * (view.samples.astype(float) - low) / (high - low), 0).astype(np.uint8)
            out = gdal.GetDriverByName("GTiff").Create(at(name), view.samples.shape[1], view.samples.shape[0], 1)
            out.SetMetadata(gdal.Open(path).GetMetadata("RPC"), "RPC")
            out.WriteArray(view.samples)
            out = None
            views.append(view)
        program("run", at("l8.tif"), at("r8.tif"), "-o", at("bytes.tif"), "--quiet")
        self.same_dem(stereodem.run(*views), at("bytes.tif"))

    def test_views(self):
        program("simulate", "-o", at("third"), "--layout", "rpc", "--width", 320, "--height", 320, "--base-height", "0.3", "--error-seed", 2, "--quiet")
        third = at("third/right.tif")
        found = stereodem.run(self.left, self.right, third, output=at("views.tif"), threads=2)
        self.assertEqual(len(found["pairs"]), 3)
        program("run", self.left, self.right, third, "-o", at("same.tif"), "--quiet")
        self.assertTrue((band(at("views.tif")) == band(at("same.tif"))).all())
        dem = stereodem.run(image(self.left), self.right, image(third))
        np.testing.assert_array_equal(np.nan_to_num(dem.height, nan=-9999), band(at("views.tif")))
        np.testing.assert_array_equal(dem.pairs, band(at("views_qa.tif"), 7))
        error, step = band(at("views_qa.tif"), 8).astype(float), dem.report["grid"]["qa_error_step_m"]
        np.testing.assert_allclose(dem.predicted_error, np.where(error == 65535, np.nan, error * step), rtol=1e-5)
        self.assertEqual(len(dem.report["pairs"]), 3)
        self.assertEqual([n for n in os.listdir(tempfile.gettempdir()) if n.startswith("stereodem-views-")], [])
        self.says("given twice", stereodem.run, self.left, self.right, self.left, output=at("twice.tif"))

    def test_match(self):
        program("match", at("l.tif"), at("r.tif"), "-o", at("d.tif"), "--quiet", "--max-disparity", 20)
        expected = band(at("d.tif"))
        found = stereodem.match(*map(stereodem.Image, self.views), max_disparity=20)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(stereodem.match(*self.views, max_disparity=20), expected)
        self.assertAlmostEqual(float(np.nanmedian(found)), 7.0, places=1)
        self.says("left image: found an array of 0 x 120, expected at least one row", stereodem.match, *(v[:0] for v in self.views))
        stereodem.match(at("l.tif"), at("r.tif"), output=at("d2.tif"), max_disparity=20)
        np.testing.assert_array_equal(band(at("d2.tif")), expected)

    def test_polygons_as_masks(self):
        truth = gdal.Open(at("pair/truth.tif"))
        ring = gdal.Info(truth, format="json")["wgs84Extent"]["coordinates"][0]
        middle = [sum(p[k] for p in ring[:4]) / 4 for k in (0, 1)]
        part = [[middle[k] + 0.3 * (p[k] - middle[k]) for k in (0, 1)] for p in ring]
        with open(at("outlines.geojson"), "w", encoding="utf-8") as file:
            json.dump({"type": "FeatureCollection", "features": [
                {"type": "Feature", "properties": {"kind": kind}, "geometry": {"type": "Polygon", "coordinates": [places]}}
                for kind, places in (("ice", part), ("all", ring))]}, file)
        whole = stereodem.compare(at("pair.tif"), at("pair/truth.tif"))
        options = {"where": "kind = 'ice'", "layer": "outlines"}
        rest = stereodem.compare(at("pair.tif"), at("pair/truth.tif"), exclude=at("outlines.geojson"), **options)
        inside = stereodem.compare(at("pair.tif"), at("pair/truth.tif"), within=at("outlines.geojson"), **options)
        self.assertGreater(rest["unstable"]["n"], 100)
        self.assertEqual(rest["cells"] + inside["cells"], whole["cells"])
        self.says("its fields are kind", stereodem.compare, at("pair.tif"), at("pair/truth.tif"), mask=at("outlines.geojson"), where="a = 1")
        self.says("where: needs polygons", stereodem.compare, at("pair.tif"), at("pair/truth.tif"), where="a = 1")
        self.says("exclude: needs reference FILE", stereodem.run, self.left, self.right, exclude=at("outlines.geojson"))
        dem = stereodem.run(self.left, self.right, reference=at("pair/truth.tif"), exclude=at("outlines.geojson"), **options)
        self.assertEqual(dem.height.shape, band(at("pair.tif")).shape)

    def test_compare_stack_info(self):
        found = stereodem.compare(at("pair.tif"), at("pair/truth.tif"))
        self.assertLess(found["aligned"]["nmad"], 5.0)
        dem, truth = stereodem.run(self.left, self.right), gdal.Open(at("pair/truth.tif"))
        raster = stereodem.Raster(truth.ReadAsArray(), truth.GetGeoTransform(), truth.GetProjection(),
                                  truth.GetRasterBand(1).GetNoDataValue())
        for turn in range(2):  # the second replaces the file of the first
            again = stereodem.compare(dem, raster, difference=at("difference.tif"), overwrite=turn > 0)
            self.assertEqual(again["aligned"], found["aligned"])
        self.says("difference.tif", stereodem.compare, dem, raster, difference=at("difference.tif"))
        stereodem.run(self.left, self.right, output=at("second.tif"), cost="census")
        stereodem.stack([at("pair.tif"), at("second.tif")], output=at("stack.tif"), align="none")
        program("stack", at("pair.tif"), at("second.tif"), "-o", at("stack2.tif"), "--align", "none", "--quiet")
        self.same_files("stack.tif", "stack2.tif")
        self.assertEqual(stereodem.info(self.left, self.right)["sensor"], "rpc")
        self.assertEqual(stereodem.info(image(self.left), image(self.right))["left"]["width"], 320)

    def test_trend_in_memory(self):
        rng, place = np.random.default_rng(1), ((500000, 30, 0, 4900000, 0, -30), "EPSG:32631")
        ground = 40 * rng.normal(size=(60, 70)).cumsum(0)
        dems = [stereodem.Raster((ground - 0.5 * k + rng.normal(0, 0.2, ground.shape)).astype("f4"), *place, time="20%02d-05-06" % k)
                for k in range(1, 9)]
        made = stereodem.stack(dems, trend=True, align="none")
        self.assertAlmostEqual(float(np.nanmedian(made.rate)), -0.5, delta=0.02)
        self.assertLess(float(np.nanmedian(made.rate_error)), 0.1)
        self.assertEqual((float(np.nanmax(made.dates)), round(float(np.nanmax(made.span)))), (8.0, 7))
        self.assertEqual(made.report["trend"]["first"][:10], "2001-05-06")
        self.assertIsNone(stereodem.stack(dems).rate)
        for time in ("hello", "2003-05-06 noon", "2003-05-06T10:11:12+02:00"):
            self.says("of a raster, expected a date", stereodem.stack, [stereodem.Raster(ground.astype("f4"), *place, time=time), *dems], trend=True)
        self.says("has no date", stereodem.stack, [*dems[:2], stereodem.Raster(dems[2].samples, *place)], trend=True)

    def test_stack_in_memory(self):
        dems = [stereodem.run(self.left, self.right, cost=cost, vertical="egm96") for cost in ("zncc", "census")]
        names = [at(name) for name in ("one.tif", "two.tif")]
        for name, cost in zip(names, ("zncc", "census")):
            program("run", self.left, self.right, "-o", name, "--cost", cost, "--vertical", "egm96", "--quiet")
        for name, words in (("egm96", ["--vertical", "egm96"]), ("ellipsoid", ["--no-filled"])):
            options = {"vertical": name} if name == "egm96" else {"no_filled": True}
            program("stack", *names, "-o", at(name + ".tif"), *words, "--quiet")
            made = stereodem.stack(dems, **options)
            self.same_dem(made, at(name + ".tif"))
            np.testing.assert_array_equal(made.count, band(at(name + "_qa.tif"), 2))
            np.testing.assert_array_equal(made.mask, band(at(name + "_qa.tif"), 3))
            self.assertEqual(made.vertical, name)
        files = stereodem.stack([names[0], dems[1]], vertical="egm96")  # of both kinds
        np.testing.assert_array_equal(files.height, band(at("egm96.tif")) + np.where(np.isnan(files.height), np.nan, 0))
        unknown = [stereodem.Raster(dem.height, dem.transform, dem.crs) for dem in dems]
        self.assertEqual(stereodem.stack(unknown).vertical, "")
        result = stereodem.compare(made, dems[0])["aligned"]
        self.assertLess(result["nmad"], 2.0)
        self.assertEqual(result["nmad"], stereodem.compare(at("ellipsoid.tif"), names[0])["aligned"]["nmad"])
        self.says("dem_vertical", stereodem.stack, [dems[0], unknown[1]])
        self.says("expected a list", stereodem.stack, names[0])
        self.says("its mask is", stereodem.stack, [dems[0], stereodem.Stack(**dict(vars(made), mask=made.mask[1:]))])

    def test_arrays_of_any_layout(self):
        left, right = self.views
        expected = stereodem.match(stereodem.Image(left), stereodem.Image(right), max_disparity=20)
        wide = np.zeros((180, 300), np.uint8)
        wide[::2, 40:280:2] = left
        for view in (np.asfortranarray(left), wide[::2, 40:280:2], np.ascontiguousarray(left[::-1])[::-1],
                     np.ascontiguousarray(left[:, ::-1])[:, ::-1], left.astype(">u2").astype("u1")):
            found = stereodem.match(stereodem.Image(view), stereodem.Image(right), max_disparity=20)
            np.testing.assert_array_equal(found, expected)
        kinds = [stereodem.match(*(stereodem.Image(v.astype(kind), nodata=0) for v in self.views), max_disparity=20)
                 for kind in (">u2", "<i2", np.uint16, np.float32, ">f4")]
        for found in kinds[1:]:
            np.testing.assert_array_equal(found, kinds[0])
        masked = np.ma.masked_array(image(self.left).samples, mask=np.broadcast_to(np.arange(320) < 100, (320, 320)))
        one, two = image(self.left), image(self.right)
        by_mask = stereodem.run(stereodem.Image(one.samples, rpc=one.rpc, mask=~masked.mask), two)
        np.testing.assert_array_equal(stereodem.run(stereodem.Image(masked, rpc=one.rpc), two).height, by_mask.height)
        self.assertLess(np.isfinite(by_mask.height).mean(), np.isfinite(band(at("pair.tif")) + 9999).mean())

    def test_wrong_arrays(self):
        view, rpc = image(self.left).samples, image(self.left).rpc
        for wrong, said in ((view[0], "1 dimensions"), (view[:0], "expected at least one row"), (view > 3, "bool"),
                            (view.astype(complex), "complex128"), ([[1, 2]], "int64"), (None, "0 dimensions"),
                            (np.full((99, 99), np.nan, np.float32), "no usable pixel")):
            self.says(said, stereodem.run, stereodem.Image(wrong, rpc=rpc), stereodem.Image(wrong, rpc=rpc))
        fields = vars(rpc)
        for wrong, said in ({"line_off": "x"}, "expected numbers"), ({"line_num": [1.0] * 19}, "expected 20"):
            self.says(said, stereodem.run, stereodem.Image(view, rpc=stereodem.RPC(**dict(fields, **wrong))), image(self.right))
        metadata = gdal.Open(self.left).GetMetadata("RPC")
        self.says("left image: its rpc: found 3, expected a stereodem.RPC", stereodem.run, stereodem.Image(view, rpc=3), image(self.right))
        self.says("left image: the RPC metadata have no LINE_OFF", stereodem.run, stereodem.Image(view, rpc={}), image(self.right))
        for wrong in ("x", ""):
            self.says("LINE_OFF is '%s', expected numbers" % wrong, stereodem.RPC.from_metadata, dict(metadata, LINE_OFF=wrong))
        self.says("its mask is", stereodem.run, stereodem.Image(view, rpc=rpc, mask=view[1:]), image(self.right))
        self.says("give two of a kind", stereodem.run, self.left, image(self.right))

    def test_objects_of_other_libraries(self):
        """A CRS with to_wkt(), a transform with to_gdal(), a code of EPSG; anything else is one sentence."""
        truth = gdal.Open(at("pair/truth.tif"))
        data, geo, wkt = truth.ReadAsArray(), truth.GetGeoTransform(), truth.GetProjection()
        nodata = truth.GetRasterBand(1).GetNoDataValue()

        class Other:
            def to_wkt(self):
                return wkt

            def to_gdal(self):
                return geo
        expected = stereodem.compare(at("pair.tif"), stereodem.Raster(data, geo, wkt, nodata))["aligned"]
        code = int(truth.GetSpatialRef().GetAuthorityCode(None))
        for transform, crs, none in ((Other(), Other(), nodata), (np.array(geo), code, np.float32(nodata)), (list(geo), np.int64(code), str(nodata))):
            self.assertEqual(stereodem.compare(at("pair.tif"), stereodem.Raster(data, transform, crs, none))["aligned"], expected)
        for fields, said in (((data, geo, 3.5), "crs: found 3.5, expected a text"), ((data, geo, None), "crs: found None"), ((data, geo, b"EPSG:1"), "crs: found b"),
                             ((data, ["a"] * 6, wkt), "a geotransform: found .'a'.*expected 6 numbers"), ((data, 3, wkt), "a geotransform: found 3"),
                             ((data, geo[:5], wkt), "a geotransform of 5 numbers, expected 6"), ((data, geo, wkt, "none"), "nodata: found 'none', expected a number"),
                             ((data, geo, wkt, None, 3), "vertical: found 3, expected a text")):
            self.assertEqual(self.says(said, stereodem.compare, at("pair.tif"), stereodem.Raster(*fields)), "usage")
        for wrong, said in (([[1, 2], [3]], "expected an array"), (self.views[0].astype(object), "samples are object")):
            self.says("left image: .*" + said, stereodem.match, stereodem.Image(wrong), stereodem.Image(self.views[1]))
        self.says("left image: its mask is .., the image", stereodem.run, stereodem.Image(self.views[0], mask="x"), stereodem.Image(self.views[1]))
        for wrong in ("zero", [0], None.__class__, 10**400):
            self.says("left image: nodata: found .*expected a number", stereodem.match, stereodem.Image(self.views[0], nodata=wrong), stereodem.Image(self.views[1]))

    def test_values_of_options(self):
        for options in ({"tr": 30}, {"tr": np.float64(30)}, {"tr": np.float32(30)}, {"tr": np.int64(30)}, {"tr": np.array(30.0)},
                        {"tr": 30, "overwrite": np.bool_(True)}, {"tr": 30, "config": {"GDAL_CACHEMAX": 64}},
                        {"tr": 30, "config": ["GDAL_CACHEMAX=64"]}, {"tr": "30", "mask_left": None}):
            self.assertEqual(stereodem.run(self.left, self.right, **options).transform[1], 30.0)
        for options, said in (({"tr": [30, 20]}, "expected one value"), ({"output": "a\0b.tif"}, "zero bytes"),
                              ({"tr": -3}, "tr: found '-3'"), ({"tr": float("nan")}, "tr: found 'nan'"),
                              ({"output": at("a.png")}, "output .*a.png: a DEM is a GeoTIFF")):
            self.says(said, stereodem.run, self.left, self.right, **options)
        for path in (3, "a\0b", "a\ud800"):
            self.says("left image: found", stereodem.run, path, self.right)
        self.says("class nope.tif", stereodem.compare, at("pair.tif"), at("pair/truth.tif"), class_="nope.tif")

        for dems in (None, iter([at("pair.tif")]), 3):
            self.says("expected a list of DEMs", stereodem.stack, dems)

    def test_names_of_files(self):
        folder = at("\u00fcn\u00ef/\u5199\u771f x")
        os.makedirs(folder)
        for name in ("left", "right"):
            shutil.copy(at("pair/%s.tif" % name), folder)
        output = os.path.join(folder, "\u00e9.tif")
        found = stereodem.run(os.path.join(folder, "left.tif"), os.path.join(folder, "right.tif"), output=output)
        self.assertEqual(found["output"], output)
        np.testing.assert_array_equal(band(output), band(at("pair.tif")))

    def test_sentences(self):
        for words, options in (((at("absent.tif"), self.right), {}), ((self.left, self.right), {"cost": "zebra"}),
                               ((self.left, self.right), {"hmin": 5, "hmax": 1})):
            flags = [w for name, value in options.items() for w in ("--" + name, value)]
            said = program("run", *words, "-o", at("no.tif"), *flags, code=2 if options else 1).strip()
            with self.assertRaises(stereodem.Error) as caught:
                stereodem.run(*words, output=at("no.tif"), **options)
            self.assertEqual("stereodem run: " + str(caught.exception), said.replace(" --", " ").replace(": --", ": "))
        self.says("did you mean threads", stereodem.run, self.left, self.right, thread=2)
        self.says("left image has a mask", stereodem.match, *(stereodem.Image(v, mask=v > 3) for v in self.views))
        self.says("int64, expected uint8", stereodem.match, *(stereodem.Image(v.astype(int)) for v in self.views))

    def test_progress_and_cancel(self):
        seen = []
        stereodem.run(self.left, self.right, progress=lambda done, stage, what: seen.append(done))
        self.assertEqual(seen[-1], 1.0)
        self.assertEqual(seen, sorted(seen))
        stop = threading.Event()
        threading.Timer(0.02, stop.set).start()
        begin = time.monotonic()
        with self.assertRaises(stereodem.Error) as caught:
            for _ in range(1000):
                stereodem.run(self.left, self.right, cancel=stop)
        self.assertEqual(caught.exception.status, "stopped")
        self.assertLess(time.monotonic() - begin, 20.0)

        def fails(*_):
            raise KeyError("of the caller")
        with self.assertRaisesRegex(KeyError, "of the caller"):
            stereodem.run(self.left, self.right, progress=fails)

    def test_signals(self):
        """Whatever callback the interpreter notices a signal in, what its handler raises comes out of the call."""
        class Alarm(Exception):
            pass

        def raises(*_):
            raise Alarm
        usual = signal.signal(signal.SIGALRM, raises)
        try:
            for turn, error in enumerate([KeyboardInterrupt, Alarm] * 10):
                number = signal.SIGINT if error is KeyboardInterrupt else signal.SIGALRM
                timer = threading.Timer(0.1 + 0.01 * turn, os.kill, (os.getpid(), number))
                timer.start()
                with self.assertRaises(error):
                    for _ in range(1000):
                        stereodem.run(self.left, self.right, progress=lambda *_: None, log=lambda *_: None)
                timer.join()
        finally:
            signal.signal(signal.SIGALRM, usual)

    def test_two_at_once(self):
        expected = [stereodem.run(self.left, self.right, cost=cost).height for cost in ("census", "zncc")]
        found = [None, None]

        def work(k, cost):
            found[k] = stereodem.run(self.left, self.right, cost=cost).height
        threads = [threading.Thread(target=work, args=args) for args in enumerate(("census", "zncc"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one, two in zip(expected, found):
            np.testing.assert_array_equal(one, two)

    def test_memory(self):
        views = [stereodem.Image(v) for v in self.views]
        for turn in range(60):
            stereodem.match(*views, max_disparity=20)
            if turn % 6 == 0:
                stereodem.run(self.left, self.right, threads=1)
            if turn == 10:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 8 << 10, "KiB in 50 calls")

    @staticmethod
    def other_process(words, **variables):
        """What a Python of its own prints that runs the lines."""
        done = subprocess.run([sys.executable, "-B", "-c", "import sys\nsys.argv = %r\n%s" % (sys.argv, words)], cwd=WORK, timeout=120,
                              env=dict(os.environ, **variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout

    def make_locale(self, name, coding):
        os.makedirs(at("locale"), exist_ok=True)
        if subprocess.run(["localedef", "-c", "-i", name, "-f", coding, at("locale/%s.%s" % (name, coding))], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no locale %s to make" % name)

    @unittest.skipUnless(shutil.which("localedef"), "no localedef")
    def test_comma_locale(self):
        """Files and results are the same where the program has set a locale with a comma."""
        self.make_locale("de_DE", "UTF-8")
        said = []
        for name in ("C", "de_DE.UTF-8"):
            os.makedirs(at("in " + name), exist_ok=True)
            said.append(self.other_process("""
import json, locale, os, re, stereodem
locale.setlocale(locale.LC_ALL, %r)
os.chdir(%r)
lines, left, right, more = [], "../pair/left.tif", "../pair/right.tif", dict(log=lambda level, text: lines.append(text))
found = [stereodem.run(left, right, tr=30.5, output="d.tif", **more), stereodem.info(left, right),
         stereodem.compare("d.tif", "../pair/truth.tif", difference="c.tif", **more),
         stereodem.stack(["d.tif", "../pair/truth.tif"], output="s.tif", **more), stereodem.options("run"),
         stereodem.match("../l.tif", "../r.tif", output="m.tif", max_disparity=20)]
try:
    stereodem.run(left, right, tr=1e-9)
except stereodem.Error as error:
    found.append(str(error))
found.append([line for line in lines if not re.search("[0-9] s|MiB", line)])
print(json.dumps([locale.localeconv()["decimal_point"], found]))
""" % (name, at("in " + name)), LOCPATH=at("locale")))
        point, comma = map(json.loads, said)
        self.assertEqual([point[0], comma[0]], [".", ","])

        def steady(value):
            """Without what each run has of its own."""
            if isinstance(value, dict):
                return {k: steady(v) for k, v in value.items() if "second" not in k and "memory" not in k and not k.endswith("_s")}
            return [steady(v) for v in value] if isinstance(value, list) else value
        self.assertEqual(steady(point[1]), steady(comma[1]))
        for name in sorted(os.listdir(at("in C"))):
            one, two = "in C/" + name, "in de_DE.UTF-8/" + name
            if name.endswith((".tif", ".qml", ".vrt", ".png")):
                self.same_files(one, two)
            elif name.endswith(".json"):
                self.assertEqual(*(json.loads(pathlib.Path(at(p)).read_text("utf-8")).keys() for p in (one, two)))

    @unittest.skipUnless(shutil.which("localedef"), "no localedef")
    def test_turkish_locale(self):
        """In Turkish, I and i are letters of their own: names of files and options are the same all the same."""
        self.make_locale("tr_TR", "ISO-8859-9")
        said = self.other_process("""
import locale, stereodem
locale.setlocale(locale.LC_ALL, "tr_TR.ISO-8859-9")
stereodem.run("pair/left.tif", "pair/right.tif", output="turkish.TIF", memory="250M", threads=2)
stereodem.compare("turkish.TIF", "pair/truth.tif", difference="turkish_d.TIF")
stereodem.stack(["turkish.TIF", "pair/truth.tif"], output="turkish_s.TIF", co=["COMPRESS=DEFLATE"])
stereodem.match("l.tif", "r.tif", output="turkish_m.TIF", max_disparity=20)
print(open("turkish.TIF", "rb").read() == open("pair.tif", "rb").read())
""", LOCPATH=at("locale"))
        self.assertEqual(said, "True\n")

    def test_errors_cross_processes(self):
        class Own(stereodem.Error):
            def __init__(self):
                super().__init__("of its own", "data")
        own = copy.deepcopy(Own())
        self.assertEqual((str(own), own.status, type(own)), ("of its own", "data", Own))
        for again in (pickle.loads(pickle.dumps(stereodem.Error("a sentence", "input"))), copy.copy(stereodem.Error("a sentence", "input"))):
            self.assertEqual((str(again), again.status, type(again)), ("a sentence", "input", stereodem.Error))
        said = self.other_process("""
import concurrent.futures, multiprocessing, stereodem
for kind in "fork", "spawn":
    pool = multiprocessing.get_context(kind)
    with pool.Pool(2) as one, concurrent.futures.ProcessPoolExecutor(2, mp_context=pool) as two:
        for good, bad in ((one.apply_async(stereodem.options, ("run",)).get, one.apply_async(stereodem.info, ("not_there.hdf",)).get),
                          (two.submit(stereodem.options, "run").result, two.submit(stereodem.info, "not_there.hdf").result)):
            assert good(60)
            try:
                bad(60)
            except stereodem.Error as error:
                print(error.status, "not_there.hdf" in str(error))
""")
        self.assertEqual(said, 4 * "input True\n")

    def test_fork_after_a_call(self):
        """A process that was forked after a call has none of OpenMP's threads: it works with one, and says so."""
        said = self.other_process("""
import multiprocessing, os, stereodem
def work(what):
    lines = []
    dem = stereodem.run("pair/left.tif", "pair/right.tif", log=lambda level, text: lines.append(text))
    error = stereodem.compare("pair.tif", "pair/truth.tif")["aligned"]["nmad"]
    return dem.height.tobytes(), error, any("forked" in line for line in lines)
here = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for there in pool.map_async(work, range(3)).get(60):
        print(there[:2] == here[:2], here[2], there[2])
""")
        self.assertEqual(said, 3 * "True False True\n")

    def test_fork_while_a_call_works(self):
        """A process that was forked while another thread's call held locks is told so; it hung in some of the cases."""
        said = self.other_process("""
import os, signal, stereodem, threading
begun, stop = threading.Event(), threading.Event()
def work():
    while not stop.is_set():
        stereodem.run("pair/left.tif", "pair/right.tif", progress=lambda *_: begun.set())
thread = threading.Thread(target=work)
thread.start()
for _ in range(3):
    begun.clear()
    begun.wait()
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            stereodem.run("pair/left.tif", "pair/right.tif")
        except stereodem.Error as error:
            os._exit(7 if "forked while a call" in str(error) else 8)
        os._exit(9)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
thread.join()
""")
        self.assertEqual(said, 3 * "7\n")

    def test_threads_of_the_environment(self):
        """OMP_NUM_THREADS bounds them, and what the library's loading sets is not left in the environment."""
        said = self.other_process("""
import os, stereodem
print([name for name in os.environ if "OMP" in name])
stereodem.run("pair/left.tif", "pair/right.tif")
print(len(os.listdir("/proc/self/task")))
""", OMP_NUM_THREADS="1")
        self.assertEqual(said.split("\n")[1], "1")

    def test_waiting_threads_sleep(self):
        """As the runtime that is loaded says: beside other work, threads that spin cost up to four times the processor time."""
        for given, want in (({}, ("'PASSIVE'", "'2000'")), ({"OMP_WAIT_POLICY": "active"}, ("'ACTIVE'", None))):
            told = subprocess.run([sys.executable, "-B", "-c", "import stereodem"], stderr=subprocess.PIPE, text=True, check=True,
                                  env={k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"} | {"OMP_DISPLAY_ENV": "VERBOSE"} | given).stderr
            if "GOMP_SPINCOUNT" not in told:
                self.skipTest("the OpenMP runtime is not GNU's")
            self.assertIn("OMP_WAIT_POLICY = " + want[0], told)
            self.assertTrue(not want[1] or "GOMP_SPINCOUNT = " + want[1] in told, told)

    def test_example(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "examples", "dem_from_arrays.py")], cwd=WORK,
                              stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("heights 9", done.stdout)

    def test_options(self):
        names = [o["name"] for o in stereodem.options("run")]
        self.assertIn("dem_vertical", names)
        self.assertNotIn("quiet", names)

    @unittest.skipUnless(shutil.which("mypy"), "no mypy")
    def test_types(self):
        done = subprocess.run(["mypy", "--strict", "--enable-incomplete-feature=Unpack", "--cache-dir", at("mypy"), "stereodem"], cwd=os.path.join(SOURCE, "python"),
                              stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Inputs(unittest.TestCase):
    """What people have in Python is taken, or the sentence names what to pass.  Ways that need a package which is not there are skipped."""

    @classmethod
    def setUpClass(cls):
        simulate(256, "small")
        cls.left, cls.right, cls.truth = at("small/left.tif"), at("small/right.tif"), at("small/truth.tif")
        cls.dem = stereodem.run(cls.left, cls.right)
        cls.aligned = stereodem.compare(cls.dem, cls.truth)["aligned"]

    def same(self, *views, **options):
        np.testing.assert_array_equal(stereodem.run(*views, **options).height, self.dem.height)

    def compares(self, reference):
        self.assertEqual(stereodem.compare(self.dem, reference)["aligned"], self.aligned)

    def refused(self, said, function, *arguments, **options):
        self.assertEqual(says(self, said, function, *arguments, **options), "usage")

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

    def test_signatures(self):
        for function in (stereodem.run, stereodem.info, stereodem.compare, stereodem.stack, stereodem.match):
            names = set(inspect.signature(function).parameters)
            for option in stereodem.options(function.__name__):
                self.assertIn(option["name"] + "_" * (option["name"] == "class"), names)
                self.assertIn(option["help"] if option["name"] != "output" else "output", function.__doc__)
        self.assertEqual(inspect.signature(stereodem.run).parameters["cost"].default, "auto")


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
