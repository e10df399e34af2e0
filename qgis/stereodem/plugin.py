# The provider of the algorithms, and the setting that names the program.
# SPDX-License-Identifier: Apache-2.0
import os

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.PyQt.QtGui import QIcon
from qgis.core import Qgis, QgsApplication, QgsMessageLog, QgsProcessingProvider

from .algorithms import COMMANDS, CommandAlgorithm
from .program import Program, ProgramError

SETTING = "STEREODEM_PROGRAM"


class StereodemProvider(QgsProcessingProvider):
    """One algorithm for each command; its parameters come from the program's own table of options."""

    def id(self):
        return "stereodem"

    def name(self):
        return "stereodem"

    def longName(self):
        return "stereodem: DEMs from stereo pairs"

    def icon(self):
        return QIcon(os.path.join(os.path.dirname(__file__), "icon.png"))

    def supportedOutputRasterLayerExtensions(self):
        return ["tif"]

    def load(self):
        ProcessingConfig.settingIcons[self.name()] = self.icon()
        ProcessingConfig.addSetting(Setting(self.name(), SETTING, "Program stereodem (empty: it is looked for)", ""))
        ProcessingConfig.readSettings()
        self.refreshAlgorithms()
        return True

    def unload(self):
        ProcessingConfig.removeSetting(SETTING)

    def loadAlgorithms(self):
        program = Program(ProcessingConfig.getSetting(SETTING))
        try:
            for command in COMMANDS:
                self.addAlgorithm(CommandAlgorithm(program, program.describe(command)))
        except ProgramError as error:
            QgsMessageLog.logMessage(str(error), "stereodem", Qgis.MessageLevel.Warning)


class StereodemPlugin:
    """What QGIS loads."""

    def __init__(self):
        self.provider = None

    def initProcessing(self):
        self.provider = StereodemProvider()
        QgsApplication.processingRegistry().addProvider(self.provider)

    def initGui(self):
        self.initProcessing()

    def unload(self):
        if self.provider:
            QgsApplication.processingRegistry().removeProvider(self.provider)
