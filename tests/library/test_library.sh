#!/bin/bash
# The installed library: what it exports; the example, with the shared library; contexts in two threads; pkg-config,
# find_package, add_subdirectory, C++.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../cli/lib.sh"
for tool in cmake cc pkg-config nm; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; exit 77; }
done
scene=$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip
tests=$source_dir/tests/library
prefix=$work/prefix
cmake --install "$(dirname "$program")" --prefix "$prefix" >"$work/log" 2>&1 || complain "install: $(tail -3 "$work/log")"
cp "$(dirname "$program")/install_manifest.txt" "$work/manifest"
described=$(find "$prefix" -name stereodem.pc)
[ -n "$described" ] || complain "no stereodem.pc"
PKG_CONFIG_PATH=$(dirname "$described")
export PKG_CONFIG_PATH
folder=$(pkg-config --variable=libdir stereodem)
shared=$folder/libstereodem.so
export LD_LIBRARY_PATH=$folder

# ---- what is exported ----
header=$(grep -oE 'SDM_API [^;]*' "$prefix/include/stereodem/stereodem.h" | grep -oE 'sdm_[a-z_]+\(' | tr -d '(' | sort -u)
guard=$(grep -oE 'sdm_[a-z_]+;' "$source_dir/cmake/stereodem.map" | tr -d ';' | sort -u)
exported=$(nm -D --defined-only "$shared" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
[ "$header" = "$guard" ] || complain "the header and cmake/stereodem.map differ: $(diff <(echo "$header") <(echo "$guard") | head -5)"
[ "$exported" = "$guard" ] || complain "exported is not what cmake/stereodem.map lists: $(diff <(echo "$exported") <(echo "$guard") | head -5)"
soname=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = libstereodem.so.1 ] || complain "the shared library is called '$soname', expected libstereodem.so.1"

# ---- programs of others ----
version=$("$prefix/bin/stereodem" --version | awk 'NR == 1 {print $2}')
[ "$(pkg-config --modversion stereodem)" = "$version" ] || complain "stereodem.pc gives another version than the program"
# compile TO SOURCE [OPTIONS]
compile() {
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Wno-misleading-indentation -Werror "$2" -o "$1" "${@:3}" $(pkg-config --cflags --libs stereodem) -lm 2>"$work/err" ||
        complain "${2##*/}: $(head -5 "$work/err")"
}
compile "$work/external" "$source_dir/tests/cli/external.c"
"$work/external" "$scene" >"$work/out" 2>"$work/err"
[ "$(cat "$work/out")" = "$version 15" ] || complain "an external program found '$(cat "$work/out" "$work/err")'"
"$work/external" "$work/absent.hdf" >"$work/out" 2>"$work/err"
code=$?
if [ "$code" -ne 1 ] || ! grep -q "absent.hdf" "$work/out"; then
    complain "an external program, no scene: exit code $code, '$(cat "$work/out")'"
fi
[ -s "$work/err" ] && complain "the library printed '$(cat "$work/err")'"
[ "$(wc -l <"$source_dir/examples/dem_from_arrays.c")" -le 60 ] || complain "the example has more than 60 lines"
compile "$work/example" "$source_dir/examples/dem_from_arrays.c"
mkdir "$work/empty"
(cd "$work/empty" && "$work/example") >"$work/out" 2>"$work/err" || complain "the example failed: $(cat "$work/out")"
grep -q '^1[0-9]* columns: done' "$work/out" || complain "the example made no DEM: $(cat "$work/out")"
grep -q '^0 columns: stopped on request' "$work/out" || complain "the example was not cancelled: $(cat "$work/out")"
grep -q '100 %' "$work/err" || complain "the example showed no progress: $(tail -2 "$work/err")"
[ -z "$(ls -A "$work/empty")" ] || complain "the example left $(ls "$work/empty")"
written=$(grep -oE '\bsdm_[a-z_]+\(' "$tests/abi.c" | tr -d '(' | sort -u)
[ "$written" = "$guard" ] || complain "tests/library/abi.c lacks or has more than cmake/stereodem.map: $(diff <(echo "$written") <(echo "$guard") | head -5)"
compile "$work/abi" "$tests/abi.c" -Wno-unused-function
"$work/abi" || complain "the shared library has another SDM_ABI than its header"
cc -std=c11 -shared -fPIC -I"$prefix/include" "$source_dir/tests/cli/external.c" -o "$work/plugin.so" "$folder/libstereodem.a" \
    -lgdal -lproj -lcjson -ldeflate -fopenmp -pthread -ldl -lm 2>"$work/err" ||
    complain "the static library in a shared object: $(head -3 "$work/err")"
if command -v c++ >/dev/null; then
    (cd "$prefix/include" && find . -name '*.h') | sed 's/.*/#include <&>/' >"$work/a.cpp"
    c++ -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" "$work/a.cpp" 2>"$work/err" ||
        complain "the headers from C++: $(head -3 "$work/err")"
fi

# ---- CMake ----
command -v make >/dev/null || export CMAKE_GENERATOR=Ninja
cmake -S "$tests" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
    cmake --build "$work/found" >>"$work/log" 2>&1 || complain "find_package: $(tail -5 "$work/log")"
for one in external external_static; do
    [ "$("$work/found/$one" "$scene")" = "$version 15" ] || complain "find_package: $one found '$("$work/found/$one" "$scene")'"
done
cmake -S "$tests" -B "$work/inside" -DSTEREODEM_SOURCE="$source_dir" -DSDM_CUDA=OFF -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/log" 2>&1 || complain "add_subdirectory: $(tail -5 "$work/log")"
# compiled alone: to link it would build all of the library once more
compile_external=$(sed -n 's/^ *"command": "\(.*external\.c\)",*$/\1/p' "$work/inside/compile_commands.json" | head -1)
(cd "$work/inside" && mkdir -p CMakeFiles/external.dir && bash -c "${compile_external//\\\"/\"} -fsyntax-only") >"$work/log" 2>&1 ||
    complain "add_subdirectory: no includes: $(head -3 "$work/log")"
grep -rqs 'libstereodem\.a' "$work/inside/stereodem/Makefile" "$work/inside/build.ninja" "$work/inside/stereodem/CMakeFiles/Makefile2" &&
    complain "BUILD_SHARED_LIBS=ON makes a static library"

# ---- uninstalling leaves nothing ----
xargs rm -f <"$work/manifest"
[ -z "$(find "$prefix" ! -type d)" ] || complain "left: $(find "$prefix" ! -type d | head -3)"
finish
