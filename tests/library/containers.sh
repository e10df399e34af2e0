#!/bin/bash
# Builds the image of job-templates/containers/Containerfile with buildah over a bare Debian tree, and makes a DEM in it.
#   tests/library/containers.sh PACKAGES TREE        PACKAGES: folder of the .deb files; TREE: of debootstrap
# Needs root and buildah (scripts/setup all), whose --isolation chroot needs no name spaces; exit code 77 where one is absent.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$(cd "${1:?usage: containers.sh PACKAGES TREE}" && pwd)
tree=$(cd "${2:?usage: containers.sh PACKAGES TREE}" && pwd)
skip() {
    echo "SKIPPED: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "not root"
command -v buildah >/dev/null || skip "no buildah"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() {
    buildah --storage-driver vfs --root "$work/root" --runroot "$work/run" "$@"
}
from=$(build from scratch) || skip "buildah cannot work here"
build add -q "$from" "$tree" / >/dev/null
build commit -q --rm "$from" bare >/dev/null
build bud -q --isolation chroot --build-arg BASE=localhost/bare -t stereodem \
    -f "$source_dir/job-templates/containers/Containerfile" "$packages" >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
made=$(build from stereodem)
build add -q --chown 1000 "$made" "$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip" /tmp/scene.zip >/dev/null
build run --isolation chroot "$made" -- stereodem run /tmp/scene.zip -o /tmp/dem.tif --quiet
build run --isolation chroot "$made" -- python3 -c 'import stereodem; print(stereodem.info("/tmp/scene.zip")["sensor"])' | grep -x aster
echo "containers: the Containerfile's image makes a DEM"
