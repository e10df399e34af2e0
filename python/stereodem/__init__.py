"""DEMs from stereo pairs of satellite images.

    import stereodem

    dem = stereodem.run("left.tif", "right.tif", cost="census")           # in memory: dem.height is an array
    stereodem.run("AST_L1A.hdf", output="dem.tif", vertical="egm96")      # files, as the program writes them
    errors = stereodem.compare("dem.tif", "reference.tif")["aligned"]
    median = stereodem.stack([dem, "other.tif"]).height

Keyword arguments are the options of the program, without the dashes in front: ``stereodem run --help`` and
:func:`options` list them; one that is a word of Python gets an underscore at its end (``class_``).  A switch is True or
False, an option of the kind NAME=VALUE takes a mapping or a sequence of such texts, and None means that the option is not
given.  Options that name an input file also take what :func:`compare` takes, ``t_srs`` a code of EPSG or a CRS, too.

Functions may be called from several threads at once.  Every failure raises :class:`Error` with one sentence.  Log lines
go to the logger ``stereodem`` of :mod:`logging`, unless ``log`` is given.
"""
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import collections.abc
import ctypes
import functools
import inspect
import json
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _library, _options
from ._library import lib
from ._results import LAYERS, STACK_LAYERS, Dem, Result, Stack
from ._values import (RPC, SAMPLES, Error, Image, Path, Raster, array_of, bytes_of, crs_of, hidden_of, image_of, is_path, nodata_of,
                      numbers_of, path_of, raster_of, samples_of, text_of, transform_of, usage, without)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompareOptions, InfoOptions, MatchOptions, RunOptions, StackOptions

Progress = Callable[[float, int, str], None]
Cancel = Union[Callable[[], bool], threading.Event]
Log = Callable[[int, str], None]
Source = Any   # a path, a dataset of rasterio, an Image, an array
Heights = Any  # a path, a dataset of rasterio, a Raster, a DataArray, a raster of xdem, a Dem, a Stack

__version__: str = lib.sdm_version().decode()

_STATUS = ("ok", "usage", "input", "data", "io", "memory", "unsupported", "stopped", "device", "budget")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


@functools.lru_cache(maxsize=None)
def _specs(command: str) -> Dict[str, Dict[str, Any]]:
    """The command's options by name, as the library describes them."""
    with _Context(command, {}) as context:
        text = ctypes.c_char_p()
        context.check(lib.sdm_options_json(context.handle, ctypes.byref(text)))
        return {o["name"]: o for o in json.loads((text.value or b"[]").decode())}


