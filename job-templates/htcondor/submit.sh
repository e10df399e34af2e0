#!/bin/bash
# Plans a job and submits it to HTCondor as a DAG: all units, then merge.
# Copy the folder job-templates/htcondor, set what stands here, then: bash submit.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${SCENES:=$PWD/scenes.txt}"        # a scene, or a left and a right image, a line; relative to this file
: "${JOB:=$PWD/job}"                  # job folder, on a file system that all machines see
: "${PLAN_OPTIONS:=--memory 2G}"      # options of `stereodem plan`
: "${UNITS_A_TASK:=1}"                # units that a task computes one after the other
: "${STEREODEM:=$(command -v stereodem || true)}"  # the program, by its full name; may have several words
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$JOB/log"
JOB=$(cd "$JOB" && pwd)
# shellcheck disable=SC2086
"${program[@]}" plan --list "$SCENES" -o "$JOB" $PLAN_OPTIONS || [ $? -eq 3 ] # 3: but for scenes that cannot be
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$JOB/plan.json")
tasks=$(((units + UNITS_A_TASK - 1) / UNITS_A_TASK))
# merge is the final node: it runs whatever became of the units, and tells those that are missing.
{
    echo "JOB units tile.sub"
    echo "VARS units here=\"$here\" folder=\"$JOB\" tasks=\"$tasks\" units_a_task=\"$UNITS_A_TASK\" program=\"$STEREODEM\""
    echo "RETRY units 2"
    echo "FINAL merge merge.sub"
    echo "VARS merge here=\"$here\" folder=\"$JOB\" program=\"$STEREODEM\""
} >"$JOB/job.dag"
cd "$here" # where the names in job.dag are looked for
condor_submit_dag -force "$JOB/job.dag"
echo "$tasks tasks for $units units, then merge; stereodem status $JOB tells how far it is"
