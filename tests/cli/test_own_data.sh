#!/bin/bash
# Data beside the program or library, ../share/proj and ../share/gdal, win over those that the environment names.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
scene=$source_dir/sampledata/AST_L1A_00401012001180005_sim.hdf
database=
for folder in /usr/share/proj /usr/local/share/proj "${PROJ_DATA:-}"; do
    [ -f "$folder/proj.db" ] && database=$folder/proj.db && break
done
[ -n "$database" ] || exit 77
prefix="$work/a release"
mkdir -p "$prefix/bin" "$prefix/lib" "$prefix/share/proj" "$prefix/share/gdal" "$work/foreign" "$work/links"
cp "$program" "$prefix/bin/program"
cp "$database" "$prefix/share/proj/"
echo "no database" >"$work/foreign/proj.db"
ln -s "$prefix/bin/program" "$work/links/linked"
export PROJ_DATA=$work/foreign PROJ_LIB=/nonexistent GDAL_DATA=/nonexistent

"$program" run -q "$scene" -o "$work/dem.tif" 2>"$work/err" && complain "a foreign proj.db serves a program without its own"
grep -q "PROJ_LIB=/nonexistent" "$work/err" || complain "a foreign proj.db: $(cat "$work/err")"
for command in "$prefix/bin/program" "$work/links/linked" linked; do
    PATH=$work/links:$PATH "$command" run -q --overwrite "$scene" -o "$work/dem.tif" 2>"$work/err" ||
        complain "$command: $(cat "$work/err")"
done

library=$(dirname "$program")/libstereodem.so
if [ -e "$library" ] && python3 -c "import numpy" 2>/dev/null; then
    cp -L "$library" "$prefix/lib/$(basename "$(readlink -f "$library")" | cut -d. -f1-3)"
    LD_LIBRARY_PATH=$prefix/lib PYTHONPATH=$source_dir/python python3 -B -c \
        'import stereodem, sys; stereodem.run(sys.argv[1], output=sys.argv[2], overwrite=True)' "$scene" "$work/dem.tif" \
        >"$work/err" 2>&1 || complain "the library: $(tail -1 "$work/err")"
fi
finish
