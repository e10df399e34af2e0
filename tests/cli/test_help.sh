#!/bin/bash
# --help of each command shows every option of the table with its default, within 80 columns; so does the manual.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || complain "stereodem --help lists no commands"
for command in $commands; do
    try "$command" --help
    [ "$code" -eq 0 ] || complain "$command --help: exit code $code"
    [ -s "$work/err" ] && complain "$command --help: wrote to stderr"
    awk 'length($0) > 80 { exit 1 }' "$work/out" || complain "$command --help: lines over 80 columns"
    grep -q "^Usage: stereodem $command" "$work/out" || complain "$command --help: no usage line"
    grep -q '(null)' "$work/out" && complain "$command --help: (null)"
    options=$(grep -cE '^  (-., )?--' "$work/out")
    defaults=$(tr '\n' ' ' <"$work/out" | sed 's/  */ /g' | grep -oE '(\[|; )default: [^]]+\]' | wc -l)
    [ "$options" -eq $((defaults + 1)) ] || complain "$command --help: $options options, $defaults defaults"
    # each option: a sentence of its own, from a capital to a full stop
    awk '/^  (-., )?--/ { if (option && !(text ~ /\. \[/ || option ~ /--help/)) { print option; bad = 1 }
                         option = $0; text = ""; next }
         option { sub(/^ +/, ""); text = text " " $0 }
         END { exit bad }' "$work/out" || complain "$command --help: an option without a sentence"
    cp "$work/out" "$work/help_$command"
    "$program" help "$command" | cmp -s - "$work/out" || complain "help $command differs from $command --help"
done

"$source_dir/scripts/generate" "$program" "$work/made" || complain "scripts/generate failed"
grep -q '^\.TH STEREODEM 1' "$work/made/stereodem.1" || complain "the manual has no title"
names=$(cat "$source_dir"/src/core/options.c "$source_dir"/src/*/*_options.c | grep -oE '"--[a-z_-]+"' |
    tr -d '"' | sort -u)
[ "$(wc -w <<<"$names")" -gt 40 ] || complain "too few options found in the tables"
for name in $names; do
    grep -qE -- "^  (-., )?$name( |\$)" "$work"/help_* || complain "$name is in no --help"
    grep -qF -- "${name//-/\\-}" "$work/made/stereodem.1" || complain "$name is not in the manual"
done
grep -q 'metres' "$work/help_run" || complain "run --help: no units"
grep -q 'whole number from 64 to 65536' "$work/help_run" || complain "run --help: no ranges"

try --version
[ "$code" -eq 0 ] || complain "--version: exit code $code"
for word in stereodem GDAL PROJ; do
    grep -qE "^$word [0-9]+\.[0-9]+\.[0-9]+" "$work/out" || complain "--version does not tell $word"
done
finish
