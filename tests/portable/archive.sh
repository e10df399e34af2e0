#!/bin/bash
# The archive of scripts/portable, against the release build: what its files need and show, and what it makes on this machine
# and, as an ordinary user, in a tree of busybox and Debian 11's C library alone.
#   tests/portable/archive.sh PROGRAM SOURCE [CPU]
# Another CPU than this machine's is emulated by qemu, and runs the sample scene alone.  Exit code 77 where no archive was built;
# without root or a mirror of Debian the tree is left out with a word.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} LC_ALL=C
release=$1 source_dir=$2 cpu=${3:-$(uname -m)} tools= emulator=
. "$source_dir/tests/portable/lib.sh"
built "stereodem-*-linux-$cpu.tar.gz" "linux-$cpu"
archive=$built
if [ "$cpu" != "$(uname -m)" ]; then
    emulator=$(command -v "qemu-$cpu-static" "qemu-$cpu" | head -1 || true) tools=$cpu-linux-gnu-
    export QEMU_LD_PREFIX=/usr/$cpu-linux-gnu
    [ -n "$emulator" ] && [ -d "$QEMU_LD_PREFIX" ] && command -v "${tools}objdump" >/dev/null ||
        skip "no qemu-user-static, libc6-*-cross or binutils for $cpu here"
fi

mkdir "$work/tree" "$work/out"
chmod 755 "$work"
there="$work/tree/opt/with blanks"
mkdir -p "$there"
tar -xzf "$archive" -C "$there" --strip-components 1
program="$there/bin/stereodem" library="$there/lib/libstereodem.so.1"
[ "$($emulator "$program" --version | head -1)" = "$("$release" --version | head -1)" ] || fail "the archive is of another version; build it anew"

