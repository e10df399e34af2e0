#!/usr/bin/python3
# Cameras that are not the image's, or come from another file than one thinks: used rightly, or refused with the reason, and
# never unnamed.  All of a simulated pair; the right values are those of the plain pair.
# test_rpc_files.py [STEREODEM]     exits 77 without numpy or GDAL for Python
# SPDX-License-Identifier: Apache-2.0
import json
import math
import os
import zipfile
import shutil

import harness as t
from with_gdal import gdal, image, np, put
gdal.SetConfigOption("GDAL_PAM_ENABLED", "NO")
TERMS = ("LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF", "SAMP_DEN_COEFF")
PLACES = ("LINE", "SAMP", "LAT", "LONG", "HEIGHT")
RPC00A = (0, 1, 2, 3, 4, 5, 6, 10, 7, 8, 9, 11, 14, 17, 12, 15, 18, 13, 16, 19)
ODD_P = (2, 4, 6, 10, 14, 15, 16)  # terms with an odd power of the latitude
work, at = t.work, t.at


def write(path, data, rpc=None, nodata=None, geotransform=None, srs=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    image(path, np.asarray(data, "u2"), rpc, nodata)
    if geotransform:
        made = gdal.Open(path, gdal.GA_Update)
        made.SetGeoTransform(geotransform)
        made.SetProjection(srs)
    return path


def text(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    t.put_text(path, content)
    return path


def coefs(rpc, change):
    return dict(rpc, **{k: " ".join(change([float(v) for v in rpc[k].split()])) for k in TERMS})


def moved(rpc, col, row):
    return dict(rpc, SAMP_OFF=repr(float(rpc["SAMP_OFF"]) - col), LINE_OFF=repr(float(rpc["LINE_OFF"]) - row))


def pair(name, make):
    """Two views by make(k, samples, rpc, path)."""
    paths = [at(name, "v%d.tif" % k) for k in range(2)]
    return [make(k, *views[k], paths[k]) or paths[k] for k in range(2)]


def heights(name, inputs, *options):
    out = at(name + "_dem.tif")
    done = t.call([t.PROGRAM, "run"] + inputs + ["-o", out, "--overwrite", "--optimizer", "local", "--cost", "census", "--threads", "1"] +
                  list(options), quiet=True)
    return (gdal.Open(out).ReadAsArray() if done.returncode == 0 else None), done.stderr, out


def as_plain(name, inputs, *said):
    h, words, out = heights(name, inputs)
    same = h is not None and h.shape == plain.shape and ((h > -9000) == (plain > -9000)).all()
    t.expect(same and abs(h - plain).max() <= 0.01, "%s: the plain pair's heights%s" % (name, "" if same else ": " + words.strip().split("\n")[-1][-200:]))
    for s in said:
        t.expect(s in words, "%s: the log says %s" % (name, s))
    return out


def refused(name, inputs, *said):
    t.refused(1, said, "info", *inputs, "-q")


def told(name, inputs, *options):
    """Sources and doubts of both cameras by `info`."""
    done = t.call([t.PROGRAM, "info"] + inputs + ["--log", "json"] + list(options), quiet=True)
    lines = [json.loads(l) for l in (done.stdout + done.stderr).split("\n") if l.startswith("{") and "camera_source" in l]
    if not t.expect(done.returncode == 0 and len(lines) == 1, "%s: info describes it %s" % (name, done.stderr[-200:] if done.returncode else "")):
        return ["?", "?"], ["?", "?"]
    found = [lines[0].get(k) or lines[0]["result"][k] for k in ("left", "right")]
    return [f["camera_source"] for f in found], [f["camera_doubt"] for f in found]


t.simulate(at("s"), "--layout", "rpc", "--seed", "5", "--gsd", "2.5", "--width", "360", "--height", "360", "--relief", "150", "--base-height", "0.4")
source = [gdal.Open(at("s", f)) for f in ("left.tif", "right.tif")]
views = [(s.ReadAsArray(), s.GetMetadata("RPC")) for s in source]
inside = pair("inside", lambda k, a, r, p: write(p, a, r))
plain, words, out = heights("inside", inside)
if not t.expect(plain is not None, "the plain pair"):
    t.finish()
about = t.call([t.PROGRAM, "info"] + inside + ["--log", "json"], quiet=True)
about = [json.loads(l) for l in about.stdout.split("\n") if "corners_deg" in l][0]
off = np.mean(about["corners_deg"], 0) - (about["centre_lon_deg"], about["centre_lat_deg"])
t.expect(abs(off).max() < 1e-3 and len(about["corners_deg"]) == 4, "info: corners about the centre, %s" % off)
t.expect(told("inside", inside) == (["metadata in the file"] * 2, ["", ""]), "inside: named so, and no doubt")
report = t.parsed(t.companion(out, ".json"))
t.expect(report["scene"]["left_camera"] == "metadata in the file" and not report["trust"]["warnings"], "inside: the report names it, too")

# ---- Airbus: the file that DIM_*.XML names, its first pixel by its profile, whatever the domain of validity begins with


def dimap(k, a, rpc, path, profile="PNEO_SENSOR", first=-4900, ending="F_1_P", shift=0):
    folder = os.path.dirname(path) + "/%d" % k
    write(folder + "/IMG_A_R1C1.TIF", a)
    if ending:
        model = "".join("<%s_%d>%s</%s_%d>" % (n, i + 1, v, n, i + 1) for n in TERMS for i, v in enumerate(rpc[n].split()))
        text(folder + "/RPC_A_%s.XML" % ending, "<Dimap_Document><Metadata_Identification><METADATA_PROFILE>%s</METADATA_PROFILE>"
             "</Metadata_Identification><Rational_Function_Model><Global_RFM><RFM_Validity>%s<ImagetoGround_Validity_Domain><FIRST_COL>%d"
             "</FIRST_COL><FIRST_ROW>%d</FIRST_ROW></ImagetoGround_Validity_Domain></RFM_Validity><GroundtoImage_Values>%s"
             "</GroundtoImage_Values></Global_RFM></Rational_Function_Model></Dimap_Document>" % (profile, "".join(
                 "<%s_%s>%r</%s_%s>" % (n, w, float(rpc["%s_%s" % (n, w)]) + shift * (w == "OFF" and n in ("LINE", "SAMP")), n, w)
                 for n in PLACES for w in ("OFF", "SCALE")), first, first + 390, model))
    return text(folder + "/DIM_A.XML", "<Dimap_Document><Metadata_Identification><METADATA_FORMAT version='2.0'>DIMAP</METADATA_FORMAT>"
                "<METADATA_PROFILE>%s</METADATA_PROFILE></Metadata_Identification><Dataset_Content><Dataset_Components><Component>"
                "<COMPONENT_TITLE>RPC Model</COMPONENT_TITLE><COMPONENT_PATH href='RPC_A_F_1_P.XML'/></Component></Dataset_Components>"
                "</Dataset_Content><Raster_Data><Raster_Dimensions><NROWS>%d</NROWS><NCOLS>%d</NCOLS><NBANDS>1</NBANDS></Raster_Dimensions>"
                "<Raster_Encoding><DATA_TYPE>INTEGER</DATA_TYPE><NBITS>16</NBITS><SIGN>UNSIGNED</SIGN></Raster_Encoding><Data_Access>"
                "<DATA_FILE_ORGANISATION>BAND_COMPOSITE</DATA_FILE_ORGANISATION><DATA_FILE_FORMAT>image/tiff</DATA_FILE_FORMAT><DATA_FILE_TILES>"
                "false</DATA_FILE_TILES><Data_Files><Data_File tile_R='1' tile_C='1'><DATA_FILE_PATH href='IMG_A_R1C1.TIF'/></Data_File>"
                "</Data_Files></Data_Access></Raster_Data></Dimap_Document>" % (profile, a.shape[0], a.shape[1]))


as_plain("pneo", pair("pneo", lambda *v: dimap(*v, first=-4900 - 500 * v[0])), "camera from RPC_A_F_1_P.XML")
as_plain("phr", pair("phr", lambda *v: dimap(*v, profile="PHR_SENSOR", first=1, shift=1)))
refused("no RPC file", pair("norpc", lambda *v: dimap(*v, ending="")), "RPC_A_F_1_P.XML", "not there")

# ---- a file beside the image: another camera than inside, the same, one that cannot be read, one with another name

beside = lambda path, rpc, ending="_RPC.TXT": text(os.path.splitext(path)[0] + ending, t.rpc_text(rpc))
stale = pair("stale", lambda k, a, r, p: write(p, a[40:, 40:].copy(), moved(r, 40, 40)) and beside(p, r) and None)
refused("stale", stale, "v0_RPC.TXT", "metadata in the file", "two cameras")
sources, _ = told("stale, hidden", stale, "--config", "GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR")
t.expect(sources == ["metadata in the file"] * 2, "stale: the way out that the sentence names, %s" % sources)
refused("two files", pair("two", lambda k, a, r, p: write(p, a) and beside(p, r) and beside(p, moved(r, 30, 0), ".rpc") and None), "v0_RPC.TXT",
        "v0.rpc")
out = as_plain("sidecar", pair("sidecar", lambda k, a, r, p: write(p, a) and beside(p, r) and None), "camera from v1_RPC.TXT")
t.expect(t.parsed(t.companion(out, ".json"))["scene"]["right_camera"] == "v1_RPC.TXT", "sidecar: the report names it")
drop = lambda rpc, key: "".join(l + "\n" for l in t.rpc_text(rpc).split("\n") if not l.startswith(key))
refused("torn", pair("torn", lambda k, a, r, p: write(p, a) and text(p[:-4] + "_RPC.TXT", drop(r, "LINE_DEN_COEFF_20")) and None), "v0_RPC.TXT",
        "missing LINE_DEN_COEFF_20")
comma = lambda r: t.rpc_text(dict(r, HEIGHT_OFF="12,5"))
refused("a decimal comma", pair("comma", lambda k, a, r, p: write(p, a) and text(p[:-4] + "_RPC.TXT", comma(r)) and None), "HEIGHT_OFF '12,5'")
units = lambda r: "".join(l + ("pixels" if l.startswith("LINE_OFF") else "\u00b0" if l.startswith("LAT_OFF") else ";") + "\n"
                          for l in t.rpc_text(r).strip().split("\n"))
t.expect(told("units", pair("units", lambda k, a, r, p: write(p, a) and text(p[:-4] + "_RPC.TXT", units(r)) and None))[1] == ["", ""],
         "units right behind the numbers")
for name, number in (("a Fortran exponent", "1.5D-02"), ("a word", "abc")):
    bad = lambda r: t.rpc_text(dict(r, LINE_NUM_COEFF=" ".join([number] + r["LINE_NUM_COEFF"].split()[1:])))
    refused(name, pair(number, lambda k, a, r, p: write(p, a) and text(p[:-4] + "_RPC.TXT", bad(r)) and None), "LINE_NUM_COEFF '%s'" % number)
lacks = lambda r: "".join('<MDI key="%s">%s</MDI>' % i for i in r.items() if i[0] != "HEIGHT_OFF")
refused("no height", pair("lacks", lambda k, a, r, p: write(p, a) and text(p + ".aux.xml", '<PAMDataset><Metadata domain="RPC">' + lacks(r) +
                                                                           "</Metadata></PAMDataset>") and None), "HEIGHT_OFF ''")
refused("named otherwise", pair("otherwise", lambda k, a, r, p: write(p, a) and beside(p, r, ".txt") and None), "v0.txt", "rename")
refused("nothing", pair("nothing", lambda k, a, r, p: write(p, a)), "no RPC camera with it", "--base-height")

with zipfile.ZipFile(at("images.zip"), "w") as archive:
    for k in range(2):
        archive.write(inside[k], "v%d.tif" % k)
refused("a zip of images", [at("images.zip")], "/vsizip/")
as_plain("images in a zip", ["/vsizip/%s/v%d.tif" % (at("images.zip"), k) for k in range(2)])

# ---- coefficients and signs

other = pair("rpc00a", lambda k, a, r, p: write(p, a, coefs(r, lambda c: [repr(c[i]) for i in RPC00A])))
as_plain("RPC00A", other)
t.expect(all("order of RPC00A" in s for s in told("RPC00A", other)[0]), "RPC00A: info says so")
down = lambda r: dict(coefs(r, lambda c: [repr(-v if i in ODD_P else v) for i, v in enumerate(c)]), LAT_SCALE="-" + r["LAT_SCALE"])
as_plain("latitude downwards", pair("down", lambda k, a, r, p: write(p, a, down(r))))
ODD = {"LONG": (1, 4, 5, 10, 11, 12, 13), "HEIGHT": (3, 5, 6, 10, 17, 18, 19)}  # terms with an odd power of them
turned = lambda r, key: dict(coefs(r, lambda c: [repr(-v if i in ODD[key] else v) for i, v in enumerate(c)]) if key in ODD else
                             dict(r, **{key + "_NUM_COEFF": " ".join(repr(-float(v)) for v in r[key + "_NUM_COEFF"].split())}),
                             **{key + "_SCALE": "-" + r[key + "_SCALE"]})
for key in ("LONG", "HEIGHT", "LINE", "SAMP"):
    as_plain("%s_SCALE below 0, and its terms turned" % key, pair("turned_" + key, lambda k, a, r, p: write(p, a, turned(r, key))))
for key in ("LONG_SCALE", "LAT_SCALE"):
    mirrored = pair("mirrored_" + key, lambda k, a, r, p: write(p, a, dict(r, **{key: "-" + r[key]})))
    t.expect("mirrors the image" in t.call([t.PROGRAM, "info", *mirrored], True).stdout, "%s of the wrong sign in both views is told" % key)
    done = t.call([t.PROGRAM, "run", *mirrored, "-o", at("mirrored.tif"), "--overwrite", "--strict"], True)
    t.expect(done.returncode == 1 and "mirrors the image" in done.stderr, "%s of the wrong sign in both views: a doubt" % key)
exchanged = lambda r: dict(r, LAT_OFF=r["LONG_OFF"], LONG_OFF=r["LAT_OFF"])
narrow = pair("exchanged", lambda k, a, r, p: write(p, a, exchanged(r)))
told_so = t.call([t.PROGRAM, "info", *narrow], True).stdout
t.expect(told_so.count("seen along its rays: unless its sensor has such, LAT_OFF") == 2, "latitude and longitude exchanged are told: " + told_so)

feet = lambda r: dict(r, **{k: repr(float(r[k].split()[0]) / 0.3048) for k in ("HEIGHT_OFF", "HEIGHT_SCALE")})
both = pair("feet", lambda k, a, r, p: write(p, a, feet(r)))
as_plain("heights in feet", both)
t.expect(all("in feet" in s for s in told("heights in feet", both)[0]), "heights in feet: info says so")
as_plain("heights of one view in feet", [inside[0], both[1]])
under = pair("under", lambda k, a, r, p: write(p, a, dict(r, HEIGHT_SCALE="-" + r["HEIGHT_SCALE"])))
for inputs in (under, [under[0], inside[1]], [inside[0], under[1]]):
    refused("heights of the wrong sign", inputs, "km below the ground", "HEIGHT_SCALE -")
jax = [os.path.join(t.SHARED, "data", "jax068", "JAX_068_%s.tif" % k) for k in ("001", "002", "018", "019")]
if all(map(os.path.exists, jax)):  # WorldView-3: rays along the track meet at 262 to 675 km, too
    high = [image(at("jax_%d.tif" % k), gdal.Open(name).ReadAsArray(), feet(gdal.Open(name).GetMetadata("RPC"))) for k, name in enumerate(jax)]
    for names, count in ((jax[:2], 0), (jax[2:], 0), (high[:2], 2), (high[2:], 2)):
        said = t.call([t.PROGRAM, "info", *names], True).stdout
        t.expect(said.count("(its heights in feet") == count, "WorldView-3, heights in feet of %d views of 2" % count)

# ---- images on a map: the RPC of the raw image, and one that is for the map's pixels


def on_map(rpc, size, turn=0.0, high=None):
    """The map of an image's pixels at its RPC's middle height, its pixels larger by `turn`."""
    high = high or size
    ds = gdal.GetDriverByName("MEM").Create("", size, high)
    ds.SetMetadata(rpc, "RPC")
    to = gdal.Transformer(ds, None, ["METHOD=RPC", "RPC_HEIGHT=%s" % rpc["HEIGHT_OFF"], "RPC_PIXEL_ERROR_THRESHOLD=1e-6"])
    o, x, y = [np.array(to.TransformPoint(0, *p)[1][:2]) for p in ((0.0, 0.0), (size, 0.0), (0.0, high))]
    x, y = (x - o) / size * (1 + turn), (y - o) / high
    return (o[0], x[0], y[0], o[1], x[1], y[1])


def in_degrees(k, a, rpc, path):
    """Every second row of an image, on its map, as where the pixels of a map in degrees are narrow."""
    rows = dict(rpc, **{k: repr(float(rpc[k].split()[0]) / 2) for k in ("LINE_OFF", "LINE_SCALE")})
    write(path, a[::2], rows, geotransform=on_map(rows, 360, high=180), srs=WGS84)


WGS84 = 'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'
ready = pair("ready", lambda k, a, r, p: write(p, a, r, geotransform=on_map(r, 360), srs=WGS84))
t.expect(told("Ortho Ready", ready)[1] == ["", ""], "Ortho Ready: map and RPC agree at one height")
degrees = pair("degrees", in_degrees)
t.expect(told("Ortho Ready in degrees", degrees)[1] == ["", ""], "Ortho Ready in degrees, whose pixels are no squares: no doubt")
ortho = pair("ortho", lambda k, a, r, p: write(p, a, r, geotransform=on_map(r, 360, 0.02), srs=WGS84))
refused("ortho with the raw RPC", ortho, "map coordinates", "px apart")

# ---- clips and tiles

kept = pair("kept", lambda k, a, r, p: write(p, a[80:, 80:].copy(), r))
refused("clips with the whole image's RPC", kept, "RPC", "of a whole image of 3", "gdal_translate -srcwin")
first = pair("first", lambda k, a, r, p: write(p, a[:280, :280].copy(), r))
for p in first:  # the way out that the sentence names
    rpc = gdal.Open(p).GetMetadata("RPC")
    size = [round(2 * float(rpc[k + "_SCALE"].split()[0])) for k in ("SAMP", "LINE")]
    gdal.Translate(p[:-4] + "_full.tif", p, srcWin=[0, 0] + size)
h, words, _ = heights("first", [p[:-4] + "_full.tif" for p in first])
t.expect(h is not None, "a clip of the first pixels, filled up " + words[-200:])
far = lambda r: dict(r, SAMP_OFF=repr(float(r["SAMP_OFF"]) + 20))  # nothing tells where the image begins
kept = pair("far", lambda k, a, r, p: write(p, a[80:, 80:].copy(), far(r)))
t.expect(all("unless that was moved" in d for d in told("clips", kept)[1]), "clips of an RPC that begins elsewhere: doubtful")
right = pair("right", lambda k, a, r, p: write(p, a[80:, 80:].copy(), moved(r, 80, 80)))
t.expect(told("clips, moved", right)[1] == ["", ""], "clips with their own RPC: no doubt")
finer = pair("finer", lambda k, a, r, p: write(p, np.kron(a, np.ones((2, 2), "uint16")), r))
t.expect(all("coarser pixels" in d for d in told("finer", finer)[1]), "the RPC of an image of coarser pixels: doubtful")
swapped = pair("offsets", lambda k, a, r, p: write(p, a, dict(r, LINE_OFF=r["SAMP_OFF"], SAMP_OFF=r["LINE_OFF"])))
t.expect("offsets are exchanged" in told("offsets exchanged", swapped)[1][1], "LINE_OFF for SAMP_OFF, the image is no square: doubtful")
padded = pair("padded", lambda k, a, r, p: write(p, np.pad(a, ((0, 0), (80, 0))), r))
t.expect(all("before a margin was added" in d for d in told("padded", padded)[1]), "the RPC of an image without its margin: doubtful")
h, words, out = heights("padded", padded)
t.expect(any("v0.tif" in w and "margin" in w for w in t.parsed(t.companion(out, ".json"))["trust"]["warnings"]), "padded: the report doubts it")
tile = lambda k, a, r, p, move: write(os.path.dirname(p) + "/%d_R1C2.TIF" % k, a[:, 180:].copy(), moved(r, 180 * move, 0))
refused("a tile", pair("tile", lambda *v: tile(*v, 0)), "one tile of a product", "row 1, column 2", ".TIL")
t.expect(told("a tile, moved", pair("tile1", lambda *v: tile(*v, 1)))[1] == ["", ""], "a tile with its own RPC: no doubt")
other = pair("elsewhere", lambda k, a, r, p: write(p, a[60 * k:60 * k + 280, 70 - 70 * k:350 - 70 * k].copy(), r))
h, words, _ = heights("elsewhere", other)
t.expect(h is None and "which moves the RPC" in words, "clips of other windows: the RPC is named")

# ---- one exposure under two cameras

def scaled(rpc, f):
    return dict(rpc, **{k + "_OFF": repr((float(rpc[k + "_OFF"]) + 0.5) * f - 0.5) for k in ("LINE", "SAMP")},
                **{k + "_SCALE": repr(float(rpc[k + "_SCALE"]) * f) for k in ("LINE", "SAMP")})


def zoomed(a, f):
    to = gdal.GetDriverByName("MEM").Create("", a.shape[1], a.shape[0], 1, gdal.GDT_UInt16)
    to.GetRasterBand(1).WriteArray(a)
    return gdal.Translate("", to, format="MEM", width=int(a.shape[1] * f), height=int(a.shape[0] * f), resampleAlg="cubic").ReadAsArray()


first, as_right = views[0][0].astype(float), views[1][1]
blurred = sum(np.roll(first, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) / 9
grey = lambda a: np.clip(np.rint(a), 1, 65535).astype("uint16")
copies = {"a clip": (views[0][0][4:, 7:].copy(), moved(as_right, 40, 130)), "the whole": (grey(first), as_right), "blurred": (grey(blurred), as_right),
          "a part of a pixel away": (grey((first[:-1, :-1] + first[1:, 1:]) / 2), as_right), "other greys": (grey(40 * first ** 0.6), as_right),
          "with noise": (grey(first + np.random.default_rng(1).normal(0, 0.1 * first.std(), first.shape)), as_right),
          "finer": (zoomed(grey(first), 1.5), scaled(as_right, 1.5))}
for name, (a, r) in copies.items():
    if name != "a clip":  # of the RPC's size
        a = np.pad(a, [(0, int(np.ceil(2 * float(r[k + "_SCALE"].split()[0]))) - n) for k, n in zip(("LINE", "SAMP"), a.shape)])
    h, words, _ = heights("once", [inside[0], write(at("once", name + ".tif"), a, r)])
    t.expect(h is None and ("one exposure" in words or (name != "a clip" and "too few matches" in words)), "one exposure, %s: %s" % (
        name, words.strip().split("\n")[-1][-160:]))

# Cameras exchanged between views of one size: the relief would be upside down.
same = pair("same", lambda k, a, r, p: write(p, a[(a.shape[0] - 360) // 2:, (a.shape[1] - 360) // 2:][:360, :360].copy(),
                                              moved(r, (a.shape[1] - 360) // 2, (a.shape[0] - 360) // 2)))
t.expect(heights("same", same)[0] is not None, "views of one size")
rpcs = [gdal.Open(p).GetMetadata("RPC") for p in same]
h, words, _ = heights("exchanged", pair("exchanged", lambda k, a, r, p: write(p, gdal.Open(same[k]).ReadAsArray(), rpcs[1 - k])))
t.expect(h is None and "camera of the other" in words, "cameras exchanged: " + words.strip()[-200:])
# Of relief of a few pixels of parallax, too: the rays miss each other by 0.3 px.
t.simulate(at("low"), "--layout", "rpc", "--seed", "5", "--gsd", "2.5", "--width", "500", "--height", "500", "--relief", "40", "--base-height", "0.2")
low = [gdal.Open(at("low", f)) for f in ("left.tif", "right.tif")]
size = min(min(s.RasterXSize, s.RasterYSize) for s in low)
corners = [((s.RasterXSize - size) // 2, (s.RasterYSize - size) // 2) for s in low]
rpcs = [moved(s.GetMetadata("RPC"), *c) for s, c in zip(low, corners)]
h, words, _ = heights("low_exchanged", [write(at("low%d.tif" % k), s.ReadAsArray(*c, size, size), rpcs[1 - k]) or at("low%d.tif" % k)
                                        for k, (s, c) in enumerate(zip(low, corners))])
t.expect(h is None and "camera of the other" in words, "cameras exchanged, of low relief: " + words.strip()[-200:])

# A plane that slopes has affine offsets, too, and is a pair.
y, x = np.mgrid[:120, :120]
put(at("plane.tif"), 300.0 + x + 0.3 * y, 500000, 4900000, 10, "EPSG:32632", None)
t.simulate(at("slope"), "--layout", "rpc", "--terrain", at("plane.tif"), "--gsd", "1", "--width", "500", "--height", "500", "--base-height", "0.3")
h, words, _ = heights("slope", [at("slope", f) for f in ("left.tif", "right.tif")])
t.expect(h is not None and (h > -9000).mean() > 0.6, "a slope without relief is no copy %s" % ("" if h is not None else words[-200:]))

# ---- pixels that are no data, and heights that are the RPC's

def collar(k, a, r, p):
    b = a.copy()
    b[:, :40] = 65535
    write(p, b, r, nodata=0 if k else None)


clean = pair("clean", lambda k, a, r, p: write(p, np.where(np.arange(a.shape[1]) < 40, 0, a).astype("uint16"), r))
white, words, _ = heights("white", pair("white", collar))
black, _, _ = heights("clean", clean)
t.expect(white is not None and white.shape == black.shape and (abs(white - black) < 0.5).mean() > 0.99 and "65535" in words,
         "a collar of 65535 is no data")
for value in (1, 700):  # darker than the ground, and among its values
    framed, words, _ = heights("frame%d" % value, pair("frame%d" % value, lambda k, a, r, p, v=value: write(
        p, np.where(np.arange(a.shape[1]) < 40, v, a).astype("uint16"), r)))
    t.expect(framed is not None and framed.shape == black.shape and (abs(framed - black) < 0.5).mean() > 0.98 and "%d is taken for no data" % value in words,
             "a collar of %d is no data" % value)

def blobs(k, a, r, p):
    b = a.copy()
    for y, x in np.random.default_rng(k).integers(0, np.array(a.shape) - 5, (a.size // 2500, 2)):
        b[y:y + 5, x:x + 5] = 65535
    write(p, b, r)


spots, words, _ = heights("spots", pair("spots", blobs))
t.expect(spots is not None and (spots > -9000).mean() > 0.6 and abs(np.median(spots[spots > -9000]) - np.median(plain[plain > -9000])) < 5.0,
         "1 %% of the pixels at 65535 %s" % ("" if spots is not None else words[-300:]))
POWERS = ("", "l", "p", "h", "lp", "lh", "ph", "ll", "pp", "hh", "lph", "lll", "lpp", "lhh", "llp", "ppp", "phh", "llh", "pph", "hhh")


def for_heights(rpc, off, scale):
    """The same camera, said to be for other heights: h = a + b h', exactly."""
    a, b = (off - float(rpc["HEIGHT_OFF"])) / float(rpc["HEIGHT_SCALE"]), scale / float(rpc["HEIGHT_SCALE"])

    def change(c):
        out = [0.0] * 20
        for i, term in enumerate(POWERS):
            n = term.count("h")
            for m in range(n + 1):
                out[POWERS.index(term.replace("h", "") + "h" * m)] += math.comb(n, m) * a ** (n - m) * b ** m * c[i]
        return out

    new = {k: change([float(v) for v in rpc[k].split()]) for k in TERMS}
    for axis in ("LINE", "SAMP"):  # a denominator begins with 1
        one = new[axis + "_DEN_COEFF"][0]
        for k in (axis + "_NUM_COEFF", axis + "_DEN_COEFF"):
            new[k] = [v / one for v in new[k]]
    return dict(rpc, HEIGHT_OFF=repr(off), HEIGHT_SCALE=repr(scale), **{k: " ".join(map(repr, v)) for k, v in new.items()})


narrow = lambda k, a, r, p: write(p, a, for_heights(r, 1500.0, 100.0))
h, words, _ = heights("narrow", pair("narrow", narrow))
t.expect(h is None and "outside the heights of the RPCs (" in words and "--hmin" in words, "heights of the RPC: %s" % words.strip()[-260:])

# ---- small clips of RPCs for a wide range of heights: what both see is measured where the ground is

wide = [(a[60:, 60:].copy(), for_heights(moved(r, 60, 60), 3300.0, 9700.0)) for a, r in views]
small = pair("small", lambda k, a, r, p: write(p, *wide[k]))
third = write(at("small", "third.tif"), wide[0][0], moved(wide[0][1], 0, 0))  # the first view once more: one pair is left
told_by = json.loads(t.call([t.PROGRAM, "info"] + small + ["--log", "json"]).stdout)
h, words, _ = heights("small", small)
t.expect(h is not None and told_by["overlap"] > 0.9 and 0.8 < told_by["cols"] * told_by["rows"] / h.size < 1.25,
         "RPCs for -6400..13000 m: overlap %.3f, %d x %d cells %s" % (told_by["overlap"], told_by["cols"], told_by["rows"], words[-200:]))
h, words, out = heights("three", small + [third])
t.expect(h is not None, "RPCs for -6400..13000 m: three views %s" % words[-300:])
said = t.parsed(t.companion(out, ".json"))["trust"]["warnings"]
t.expect(any("v0.tif and third.tif have one camera" in w for w in said), "one view twice among three: a doubt, %s" % said)

# ---- names, bands, archives

named = [write(at(folder, "image.tif"), a, r) for folder, (a, r) in zip("NFB", views + [views[0]])]
h, words, out = heights("named", named)
names = [p["names"] for p in t.parsed(t.companion(out, ".json"))["pairs"]]
t.expect(h is not None and "N/image.tif and F/image.tif: matched" in words and "N/image.tif, F/image.tif" in names, "views of one name: %s" % names)
here = os.getcwd()
os.makedirs(at("sub", "deep"))
os.chdir(at("sub", "deep"))
done = t.call([t.PROGRAM, "run", named[0], "../../B/image.tif", "-o", "x.tif"], quiet=True)
os.makedirs("a/" * 20)
os.chdir("a/" * 20)
t.call([t.PROGRAM, "plan", inside[0], at("once", "the whole.tif"), "-o", "job"])
tile = t.call([t.PROGRAM, "tile", "job", "0"], quiet=True)
os.chdir(here)
t.expect(tile.returncode == 1 and inside[0] in tile.stderr and "../" not in tile.stderr, "names in a job: %s" % tile.stderr[-200:])
t.expect(": %s and ../../B/image.tif see" % named[0] in done.stderr, "absolute names stay, relative ones too: %s" % done.stderr[-200:])


a, r = views[1]
mixed = [inside[0], image(at("mixed.tif"), [a if band == 2 else a[::-1] for band in range(4)], r)]
h, words, _ = heights("mixed", mixed, "--band", "3")
t.expect(h is not None and (h == plain).all(), "a panchromatic and a 4-band image with --band 3 %s" % words[-200:])
h, words, _ = heights("no_band", inside, "--band", "3")
t.expect(h is None and "have 1 band" in words, "--band of two images of one band is refused")
colours = gdal.ColorTable()
for i in range(256):
    colours.SetColorEntry(i, (7 * i % 256, i, 255 - i, 255))
palette = gdal.GetDriverByName("GTiff").Create(at("palette.tif"), *views[0][0].shape[::-1], 1)
palette.GetRasterBand(1).SetColorTable(colours)
palette.SetMetadata(views[0][1], "RPC")
palette = None
h, words, _ = heights("palette", [at("palette.tif"), inside[1]])
t.expect(h is None and "palette's colours" in words and "-expand rgb" in words, "a palette: %s" % words[-250:])
archive = shutil.make_archive(at("image"), "zip", at("N"), "image.tif")
h, words, _ = heights("zip", [archive, inside[1]])
t.expect(h is None and "/vsizip/%s/image.tif" % archive in words, "a zip of an image: %s" % words[-250:])
h, words, _ = heights("vsizip", ["/vsizip/%s/image.tif" % archive, inside[1]])
t.expect(h is not None and (h == plain).all(), "an image in a zip by GDAL's name %s" % words[-200:])

# ---- views of unlike resolution: the finer one is binned

few = [n // 3 for n in views[1][0].shape]
shrunk = views[1][0][:few[0] * 3, :few[1] * 3].reshape(few[0], 3, few[1], 3).mean((1, 3))
coarse = write(at("coarse", "v1.tif"), shrunk.astype("uint16"), scaled(views[1][1], 1 / 3))
for name, pair in (("right", [inside[0], coarse]), ("left", [coarse, inside[0]])):
    done = t.call([t.PROGRAM, "info"] + pair)
    t.expect(done.stdout.count("each pixel is the mean of 2 x 2") == 1, "a coarser %s view: %s" % (name, done.stdout))

# ---- options that hardly fit

h, words, _ = heights("cells", inside, "--tr", "200")
t.expect(h is None and "--tr 200: the DEM has" in words and "clouds" not in words, "cells as large as the scene: %s" % words.strip().split("\n")[-1])
done = t.call([t.PROGRAM, "info"] + inside + ["--t_srs", "EPSG:2263"])
t.expect("US survey foot of 0.304801 m, the heights are in metres" in done.stderr, "a map in feet: %s" % done.stderr.strip())
t.finish()
