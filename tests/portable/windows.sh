#!/bin/bash
# The program for Windows, under wine: it makes the samples of the release build, by names of any script and length; stopped or
# ended by force it leaves nothing half-written and goes on; two runs and a viewer may want one file.
#   tests/portable/windows.sh PROGRAM SOURCE
# The program is that of build/portable's zip; where there is none, it is built with the DLLs of GDAL and PROJ of rasterio's wheel
# and Debian's headers: what a trial needs, not a release, which has to say under which licences its parts are.  Exit code 77
# where a compiler, wine, the wheel or cJSON's source is not to be had.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C.UTF-8 WINEDEBUG=-all OMP_WAIT_POLICY=passive
release=$1 source_dir=$2 wine=/usr/lib/wine/wine64
cache=${SDM_PORTABLE_CACHE:-$HOME/.cache/stereodem-portable}
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
command -v x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-dlltool >/dev/null || skip "no gcc-mingw-w64-x86-64-posix here"
[ -x "$wine" ] || skip "no wine64 here"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the program of the zip ----
take_zip() {
    python3 -m zipfile -e "$1" "$work/with blanks"
    there="$work/with blanks/$(basename "$1" .zip)"
    program="$there/bin/stereodem.exe" library="$there/bin/stereodem.dll"
    (unset PROJ_DATA GDAL_DATA && [ "$("$wine" "$program" --version | head -1 | tr -d '\r')" = "$("$release" --version | head -1)" ]) ||
        fail "the zip is of another version; build it anew"
    for part in gdal proj libtiff sqlite curl gcc-mingw-w64-base; do
        [ -n "$(ls "$there/share/doc/stereodem/licenses/$part" 2>/dev/null)" ] || fail "no licence of $part"
    done
    if x86_64-w64-mingw32-objdump -p "$program" "$library" | grep -iE 'DLL Name: *(lib|gdal|proj)'; then fail "a DLL that Windows has not"; fi
}

