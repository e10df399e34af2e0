"""DEMs from stereo pairs of satellite images.

    import stereodem

    dem = stereodem.run("left.tif", "right.tif", cost="census")           # in memory: dem.height is an array
    stereodem.run("AST_L1A.hdf", output="dem.tif", vertical="egm96")      # files, as the program writes them
    errors = stereodem.compare("dem.tif", "reference.tif")["aligned"]
    median = stereodem.stack([dem, "other.tif"]).height

Keyword arguments are the options of the program, without the dashes in front: ``stereodem run --help`` and
:func:`options` list them; one that is a word of Python gets an underscore at its end (``class_``).  A switch is True or
False, an option of the kind NAME=VALUE takes a mapping or a sequence of such texts, and None means that the option is not
given.

Functions may be called from several threads at once.  Every failure raises :class:`Error` with one sentence.  Log lines
go to the logger ``stereodem`` of :mod:`logging`, unless ``log`` is given.
"""
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import collections.abc
import copyreg
import ctypes
import functools
import json
import logging
import os
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import lib

Path = Union[str, "os.PathLike[str]"]
Option = Union[str, bool, int, float, "np.generic", "os.PathLike[str]", Mapping[str, object], Sequence[str], None]
Progress = Callable[[float, int, str], None]
Cancel = Union[Callable[[], bool], threading.Event]
Log = Callable[[int, str], None]
Result = Dict[str, Any]
Transform = Tuple[float, float, float, float, float, float]

__version__: str = lib.sdm_version().decode()

