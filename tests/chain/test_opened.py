#!/usr/bin/python3
# What other programs find in a DEM: place, datum, heights and layout, by the Python modules of GDAL and PROJ.
# test_opened.py [STEREODEM]     exits 77 without Python's GDAL or numpy
# SPDX-License-Identifier: Apache-2.0
import os
import zipfile

import harness as t
from with_gdal import gdal, heights, image, np, osr, srs_of

try:
    from osgeo_utils.samples.validate_cloud_optimized_geotiff import validate
except ImportError as missing:
    t.skip("no %s for Python" % missing.name)
osr.UseExceptions()

SCENE = "AST_L1A_00301012001180005_sim"
ZIP = os.path.join(t.SOURCE, "sampledata", SCENE + ".zip")
TRUTH = os.path.join(t.SOURCE, "sampledata", "truth.tif")
WIDTH, HEIGHT = 820, 840  # of the left image
SPACING_M = 15.0          # half of the usual one: wide enough for overviews
HORIZONTAL = "32631"      # WGS 84 / UTM zone 31N
NODATA = -9999.0
GEOCENTRIC = 1 - 0.00669437999014  # 1 - e^2 of WGS 84


# ---- the scene, read without the program ----

def table(archive, name):
    """A text table of the V003 scene: one row of numbers per line."""
    text = archive.read("%s.VNIR_Band3N.%s.txt" % (SCENE, name)).decode()
    return np.array([line.split() for line in text.splitlines() if line.strip()], dtype=float)


def scene_corners_deg():
    """(longitude, geodetic latitude) on the ellipsoid of the corner pixels of 3N, around the image: 4 x 2."""
    with zipfile.ZipFile(ZIP) as archive:
        lat, lon = table(archive, "Latitude"), table(archive, "Longitude")
        nodes = table(archive, "LatticePoint").reshape(lat.shape + (2,))
    lat = np.degrees(np.arctan(np.tan(np.radians(lat)) / GEOCENTRIC))
    cols, rows = nodes[0, :, 0], nodes[:, 0, 1]
    at = ((0, 0), (WIDTH - 1, 0), (WIDTH - 1, HEIGHT - 1), (0, HEIGHT - 1))
    return np.array([[np.interp(row, rows, [np.interp(col, cols, line) for line in values])
                      for values in (lon, lat)] for col, row in at])


# ---- the DEM, as a reader sees it ----

def horizontal(dataset):
    """The CRS of a raster without its vertical part, longitude first."""
    srs = dataset.GetSpatialRef().Clone()
    srs.StripVertical()
    srs.DemoteTo2D()
    srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return srs


def convert(source, target, points):
    """n x 2 or n x 3 points from one CRS to another."""
    return np.array(osr.CoordinateTransformation(source, target).TransformPoints(np.asarray(points).tolist()))


def valid_deg(path):
    """(longitude, latitude) of the centres of all cells with a height: n x 2."""
    dataset = gdal.Open(path)
    geo = dataset.GetGeoTransform()
    rows, cols = np.nonzero(np.isfinite(heights(path)))
    cells = np.stack([geo[0] + (cols + 0.5) * geo[1], geo[3] + (rows + 0.5) * geo[5]], axis=1)
    srs = horizontal(dataset)
    return cells if srs.IsGeographic() else convert(srs, srs_of(4326), cells)[:, :2]


# ---- checks ----

def check_layout(path, overviews):
    """A valid COG, nodata set, pixel is area, overviews where the raster is wider than a block."""
    warnings, errors, _ = validate(path, full_check=True)
    t.expect(not errors and not warnings, "%s: a valid COG %s" % (os.path.basename(path), errors + warnings))
    dataset = gdal.Open(path)
    band = dataset.GetRasterBand(1)
    t.expect(dataset.GetMetadataItem("AREA_OR_POINT") == "Area", "%s: pixel is area" % os.path.basename(path))
    if overviews is not None:
        found = band.GetOverviewCount()
        t.expect(found == overviews, "%d overviews, expected %d" % (found, overviews))
    return dataset


