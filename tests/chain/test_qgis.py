#!/usr/bin/python3
# The Processing plugin: what it makes of the tables of options, cancel, errors; with QGIS its algorithms run headless and
# give the program's own files, and layers are loaded with the styles beside their files.
# test_qgis.py [STEREODEM]
# SPDX-License-Identifier: Apache-2.0
import filecmp
import json
import os
import shutil
import sys
import time

import harness as t

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(t.SOURCE, "qgis", "stereodem"))
from program import Program, ProgramError  # noqa: E402  (needs no QGIS)

LOAD = """
import sys
from qgis.core import QgsApplication, QgsProcessingContext, QgsProcessingFeedback, QgsProject, QgsRasterLayer
app = QgsApplication([], False)
app.initQgis()
sys.path[:0] = ["/usr/share/qgis/python/plugins", "/usr/local/share/qgis/python/plugins"]
from processing.core.Processing import Processing
Processing.initialize()
from stereodem_processing.plugin import StereodemProvider
provider = StereodemProvider()
QgsApplication.processingRegistry().addProvider(provider)
algorithm = provider.algorithm("run")
context = QgsProcessingContext()
project = QgsProject()
context.setProject(project)
shares = []
feedback = QgsProcessingFeedback(False)
feedback.progressChanged.connect(shares.append)
out = sys.argv[2]
context.addLayerToLoadOnCompletion(out, QgsProcessingContext.LayerDetails("DEM", project, "OUTPUT"))
results, good = algorithm.run({"LEFT": sys.argv[1], "OUTPUT": out}, context, feedback)
print("run", good, shares == sorted(shares) and len(shares) > 3 and shares[-1] == 100)
for path, details in context.layersToLoadOnCompletion().items():
    layer = QgsRasterLayer(path, details.name)
    details.postProcessor().postProcessLayer(layer, context, feedback)
    print("layer", details.outputName, layer.renderer().type(), details.name)
class Stopped(QgsProcessingFeedback):
    def isCanceled(self):
        return True
print("cancelled", algorithm.run({"LEFT": sys.argv[1], "OUTPUT": sys.argv[3]}, context, Stopped(False)))
"""

work, at = t.work, t.at
scene = os.path.join(t.SOURCE, "sampledata", "AST_L1A_00401012001180005_sim.hdf")

# without QGIS
program = Program(t.PROGRAM)
tables = {c: program.describe(c) for c in ("run", "info", "compare", "stack", "match")}
known = {"switch", "integer", "number", "bytes", "text", "choice", "pairs"}
t.expect(all(o["help"] and o["type"] in known for c in tables.values() for o in c["options"]), "tables of options: %s" %
         {c: len(v["options"]) for c, v in tables.items()})
events, start = [], time.monotonic()
stopping = lambda: any(e.get("event") == "progress" for e in events)
try:
    program.run(["run", scene, "-o", at("stopped.tif"), "--threads", "1"], events.append, stopping)
    t.expect(False, "cancel")
except ProgramError as error:
    t.expect("stopped on request" in str(error) and not os.path.exists(at("stopped.tif")), "cancel: %s" % str(error)[:60])
for words, said in ((["run", at("nothing.hdf"), "-o", at("no.tif")], "nothing.hdf"), (["run"], "found 0 arguments")):
    try:
        program.run(words, events.append, lambda: False)
        t.expect(False, said)
    except ProgramError as error:
        t.expect(said in str(error), "the program's sentence: %s" % str(error)[-70:])
t.expect(Program("env SDM_WORDS=1 " + t.PROGRAM).describe("run") == tables["run"], "a program of several words")
try:
    Program(at("no one's program")).describe("run")
    t.expect(False, "no program")
except ProgramError as error:
    t.expect("was not found" in str(error), "no program: a sentence")

# with QGIS: its wrapper in Debian 12 gives the program behind it an option that it does not know
process = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
if not process:
    print("no qgis_process: the algorithms are not run")
    t.finish()
os.mkdir(at("plugins"))
os.symlink(os.path.join(t.SOURCE, "qgis", "stereodem"), at("plugins/stereodem_processing"))
os.environ.update(PATH=os.path.dirname(t.PROGRAM) + ":" + os.environ["PATH"], QGIS_PLUGINPATH=at("plugins"), HOME=work, XDG_CONFIG_HOME=at("c"),
                  XDG_DATA_HOME=at("d"), XDG_RUNTIME_DIR=work, QT_QPA_PLATFORM="offscreen", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=at("plugins"))
t.expect(t.call([process, "plugins", "enable", "stereodem_processing"]).returncode == 0, "the plugin is enabled")


def algorithm(name, **parameters):
    words = ["--%s=%s" % (k, v) for k, values in parameters.items() for v in (values if isinstance(values, list) else [values])]
    done = t.call([process, "--json", "run", "stereodem:" + name] + words, quiet=True)
    text = done.stdout[done.stdout.find("{"):]
    return json.loads(text).get("results", {}) if done.returncode == 0 and text else {"error": done.stderr + done.stdout}


for command, table in tables.items():
    text = t.call([process, "help", "stereodem:" + command]).stdout
    missing = [o["name"] for o in table["options"] if o["name"] not in ("output", "overwrite", "quiet", "verbose", "log", "json") and
               "\n%s: " % o["name"].upper() not in text]
    t.expect(not missing and table["description"][:40] in text, "%s: every option is a parameter %s" % (command, missing))
