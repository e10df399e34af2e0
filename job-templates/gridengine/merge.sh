#!/bin/bash
# DEMs from the units.  Submitted by submit.sh; safe to submit again.
# SPDX-License-Identifier: Apache-2.0
#$ -N stereodem-merge
#$ -S /bin/bash
#$ -cwd
#$ -j y
#$ -r y
exec "$STEREODEM" merge "$JOB"
