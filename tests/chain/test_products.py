#!/usr/bin/python3
# The products that people buy, as mock-ups of a real Pleiades pair: each gives the DEM of the plain pair; one tile alone, a
# folder without a description and a missing tile are one sentence each.
# test_products.py [STEREODEM]     exits 77 without the pair, numpy or GDAL for Python
# SPDX-License-Identifier: Apache-2.0
import os
import shutil

import harness as t
from with_gdal import gdal
PAIR = [os.path.join(t.SHARED, "data", "pleiades_reunion", "img_0%d.tif" % k) for k in (1, 2)]
if not all(os.path.exists(p) for p in PAIR):
    t.skip("no Pleiades pair here")
gdal.SetConfigOption("GDAL_PAM_ENABLED", "NO")
TERMS = ("LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF", "SAMP_DEN_COEFF")
PLACES = ("LINE", "SAMP", "LAT", "LONG", "HEIGHT")


def cut(source, path, window, form="GTiff"):
    """A part of an image without its camera."""
    data = source.ReadAsArray(*window)
    made = gdal.GetDriverByName("MEM").Create("", window[2], window[3], 1, gdal.GDT_UInt16)
    made.GetRasterBand(1).WriteArray(data)
    gdal.GetDriverByName(form).CreateCopy(path, made)


