#!/bin/bash
# Templates of schedulers that are not here: syntax of the scripts, fields of the YAML files; the one for xargs is run.
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
CONTAINER = {"name", "image", "args", "resources", "volumeMounts"}
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
SCENES=$work/scenes.txt JOB=$work/job PLAN_OPTIONS="$plan_options" TASKS_AT_ONCE=2 UNITS_A_TASK=3 STEREODEM=$program \
    bash "$templates/xargs/run.sh" >"$work/log" 2>&1 || fail "xargs: $(tail -n 5 "$work/log")"
same_as_run "$work/job"
