#!/bin/bash
# DEMs of a list of addresses, several at a time; an HDF file is fetched, used and removed.  Give the same command again
# after a stop: DEMs that are there are left.  Logins: ~/.netrc.
# Copy this file, set what stands here, then: bash addresses.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${ADDRESSES:=$PWD/addresses.txt}"  # an address a line: https://HOST/.../AST_L1A_....hdf; # begins a comment
: "${DEMS:=$PWD/dem}"                 # folder of the DEMs
: "${RUN_OPTIONS:=--memory 2G}"       # options of `stereodem run`
: "${SCENES_AT_ONCE:=$(nproc)}"       # each on one thread
: "${STEREODEM:=stereodem}"           # the program; may have several words: apptainer run x.sif
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"
mkdir -p "$DEMS"

one() { # an address
    local base=${1##*/}
    base=${base%%\?*}
    local dem=$DEMS/${base%.*}.tif
    # shellcheck disable=SC2086
    [ -e "$dem" ] || "${words[@]}" run "$1" -o "$dem" --threads 1 --quiet $RUN_OPTIONS
}
export -f one
export DEMS RUN_OPTIONS
# A scene that fails does not keep the others back; its log NAME.log says why.
sed 's/#.*//; /^[[:space:]]*$/d' "$ADDRESSES" |
    xargs -P "$SCENES_AT_ONCE" -I{} bash -c 'words=("${@:2}"); one "$1"' _ {} "${program[@]}"
