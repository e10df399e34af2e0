#!/usr/bin/python3
"""compare_figures.py THEIRS.json OURS.json NAME DEM: the move within 0.02 cells, figures within 2 % or 0.02 m of theirs; after
alignment NMAD and RMSE may be smaller, since cells as large as the DEM's are not resampled twice."""
import json
import sys

from osgeo import gdal

theirs, ours = (json.load(open(path)) for path in sys.argv[1:3])
name = sys.argv[3]
cell = gdal.Open(sys.argv[4]).GetGeoTransform()[1]
NAMES = {"bias": "median", "mean": "bias", "nmad": "nmad", "rmse": "rmse", "le90": "le90", "p99": "p99"}
bad = []


def hold(what, value, other, tolerance, smaller=False):
    if not (abs(value - other) <= tolerance or (smaller and other < value)):
        bad.append("%s: %.4f expected, %.4f found" % (what, value, other))


for axis, sign in enumerate((1, 1, -1)):
    hold("move %d" % axis, sign * theirs["shift_m"][axis], ours["apply_m"][axis], 0.02 * cell + 0.02)
if "cropped" not in name:  # theirs counts all of the reference, ours what lies within the DEM
    hold("coverage", theirs["coverage"], ours["coverage"], 0.01)
for when in ("raw", "aligned"):
    for key, own in NAMES.items():
        value, other = theirs[when][key], ours[when][own]
        hold("%s.%s" % (when, own), value, other, max(0.02 * abs(value), 0.02 * theirs[when]["rmse"], 0.05 * value if key == "p99" else 0.02),
             when == "aligned" and key in ("nmad", "rmse", "le90", "p99"))
print("%s: %s" % (name, "; ".join(bad) or "good"))
sys.exit(1 if bad else 0)
