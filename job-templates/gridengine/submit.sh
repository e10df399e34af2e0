#!/bin/bash
# Plans a job, computes its units as one array job of Grid Engine, and merges when the array is done.
# Copy the folder job-templates/gridengine, set what stands here, then: bash submit.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${SCENES:=$PWD/scenes.txt}"        # a scene, or a left and a right image, a line; relative to this file
: "${JOB:=$PWD/job}"                  # job folder, on a file system that all hosts see
: "${PLAN_OPTIONS:=--memory 2G}"      # options of `stereodem plan`
: "${UNITS_A_TASK:=1}"                # units that a task computes one after the other
: "${STEREODEM:=stereodem}"           # the program; may have several words: apptainer run x.sif
: "${QSUB_OPTIONS:=}"                 # for all jobs: -q ..., -P ...
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export JOB UNITS_A_TASK STEREODEM
mkdir -p "$JOB/log"
# One at a time; who comes second finds the array of the first.
mkdir "$JOB/log/submitting" 2>/dev/null || { echo "submit: another submit.sh is at work on $JOB; if none is, rmdir $JOB/log/submitting" >&2; exit 1; }
trap 'rmdir "$JOB/log/submitting"' EXIT
if [ -s "$JOB/log/array" ] && qstat -j "$(cat "$JOB/log/array")" >/dev/null 2>&1; then
    echo "submit: array $(cat "$JOB/log/array") of $JOB is still in the queue; wait for it, or qdel it" >&2
    exit 1
fi
# shellcheck disable=SC2086
"${program[@]}" plan --list "$SCENES" -o "$JOB" $PLAN_OPTIONS || [ $? -eq 3 ] # 3: but for scenes that cannot be
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$JOB/plan.json")
tasks=$(((units + UNITS_A_TASK - 1) / UNITS_A_TASK))
# Task numbers begin at 1; stereodem knows that of SGE_TASK_ID.
# shellcheck disable=SC2086
array=$(qsub -terse $QSUB_OPTIONS -t "1-$tasks" -o "$JOB/log" -v JOB,UNITS_A_TASK,STEREODEM "$here/tile.sh")
echo "${array%%.*}" >"$JOB/log/array"
# shellcheck disable=SC2086
merge=$(qsub -terse $QSUB_OPTIONS -hold_jid "${array%%.*}" -o "$JOB/log" -v JOB,UNITS_A_TASK,STEREODEM "$here/merge.sh")
echo "array ${array%%.*} of $tasks tasks for $units units, then merge $merge; stereodem status $JOB tells how far it is"
