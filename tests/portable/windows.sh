#!/bin/bash
# The program for Windows, under wine: it makes the samples of the release build, by names of any script and length; stopped or
# ended by force it leaves nothing half-written and goes on; two runs and a viewer may want one file.
#   tests/portable/windows.sh PROGRAM SOURCE [borrowed]
# The program is that of build/portable's zip, or it is built with borrowed libraries (windows_borrowed.sh).  Exit code 77 where
# none was built, and without a compiler or wine.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C.UTF-8 WINEDEBUG=-all OMP_WAIT_POLICY=passive
release=$1 source_dir=$2 wine=/usr/lib/wine/wine64 server=/usr/lib/wine/wineserver64
. "$source_dir/tests/portable/lib.sh"
unset PROJ_DATA GDAL_DATA
command -v x86_64-w64-mingw32-gcc-posix >/dev/null || skip "no gcc-mingw-w64-x86-64-posix here"
[ -x "$wine" ] && [ -x "$server" ] || skip "no wine64 here"
# ---- what the zip holds, what the library shows ----
names() { # what a DLL shows
    x86_64-w64-mingw32-objdump -p "$1" | awk 'NF == 0 {names = 0} /^.Ordinal.Name/ {names = 1}
        names && $NF ~ /^[a-zA-Z][a-zA-Z_0-9]*$/ && $NF != "Table" {print $NF}'
}
same_raster() { # of another GDAL: the same values, its compression may be another
    local file
    [ -n "$zip" ] && { same "$1" "$2"; return; }
    for file in "$1" "$2"; do gdal_translate -q -of ENVI "$file" "$file.raw"; done
    same "$1.raw" "$2.raw"
    rm "$1".raw* "$2".raw*
}
if [ "${3:-}" = borrowed ]; then
    zip='' there="$work/with blanks/stereodem"
    . "$source_dir/tests/portable/windows_borrowed.sh"
else
    built 'stereodem-*-windows-x86_64.zip' windows-x86_64
    zip=$built there="$work/with blanks/$(basename "$built" .zip)"
    python3 -m zipfile -e "$zip" "$work/with blanks"
    licensed "$there/share" gdal proj libtiff sqlite curl gcc-mingw-w64-base
    if x86_64-w64-mingw32-objdump -p "$there"/bin/stereodem.* | grep -iE 'DLL Name: *(lib|gdal|proj)'; then fail "a DLL that Windows has not"; fi
fi
# one server for all calls: one that ends with the last of them may refuse the next
export WINEPREFIX=$work/wine
mkdir "$WINEPREFIX"
trap '"$server" -k || true; rm -rf "$work"' EXIT
"$server" -p
program="$there/bin/stereodem.exe" library="$there/bin/stereodem.dll"
[ "$("$wine" "$program" --version | head -1 | tr -d '\r')" = "$("$release" --version | head -1)" ] || fail "the zip is of another version; build it anew"
diff <(names "$library" | sort) <(grep -o 'sdm_[a-z0-9_]*' "$source_dir/cmake/stereodem.map" | sort -u) || fail "the library shows other names than its map"
program() { "$wine" "$program" "$@"; }
x86_64-w64-mingw32-gcc-posix -municode -O1 "$source_dir/tests/portable/windows_press.c" -o "$work/press.exe"
# the library, by its example in C
x86_64-w64-mingw32-gcc-posix -O1 -I"$source_dir/include" "$source_dir/examples/dem_from_arrays.c" \
    "$(find "$there" -name libstereodem.dll.a)" -o "$(dirname "$library")/example.exe"
"$wine" "$(dirname "$library")/example.exe" >"$work/said" 2>/dev/null || fail "the example of the library: $(cat "$work/said")"
grep -q "columns: done" "$work/said" || fail "the example of the library: $(cat "$work/said")"
console() { # with a terminal, which keys need
    local words=("$wine" "$work/press.exe" "$@")
    timeout 120 script -qec "${words[*]@Q} 2>said" /dev/null >/dev/null </dev/null
}

