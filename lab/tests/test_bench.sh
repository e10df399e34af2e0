#!/bin/bash
# bench: every kernel at every level has a time; figures as text, CSV, Markdown and JSON.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../tests/cli/lib.sh"
stereodem=$program
program=$lab

expect 2 "found 'kernel', expected kernels, papers or all" bench kernel
expect 2 "--repeats: found '0'" bench --repeats 0
expect 2 "--only: found 'nothing of the kind', which no row of papers has in its name" bench papers --quick --only "nothing of the kind"
# told before any timing: these would take minutes
expect 1 "--csv $work/absent/a.csv: folder $work/absent: No such file or directory; make it first" bench papers --csv "$work/absent/a.csv"
expect 2 "--csv $work is a folder" bench papers --csv "$work"

try bench --quick --repeats 1 --quiet --csv "$work/a.csv"
[ "$code" -eq 0 ] || complain "bench --quick: exit code $code: $(cat "$work/err")"
head -1 "$work/a.csv" | grep -q '^what,level,threads,output,outputs,seconds,best_seconds,cpu_seconds,ns_per_output' || complain "CSV: header"
for what in "zncc 9x9 +-3" "census 9x7 in 13x13 +-5" "zncc 5x5 +-1" "pick row of 11" "warp row" "warp row along track" "half row" "update row" "median row" "change row" "agree row" "add changes" "smooth row" "ray error row" "refine row" "ground points" "spread points" "blur row" "noise row" "square row" "wiener row" "match sgm" "match bp" "match sad" "match sad 9x9 12 bit" \
    "match zncc" "match census" "SAD 5x5" "ZNCC 9x9 64" "SAD 4x4" "SAD 8x8" "SAD 16x16" "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 32 px" "tiled BP 384 x 288 16 labels 1 + 1 in tiles of 13 px" "DEM main processing zncc" \
    "DEM main processing census"; do
    grep -q "^\"$what.*\",c," "$work/a.csv" || complain "CSV: no line of $what at level c"
done
[ "$(cut -d, -f11- "$work/a.csv" | grep -c 'quick$\|,yes$')" -eq "$(wc -l <"$work/a.csv")" ] || complain "CSV: does not say that it is quick"
awk -F, 'NR > 1 && !($6 > 0 && $7 > 0 && $9 > 0) { bad = 1; print } END { exit bad }' "$work/a.csv" >"$work/bad" ||
    complain "CSV: no time in $(cat "$work/bad")"

try bench kernels --quick --repeats 1 --cpu-level c
grep -q '^warp row .* c ' "$work/out" || complain "text: $(head -5 "$work/out")"
grep -q '^--quick: small images' "$work/out" || complain "text: does not say that it is quick"

try bench papers --quick --repeats 1 --cpu-level c --only "processing census" --quiet --csv "$work/only.csv"
[ "$(cut -d, -f1 "$work/only.csv" | tail -n +2)" = '"DEM main processing census 3962 x 4200"' ] ||
    complain "bench --only: $code $(cat "$work/only.csv" "$work/err")"

if "$stereodem" devices --log json | tail -1 | grep -q '"device":"opencl:0".*"can_run":true'; then
    try bench all --quick --repeats 1 --cpu-level c --device opencl:0 --csv "$work/d.csv"
    [ "$(sed 's/"[^"]*"//g' "$work/d.csv" | tr -cd ',\n' | sort -u | wc -l)" -eq 1 ] || complain "CSV: lines of several lengths"
    [ "$code" -eq 0 ] || complain "bench all --device opencl:0: $(cat "$work/err")"
    for what in "DEM main processing census" "DEM main processing zncc, its levels"; do
        grep -q "^$what.* opencl:0 kernels" "$work/out" || complain "bench --device: no line of $what"
    done
fi
for device in auto cuda opencl; do # a row for the table of gpu/tuning.c, or why not
    try bench --tune --quick --repeats 1 --device "$device"
    if [ "$code" -eq 0 ]; then
        grep -Eq '^\{"[^"]+"(, [0-9]+){9}\}, /\* zncc [0-9.]+ ms, census [0-9.]+, pair [0-9.]+; before' "$work/out" ||
            complain "bench --tune --device $device: $(cat "$work/out")"
        grep -q 'strips, rows x items, as it is: zncc ' "$work/err" || complain "bench --tune: $(head -3 "$work/err")"
    else
        [ "$(wc -l <"$work/err")" -eq 1 ] || complain "bench --tune --device $device: $(cat "$work/err")"
    fi
done
finish