def check_dem(path, code, vertical, datum, overviews):
    """EPSG codes, datum by name, unit and nodata of a DEM."""
    dataset = check_layout(path, overviews)
    srs, flat, band = dataset.GetSpatialRef(), horizontal(dataset), dataset.GetRasterBand(1)
    found = flat.GetAuthorityCode(None)
    t.expect(found == code, "horizontal EPSG:%s, expected %s" % (found, code))
    found = (srs.GetAttrValue("VERT_CS"), srs.GetAuthorityCode("VERT_CS"), srs.GetAttrValue("VERT_CS|UNIT"))
    t.expect(found == vertical, "vertical %s, expected %s" % (found, vertical))
    t.expect(dataset.GetMetadataItem("VERTICAL_DATUM") == datum, "the file names %s" % datum)
    t.expect(band.GetNoDataValue() == NODATA and band.GetUnitType() == "m", "nodata -9999, metres")
    for ending in ("_qa.tif", "_ortho.tif"):
        other = check_layout(t.companion(path, ending), None)
        same = other.GetGeoTransform() == dataset.GetGeoTransform() and horizontal(other).IsSame(flat) and \
            (other.RasterXSize, other.RasterYSize) == (dataset.RasterXSize, dataset.RasterYSize)
        t.expect(same, "%s lies on the grid of the DEM" % ending)


def check_place(path, corners):
    """Cells with a height fill the quadrangle of the scene's corners and nothing else.

    The scene looks 5 degrees aside: terrain at 430..900 m stands up to 80 m beside its place on the ellipsoid;
    up to 3 % of the left image is not seen by 3B."""
    metres = np.array([np.cos(np.radians(corners[:, 1].mean())), 1.0]) * 111300.0
    cells, quad = valid_deg(path) * metres, corners * metres
    outside = -np.inf
    for a, b in zip(quad, np.roll(quad, -1, axis=0)):
        normal = np.array([a[1] - b[1], b[0] - a[0]]) / np.hypot(*(b - a))
        normal *= -np.sign((quad.mean(axis=0) - a) @ normal)  # away from the inside
        outside = max(outside, ((cells - a) @ normal).max())
    t.expect(outside < 100.0, "cells reach %.0f m beyond the corners of the scene, at most 100" % outside)
    gaps = [np.hypot(*(cells - corner).T).min() for corner in quad]
    said = " ".join("%.0f" % gap for gap in gaps)
    t.expect(max(gaps) < 500.0, "nearest cell to each corner of the scene: %s m, at most 500" % said)


def check_heights(path):
    """Against the truth: the heights fit best where the file says that they are, and their datum is right."""
    dataset = gdal.Open(path)
    west, dx, _, north, _, dy = dataset.GetGeoTransform()
    bounds = (west, north + dy * dataset.RasterYSize, west + dx * dataset.RasterXSize, north)
    truth = gdal.Warp("", TRUTH, format="MEM", outputBounds=bounds, xRes=dx, yRes=dx, resampleAlg="bilinear",
                      dstNodata=NODATA).ReadAsArray().astype(float)
    truth[truth == NODATA] = np.nan
    dem, spread = heights(path), {}
    for sx in (-2, -1, 0, 1, 2):
        for sy in (-2, -1, 0, 1, 2):
            error = dem[2:-2, 2:-2] - np.roll(truth, (sy, sx), (0, 1))[2:-2, 2:-2]
            spread[sx, sy] = np.nanmedian(np.abs(error - np.nanmedian(error)))
    best = min(spread, key=spread.get)
    t.expect(best == (0, 0), "heights fit the truth best at a shift of %s cells of 15 m" % (best,))
    bias = np.nanmedian(dem - truth)
    t.expect(abs(bias) < 20.0, "median of DEM - truth %.2f m, at most 20 (pointing along the track)" % bias)