# ---- a trial: import libraries, headers and what pkg-config says of them ----
build_trial() {
    local cjson wheel=rasterio-1.4.4-cp311-cp311-win_amd64.whl name dll
    cjson=$(ls "$cache"/sources/cjson_*.orig.tar.gz 2>/dev/null | head -1 || true)
    [ -n "$cjson" ] || skip "no source of cJSON in $cache; scripts/portable fetches it"
    [ -f "$cache/$wheel" ] || python3 -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
        -d "$cache" rasterio==1.4.4 2>/dev/null || skip "$wheel cannot be fetched"
    there=$source_dir/build/windows parts=$source_dir/build/windows/parts
    rm -rf "$parts"
    mkdir -p "$parts"/{include,bin}
    python3 -m zipfile -e "$cache/$wheel" "$work/wheel"
    tar -xf "$cjson" -C "$parts" --strip-components 1 --wildcards '*/cJSON.[ch]'
    cp "$work"/wheel/rasterio.libs/*.dll "$parts/bin"
    cp -r /usr/include/gdal/. /usr/include/proj*.h "$parts/include"
    for name in gdal proj; do
        dll=$(basename "$parts/bin/$name"[-_]*.dll)
        { printf 'LIBRARY "%s"\nEXPORTS\n' "$dll"; names "$parts/bin/$dll"; } >"$work/$name.def"
        x86_64-w64-mingw32-dlltool -d "$work/$name.def" -l "$parts/lib$name.a"
        printf 'Name: %s\nDescription: %s\nVersion: 0\nLibs: -L%s -l%s\nCflags: -I%s/include\n' $name $name "$parts" $name "$parts" >"$parts/$name.pc"
    done
    export PKG_CONFIG_LIBDIR=$parts WINEPATH=$parts/bin GDAL_DATA=$work/wheel/rasterio/gdal_data PROJ_DATA=$work/wheel/rasterio/proj_data
    cmake -S "$source_dir" -B "$there" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$source_dir/cmake/mingw.cmake" \
        -DSDM_CUDA=OFF -DBUILD_TESTING=OFF -DSDM_CJSON_SOURCE="$parts" -DCMAKE_C_FLAGS="-Wno-format -Wno-float-conversion" \
        -DCMAKE_{EXE,SHARED}_LINKER_FLAGS="-static -L$parts" >"$work/log" &&
        cmake --build "$there" --target stereodem stereodem_shared >>"$work/log" || { tail -40 "$work/log" >&2; fail "the program is not built"; }
    program=$there/stereodem.exe library=$there/stereodem.dll
}
names() { # what a DLL shows
    x86_64-w64-mingw32-objdump -p "$1" | awk 'NF == 0 {names = 0} /^.Ordinal.Name/ {names = 1}
        names && $NF ~ /^[a-zA-Z][a-zA-Z_0-9]*$/ && $NF != "Table" {print $NF}'
}

x86_64-w64-mingw32-gcc-posix -municode -O1 "$source_dir/tests/portable/windows_press.c" -o "$work/press.exe"
zip=$(ls "$source_dir"/build/portable/stereodem-*-windows-x86_64.zip 2>/dev/null | head -1 || true)
if [ -n "$zip" ]; then take_zip "$zip"; else build_trial; fi
diff <(names "$library" | sort) <(grep -o 'sdm_[a-z0-9_]*' "$source_dir/cmake/stereodem.map" | sort -u) || fail "the library shows other names than its map"
program() { "$wine" "$program" "$@"; }
# the library, by its example in C
x86_64-w64-mingw32-gcc-posix -O1 -I"$source_dir/include" "$source_dir/examples/dem_from_arrays.c" \
    "$(find "$there" -name libstereodem.dll.a)" -o "$(dirname "$library")/example.exe"
"$wine" "$(dirname "$library")/example.exe" >"$work/said" 2>/dev/null || fail "the example of the library: $(cat "$work/said")"
grep -q "columns: done" "$work/said" || fail "the example of the library: $(cat "$work/said")"
console() { # with a terminal, which keys need
    local words=("$wine" "$work/press.exe" "$@")
    timeout 120 script -qec "${words[*]@Q} 2>said" /dev/null >/dev/null </dev/null
}

# ---- the sample, by names that Windows and UTF-8 have; DLLs of others compress in another way ----
scene=AST_L1A_00301012001180005_sim.zip
out="$work/ünï cödé 山"
mkdir "$out" "$work/release"
cp "$source_dir/sampledata/$scene" "$work"
(unset GDAL_DATA PROJ_DATA && "$release" run "$work/$scene" -o "$work/release/dem.tif" --quiet)
program run "Z:${work//\//\\}\\$scene" -o "Z:${out//\//\\}\\dem.tif" --quiet || fail "run"
[ -z "$(ls "$out" | grep -v '^dem[._]' || true)" ] || fail "left over:" "$out"/*
for product in dem dem_ortho dem_qa; do
    for folder in "$out" "$work/release"; do
        (unset GDAL_DATA PROJ_DATA && gdal_translate -q -of ENVI "$folder/$product.tif" "$folder/$product.raw")
    done
    cmp "$out/$product.raw" "$work/release/$product.raw" || fail "$product.tif has other samples than the release build's"
done
if [ -n "$zip" ]; then # with all parts of its own, also the bytes
    hdf=$source_dir/sampledata/AST_L1A_00401012001180005_sim.hdf
    "$release" run "$hdf" -o "$work/release/hdf.tif" --vertical egm96 --quiet
    PROJ_DATA=/nonexistent program run "$hdf" -o "$out/hdf.tif" --vertical egm96 --quiet || fail "run of an HDF"
    for product in dem dem_ortho hdf hdf_ortho; do
        cmp "$out/$product.tif" "$work/release/$product.tif" || fail "$product.tif has other bytes than the release build's"
    done
    wheel=$(ls "${zip%/*}"/stereodem-*-win_amd64.whl)
    python3 -m pip install -q --root-user-action ignore --no-deps --only-binary=:all: --platform win_amd64 --target "$work/site" "$wheel"
    [ -f "$work/site/stereodem/lib/stereodem.dll" ] || fail "$wheel has no library where the module looks"
    "$wine" "$work/site/stereodem/bin/stereodem.exe" run "$work/$scene" -o "$work/site/dem.tif" --quiet || fail "the wheel's program"
    cmp "$work/site/dem.tif" "$out/dem.tif" || fail "the wheel's program makes another DEM"
fi
code=0
program run "$work/none.zip" -o "$out/none.tif" --quiet 2>"$work/said" || code=$?
[ "$code" = 1 ] && grep -q none.zip "$work/said" || fail "a missing scene: code $code, $(cat "$work/said")"
echo "windows: under wine $(basename "${zip:-the trial}") makes the samples of the release build"

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
