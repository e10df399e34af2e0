#!/bin/bash
# What `cmake --install` lays down: the program, its manual, and a library that another program can use.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
for tool in cmake cc pkg-config; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; exit 77; }
done
scene=$source_dir/sampledata/AST_L1A_00301012001180005_sim.zip
prefix=$work/prefix
cmake --install "$(dirname "$program")" --prefix "$prefix" >"$work/log" 2>&1 || complain "install: $(tail -3 "$work/log")"

version=$("$prefix/bin/stereodem" --version | head -1)
[[ $version == *"stereodem "[0-9]* ]] || complain "the installed program says '$version'"
manual=$prefix/share/man/man1/stereodem.1
grep -q '^\.TH' "$manual" || complain "no manual page at share/man/man1/stereodem.1"
if command -v man >/dev/null; then
    MANPATH=$prefix/share/man MANWIDTH=100 man stereodem >"$work/page" 2>"$work/err"
    for word in --vertical --t_srs simulate "EXIT"; do
        grep -qF -- "$word" "$work/page" || complain "man stereodem: nothing of $word ($(head -c 200 "$work/err"))"
    done
    man --warnings -l "$manual" 2>&1 >/dev/null | grep -v "can't set the locale" >"$work/err"
    [ -s "$work/err" ] && complain "man: $(head -3 "$work/err")"
fi

described=$(find "$prefix" -name stereodem.pc)
[ -n "$described" ] || complain "no stereodem.pc"
PKG_CONFIG_PATH=$(dirname "$described")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion stereodem)" = "$("$prefix/bin/stereodem" --version | awk 'NR == 1 {print $2}')" ] ||
    complain "stereodem.pc gives another version than the program: $(pkg-config --modversion stereodem)"
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Werror "$source_dir/tests/cli/external.c" -o "$work/external" \
    $(pkg-config --cflags --libs stereodem) 2>"$work/err" || complain "an external program: $(head -5 "$work/err")"
"$work/external" "$scene" >"$work/out" 2>"$work/err"
[ "$(cat "$work/out")" = "$(pkg-config --modversion stereodem) aster EPSG:32631" ] ||
    complain "an external program found '$(cat "$work/out" "$work/err")'"
"$work/external" "$work/absent.hdf" >"$work/out" 2>"$work/err"
code=$?
if [ "$code" -ne 1 ] || ! grep -q "absent.hdf" "$work/out"; then
    complain "an external program, no scene: exit code $code, '$(cat "$work/out")'"
fi
for library in "$prefix"/lib*/libstereodem.a "$prefix"/lib/*/libstereodem.a; do # our names alone
    [ -e "$library" ] || continue
    foreign=$(nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(sdm_|\.gomp)/ {print $3}' | head -5)
    [ -z "$foreign" ] || complain "libstereodem.a defines $foreign"
done
if command -v c++ >/dev/null; then # the header from C++
    echo '#include <stereodem/stereodem.h>' >"$work/a.cpp"
    c++ -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" "$work/a.cpp" 2>"$work/err" ||
        complain "the header from C++: $(head -3 "$work/err")"
fi
finish
