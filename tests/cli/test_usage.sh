#!/bin/bash
# Wrong usage: exit code 2 and one sentence that names the option, what was found and what was expected.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

expect 2 "stereodem: no command given"
expect 2 "unknown command 'rnu', did you mean run?" rnu
expect 2 "unknown command '--rubbish'" --rubbish
expect 2 "unknown command ''" ""
expect 2 "stereodem run: found 0 arguments, expected the scene" run
expect 2 "stereodem run: -o is missing" run scene.hdf
expect 2 "unknown option --outptu, did you mean --output?" run scene.hdf --outptu dem.tif
expect 2 "unknown option -t_srs, did you mean --t_srs?" run scene.hdf -t_srs EPSG:4326
for value in -5 nan x 0 inf "" 1e99; do
    expect 2 "stereodem run: --tr: found '$value', expected a number from" run scene.hdf -o dem.tif --tr "$value"
done
expect 2 "--tr: needs a value SPACING, found none" run scene.hdf -o dem.tif --tr
expect 2 "--output: needs a value FILE, found the option --tr" run scene.hdf -o --tr 5
expect 2 "--threads: found '0', expected a whole number from 1 to 1024" run scene.hdf -o dem.tif --threads 0
expect 2 "--memory: found '1M', expected a size of at least 64M" run scene.hdf -o dem.tif --memory 1M
expect 2 "--cost: found 'ncc', expected one of auto, zncc, census" run scene.hdf -o dem.tif --cost ncc
expect 2 "--co: found 'ZSTD', expected NAME=VALUE" run scene.hdf -o dem.tif --co ZSTD
expect 2 "--hmin: found 900 m" run scene.hdf -o dem.tif --hmin 900 --hmax 100
expect 2 "--quiet and --verbose" run scene.hdf -o dem.tif --quiet --verbose
expect 1 "a: no such file or folder" run a b c -o dem.tif
# shellcheck disable=SC2046
expect 2 "found 33 views, expected at most 32" run $(seq 33) -o dem.tif
expect 2 "plan takes a scene or a pair" plan a b c -o job
expect 2 "info takes a scene or a pair" info a b c
expect 2 "unexpected argument 'c'" compare a b c
expect 2 "unknown option --overwrite" info scene.hdf --overwrite
expect 2 "expected the DEM and the reference" compare dem.tif
expect 2 "--aligned dem.tif would overwrite the input dem.tif" compare dem.tif reference.tif --aligned dem.tif
expect 2 "--aligned and --difference both name a.tif" compare dem.tif reference.tif --aligned a.tif --difference a.tif
expect 2 "ends in .tif" compare dem.tif reference.tif --difference d.png
expect 2 "expected one of shift, tilt" compare dem.tif reference.tif --model plane

expect 1 "stereodem info: " info "$work/absent.hdf"
expect 1 "absent.hdf" run "$work/absent.hdf" -o "$work/dem.tif"
[ -e "$work/dem.tif" ] && complain "a DEM was left behind"
[ -e "$work/dem.tif.job" ] && complain "a job folder was left behind"
finish