_STATUS = ("ok", "usage", "input", "data", "io", "memory", "unsupported", "stopped", "device", "budget")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_SAMPLES = {np.dtype(np.uint8): 0, np.dtype(np.uint16): 1, np.dtype(np.int16): 2, np.dtype(np.float32): 3}


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
    def from_metadata(cls, metadata: Mapping[str, str]) -> "RPC":
        """From GDAL's metadata domain RPC: LINE_OFF, LINE_NUM_COEFF and so on."""
        values: Dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            key = name.upper() + ("_COEFF" if name.endswith(("_num", "_den")) else "")
            if key not in metadata:
                raise Error("the RPC metadata have no %s" % key, "input")
            try:
                numbers = [float(word) for word in metadata[key].split()[:20]]
                values[name] = numbers if key.endswith("_COEFF") else numbers[0]
            except (ValueError, IndexError):
                raise Error("the RPC metadata's %s is %.80r, expected numbers" % (key, metadata[key]), "input") from None
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

    :param samples: rows x columns of uint8, uint16, int16 or float32; used where it lies while its rows have no gaps
        between samples.  What a masked array masks is not used
    :param rpc: the camera; not needed by :func:`match`
    :param nodata: samples of this value are no data.  Without it, unsigned samples of 0 are; NaN always is
    :param mask: rows x columns, 0 or False where a pixel shall not be used
    """

    samples: npt.NDArray[Any]
    rpc: Optional[RPC] = None
    nodata: Optional[float] = None
    mask: Optional[npt.NDArray[Any]] = None


@dataclass
class Raster:
    """A raster in memory, such as a reference DEM.

    :param samples: rows x columns of uint8, uint16, int16 or float32
    :param transform: GDAL's geotransform, or an Affine of rasterio
    :param crs: anything that GDAL understands, a code of EPSG, or a CRS of rasterio or pyproj
    :param nodata: samples of this value are no data; NaN always is
    :param vertical: what heights are above, "ellipsoid", "egm96" or "egm2008", where the CRS does not say
    """

    samples: npt.NDArray[Any]
    transform: Any
    crs: Any
    nodata: Optional[float] = None
    vertical: Optional[str] = None


@dataclass
class Dem:
    """A DEM in memory; every array is rows x columns, the first row is the northernmost.

    :ivar height: metres above the datum of the option ``vertical``; NaN = none
    :ivar score: match score 0..1
    :ivar ray_error: ray intersection error, metres
    :ivar spread: spread of the heights in a cell, metres
    :ivar ortho: the left image on the grid of the DEM
    :ivar count: points of a cell
    :ivar mask: bits of the QA mask
    :ivar transform: GDAL's geotransform
    :ivar crs: horizontal CRS as WKT
    :ivar vertical: "ellipsoid", "egm96" or "egm2008"
    :ivar result: stage times and memory
    """

    height: npt.NDArray[np.float32]
    score: npt.NDArray[np.float32]
    ray_error: npt.NDArray[np.float32]
    spread: npt.NDArray[np.float32]
    ortho: npt.NDArray[np.float32]
    count: npt.NDArray[np.uint16]
    mask: npt.NDArray[np.uint16]
    transform: Transform
    crs: str
    vertical: str
    result: Result


@dataclass
class Stack:
    """Several DEMs as one, in memory; every array is rows x columns, the first row is the northernmost.

    :ivar height: median of the DEMs, metres above the datum of the option ``vertical``; NaN = none
    :ivar nmad: NMAD of the heights in a cell, metres; NaN where there is one
    :ivar count: DEMs that have a height
    :ivar mask: bits of the QA mask
    :ivar transform: GDAL's geotransform
    :ivar crs: horizontal CRS as WKT
    :ivar vertical: "ellipsoid", "egm96", "egm2008", or "" where the DEMs do not say
    :ivar result: "dems" with the shift and the NMAD of each, memory
    """

    height: npt.NDArray[np.float32]
    nmad: npt.NDArray[np.float32]
    count: npt.NDArray[np.uint16]
    mask: npt.NDArray[np.uint16]
    transform: Transform
    crs: str
    vertical: str
    result: Result


Source = Union[Path, Image]
Heights = Union[Path, Raster, Dem, Stack]

# name, number in the library, type
_LAYERS = (("height", 0, np.float32), ("score", 1, np.float32), ("ray_error", 2, np.float32), ("spread", 3, np.float32),
           ("ortho", 4, np.float32), ("count", 5, np.uint16), ("mask", 6, np.uint16))
_STACK_LAYERS = (("height", 0, np.float32), ("nmad", 3, np.float32), ("count", 5, np.uint16), ("mask", 6, np.uint16))


def _text(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value)


def _bytes(text: Union[str, bytes, "os.PathLike[str]"], what: str) -> bytes:
    """Text for the library, whose texts end at the first zero byte."""
    try:
        found = os.fsencode(text)
    except (TypeError, UnicodeEncodeError):
        raise Error("%s: found %.80r, expected a %s" % (what, text, "text" if what in ("vertical", "name of an option") else "name of a file"),
                    "usage") from None
    if b"\0" in found:
        raise Error("%s: found %.80r, expected a text without zero bytes" % (what, text), "usage")
    return found


def _numbers(values: Any, what: str, count: int) -> List[float]:
    """So many numbers, or one, as the library takes them."""
    try:
        found = [float(value) for value in (values if count > 1 else [values])]
    except (TypeError, ValueError, OverflowError):
        raise Error("%s: found %.80r, expected %s" % (what, values, "%d numbers" % count if count > 1 else "a number"), "usage") from None
    if len(found) != count:
        raise Error("%s of %d numbers, expected %d" % (what, len(found), count), "usage")
    return found


def _array(values: Any, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise Error("%s: found %.80r, expected an array (%s)" % (what, values, error), "usage") from None


def _crs(crs: Any) -> bytes:
    """A text, the code of EPSG, or an object of rasterio or pyproj."""
    if isinstance(crs, (int, np.integer)) and not isinstance(crs, bool):
        crs = "EPSG:%d" % crs
    to_wkt = getattr(crs, "to_wkt", None)
    text = to_wkt() if callable(to_wkt) else crs
    if not isinstance(text, str):
        raise Error("crs: found %.80r, expected a text such as WKT or 'EPSG:32633', or an object with to_wkt()" % (crs,), "usage")
    return _bytes(text, "crs")


def _name(path: Optional[Path], what: str) -> Optional[bytes]:
    return None if path is None else _bytes(path, what)


class _Context:
    """A context of the library for one call: options, callbacks, images."""

    def __init__(self, command: str, options: Mapping[str, Option], progress: Optional[Progress] = None,
                 cancel: Optional[Cancel] = None, log: Optional[Log] = None) -> None:
        self.handle = ctypes.c_void_p()
        self.raised: Optional[BaseException] = None
        self.kept: List[object] = []  # what the library borrows
        status = lib.sdm_context_open(ctypes.byref(self.handle), command.encode())
        try:
            self.check(status)
            for name, value in options.items():
                self.set(name.rstrip("_"), value)
            self.listen(progress, cancel, log)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "_Context":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        lib.sdm_context_close(ctypes.byref(self.handle))

    def set(self, name: str, value: Option) -> None:
        """Give an option its value, or each entry of one that takes several."""
        any_value: Any = value
        several = isinstance(value, (Mapping, list, tuple, set)) or np.ndim(any_value) > 0
        if isinstance(value, Mapping):
            entries = ["%s=%s" % (key, _text(entry)) for key, entry in value.items()]
        elif several:
            entries = [_text(entry) for entry in any_value]
        else:
            entries = [] if value is None else [_text(value)]
        if several and any(o["name"] == name and " " in o.get("metavar", "") for o in self.options()):
            entries, several = [",".join(entries)], False
        if several and any(o["name"] == name.replace("-", "_") and o["type"] != "pairs" for o in self.options()):
            raise Error("%s: found %.80r, expected one value" % (name, value), "usage")
        for entry in entries:
            self.check(lib.sdm_set(self.handle, _bytes(name, "name of an option"), _bytes(entry, name)))

    def options(self) -> List[Dict[str, Any]]:
        text = ctypes.c_char_p()
        self.check(lib.sdm_options_json(self.handle, ctypes.byref(text)))
        found: List[Dict[str, Any]] = json.loads((text.value or b"[]").decode())
        return found

    def check(self, status: int) -> None:
        """Raise what the call's functions raised, or the failure of the call."""
        if self.raised is not None:
            raised, self.raised = self.raised, None
            raise raised
        if status:
            sentence = lib.sdm_error(self.handle).decode(errors="replace") if self.handle else "out of memory"
            raise Error(sentence, _STATUS[status])

    def fail(self, error: BaseException) -> None:
        if self.raised is None:
            self.raised = error
        lib.sdm_cancel(self.handle)

    def receive(self, function: Callable[..., object], count: int) -> Generator[int, Any, None]:
        """Hand what is sent to a function of the caller, ``count`` arguments a call; yields what it answers.

        Python runs handlers of signals (Ctrl-C) where a function is entered, and what they raise in a callback's first line
        nobody can catch.  A generator is entered inside its try.
        """
        answer = 0
        try:
            while True:
                arguments: List[Any] = []
                while len(arguments) < count:
                    arguments.append((yield answer))
                answer = int(bool(function(*arguments)))
        except GeneratorExit:
            return
        except BaseException as error:  # pylint: disable=broad-except
            self.fail(error)
        while True:
            try:
                while True:
                    yield 1
            except GeneratorExit:
                return
            except BaseException:  # pylint: disable=broad-except
                pass               # the first one is raised

    def listen(self, progress: Optional[Progress], cancel: Optional[Cancel], log: Optional[Log]) -> None:
        logger = logging.getLogger("stereodem")
        tell = log or (lambda level, text: logger.log(level, "%s", text))
        asked = cancel if cancel is None or callable(cancel) else cancel.is_set

        def on_log(_user: None, level: int, _stage: int, text: bytes) -> None:
            tell(_LEVELS[level], text.decode(errors="replace"))

        def on_progress(_user: None, stage: int, done: float, what: bytes) -> None:
            assert progress is not None
            progress(done, stage, what.decode(errors="replace"))

        def callback(kind: Any, function: Callable[..., object], count: int) -> Any:
            generator = self.receive(function, count)
            next(generator)
            one = functools.partial(next, generator)  # neither these nor max() is written in Python
            made = kind(one if count == 1 else functools.partial(max, key=generator.send))
            self.kept.append(made)
            return made

        lib.sdm_set_log(self.handle, callback(_library.LOG, on_log, 4), None)
        lib.sdm_set_cancel(self.handle, callback(_library.CANCEL, lambda _user: asked and asked(), 1), None)
        if progress is not None:
            lib.sdm_set_progress(self.handle, callback(_library.PROGRESS, on_progress, 4), None)

    def result(self) -> Result:
        found: Result = json.loads(lib.sdm_result_json(self.handle).decode(errors="replace"))
        return found

    def name(self, source: Heights, what: str) -> bytes:
        """The name of a file, or one for what is in memory."""
        if isinstance(source, Raster):
            return self.add(source)
        if not isinstance(source, (Dem, Stack)):
            return _bytes(source, what)
        name = self.add(Raster(source.height, source.transform, source.crs, None, source.vertical or None))
        mask = np.ascontiguousarray(source.mask, dtype=np.uint16)
        if mask.shape != np.shape(source.height):
            raise Error("%s: its mask is %s, its heights %s" % (what, mask.shape, np.shape(source.height)), "usage")
        self.check(lib.sdm_set_raster_mask(self.handle, name, mask.ctypes.data, 0))
        return name

    def add(self, source: Raster) -> bytes:
        """Copy a raster to the library; its name there."""
        samples = _rows(_without_mask(source), "raster in memory")
        to_gdal = getattr(source.transform, "to_gdal", None)  # an Affine of rasterio
        transform = _numbers(to_gdal() if callable(to_gdal) else source.transform, "raster in memory: a geotransform", 6)
        shape = _library.RasterShape(_sample_type(samples, "raster in memory"), samples.shape[1], samples.shape[0],
                                     samples.strides[0] if samples.shape[0] > 1 else 0,
                                     (ctypes.c_double * 6)(*transform), _crs(source.crs),
                                     float("nan") if source.nodata is None else _numbers(source.nodata, "raster in memory: nodata", 1)[0])
        found = ctypes.c_char_p()
        self.check(lib.sdm_add_raster(self.handle, ctypes.byref(shape), samples.ctypes.data, ctypes.byref(found)))
        name = found.value or b""
        if source.vertical is not None:
            self.check(lib.sdm_set_raster_vertical(self.handle, name, _bytes(source.vertical, "vertical")))
        return name

    def take(self, side: int, image: Image) -> None:
        """Give the view its image, mask and camera."""
        which = ("left", "right")[side]
        samples = _rows(_array(image.samples, which + " image"), which + " image")
        hidden = np.asarray(image.samples.mask) if isinstance(image.samples, np.ma.MaskedArray) else None
        kind = _sample_type(samples, which + " image")
        rows, cols = samples.shape
        self.kept.append(samples)
        self.check(lib.sdm_set_image(self.handle, side, kind, samples.ctypes.data, cols, rows,
                                     samples.strides[0] if rows > 1 else 0))
        if image.nodata is not None:
            self.check(lib.sdm_set_image_nodata(self.handle, side, _numbers(image.nodata, which + " image: nodata", 1)[0]))
        if image.mask is not None or hidden is not None:
            mask = np.ones(samples.shape, np.uint8) if image.mask is None else _array(image.mask, which + " image: mask")
            if mask.shape != samples.shape:
                raise Error("%s image: its mask is %s, the image %s" % (which, mask.shape, samples.shape), "usage")
            mask = mask != 0
            mask = np.ascontiguousarray(mask if hidden is None else np.where(hidden, 0, mask), dtype=np.uint8)
            self.kept.append(mask)
            self.check(lib.sdm_set_image_mask(self.handle, side, mask.ctypes.data, 0))
        if image.rpc is not None:
            if not isinstance(image.rpc, RPC):
                raise Error("%s image: its rpc is %.80r, expected an RPC; RPC.from_metadata() makes one of GDAL's metadata" %
                            (which, image.rpc), "usage")
            self.check(lib.sdm_set_rpc(self.handle, side, ctypes.byref(image.rpc._struct())))


