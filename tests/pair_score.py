#!/usr/bin/python3
"""Disparities of a rectified pair against Middlebury's truth: bad pixels (off by more than 1 px, or none), per cent.

pair_score.py DISPARITY FOLDER    FOLDER holds disp2.png and disp6.png (4 d, 0 unknown), or disp_left.png (16 d)

Counted are the left pixels whose truth is known and, where there is truth for both views, that the right view sees too:
its truth at x - d says the same d within 1 px.  Without truth of the right view all known ones count.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import sys

import numpy as np


def read_raster(path):
    from osgeo import gdal
    gdal.UseExceptions()
    return gdal.Open(path).ReadAsArray()


def read_pfm(path):
    """The format as its definition has it: text header, then rows from the bottom up; a scale below 0: little endian."""
    with open(path, "rb") as file:
        assert file.readline().strip() == b"Pf"
        width, height = map(int, file.readline().split())
        order = "<" if float(file.readline()) < 0 else ">"
        data = np.frombuffer(file.read(), order + "f4")
    assert data.size == width * height, f"{path}: {data.size} values, expected {width} x {height}"
    return data.reshape(height, width)[::-1]


def read_disparity(path):
    d = read_pfm(path) if path.endswith(".pfm") else read_raster(path)
    return np.where(np.isfinite(d), d, np.nan).astype(float)


def read_truth(folder):
    """(truth in px, NaN unknown; where it counts)"""
    if os.path.exists(os.path.join(folder, "disp_left.png")):
        truth = read_raster(os.path.join(folder, "disp_left.png")) / 16.0
        return np.where(truth > 0, truth, np.nan), truth > 0
    left, right = (read_raster(os.path.join(folder, f"disp{k}.png")) / 4.0 for k in (2, 6))
    y, x = np.mgrid[0:left.shape[0], 0:left.shape[1]]
    meets = np.rint(x - left).astype(int)
    inside = meets >= 0
    other = right[y, np.where(inside, meets, 0)]
    seen = (left > 0) & inside & (other > 0) & (np.abs(other - left) <= 1.0)
    return np.where(left > 0, left, np.nan), seen


def score(disparity, folder):
    """{"bad_pct": off by > 1 px or none, "wrong_pct": off by > 1 px, "none_pct", "counted": pixels}"""
    found = read_disparity(disparity)
    truth, counts = read_truth(folder)
    assert found.shape == truth.shape, f"{disparity}: {found.shape}, expected {truth.shape}"
    none = counts & np.isnan(found)
    wrong = counts & ~np.isnan(found) & (np.abs(found - truth) > 1.0)
    n = counts.sum()
    return {"bad_pct": 100.0 * (none | wrong).sum() / n, "wrong_pct": 100.0 * wrong.sum() / n,
            "none_pct": 100.0 * none.sum() / n, "counted": int(n)}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(" ".join(f"{k}={v:.2f}" if isinstance(v, float) else f"{k}={v}"
                   for k, v in score(sys.argv[1], sys.argv[2]).items()))
