#!/bin/bash
# What goes to which stream, JSON lines, full and closed outputs, signals.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
scene=$source_dir/sampledata/AST_L1A_00401012001180005_sim.hdf

is_json() { # every line of the file is one JSON object; prints the last one's $2
    python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert rows and all(isinstance(row, dict) and "event" in row and "seconds" in row for row in rows)
print(rows[-1].get(sys.argv[2]))' "$1" "$2"
}

try info "$scene"
[ "$code" -eq 0 ] || complain "info: exit code $code: $(cat "$work/err")"
for word in "820 x 840" convergence base/height overlap "expected memory" "expected time" aster; do
    grep -qF "$word" "$work/out" || complain "info does not tell $word"
done
try run "$scene" -o "$work/verbose.tif" -v
sort "$work/err" | uniq -d | grep '^\[' && complain "run -v tells something twice"
try info "$scene" --quiet
[ -s "$work/out" ] && [ "$code" -eq 0 ] && complain "info --quiet printed"
if command -v python3 >/dev/null; then
    try info "$scene" --log json
    [ "$(is_json "$work/out" sensor)" = aster ] || complain "info --log json: $(cat "$work/out")"
    try run "$work/absent.hdf" -o "$work/dem.tif" --log json
    [ "$(is_json "$work/out" exit_code)" = 1 ] || complain "run --log json: no summary of a failure"
    try run --log json --tr x
    [ "$(is_json "$work/out" exit_code)" = 2 ] || complain "run --log json: no summary of wrong usage"
    try run "$scene" -o "$work/json.tif" --log json --verbose
    [ "$code" -eq 0 ] || complain "run --log json: exit code $code: $(cat "$work/err")"
    [ "$(is_json "$work/out" event)" = summary ] || complain "run --log json: the last line is no summary"
    grep -qF '/../' "$work/out" "$work/err" && complain "run --verbose names files by way of the root"
    grep -q '"stage_name":"match"' "$work/out" || complain "run --log json: no stage"
fi

try run "$scene" -o "$work/quiet.tif" --quiet --tile 112 # small tiles: those in the corners see nothing
[ "$code" -eq 0 ] || complain "run --quiet: exit code $code: $(cat "$work/err")"
[ -s "$work/out" ] || [ -s "$work/err" ] && complain "run --quiet printed $(cat "$work/out" "$work/err")"
grep -q "$(printf '\033')" "$work/err" && complain "escape codes without a terminal"

"$program" run --help >/dev/full 2>"$work/err"
[ $? -eq 1 ] || complain "a full standard output went unnoticed"
grep -q "standard output" "$work/err" || complain "a full standard output was not told"

"$program" run "$scene" -o "$work/stopped.tif" --threads 1 >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 500); do # until it works, not while it starts
    grep -q '%' "$work/err" && break
    sleep 0.02
done
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" -eq 1 ] || complain "SIGTERM: exit code $code, expected 1"
grep -q "stopped on request" "$work/err" || complain "SIGTERM: said $(cat "$work/err")"
[ -e "$work/stopped.tif" ] && complain "SIGTERM: a DEM was left behind"
finish
