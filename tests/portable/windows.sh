#!/bin/bash
# The whole program for Windows, by MinGW and under wine: it makes the samples of the release build.
#   tests/portable/windows.sh PROGRAM SOURCE
# GDAL and PROJ are the DLLs of rasterio's wheel, with Debian's headers: what a trial needs, not a release, which has to say
# under which licences its parts are.  Exit code 77 where a compiler, wine, the wheel or cJSON's source is not to be had.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C.UTF-8 WINEDEBUG=-all OMP_WAIT_POLICY=passive
release=$1 source_dir=$2 wine=/usr/lib/wine/wine64
cache=${SDM_PORTABLE_CACHE:-$HOME/.cache/stereodem-portable}
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
command -v x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-dlltool >/dev/null || skip "no gcc-mingw-w64-x86-64-posix here"
[ -x "$wine" ] || skip "no wine64 here"
cjson=$(ls "$cache"/sources/cjson_*.orig.tar.gz 2>/dev/null | head -1 || true)
[ -n "$cjson" ] || skip "no source of cJSON in $cache; scripts/portable fetches it"
wheel=rasterio-1.4.4-cp311-cp311-win_amd64.whl
[ -f "$cache/$wheel" ] || python3 -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
    -d "$cache" rasterio==1.4.4 2>/dev/null || skip "$wheel cannot be fetched"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- import libraries, headers and what pkg-config says of them ----
there=$source_dir/build/windows parts=$source_dir/build/windows/parts
rm -rf "$parts"
mkdir -p "$parts"/{include,bin}
python3 -m zipfile -e "$cache/$wheel" "$work/wheel"
tar -xf "$cjson" -C "$parts" --strip-components 1 --wildcards '*/cJSON.[ch]'
cp "$work"/wheel/rasterio.libs/*.dll "$parts/bin"
cp -r /usr/include/gdal/. /usr/include/proj*.h "$parts/include"
for name in gdal proj; do
    dll=$(basename "$parts/bin/$name"[-_]*.dll)
    x86_64-w64-mingw32-objdump -p "$parts/bin/$dll" |
        awk -v dll="$dll" 'BEGIN {print "LIBRARY \"" dll "\"\nEXPORTS"} NF == 0 {names = 0} /^.Ordinal.Name/ {names = 1}
            names && $NF ~ /^[a-zA-Z][a-zA-Z_0-9]*$/ && $NF != "Table" {print $NF}' >"$work/$name.def"
    x86_64-w64-mingw32-dlltool -d "$work/$name.def" -l "$parts/lib$name.a"
    printf 'Name: %s\nDescription: %s\nVersion: 0\nLibs: -L%s -l%s\nCflags: -I%s/include\n' $name $name "$parts" $name "$parts" >"$parts/$name.pc"
done
export PKG_CONFIG_LIBDIR=$parts WINEPATH=$parts/bin GDAL_DATA=$work/wheel/rasterio/gdal_data PROJ_DATA=$work/wheel/rasterio/proj_data
cmake -S "$source_dir" -B "$there" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$source_dir/cmake/mingw.cmake" \
    -DSDM_CUDA=OFF -DBUILD_TESTING=OFF -DSDM_CJSON_SOURCE="$parts" -DCMAKE_C_FLAGS="-Wno-format -Wno-float-conversion" -DCMAKE_EXE_LINKER_FLAGS="-static -L$parts" >"$work/log" &&
    cmake --build "$there" --target stereodem >>"$work/log" || { tail -40 "$work/log" >&2; fail "the program is not built"; }
program() { "$wine" "$there/stereodem.exe" "$@"; }

# ---- the sample, by names that Windows and UTF-8 have; the DLLs compress in another way ----
scene=AST_L1A_00301012001180005_sim.zip
out="$work/ünï cödé"
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
code=0
program run "$work/none.zip" -o "$out/none.tif" --quiet 2>"$work/said" || code=$?
[ "$code" = 1 ] && grep -q none.zip "$work/said" || fail "a missing scene: code $code, $(cat "$work/said")"
echo "windows: under wine it makes the samples of the release build"