# ---- the sample, by names that Windows and UTF-8 have ----
scene=AST_L1A_00301012001180005_sim.zip
out="$work/ünï cödé 山"
mkdir "$out" "$work/release"
cp "$source_dir/sampledata/$scene" "$work"
"$release" run "$work/$scene" -o "$work/release/dem.tif" --quiet
program run "Z:${work//\//\\}\\$scene" -o "Z:${out//\//\\}\\dem.tif" --quiet || fail "run"
[ -z "$(ls "$out" | grep -v '^dem[._]' || true)" ] || fail "left over:" "$out"/*
for product in dem_qa; do # GDAL's compression of it may be another
    for folder in "$out" "$work/release"; do
        gdal_translate -q -of ENVI "$folder/$product.tif" "$folder/$product.raw"
    done
    same "$out/$product.raw" "$work/release/$product.raw"
done
hdf=$source_dir/sampledata/AST_L1A_00401012001180005_sim.hdf
datum=$([ -n "$zip" ] && echo egm96 || echo ellipsoid) # the wheel has no grid of the geoid
"$release" run "$hdf" -o "$work/release/hdf.tif" --vertical "$datum" --quiet
PROJ_DATA=/nonexistent program run "$hdf" -o "$out/hdf.tif" --vertical "$datum" --quiet || fail "run of an HDF"
for product in dem dem_ortho hdf hdf_ortho; do
    same_raster "$out/$product.tif" "$work/release/$product.tif"
done
if [ -n "$zip" ]; then
    wheel=$(ls "${zip%/*}"/stereodem-*-win_amd64.whl)
    python3 -m pip install -q --root-user-action ignore --no-deps --only-binary=:all: --platform win_amd64 --target "$work/site" "$wheel"
    [ -f "$work/site/stereodem/lib/stereodem.dll" ] || fail "$wheel has no library where the module looks"
    "$wine" "$work/site/stereodem/bin/stereodem.exe" run "$work/$scene" -o "$work/site/dem.tif" --quiet || fail "the wheel's program"
    same "$work/site/dem.tif" "$out/dem.tif"
fi
code=0
program run "$work/none.zip" -o "$out/none.tif" --quiet 2>"$work/said" || code=$?
[ "$code" = 1 ] && grep -q none.zip "$work/said" || fail "a missing scene: code $code, $(cat "$work/said")"
echo "windows: under wine $(basename "$there") makes the samples of the release build"

# ---- stopped by a key or as its window closes, ended by force: nothing half-written; the same command goes on, to the same bytes ----
cd "$work"
again() { # WHY: the command of the run that was stopped
    program run "$scene" -o stopped.tif --tile 128 --quiet || fail "the run after $1"
    cmp stopped.tif "$out/dem.tif" || fail "after $1 the DEM is another one"
    [ -z "$(ls -d stopped.tif.* 2>/dev/null)" ] || fail "left over after $1:" stopped.tif.*
    rm stopped*
}
for key in c break close kill; do
    code=0
    console $key 'stopped.tif.job\unit_*.sdm' "$program" run "$scene" -o stopped.tif --tile 128 --threads 1 --quiet || code=$?
    [ ! -e stopped.tif ] || fail "$key came too late"
    if [ $key = kill ]; then
        [ $code = 91 ] || fail "killed: code $code"
    else
        [ $code = 1 ] && grep -q "stopped on request" said || fail "$key: code $code, $(cat said)"
        [ -z "$(ls -d stopped.tif.part* stopped.tif.job/*.part* 2>/dev/null)" ] || fail "$key leaves" stopped.tif*
    fi
    again $key
done

# ---- two runs on one output; a DEM that a viewer holds ----
for one in 1 2; do
    (code=0; program run "$scene" -o two.tif --quiet 2>"two.$one" || code=$?; echo $code >"two.$one.code") &
done
wait
for one in 1 2; do
    case $(cat "two.$one.code") in
    0) ;;
    *) grep -qE "another run|exists" "two.$one" || fail "two runs: $(cat "two.$one")" ;;
    esac
done
cmp two.tif "$out/dem.tif" || fail "two runs: the DEM is another one"
[ -z "$(ls -d two.tif.* 2>/dev/null)" ] || fail "two runs leave" two.tif.*
code=0
"$wine" press.exe hold two.tif "$program" run "$scene" -o two.tif --overwrite --cost census --quiet 2>said || code=$?
[ $code = 1 ] && grep -q "two.tif.*another program" said || fail "a DEM that is held: code $code, $(cat said)"
cmp two.tif "$out/dem.tif" || fail "a DEM that is held is lost"
program run "$scene" -o two.tif --overwrite --quiet || fail "a DEM that is no longer held"
cmp two.tif "$out/dem.tif" || fail "the DEM that was held is another one"

# ---- a path beyond 260 characters ----
deep=$work
for k in 1 2 3; do deep=$deep/$(printf '%080d' $k); done
mkdir -p "$deep"
cp "$scene" "$deep"
program run "Z:${deep//\//\\}\\$scene" -o "Z:${deep//\//\\}\\dem.tif" --quiet || fail "a long path"
cmp "$deep/dem.tif" "$out/dem.tif" || fail "by a long path the DEM is another one"
echo "windows: stopped, ended, twice at once, held by a viewer and by a long path it makes the same bytes"
