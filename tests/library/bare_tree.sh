#!/bin/bash
# Installs the packages in a bare Debian tree, as the Apptainer definition does, and tries what they give: the program, the
# Python module, C programs by pkg-config and by CMake; then removes them.
#   tests/library/bare_tree.sh PACKAGES [TREE]        PACKAGES: folder of the .deb files; TREE: of debootstrap, kept
# Needs root, debootstrap and a mirror of Debian; exit code 77 where one is absent.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$(cd "${1:?usage: bare_tree.sh PACKAGES [TREE]}" && pwd)
tree=${2:-}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")

skip() {
    echo "SKIPPED: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "not root"
command -v debootstrap >/dev/null || skip "no debootstrap"
chroot / true 2>/dev/null || skip "chroot is not allowed here"
[ -n "$(ls "$packages"/*.deb 2>/dev/null)" ] || skip "no packages in $packages"
log=$(mktemp)
if [ -z "$tree" ]; then
    tree=$(mktemp -d)
    trap 'rm -rf "$tree" "$log"' EXIT
fi
if [ ! -x "$tree/usr/bin/apt-get" ]; then
    debootstrap --variant=minbase "$release" "$tree" "$mirror" >"$log" 2>&1 || { tail -3 "$log"; skip "debootstrap failed"; }
fi

rm -rf "$tree/try"
mkdir -p "$tree/try/debs"
cp "$packages"/*.deb "$tree/try/debs"
cp "$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip" "$tree/try/scene.zip"
cp "$source_dir/tests/library/CMakeLists.txt" "$source_dir/tests/cli/external.c" "$source_dir/examples/dem_from_arrays.c" "$tree/try"
sed -i 's|\${CMAKE_CURRENT_SOURCE_DIR}/../cli/||; /external_static/,/^endif/d; /TARGET stereodem::static/d' "$tree/try/CMakeLists.txt"
rm -rf "$tree/packages"
cp -r "$packages" "$tree/packages"
section() { # of the definition
    awk -v name="%$1" '/^%/ {inside = $1 == name; next} inside' "$source_dir/job-templates/containers/stereodem.def"
}
section post >"$tree/try/post"
section test >"$tree/try/test"
[ -s "$tree/try/post" ] && [ -s "$tree/try/test" ] || { echo "FAILED: no %post or no %test in stereodem.def"; exit 1; }
cat >"$tree/try/run" <<'E2'
set -eux
cd /try
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
sh -eux post
sh -eux test
apt-get -q update
apt-get -q -y --no-install-recommends install ./debs/libstereodem-dev_*.deb
stereodem run scene.zip -o dem.tif --quiet
stereodem info scene.zip | grep aster
[ -n "$(ls /usr/lib/python3/dist-packages/stereodem/__pycache__)" ] # compiled once, when the package came
python3 -m compileall -q /usr/share/qgis/python/plugins/stereodem_processing
python3 -O - <<'P' # which compiles it once more
import stereodem
assert stereodem.info("scene.zip")["sensor"] == "aster"
dem = stereodem.run("scene.zip", log=lambda *_: None)
assert dem.height.shape[0] > 100 and 'WGS' in dem.crs
print("python", stereodem.__version__, dem.height.shape)
P
apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config cmake make
gcc dem_from_arrays.c -o example $(pkg-config --cflags --libs stereodem) -lm
./example
cmake -S . -B found
cmake --build found
found/external scene.zip
[ "$(ls /usr/lib/python3/dist-packages/stereodem/__pycache__ | wc -l)" -gt "$(ls /usr/lib/python3/dist-packages/stereodem/*.py | wc -l)" ]
apt-get -q -y purge stereodem libstereodem1 libstereodem-dev python3-stereodem
left=$(find / -xdev -path /proc -prune -o -path /try -prune -o -name '*stereodem*' -print)
[ -z "$left" ] || { echo "left: $left"; exit 1; }
E2
if env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$tree" sh /try/run >"$log" 2>&1; then
    grep -E '^(stereodem|python) [0-9]|columns: ' "$log"
    echo "bare tree: installed, tried and removed"
else
    tail -25 "$log"
    echo "FAILED in the bare tree"
    exit 1
fi
