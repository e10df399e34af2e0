#!/bin/bash
# The Snakefile, run by Snakemake on this machine: two scenes, one of them in tiles, and one that is not there; then another
# scene at the head of the list.
# snakemake.sh STEREODEM SOURCE_FOLDER     exits 77 where Snakemake (Debian: snakemake) is not there
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
command -v snakemake >/dev/null || { echo "SKIPPED: no snakemake"; exit 77; }
. "$(dirname "$0")/lib.sh"
trap '[ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
cp "$source_folder/job-templates/snakemake/Snakefile" .

# scene NUMBER SIZE: simulated, and its DEM by run.
scene() {
    "$lab" simulate -q -o "scene$1" --layout rpc --gsd 15 --width "$2" --height "$2" --seed "$1" --relief 200
    mv "scene$1/left.tif" "scene$1/view$1.tif"
    "$program" run -q "scene$1/view$1.tif" "scene$1/right.tif" -o "expected$1.tif"
}
workflow() {
    snakemake --cores 2 --keep-going --nolock --config scenes=scenes.txt job=job stereodem="env SDM_WORDS=1 $program" \
        plan_options="--tile 256" >log 2>&1 || fail "snakemake: $(tail -n 20 log)"
}
same() {
    for number in "$@"; do
        cmp "job/dem/view$number.tif" "expected$number.tif" && cmp "job/dem/view${number}_qa.tif" "expected${number}_qa.tif" ||
            fail "scene $number: another DEM than run's"
    done
}

scene 1 560
scene 2 300
printf 'scene1/view1.tif scene1/right.tif\nabsent/left.tif absent/right.tif\nscene2/view2.tif scene2/right.tif\n' >scenes.txt
workflow
same 1 2
grep -q 'absent/left.tif' log || fail "nothing says that a scene is not there"
[ "$(grep -c '^unit .*: done$' log)" -gt 4 ] || fail "the large scene was not cut into tiles"
workflow
grep -q 'Nothing to be done' log || fail "finished work is done again: $(tail -n 20 log)"
scene 3 300
sed -i '1i scene3/view3.tif scene3/right.tif' scenes.txt
workflow
same 1 2 3
echo "ok: Snakemake $(snakemake --version): the DEMs are those of run, byte for byte"
