#!/bin/bash
# A simulated pair of SIZE (4000, or 40000x24000) pixels through plan, tile and merge: processor time a cell, peak resident
# memory, accuracy.  By hand: 40000 takes an hour of a core for the scene, a quarter of one for the DEM, and 25 GB of disk.
# large.sh STEREODEM SIZE FOLDER [PROCESSES]     FOLDER is made; what is in it already is taken up
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
program=$(realpath "$1") size=$2 folder=$3 processes=${4:-$(nproc)}
export OMP_WAIT_POLICY=passive # several programs share the machine
mkdir -p "$folder"
cd "$folder"

# measured STEP COMMAND...: a line with user + system seconds and peak KiB into times.txt
measured() {
    local step=$1
    shift
    /usr/bin/time -a -o times.txt -f "$step %U %S %M" "$@"
}
export -f measured

[ -d pair ] || "$program-lab" simulate -q -o pair --layout rpc --width "${size%x*}" --height "${size#*x}" --gsd 5 --relief 300
if [ ! -f job/plan.json ]; then
    rm -f times.txt
    measured plan "$program" plan pair/left.tif pair/right.tif -o job
fi
units=$(sed -n 's/.*"unit_count":\([0-9]*\),"scenes":.*/\1/p' job/plan.json)
if ! ls job/product_*.sdm >/dev/null 2>&1; then
    measured tile "$program" tile -q job 0 --threads 1 # the preparation first: the others wait for it
    seq 1 $((units - 1)) | xargs -r -P "$processes" -I{} bash -c 'measured tile "$0" tile -q job {} --threads 1' "$program"
    measured merge "$program" merge -q job --threads 1
fi
python3 - "$size" "$units" <<'PY'
import json
import sys
size, units = sys.argv[1:]
seconds, peak = {}, {}
with open("times.txt", encoding="utf-8") as file:
    for line in file:
        step, user, system, kib = line.split()
        seconds[step] = seconds.get(step, 0.0) + float(user) + float(system)
        peak[step] = max(peak.get(step, 0), int(kib))
with open("job/dem/left.json", encoding="utf-8") as file:
    report = json.load(file)
cells, total = report["cells"], sum(seconds.values())
print(f"{size} px: {units} units, {total:.1f} s of processor time for {cells['total']} cells, {cells['with_height']} with a height:",
      f"{1e6 * total / cells['total']:.3f} us a cell, {1e6 * total / cells['with_height']:.3f} us one with a height")
for step in ("plan", "tile", "merge"):
    print(f"  {step}: {seconds[step]:.1f} s, at most {peak[step] / 1024:.0f} MiB")
PY

# Accuracy on nine pieces of the DEM: what compare holds in memory grows with the area.
cells=$(gdalinfo job/dem/left.tif | sed -n 's/^Size is //p')
cols=${cells%,*} rows=${cells#*, } side=2000
for place in 1 2 3 4 5 6 7 8 9; do
    x=$(((cols > side ? cols - side : 0) * ((place - 1) % 3 + 1) / 4)) y=$(((rows > side ? rows - side : 0) * ((place - 1) / 3 + 1) / 4))
    w=$((cols < side ? cols : side)) h=$((rows < side ? rows : side))
    gdal_translate -q -srcwin $x $y $w $h job/dem/left.tif piece.tif
    read -r x0 y0 x1 y1 <<<"$(gdalinfo piece.tif | sed -n 's/^\(Upper Left\|Lower Right\) *( *\([-0-9.]*\), *\([-0-9.]*\)).*/\2 \3/p' | tr '\n' ' ')"
    gdalwarp -q -overwrite -te "$x0" "$y1" "$x1" "$y0" pair/truth.tif truth.tif
    gdalwarp -q -overwrite -te "$x0" "$y1" "$x1" "$y0" pair/class.tif class.tif
    "$program" compare piece.tif truth.tif --class class.tif 2>/dev/null | sed -n "s/^raw  */piece $place: /p"
done
rm -f piece.tif truth.tif class.tif
