#!/bin/bash
# The wheel of scripts/portable in a fresh environment: beside other packages that bring GDAL, PROJ and OpenMP in one process, in
# each order, in either scope of names; from threads, from processes that are spawned, and as a program.
#   tests/portable/wheel.sh PROGRAM SOURCE
# Exit code 77 where no wheel was built, or where the other packages cannot be had.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source_dir=$2
. "$source_dir/tests/portable/lib.sh"
built "stereodem-*_$(uname -m).whl" "linux-$(uname -m)"
wheel=$built
others=${SDM_PORTABLE_CACHE:-$HOME/.cache/stereodem-portable}/wheels-$(python3 -c "import sys; print(*sys.version_info[:2], sep=str())")
packages=(numpy rasterio pyproj scikit-learn intel-openmp)
python3 -m venv "$work/env"
if [ ! -d "$others" ]; then
    "$work/env/bin/pip" download -q --only-binary :all: -d "$others.part" "${packages[@]}" && mv "$others.part" "$others" ||
        skip "${packages[*]} cannot be had here"
fi
"$work/env/bin/pip" install -q --no-index --find-links "$others" "$wheel" "${packages[@]}"
cd "$work"
scene=$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip
env/bin/stereodem --version | head -1
env/bin/stereodem run "$scene" -o program.tif --quiet
env/bin/python -m stereodem run "$scene" -o module.tif --quiet
"$1" run "$scene" -o release.tif --quiet
same program.tif release.tif
same module.tif release.tif
env/bin/python "$source_dir/tests/portable/wheel_beside.py" "$scene" release.tif
echo "wheel: $(basename "$wheel"), $(stat -c %s "$wheel") bytes"
