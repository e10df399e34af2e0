#!/bin/bash
# One process of tile.sub or merge.sub: tile.sh PROGRAM JOB TASK UNITS_A_TASK, or tile.sh PROGRAM JOB, which merges
# SPDX-License-Identifier: Apache-2.0

# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$1" >/dev/null && program=("$1") || read -ra program <<<"$1"
[ $# -gt 2 ] || exec "${program[@]}" merge "$2"

# DAGMan removes all other processes when one fails.  So a unit that fails is no failure here: its sentence is in the job
# folder, and merge tells it.  A program killed by a signal is started again, three times at most.
trap 'asked=yes; kill -TERM "$child"' TERM
asked=no
for _ in 1 2 3; do
    "${program[@]}" tile "$2" "$3" --count "$4" --threads 2 &
    child=$!
    wait "$child"
    code=$?
    [ $asked = no ] || { wait "$child"; exit 1; } # evicted: HTCondor starts it again
    [ $code -gt 128 ] || break
done
[ $code -ne 2 ] || exit 2 # wrong usage: no other process would fare better
exit 0
