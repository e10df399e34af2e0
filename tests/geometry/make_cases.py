#!/usr/bin/python3
"""Works out the cases of this folder by formulas of its own, in another language than the program.

make_cases.py [NAME]   prints the case file NAME.txt; without a name, rewrites all whose scenes are at hand.
Needs numpy and GDAL's Python; not part of the tests, which read the texts alone.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import sys

import numpy as np
from osgeo import gdal

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
A, F = 6378137.0, 1 / 298.257223563  # WGS 84
E2 = F * (2 - F)
gdal.UseExceptions()


def ecef_to_geodetic(p):
    """Iterated latitude (Bowring's start is not needed: ten rounds are exact to the last digit)."""
    lon, r = np.arctan2(p[1], p[0]), np.hypot(p[0], p[1])
    lat = np.arctan2(p[2], r * (1 - E2))
    for _ in range(10):
        n = A / np.sqrt(1 - E2 * np.sin(lat) ** 2)
        h = r / np.cos(lat) - n
        lat = np.arctan2(p[2], r * (1 - E2 * n / (n + h)))
    return np.degrees(lon), np.degrees(lat), h


def meet_height(p, d, h):
    """Where the ray p + s d comes down to height h: secant on the geodetic height."""
    s0, s1 = 6.5e5, 7.5e5
    f0, f1 = (ecef_to_geodetic(p + s * d)[2] - h for s in (s0, s1))
    for _ in range(50):
        if abs(f1) < 1e-7:
            break
        s0, s1, f0 = s1, s1 - f1 * (s1 - s0) / (f1 - f0), f1
        f1 = ecef_to_geodetic(p + s1 * d)[2] - h
    return ecef_to_geodetic(p + s1 * d)


class Aster:
    """Positions smoothed by a parabola of the row, inertial velocities by a line, sight tangents by a polynomial."""

    def __init__(self, lattice, sight, position, velocity):
        self.col, self.row = lattice[0, :, 0], lattice[:, 0, 1]
        self.sight = sight.mean(axis=0)
        t = self.scale(self.row)
        self.p = [np.polynomial.Polynomial.fit(t, position[:, k], 2) for k in range(3)]
        line = [np.polynomial.Polynomial.fit(t, velocity[:, k], 1) for k in range(3)]
        self.v = lambda x: np.array([q(x) for q in line])

    def scale(self, row):
        return (row - self.row.mean()) / (self.row[-1] - self.row[0])

    def locate(self, col, row, h):
        x = self.scale(row)
        p, v = np.array([q(x) for q in self.p]), self.v(x)
        z = -p / np.linalg.norm(p)
        y = -np.cross(p, v)
        y /= np.linalg.norm(y)
        axes = np.array([np.cross(y, z), y, z])
        tangent = [np.polynomial.Polynomial.fit(self.col, self.sight[:, k] / self.sight[:, 2], 6)(col) for k in (0, 1)]
        d = np.array([tangent[0], tangent[1], 1.0]) @ axes
        return meet_height(p, d / np.linalg.norm(d), h)


def read_hdf(path, view, field):
    ds = gdal.Open(f'HDF4_EOS:EOS_SWATH:"{path}":VNIR_Band{view}:{field}')
    return ds.ReadAsArray().astype(float)


def aster_cases(scene):
    path = os.path.join(SOURCE, scene)
    for k, view in enumerate(("3N", "3B")):
        lattice, sight = (np.moveaxis(read_hdf(path, view, f), 0, 0) for f in ("LatticePoint", "SightVector"))
        if lattice.shape[-1] != 2:
            lattice, sight = np.moveaxis(lattice, 0, -1), np.moveaxis(sight, 0, -1)
        shape = (lattice.size // 22, 11)
        cam = Aster(lattice.reshape(*shape, 2), sight.reshape(*shape, 3), read_hdf(path, view, "SatellitePosition"),
                    read_hdf(path, view, "SatelliteVelocity"))
        yield f"view {'left' if k == 0 else 'right'}"
        w, h = cam.col[-1], cam.row[-1]
        for col, row in ((0, 0), (w / 2, h / 2), (w - 1, 0), (0, h - 1), (w - 1, h - 1), (123.25, 456.75)):
            for height in (-100.0, 0.0, 850.0, 4000.0):
                lon, lat, _ = cam.locate(col, row, height)
                yield f"locate {col:g} {row:g} {height:g} -> {lon:.8f} {lat:.8f}"
        yield f"project {lon + 180 if lon < 0 else lon - 180:.4f} {-lat:.4f} 0 -> nowhere"
        yield f"locate {10 * w:g} 0 0 -> nowhere"
        yield f"locate 0 {-10 * h:g} 0 -> nowhere"


def rainier_cases(base):
    """The product's own latitudes (geocentric) and longitudes of lattice points at height 0."""
    path = os.path.join(SOURCE, base)
    for k, view in enumerate(("3N", "3B")):
        lattice, lat, lon = (np.loadtxt(f"{path}.VNIR_Band{view}.{f}.txt") for f in ("LatticePoint", "Latitude", "Longitude"))
        lattice = lattice.reshape(-1, 11, 2)
        yield f"view {'left' if k == 0 else 'right'}"
        for j in range(1, len(lattice) - 1, 2):
            for i in (0, 4, 10):
                geodetic = np.degrees(np.arctan(np.tan(np.radians(lat[j, i])) / (1 - F) ** 2))
                yield f"locate {lattice[j, i, 0]:g} {lattice[j, i, 1]:g} 0 -> {lon[j, i]:.8f} {geodetic:.8f}"


# ---- RPC ----

def terms(lat, lon, h):
    """RPC00B: p = latitude, l = longitude."""
    p, l = lat, lon
    return np.array([1, l, p, h, l * p, l * h, p * h, l * l, p * p, h * h, p * l * h, l ** 3, l * p * p, l * h * h,
                     l * l * p, p ** 3, p * h * h, l * l * h, p * p * h, h ** 3])


def rpc_project(r, lon, lat, h):
    t = terms((lat - r["LAT_OFF"]) / r["LAT_SCALE"], (lon - r["LONG_OFF"]) / r["LONG_SCALE"],
              (h - r["HEIGHT_OFF"]) / r["HEIGHT_SCALE"])
    part = [t @ r[k + "_NUM_COEFF"] / (t @ r[k + "_DEN_COEFF"]) for k in ("SAMP", "LINE")]
    return part[0] * r["SAMP_SCALE"] + r["SAMP_OFF"], part[1] * r["LINE_SCALE"] + r["LINE_OFF"]


def rpc_locate(r, col, row, h):
    """Newton's method with differences."""
    lon, lat = r["LONG_OFF"], r["LAT_OFF"]
    for _ in range(30):
        c, w = rpc_project(r, lon, lat, h)
        cx, wx = rpc_project(r, lon + 1e-6, lat, h)
        cy, wy = rpc_project(r, lon, lat + 1e-6, h)
        step = np.linalg.solve(np.array([[cx - c, cy - c], [wx - w, wy - w]]) / 1e-6, [col - c, row - w])
        lon, lat = lon + step[0], lat + step[1]
    return lon, lat


def read_rpc(path):
    raw = gdal.Open(path).GetMetadata("RPC")
    return {k: np.array(v.split(), float) if "COEFF" in k else float(v.split()[0]) for k, v in raw.items()}


def rpc_values(r):
    for key in ("LINE_OFF", "SAMP_OFF", "LAT_OFF", "LONG_OFF", "HEIGHT_OFF", "LINE_SCALE", "SAMP_SCALE", "LAT_SCALE",
                "LONG_SCALE", "HEIGHT_SCALE"):
        yield f"set {key} {r[key]!r}"
    for key in ("LINE_NUM", "LINE_DEN", "SAMP_NUM", "SAMP_DEN"):
        c = r[key + "_COEFF"]
        for at in range(0, 20, 5):
            yield f"set {key} {at} " + " ".join(repr(float(v)) for v in c[at:at + 5])


def rpc_lines(r):
    for a, b, c in ((0, 0, 0), (-0.6, 0.7, 0.5), (0.8, -0.9, -0.8), (0.9, 0.9, 1), (-0.95, -0.4, -1), (0.1, 0.2, 0.33)):
        lon, lat = r["LONG_OFF"] + a * r["LONG_SCALE"], r["LAT_OFF"] + b * r["LAT_SCALE"]
        h = r["HEIGHT_OFF"] + c * r["HEIGHT_SCALE"]
        col, row = rpc_project(r, lon, lat, h)
        yield f"project {lon:.12f} {lat:.12f} {h:.6f} -> {col:.8f} {row:.8f}"
        col, row = r["SAMP_OFF"] + a * r["SAMP_SCALE"], r["LINE_OFF"] + b * r["LINE_SCALE"]
        lon, lat = rpc_locate(r, col, row, h)
        yield f"locate {col:.6f} {row:.6f} {h:.6f} -> {lon:.12f} {lat:.12f}"


def rpc_cases(paths):
    """Two images as the two views of a scene."""
    for view, path in zip(("left", "right"), paths):
        yield f"view {view}"
        yield from rpc_lines(read_rpc(os.path.join(SOURCE, path)))


def made_rpc():
    """A made-up camera with every coefficient in play."""
    draw = np.random.default_rng(7)
    r = {"LINE_OFF": 4000.5, "SAMP_OFF": 5100.25, "LAT_OFF": -17.5, "LONG_OFF": 179.9, "HEIGHT_OFF": 700.0,
         "LINE_SCALE": 4100.0, "SAMP_SCALE": 5200.0, "LAT_SCALE": 0.04, "LONG_SCALE": 0.05, "HEIGHT_SCALE": 900.0}
    for key, first in (("SAMP", 1), ("LINE", 2)):
        num, den = 2e-4 * draw.standard_normal(20), 2e-4 * draw.standard_normal(20)
        num[first] = 1.02 if key == "SAMP" else -1.01
        num[3], num[0], den[0] = (0.12 if key == "SAMP" else -0.3), 1e-3, 1.0
        r[key + "_NUM_COEFF"], r[key + "_DEN_COEFF"] = num.round(9), den.round(9)
    return r


# ---- UTM by Krueger's series, for the parallel camera ----

def kruger():
    n = F / (2 - F)
    radius = A / (1 + n) * (1 + n ** 2 / 4 + n ** 4 / 64)
    forward = (n / 2 - 2 * n ** 2 / 3 + 5 * n ** 3 / 16 + 41 * n ** 4 / 180, 13 * n ** 2 / 48 - 3 * n ** 3 / 5 +
               557 * n ** 4 / 1440, 61 * n ** 3 / 240 - 103 * n ** 4 / 140, 49561 * n ** 4 / 161280)
    return 0.9996 * radius, forward


def utm(lon, lat, middle, south):
    scale, alpha = kruger()
    e = np.sqrt(E2)
    phi, lam = np.radians(lat), np.radians(lon - middle)
    t = np.sinh(np.arctanh(np.sin(phi)) - e * np.arctanh(e * np.sin(phi)))
    xi, eta = np.arctan2(t, np.cos(lam)), np.arctanh(np.sin(lam) / np.hypot(1, t))
    x = eta + sum(a * np.cos(2 * j * xi) * np.sinh(2 * j * eta) for j, a in enumerate(alpha, 1))
    y = xi + sum(a * np.sin(2 * j * xi) * np.cosh(2 * j * eta) for j, a in enumerate(alpha, 1))
    return 500000 + scale * x, scale * y + (1e7 if south else 0)


def parallel_cases():
    for zone, south, lon, lat, shift in ((31, False, 3.6, 44.9, 0.0), (31, False, 3.6, 44.9, 0.6), (60, True, 179.4, -17.2, -0.35)):
        x, y = utm(lon, lat, 6 * zone - 183, south)
        gt = [round(x / 100) * 100, 2.5, 0.0, round(y / 100) * 100, 0.0, -2.5]
        yield ""
        yield f"scene parallel EPSG:{(32700 if south else 32600) + zone} {shift:g} " + " ".join(f"{v:g}" if abs(v) < 1e5 else f"{v:.1f}" for v in gt)
        for dlon, dlat, h in ((0, 0, 0), (0.01, -0.008, 120), (-0.02, 0.015, 2400), (0.03, 0.03, -50)):
            mx, my = utm(lon + dlon, lat + dlat, 6 * zone - 183, south)
            col, row = (mx - shift * h - gt[0]) / gt[1] - 0.5, (my - gt[3]) / gt[5] - 0.5  # centre of the first pixel
            yield f"project {lon + dlon:.10f} {lat + dlat:.10f} {h:g} -> {col:.6f} {row:.6f}"
            yield f"locate {col:.8f} {row:.8f} {h:g} -> {lon + dlon:.10f} {lat + dlat:.10f}"


SHARED = "../shared/data/"


def case_file(name):
    head = ["# " + WHAT[name][0], "# Worked out by make_cases.py; format: see test_geometry.c."]
    return "\n".join(head + list(WHAT[name][1]())) + "\n"


def scene(kind, path, tolerance, lines):
    yield from (f"scene {kind} {path}", f"tolerance {tolerance}")
    yield from lines


WHAT = {
    "aster_sample": ("ASTER: positions, velocities and sight vectors of the sample, smoothed by polynomials.",
                     lambda: scene("file", SAMPLE, "2.5 m 0.2 px", aster_cases(SAMPLE))),
    "aster_rainier": ("ASTER without velocities: latitudes and longitudes that the archive gives, at height 0.",
                      lambda: scene("tables", RAINIER, "6 m 0.4 px", rainier_cases(RAINIER))),
    "rpc_made": ("RPC00B: a made-up camera at the antimeridian with every coefficient in play.",
                 lambda: [*scene("rpc", "made", "0.00001 m 0.00001 px", []), *rpc_values(made_rpc()), *rpc_lines(made_rpc())]),
    "rpc_giza": ("RPC00B: the cameras of two real images.",
                 lambda: scene("file", f"{SHARED}giza/gizeh_1.tif {SHARED}giza/gizeh_2.tif", "0.0005 m 0.001 px",
                               rpc_cases((f"{SHARED}giza/gizeh_1.tif", f"{SHARED}giza/gizeh_2.tif")))),
    "parallel": ("Parallel pair: Universal Transverse Mercator by Krueger's series, shift along x.",
                 lambda: ["tolerance 0.001 m 0.001 px", *parallel_cases()]),
}
SAMPLE = "sampledata/AST_L1A_00401012001180005_sim.hdf"
RAINIER = SHARED + "aster_rainier/camera/AST_L1A_00307312017190728_DERIVED"

if len(sys.argv) > 1:
    print(case_file(sys.argv[1]), end="")
else:
    for each in WHAT:
        text = case_file(each)
        with open(os.path.join(HERE, each + ".txt"), "w", encoding="ascii") as out:
            out.write(text)
