#!/bin/bash
# One task of the array.  Submitted by submit.sh.
# SPDX-License-Identifier: Apache-2.0
#$ -N stereodem
#$ -S /bin/bash
#$ -cwd
#$ -j y
#$ -r y
#$ -notify

# Exit code 99 puts the task back into the queue: when it was asked to stop (SIGUSR1, SIGUSR2 by -notify; SIGTERM), or died by
# a signal.  Finished units stay.
stopped=no
trap 'stopped=yes; kill -TERM $child' TERM USR1 USR2
# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"
"${program[@]}" tile "$JOB" --index-env SGE_TASK_ID --count "$UNITS_A_TASK" --threads "${NSLOTS:-1}" &
child=$!
wait $child
code=$?
if [ $stopped = yes ]; then
    wait $child
    code=$?
    [ $code -eq 0 ] || exit 99
fi
[ $code -le 128 ] || exit 99
exit $code