def _sample_type(samples: npt.NDArray[Any], what: str) -> int:
    if samples.dtype not in _SAMPLES:
        raise Error("%s: samples are %s, expected uint8, uint16, int16 or float32; convert them with astype()" % (
            what, samples.dtype), "usage")
    return _SAMPLES[samples.dtype]


def _rows(samples: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """The array with samples side by side; a copy only where they are not."""
    if samples.ndim != 2:
        raise Error("%s: an array of %d dimensions, expected rows and columns" % (what, samples.ndim), "usage")
    side_by_side = samples.dtype.isnative and samples.strides[1] == samples.itemsize and samples.strides[0] >= (
        samples.shape[1] * samples.itemsize)
    return samples if side_by_side else np.ascontiguousarray(samples, dtype=samples.dtype.newbyteorder("="))


def _without_mask(raster: Raster) -> npt.NDArray[Any]:
    """The samples; no data where a masked array masks them."""
    if not isinstance(raster.samples, np.ma.MaskedArray):
        return _array(raster.samples, "raster in memory")
    if raster.nodata is None and raster.samples.dtype.kind != "f":
        raise Error("raster in memory: a masked array of %s without nodata; give a value that stands for no data" %
                    raster.samples.dtype, "usage")
    samples = np.asarray(raster.samples)
    nodata = np.nan if raster.nodata is None else raster.nodata
    return np.where(np.asarray(raster.samples.mask), np.asarray(nodata, samples.dtype), samples)


def _sources(context: _Context, left: Source, right: Optional[Source]) -> Tuple[Optional[bytes], Optional[bytes]]:
    """Names for the library, or None and None after the context took the images."""
    if isinstance(left, Image) and isinstance(right, Image):
        context.take(0, left)
        context.take(1, right)
        return None, None
    if isinstance(left, Image) or isinstance(right, Image):
        raise Error("one view is in memory, the other is not; give two of a kind", "usage")
    return _name(left, "left image"), _name(right, "right image")


def _read_dem(context: _Context, dem: ctypes.c_void_p, layers: Sequence[Tuple[str, int, Any]]) -> Dict[str, Any]:
    """Layers, place and result of a DEM, by name."""
    rows, cols = lib.sdm_dem_rows(dem), lib.sdm_dem_cols(dem)
    transform = (ctypes.c_double * 6)()
    lib.sdm_dem_geotransform(dem, transform)
    found: Dict[str, Any] = {"transform": tuple(transform), "crs": lib.sdm_dem_crs(dem).decode(),
                             "vertical": lib.sdm_dem_vertical(dem).decode(), "result": context.result()}
    for name, number, kind in layers:
        found[name] = np.empty((rows, cols), dtype=kind)
        context.check(lib.sdm_dem_read(context.handle, dem, number, found[name].ctypes.data, 0))
    return found


def _run_views(context: _Context, views: Tuple[Any, ...], output: Optional[Path]) -> Result:
    if output is None or any(isinstance(view, Image) or view is None for view in views):
        raise Error("three views or more are files, and make a file; give their names, and output", "usage")
    names = (ctypes.c_char_p * len(views))(*(_name(view, "view") for view in views))
    context.check(lib.sdm_run_views(context.handle, names, len(views)))
    return context.result()


@overload
def run(left: Source, right: Optional[Source] = None, *, output: None = None, progress: Optional[Progress] = None,
        cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Dem: ...


@overload
def run(left: Path, right: Optional[Path] = None, *more: Path, output: Path, progress: Optional[Progress] = None,
        cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Result: ...


def run(left: Source, right: Optional[Source] = None, *more: Path, output: Optional[Path] = None,
        progress: Optional[Progress] = None, cancel: Optional[Cancel] = None, log: Optional[Log] = None,
        **options: Option) -> Union[Dem, Result]:
    """Make a DEM.

    :param left: an ASTER scene, or the left image of a pair: a file, or an :class:`Image`
    :param right: the right image of a pair
    :param more: files of a third view and of others, up to eight in all, in any order; needs output
    :param output: the GeoTIFF to write, with its companions; None: the DEM is returned
    :param progress: called with the share done (0..1), the stage (1..9) and a phrase
    :param cancel: an Event, or a function that returns True, to stop: raises Error with status "stopped"
    :param log: called with the level of :mod:`logging` and the line
    :param options: of ``stereodem run``
    :raises Error: with one sentence
    """
    with _Context("run", dict(options, output=output), progress, cancel, log) as context:
        if more:
            return _run_views(context, (left, right) + more, output)
        names = _sources(context, left, right)
        if output is not None:
            if names == (None, None):
                raise Error("images in memory make a DEM in memory; leave output out", "usage")
            context.check(lib.sdm_run(context.handle, *names))
            return context.result()
        dem = ctypes.c_void_p()
        try:
            context.check(lib.sdm_make_dem(context.handle, *names, ctypes.byref(dem)))
            return Dem(**_read_dem(context, dem, _LAYERS))
        finally:
            lib.sdm_dem_close(ctypes.byref(dem))


def info(left: Source, right: Optional[Source] = None, *, log: Optional[Log] = None, **options: Option) -> Result:
    """Describe a scene: sensor, overlap, grid of the DEM, expected memory and time.  Matches nothing.

    :raises Error: with one sentence
    """
    with _Context("info", options, log=log) as context:
        context.check(lib.sdm_info(context.handle, *_sources(context, left, right)))
        return context.result()


def compare(dem: Heights, reference: Heights, *, progress: Optional[Progress] = None, cancel: Optional[Cancel] = None,
            log: Optional[Log] = None, **options: Option) -> Result:
    """Error statistics of a DEM against a reference, metres: "raw", and "aligned" after co-registration.

    Both are files, or in memory: what :func:`run` or :func:`stack` returned, or a :class:`Raster`.

    :raises Error: with one sentence
    """
    with _Context("compare", options, progress, cancel, log) as context:
        context.check(lib.sdm_compare(context.handle, context.name(dem, "DEM"), context.name(reference, "reference")))
        return context.result()


@overload
def stack(dems: Sequence[Heights], *, output: None = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Stack: ...


@overload
def stack(dems: Sequence[Heights], *, output: Path, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Result: ...


def stack(dems: Sequence[Heights], *, output: Optional[Path] = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Union[Stack, Result]:
    """Combine DEMs of one place: median, NMAD and count of each cell.

    :param dems: files, or in memory: what :func:`run` or :func:`stack` returned, or a :class:`Raster`
    :param output: the GeoTIFF to write, with its companions; None: the stack is returned
    :param options: of ``stereodem stack``
    :raises Error: with one sentence
    """
    if isinstance(dems, (str, bytes, os.PathLike, Raster, Dem, Stack)):
        raise Error("found one DEM, expected a list of them", "usage")
    if not isinstance(dems, collections.abc.Sequence):
        raise Error("found %s, expected a list of DEMs" % type(dems).__name__, "usage")
    with _Context("stack", dict(options, output=output), progress, cancel, log) as context:
        names = (ctypes.c_char_p * len(dems))(*[context.name(dem, "DEM %d" % (k + 1)) for k, dem in enumerate(dems)])
        if output is not None:
            context.check(lib.sdm_stack(context.handle, names, len(dems)))
            return context.result()
        made = ctypes.c_void_p()
        try:
            context.check(lib.sdm_make_stack(context.handle, names, len(dems), ctypes.byref(made)))
            return Stack(**_read_dem(context, made, _STACK_LAYERS))
        finally:
            lib.sdm_dem_close(ctypes.byref(made))


@overload
def match(left: Image, right: Image, *, output: None = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None,
          **options: Option) -> npt.NDArray[np.float32]: ...


@overload
def match(left: Path, right: Path, *, output: Path, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: Option) -> Result: ...


def match(left: Source, right: Source, *, output: Optional[Path] = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None,
          **options: Option) -> Union[npt.NDArray[np.float32], Result]:
    """Disparities of a rectified pair, x_right = x_left - d.

    Two :class:`Image` give an array of the left image's size (divided by ``downscale``), NaN where there is no match;
    files give the file ``output``.

    :raises Error: with one sentence
    """
    with _Context("match", dict(options, output=output), progress, cancel, log) as context:
        names = _sources(context, left, right)
        if not isinstance(left, Image):
            context.check(lib.sdm_match(context.handle, *names))
            return context.result()
        if output is not None:
            raise Error("images in memory make disparities in memory; leave output out", "usage")
        factor = int(float(str(options.get("downscale") or 1)))
        rows, cols = np.asarray(left.samples).shape
        disparity = np.full((rows // factor, cols // factor), np.nan, dtype=np.float32)
        context.check(lib.sdm_match_images(context.handle, disparity.ctypes.data, 0))
        return disparity


def options(command: str) -> List[Dict[str, Any]]:
    """The options of "run", "info", "compare", "stack" or "match": name, type, range, default and help of each."""
    with _Context(command, {}) as context:
        return context.options()


__all__ = ["Dem", "Error", "Image", "RPC", "Raster", "Stack", "compare", "info", "match", "options", "run", "stack"]
