#!/bin/bash
# Plans a job, computes its units as one Slurm array, and merges: three jobs that wait for each other.
# Copy the folder job-templates/slurm, set what stands here, then: bash submit.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# ---- settings ----
: "${SCENES:=$PWD/scenes.txt}"        # a scene, or a left and a right image, a line; relative to this file
: "${JOB:=$PWD/job}"                  # job folder, on a file system that all nodes see
: "${PLAN_OPTIONS:=--memory 2G}"      # options of `stereodem plan`: cost, spacing, memory of a task ...
: "${UNITS_A_TASK:=1}"                # units that a task computes one after the other
: "${TASKS_AT_ONCE:=200}"             # of the array
: "${STEREODEM:=stereodem}"           # the program; may have several words: apptainer run x.sif
: "${SBATCH_OPTIONS:=}"               # for all jobs: --partition=..., --account=...
: "${GPU:=no}"                        # yes: tasks get a GPU each, and are planned for it
# ------------------

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export JOB UNITS_A_TASK STEREODEM
mkdir -p "$JOB/log"
# One at a time; who comes second finds the array of the first.
mkdir "$JOB/log/submitting" 2>/dev/null || { echo "submit: another submit.sh is at work on $JOB; if none is, rmdir $JOB/log/submitting" >&2; exit 1; }
trap 'rmdir "$JOB/log/submitting"' EXIT
if [ -s "$JOB/log/array" ] && squeue -h -j "$(cat "$JOB/log/array")" 2>/dev/null | grep -q .; then
    echo "submit: array $(cat "$JOB/log/array") of $JOB is still in the queue; wait for it, or scancel it" >&2
    exit 1
fi
tile=tile.sbatch
if [ "$GPU" = yes ]; then
    tile=tile-gpu.sbatch
    PLAN_OPTIONS+=" --device cuda"
fi

# The plan reads no pixels and takes a minute for a thousand scenes: done here, since the array's size comes from it.
# shellcheck disable=SC2086
"${program[@]}" plan --list "$SCENES" -o "$JOB" $PLAN_OPTIONS || [ $? -eq 3 ] # 3: but for scenes that cannot be
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$JOB/plan.json")
tasks=$(((units + UNITS_A_TASK - 1) / UNITS_A_TASK))
most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
if [ "$tasks" -ge "${most:-1001}" ]; then
    echo "submit: $tasks tasks, but MaxArraySize is $most: set UNITS_A_TASK to $((units / (most - 1) + 1)) or more" >&2
    exit 1
fi

# shellcheck disable=SC2086
array=$(sbatch --parsable $SBATCH_OPTIONS --array="0-$((tasks - 1))%$TASKS_AT_ONCE" --output="$JOB/log/%A_%a.log" "$here/$tile")
echo "${array%%;*}" >"$JOB/log/array"
# shellcheck disable=SC2086
merge=$(sbatch --parsable $SBATCH_OPTIONS --dependency="afterany:${array%%;*}" --output="$JOB/log/merge_%j.log" "$here/merge.sbatch")
echo "array ${array%%;*} of $tasks tasks for $units units, then merge ${merge%%;*}; stereodem status $JOB tells how far it is"