truth = os.path.join(t.SOURCE, "sampledata", "truth.tif")
t.expect("one of them" in str(algorithm("run", OUTPUT=at("no.tif")).get("error")) and
         "an image and a folder" in str(algorithm("info", LEFT=scene, LEFT_FOLDER=work).get("error")), "an image or a folder")
t.simulate(at("v1"), "--layout", "rpc", "--width", 250, "--height", 250)
t.simulate(at("v2"), "--layout", "rpc", "--width", 250, "--height", 250, "--base-height", 0.3, "--error-seed", 2)
shutil.unpack_archive(os.path.join(t.SOURCE, "sampledata", "AST_L1A_00301012001180005_sim.zip"), at("product"))
found = algorithm("info", LEFT_FOLDER=at("product"))
t.expect(json.loads(found.get("RESULT", "{}")).get("sensor") == "aster", "info: the folder of a product")
views = algorithm("run", LEFT=at("v1/left.tif"), RIGHT=at("v1/right.tif"), MORE=at("v2/right.tif"), OUTPUT=at("v.tif"))
t.expect(len(json.loads(views.get("RESULT", "{}")).get("pairs", [])) == 3, "run: a third view")
made = algorithm("run", LEFT=scene, REFERENCE=truth, COST="zncc", HMAX=2500.5, CO="COMPRESS=LZW", OUTPUT=at("q.tif"))
same = t.call([t.PROGRAM, "run", scene, "-o", at("p.tif"), "-q", "--reference", truth, "--cost", "zncc", "--hmax", "2500.5", "--co", "COMPRESS=LZW"])
t.expect(same.returncode == 0 and filecmp.cmp(at("q.tif"), at("p.tif"), False), "run: the program's DEM, byte for byte")
t.expect(made.get("QA") == at("q_qa.tif") and made.get("CHANGE") == at("q_change.tif") and made.get("REPORT") == at("q.html") and
         "stage_seconds" in json.loads(made.get("RESULT", "{}")), "run: its outputs")
part = {"LEFT": scene, "BOUNDS": "4.7,4.75,44.58,44.62 [EPSG:4326]", "OUTPUT": at("part.tif")}
t.expect(algorithm("run", **part).get("OUTPUT") == at("part.tif") and t.parsed(at("part.json"))["grid"]["cols"] < 200, "run: a part")
t.expect(json.loads(algorithm("info", LEFT=scene).get("RESULT", "{}")).get("sensor") == "aster", "info")
found = algorithm("compare", DEM=at("q.tif"), REFERENCE=truth, ALIGNED=at("aligned.tif"))
t.expect(0 < found.get("NMAD", 0) < 6 and os.path.exists(at("aligned.tif")), "compare: NMAD %.2f m" % found.get("NMAD", -1))
info = json.loads(t.call(["gdalinfo", "-json", truth]).stdout)
ring = info["wgs84Extent"]["coordinates"][0]
half = [[0.5 * (p[k] + ring[0][k]) for k in (0, 1)] for p in ring]
t.put_polygons(at("outlines.geojson"), ({"kind": "ice"}, "Polygon", [half]))
left = [json.loads(algorithm("compare", DEM=at("q.tif"), REFERENCE=truth, EXCLUDE=e, **more).get("RESULT", "{}"))
        for e, more in ((at("outlines.geojson"), {"WHERE": "kind = 'ice'"}), (truth, {}), (at("outlines.geojson"), {"WHERE": "kind = 'x'"}))]
t.expect(left[0].get("unstable", {}).get("n", 0) > 1000 and left[1:] == [{}, {}], "compare: polygons or a raster are left out")
found = algorithm("stack", DEMS=[at("q.tif"), at("aligned.tif")], OUTPUT=at("s.tif"))
t.expect(found.get("QA") == at("s_qa.tif") and os.path.exists(at("s.tif")), "stack")
tiff = at("left.tif")
t.call(["gdal_translate", "-q", "-srcwin", "0", "0", "200", "200", t.companion(at("q.tif"), "_ortho.tif"), tiff])
found = algorithm("match", LEFT=tiff, RIGHT=tiff, MAX_DISPARITY=8, MIN_DISPARITY=-8, OUTPUT=at("d.tif"))
t.expect(os.path.exists(at("d.tif")) and found.get("OUTPUT") == at("d.tif"), "match")
t.expect("is a single image" in str(algorithm("run", LEFT=truth, OUTPUT=at("no.tif")).get("error")), "an error is the program's sentence")
for python in (sys.executable, "/usr/bin/python3"):
    if t.subprocess.run([python, "-c", "import qgis.core"], stderr=t.subprocess.DEVNULL).returncode == 0:
        said = t.call([python, "-c", LOAD, scene, at("l.tif"), at("n.tif")], quiet=True).stdout
        t.expect("run True True" in said and "layer OUTPUT singlebandpseudocolor DEM" in said and "layer QA paletted l: reasons" in said,
                 "layers have their styles, progress never falls")
        t.expect("cancelled ({}, True)" in said and not os.path.exists(at("n.tif")), "a cancelled algorithm leaves no DEM")
        break
t.finish()