def check_geoid(ellipsoidal, geoidal):
    """The two DEMs differ by the undulation that PROJ gives, to 0.05 m, over the whole of the scene."""
    dataset = gdal.Open(geoidal)
    geo, above = dataset.GetGeoTransform(), heights(geoidal)
    difference = heights(ellipsoidal) - above
    rows, cols = np.nonzero(np.isfinite(difference))
    rows, cols = rows[::997], cols[::997]
    x, y = geo[0] + (cols + 0.5) * geo[1], geo[3] + (rows + 0.5) * geo[5]
    places = np.stack([x, y, above[rows, cols]], axis=1)
    compound, target = dataset.GetSpatialRef().Clone(), srs_of(4979)
    compound.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    undulation = convert(compound, target, places)[:, 2] - places[:, 2]
    t.expect(40.0 < undulation.mean() < 60.0, "PROJ reads the compound CRS: N %.2f m" % undulation.mean())
    worst = np.abs(difference[rows, cols] - undulation).max()
    t.expect(worst < 0.05, "%d cells: EGM96 heights off by at most %.4f m, 0.05 allowed" % (len(rows), worst))


work = t.work
usual, geoid, degrees = (os.path.join(work, name) for name in ("usual.tif", "geoid.tif", "degrees.tif"))
corners = scene_corners_deg()
none = (None, None, None)
if t.expect(t.run([ZIP], usual, "--tr", SPACING_M), "the sample runs"):
    check_dem(usual, HORIZONTAL, none, "WGS 84 ellipsoid", 1)
    check_place(usual, corners)
    check_heights(usual)
if t.expect(t.run([ZIP], geoid, "--tr", SPACING_M, "--vertical", "egm96"), "it runs with --vertical egm96"):
    check_dem(geoid, HORIZONTAL, ("EGM96 height", "5773", "metre"), "EGM96", 1)
    check_geoid(usual, geoid)
if t.expect(t.run([ZIP], degrees, "--t_srs", "EPSG:4326"), "it runs with --t_srs EPSG:4326"):
    check_dem(degrees, "4326", none, "WGS 84 ellipsoid", None)
    srs = gdal.Open(degrees).GetSpatialRef()
    t.expect(srs.GetAuthorityCode(None) == "4979" and srs.GetAxesCount() == 3, "in degrees the CRS tells ellipsoidal heights")
    t.expect(gdal.Open(t.companion(degrees, "_qa.tif")).GetSpatialRef().GetAuthorityCode(None) == "4326", "the QA raster has none")
    alone = os.path.join(os.path.dirname(degrees), "alone.tif")
    gdal.Translate(alone, degrees)
    t.expect(not os.path.exists(alone + ".aux.xml") and gdal.Open(alone).GetSpatialRef().IsSame(srs),
             "a copy by GDAL keeps it, in the file itself")
    check_place(degrees, corners)

# ---- colours: their mean is matched ----
grey = t.simulate(os.path.join(work, "grey"), "--layout", "rpc", "--gsd", 2, "--width", 256, "--height", 256, "--relief", 60)
colour = []
for side in ("left", "right"):
    samples = gdal.Open(os.path.join(grey, side + ".tif")).ReadAsArray()
    parts = [samples * 4, samples * 8, samples * 12, samples.T * 8 if samples.shape[0] == samples.shape[1] else 0 * samples]  # the last is no colour
    colour.append(image(os.path.join(work, side + "_rgb.tif"), np.array(parts, "u2"), os.path.join(grey, side + ".tif"),
                        options=["PHOTOMETRIC=RGB", "ALPHA=NO"]))
mean, second = os.path.join(work, "mean.tif"), os.path.join(work, "second.tif")
if t.expect(t.run(colour, mean) and t.run(colour, second, "--band", 2), "a pair in colours runs, and its band 2"):
    t.expect((gdal.Open(mean).ReadAsArray() == gdal.Open(second).ReadAsArray()).all(), "the mean of red, green and blue is what is matched")
t.finish()