class _Context:
    """A context of the library for one call: options, callbacks, images."""

    def __init__(self, command: str, options: Mapping[str, Any], progress: Optional[Progress] = None,
                 cancel: Optional[Cancel] = None, log: Optional[Log] = None) -> None:
        self.handle = ctypes.c_void_p()
        self.command = command
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

    def set(self, name: str, value: Any) -> None:
        """Give an option its value, or each entry of one that takes several."""
        spec = _specs(self.command).get(name.replace("-", "_"), {}) if value is not None and not isinstance(value, str) else {}
        if spec.get("metavar") == "CRS":
            value = crs_of(value, name)
        elif spec.get("input") and not is_path(value):
            value = self.name(value, name)
        several = isinstance(value, (Mapping, list, tuple, set)) or np.ndim(value) > 0
        if several and spec and spec["type"] != "pairs" and " " not in spec.get("metavar", ""):
            raise usage(name, value, "one value")
        if isinstance(value, Mapping):
            entries = ["%s=%s" % (key, text_of(entry)) for key, entry in value.items()]
        elif several:
            entries = [text_of(entry) for entry in value]
        else:
            entries = [] if value is None else [os.fsdecode(value) if isinstance(value, bytes) else text_of(value)]
        if several and " " in spec.get("metavar", ""):  # W S E N
            entries = [",".join(entries)]
        for entry in entries:
            self.check(lib.sdm_set(self.handle, bytes_of(name, "name of an option", "a text"), bytes_of(entry, name)))

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
        path = path_of(source)
        if path is not None:
            return bytes_of(path, what)
        if not isinstance(source, (Dem, Stack)):
            return self.add(raster_of(source, what), "raster in memory" if isinstance(source, Raster) else what)
        time = source.report.get("scene", {}).get("acquisition_time_utc")
        name = self.add(Raster(source.height, source.transform, source.crs, None, source.vertical or None, time), what)
        mask = np.ascontiguousarray(source.mask, dtype=np.uint16)
        if mask.shape != np.shape(source.height):
            raise Error("%s: its mask is %s, its heights %s" % (what, mask.shape, np.shape(source.height)), "usage")
        self.check(lib.sdm_set_raster_mask(self.handle, name, mask.ctypes.data, 0))
        return name

    def view(self, source: Source, what: str) -> bytes:
        """The same of a view with its camera."""
        path = path_of(source)
        if path is not None:
            return bytes_of(path, what)
        image = image_of(source, what)
        samples = samples_of(image.samples, what)
        nodata = nodata_of(image.nodata, what, samples)
        unused = [hidden_of(image.samples), None if image.mask is None else array_of(image.mask, what + ": mask") == 0]
        for hidden in unused:
            samples = without(hidden, samples, 0 if nodata is None and samples.dtype.kind == "u" else nodata, what)
        name = self.add(Raster(samples, (0, 1, 0, 0, 0, 1), None, nodata), what)
        self.check(lib.sdm_set_raster_rpc(self.handle, name, ctypes.byref(self.camera(image, what))))
        return name

    def camera(self, image: Image, what: str) -> _library.Rpc:
        rpc = image.rpc
        if isinstance(rpc, RPC):
            return rpc._struct()
        if not isinstance(rpc, Mapping) and not callable(getattr(rpc, "to_dict", None)):
            raise usage(what + ": its rpc", rpc, "a stereodem.RPC, a rasterio.rpc.RPC, or GDAL's RPC metadata")
        try:
            return RPC.from_metadata(rpc)._struct()
        except Error as error:
            raise Error("%s: %s" % (what, error), error.status) from None

    def add(self, source: Raster, what: str) -> bytes:
        """Copy a raster to the library; its name there."""
        samples, hidden = samples_of(source.samples, what), hidden_of(source.samples)
        nodata = nodata_of(source.nodata, what, samples)
        samples = samples_of(without(hidden, samples, nodata, what), what)
        shape = _library.RasterShape(SAMPLES[samples.dtype], samples.shape[1], samples.shape[0],
                                     samples.strides[0] if samples.shape[0] > 1 else 0,
                                     (ctypes.c_double * 6)(*transform_of(source.transform, what)),
                                     None if source.crs is None and what.startswith("view") else bytes_of(crs_of(source.crs), "crs"),
                                     float("nan") if nodata is None else nodata)
        found = ctypes.c_char_p()
        self.check(lib.sdm_add_raster(self.handle, ctypes.byref(shape), samples.ctypes.data, ctypes.byref(found)))
        name = found.value or b""
        if source.vertical is not None:
            self.check(lib.sdm_set_raster_vertical(self.handle, name, bytes_of(source.vertical, "vertical", "a text")))
        if source.time:
            self.check(lib.sdm_set_raster_time(self.handle, name, str(source.time).replace(" ", "T").encode()))
        return name

    def take(self, side: int, image: Image) -> None:
        """Give the view its image, mask and camera."""
        what = ("left", "right")[side] + " image"
        samples = samples_of(image.samples, what)
        hidden = hidden_of(image.samples)
        nodata = nodata_of(image.nodata, what, samples)
        rows, cols = samples.shape
        self.kept.append(samples)
        self.check(lib.sdm_set_image(self.handle, side, SAMPLES[samples.dtype], samples.ctypes.data, cols, rows,
                                     samples.strides[0] if rows > 1 else 0))
        if nodata is not None:
            self.check(lib.sdm_set_image_nodata(self.handle, side, nodata))
        if image.mask is not None or hidden is not None:
            mask = np.ones(samples.shape, np.uint8) if image.mask is None else array_of(image.mask, what + ": mask")
            if mask.shape != samples.shape:
                raise Error("%s: its mask is %s, the image %s" % (what, mask.shape, samples.shape), "usage")
            mask = mask != 0
            mask = np.ascontiguousarray(mask if hidden is None else np.where(hidden, 0, mask), dtype=np.uint8)
            self.kept.append(mask)
            self.check(lib.sdm_set_image_mask(self.handle, side, mask.ctypes.data, 0))
        if image.rpc is not None:
            self.check(lib.sdm_set_rpc(self.handle, side, ctypes.byref(self.camera(image, what))))


def _sources(context: _Context, left: Source, right: Source, needs_camera: bool = True) -> Tuple[Optional[bytes], Optional[bytes]]:
    """Names for the library, or None and None after the context took the images."""
    named = [view is None or path_of(view) is not None for view in (left, right)]
    if all(named):
        return tuple(None if view is None else bytes_of(path_of(view), what)  # type: ignore[return-value]
                     for view, what in ((left, "left image"), (right, "right image")))
    images = [None if is_name else image_of(view, what, needs_camera)
              for is_name, view, what in zip(named, (left, right), ("left image", "right image"))]
    for side, image in enumerate(images):
        if image is None:
            raise Error("one view is in memory, the other is not; give two of a kind", "usage")
        context.take(side, image)
    return None, None


