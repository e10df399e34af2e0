#!/bin/bash
# Wrong usage of stereodem-lab: exit code 2 and one sentence, and its help.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../tests/cli/lib.sh"
program=$lab

expect 2 "stereodem-lab: unknown command 'run' (stereodem-lab --help lists all)" run
expect 2 "stereodem-lab simulate: -o is missing" simulate
expect 2 "--lon and --lat belong together, found --lon alone" simulate -o "$work/place" --lon 5
expect 2 "--town: needs --layout rpc, found aster" simulate -o "$work/place" --town
expect 2 "--town: needs --gsd of at most 2 (m), found 15" simulate -o "$work/place" --town --layout rpc
expect 2 "--town: has no water, snow or reference; leave out --lake" simulate -o "$work/place" --town --layout rpc --gsd 0.5 --lake 0.1
expect 2 "--town-azimuth: needs --town, found none" simulate -o "$work/place" --town-azimuth 20
expect 2 "--symmetric belongs to --layout rpc" simulate -o "$work/place" --symmetric
expect 2 "--cloud-kind: needs --cloud SHARE, found none" simulate -o "$work/place" --cloud-kind broken
expect 2 "--lost-lines 300 and --dead-columns 0: expected at most half of the 500 rows" simulate -o "$work/place" --height 500 --lost-lines 300
try --help
grep -q "^stereodem-lab [0-9.]*: " "$work/out" || complain "--help: $(head -1 "$work/out")"
[ "$(grep -cE '^  (simulate|bench) ' "$work/out")" -eq 2 ] || complain "--help does not list two commands"
finish
