# Spack's recipe of stereodem.
# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Stereodem(CMakePackage):
    """Digital elevation models from stereo satellite images: ASTER level 1A and any pair with RPC cameras."""

    homepage = "@HOMEPAGE@"
    url = "@HOMEPAGE@/releases/stereodem-@VERSION@.tar.xz"
    license("Apache-2.0", checked_by="stereodem")

    version("@VERSION@", sha256="@SHA256@")

    variant("python", default=False, description="The Python module")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("gdal@3.4: +hdf4")
    depends_on("proj@7.2:")
    depends_on("cjson@1.7:")
    depends_on("python@3.8:", when="+python", type="run")
    depends_on("py-numpy@1.20:", when="+python", type="run")

    def cmake_args(self):
        folder = "python" if "+python" in self.spec else "share/stereodem/python"
        return ["-DBUILD_TESTING=OFF", "-DBUILD_SHARED_LIBS=ON", "-DSDM_PYTHON_FOLDER=" + folder]

    def setup_run_environment(self, env):
        if "+python" in self.spec:
            env.prepend_path("PYTHONPATH", self.prefix.python)
            env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
