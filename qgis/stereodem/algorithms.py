# A command of the program and its table of options -> an algorithm of the Processing toolbox.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re

from qgis.core import (Qgis, QgsCoordinateReferenceSystem, QgsProcessing, QgsProcessingAlgorithm,
                       QgsProcessingContext, QgsProcessingException, QgsProcessingLayerPostProcessorInterface, QgsProcessingOutputHtml,
                       QgsProcessingOutputNumber, QgsProcessingOutputRasterLayer, QgsProcessingOutputString,
                       QgsProcessingParameterBoolean, QgsProcessingParameterCrs, QgsProcessingParameterDefinition,
                       QgsProcessingParameterEnum, QgsProcessingParameterExtent, QgsProcessingParameterFile,
                       QgsProcessingParameterFileDestination, QgsProcessingParameterMapLayer,
                       QgsProcessingParameterMultipleLayers, QgsProcessingParameterNumber,
                       QgsProcessingParameterRasterDestination, QgsProcessingParameterRasterLayer, QgsProcessingParameterString,
                       QgsVectorLayer)

from .program import ProgramError

COMMANDS = ("run", "info", "compare", "stack", "match")
FOLDER = getattr(Qgis, "ProcessingFileParameterBehavior", QgsProcessingParameterFile).Folder
TITLES = {"run": "Make a DEM of a scene, a pair or several views", "info": "Describe a scene or a pair", "compare": "Compare a DEM with a reference",
          "stack": "Stack DEMs of one place", "match": "Match a rectified pair"}
# The algorithm has its own output, log and progress; a file that was chosen as output is replaced.
OWN = ("output", "overwrite", "quiet", "verbose", "log", "json")
SHOWN = ("output", "tr", "t_srs", "vertical", "reference", "class", "mask", "exclude", "aligned", "difference", "align", "max_disparity", "min_disparity")
COMPANIONS = (("QA", "_qa.tif", "reasons"), ("CHANGE", "_change.tif", "height minus reference"))


class DefaultStyle(QgsProcessingLayerPostProcessorInterface):
    """Gives a loaded layer the style beside its file."""

    kept = []  # QGIS does not own them

    @staticmethod
    def create():
        style = DefaultStyle()
        DefaultStyle.kept.append(style)
        return style

    def postProcessLayer(self, layer, context, feedback):
        layer.loadDefaultStyle()
        layer.triggerRepaint()


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def is_output(option):
    return option.get("metavar", "").startswith("FILE.")


def label_of(option):
    """The first words of the help, or the name where these are many."""
    of, words = re.match(r"(sgm: |bp: |Sequences: )?([^.:;,(]*)", option["help"]).groups()
    words = words.strip()
    plain = option["name"].replace("_", " ")
    return (of or "") + words[:1].upper() + words[1:] if 5 < len(words) <= 60 else plain[:1].upper() + plain[1:]


def parameter(option):
    """The parameter of an option; one that is left alone is not given to the program."""
    name, kind, metavar, label = option["name"].upper(), option["type"], option.get("metavar", ""), label_of(option)
    if kind == "switch":
        made = QgsProcessingParameterBoolean(name, label, False, True)
    elif kind == "choice":
        choices = [c.split("[")[0] for c in option["choices"]]
        made = QgsProcessingParameterEnum(name, label, choices, False, option["default"] if option["default"] in choices else None,
                                          True, True)
    elif kind in ("integer", "number"):
        low, high = (option.get(k, d) for k, d in (("lowest", -1.7e308), ("highest", 1.7e308)))
        whole = kind == "integer"
        if whole:
            low, high = max(low, -2147483647), min(high, 2147483647)
        made = QgsProcessingParameterNumber(name, label, QgsProcessingParameterNumber.Integer if whole else
                                            QgsProcessingParameterNumber.Double, number(option["default"]), True, low, high)
    elif is_output(option) and metavar.endswith(".tif"):
        made = QgsProcessingParameterRasterDestination(name, label, None, True, False)
    elif is_output(option):
        made = QgsProcessingParameterFileDestination(name, label, "*" + metavar[4:], None, True, False)
    elif option.get("areas"):
        made = QgsProcessingParameterMapLayer(name, label, None, True, [QgsProcessing.TypeRaster, QgsProcessing.TypeVectorPolygon])
    elif option.get("input") and metavar == "FILE":
        made = QgsProcessingParameterRasterLayer(name, label, None, True)
    elif metavar == "FILE":
        made = QgsProcessingParameterFile(name, label, optional=True)
    elif metavar == "W S E N":
        made = QgsProcessingParameterExtent(name, label, None, True)
    elif metavar == "CRS":
        made = QgsProcessingParameterCrs(name, label, None, True)
    else:
        made = QgsProcessingParameterString(name, label, None, kind == "pairs", True)
    if option["name"] not in SHOWN:
        made.setFlags(made.flags() | QgsProcessingParameterDefinition.FlagAdvanced)
    made.setHelp("%s Default: %s." % (option["help"], option["default"]))
    return made


