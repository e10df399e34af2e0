# What the cluster tests share: scenes, the DEMs of run to hold against, and what must hold in the end.  Sourced.
# SPDX-License-Identifier: Apache-2.0

skip() {
    echo "SKIPPED: $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

program=$(realpath "$1")
lab=${program%/*}/stereodem-lab # simulates
source_folder=$(realpath "$2")
work=$(mktemp -d /tmp/stereodem_cluster_XXXXXX)
chmod 755 "$work"
export OMP_WAIT_POLICY=passive # several programs share the machine

# wait_until SECONDS COMMAND...: whether it ends well within the time.
wait_until() {
    local left=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $left -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.1
    done
}

# submit SCRIPT: a job of all scenes by a template's script; again while it is in the queue is refused.
submit() {
    SCENES=$work/scenes.txt JOB=$job PLAN_OPTIONS=$plan_options STEREODEM="env SDM_WORDS=1 $program" bash "$1"
}
submit_once() {
    submit "$1"
    if submit "$1" 2>twice; then
        fail "one job was queued twice"
    fi
    grep -q "is still in the queue" twice || fail "submitted twice: $(cat twice)"
}

# make_scenes [SIDE LARGE_SIDE TILE]: six scenes, two of them in tiles, and a list of them.
make_scenes() {
    local i
    : >"$work/scenes.txt"
    for i in 1 2 3 4 5 6; do
        local side=${1:-300}
        [ $i -le 2 ] && side=${2:-560}
        "$lab" simulate -q -o "$work/scene$i" --layout rpc --gsd 15 --width $side --height $side --seed $i --relief 200
        echo "scene$i/left.tif scene$i/right.tif" >>"$work/scenes.txt"
    done
    plan_options="--tile ${3:-256}"
}

# What run makes of each scene, for the comparison.
make_expected() {
    local i
    mkdir -p "$work/expected"
    for i in 1 2 3 4 5 6; do
        "$program" run -q "$work/scene$i/left.tif" "$work/scene$i/right.tif" -o "$work/expected/$i.tif"
    done
}

# same_as_run JOB: DEM and QA raster of every scene, to the byte.
same_as_run() {
    local i=0 name
    for name in left left_2 left_3 left_4 left_5 left_6; do
        i=$((i + 1))
        cmp "$1/dem/$name.tif" "$work/expected/$i.tif" || fail "scene $i: another DEM than run's"
        cmp "$1/dem/${name}_qa.tif" "$work/expected/${i}_qa.tif" || fail "scene $i: another QA raster than run's"
    done
    echo "ok: six DEMs and QA rasters are those of run, byte for byte"
}

# A process that computes units of the job, whose environment holds the text: its number, or nothing.
busy_process() {
    local job=$1 text=$2 pid words
    for pid in /proc/[0-9]*; do
        { readarray -d '' -t words <"$pid/cmdline"; } 2>/dev/null || continue
        [ "${words[0]:-}" = "$program" ] && [ "${words[1]:-} ${words[2]:-}" = "tile $job" ] || continue
        { tr '\0' '\n' <"$pid/environ" | grep "^$text" >/dev/null; } 2>/dev/null && echo "${pid#/proc/}" && return 0
    done
    return 1
}

# of_process PID NAME: a variable of its environment.
of_process() {
    { tr '\0' '\n' <"/proc/$1/environ" | sed -n "s/^$2=//p"; } 2>/dev/null || true
}
