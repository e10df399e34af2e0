#!/usr/bin/python3
# A run is repeated by its report: --options NAME.json gives the same DEM; a file of options, and what is wrong with one;
# NAME.log of runs that end well, fail, or find another file of that name.
# test_repeat.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import filecmp
import json
import os

import harness as t

work, at = t.work, t.at
SCENE = os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")
BOUNDS = ["4.7", "44.58", "4.75", "44.62"]


def text(name):
    return t.text_of(at(name))


def options(name, value):
    t.put_text(at(name), value if isinstance(value, str) else json.dumps(value))
    return ["--options", at(name)]


def run(*words, quiet=False):
    return t.call([t.PROGRAM, "run", *words], quiet)


# ---- a report repeats its run ----
first = run(SCENE, "-o", at("a.tif"), "-q", "--tr", "40", "--cost", "census", "--co", "COMPRESS=LZW", "--co", "PREDICTOR=NO", "--bounds", *BOUNDS)
again = run("--options", at("a.json"), "-o", at("b.tif"), "-q")
t.expect(first.returncode == again.returncode == 0 and filecmp.cmp(at("a.tif"), at("b.tif"), False), "a report repeats its run")
t.expect("a.tif exists" in run("--options", at("a.json"), quiet=True).stderr, "it takes the output, and no --overwrite")
other = run("--options", at("a.json"), "-o", at("c.tif"), "-q", "--tr", "60")
t.expect(other.returncode == 0 and t.parsed(at("c.json"))["grid"]["spacing"] == 60, "the command line counts")
t.expect(" 40" in t.call([t.PROGRAM, "info", "--options", at("a.json")]).stdout, "another command takes what it has of a report")

# ---- a file of options ----
given = options("o.json", {"tr": 40, "cost": "census", "--co": ["COMPRESS=LZW", "PREDICTOR=NO"], "bounds": [4.7, 44.58, 4.75, 44.62], "keep-job": False, "quiet": True, "hmin": None})
t.expect(run(SCENE, "-o", at("d.tif"), *given).returncode == 0 and filecmp.cmp(at("a.tif"), at("d.tif"), False), "a file of options")
for value, said in (({"trr": 60}, "unknown option trr"), ({"trr": None}, "unknown option trr"), ({"tr": "x"}, "--tr: found 'x', expected a number"), ([1], "expected JSON, an object"),
                    ("tr = 3", "expected JSON, an object"), ('{"tr": 60, "tr": 30}', "tr is given twice"), ('{"tr": 60} {}', "expected JSON"), ({"tr": {"a": 1}}, "tr is neither a text"), ({"quiet": 3}, "expected true or false")):
    given = options("bad.json", value)
    t.refused(2, said, "run", SCENE, "-o", at("no.tif"), *given)
t.refused(1, "run: --options %s cannot be read" % at("none.json"), "run", SCENE, "-o", at("no.tif"), "--options", at("none.json"))

# ---- secrets ----
hidden = ["GDAL_HTTP_BEARER=s3cret-1", "AWS_SECRET_ACCESS_KEY=s3cret-2", "GDAL_HTTP_USERPWD=me:s3cret 3", "GDAL_HTTP_HEADERS=Authorization: Basic s3cret4",
          "GDAL_HTTP_PROXY=http://me:s3cret5@proxy:80", "MY_TOKEN=s3cret6"]
shown = ["GDAL_CACHEMAX=64", "GDAL_HTTP_HEADER_FILE=headers.txt"]
done = run(SCENE, "-o", at("h.tif"), "-q", "--bounds", *BOUNDS, *[w for pair in hidden + shown for w in ("--config", pair)])
page = text("h.html") + text("h.json") + text("h.log")
t.expect(done.returncode == 0 and "s3cret" not in page and all(text(n).count("AWS_SECRET_ACCESS_KEY=***") for n in ("h.html", "h.json", "h.log")),
         "tokens and passwords are hidden")
t.expect(t.parsed(at("h.json"))["options"]["config"][:2] + t.parsed(at("h.json"))["options"]["config"][6:]
         == ["GDAL_HTTP_BEARER=***", "AWS_SECRET_ACCESS_KEY=***"] + shown and "# --config GDAL_HTTP_BEARER=*** " in text("h.log"), "other values are not")
t.refused(2, "hides a secret in --config", "run", "--options", at("h.json"), "-o", at("i.tif"))
done = run("--options", at("h.json"), "-o", at("i.tif"), "-q", "--config", "GDAL_CACHEMAX=64")
t.expect(done.returncode == 0, "the command line gives it")

# ---- logs ----
log = text("a.log")
t.expect(log.startswith("# stereodem log of run, version") and "# --tr 40\n" in log and "full resolution:" in log and log.endswith("  done\n"),
         "a log of %d lines" % log.count("\n"))
done = run(SCENE, "-o", at("f.tif"), "--hmin", "5000", "-q", quiet=True)
sentence = done.stderr.strip().split(": ", 1)[1]
t.expect(done.returncode == 1 and text("f.log").endswith("failed: %s\n" % sentence) and not os.path.exists(at("f.tif")), "a run that failed has one")
done = run(SCENE, "-o", at("f.tif"), "--log", "json", "--bounds", *BOUNDS)
t.expect(done.returncode == 0 and text("f.log").endswith("  done\n") and at("f.log") in json.loads(done.stdout.strip().split("\n")[-1])["files"],
         "it is replaced, and listed among the files")
t.put_text(at("g.log"), "mine\n")
done = run(SCENE, "-o", at("g.tif"), "--bounds", *BOUNDS)
t.expect(done.returncode == 0 and text("g.log") == "mine\n" and "g.log is no log of stereodem" in done.stderr and "g.log" not in done.stdout,
         "another file of that name is left")
t.expect(t.call([t.PROGRAM, "stack", at("a.tif"), at("c.tif"), "-o", at("s.tif"), "-q"]).returncode == 0 and " log of stack," in text("s.log"), "stack has one")
t.expect(t.call([t.PROGRAM, "stack", "--options", at("s.json"), "-o", at("s2.tif"), "-q"]).returncode == 0
         and filecmp.cmp(at("s.tif"), at("s2.tif"), False), "a report repeats its stack")
t.refused(2, "found 0 arguments, expected the scene", "run", "--options", at("s.json"), "-o", at("no.tif"))  # DEMs of a stack are no images
t.finish()
