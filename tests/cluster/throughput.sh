#!/bin/bash
# Throughput of many small scenes through xargs: 200 scenes, and the rate per core from the 10th to the 200th.  By hand, on a
# machine that does nothing else.
# throughput.sh STEREODEM SOURCE_FOLDER [SCENES [PROCESSES]]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
count=${3:-200} processes=${4:-$(nproc)}
sample=$(ls "$source_folder"/sampledata/*_sim.hdf | head -n 1)
for i in $(seq "$count"); do
    ln -s "$sample" "$work/scene_$i.hdf"
    echo "scene_$i.hdf" >>"$work/scenes.txt"
done
/usr/bin/time -f "plan: %e s, %U s of processor, %M KB" "$program" plan -q --list "$work/scenes.txt" -o "$work/job"
# one line a scene when it is done: seconds since the start
start=$(date +%s.%N)
seq 0 $((count - 1)) | xargs -P "$processes" -I{} bash -c \
    '"$0" tile "$1" {} -q --threads 1 && echo "$(date +%s.%N) $2" | awk "{print \$1 - \$2}"' "$program" "$work/job" "$start" |
    sort -n >"$work/done"
[ "$(wc -l <"$work/done")" -eq "$count" ] || fail "only $(wc -l <"$work/done") of $count units are done"
awk -v p="$processes" '
    NR == 10 {t10 = $1}
    {t[NR] = $1}
    END {
        print "scenes", NR, "processes", p, "seconds", t[NR]
        printf "rate per core and minute: scenes 1 to 10 %.2f, 10 to %d %.2f\n", 600 / t10 / p, NR, (NR - 10) * 60 / (t[NR] - t10) / p
        for (i = 20; i <= NR; i *= 2)
            printf "  up to scene %d: %.2f\n", i, i * 60 / t[i] / p
    }' "$work/done"
du -sh "$work/job" | awk '{print "units on the disk: " $1}'
/usr/bin/time -f "status: %e s" "$program" status "$work/job" >/dev/null
/usr/bin/time -f "merge: %e s, %U s of processor, %M KB" "$program" merge -q "$work/job"
du -sh "$work/job" | awk '{print "DEMs on the disk: " $1}'
