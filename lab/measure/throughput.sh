#!/bin/bash
# Throughput of many small scenes through xargs: 200 scenes, processor time a scene and the rate per core from the 10th scene
# to the 200th.  By hand.  The rate needs a machine that does nothing else; processor time bears others.
# throughput.sh STEREODEM SOURCE_FOLDER [SCENES [PROCESSES]]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. "$(dirname "$0")/../../tests/cluster/lib.sh"
trap 'rm -rf "$work"' EXIT
count=${3:-200} processes=${4:-$(nproc)}
sample=$(ls "$source_folder"/sampledata/*_sim.hdf | head -n 1)
for i in $(seq "$count"); do
    ln -s "$sample" "$work/scene_$i.hdf"
    echo "scene_$i.hdf" >>"$work/scenes.txt"
done
/usr/bin/time -f "plan: %e s, %U + %S s of processor, %M KB" "$program" plan -q --list "$work/scenes.txt" -o "$work/job"

# One scene; a line of it when it is done: seconds since the start, processor seconds, peak KiB.
one() {
    local used
    used=$({ /usr/bin/time -f "%U %S %M" "$program" tile "$work/job" "$1" -q --threads 1; } 2>&1) || return 1
    echo "$(date +%s.%N) $start $used" | awk '{printf "%.3f %.2f %d\n", $1 - $2, $3 + $4, $5}'
}
export -f one
start=$(date +%s.%N)
export program work start
seq 0 $((count - 1)) | xargs -P "$processes" -I{} bash -c 'one {}' | sort -n >"$work/done"
[ "$(wc -l <"$work/done")" -eq "$count" ] || fail "only $(wc -l <"$work/done") of $count units are done"
awk -v p="$processes" '
    NR == 10 {t10 = $1; c10 = c + $2}
    {t[NR] = $1; c += $2; cpu[NR] = c; peak = $3 > peak ? $3 : peak}
    END {
        print "scenes", NR, "processes", p, "seconds", t[NR], "peak KiB of a task", peak
        printf "processor seconds a scene: 1 to 10 %.3f, 11 to %d %.3f\n", c10 / 10, NR, (c - c10) / (NR - 10)
        printf "scenes per core and minute: 1 to 10 %.2f, 11 to %d %.2f\n", 600 / t10 / p, NR, (NR - 10) * 60 / (t[NR] - t10) / p
        for (i = 20; i <= NR; i *= 2)
            printf "  up to scene %d: %.3f s a scene, %.2f per core and minute\n", i, cpu[i] / i, i * 60 / t[i] / p
    }' "$work/done"
du -sh "$work/job" | awk '{print "units on the disk: " $1}'
/usr/bin/time -f "status: %e s" "$program" status "$work/job" >/dev/null
/usr/bin/time -f "merge: %e s, %U + %S s of processor, %M KB" "$program" merge -q "$work/job"
du -sh "$work/job" | awk '{print "DEMs on the disk: " $1}'