def tiles(source, size):
    w, h = source.RasterXSize, source.RasterYSize
    return [(r // size + 1, c // size + 1, (c, r, min(size, w - c), min(size, h - r))) for r in range(0, h, size) for c in range(0, w, size)]


def dimap(source, folder, name, size):
    """Airbus: DIM_*.XML and RPC_*.XML, whose first pixel is (1, 1), and tiles in a folder of the folder."""
    rpc, sub = source.GetMetadata("RPC"), os.path.join(folder, "IMG_%s_001" % name)
    os.makedirs(sub)
    files = ""
    for r, c, window in tiles(source, size):
        tile = "IMG_%s_001_R%dC%d.TIF" % (name, r, c)
        cut(source, os.path.join(sub, tile), window)
        files += "<Data_File tile_R='%d' tile_C='%d'><DATA_FILE_PATH href='%s'/></Data_File>\n" % (r, c, tile)
    model = "".join("<%s_%d>%s</%s_%d>" % (k, i + 1, v, k, i + 1) for k in TERMS for i, v in enumerate(rpc[k].split()))
    validity = "".join("<%s_SCALE>%s</%s_SCALE><%s_OFF>%r</%s_OFF>" % (k, rpc[k + "_SCALE"], k, k, float(rpc[k + "_OFF"]) +
                                                                    (k in ("LINE", "SAMP")), k) for k in PLACES)
    write(os.path.join(sub, "RPC_%s_001.XML" % name), "<Dimap_Document><Rational_Function_Model><Direct_Model>%s</Direct_Model>"
          "<Inverse_Model>%s</Inverse_Model><RFM_Validity>%s</RFM_Validity></Rational_Function_Model></Dimap_Document>" % (model, model, validity))
    write(os.path.join(sub, "DIM_%s_001.XML" % name), """<?xml version='1.0' encoding='UTF-8'?>
<Dimap_Document><Metadata_Identification><METADATA_FORMAT version='2.15'>DIMAP</METADATA_FORMAT></Metadata_Identification>
<Raster_Data><Data_Access><DATA_FILE_FORMAT>image/tiff</DATA_FILE_FORMAT><Data_Files>%s</Data_Files></Data_Access>
<Raster_Dimensions><NROWS>%d</NROWS><NCOLS>%d</NCOLS><NBANDS>1</NBANDS><Tile_Set><NTILES>%d</NTILES><Regular_Tiling>
<NTILES_SIZE nrows='%d' ncols='%d'/></Regular_Tiling></Tile_Set></Raster_Dimensions>
<Raster_Encoding><DATA_TYPE>INTEGER</DATA_TYPE><NBITS>16</NBITS><SIGN>UNSIGNED</SIGN></Raster_Encoding></Raster_Data>
</Dimap_Document>
""" % (files, source.RasterYSize, source.RasterXSize, len(tiles(source, size)), size, size))
    return folder


def rpb(rpc):
    """Maxar's description of a camera."""
    one = (("lineOffset", "LINE_OFF"), ("sampOffset", "SAMP_OFF"), ("latOffset", "LAT_OFF"), ("longOffset", "LONG_OFF"), ("heightOffset", "HEIGHT_OFF"),
           ("lineScale", "LINE_SCALE"), ("sampScale", "SAMP_SCALE"), ("latScale", "LAT_SCALE"), ("longScale", "LONG_SCALE"), ("heightScale", "HEIGHT_SCALE"))
    many = (("lineNumCoef", TERMS[0]), ("lineDenCoef", TERMS[1]), ("sampNumCoef", TERMS[2]), ("sampDenCoef", TERMS[3]))
    return ('satId = "WV02";\nbandId = "P";\nSpecId = "RPC00B";\nBEGIN_GROUP = IMAGE\n\terrBias = 0.0;\n\terrRand = 0.0;\n' +
            "".join("\t%s = %s;\n" % (a, rpc[b]) for a, b in one) +
            "".join("\t%s = (\n\t\t\t%s);\n" % (a, ",\n\t\t\t".join(rpc[b].split())) for a, b in many) + "END_GROUP = IMAGE\nEND;\n")


def worldview(source, folder, name, size):
    """Maxar: a .TIL of several tiles, .RPB and .IMD."""
    os.makedirs(folder)
    text = ""
    for n, (r, c, (x, y, w, h)) in enumerate(tiles(source, size)):
        tile = "%s_R%dC%d-P001.TIF" % (name, r, c)
        cut(source, os.path.join(folder, tile), (x, y, w, h))
        text += ('BEGIN_GROUP = TILE_%d\n\tfilename = "%s";\n\tULColOffset = %d;\n\tULRowOffset = %d;\n\tLRColOffset = %d;\n'
                 '\tLRRowOffset = %d;\nEND_GROUP = TILE_%d\n' % (n + 1, tile, x, y, x + w - 1, y + h - 1, n + 1))
    base = os.path.join(folder, name + "-P001")
    write(base + ".TIL", 'bandId = "P";\nnumTiles = %d;\n%sEND;\n' % (len(tiles(source, size)), text))
    write(base + ".RPB", rpb(source.GetMetadata("RPC")))
    write(base + ".IMD", 'version = "R";\nbandId = "P";\nnumRows = %d;\nnumColumns = %d;\nbitsPerPixel = 16;\nEND;\n' %
          (source.RasterYSize, source.RasterXSize))
    return folder


def nitf(source, path):
    """An .NTF with its camera inside (RPC00B), which rounds it."""
    made = gdal.GetDriverByName("MEM").CreateCopy("", source)
    for domain in made.GetMetadataDomainList():
        made.SetMetadata(source.GetMetadata("RPC") if domain == "RPC" else None, domain)
    gdal.GetDriverByName("NITF").CreateCopy(path, made)
    return path


def one_file(source, path, camera):
    """An image in one file with its camera beside it."""
    cut(source, path, (0, 0, source.RasterXSize, source.RasterYSize))
    write(*camera)
    return path


def rpc_txt(rpc):
    units = dict(LINE="pixels", SAMP="pixels", LAT="degrees", LONG="degrees", HEIGHT="meters")
    return "".join("%s_%s: %s %s\n" % (k, what, rpc["%s_%s" % (k, what)], units[k]) for what in ("OFF", "SCALE") for k in PLACES) + \
        "".join("%s_%d: %s\n" % (k, i + 1, v) for k in TERMS for i, v in enumerate(rpc[k].split()))


work, at, write = t.work, t.at, t.put_text
images = [gdal.Open(p) for p in PAIR]
cameras = [i.GetMetadata("RPC") for i in images]
products = {
    "Pleiades, 4 tiles": [dimap(i, at("phr%d" % k), "PHR1B_P_20130629063%d_SEN" % k, 600) for k, i in enumerate(images)],
    "SPOT, one tile, with a multispectral image": [dimap(i, at("spot%d" % k), "SPOT7_P_20130629063%d_SEN" % k, 2000) for k, i in enumerate(images)],
    "WorldView, 4 tiles": [worldview(i, at("wv%d" % k), "13JUN2906371%d-P1BS" % k, 600) for k, i in enumerate(images)],
    "GeoEye, .tif and _rpc.txt": [one_file(i, at("ge%d.tif" % k), (at("ge%d_rpc.txt" % k), rpc_txt(cameras[k]))) for k, i in enumerate(images)],
    "WorldView, .TIF and .RPB": [one_file(i, at("wvone%d.TIF" % k), (at("wvone%d.RPB" % k), rpb(cameras[k]))) for k, i in enumerate(images)],
    "Cartosat, BANDA.tif and BANDA_RPC.TXT": [one_file(i, at("band%d.tif" % k), (at("band%d_RPC.TXT" % k), rpc_txt(cameras[k])))
                                              for k, i in enumerate(images)],
}
for k in range(2):
    dimap(images[k], at("spot%d/MS" % k), "SPOT7_MS_20130629063%d_SEN" % k, 2000)
tile = os.path.join(at("phr0"), "IMG_PHR1B_P_201306290630_SEN_001", "IMG_PHR1B_P_201306290630_SEN_001_R1C1.TIF")
products["Pleiades, a tile named"] = [tile, products["Pleiades, 4 tiles"][1]]
if not t.expect(t.run(PAIR, at("plain.tif"), "--cost", "census", "--threads", 1), "the plain pair"):
    t.finish()
plain = gdal.Open(at("plain.tif")).ReadAsArray()
for name, inputs in products.items():
    out = at("product.tif")
    if t.expect(t.run(inputs, out, "--cost", "census", "--threads", 1), "%s: runs" % name):
        h = gdal.Open(out).ReadAsArray()
        same = h.shape == plain.shape and ((h > -9000) == (plain > -9000)).all()
        t.expect(same and abs(h - plain).max() <= 0.01, "%s: largest difference %.4f m" % (name, abs(h - plain).max() if same else -1))
ntf = [nitf(i, at("wv%d.NTF" % k)) for k, i in enumerate(images)]
rounded = [gdal.Open(p).GetMetadata("RPC") for p in ntf]
like = [one_file(i, at("like%d.tif" % k), (at("like%d_RPC.TXT" % k), rpc_txt(rounded[k]))) for k, i in enumerate(images)]
if t.expect(all(t.run(i, at(o), "--cost", "census", "--threads", 1) for i, o in ((ntf, "n.tif"), (like, "l.tif"))), "WorldView, .NTF: runs"):
    n, l = (gdal.Open(at(o)).ReadAsArray() for o in ("n.tif", "l.tif"))
    t.expect(n.shape == l.shape and abs(n - l).max() <= 0.01, "WorldView, .NTF: as the plain pair with the camera that it rounds")
done = t.call([t.PROGRAM, "info"] + products["Pleiades, a tile named"])
t.expect("the whole product is used" in done.stderr, "a tile is told")

os.mkdir(at("alone"))
alone = shutil.copy(tile, at("alone"))
os.mkdir(at("empty"))
shutil.copy(PAIR[0], at("empty/image.tif"))
open(at("empty/METADATA.DIM"), "w").write("<Dimap_Document/>")  # SPOT 5 HRS: no RPC
shutil.copytree(at("phr0"), at("torn"))
os.remove(os.path.join(at("torn"), os.path.relpath(tile, at("phr0")).replace("R1C1", "R2C1")))
shutil.copytree(at("phr0"), at("both/a"))
shutil.copytree(at("phr1"), at("both/b"))
for left, code, said in ((alone, 1, "its name is that of a tile"), (at("empty"), 2, "without DIM_*.XML (Pleiades, SPOT 6/7)"), (at("torn"), 1, "R2C1.TIF is missing"),
                         (at("both"), 1, "holds 2 products")):
    t.refused(code, said, "run", left, at("phr1"), "-o", at("no.tif"), "-q")
done = t.call([t.PROGRAM, "plan", at("phr0"), at("phr1"), "-o", at("job"), "--cost", "census", "--optimizer", "local"])
for words in (["tile", at("job"), "0"], ["merge", at("job"), "-o", at("dems")]):
    done = t.call([t.PROGRAM] + words)
made = [f for f in os.listdir(at("dems")) if f.endswith("SEN_001.tif")] if os.path.isdir(at("dems")) else []
t.expect(len(made) == 1 and (gdal.Open(os.path.join(at("dems"), made[0])).ReadAsArray() == plain).all(), "plan, tile and merge: the same DEM")
t.finish()
