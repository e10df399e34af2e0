#!/bin/bash
# A real Slurm of two nodes on this machine: the templates are submitted; a node dies, a task is killed, one is asked to stop.
# slurm.sh STEREODEM SOURCE_FOLDER     exits 77 where Slurm (Debian: slurm-wlm, munge) is not there or cannot be started
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ "$(id -u)" -eq 0 ] || { echo "SKIPPED: needs root to start Slurm's daemons"; exit 77; }
for tool in slurmctld slurmd munged sbatch ip; do
    PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || { echo "SKIPPED: no $tool (Debian: slurm-wlm, munge, iproute2)"; exit 77; }
done
PATH=$PATH:/usr/sbin:/sbin
. "$(dirname "$0")/lib.sh"
tag=sdm$((RANDOM % 10000))
job=$work/job
hosts=no

stop_all() {
    local pid
    set +e
    for pid in $(cat "$work"/pid/*.pid 2>/dev/null); do kill -TERM "$pid" 2>/dev/null; done
    sleep 0.5
    for pid in $(cat "$work"/pid/*.pid 2>/dev/null) $(node_processes 1) $(node_processes 2); do kill -KILL "$pid" 2>/dev/null; done
    if [ $hosts = yes ]; then
        ip netns del ${tag}n1 2>/dev/null
        ip netns del ${tag}n2 2>/dev/null
    fi
    [ "${KEEP:-no}" = yes ] || rm -rf "$work"
}
trap stop_all EXIT

# Every process of a node but its slurmd's own starter: by namespace, else by the name that slurmstepd carries.
node_processes() {
    if [ $hosts = yes ]; then
        ip netns pids ${tag}n$1 2>/dev/null
    else
        cat "$work/pid/slurmd_n$1.pid" 2>/dev/null
    fi
}

# Two hosts as network namespaces, each on a line of its own to this one; private test addresses.
make_hosts() {
    local i
    for net in 203.0.113 198.51.100 192.0.2; do # the first of the test addresses that nothing here has
        ip -o addr | grep -q " $net\\." || break
    done
    for i in 1 2; do
        ip netns add ${tag}n$i 2>/dev/null && ip link add ${tag}v$i type veth peer name eth0 netns ${tag}n$i || return 1
        ip addr add $net.$((4 * i + 1))/30 dev ${tag}v$i && ip link set ${tag}v$i up || return 1
        ip -n ${tag}n$i addr add $net.$((4 * i + 2))/30 dev eth0
        ip -n ${tag}n$i link set eth0 up && ip -n ${tag}n$i link set lo up || return 1
        ip -n ${tag}n$i route add default via $net.$((4 * i + 1)) || return 1
    done
}

start_munge() {
    dd if=/dev/urandom of="$work/munge.key" bs=1 count=1024 2>/dev/null
    chmod 400 "$work/munge.key"
    mkdir -p "$work/munge"
    munged --force --key-file="$work/munge.key" --socket="$work/munge/socket" --pid-file="$work/pid/munged.pid" \
        --seed-file="$work/munge/seed" --log-file="$work/munge/log" >/dev/null 2>&1 || skip "munged does not start"
}

# Requeued batch jobs wait until their credential expires: a few seconds will do here.
write_config() {
    local control=$1 nodes=$2
    cat >"$work/slurm.conf" <<CONF
ClusterName=$tag
SlurmctldHost=$control
SlurmctldPort=$((20000 + RANDOM % 5000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool_%n
SlurmctldPidFile=$work/pid/slurmctld.pid
SlurmdPidFile=$work/pid/slurmd_%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd_%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=1,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=10
KillWait=3
InactiveLimit=0
TreeWidth=65533
MaxArraySize=1001
$nodes
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
    printf "CgroupPlugin=cgroup/v1\nCgroupMountpoint=$work/cgroup\n" >"$work/cgroup.conf" # loaded, not used: containers may have none
}

start_node() {
    local prefix=()
    [ $hosts = yes ] && prefix=(ip netns exec ${tag}n$1)
    "${prefix[@]}" env SLURM_CONF="$work/slurm.conf" slurmd -N n$1 >/dev/null 2>&1
}

start_slurm() {
    local size="CPUs=2 RealMemory=6000 State=UNKNOWN"
    mkdir -p "$work/pid" "$work/state" "$work/spool_n1" "$work/spool_n2"
    start_munge
    if make_hosts; then
        hosts=yes
        write_config "$(hostname -s)($net.5)" "NodeName=n1 NodeAddr=$net.6 $size
NodeName=n2 NodeAddr=$net.10 $size"
    else
        echo "no network namespaces here: one machine poses as two nodes"
        write_config "$(hostname -s)(127.0.0.1)" "NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17101 $size
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17102 $size"
    fi
    export SLURM_CONF=$work/slurm.conf
    slurmctld >/dev/null 2>&1 || skip "slurmctld does not start: $(tail -n 3 "$work/slurmctld.log" 2>/dev/null)"
    start_node 1 && start_node 2 || skip "slurmd does not start: $(tail -n 3 "$work"/slurmd_n*.log 2>/dev/null)"
    both_idle() { [ "$(sinfo -h -N -o %T | sort -u)" = idle ]; }
    wait_until 60 both_idle || skip "the nodes do not come up: $(sinfo -h -N -o '%N %T %E' | tr '\n' ' ') $(tail -n 3 "$work/slurmctld.log")"
    echo "Slurm $(slurmd -V | sed 's/.* //') is up: two nodes, namespaces: $hosts"
}

# The second node dies with all that runs on it, and comes back.
kill_node() {
    local pid count=0
    for pid in $(node_processes 2); do
        kill -KILL "$pid" 2>/dev/null && count=$((count + 1))
    done
    echo "node n2: $count processes killed"
    sleep 1
    start_node 2 || fail "slurmd of n2 does not start again"
}

went_back() { grep -qhs "asked to stop, back into the queue" "$job"/log/*.log; }

task_killed=no task_stopped=no node_killed=no
# While the array runs: SIGTERM to a task as at its time limit, SIGKILL to another's program, death of a node.
do_harm() {
    local pid task asked=none
    for _ in $(seq 1200); do
        [ -n "$(squeue -h)" ] || return 0
        if [ $task_stopped = no ] && pid=$(busy_process "$job" SLURMD_NODENAME=); then
            task=$(of_process "$pid" SLURM_ARRAY_JOB_ID)_$(of_process "$pid" SLURM_ARRAY_TASK_ID)
            [ "$task" != _ ] || continue # it is over
            scancel --signal=TERM --batch "$task" 2>/dev/null & # may try again for long, though the signal has come
            asked=$pid
            for _ in $(seq 10); do went_back && task_stopped=yes && echo "asked to stop: task $task" && break; sleep 0.1; done
        elif [ $task_stopped = yes ] && [ $task_killed = no ] && pid=$(busy_process "$job" SLURMD_NODENAME=); then
            [ "$pid" != "$asked" ] && kill -KILL "$pid" 2>/dev/null || continue # it is over, or about to be
            task_killed=yes
            echo "killed: process $pid"
        elif [ $task_killed = yes ] && busy_process "$job" SLURMD_NODENAME=n2 >/dev/null; then
            kill_node
            node_killed=yes
            return
        fi
        sleep 0.05
    done
}

make_scenes 600 1100 512 # a task takes longer than scancel
start_slurm
cp -r "$source_folder/job-templates/slurm" "$work/slurm"
cd "$work"
is_over() { [ -z "$(squeue -h)" ]; }
# On a busy machine the array may be over before all three deaths have met a task at work: then once more.
for attempt in 1 2 3; do
    rm -rf "$job"
    task_killed=no task_stopped=no node_killed=no
    submit_once slurm/submit.sh
    do_harm
    [ $attempt -gt 1 ] || make_expected
    wait_until 180 is_over || fail "jobs are still in the queue: $(squeue -h -r -o '%i %T %r')"
    [ $task_killed = no ] || [ $task_stopped = no ] || [ $node_killed = no ] || break
    echo "attempt $attempt: the array was over before all harm was done"
done
echo "harm done: task killed $task_killed, task asked to stop $task_stopped, node killed $node_killed"
grep -h "back into the queue" "$job"/log/*.log || true
"$program" status "$job"
"$program" merge -q "$job" || fail "merge: $(cat "$job"/log/*.log | tail -n 20)"
[ $task_killed = yes ] && [ $task_stopped = yes ] && [ $node_killed = yes ] || fail "the array was over before all harm was done"
went_back || fail "no task was put back into the queue"
same_as_run "$job"
