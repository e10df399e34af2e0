#!/bin/bash
# What `cmake --install` lays down: the program, its manual, its completions.  The library: tests/library.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
for tool in cmake nm; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; exit 77; }
done
prefix=$work/prefix
cmake --install "$(dirname "$program")" --prefix "$prefix" >"$work/log" 2>&1 || complain "install: $(tail -3 "$work/log")"

version=$("$prefix/bin/stereodem" --version | head -1)
[[ $version == *"stereodem "[0-9]* ]] || complain "the installed program says '$version'"
manual=$prefix/share/man/man1/stereodem.1
grep -q '^\.TH' "$manual" || complain "no manual page at share/man/man1/stereodem.1"
if command -v man >/dev/null; then
    MANPATH=$prefix/share/man MANWIDTH=100 man stereodem >"$work/page" 2>"$work/err"
    for word in --vertical --t_srs compare "EXIT"; do
        grep -qF -- "$word" "$work/page" || complain "man stereodem: nothing of $word ($(head -c 200 "$work/err"))"
    done
    man --warnings -l "$manual" 2>&1 >/dev/null | grep -v "can't set the locale" >"$work/err"
    [ -s "$work/err" ] && complain "man: $(head -3 "$work/err")"
fi

for library in "$prefix"/lib*/libstereodem.a "$prefix"/lib/*/libstereodem.a; do # our names alone
    [ -e "$library" ] || continue
    foreign=$(nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(sdm_|\.gomp)/ {print $3}' | head -5)
    [ -z "$foreign" ] || complain "libstereodem.a defines $foreign"
done
for file in bash-completion/completions/stereodem zsh/vendor-completions/_stereodem fish/vendor_completions.d/stereodem.fish; do
    [ -s "$prefix/share/$file" ] || complain "no completion at share/$file"
done
[ -z "$(find "$prefix" -name '*lab*')" ] || complain "the lab is installed: $(find "$prefix" -name '*lab*')"
finish
