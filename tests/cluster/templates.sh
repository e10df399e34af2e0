#!/bin/bash
# Templates of schedulers that are not here: syntax of the scripts, fields of the YAML files; the one for xargs is run, and
# that for HTCondor through a stand-in for condor_submit_dag that keeps to the manual.
# templates.sh STEREODEM SOURCE_FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
templates=$source_folder/job-templates

for script in "$templates"/*/*.sh "$templates"/*/*.sbatch "$templates"/*/*.pbs; do
    bash -n "$script" || fail "$script: syntax"
done
echo "ok: scripts can be parsed"

# Every option that a template gives is one that the command knows, every variable one that is set.
for word in --list -o --memory --index-env --count --threads; do
    grep -qr -- "$word" "$templates" || fail "no template uses $word any more"
done
for command in plan tile merge; do
    "$program" $command --help >"$work/$command.txt"
done
for word in --index-env --count --threads; do
    grep -q -- "$word" "$work/tile.txt" || fail "tile has no $word"
done

if python3 -c "import yaml" 2>/dev/null; then
    python3 - "$templates"/kubernetes/*.yaml <<'PY' || fail "Kubernetes files"
import sys
import yaml
JOB = {"completionMode", "completions", "parallelism", "backoffLimit", "template"}
POD = {"restartPolicy", "terminationGracePeriodSeconds", "containers", "volumes"}
CONTAINER = {"name", "image", "command", "args", "resources", "volumeMounts"}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        job = yaml.safe_load(file)
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert job["apiVersion"] == "batch/v1" and job["kind"] == "Job", path
    assert set(job["spec"]) <= JOB and set(pod) <= POD and set(container) <= CONTAINER, path
    assert container["args"][0] in ("plan", "tile", "merge") and all(isinstance(a, str) for a in container["args"]), path
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}, path
    indexed = job["spec"].get("completionMode") == "Indexed"
    assert indexed == (container["args"][0] == "tile"), path
    assert not indexed or "JOB_COMPLETION_INDEX" in container["args"], path
PY
    echo "ok: Kubernetes files hold the fields of batch/v1 Jobs"
else
    echo "no PyYAML: Kubernetes files not read"
fi

make_scenes
make_expected
cd "$work"
words="env SDM_WORDS=1 $program" # as "apptainer run stereodem.sif"
SCENES=$work/scenes.txt JOB=$work/job PLAN_OPTIONS="$plan_options" TASKS_AT_ONCE=2 UNITS_A_TASK=3 STEREODEM="$words" \
    bash "$templates/xargs/run.sh" >"$work/log" 2>&1 || fail "xargs: $(tail -n 5 "$work/log")"
same_as_run "$work/job"
echo "ok: xargs"

scene=$source_folder/sampledata/AST_L1A_00401012001180005_sim.hdf # in the place of an address
printf '# scenes\n%s?token=x\n%s\n' "$work/absent.hdf" "$scene" >"$work/addresses.txt"
for time in first again; do
    ADDRESSES=$work/addresses.txt DEMS=$work/dems RUN_OPTIONS="--tr 60" SCENES_AT_ONCE=2 STEREODEM="$words" \
        bash "$templates/xargs/addresses.sh" >"$work/log" 2>&1 && fail "addresses, $time: a scene is not there"
    [ "$(cd "$work/dems" && echo *sim.tif)" = AST_L1A_00401012001180005_sim.tif ] || fail "addresses, $time: $(cat "$work/log")"
done
echo "ok: addresses"

# The tasks of schedulers as they are started there, each with the program's name as one word and as several.
mkdir -p "$work/a job"
ln -s "$program" "$work/a job/stereo dem"
for name in "$words" "$work/a job/stereo dem"; do
    for kind in slurm/tile.sbatch:slurm/merge.sbatch slurm/tile-gpu.sbatch:slurm/merge.sbatch gridengine/tile.sh:gridengine/merge.sh \
        pbs/tile.pbs:pbs/merge.pbs; do
        rm -rf "$work/one"
        "$program" plan -q scene6/left.tif scene6/right.tif -o "$work/one" $plan_options
        units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' "$work/one/plan.json")
        for script in ${kind/:/ }; do
            env JOB="$work/one" UNITS_A_TASK="$units" UNITS="$units" STEREODEM="$name" SLURM_ARRAY_TASK_ID=0 SLURM_CPUS_PER_TASK=1 SGE_TASK_ID=1 \
                PBS_ARRAY_INDEX=0 bash "$templates/$script" >"$work/log" 2>&1 || fail "$script, $name: $(tail -n 5 "$work/log")"
        done
        cmp "$work/one/dem/left.tif" "$work/expected/6.tif" || fail "$kind: another DEM than run's"
    done
done
echo "ok: tasks of Slurm, Grid Engine and PBS, by bash"

# PBS is not here: a stand-in for qsub, which queues nothing, and for qstat, which lists what the test says.
mkdir -p "$work/pbs"
cat >"$work/pbs/qsub" <<'SH'
#!/bin/bash
for word in "$@"; do # names alone: their values come from the environment, where they may hold commas
    [[ $word != JOB,* ]] || { for name in ${word//,/ }; do [ -n "${!name}" ] || exit 9; done; }
done
echo "$*" >>"$PBS_FAKE/queued"
sleep 0.5
echo "$(wc -l <"$PBS_FAKE/queued")[].server"
SH
cat >"$work/pbs/qstat" <<'SH'
#!/bin/bash
[ -s "$PBS_FAKE/state" ] || { echo "qstat: $1 Job has finished, use -x or -H to obtain historical job information" >&2; exit 35; }
printf 'Job id            Name             User              Time Use S Queue\n----------------  ---------------- ----------------  -------- - -----\n'
printf '%-17s stereodem        me                       0 %s workq\n' "$1" "$(cat "$PBS_FAKE/state")"
SH
chmod +x "$work/pbs/qsub" "$work/pbs/qstat"
pbs_submit() {
    PATH=$work/pbs:$PATH PBS_FAKE=$work/pbs SCENES=$work/scenes.txt JOB=$work/pbs/job PLAN_OPTIONS="$plan_options" STEREODEM="$words" \
        bash "$templates/pbs/submit.sh" >>"$work/pbs/log" 2>&1
}
pbs_submit & # two at the same time: one of them queues
pbs_submit || true
wait $! || true
[ "$(wc -l <"$work/pbs/queued")" -eq 2 ] && grep -q "another submit.sh is at work" "$work/pbs/log" || fail "PBS, two at once: $(cat "$work/pbs/log")"
for state in Q R B H; do
    echo $state >"$work/pbs/state"
    if pbs_submit; then fail "PBS: one job was queued twice (state $state)"; fi
done
[ "$(grep -c "is still in the queue" "$work/pbs/log")" -eq 4 ] || fail "PBS: $(tail -n 1 "$work/pbs/log")"
for state in C F ""; do
    echo -n "$state" >"$work/pbs/state"
    pbs_submit || fail "PBS: an array that is over cannot be submitted again: $(tail -n 1 "$work/pbs/log")"
done
[ "$(wc -l <"$work/pbs/queued")" -eq 8 ] || fail "PBS: $(cat "$work/pbs/queued")"
echo "ok: PBS, a job is not queued twice (stand-ins for qsub and qstat)"

# HTCondor: the same scenes from a folder with a blank in its name, and one whose units fail, which costs itself alone.
mkdir -p "$work/bin" "$work/a job"
printf '#!/bin/bash\nexec python3 "%s/condor.py" "$@"\n' "$source_folder/tests/cluster" >"$work/bin/condor_submit_dag"
chmod +x "$work/bin/condor_submit_dag"
cp -r scene6 scene7
dd if=/dev/zero of=scene7/left.tif bs=1000 seek=20 count=30 conv=notrunc status=none
{ cat scenes.txt; echo "scene7/left.tif scene7/right.tif"; } >seven.txt
PATH=$work/bin:$PATH SCENES=$work/seven.txt JOB="a job/job" PLAN_OPTIONS="$plan_options" UNITS_A_TASK=2 STEREODEM="$(command -v env) SDM_WORDS=1 $program" \
    bash "$templates/htcondor/submit.sh" >"$work/log" 2>&1 || fail "HTCondor: $(tail -n 5 "$work/log")"
same_as_run "$work/a job/job"
grep -q "DAG failed: {'units': True}" "$work/log" || fail "HTCondor: $(tail -n 5 "$work/log")"
grep -q "1 of 7 scenes cannot be merged" "$work/a job/job/log/merge.err" || fail "merge does not tell the bad scene"
echo "ok: HTCondor's files, run by a stand-in"
