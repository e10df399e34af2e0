#!/bin/bash
# Every file has a licence (reuse lint), and the pages of the public header come out without a warning (doxygen).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../cli/lib.sh"
tried=
if command -v reuse >/dev/null && git -C "$source_dir" rev-parse >/dev/null 2>&1; then
    (cd "$source_dir" && reuse lint) >"$work/out" 2>"$work/err" || complain "reuse lint: $(tail -20 "$work/out")"
    [ ! -s "$work/err" ] || complain "reuse lint: $(head -3 "$work/err")"
    tried=yes
fi
if command -v doxygen >/dev/null; then
    { cat "$source_dir/docs/Doxyfile"; echo "OUTPUT_DIRECTORY = $work/doxygen"; } >"$work/Doxyfile"
    mkdir "$work/doxygen"
    (cd "$source_dir" && doxygen "$work/Doxyfile") >"$work/out" 2>&1 || complain "doxygen: $(head -5 "$work/out")"
    [ -s "$work/doxygen/html/stereodem_8h.html" ] || complain "doxygen: no page of stereodem.h"
    tried=yes
fi
[ -n "$tried" ] || { echo "SKIPPED: no reuse, no doxygen"; exit 77; }
finish