# ---- what the files need, what the library shows ----
for file in "$program" "$library"; do
    newest=$("${tools}objdump" -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
    [ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -1)" = GLIBC_2.17 ] || fail "$file needs $newest"
    others=$("${tools}objdump" -p "$file" | awk '/NEEDED/ {print $2}' | grep -vE '^(lib(c|m|pthread|dl|rt)\.so\.[0-9]|ld-linux-.*)$' || true)
    [ -z "$others" ] || fail "$file needs" $others
done
diff <("${tools}nm" -D --defined-only "$library" | awk '$2 != "A" {sub("@.*", "", $3); print $3}' | sort) \
    <(grep -o 'sdm_[a-z0-9_]*' "$source_dir/cmake/stereodem.map" | sort -u) || fail "the library shows other names than its map"
levels() { "$1" devices | grep "^cpu"; }
[ -n "$emulator" ] || [ "$(levels "$program")" = "$(levels "$release")" ] || fail "devices says '$(levels "$program")', the release build '$(levels "$release")'"
licensed "$there/share" gdal proj libtiff sqlite curl mbedtls openmp libcxx

# ---- what the release build makes ----
zip=AST_L1A_00301012001180005_sim.zip hdf=AST_L1A_00401012001180005_sim.hdf
if [ -n "$emulator" ]; then
    "$release" run "$source_dir/sampledata/$zip" -o "$work/out/release.tif" --quiet
    "$emulator" "$program" run "$source_dir/sampledata/$zip" -o "$work/out/emulated.tif" --quiet
    for product in "" _ortho; do same "$work/out/emulated$product.tif" "$work/out/release$product.tif"; done
    echo "archive: under $(basename "$emulator") it makes the bytes of the release build"
    exit 0
fi
cp "$source_dir/sampledata/"{$zip,$hdf} "$work/tree/opt"
pleiades=$source_dir/../shared/data/pleiades_reunion
if [ -d "$pleiades" ]; then cp "$pleiades"/img_0[12].tif "$work/tree/opt"; else echo "archive: no Pleiades pair here, left out"; fi
make() { # PROGRAM SCENES OUT: the products that are compared
    [ ! -e "$2/img_01.tif" ] || "$1" run "$2/img_01.tif" "$2/img_02.tif" -o "$3/pair.tif" --quiet
    "$1" run "$2/$zip" -o "$3/zip.tif" --quiet
    "$1" run "$2/$hdf" -o "$3/hdf.tif" --vertical egm96 --quiet
    "$1" plan "$2/$zip" -o "$3/pieces" --tile 400 --quiet
    "$1" tile "$3/pieces" 0 --count 1000 --quiet
    "$1" merge "$3/pieces" --quiet
}
mkdir "$work/out/release" "$work/out/here"
make "$release" "$work/tree/opt" "$work/out/release"
compare() {
    local product
    for product in $(cd "$work/out/release" && ls pair.tif pair_ortho.tif 2>/dev/null) zip.tif zip_ortho.tif hdf.tif hdf_ortho.tif "pieces/dem/${zip%.zip}.tif"; do
        same "$1/$product" "$work/out/release/$product"
    done
}

# ---- here, through a link, where the environment names data of others ----
ln -s "$program" "$work/link"
mkdir "$work/foreign"
echo none >"$work/foreign/proj.db"
(export PROJ_DATA=$work/foreign PROJ_LIB=$work/foreign GDAL_DATA=$work/foreign; make "$work/link" "$work/tree/opt" "$work/out/here")
compare "$work/out/here"
pair=$source_dir/../shared/data/middlebury
if [ -d "$pair/cones" ]; then
    images=("$pair"/cones/im2.* "$pair"/cones/im6.*)
    for one in "$release" "$program"; do
        "$one" match "${images[@]}" -o "$work/out/match_$(basename "$(dirname "$one")").tif" --quiet
    done
    same "$work/out/match_bin.tif" "$work/out/match_$(basename "$(dirname "$release")").tif"
fi
for python in python3 /usr/bin/python3; do # with NumPy
    "$python" -c 'import numpy' 2>/dev/null || continue
    PYTHONPATH="$there/python" "$python" -B -c 'import stereodem, sys; stereodem.run(sys.argv[1], log=lambda *_: None)' \
        "$source_dir/sampledata/$zip" || fail "the Python module"
    break
done
echo "archive: here it makes the bytes of the release build"

# ---- with an old C library and nothing else, as an ordinary user ----
[ "$(id -u)" -eq 0 ] && chroot / true 2>/dev/null || { echo "archive: not root, the bare tree is left out"; exit 0; }
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 2>/dev/null | grep -v security | head -1 || true)
mkdir -p "$work/apt/lists/partial"
echo "deb ${uri:-none} bullseye main" >"$work/apt/sources.list"
apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
if ! (cd "$work/apt" && "${apt[@]}" update && "${apt[@]}" download libc6/bullseye busybox-static/bullseye) >"$work/apt/log" 2>&1; then
    echo "archive: Debian 11's C library cannot be fetched, the bare tree is left out"
    exit 0
fi
for package in "$work"/apt/*.deb; do dpkg-deb -x "$package" "$work/tree"; done
mkdir -p "$work/tree"/{proc,tmp/out}
chmod 1777 "$work/tree/tmp" "$work/tree/tmp/out"
ln -s "/opt/with blanks/bin/stereodem" "$work/tree/opt/stereodem"
{ declare -p zip hdf; declare -f make; echo 'make /opt/stereodem /opt /tmp/out'; } | sed 's/^declare -- //' >"$work/tree/opt/try"
unshare --mount bash -c 'mount -t proc proc "$1/proc"; exec chroot --userspec=65534:65534 "$1" /bin/busybox env -i PATH=/bin HOME=/tmp \
    PROJ_DATA=/nonexistent /bin/busybox sh -eu /opt/try' try "$work/tree" || fail "in the bare tree"
compare "$work/tree/tmp/out"
echo "archive: with $(basename "$work"/apt/libc6*.deb) and busybox alone it makes the bytes of the release build"
