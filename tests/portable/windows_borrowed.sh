# Sourced by windows.sh: the program for Windows with the GDAL and PROJ of Rasterio's wheel, which are built in minutes less than
# our own parts: in the folder $there.  Exit code 77 where the wheel or cJSON's source cannot be had.
# SPDX-License-Identifier: Apache-2.0
place=$source_dir/build/windows-borrowed
mkdir -p "$place"/{wine,lib/pkgconfig,include,cjson/lists/partial}
if [ ! -d "$place/wheel" ]; then
    python3 -m pip download -q --timeout 20 --retries 1 --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.12 --dest "$place" \
        rasterio==1.5.2 2>"$place/said" || skip "no wheel of Rasterio for Windows: $(tail -1 "$place/said")"
    python3 -m zipfile -e "$place"/rasterio-*.whl "$place/wheel.part" && mv "$place/wheel.part" "$place/wheel"
fi
if [ ! -f "$place/cjson/cJSON.c" ]; then
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | grep -v security | head -1) || true # none: not of Debian
    echo "deb-src ${uri:-none} bookworm main" >"$place/cjson/sources.list"
    (
        cd "$place/cjson"
        apt=(apt-get -qq -o "Dir::Etc::SourceList=$PWD/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$PWD/lists"
            -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
        "${apt[@]}" update && "${apt[@]}" source --download-only cjson && tar -xf cjson_*.orig.tar.gz --strip-components 1
    ) >"$place/said" 2>&1 || skip "no source of cJSON: $(tail -1 "$place/said")"
fi
borrow() { # NAME VERSION: what the linker and pkg-config ask for, from the names that the DLL shows
    local dll
    dll=$(basename "$place"/wheel/rasterio.libs/"$1"[-_]*.dll)
    { printf 'LIBRARY %s\nEXPORTS\n' "$dll"; names "$place/wheel/rasterio.libs/$dll"; } >"$place/lib/$1.def"
    x86_64-w64-mingw32-dlltool -d "$place/lib/$1.def" -l "$place/lib/lib$1.a"
    printf 'Name: %s\nDescription: borrowed\nVersion: %s\nLibs: -l%s\nCflags: -I%s/include\n' "$1" "$2" "$1" "$place" >"$place/lib/pkgconfig/$1.pc"
}
borrow gdal 3.6
borrow proj 9.1
cp /usr/include/gdal/*.h /usr/include/proj*.h /usr/include/geodesic.h "$place/include"
PKG_CONFIG_LIBDIR=$place/lib/pkgconfig cmake -S "$source_dir" -B "$place/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/mingw.cmake \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF -DSDM_CUDA=OFF -DSDM_CJSON_SOURCE="$place/cjson" \
    -DCMAKE_C_FLAGS="-Wno-format -Wno-float-conversion" -DCMAKE_C_STANDARD_LIBRARIES=-lssp \
    -DCMAKE_{EXE,SHARED}_LINKER_FLAGS="-static -L$place/lib" >"$place/said" || fail "cmake: $(tail -5 "$place/said")"
cp "$place"/wheel/rasterio.libs/*.dll "$place/build"
WINEPREFIX=$place/wine cmake --build "$place/build" --target stereodem.exe stereodem.dll >"$place/said" || fail "the build: $(tail -20 "$place/said")"
mkdir -p "$there"/{bin,lib,share}
cp "$place"/build/*.{exe,dll} "$there/bin"
cp "$place/build/libstereodem.dll.a" "$there/lib"
for data in proj gdal; do
    cp -r "$place/wheel/rasterio/${data}_data" "$there/share/$data"
done
