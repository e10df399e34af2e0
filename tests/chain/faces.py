# The four faces of a pyramid in a DEM: cells of each quadrant triangle about the apex, a plane by RANSAC and Huber.
# faces.py DEM ...    prints how low the ridges beside the south face are, by distance (lab/notebook/matchers.md)
# SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
NAMES = {"east": (1, 0), "north": (0, 1), "west": (-1, 0), "south": (0, -1)}
HALF_M = 110.0   # of the Great Pyramid's base, 230 m, less its rim
EDGE_M = 5.0     # left out along the edges, where a window sees two faces, and about the apex
INLIER_M = 3.0   # of RANSAC, about half a pixel of parallax at B/H 0.07


def heights(dem):
    """Heights (m, NaN where none) and the map positions x, y (m) of the cells' centres, all rows x columns."""
    data = gdal.Open(dem)
    h, gt = data.ReadAsArray().astype(float), data.GetGeoTransform()
    h[h == data.GetRasterBand(1).GetNoDataValue()] = np.nan
    row, col = np.mgrid[0:h.shape[0], 0:h.shape[1]]
    return h, gt[0] + (col + 0.5) * gt[1], gt[3] + (row + 0.5) * gt[5]


def apex(h, x, y):
    """Where the highest cells lie: the median position of those in the top 5 m of 99.7 % of all."""
    top = np.isfinite(h) & (h > np.nanpercentile(h, 99.7) - 5)
    return np.median(x[top]), np.median(y[top])


def plane(x, y, h, seed=1, draws=500):
    """Coefficients (a, b, c) of h = a x + b y + c: the most inliers of `draws` triples, then Huber's weights over all
    cells within three times the inlier's width, so that what lies on the face, not beside it, is what is fitted."""
    a = np.column_stack([x, y, np.ones(len(x))])
    rng, best, count = np.random.default_rng(seed), None, -1
    for _ in range(draws):
        pick = rng.choice(len(h), 3, replace=False)
        if abs(np.linalg.det(a[pick])) < 1.0:
            continue
        p = np.linalg.solve(a[pick], h[pick])
        n = np.count_nonzero(np.abs(h - a @ p) < INLIER_M)
        if n > count:
            best, count = p, n
    for _ in range(30):
        left = np.abs(h - a @ best)
        w = np.where(left < 3 * INLIER_M, np.minimum(1.0, 0.5 * INLIER_M / np.maximum(left, 1e-9)), 0.0)
        best = np.linalg.lstsq(a * np.sqrt(w)[:, None], h * np.sqrt(w), rcond=None)[0]
    return best


def fit(dem):
    """By name of the face: slope_deg; nmad_m of all its cells about their median; cells; filled, their share of the
    triangle; inlier, the share of them within INLIER_M of the plane.  NaN where a face has fewer than 50 cells."""
    h, x, y = heights(dem)
    cx, cy = apex(h, x, y)
    x, y, found = x - cx, y - cy, {}
    for name, (dx, dy) in NAMES.items():
        along, beside = x * dx + y * dy, np.abs(x * dy - y * dx)
        triangle = (along > 2 * EDGE_M) & (along < HALF_M) & (beside < along - EDGE_M)
        on = triangle & np.isfinite(h)
        if np.count_nonzero(on) < 50:
            found[name] = {"slope_deg": float("nan"), "nmad_m": float("nan"), "cells": int(on.sum()),
                           "filled": float(on.sum() / triangle.sum()), "inlier": float("nan")}
            continue
        a, b, c = plane(x[on], y[on], h[on])
        left = h[on] - (a * x[on] + b * y[on] + c)
        found[name] = {"slope_deg": float(np.degrees(np.arctan(np.hypot(a, b)))),
                       "nmad_m": float(1.4826 * np.median(np.abs(left - np.median(left)))), "cells": int(on.sum()),
                       "filled": float(on.sum() / triangle.sum()),
                       "inlier": float(np.mean(np.abs(left) < INLIER_M))}
    return found


def words(found):
    return "; ".join("%s %.1f deg NMAD %.2f m (%d cells; %.0f %% of the face)" % (
        n, f["slope_deg"], f["nmad_m"], f["cells"], 100 * f["filled"]) for n, f in found.items())


def ridge(dem, side):
    """How far a DEM lies above the ridge where the south face meets the east or west one, 25 to 145 m from the apex: medians (m)
    of cells 0-1, 1-2, 2-3 and 3-4 m beside it, against the lower one of both planes and the level of the cells 8 to 16 m beside it."""
    h, x, y = heights(dem)
    cx, cy = apex(h, x, y)
    x, y, planes = x - cx, y - cy, []
    for dx, dy in (NAMES["south"], NAMES[side]):
        along, beside = x * dx + y * dy, np.abs(x * dy - y * dx)
        on = (along > 2 * EDGE_M) & (along < HALF_M) & (beside < along - EDGE_M) & np.isfinite(h)
        planes.append(plane(x[on], y[on], h[on]))
    both = [a * x + b * y + c for a, b, c in planes]
    a, b, _ = planes[0] - planes[1]
    beside, out = np.abs(both[0] - both[1]) / np.hypot(a, b), np.hypot(x, y)
    on = (out > 25) & (out < 145) & (x * NAMES[side][0] > 0) & (y < 0) & np.isfinite(h)
    level = lambda low, high: np.median((h - np.minimum(*both))[on & (beside >= low) & (beside < high)])
    return [level(k, k + 1) - level(8, 16) for k in range(4)]


if __name__ == "__main__":
    for dem in sys.argv[1:]:
        print(dem, *("%s %s m;" % (side, " ".join("%.2f" % v for v in ridge(dem, side))) for side in ("east", "west")))
