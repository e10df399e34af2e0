#!/bin/bash
# DEMs from the units.  Submitted by submit.sh; safe to submit again.
# SPDX-License-Identifier: Apache-2.0
#$ -N stereodem-merge
#$ -S /bin/bash
#$ -cwd
#$ -j y
#$ -r y
# the program's words: STEREODEM may be "apptainer run /data/stereodem.sif"; a name with blanks is one word
command -v "$STEREODEM" >/dev/null && program=("$STEREODEM") || read -ra program <<<"$STEREODEM"
exec "${program[@]}" merge "$JOB"
