#!/bin/bash
# Builds the packages, asks lintian about them, and tries them in a bare Debian tree; what is not here is skipped with a
# word.  Part of continuous integration, which packs the build that it tests (preset ci).
#   tests/library/packages.sh [PRESET [TREE]]        TREE: see bare_tree.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for tool in dpkg-deb dpkg-shlibdeps cpack; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; exit 77; }
done
preset=${1:-package}
scripts/package --preset "$preset"
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "build/$preset/packages"/*.deb
    echo "packages: lintian has no errors and no warnings"
else
    echo "packages: no lintian here, skipped"
fi
code=0
tests/library/bare_tree.sh "build/$preset/packages" "${@:2}" || code=$?
[ "$code" -eq 77 ] || exit "$code"
