# The program stereodem as algorithms of QGIS's Processing toolbox.
# SPDX-License-Identifier: Apache-2.0


def classFactory(iface):
    from .plugin import StereodemPlugin
    return StereodemPlugin()
