"""The site builds without warnings or dead links, and its tutorials run as they are written.
test_site.py STEREODEM SOURCE_DIR; PYTHONPATH and LD_LIBRARY_PATH as of test_python.py; without MkDocs that part is skipped."""
# SPDX-License-Identifier: Apache-2.0
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
DOCS = os.path.join(SOURCE, "docs")
WORK = tempfile.mkdtemp()


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def blocks(page, language):
    return re.findall(r"^```%s\n(.*?)^```" % language, read(DOCS, page), flags=re.M | re.S)


def folder_of(name):
    """A folder with the sample data in it."""
    where = os.path.join(WORK, name)
    os.makedirs(where)
    os.symlink(os.path.join(SOURCE, "sampledata"), os.path.join(where, "sampledata"))
    return where


def call(words, where, **keys):
    return subprocess.run(words, cwd=where, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **keys)


class Tutorials(unittest.TestCase):
    def walk(self, page, folder):
        """Run the commands of a page in their order; what each prints."""
        where = folder_of(folder)
        environment = dict(os.environ, PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"])
        said = {}
        for block in blocks(page, ""):
            for line in block.replace("\\\n", " ").splitlines():
                if not line.startswith(("stereodem ", "stereodem-lab ")) or re.search(r"glo30|https?:", line):
                    continue
                done = call(["bash", "-c", line], where, env=environment)
                self.assertEqual(done.returncode, 0, "%s: %s\n%s" % (page, line, done.stdout))
                said[line] = done.stdout
        return said

    def figure(self, text, name):
        return float(re.search(r"aligned.*?\b%s ([-0-9.]+)" % name, text).group(1))

    def test_town(self):
        said = self.walk("tutorials/town-tristereo.md", "town")
        pair, three = (next(text for line, text in said.items() if line.startswith("stereodem compare " + name)) for name in ("pair", "three"))
        self.assertLess(self.figure(three, "rmse"), self.figure(pair, "rmse"))
        self.assertLess(self.figure(three, "nmad"), 0.5)

    def test_first_scene(self):
        self.assertGreater(len(self.walk("tutorials/first-aster-scene.md", "first")), 2)

    def test_python(self):
        if not importlib.util.find_spec("numpy"):
            self.skipTest("no numpy")
        code = "".join(blocks("tutorials/python.md", "python"))
        where = folder_of("python")
        done = call([sys.executable, "-B", "-c", code], where)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("height float32", done.stdout)
        self.assertIn("DEM in memory", read(where, "report.html"))

    def test_trend(self):
        """The volume change of the tutorial lies within three of its errors of the truth; GDAL's Python module makes the series."""
        try:
            from osgeo import gdal  # noqa: F401
        except ImportError:
            self.skipTest("no GDAL for Python")
        where = folder_of("trend")
        code = "".join(blocks("tutorials/trend.md", "python"))
        done = call([sys.executable, "-B", "-W", "ignore", "-c", code], where)
        self.assertEqual(done.returncode, 0, done.stdout)
        volume, error = map(float, re.search(r"(-[0-9.]+) \+- ([0-9.]+) million", done.stdout).groups())
        self.assertLess(abs(volume + 9.03), 3 * error)
        self.assertLess(error, 2)
        if not all(map(importlib.util.find_spec, ("xdem", "geopandas"))):
            return
        more = """
import geopandas, geoutils, shapely, affine
ellipse = shapely.affinity.scale(shapely.Point(place[0] + 250.5 * place[1], place[3] + 200.5 * place[5]).buffer(40 * place[1]), 2, 1)
outline = geoutils.Vector(geopandas.GeoDataFrame(geometry=[ellipse], crs=crs))
raster = geoutils.Raster.from_array(rate, affine.Affine.from_gdal(*place), crs)
print("polygon: %.3f" % (np.nanmean(raster[outline.create_mask(raster)]) * ellipse.area / volume))
"""
        done = call([sys.executable, "-B", "-W", "ignore", "-c", code + more], where)
        found = re.search(r"polygon: ([0-9.]+)", done.stdout)
        self.assertTrue(found and abs(float(found[1]) - 1) < 0.02, done.stdout)  # by xdem's rasters and outlines


class Pages(unittest.TestCase):
    def test_nav(self):
        """Each page stands in the site's navigation: MkDocs, which says so, is not everywhere."""
        pages = {os.path.relpath(p, DOCS) for p in glob.glob(DOCS + "/**/*.md", recursive=True)}
        named = set(re.findall(r"^ +- .*: ([a-z0-9/-]+\.md)$", read(SOURCE, "mkdocs.yml"), flags=re.M))
        self.assertEqual(pages - named, set())
        self.assertLessEqual(named - pages, {"options.md", "changelog.md"})  # scripts/site_pages.py makes them


# scripts/setup's, or one that is installed
FOUND = glob.glob(os.path.join(os.environ.get("SDM_MKDOCS", os.path.expanduser("~/.local/share/stereodem-mkdocs")),
                               "**", "mkdocs", "__main__.py"), recursive=True)
MKDOCS = [shutil.which("mkdocs")] if shutil.which("mkdocs") and not FOUND else [sys.executable, "-m", "mkdocs"]


@unittest.skipUnless(FOUND or len(MKDOCS) == 1 or importlib.util.find_spec("mkdocs"), "no mkdocs")
class Site(unittest.TestCase):
    def test_site(self):
        config, site = os.path.join(WORK, "mkdocs.yml"), os.path.join(WORK, "site")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"INHERIT": os.path.join(SOURCE, "mkdocs.yml"), "docs_dir": DOCS, "site_dir": site,
                       "hooks": [os.path.join(SOURCE, "scripts", "site_pages.py")], "extra": {"program": PROGRAM}}, file)
        plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        if FOUND:
            plain["PYTHONPATH"] = os.path.dirname(os.path.dirname(FOUND[0]))
        done = subprocess.run([*MKDOCS, "build", "--strict", "--config-file", config], text=True, env=dict(plain, PYTHONDONTWRITEBYTECODE="1"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("WARNING", done.stdout)
        pages = glob.glob(site + "/**/*.html", recursive=True)
        for page in pages:
            if os.path.basename(page) == "404.html":  # served from anywhere
                continue
            for target in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', read(page)):
                self.assertTrue(os.path.exists(os.path.normpath(os.path.join(os.path.dirname(page), target))), (page, target))
        self.assertIn("--t_srs", read(site, "options.html"))
        cells = json.loads(read(site, "tutorials", "python.ipynb"))["cells"]
        self.assertEqual([c["cell_type"] for c in cells].count("code"), len(blocks("tutorials/python.md", "python")))


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
