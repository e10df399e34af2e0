#!/bin/bash
# stereodem stack: one sentence for whatever cannot be stacked, and nothing left behind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

command -v gdal_translate >/dev/null || { echo "SKIPPED: no gdal_translate"; exit 77; }
cd "$work" || exit 1
dem=$source_dir/sampledata/truth.tif
gdal_translate -q -srcwin 0 0 200 200 "$dem" a.tif
gdal_translate -q -srcwin 20 30 200 200 "$dem" b.tif
gdal_translate -q -srcwin 0 0 60 60 "$dem" west.tif
gdal_translate -q -srcwin 300 300 60 60 "$dem" east.tif
gdal_translate -q -a_srs EPSG:4326 -a_ullr 100 41 101 40 a.tif far.tif
gdal_translate -q -a_ullr 0 6000 6000 0 -a_srs EPSG:4978 a.tif geocentric.tif 2>/dev/null
gdal_translate -q -of PNG -ot Byte -scale a.tif place.png
rm -f place.png.aux.xml
cp a.tif cut.tif
truncate -s 20000 cut.tif
echo "this is text" >text.tif
printf 'a.tif\n\n# more\n  b.tif  \r\n' >list.txt
printf '\n\n# none\n' >empty.txt
printf 'a.tif\nmissing.tif\n' >hole.txt
gdal_translate -q -scale 0 1 -9999 -9999 -a_nodata -9999 a.tif none.tif
gdal_translate -q -scale 0 1 -9999 -9999 -a_nodata -9999 b.tif none_either.tif
mkdir folder

try stack a.tif b.tif -o out.tif --quiet
[ "$code" -eq 0 ] || complain "two DEMs: exit code $code: $(cat err)"
for file in out.tif out_qa.tif out.json out.html out.png; do
    [ -s "$file" ] || complain "$file was not made"
done
[ -e out_ortho.tif ] && complain "an ortho image was made"
grep -q '<h2>DEMs and their moves' out.html || complain "the report does not name the DEMs"
try stack --list list.txt -o listed.tif --quiet
[ "$code" -eq 0 ] || complain "--list: exit code $code: $(cat err)"
cmp -s out.tif listed.tif || complain "--list gives another DEM than arguments"
printf '\357\273\277"a.tif"\r\n"b.tif"\r\n' >quoted.txt # as for plan: byte order mark, quotes
try stack --list quoted.txt -o quoted.tif --quiet
cmp -s out.tif quoted.tif || complain "--list with byte order mark and quotes: exit code $code: $(cat err)"

"$program" stack a.tif b.tif -o twice.tif --quiet --align xyz --threads 1 &
first=$!
for _ in $(seq 200); do
    [ -e twice.tif.part-owner ] && break
    sleep 0.01
done
if kill -STOP "$first" 2>/dev/null && [ -e twice.tif.part-owner ]; then
    expect 1 "is being written by another run" stack --quiet a.tif b.tif -o twice.tif
fi
kill -CONT "$first" 2>/dev/null
wait "$first" || complain "the first of two stacks on one output failed"
[ -e twice.tif.part-owner ] && complain "twice.tif.part-owner was left behind"

expect 2 "-o is missing" stack a.tif b.tif
expect 2 "found 1 DEM, expected at least two" stack a.tif -o x.tif
expect 2 "found 0 DEMs" stack -o x.tif
expect 2 "given twice" stack a.tif b.tif ./a.tif -o x.tif
expect 2 "--overwrite" stack a.tif b.tif -o out.tif
expect 2 "would overwrite the input a.tif" stack a.tif b.tif -o a.tif --overwrite
expect 1 "none of the 2 DEMs has a height, so" stack --quiet none.tif none_either.tif --align none -o x.tif
expect 1 "missing.tif cannot be opened" stack a.tif missing.tif -o x.tif
expect 1 "text.tif cannot be opened" stack a.tif text.tif -o x.tif
expect 1 "folder cannot be opened" stack a.tif folder -o x.tif
expect 1 "cut.tif" stack --quiet a.tif cut.tif -o x.tif
expect 1 "no coordinate reference system" stack a.tif place.png -o x.tif
expect 1 "geocentric.tif" stack a.tif geocentric.tif -o x.tif
expect 1 "nothing to align" stack --quiet west.tif east.tif -o x.tif
gdalbuildvrt -q -te 0 4400000 1000000 5400000 region.vrt a.tif
expect 1 "far larger" stack --quiet a.tif region.vrt --dem-vertical ellipsoid -o x.tif
expect 1 "stack those of one place" stack --quiet a.tif far.tif -o x.tif
expect 1 "nowhere.txt: cannot be opened" stack --list nowhere.txt -o x.tif
expect 1 "cannot be read" stack --list folder -o x.tif
expect 1 "names no DEM" stack --list empty.txt -o x.tif
expect 1 "line 1 is no file name" stack --list a.tif -o x.tif
expect 1 "missing.tif cannot be opened" stack --list hole.txt -o x.tif
expect 2 "--tr" stack a.tif b.tif -o x.tif --tr nan
expect 2 "--tr" stack a.tif b.tif -o x.tif --tr 0
expect 2 "--tr 0.01" stack --quiet a.tif b.tif -o x.tif --tr 0.01
expect 2 "--t_srs EPSG:1 " stack a.tif b.tif -o x.tif --t_srs EPSG:1
expect 2 "--align" stack a.tif b.tif -o x.tif --align xy
expect 2 "folder" stack a.tif b.tif -o folder
expect 1 "make it first" stack a.tif b.tif -o no/such/x.tif
expect 2 "unknown option --cost" stack a.tif b.tif -o x.tif --cost zncc
try stack west.tif east.tif -o apart.tif --align none --quiet
[ "$code" -eq 0 ] || complain "--align none of DEMs apart: exit code $code: $(cat err)"
left=$(ls -d x.tif* x_* x.json .x* 2>/dev/null)
[ -z "$left" ] || complain "left behind: $left"
finish
