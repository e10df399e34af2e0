"""stereodem beside rasterio, pyproj, scikit-learn and Intel's OpenMP in one process. wheel_beside.py SCENE DEM"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import ctypes
import glob
import itertools
import multiprocessing
import os
import subprocess
import sys


def use_rasterio(scene, dem):
    import rasterio
    with rasterio.open(dem) as raster:
        assert raster.crs.is_projected
        raster.read(1)
    pyproj = sys.modules.get("pyproj")
    if not pyproj:
        return
    east, north = pyproj.Transformer.from_crs(4326, 32632, always_xy=True).transform(9.0, 45.0)
    assert abs(east - 500000.0) < 1e-3 and abs(north - 4982950.4) < 1.0, (east, north)


def use_sklearn(scene, dem):
    import numpy
    import sklearn.cluster
    intel = glob.glob(os.path.join(sys.prefix, "lib", "libiomp5.so"))
    ctypes.CDLL(intel[0]).omp_get_max_threads()
    points = numpy.random.default_rng(1).normal(size=(2000, 3))
    assert sklearn.cluster.KMeans(4, n_init=1).fit(points).labels_.max() == 3


def use_stereodem(scene, dem):
    import numpy
    import rasterio
    import stereodem
    height = stereodem.run(scene, log=lambda *_: None).height
    with rasterio.open(dem) as raster:
        stored = raster.read(1)
    valid = stored != raster.nodata
    assert numpy.array_equal(valid, numpy.isfinite(height)) and numpy.array_equal(stored[valid], height[valid])


def import_rasterio():
    import rasterio
    if not sys.getdlopenflags() & os.RTLD_GLOBAL: # else rasterio and pyproj alone crash: two PROJ show their names
        import pyproj


def import_sklearn():
    import sklearn.cluster
    ctypes.CDLL(glob.glob(os.path.join(sys.prefix, "lib", "libiomp5.so"))[0])


def import_stereodem():
    import stereodem


def in_order(order, scope, scene, dem):
    sys.setdlopenflags(os.RTLD_NOW | (os.RTLD_GLOBAL if scope == "global" else os.RTLD_LOCAL))
    for name in order:
        globals()["import_" + name]()
    for name in order + order[:1]:
        globals()["use_" + name](scene, dem)


def main():
    scene, dem = sys.argv[1:3]
    if len(sys.argv) > 3:
        in_order(sys.argv[3].split(","), sys.argv[4], scene, dem)
        return
    for order in itertools.permutations(("rasterio", "sklearn", "stereodem")):
        for scope in ("local", "global"):
            done = subprocess.run([sys.executable, __file__, scene, dem, ",".join(order), scope], capture_output=True, text=True)
            if done.returncode:
                sys.exit("FAILED: %s, names %s: exit code %d\n%s" % (", ".join(order), scope, done.returncode, done.stderr[-2000:]))
    print("wheel: 6 orders of import, names local and global")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(use_stereodem, [scene] * 4, [dem] * 4))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(use_stereodem, [(scene, dem)] * 2)
    print("wheel: threads, spawned processes")


if __name__ == "__main__":
    main()
