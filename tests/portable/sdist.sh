#!/bin/bash
# The source distribution holds what is built from it and no more, and `pip install .` of it makes a program and a module that
# make the sample of the release build.
#   tests/portable/sdist.sh PROGRAM SOURCE
# Exit code 77 where pip cannot reach what the build requires.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
release=$1 source_dir=$2
. "$source_dir/tests/portable/lib.sh"
export PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_WAIT_POLICY=passive
python3 -m venv "$work/env" && "$work/env/bin/pip" install -q build 'scikit-build-core>=0.10' numpy ||
    skip "pip cannot reach build, scikit-build-core and numpy"
mkdir "$work/tree"
git -C "$source_dir" ls-files -z | (cd "$source_dir" && xargs -0 tar -cf - --no-recursion) | tar -xf - -C "$work/tree"
mkdir -p "$work/tree/build/release"
echo rest >"$work/tree/build/release/rest"
"$work/env/bin/python" -m build --sdist --no-isolation -o "$work/out" "$work/tree" >"$work/log" 2>&1 || fail "sdist: $(tail -3 "$work/log")"
archive=$(ls "$work"/out/*.tar.gz)
version=$("$release" --version | head -1 | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)
[ "$(basename "$archive")" = "stereodem-$version.tar.gz" ] || fail "$archive is not of version $version"
[ -z "$(tar -tzf "$archive" | grep -E '/(build|\.ci|\.git)/|/lab/notebook/|\.pyc$' || true)" ] || fail "the sdist holds what is not a source"
tar -xzf "$archive" -C "$work/out"
cd "$work/out/stereodem-$version"
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) "$work/env/bin/pip" install -q --no-build-isolation . >"$work/log" 2>&1 || fail "pip install .: $(tail -3 "$work/log")"
cd "$work"
scene=$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip
"$release" run "$scene" -o release.tif --quiet
env/bin/stereodem run "$scene" -o program.tif --quiet
env/bin/python -c 'import stereodem, sys; stereodem.run(sys.argv[1], output="module.tif", log=lambda *_: None)' "$scene"
same program.tif release.tif
same module.tif release.tif
echo "sdist: $(basename "$archive"), $(stat -c %s "$archive") bytes, by pip install it makes the bytes of the release build"
