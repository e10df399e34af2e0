#!/bin/bash
# One process of tile.sub: tile.sh PROGRAM JOB TASK UNITS_A_TASK
# SPDX-License-Identifier: Apache-2.0

# DAGMan removes all other processes when one fails.  So a unit that fails is no failure here: its sentence is in the job
# folder, and merge tells it.  A program killed by a signal is started again, three times at most.
trap 'asked=yes; kill -TERM "$child"' TERM
asked=no
for _ in 1 2 3; do
    "$1" tile "$2" "$3" --count "$4" --threads 2 &
    child=$!
    wait "$child"
    code=$?
    [ $asked = no ] || { wait "$child"; exit 1; } # evicted: HTCondor starts it again
    [ $code -gt 128 ] || break
done
[ $code -ne 2 ] || exit 2 # wrong usage: no other process would fare better
exit 0
