#!/bin/sh
# Hold `stereodem compare` against the reference program evaldem2 over perturbed DEMs: the move within 0.02 cells, the figures
# within 2 % or 0.02 m, where it does not resample the reference twice.
# compare_evaldem.sh [STEREODEM [all]]     all: the larger DEMs too (minutes); exits 77 when evaldem2, its data or Python's scipy are not at hand
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(dirname "$here")
large=${2:-}
program=${1:-$source_dir/build/release/stereodem}
shared=${SDM_SHARED:-$source_dir/../shared}
python=/usr/bin/python3
skip() { echo "SKIPPED: $1"; exit 77; }
[ -f "$shared/tools/evaldem2" ] || skip "no evaldem2 in $shared/tools"
[ -x "$program" ] || skip "no program $program"
"$program" compare --help 2>&1 | grep -q . || skip "$program has no command compare"
$python -c 'import scipy.ndimage, osgeo.gdal' 2>/dev/null || skip "Python without scipy or GDAL"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0
run=0

# a reference on the cells of a DEM, as compare resamples it: cubic, or means (the reference program alone would take it bilinear)
on_cells() {
    $python - "$1" "$2" "$folder/on_cells.tif" <<'END'
import sys
from osgeo import gdal
gdal.UseExceptions()
dem, reference = gdal.Open(sys.argv[1]), gdal.Open(sys.argv[2])
t, own = dem.GetGeoTransform(), reference.GetGeoTransform()
bounds = t[0], t[3] + t[5] * dem.RasterYSize, t[0] + t[1] * dem.RasterXSize, t[3]
gdal.Warp(sys.argv[3], reference, dstSRS=dem.GetProjection(), outputBounds=bounds, width=dem.RasterXSize, height=dem.RasterYSize,
          resampleAlg="average" if t[1] > 1.5 * abs(own[1]) else "cubic", dstNodata=-99999, outputType=gdal.GDT_Float64, errorThreshold=0)
END
}

# one pair: name, DEM, reference, further options of both programs
check() {
    name=$1 dem=$2 reference=$3
    shift 3
    run=$((run + 1))
    on_cells "$dem" "$reference" || exit 1
    if ! $python "$shared/tools/evaldem2" "$dem" "$folder/on_cells.tif" --json "$@" >"$folder/theirs.json" ||
        ! "$program" compare "$dem" "$reference" --json "$@" >"$folder/ours.json" ||
        ! $python "$here/compare_figures.py" "$folder/theirs.json" "$folder/ours.json" "$name" "$dem"; then
        echo "FAILED: $name"
        failed=$((failed + 1))
    fi
}

# every perturbation of one true DEM: folder of the perturbed, the truth, further options
check_all() {
    made=$1 truth=$2
    shift 2
    $python "$here/compare_perturb.py" "$truth" "$made" || exit 1
    for dem in "$made"/dem_*.tif; do
        check "$(basename "$made") $(basename "$dem")" "$dem" "$truth" "$@"
    done
    for reference in "$made"/ref_*.tif; do
        check "$(basename "$made") $(basename "$reference")" "$made/dem_shifted.tif" "$reference" "$@"
    done
}

for scene in aster_small aster_full; do
    data=$shared/data/$scene
    [ -f "$data/truth.tif" ] || continue
    [ "$scene" = aster_small ] || [ "$large" = all ] || continue
    mkdir "$folder/$scene"
    check_all "$folder/$scene" "$data/truth.tif" --class "$data/class.tif"
    check "$scene within" "$folder/$scene/dem_shifted.tif" "$data/truth.tif" --within "$folder/$scene/dem_cropped.tif"
done
dsm=$shared/data/pleiades_reunion/dsm_s2p.tif
if [ -f "$dsm" ] && [ "$large" = all ]; then
    mkdir "$folder/pleiades"
    check_all "$folder/pleiades" "$dsm"
fi
dsm=$shared/data/turkey_pre/dsm_cars.tif
if [ -f "$dsm" ] && [ "$large" = all ]; then
    mkdir "$folder/cars"
    check_all "$folder/cars" "$dsm"
fi
[ $run -gt 0 ] || skip "no DEMs in $shared/data"
echo "$run pairs, $failed failed"
[ $failed -eq 0 ]
