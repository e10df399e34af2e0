"""A DEM and a stack in memory: layers, place, report; what notebooks and other libraries make of them."""
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html
import importlib
import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._values import Error, Path

Result = Dict[str, Any]
Transform = Tuple[float, float, float, float, float, float]
Floats = npt.NDArray[np.float32]
Counts = npt.NDArray[np.uint16]

# name, number in the library, type
LAYERS = (("height", 0, np.float32), ("score", 1, np.float32), ("ray_error", 2, np.float32), ("spread", 3, np.float32),
          ("ortho", 4, np.float32), ("count", 5, np.uint16), ("mask", 6, np.uint16), ("reason", 7, np.uint16),
          ("predicted_error", 8, np.float32), ("change", 9, np.float32), ("left_out", 10, np.float32), ("pairs", 11, np.uint16))
STACK_LAYERS = (("height", 0, np.float32), ("nmad", 3, np.float32), ("count", 5, np.uint16), ("mask", 6, np.uint16),
                ("reason", 7, np.uint16), ("rate", 12, np.float32), ("rate_error", 13, np.float32), ("dates", 14, np.float32),
                ("span", 15, np.float32), ("trend_nmad", 16, np.float32))


def _other(name: str, wish: str) -> Any:
    """A library that we can do without."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Error("%s needs the Python package %s; install it with pip" % (wish, name), "unsupported") from None


class _Product:
    """What a DEM and a stack have in common."""

    height: Floats
    transform: Transform
    crs: str
    vertical: str
    report: Result
    report_html: str

    def layers(self) -> Dict[str, npt.NDArray[Any]]:
        """Its arrays by name, the height first."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def to_xarray(self) -> Any:
        """An ``xarray.Dataset`` of all layers; x and y are the centres of the cells.  With rioxarray it knows its CRS."""
        xarray = _other("xarray", "to_xarray()")
        x0, dx, _, y0, _, dy = self.transform
        rows, cols = self.height.shape
        coords = {"y": y0 + dy * (np.arange(rows) + 0.5), "x": x0 + dx * (np.arange(cols) + 0.5)}
        found = xarray.Dataset({name: (("y", "x"), value) for name, value in self.layers().items()}, coords,
                               {"vertical": self.vertical, "crs_wkt": self.crs})
        try:
            importlib.import_module("rioxarray")
        except ImportError:
            return found
        return found.rio.write_crs(self.crs)

    def to_xdem(self) -> Any:
        """An ``xdem.DEM`` of the heights."""
        xdem, affine = _other("xdem", "to_xdem()"), _other("affine", "to_xdem()")
        datum = {"ellipsoid": "Ellipsoid", "egm96": "EGM96", "egm2008": "EGM08"}.get(self.vertical)
        pyproj = _other("pyproj", "to_xdem()")
        return xdem.DEM.from_array(self.height, affine.Affine.from_gdal(*self.transform), pyproj.CRS.from_user_input(self.crs),
                                   -9999.0, vcrs=datum)

    def save(self, path: Path) -> None:
        """Write the heights (``.tif``, by rasterio) or the report (``.html``, ``.json``).  The files of a run, with overviews,
        styles and the QA raster, are what ``run(..., output=path)`` writes."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1].lower()
        if not os.path.isdir(os.path.dirname(name) or "."):
            raise Error("path: found %.80r, expected a folder that exists; make it before" % (path,), "usage")
        if ending in (".html", ".json"):
            with open(name, "w", encoding="utf-8") as file:
                file.write(self.report_html if ending == ".html" else json.dumps(self.report, indent=1))
        elif ending in (".tif", ".tiff"):
            rasterio, affine = _other("rasterio", "save()"), _other("affine", "save()")
            rows, cols = self.height.shape
            with rasterio.open(name, "w", driver="GTiff", width=cols, height=rows, count=1, dtype="float32", crs=self.crs, nodata=-9999.0,
                               transform=affine.Affine.from_gdal(*self.transform), compress="deflate", predictor=3, tiled=True) as out:
                out.write(np.where(np.isnan(self.height), np.float32(-9999), self.height), 1)
                out.update_tags(VERTICAL_DATUM={"ellipsoid": "WGS 84 ellipsoid"}.get(self.vertical, self.vertical.upper()))
        else:
            raise Error("path: found %.80r, expected a name that ends in .tif, .html or .json" % (path,), "usage")

    def __repr__(self) -> str:
        rows, cols = self.height.shape
        return "<stereodem.%s %d x %d, %g %% with heights above %s, layers %s>" % (
            type(self).__name__, cols, rows, round(100.0 * float(np.isfinite(self.height).mean()), 1), self.vertical or "an unknown datum",
            ", ".join(self.layers()))

    def _repr_html_(self) -> str:
        """The report, for notebooks."""
        return '<iframe srcdoc="%s" style="width:100%%;height:600px;border:0"></iframe>' % html.escape(self.report_html)


@dataclass(repr=False)
class Dem(_Product):
    """A DEM in memory; every array is rows x columns, the first row is the northernmost, with the values of the files.

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
    :ivar reason: why a cell has no height, or how it got it
    :ivar predicted_error: standard error of a height, metres
    :ivar change: height minus reference, metres; None without a reference
    :ivar left_out: 1 where the fit to the reference left the cell out; None without a reference
    :ivar pairs: pairs whose heights agree; None unless three views or more were given
    :ivar report: the figures of the report, as in NAME.json
    :ivar report_html: the report as a page
    """

    height: Floats
    score: Floats
    ray_error: Floats
    spread: Floats
    ortho: Floats
    count: Counts
    mask: Counts
    transform: Transform
    crs: str
    vertical: str
    result: Result
    reason: Optional[Counts] = None
    predicted_error: Optional[Floats] = None
    change: Optional[Floats] = None
    left_out: Optional[Floats] = None
    pairs: Optional[Counts] = None
    report: Result = field(default_factory=dict)
    report_html: str = ""


@dataclass(repr=False)
class Stack(_Product):
    """Several DEMs as one, in memory; every array is rows x columns, the first row is the northernmost.

    :ivar height: median of the DEMs, metres above the datum of the option ``vertical``; NaN = none
    :ivar nmad: NMAD of the heights in a cell, metres; NaN where there is one
    :ivar count: DEMs that have a height
    :ivar mask: bits of the QA mask
    :ivar transform: GDAL's geotransform
    :ivar crs: horizontal CRS as WKT
    :ivar vertical: "ellipsoid", "egm96", "egm2008", or "" where the DEMs do not say
    :ivar result: "dems" with the shift and the NMAD of each, memory
    :ivar reason: why a cell has no height, or how it got it
    :ivar rate: metres a year, by a robust line through the heights; None without ``trend=True``, as the four below
    :ivar rate_error: standard error of the rate, metres a year
    :ivar dates: dates that count
    :ivar span: years from the first of them to the last
    :ivar trend_nmad: NMAD of the heights about the line, metres
    :ivar report: the figures of the report, as in NAME.json
    :ivar report_html: the report as a page
    """

    height: Floats
    nmad: Floats
    count: Counts
    mask: Counts
    transform: Transform
    crs: str
    vertical: str
    result: Result
    reason: Optional[Counts] = None
    rate: Optional[Floats] = None
    rate_error: Optional[Floats] = None
    dates: Optional[Floats] = None
    span: Optional[Floats] = None
    trend_nmad: Optional[Floats] = None
    report: Result = field(default_factory=dict)
    report_html: str = ""