def _read_dem(context: _Context, dem: ctypes.c_void_p, layers: Sequence[Tuple[str, int, Any]]) -> Dict[str, Any]:
    """Layers, place, result and report of a DEM, by name."""
    rows, cols = lib.sdm_dem_rows(dem), lib.sdm_dem_cols(dem)
    transform = (ctypes.c_double * 6)()
    lib.sdm_dem_geotransform(dem, transform)
    page = lib.sdm_dem_report_html(dem).decode(errors="replace")
    found: Dict[str, Any] = {"transform": tuple(transform), "crs": lib.sdm_dem_crs(dem).decode(),
                             "vertical": lib.sdm_dem_vertical(dem).decode(), "result": context.result(),
                             "report": json.loads(lib.sdm_dem_report_json(dem).decode(errors="replace")), "report_html": page}
    for name, number, kind in layers:
        if lib.sdm_dem_has_layer(dem, number):
            found[name] = np.empty((rows, cols), dtype=kind)
            context.check(lib.sdm_dem_read(context.handle, dem, number, found[name].ctypes.data, 0))
    return found


@overload
def run(left: Source, right: Optional[Source] = None, *more: Source, output: None = None, progress: Optional[Progress] = None,
        cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[RunOptions]") -> Dem: ...


@overload
def run(left: Source, right: Optional[Source] = None, *more: Source, output: Path, progress: Optional[Progress] = None,
        cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[RunOptions]") -> Result: ...


def run(left: Source, right: Optional[Source] = None, *more: Source, output: Optional[Path] = None,
        progress: Optional[Progress] = None, cancel: Optional[Cancel] = None, log: Optional[Log] = None,
        **options: "Unpack[RunOptions]") -> Union[Dem, Result]:
    """Make a DEM.

    :param left: an ASTER scene, or the left image of a pair: a file, a dataset of rasterio, or an :class:`Image`
    :param right: the right image of a pair
    :param more: a third view and others, up to 32 in all, in any order
    :param output: the GeoTIFF to write, with its companions; None: the DEM is returned
    :param progress: called with the share done (0..1), the stage (1..9) and a phrase
    :param cancel: an Event, or a function that returns True, to stop: raises Error with status "stopped"
    :param log: called with the level of :mod:`logging` and the line
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
        made: Dem = _make(context, LAYERS, Dem, lib.sdm_make_dem, *names)
        return made


def _run_views(context: _Context, views: Tuple[Any, ...], output: Optional[Path]) -> Union[Dem, Result]:
    names = (ctypes.c_char_p * len(views))(*(context.view(view, "view %d" % (k + 1)) for k, view in enumerate(views)))
    if output is not None:
        context.check(lib.sdm_run_views(context.handle, names, len(views)))
        return context.result()
    made: Dem = _make(context, LAYERS, Dem, lib.sdm_make_dem_views, names, len(views))
    return made


def _make(context: _Context, layers: Sequence[Tuple[str, int, Any]], kind: Any, function: Any, *arguments: Any) -> Any:
    """What a function of the library makes in memory."""
    dem = ctypes.c_void_p()
    try:
        context.check(function(context.handle, *arguments, ctypes.byref(dem)))
        return kind(**_read_dem(context, dem, layers))
    finally:
        lib.sdm_dem_close(ctypes.byref(dem))


def info(left: Source, right: Optional[Source] = None, *, log: Optional[Log] = None, **options: "Unpack[InfoOptions]") -> Result:
    """Describe a scene: sensor, overlap, grid of the DEM, expected memory and time.  Matches nothing.

    :raises Error: with one sentence
    """
    with _Context("info", options, log=log) as context:
        context.check(lib.sdm_info(context.handle, *_sources(context, left, right)))
        return context.result()


def compare(dem: Heights, reference: Heights, *, progress: Optional[Progress] = None, cancel: Optional[Cancel] = None,
            log: Optional[Log] = None, **options: "Unpack[CompareOptions]") -> Result:
    """Error statistics of a DEM against a reference, metres: "raw", and "aligned" after co-registration.

    Both are files, or in memory: what :func:`run` or :func:`stack` returned, a dataset of rasterio, a DataArray with rio, a
    raster of xdem, or a :class:`Raster`.

    :raises Error: with one sentence
    """
    with _Context("compare", options, progress, cancel, log) as context:
        context.check(lib.sdm_compare(context.handle, context.name(dem, "DEM"), context.name(reference, "reference")))
        return context.result()


@overload
def stack(dems: Sequence[Heights], *, output: None = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[StackOptions]") -> Stack: ...


@overload
def stack(dems: Sequence[Heights], *, output: Path, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[StackOptions]") -> Result: ...


def stack(dems: Sequence[Heights], *, output: Optional[Path] = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[StackOptions]") -> Union[Stack, Result]:
    """Combine DEMs of one place: median, NMAD and count of each cell; with ``trend=True`` a line through its heights by date.

    :param dems: files, or in memory, as :func:`compare` takes them
    :param output: the GeoTIFF to write, with its companions; None: the stack is returned
    :raises Error: with one sentence
    """
    if is_path(dems) or isinstance(dems, (Raster, Dem, Stack)):
        raise Error("found one DEM, expected a list of them", "usage")
    if not isinstance(dems, collections.abc.Sequence):
        raise Error("found %s, expected a list of DEMs" % type(dems).__name__, "usage")
    with _Context("stack", dict(options, output=output), progress, cancel, log) as context:
        names = (ctypes.c_char_p * len(dems))(*[context.name(dem, "DEM %d" % (k + 1)) for k, dem in enumerate(dems)])
        if output is not None:
            context.check(lib.sdm_stack(context.handle, names, len(dems)))
            return context.result()
        made: Stack = _make(context, STACK_LAYERS, Stack, lib.sdm_make_stack, names, len(dems))
        return made


@overload
def match(left: Image, right: Image, *, output: None = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None,
          **options: "Unpack[MatchOptions]") -> npt.NDArray[np.float32]: ...


@overload
def match(left: Path, right: Path, *, output: Path, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None, **options: "Unpack[MatchOptions]") -> Result: ...


def match(left: Source, right: Source, *, output: Optional[Path] = None, progress: Optional[Progress] = None,
          cancel: Optional[Cancel] = None, log: Optional[Log] = None,
          **options: "Unpack[MatchOptions]") -> Union[npt.NDArray[np.float32], Result]:
    """Disparities of a rectified pair, x_right = x_left - d.

    Two arrays, or :class:`Image`, give an array of the left image's size (divided by ``downscale``), NaN where there is no match;
    files give the file ``output``.

    :raises Error: with one sentence
    """
    with _Context("match", dict(options, output=output), progress, cancel, log) as context:
        names = _sources(context, left, right, False)
        if names != (None, None):
            context.check(lib.sdm_match(context.handle, *names))
            return context.result()
        if output is not None:
            raise Error("images in memory make disparities in memory; leave output out", "usage")
        factor = int(float(str(options.get("downscale") or 1)))
        rows, cols = samples_of(image_of(left, "left image", False).samples, "left image").shape
        disparity = np.full((rows // factor, cols // factor), np.nan, dtype=np.float32)
        context.check(lib.sdm_match_images(context.handle, disparity.ctypes.data, 0))
        return disparity


def options(command: str) -> List[Dict[str, Any]]:
    """The options of "run", "info", "compare", "stack" or "match": name, type, range, default and help of each."""
    return [dict(o) for o in _specs(command).values()]


def _default(spec: Dict[str, Any]) -> Any:
    """What a signature shows; None where the default is no value but words."""
    text = spec["default"]
    if spec["type"] == "switch":
        return False
    if spec["type"] == "choice":
        return text if text in spec["choices"] else None
    return int(text) if spec["type"] == "integer" and text.isdigit() else None


def _describe(function: Any) -> None:
    """The signature and the text of a command's function, with the options of the library that is loaded: completion and
    help() show them."""
    given = inspect.signature(function)
    types = getattr(_options, function.__name__.capitalize() + "Options").__annotations__
    fixed = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    lines, more = [], []
    for name, spec in _specs(function.__name__).items():
        if name in given.parameters:
            continue
        word = name + "_" * (name in ("class", "from", "in", "is"))
        more.append(inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=_default(spec), annotation=types.get(word, Any)))
        lines.append("    :param %s: %s, default: %s. %s" % (word, spec["range"], spec["default"], spec["help"]))
    function.__signature__ = given.replace(parameters=fixed + more)
    text = inspect.cleandoc(function.__doc__ or "")
    function.__doc__ = text.replace("\n:raises", "\n" + "\n".join(line.strip() for line in lines) + "\n:raises")


for _function in (run, info, compare, stack, match):
    _describe(_function)
for _class in (Dem, Error, Image, RPC, Raster, Stack):
    _class.__module__ = __name__  # what messages and pickles call them

__all__ = ["Dem", "Error", "Image", "RPC", "Raster", "Stack", "compare", "info", "match", "options", "run", "stack"]
