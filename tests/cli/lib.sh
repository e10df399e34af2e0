# shellcheck shell=bash disable=SC2034
# Shared by tests/cli: $1 is the program, $2 the source tree.
set -u
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} # tests share the machine: threads that wait shall not spin
program=$1
lab=$(dirname "$program")/stereodem-lab # simulates
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# try ARGUMENTS...: runs the program; exit code in $code, output in $work/out and $work/err
try() {
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
}

# expect CODE TEXT ARGUMENTS...: that exit code, and one line on stderr with TEXT in it
expect() {
    local want=$1 text=$2
    shift 2
    try "$@"
    [ "$code" -eq "$want" ] || complain "stereodem $*: exit code $code, expected $want"
    [ "$(wc -l <"$work/err")" -eq 1 ] || complain "stereodem $*: $(wc -l <"$work/err") lines on stderr, expected 1"
    grep -qF -- "$text" "$work/err" || complain "stereodem $*: said '$(cat "$work/err")', expected '$text'"
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}
