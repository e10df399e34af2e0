"""What people have -> what the library takes: images, cameras, rasters, transforms, CRS, names of files.

Every protocol is asked here: ``rpcs``, ``transform``, ``crs``, ``nodata`` of rasterio, ``rio`` of rioxarray, ``data`` of
geoutils and xdem, ``to_wkt()``, ``to_gdal()``, ``to_dict()``, ``__array__``.  No other library is imported.
"""
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copyreg
import ctypes
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _library

Path = Union[str, "os.PathLike[str]"]
Array = npt.NDArray[Any]

SAMPLES = {np.dtype(np.uint8): 0, np.dtype(np.uint16): 1, np.dtype(np.int16): 2, np.dtype(np.float32): 3}
_DATUMS = {"ellipsoid": "ellipsoid", "egm96": "egm96", "egm08": "egm2008", "egm2008": "egm2008"}  # first words of xdem's vcrs_name


class Error(Exception):
    """A call failed; the text is one sentence.

    :ivar status: "usage", "input", "data", "io", "memory", "unsupported", "stopped", "device" or "budget"
    """

    def __init__(self, sentence: str, status: str) -> None:
        super().__init__(sentence)
        self.status = status

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickles carry the status, too, and do not ask __init__(), which a class of the caller's may have otherwise."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


def usage(what: str, found: object, expected: str) -> Error:
    return Error("%s: found %.80r, expected %s" % (what, found, expected), "usage")


@dataclass
class RPC:
    """RPC00B coefficients: offsets and scales in pixels, degrees and metres; pixels count from the centre of the first."""

    line_off: float
    samp_off: float
    lat_off: float
    long_off: float
    height_off: float
    line_scale: float
    samp_scale: float
    lat_scale: float
    long_scale: float
    height_scale: float
    line_num: Sequence[float]
    line_den: Sequence[float]
    samp_num: Sequence[float]
    samp_den: Sequence[float]

    @classmethod
    def from_metadata(cls, metadata: Any) -> "RPC":
        """From GDAL's metadata domain RPC (LINE_OFF, LINE_NUM_COEFF ...), a ``rasterio.rpc.RPC``, or its ``to_dict()``."""
        to_dict = getattr(metadata, "to_dict", None)
        given: Any = to_dict() if callable(to_dict) else metadata
        if not isinstance(given, Mapping):
            raise usage("the RPC metadata", metadata, "a mapping with LINE_OFF, LINE_NUM_COEFF and so on, or a rasterio.rpc.RPC")
        items: Dict[str, Any] = {str(key).upper(): value for key, value in given.items()}
        values: Dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            several = name.endswith(("_num", "_den"))
            key = name.upper() + ("_COEFF" if several else "")
            if items.get(key) is None:
                raise Error("the RPC metadata have no %s" % key, "input")
            try:
                found = items[key]
                words: Any = found.split()[:20] if isinstance(found, str) else np.ravel(found)[:20]
                numbers = [float(word) for word in words]
                values[name] = numbers if several else numbers[0]
            except (TypeError, ValueError, IndexError):
                raise Error("the RPC metadata's %s is %.80r, expected numbers" % (key, items[key]), "input") from None
        return cls(**values)

    def _struct(self) -> _library.Rpc:
        out = _library.Rpc()
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            count = 20 if name.endswith(("_num", "_den")) else 1
            try:
                numbers = np.asarray(value, dtype=np.float64).reshape(-1)
            except (TypeError, ValueError):
                raise Error("RPC: %s is %.80r, expected numbers" % (name, value), "usage") from None
            if len(numbers) != count:
                raise Error("RPC: %s has %d numbers, expected %d" % (name, len(numbers), count), "usage")
            setattr(out, name, (ctypes.c_double * 20)(*numbers) if count > 1 else float(numbers[0]))
        return out


@dataclass
class Image:
    """An image in memory.

    :param samples: rows x columns (or one band of them) of uint8, uint16, int16, float32 or float64; used where it lies
        while its rows have no gaps between samples.  What a masked array masks is not used
    :param rpc: the camera, an :class:`RPC` or what :meth:`RPC.from_metadata` takes; not needed by :func:`match`
    :param nodata: samples of this value are no data.  Without it, unsigned samples of 0 are; NaN always is
    :param mask: rows x columns, 0 or False where a pixel shall not be used
    """

    samples: Any
    rpc: Any = None
    nodata: Optional[float] = None
    mask: Optional[Array] = None


