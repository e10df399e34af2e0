# Sourced by the tests of this folder, with the folder of the sources in $source_dir: a folder to work in, checks.
# SPDX-License-Identifier: Apache-2.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
same() { cmp "$1" "$2" || fail "$1 is not what it has to be, $2"; }
built() { # PATTERN TARGET: the file of build/portable
    local found=("$source_dir"/build/portable/$1)
    [ -f "${found[0]}" ] || skip "build/portable has no $1; scripts/portable $2 builds it"
    built=${found[0]}
}
licensed() { # SHARE PARTS...
    local part
    for part in "${@:2}"; do
        [ -n "$(ls "$1/doc/stereodem/licenses/$part" 2>/dev/null)" ] || fail "no licence of $part"
    done
}
