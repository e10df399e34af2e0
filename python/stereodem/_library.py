"""The shared library libstereodem as Python sees it: types, prototypes and nothing else."""
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_int64, c_void_p

ABI = 1

LOG = CFUNCTYPE(None, c_void_p, c_int, c_int, c_char_p)
PROGRESS = CFUNCTYPE(None, c_void_p, c_int, c_double, c_char_p)
CANCEL = CFUNCTYPE(c_int, c_void_p)


class Rpc(ctypes.Structure):
    """SdmRpc of stereodem.h."""

    _fields_ = [(name, c_double) for name in (
        "line_off", "samp_off", "lat_off", "long_off", "height_off",
        "line_scale", "samp_scale", "lat_scale", "long_scale", "height_scale")] + [
        (name, c_double * 20) for name in ("line_num", "line_den", "samp_num", "samp_den")]


class RasterShape(ctypes.Structure):
    """SdmRasterShape of stereodem.h."""

    _fields_ = [("type", c_int), ("width", c_int64), ("height", c_int64), ("row_bytes", c_int64),
                ("geotransform", c_double * 6), ("crs", c_char_p), ("nodata", c_double)]


_PROTOTYPES = {
    "sdm_abi_number": (c_int, []),
    "sdm_version": (c_char_p, []),
    "sdm_context_open": (c_int, [POINTER(c_void_p), c_char_p]),
    "sdm_context_close": (None, [POINTER(c_void_p)]),
    "sdm_error": (c_char_p, [c_void_p]),
    "sdm_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_options_json": (c_int, [c_void_p, POINTER(c_char_p)]),
    "sdm_set_log": (None, [c_void_p, LOG, c_void_p]),
    "sdm_set_progress": (None, [c_void_p, PROGRESS, c_void_p]),
    "sdm_set_cancel": (None, [c_void_p, CANCEL, c_void_p]),
    "sdm_cancel": (None, [c_void_p]),
    "sdm_run": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_run_views": (c_int, [c_void_p, POINTER(c_char_p), c_int]),
    "sdm_info": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_compare": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_stack": (c_int, [c_void_p, POINTER(c_char_p), c_int]),
    "sdm_match": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_result_json": (c_char_p, [c_void_p]),
    "sdm_set_image": (c_int, [c_void_p, c_int, c_int, c_void_p, c_int64, c_int64, c_int64]),
    "sdm_set_image_nodata": (c_int, [c_void_p, c_int, c_double]),
    "sdm_set_image_mask": (c_int, [c_void_p, c_int, c_void_p, c_int64]),
    "sdm_set_rpc": (c_int, [c_void_p, c_int, POINTER(Rpc)]),
    "sdm_add_raster": (c_int, [c_void_p, POINTER(RasterShape), c_void_p, POINTER(c_char_p)]),
    "sdm_set_raster_time": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_set_raster_vertical": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sdm_set_raster_rpc": (c_int, [c_void_p, c_char_p, POINTER(Rpc)]),
    "sdm_set_raster_mask": (c_int, [c_void_p, c_char_p, c_void_p, c_int64]),
    "sdm_make_stack": (c_int, [c_void_p, POINTER(c_char_p), c_int, POINTER(c_void_p)]),
    "sdm_make_dem": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "sdm_make_dem_views": (c_int, [c_void_p, POINTER(c_char_p), c_int, POINTER(c_void_p)]),
    "sdm_dem_cols": (c_int64, [c_void_p]),
    "sdm_dem_rows": (c_int64, [c_void_p]),
    "sdm_dem_geotransform": (None, [c_void_p, c_double * 6]),
    "sdm_dem_crs": (c_char_p, [c_void_p]),
    "sdm_dem_vertical": (c_char_p, [c_void_p]),
    "sdm_dem_has_layer": (c_int, [c_void_p, c_int]),
    "sdm_dem_report_json": (c_char_p, [c_void_p]),
    "sdm_dem_report_html": (c_char_p, [c_void_p]),
    "sdm_dem_read": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_int64]),
    "sdm_dem_close": (None, [POINTER(c_void_p)]),
    "sdm_match_images": (c_int, [c_void_p, c_void_p, c_int64]),
}


def _find() -> str:
    """The library of this module: within it (a wheel), beside its folder (an archive), else the one of the system."""
    name = "stereodem.dll" if os.name == "nt" else "libstereodem.so.%d" % ABI
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in ("lib", "../../lib", "../../bin"):  # that of the archive for Windows
        path = os.path.join(here, folder, name)
        if os.path.exists(path):
            return os.path.normpath(path)
    return name


def _load() -> ctypes.CDLL:
    name = _find()
    # Threads that wait for others sleep soon, as those of the program do: the OpenMP runtime reads this while it is loaded.
    waiting = {} if "OMP_WAIT_POLICY" in os.environ else {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "2000"}
    waiting = {variable: value for variable, value in waiting.items() if variable not in os.environ}
    try:
        os.environ.update(waiting)
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError("%s cannot be loaded (%s); install the package libstereodem%d, or name its folder in "
                          "LD_LIBRARY_PATH" % (name, error, ABI)) from None
    finally:
        for variable in waiting:
            del os.environ[variable]
    for function, (result, arguments) in _PROTOTYPES.items():
        entry = getattr(library, function)
        entry.restype = result
        entry.argtypes = arguments
    if library.sdm_abi_number() != ABI:
        raise ImportError("%s has the binary interface %d, expected %d" % (name, library.sdm_abi_number(), ABI))
    return library


lib = _load()

__all__ = ["CANCEL", "LOG", "PROGRESS", "RasterShape", "Rpc", "lib"]
