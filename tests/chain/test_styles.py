#!/usr/bin/python3
# What a GIS shows of a DEM at first sight: the layer styles beside the rasters, and the reasons of the QA raster with
# colours and words, each the same as in the report.  With QGIS's Python module the layers are rendered, too.
# test_styles.py [STEREODEM]     exits 77 when GDAL's Python module is missing
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import xml.etree.ElementTree

import harness as t
from with_gdal import gdal, np

RENDER = """
import sys
from qgis.core import QgsApplication, QgsMapRendererParallelJob, QgsMapSettings, QgsRasterLayer
from qgis.PyQt.QtCore import QSize
app = QgsApplication([], False)
app.initQgis()
layer = QgsRasterLayer(sys.argv[1], "layer")
settings = QgsMapSettings()
settings.setLayers([layer])
settings.setDestinationCrs(layer.crs())
settings.setExtent(layer.extent())
settings.setOutputSize(QSize(layer.width(), layer.height()))
job = QgsMapRendererParallelJob(settings)
job.start()
job.waitForFinished()
job.renderedImage().save(sys.argv[2])
del layer
app.exitQgis()
"""


def rgb(text):
    return tuple(int(text[i:i + 2], 16) for i in (1, 3, 5))


def legend(html):
    """Colours and words below the coverage map of the report."""
    part = html[html.index("<h2>Coverage</h2>"):]
    key = part[part.index("<div class='key'>"):part.index("</section>")]
    found = re.findall(r"background:rgb\((\d+),(\d+),(\d+)\)[^>]*></i>([^<]+)<", key)
    return {word: (int(r), int(g), int(b)) for r, g, b, word in found}


def reasons(dem, band):
    """The reasons as GDAL gives them: words, colours, cells; checks that they are those of the mask."""
    reason = gdal.Open(t.companion(dem, "_reason.vrt"))
    b = reason.GetRasterBand(1)
    words, table = b.GetCategoryNames(), b.GetColorTable()
    attributes = b.GetDefaultRAT()
    t.expect(b.DataType == gdal.GDT_Byte and b.GetColorInterpretation() == gdal.GCI_PaletteIndex, "reasons: bytes with a palette")
    rows = [tuple(attributes.GetValueAsInt(i, c) for c in (2, 3, 4)) for i in range(attributes.GetRowCount())]
    t.expect(words == [attributes.GetValueAsString(i, 1) for i in range(len(words))] and
             rows == [table.GetColorEntry(i)[:3] for i in range(len(words))], "attribute table: the same words and colours")
    qa = gdal.Open(t.companion(dem, "_qa.tif"))
    t.expect(qa.GetRasterBand(band + 1).GetDescription() == "reason" and qa.GetRasterBand(band).GetDescription() == "mask",
             "the band of reasons follows the mask, which keeps its number")
    cells, mask = b.ReadAsArray(), qa.GetRasterBand(band).ReadAsArray().astype(int)
    t.expect(b.Checksum() == qa.GetRasterBand(band + 1).Checksum(), "the raster of reasons is the band")
    t.expect(((cells == 1) == ((mask & 3) == 1)).all() and ((cells == 2) == ((mask & 3) == 3)).all(), "reasons 1 and 2: matched, filled")
    t.expect(((cells == 13) == (mask == 4)).all() and not (cells == 0).any(), "every cell has a reason")
    g = gdal.Open(dem)
    t.expect(reason.GetGeoTransform() == g.GetGeoTransform() and reason.GetSpatialRef().IsSame(g.GetSpatialRef()), "reasons: the DEM's grid")
    return words, [table.GetColorEntry(i)[:3] for i in range(len(words))], cells


def ramp(qml):
    """Values and colours of a style of heights."""
    items = list(xml.etree.ElementTree.parse(qml).iter("item"))
    return [(float(i.get("value")), rgb(i.get("color"))) for i in items]


def palette(qml):
    root = xml.etree.ElementTree.parse(qml)
    entries = list(root.iter("paletteEntry"))
    return int(next(root.iter("rasterrenderer")).get("band")), {int(e.get("value")): (e.get("label"), rgb(e.get("color"))) for e in entries}


