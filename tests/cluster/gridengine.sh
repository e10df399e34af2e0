#!/bin/bash
# A real Grid Engine on this machine: the templates are submitted, a task is killed, another asked to stop.
# gridengine.sh STEREODEM SOURCE_FOLDER     exits 77 where Grid Engine (Debian: gridengine-master, -exec, -client) cannot be started
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ "$(id -u)" -eq 0 ] || { echo "SKIPPED: needs root to start Grid Engine's daemons"; exit 77; }
PATH=$PATH:/usr/sbin
for tool in sge_qmaster sge_execd qsub qconf; do
    command -v $tool >/dev/null || { echo "SKIPPED: no $tool (Debian: gridengine-master, gridengine-exec, gridengine-client)"; exit 77; }
done
. "$(dirname "$0")/lib.sh"

stop_all() {
    local pid
    set +e
    qconf -ke all >/dev/null 2>&1
    qconf -km >/dev/null 2>&1
    sleep 1
    for pid in $(cat "$work"/sge/spool/*/*.pid "$work"/sge/spool/qmaster/qmaster.pid "$work"/sge/spool/exec/*/execd.pid 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    [ "${KEEP:-no}" = yes ] || rm -rf "$work"
}
trap stop_all EXIT

# A cell of its own, spooled into the test's folder.
make_cell() {
    export SGE_ROOT=$work/sge SGE_CELL=test SGE_QMASTER_PORT=$((25000 + RANDOM % 2000 * 2))
    export SGE_EXECD_PORT=$((SGE_QMASTER_PORT + 1))
    local host
    host=$(hostname)
    mkdir -p "$SGE_ROOT/test/common" "$SGE_ROOT/spool/qmaster" "$SGE_ROOT/spool/exec"
    for part in bin lib util utilbin; do
        [ -e /var/lib/gridengine/$part ] && ln -s /var/lib/gridengine/$part "$SGE_ROOT/$part"
    done
    cat >"$SGE_ROOT/test/common/bootstrap" <<CONF
admin_user              root
default_domain          none
ignore_fqdn             true
spooling_method         classic
spooling_lib            libspoolc
spooling_params         $SGE_ROOT/test/common;$SGE_ROOT/spool/qmaster
binary_path             /usr/lib/gridengine
qmaster_spool_dir       $SGE_ROOT/spool/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
CONF
    echo "$host" >"$SGE_ROOT/test/common/act_qmaster"
    [ "$host" = localhost ] || echo "$host localhost" >"$SGE_ROOT/test/common/host_aliases" # 127.0.0.1 may be called either
    local init=/usr/lib/gridengine/spoolinit defaults=/usr/share/gridengine/default-configuration
    [ -x $init ] || skip "no spoolinit"
    (cd "$SGE_ROOT" && $init classic libspoolc "$SGE_ROOT/test/common;$SGE_ROOT/spool/qmaster" init) >"$work/init.log" 2>&1 ||
        skip "its spool cannot be made: $(tail -n 2 "$work/init.log")"
    local resources=/usr/share/gridengine/util/resources part
    for part in complexes:centry pes:pe usersets:usersets; do # as Debian's own setup does
        (cd "$SGE_ROOT" && /usr/lib/gridengine/spooldefaults "${part%%:*}" $resources/"${part##*:}") >>"$work/init.log" 2>&1 || true
    done
    [ -f $defaults ] || skip "no default configuration"
    sed -e "s|^execd_spool_dir .*|execd_spool_dir $SGE_ROOT/spool/exec|" -e "s/^min_\([ug]id\) .*/min_\1 0/" $defaults >"$SGE_ROOT/test/common/configuration"
}

start_cell() {
    local host
    host=$(hostname)
    make_cell
    sge_qmaster >"$work/qmaster.log" 2>&1 || skip "sge_qmaster does not start: $(tail -n 3 "$work/qmaster.log")"
    wait_until 10 qconf -sh ||
        skip "sge_qmaster does not answer: $(qconf -sh 2>&1 | head -n 2 | tr '\n' ' ')$(tail -n 2 "$SGE_ROOT/spool/qmaster/messages" 2>/dev/null)"
    qconf -ah "$host" >/dev/null 2>&1 || true
    qconf -as "$host" >/dev/null 2>&1 || true
    sge_execd >"$work/execd.log" 2>&1 || skip "sge_execd does not start: $(tail -n 3 "$work/execd.log")"
    qconf -sq >"$work/queue" 2>/dev/null || true
    sed -e 's/^qname .*/qname all.q/' -e "s/^hostlist .*/hostlist $host/" -e 's/^slots .*/slots 2/' -e 's/^load_thresholds .*/load_thresholds NONE/' -e 's/^pe_list .*/pe_list NONE/' -e 's/^ckpt_list .*/ckpt_list NONE/' \
        -e 's/^shell_start_mode .*/shell_start_mode unix_behavior/' -e 's/^notify .*/notify 00:00:05/' "$work/queue" >"$work/all.q"
    qconf -Aq "$work/all.q" >"$work/queue.log" 2>&1 || skip "no queue: $(tail -n 2 "$work/queue.log")"
    qconf -ssconf >"$work/sched" 2>/dev/null && sed -i -e 's/^schedule_interval .*/schedule_interval 0:0:1/' \
        -e 's/^flush_\(submit\|finish\)_sec .*/flush_\1_sec 1/' "$work/sched" && qconf -Msconf "$work/sched" >/dev/null 2>&1 || true
    has_queue() { qstat -f | grep -E "all.q@.* 0/0/2 +[0-9.]+ +[^ ]+ *$"; }
    wait_until 20 has_queue || skip "its queue does not come up: $(qstat -f 2>&1 | grep all.q | head -n 1)"
    echo "Grid Engine is up"
}

do_harm() {
    local pid task stopped=no
    for _ in $(seq 1200); do
        if [ $stopped = no ] && pid=$(busy_process "$job" SGE_TASK_ID=); then
            task=$(of_process "$pid" SGE_TASK_ID) # none: it has ended since
            [ -n "$task" ] && kill -TERM "$pid" 2>/dev/null && stopped=$task && echo "asked to stop: task $stopped"
        elif [ $stopped != no ] && pid=$(busy_process "$job" SGE_TASK_ID=) && [ "$(of_process "$pid" SGE_TASK_ID)" != "$stopped" ]; then
            kill -KILL "$pid" 2>/dev/null && echo "killed: task of process $pid" && return
        fi
        sleep 0.05
    done
    fail "the array was over before the harm was done"
}

job=$work/job
start_cell
make_scenes
cd "$work"
submit_once "$source_folder/job-templates/gridengine/submit.sh"
[ "$(qstat | grep -c " stereodem ")" -gt 0 ] && [ "$(qstat | awk 'NR > 2 { print $1 }' | sort -u | wc -l)" -le 2 ] ||
    fail "more than an array and a merge in the queue: $(qstat)"
do_harm
make_expected
is_over() { [ -z "$(qstat 2>/dev/null)" ]; }
wait_until 180 is_over || fail "jobs are still in the queue: $(qstat | tail -n 3)"
"$program" status "$job"
# the stopped task ended with 1, since the program alone was stopped: merge says which unit is missing
if ! "$program" merge "$job" 2>"$work/merge.err"; then
    missing=$(sed -n 's/.*units \([0-9,-]*\) are missing.*/\1/p' "$work/merge.err")
    echo "missing: $missing"
    "$program" tile -q "$job" "$missing" && "$program" merge -q "$job"
fi
same_as_run "$job"
submit "$source_folder/job-templates/gridengine/submit.sh" || fail "an array that is over cannot be submitted again"
wait_until 60 is_over || fail "a finished job is not over at once"
same_as_run "$job"
