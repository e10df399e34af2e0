#!/bin/bash
# Plans a job, computes its units as one array job of PBS Pro (OpenPBS), and merges when the array is done.
# Copy the folder job-templates/pbs, set what stands here, then: bash submit.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${SCENES:=$PWD/scenes.txt}"        # a scene, or a left and a right image, a line; relative to this file
: "${JOB:=$PWD/job}"                  # job folder, on a file system that all hosts see
: "${PLAN_OPTIONS:=--memory 2G}"      # options of `stereodem plan`
: "${UNITS_A_TASK:=1}"                # units that a task computes one after the other
: "${STEREODEM:=stereodem}"           # the program; may have several words: apptainer run x.sif
: "${QSUB_OPTIONS:=}"                 # for all jobs: -q ..., -A ...
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$JOB/log"
JOB=$(cd "$JOB" && pwd) # tasks start in the home folder
# One at a time; who comes second finds the array of the first.
mkdir "$JOB/log/submitting" 2>/dev/null || { echo "submit: another submit.sh is at work on $JOB; if none is, rmdir $JOB/log/submitting" >&2; exit 1; }
trap 'rmdir "$JOB/log/submitting"' EXIT
# An array that has finished is not listed (PBS Pro), or with the state C, F or X.
if [ -s "$JOB/log/array" ] && qstat "$(cat "$JOB/log/array")" 2>/dev/null | awk 'NR > 2 && $(NF - 1) !~ /^[CFX]$/' | grep -q .; then
    echo "submit: array $(cat "$JOB/log/array") of $JOB is still in the queue; wait for it, or qdel it" >&2
    exit 1
fi
# shellcheck disable=SC2086
"${program[@]}" plan --list "$SCENES" -o "$JOB" $PLAN_OPTIONS || [ $? -eq 3 ] # 3: but for scenes that cannot be
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$JOB/plan.json")
tasks=$(((units + UNITS_A_TASK - 1) / UNITS_A_TASK))
# An array of one task does not exist in PBS: at least two, the second has nothing to do.
last=$((tasks > 1 ? tasks - 1 : 1))
export JOB UNITS_A_TASK STEREODEM UNITS=$units # passed by name: values may hold commas
pass=JOB,UNITS_A_TASK,STEREODEM,UNITS
# shellcheck disable=SC2086
array=$(qsub $QSUB_OPTIONS -J "0-$last" -j oe -o "$JOB/log/" -v "$pass" "$here/tile.pbs")
echo "$array" >"$JOB/log/array"
# shellcheck disable=SC2086
merge=$(qsub $QSUB_OPTIONS -W "depend=afterany:$array" -j oe -o "$JOB/log/" -v "$pass" "$here/merge.pbs")
echo "array $array of $tasks tasks for $units units, then merge $merge; stereodem status $JOB tells how far it is"