def check_styles(dem, band):
    words, colours, cells = reasons(dem, band)
    said = legend(t.text_of(t.companion(dem, ".html")))
    at, entries = palette(t.companion(dem, "_qa.qml"))
    t.expect(at == band + 1 and len(entries) > 3 and all(e == (words[v], colours[v]) for v, e in entries.items()),
             "style of the QA raster: %d reasons of band %d" % (len(entries), at))
    t.expect(said == dict(entries.values()), "the report's legend has the same words and colours")
    stops = ramp(t.companion(dem, ".qml"))
    h = gdal.Open(dem).ReadAsArray()
    low, high = np.quantile(h[h > -9000], (0.01, 0.99))
    t.expect(len(stops) == 8 and abs(stops[0][0] - low) < 1 and abs(stops[-1][0] - high) < 1, "style of the DEM: %.0f to %.0f m" %
             (stops[0][0], stops[-1][0]))
    return words, colours, cells, stops


def render(path, out):
    env = dict(os.environ, QT_QPA_PLATFORM="offscreen", XDG_CONFIG_HOME=os.path.dirname(out), HOME=os.path.dirname(out))
    for python in (sys.executable, "/usr/bin/python3"):
        if t.subprocess.run([python, "-c", "import qgis.core"], env=env, stderr=t.subprocess.DEVNULL).returncode == 0:
            t.subprocess.run([python, "-c", RENDER, path, out], env=env, stderr=t.subprocess.DEVNULL)
            return gdal.Open(out).ReadAsArray()[:3].astype(int) if os.path.exists(out) else None
    return None


work, at = t.work, t.at
sample = os.path.join(t.SOURCE, "sampledata")
scene = os.path.join(sample, "AST_L1A_00401012001180005_sim.hdf")
dem = at("a & b.tif")
if not t.expect(t.run([scene], dem, "--reference", os.path.join(sample, "truth.tif")), "run with a reference"):
    t.finish()
words, colours, cells, stops = check_styles(dem, 5)
t.expect(max(min(s[1][:3]) for s in stops) < 230, "no height is as white as cells without one: %s" % (stops[-1],))
void = int(t.text_of(t.companion(dem, ".html")).split("--picture:#")[1][:6], 16).to_bytes(3, "big")
t.expect(max(void) < 220 and min(max(abs(a - b) for a, b in zip(void, s[1])) for s in stops) > 20, "voids of the page are no height's colour")
change = ramp(t.companion(dem, "_change.qml"))
t.expect(len(change) == 9 and change[0][0] == -20 and change[-1][0] == 20 and change[4] == (0.0, (246, 246, 242)), "style of the change")
readme = t.text_of(os.path.join(t.SOURCE, "docs", "output.md"))
t.expect(all("| %s |" % w in readme for w in words[1:3] + words[4:]), "docs/output.md has the same words")

gdal.Translate(at("copy.tif"), dem)
t.expect(t.call([t.PROGRAM, "stack", dem, at("copy.tif"), "-o", at("s.tif"), "--quiet"]).returncode == 0, "stack")
qa = gdal.Open(at("s_qa.tif"))
t.expect([qa.GetRasterBand(i + 1).GetDescription() for i in range(qa.RasterCount)][2:] == ["mask", "reason"] and
         palette(at("s_qa.qml"))[1][13][0] == "no DEM has a height" and not os.path.exists(at("s_change.qml")), "styles of a stack")
qa = None

again = t.call([t.PROGRAM, "run", scene, "-o", dem, "--quiet"], quiet=True)
os.remove(dem)
style = t.call([t.PROGRAM, "run", scene, "-o", dem, "--quiet"], quiet=True)
t.expect(again.returncode == style.returncode == 2 and "exists; give --overwrite" in style.stderr, "a style is not overwritten unasked")
t.expect(t.run([scene], dem) and not os.path.exists(t.companion(dem, "_change.qml")), "run without a reference leaves no style of change")
words, colours, cells, stops = check_styles(dem, 5)

picture = render(t.companion(dem, "_qa.tif"), at("qa.png"))
if picture is None:
    print("no QGIS for Python: layers are not rendered")
else:
    want = np.array(colours)[cells].transpose(2, 0, 1)
    t.expect((picture == want).all(0).mean() > 0.999, "QGIS shows the reasons in their colours")
    picture, h = render(dem, at("dem.png")), gdal.Open(dem).ReadAsArray()
    shown, inside = np.zeros(picture.shape), h > -9000
    for k in range(3):
        shown[k] = np.interp(h, [s[0] for s in stops], [s[1][k] for s in stops])
    t.expect((abs(picture - shown).max(0) < 3)[inside].mean() > 0.999, "QGIS shows the heights in the report's ramp")
t.finish()