@dataclass
class Raster:
    """A raster in memory, such as a reference DEM.

    :param samples: rows x columns (or one band of them) of uint8, uint16, int16, float32 or float64
    :param transform: an Affine, as rasterio has it, or GDAL's geotransform of six numbers
    :param crs: anything that GDAL understands, a code of EPSG, or a CRS of rasterio or pyproj
    :param nodata: samples of this value are no data; NaN always is
    :param vertical: what heights are above, "ellipsoid", "egm96" or "egm2008", where the CRS does not say
    :param time: when they are from, such as "2003-05-06" or a ``datetime``, for ``stack(..., trend=True)``
    """

    samples: Any
    transform: Any
    crs: Any
    nodata: Optional[float] = None
    vertical: Optional[str] = None
    time: Any = None


# ---- texts and numbers ----

def text_of(value: object) -> str:
    """The value of an option."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value)


def bytes_of(text: Any, what: str, expected: str = "a name of a file") -> bytes:
    """Text for the library, whose texts end at the first zero byte."""
    try:
        found = os.fsencode(text)
    except (TypeError, UnicodeEncodeError):
        raise usage(what, text, expected) from None
    if b"\0" in found:
        raise usage(what, text, "a text without zero bytes")
    return found


def numbers_of(values: Any, what: str, count: int) -> List[float]:
    """So many numbers, or one, as the library takes them."""
    try:
        found = [float(value) for value in (values if count > 1 else [values])]
    except (TypeError, ValueError, OverflowError):
        raise usage(what, values, "%d numbers" % count if count > 1 else "a number") from None
    if len(found) != count:
        raise Error("%s of %d numbers, expected %d" % (what, len(found), count), "usage")
    return found


def crs_of(crs: Any, what: str = "crs") -> str:
    """A text, the code of EPSG, or an object of rasterio or pyproj."""
    if isinstance(crs, (int, np.integer)) and not isinstance(crs, bool):
        return "EPSG:%d" % crs
    to_wkt = getattr(crs, "to_wkt", None)
    text = to_wkt() if callable(to_wkt) else crs
    if not isinstance(text, str):
        raise usage(what, crs, "a text such as WKT or 'EPSG:32633', a code of EPSG, or an object with to_wkt()")
    return text


def transform_of(transform: Any, what: str) -> List[float]:
    """GDAL's geotransform: of an Affine, its nine numbers, or six that are GDAL's already."""
    what += ": a geotransform"
    to_gdal = getattr(transform, "to_gdal", None)
    if callable(to_gdal):
        return numbers_of(to_gdal(), what, 6)
    if isinstance(transform, (tuple, list, np.ndarray)) and np.size(transform) == 9:
        a, b, c, d, e, f = numbers_of(np.ravel(transform)[:6], what, 6)
        return [c, a, b, f, d, e]
    found = numbers_of(transform, what, 6)
    if found[1] == 0.0 and found[3] == 0.0:
        raise usage(what, transform, "GDAL's order, but these are six numbers of an Affine; pass the Affine itself, or its to_gdal()")
    return found


# ---- arrays ----

def array_of(values: Any, what: str) -> Array:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise Error("%s: found %.80r, expected an array (%s)" % (what, values, error), "usage") from None


def samples_of(values: Any, what: str) -> Array:
    """Rows and columns with samples side by side, of a type that the library takes; a copy only where they are not."""
    samples = array_of(values, what)
    if samples.ndim == 3 and samples.shape[0] == 1:
        samples = samples[0]
    if samples.ndim != 2:
        raise Error("%s: an array of %d dimensions, expected rows and columns%s" % (
            what, samples.ndim, "; choose a band, as in array[0]" if samples.ndim == 3 else ""), "usage")
    if not samples.size:
        raise Error("%s: found an array of %s, expected at least one row and column" % (what, "%d x %d" % samples.shape), "usage")
    if samples.dtype.kind == "f" and samples.dtype.itemsize == 8:
        samples = samples.astype(np.float32)
    if samples.dtype.newbyteorder("=") not in SAMPLES:
        raise Error("%s: samples are %s, expected uint8, uint16, int16, float32 or float64; convert them with astype()" % (
            what, samples.dtype), "usage")
    side_by_side = samples.dtype.isnative and samples.strides[1] == samples.itemsize and samples.strides[0] >= (
        samples.shape[1] * samples.itemsize)
    return samples if side_by_side else np.ascontiguousarray(samples, dtype=samples.dtype.newbyteorder("="))


def hidden_of(values: Any) -> Optional[Array]:
    """Where a masked array masks: rows x columns; None: nowhere."""
    if not isinstance(values, np.ma.MaskedArray) or values.mask is np.ma.nomask:
        return None
    hidden = np.asarray(values.mask)
    return hidden[0] if hidden.ndim == 3 and hidden.shape[0] == 1 else hidden


def nodata_of(nodata: Any, what: str, samples: Array) -> Optional[float]:
    """The value as the samples hold it."""
    if nodata is None:
        return None
    found = numbers_of(nodata, what + ": nodata", 1)[0]
    return float(np.float32(found)) if samples.dtype == np.float32 and abs(found) < 3.5e38 else found


def without(hidden: Optional[Array], samples: Array, nodata: Optional[float], what: str) -> Array:
    """Samples with no data where they are hidden."""
    if hidden is None:
        return samples
    if nodata is None and samples.dtype.kind != "f":
        raise Error("%s: a masked array of %s without nodata; give a value that stands for no data" % (what, samples.dtype), "usage")
    return np.where(hidden, np.asarray(np.nan if nodata is None else nodata, samples.dtype), samples)


# ---- images and rasters of other libraries ----

def is_path(value: object) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def path_of(value: Any) -> Any:
    """The name of a file: itself, or that of an open dataset that lies in one; None: it lies in memory."""
    if is_path(value):
        return value
    name = getattr(value, "name", None)
    is_dataset = callable(getattr(value, "read", None)) and hasattr(value, "rpcs")  # of rasterio
    if is_dataset and isinstance(name, str) and (os.path.exists(name) or "://" in name):
        return name
    return None


def image_of(value: Any, what: str, needs_camera: bool = True) -> Image:
    """An image in memory, of whatever has samples."""
    if isinstance(value, Image):
        return value
    if callable(getattr(value, "read", None)) and hasattr(value, "rpcs"):
        found = Image(value.read(1), value.rpcs, value.nodata)
    elif hasattr(value, "__array__"):
        found = Image(value if isinstance(value, np.ndarray) else value.values if hasattr(value, "values") else np.asarray(value))
    else:
        raise usage(what, value, "a name of a file, a dataset of rasterio, or a stereodem.Image")
    if needs_camera and found.rpc is None:
        raise Error("%s: found %s without a camera; pass stereodem.Image(array, rpc=...), whose rpc is a rasterio.rpc.RPC or GDAL's "
                    "RPC metadata, or the name of its file" % (what, type(value).__name__), "usage")
    return found


def _datum_of(value: Any, what: str) -> Optional[str]:
    """What heights of an xdem.DEM are above; None: it does not say."""
    name = getattr(value, "vcrs_name", None) or getattr(value, "vcrs", None)
    if name is None:
        return None
    datum = _DATUMS.get(str(name).split()[0].lower())
    if datum is None:
        raise Error("%s: its heights are above %s, expected the ellipsoid, EGM96 or EGM2008; convert them with to_vcrs()" % (what, name),
                    "usage")
    return datum


def raster_of(value: Any, what: str) -> Raster:
    """A raster in memory, of whatever has samples and their place."""
    if isinstance(value, Raster):
        return value
    if callable(getattr(value, "read", None)) and hasattr(value, "transform"):  # rasterio
        found = Raster(value.read(1), value.transform, value.crs, value.nodata)
    elif hasattr(value, "rio"):  # a DataArray
        if hasattr(value, "data_vars"):
            raise Error("%s: found a Dataset, expected a DataArray; choose a variable, as in dataset[name]" % what, "usage")
        measured = set(value.dims) <= set(value.coords) | {"band"} and min(value.shape[-2:]) > 1
        place = value.rio.transform(recalc=measured)  # by x and y: a cut or turned array keeps the transform of the first
        found = Raster(value.values, place, value.rio.crs, value.rio.nodata)
    elif hasattr(value, "data") and hasattr(value, "transform") and hasattr(value, "crs"):  # geoutils, xdem
        found = Raster(value.data, value.transform, value.crs, value.nodata, _datum_of(value, what))
    elif hasattr(value, "__array__"):
        raise Error("%s: found %s, which does not say where it lies; pass stereodem.Raster(array, transform, crs)%s" % (
            what, type(value).__name__, ", or import rioxarray" if hasattr(value, "dims") else ""), "usage")
    else:
        raise usage(what, value, "a name of a file, a dataset of rasterio, a DataArray with rio, a raster of xdem, a result of "
                    "stereodem, or stereodem.Raster(samples, transform, crs)")
    if found.crs is None:
        raise Error("%s: found %s without a CRS; pass stereodem.Raster(array, transform, crs)" % (what, type(value).__name__), "usage")
    return found
