#!/bin/bash
# The program writes its manual page, the completions of shells, which the shells take, and the options of Python.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
"$source_dir/scripts/generate" "$program" "$work/now" || complain "scripts/generate failed"
[ "$(ls "$work/now" | wc -l)" = 4 ] || complain "scripts/generate wrote other files than four"
bash -n "$work/now/stereodem.bash" || complain "bash refuses the completion"
offers() { # offers WORD ...: what bash offers after the words
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stereodem; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$work/now/stereodem.bash" "$@"
}
offers stereodem r | grep -qx run || complain "bash does not offer run"
offers stereodem run --cost c | grep -qx census || complain "bash does not offer --cost census"
offers stereodem match --max | grep -qx -- --max-disparity || complain "bash does not offer --max-disparity"
if command -v zsh >/dev/null; then
    zsh -n "$work/now/stereodem.zsh" || complain "zsh refuses the completion"
fi
if command -v fish >/dev/null; then
    fish -n "$work/now/stereodem.fish" || complain "fish refuses the completion"
    fish -c "source $work/now/stereodem.fish; complete -C 'stereodem run --cost c'" 2>/dev/null | grep -q '^census' ||
        complain "fish does not offer --cost census"
fi
python3 "$source_dir/scripts/option_tables" "$program" python | cmp -s - "$source_dir/python/stereodem/_options.py" ||
    complain "other options: scripts/option_tables PROGRAM python > python/stereodem/_options.py"
grep -qx "version=$("$program" --version | sed -n '1s/.*stereodem \([0-9.]*\).*/\1/p')" "$source_dir/qgis/stereodem/metadata.txt" ||
    complain "qgis/stereodem/metadata.txt has another version than the program"
finish
