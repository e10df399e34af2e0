"""Recipes, citation and the QGIS plugin's zip: versions, syntax by the tools that are here, the rules of plugins.qgis.org.
test_recipes.py STEREODEM SOURCE_DIR; py-rattler-build, easybuild-framework, cffconvert and buildah are asked where they are."""
# SPDX-License-Identifier: Apache-2.0
import configparser
import glob
import hashlib
import importlib
import os
import py_compile
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = sys.argv[2]
WORK = tempfile.mkdtemp()
RECIPES = os.path.join(WORK, "recipes")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


VERSION = re.search(r'#define SDM_VERSION "([0-9.]+)"', read(SOURCE, "include", "stereodem", "stereodem.h")).group(1)


def needs(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest("no " + name) from None


def setUpModule():
    with open(os.path.join(WORK, "source.tar.xz"), "wb") as file:
        file.write(b"an archive")
    subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "recipes"), RECIPES, "https://example.org/stereodem/",
                    os.path.join(WORK, "source.tar.xz")], check=True)


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = [f for f in glob.glob(RECIPES + "/**", recursive=True) if os.path.isfile(f) and not f.endswith((".xz", ".zip", "README.md"))]

    def test_filled(self):
        self.assertEqual(len(self.files), 7)
        for path in self.files:
            text = read(path)
            self.assertIsNone(re.search(r"@[A-Z0-9]+@|invalid", text), path)
            if "cjson" not in path.lower():
                self.assertTrue(VERSION in text and "https://example.org/stereodem" in text and "stereodem//" not in text, path)
                if "container" not in path:
                    self.assertIn(hashlib.sha256(b"an archive").hexdigest(), text)

    def test_versions(self):
        self.assertRegex(read(SOURCE, "CITATION.cff"), r"(?m)^version: %s$" % re.escape(VERSION))
        self.assertIn('dynamic = ["version"]', read(SOURCE, "pyproject.toml"))
        pattern = re.search(r"regex = '(.*)'", read(SOURCE, "pyproject.toml")).group(1)
        self.assertEqual(re.search(pattern, read(SOURCE, "include", "stereodem", "stereodem.h")).group("value"), VERSION)

    def test_spack(self):
        for path in (f for f in self.files if f.endswith(".py")):
            py_compile.compile(path, cfile=os.path.join(WORK, "compiled"), doraise=True)

    def test_conda(self):
        rattler = needs("rattler_build")
        found = []
        for path in self.files:
            if path.endswith("recipe.yaml"):
                made = rattler.Stage0Recipe.from_file(path).render(rattler.VariantConfig({"c_compiler": ["gcc"]}))
                found += [(v.recipe.package.name, str(v.recipe.package.version)) for v in made]
        self.assertEqual(sorted(found), [("cjson", "1.7.18"), ("libstereodem", VERSION), ("stereodem", VERSION)])

    def test_easybuild(self):
        needs("pycodestyle")  # by it
        style = needs("easybuild.framework.easyconfig.style")
        self.assertEqual(style.check_easyconfigs_style([f for f in self.files if f.endswith(".eb")]), 0)

    @unittest.skipUnless(shutil.which("cffconvert"), "no cffconvert")
    def test_citation(self):
        subprocess.run(["cffconvert", "--validate", "-i", os.path.join(SOURCE, "CITATION.cff")], check=True, stdout=subprocess.DEVNULL)


class Plugin(unittest.TestCase):
    """What the site asks of a plugin's zip."""

    @classmethod
    def setUpClass(cls):
        cls.path = glob.glob(RECIPES + "/stereodem-qgis-*.zip")[0]
        cls.zip = zipfile.ZipFile(cls.path)
        cls.names = cls.zip.namelist()
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(cls.zip.read("stereodem_processing/metadata.txt").decode())
        cls.general = parser["general"]

    def test_files(self):
        self.assertLess(os.path.getsize(self.path), 25 << 20)
        self.assertEqual({name.split("/")[0] for name in self.names}, {"stereodem_processing"})
        self.assertTrue("stereodem_processing".isidentifier())
        inside = {name.split("/", 1)[1] for name in self.names}
        self.assertLessEqual({"__init__.py", "metadata.txt", "LICENSE", self.general["icon"]}, inside)
        for name in inside:
            self.assertNotRegex(name, r"\.pyc$|__pycache__|(^|/)\.|\.(so|dll|exe)$|\.\.")

    def test_metadata(self):
        for name in ("name", "description", "about", "version", "qgisMinimumVersion", "author", "email", "tracker", "repository",
                     "homepage", "license", "icon", "changelog", "tags", "hasProcessingProvider"):
            self.assertTrue(self.general.get(name), name)
        self.assertEqual(self.general["version"], VERSION)
        self.assertTrue(self.general["changelog"].startswith(VERSION))
        self.assertEqual(self.general["qgisMaximumVersion"], "4.99")
        for name in ("tracker", "repository", "homepage"):
            self.assertRegex(self.general[name], r"^https://example\.org/stereodem(/|$)")
        self.assertRegex(self.general["email"], r"^\S+@\S+\.\S+$")
        self.assertIn("has to be installed", self.general["about"])
        self.assertNotIn("plugin", self.general["name"].lower())

    def test_icon(self):
        data = self.zip.read("stereodem_processing/" + self.general["icon"])
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", data[16:24])
        self.assertTrue(24 <= width == height <= 512)

    def test_code(self):
        for name in self.names:
            if name.endswith(".py"):
                text = self.zip.read(name).decode()
                compile(text, name, "exec")
                self.assertNotRegex(text, r"pip['\", ]|os\.system|shell=True|\beval\(|\bexec\(|Qgis\.(Warning|Info|Critical)\b|PyQt5")

    def test_program_is_found(self):
        archive = os.path.join(WORK, "archive")
        plugin = os.path.join(archive, "share", "qgis", "python", "plugins", "stereodem_processing")
        shutil.copytree(os.path.join(SOURCE, "qgis", "stereodem"), plugin)
        sys.path.insert(0, plugin)
        sys.dont_write_bytecode = True
        program = importlib.import_module("program")
        home, empty = os.path.join(WORK, "home"), os.path.join(WORK, "empty")
        names = ["stereodem-%s-%s" % (VERSION, target) for target in ("linux-x86_64", "windows-x86_64")]
        os.mkdir(empty)
        kept, usual, site = dict(os.environ), list(sys.path), os.path.join(WORK, "site")
        os.environ.update(HOME=home, PATH=empty)
        try:
            for folder, more in ((os.path.join(home, "Downloads", names[1], names[1]), []), (os.path.join(home, names[0]), []),
                                 (os.path.join(site, "stereodem"), [site]), (archive, [])):
                path = os.path.join(folder, "bin", "stereodem")
                os.makedirs(os.path.dirname(path))
                shutil.copy("/bin/true", path)
                sys.path[:] = more + [p for p in usual if not os.path.isdir(os.path.join(p or ".", "stereodem"))]
                importlib.invalidate_caches()
                self.assertEqual(program.find(), path)
        finally:
            sys.path[:] = usual
            os.environ.clear()
            os.environ.update(kept)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
