#!/bin/bash
# Plans a job, computes its units on this machine, several at a time, and merges.  Give the same command again after a stop.
# Copy this file, set what stands here, then: bash run.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${SCENES:=$PWD/scenes.txt}"        # a scene, or a left and a right image, a line; relative to this file
: "${JOB:=$PWD/job}"                  # job folder
: "${PLAN_OPTIONS:=--memory 2G}"      # options of `stereodem plan`; the memory is that of one task
: "${TASKS_AT_ONCE:=$(nproc)}"        # a task runs on one thread: many scenes go through faster so
: "${UNITS_A_TASK:=1}"                # units that a task computes one after the other
: "${STEREODEM:=stereodem}"           # the program; may have several words: apptainer run x.sif
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"

# shellcheck disable=SC2086
"${program[@]}" plan --list "$SCENES" -o "$JOB" $PLAN_OPTIONS || [ $? -eq 3 ] # 3: but for scenes that cannot be
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$JOB/plan.json")
tasks=$(((units + UNITS_A_TASK - 1) / UNITS_A_TASK))
# A unit that fails (exit code 1) does not keep the others back; merge names it.
seq 0 $((tasks - 1)) |
    xargs -P "$TASKS_AT_ONCE" -I{} "${program[@]}" tile "$JOB" {} --count "$UNITS_A_TASK" --threads 1 || true
"${program[@]}" merge "$JOB"
