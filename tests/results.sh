#!/bin/sh
# Figures of the samples into tests/results.csv: coverage, errors in metres, water and cloud, seconds, peak memory.
# results.sh [STEREODEM [CSV [WORD [SETTING]]]]   WORD: only samples with it in their name, SETTING: settings; samples that are not there are left out; exits 77 when there are none
exec /usr/bin/python3 "$(dirname "$0")/results.py" "$@"