class CommandAlgorithm(QgsProcessingAlgorithm):
    """A command of the program."""

    def __init__(self, program, table):
        super().__init__()
        self.program, self.table, self.command = program, table, table["command"]

    def createInstance(self):
        return CommandAlgorithm(self.program, self.table)

    def name(self):
        return self.command

    def displayName(self):
        return TITLES[self.command]

    def shortDescription(self):
        return self.table["summary"]

    def shortHelpString(self):
        return self.table["description"]

    def options(self):
        own = [name for name in OWN if name != "output" or self.command != "compare"]  # there it is the report
        return [o for o in self.table["options"] if o["name"] not in own]

    def initAlgorithm(self, configuration=None):
        if self.command in ("run", "info", "match"):
            first = "Left image" if self.command == "match" else "Scene, or left image of a pair"
            self.addParameter(QgsProcessingParameterFile("LEFT", first, optional=self.command != "match"))
            self.addParameter(QgsProcessingParameterFile("RIGHT", "Right image of a pair", optional=self.command != "match"))
            if self.command != "match":
                for side in ("LEFT", "RIGHT"):
                    label = "... or the folder of its product (DIMAP, WorldView, ASTER V003): %s" % side.lower()
                    self.addParameter(QgsProcessingParameterFile(side + "_FOLDER", label, FOLDER, optional=True))
            if self.command == "run":
                more = "Third view and others: images with RPC, or folders of products, one a line"
                self.addParameter(QgsProcessingParameterString("MORE", more, None, True, True))
        elif self.command == "compare":
            self.addParameter(QgsProcessingParameterRasterLayer("DEM", "DEM"))
            self.addParameter(QgsProcessingParameterMapLayer("REFERENCE", "Reference: a DEM, or points with heights", None, False,
                                                             [QgsProcessing.TypeRaster, QgsProcessing.TypeVector]))
        else:
            self.addParameter(QgsProcessingParameterMultipleLayers("DEMS", "DEMs", QgsProcessing.TypeRaster))
        for option in self.options():
            self.addParameter(parameter(option))
        if self.command in ("run", "stack", "match"):
            self.addParameter(QgsProcessingParameterRasterDestination("OUTPUT", "Disparities" if self.command == "match" else "DEM"))
        if self.command in ("run", "stack"):
            for name, _, words in COMPANIONS[:2 if self.command == "run" else 1]:
                self.addOutput(QgsProcessingOutputRasterLayer(name, words.capitalize()))
            self.addOutput(QgsProcessingOutputHtml("REPORT", "Report"))
        if self.command == "compare":
            for name in ("BIAS", "NMAD", "RMSE", "LE90"):
                self.addOutput(QgsProcessingOutputNumber(name, name + " after alignment (m)"))
        self.addOutput(QgsProcessingOutputString("RESULT", "Result (JSON)"))

    # ---- the command line ----

    def file_of(self, layer, name):
        if layer is None:
            raise QgsProcessingException("%s: no layer, and no file that can be opened as one." % name)
        return layer.source().split("|")[0]

    def areas(self, parameters, name, context):
        """The file of a raster, or of polygons as the layer shows them: one of several layers, or filtered ones, are copied."""
        layer = self.parameterAsLayer(parameters, name, context)
        if not isinstance(layer, QgsVectorLayer):
            return self.file_of(layer, name)
        formats = ["gpkg", "shp", "geojson", "json", "gml", "kml", "fgb"]
        return self.parameterAsCompatibleSourceLayerPath(parameters, name, context, formats, "gpkg")

    def inputs(self, parameters, context):
        if self.command == "compare":
            return [self.file_of(self.parameterAsRasterLayer(parameters, "DEM", context), "DEM"),
                    self.file_of(self.parameterAsLayer(parameters, "REFERENCE", context), "REFERENCE")]
        if self.command == "stack":
            return [self.file_of(l, "DEMS") for l in self.parameterAsLayerList(parameters, "DEMS", context)]
        views = [self.view(side, parameters, context) for side in ("LEFT", "RIGHT")]
        if not views[0]:
            raise QgsProcessingException("LEFT: no image, and no folder of a product; give one of them.")
        more = self.parameterAsString(parameters, "MORE", context) if self.command == "run" else ""
        return [view for view in views + [line.strip() for line in more.split("\n")] if view]

    def view(self, side, parameters, context):
        """The image of a side, or the folder of its product."""
        names = [side] + [side + "_FOLDER"] * (self.command != "match")
        given = [name for name in (self.parameterAsFile(parameters, n, context) for n in names) if name]
        if len(given) > 1:
            raise QgsProcessingException("%s: found an image and a folder, expected one of them." % side)
        return given[0] if given else ""

    def value(self, option, parameters, context):
        """The value of an option as text; None: not given."""
        name, kind = option["name"].upper(), option["type"]
        made = self.parameterDefinition(name)
        if parameters.get(name) in (None, ""):
            return None
        if kind == "choice":
            text = self.parameterAsEnumString(parameters, name, context)
            return None if text == made.defaultValue() else text
        if kind == "integer":
            text = str(self.parameterAsInt(parameters, name, context))
        elif kind == "number":
            text = repr(self.parameterAsDouble(parameters, name, context))
        elif isinstance(made, QgsProcessingParameterMapLayer):
            return self.areas(parameters, name, context)
        elif isinstance(made, QgsProcessingParameterRasterLayer):
            return self.file_of(self.parameterAsRasterLayer(parameters, name, context), name)
        elif isinstance(made, QgsProcessingParameterExtent):
            box = self.parameterAsExtent(parameters, name, context, QgsCoordinateReferenceSystem("EPSG:4326"))
            return ",".join(repr(v) for v in (box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum()))
        elif isinstance(made, QgsProcessingParameterCrs):
            crs = self.parameterAsCrs(parameters, name, context)
            return crs.authid() or crs.toWkt()
        elif isinstance(made, (QgsProcessingParameterRasterDestination, QgsProcessingParameterFileDestination)):
            raster = isinstance(made, QgsProcessingParameterRasterDestination)
            return (self.parameterAsOutputLayer if raster else self.parameterAsFileOutput)(parameters, name, context)
        else:
            return self.parameterAsString(parameters, name, context)
        return None if made.defaultValue() is not None and float(text) == made.defaultValue() else text

    def command_line(self, parameters, context):
        words, outputs = [self.command], {}
        for option in self.options():
            switch = "--" + (option["name"] if option["name"] == "t_srs" else option["name"].replace("_", "-"))
            if option["type"] == "switch":
                words += [switch] if self.parameterAsBool(parameters, option["name"].upper(), context) else []
                continue
            text = self.value(option, parameters, context)
            if text is None:
                continue
            for entry in text.split("\n") if option["type"] == "pairs" else [text]:
                words += [switch + "=" + entry.strip()] if entry.strip() else []
            if is_output(option):
                outputs[option["name"].upper()] = text
        if self.command in ("run", "stack", "match"):
            outputs["OUTPUT"] = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
            words += ["-o", outputs["OUTPUT"]]
        words += ["--overwrite"] if outputs else []
        return words + ["--"] + self.inputs(parameters, context), outputs

    # ---- the work ----

    def processAlgorithm(self, parameters, context, feedback):
        words, outputs = self.command_line(parameters, context)
        feedback.pushCommandInfo("stereodem " + " ".join(words))

        def on_event(event):
            if event.get("event") == "progress":
                feedback.setProgress(100.0 * event.get("done", 0.0))
                feedback.setProgressText(event.get("message", ""))
            elif event.get("level") == "warning":
                feedback.pushWarning(event.get("message", ""))
            else:
                feedback.pushInfo(event.get("message", ""))

        try:
            summary = self.program.run(words, on_event, feedback.isCanceled)
        except ProgramError as error:
            if feedback.isCanceled():
                feedback.pushInfo(str(error))
                return {}
            raise QgsProcessingException(str(error)) from None
        for key in ("event", "command", "status", "exit_code"):
            summary.pop(key, None)
        feedback.setProgress(100)
        feedback.pushInfo(json.dumps(summary, indent=1))
        return self.results(outputs, summary, context)

    def results(self, outputs, summary, context):
        results = dict(outputs, RESULT=json.dumps(summary))
        for name, path in outputs.items():
            if context.willLoadLayerOnCompletion(path):
                context.layerToLoadOnCompletionDetails(path).setPostProcessor(DefaultStyle.create())
        dem = outputs.get("OUTPUT")
        if self.command in ("run", "stack"):
            stem = os.path.splitext(dem)[0]
            results["REPORT"] = stem + ".html"
            for name, ending, words in COMPANIONS:
                if not os.path.exists(stem + ending):
                    continue
                results[name] = stem + ending
                if context.willLoadLayerOnCompletion(dem):
                    title = "%s: %s" % (os.path.basename(stem), words)
                    details = QgsProcessingContext.LayerDetails(title, context.project(), name)
                    details.setPostProcessor(DefaultStyle.create())
                    context.addLayerToLoadOnCompletion(stem + ending, details)
        if self.command == "compare":
            aligned = summary.get("aligned") or {}
            results.update({name: aligned.get(name.lower()) for name in ("BIAS", "NMAD", "RMSE", "LE90")})
        return results
