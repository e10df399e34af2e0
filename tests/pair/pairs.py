"""What the tests of `match` share: the program, a folder to work in, images to write and disparities to read, failures.

A test is called with the program's path and ends with finish().  Without numpy or GDAL's Python it is skipped (exit 77).
"""
# SPDX-License-Identifier: Apache-2.0
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "chain")]
import harness as t
from harness import PROGRAM, finish, skip  # noqa: F401
from with_gdal import gdal, np, save  # noqa: F401
import pair_score

MIDDLEBURY = os.path.join(t.SHARED, "data", "middlebury")
os.chdir(t.work)


def check(name, good, figure=""):
    """One law, printed with its figure."""
    t.expect(good, f"{name} {figure}")


def run(*words, code=0):
    """`stereodem match` with these words; code: the exit code expected, None for any."""
    done = t.call([PROGRAM, "match", *words], quiet=True)
    if code is not None and done.returncode != code:
        check(" ".join(map(str, words)), False, f"exit code {done.returncode}: {done.stderr}")
    return done


def match(left, right, *words, out="o.tif"):
    """The disparities of two files, px, NaN without a match."""
    run(left, right, "-o", out, "--overwrite", "-q", *words)
    return pair_score.read_disparity(out)


def as_bytes(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def content(path):
    with open(path, "rb") as file:
        return file.read()
