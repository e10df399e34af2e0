# Spack's recipe of cJSON, which stereodem needs.
# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Cjson(CMakePackage):
    """JSON parser in C."""

    homepage = "https://github.com/DaveGamble/cJSON"
    git = "https://github.com/DaveGamble/cJSON.git"
    license("MIT", checked_by="stereodem")

    version("1.7.18", tag="v1.7.18")

    depends_on("c", type="build")

    def cmake_args(self):
        return ["-DENABLE_CJSON_TEST=OFF"]
