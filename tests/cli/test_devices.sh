#!/bin/bash
# devices and --device: what is here, and one sentence where it is not.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

expect 2 "--device: found 'gpu', expected one of auto, cpu, opencl[:N], cuda[:N]" run a -o "$work/a.tif" --device gpu
for bad in cuda: cuda:x cuda:-1 cpu:0 opencl:12345 auto:1; do
    expect 2 "--device: found '$bad'" run a -o "$work/a.tif" --device "$bad"
done
try devices
[ "$code" -eq 0 ] || complain "devices: exit code $code"
grep -q '^cpu  *[0-9]* threads; instruction sets: c' "$work/out" || complain "devices: $(cat "$work/out")"
if grep -q '^flags' /proc/cpuinfo; then # the levels that the system's own list of flags gives
    wanted=" c"
    for level in "sse4.2 sse4_2 popcnt" "avx2 avx2 bmi1 bmi2 abm" "avx512bw avx512f avx512dq avx512bw avx512vl" \
        "avx512 avx512_vpopcntdq avx512_bitalg avx512_vbmi2 avx512_vnni"; do
        for flag in ${level#* }; do
            grep -m1 '^flags' /proc/cpuinfo | grep -qw -- "$flag" || break 2
        done
        wanted+=" ${level%% *}"
    done
    grep -q "instruction sets:$wanted; " "$work/out" || complain "expected the instruction sets$wanted: $(cat "$work/out")"
fi
cp "$work/out" "$work/list"
for api in opencl cuda; do
    grep -q "^$api" "$work/list" || complain "devices: not a word of $api"
    if grep -q "^$api  *none: " "$work/list"; then
        why=$(sed -n "s/^$api  *none: //p" "$work/list")
        expect 1 "--device $api: $why" run a -o "$work/a.tif" --device "$api"
        [ ! -e "$work/a.tif.job" ] || complain "--device $api: a job folder is left"
    else
        case $(grep -c "^$api:" "$work/list") in
        1) sentence="there is one device, $api:0; stereodem devices lists it" ;;
        *) sentence="found $(grep -c "^$api:" "$work/list") devices, expected 0 to" ;;
        esac
        expect 1 "--device $api:99: $sentence" run a -o "$work/a.tif" --device "$api:99"
    fi
done
if ! grep -q '^opencl .*cannot be opened' "$work/list"; then # a driver that finds no device, as without a cache folder
    OCL_ICD_VENDORS=$work try devices
    grep -q '^opencl .*where it is installed, it may need a cache folder' "$work/out" || complain "no device: $(cat "$work/out")"
fi
"$lab" simulate -o "$work/scene" --quiet --width 256 --height 256 --lon 7 --lat 45
try run "$work/scene" -o "$work/auto.tif" --verbose
grep -q 'device: ' "$work/err" || complain "auto: no word of the device: $(head -5 "$work/err")"
if grep -q '^cuda  *none: ' "$work/list"; then
    grep -q 'device: the processor' "$work/err" || complain "auto: $(grep 'device: ' "$work/err")"
    grep -q 'no other device: cuda: ' "$work/err" || complain "auto: no word why: $(head -5 "$work/err")"
fi
try devices --log json
tail -1 "$work/out" | grep -q '"devices":\[.*"cpu_levels":\["c"' || complain "JSON: $(tail -1 "$work/out" | head -c 300)"
finish
