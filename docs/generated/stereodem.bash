# bash completion of stereodem; made by scripts/generate.
# SPDX-License-Identifier: Apache-2.0
_stereodem() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=-
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='help run info compare stack plan tile merge status match devices'
    fi
    case "${COMP_WORDS[1]} $before" in
    'run --tr') words='' ;;
    'run --t_srs') words='' ;;
    'run --vertical') words='ellipsoid egm96 egm2008' ;;
    'run --cost') words='auto zncc census sad' ;;
    'run --optimizer') words='auto local sgm bp' ;;
    'run --surface-filter') words='auto wiener none' ;;
    'run --p1') words='' ;;
    'run --p2') words='' ;;
    'run --paths') words='4 8' ;;
    'run --device') words='auto cpu opencl cuda' ;;
    'run --cpu-level') words='auto reference c neon sse4.2 avx2 avx512bw avx512' ;;
    'run --threads') words='' ;;
    'run --memory') words='' ;;
    'run --tile') words='' ;;
    'run --fill') words='none gentle all' ;;
    'run --hmin') words='' ;;
    'run --hmax') words='' ;;
    'run --dem-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'run --where') words='' ;;
    'run --layer') words='' ;;
    'run --reference-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'run --band') words='' ;;
    'run --base-height') words='' ;;
    'run --co') words='' ;;
    'run --config') words='' ;;
    'run --log') words='text json' ;;
    'info --tr') words='' ;;
    'info --t_srs') words='' ;;
    'info --threads') words='' ;;
    'info --memory') words='' ;;
    'info --tile') words='' ;;
    'info --hmin') words='' ;;
    'info --hmax') words='' ;;
    'info --dem-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'info --band') words='' ;;
    'info --base-height') words='' ;;
    'info --config') words='' ;;
    'info --log') words='text json' ;;
    'compare --dem-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'compare --reference-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'compare --where') words='' ;;
    'compare --layer') words='' ;;
    'compare --model') words='shift tilt track' ;;
    'compare --track') words='' ;;
    'compare --threads') words='' ;;
    'compare --memory') words='' ;;
    'compare --config') words='' ;;
    'compare --log') words='text json' ;;
    'stack --align') words='z xyz none' ;;
    'stack --bias') words='auto keep' ;;
    'stack --dem-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'stack --tr') words='' ;;
    'stack --t_srs') words='' ;;
    'stack --vertical') words='ellipsoid egm96 egm2008' ;;
    'stack --threads') words='' ;;
    'stack --memory') words='' ;;
    'stack --co') words='' ;;
    'stack --config') words='' ;;
    'stack --log') words='text json' ;;
    'plan --tr') words='' ;;
    'plan --t_srs') words='' ;;
    'plan --vertical') words='ellipsoid egm96 egm2008' ;;
    'plan --cost') words='auto zncc census sad' ;;
    'plan --optimizer') words='auto local sgm bp' ;;
    'plan --surface-filter') words='auto wiener none' ;;
    'plan --p1') words='' ;;
    'plan --p2') words='' ;;
    'plan --paths') words='4 8' ;;
    'plan --device') words='auto cpu opencl cuda' ;;
    'plan --threads') words='' ;;
    'plan --memory') words='' ;;
    'plan --tile') words='' ;;
    'plan --fill') words='none gentle all' ;;
    'plan --hmin') words='' ;;
    'plan --hmax') words='' ;;
    'plan --dem-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'plan --where') words='' ;;
    'plan --layer') words='' ;;
    'plan --reference-vertical') words='auto ellipsoid egm96 egm2008' ;;
    'plan --band') words='' ;;
    'plan --base-height') words='' ;;
    'plan --co') words='' ;;
    'plan --config') words='' ;;
    'plan --log') words='text json' ;;
    'tile --count') words='' ;;
    'tile --index-env') words='' ;;
    'tile --index-base') words='' ;;
    'tile --wait') words='' ;;
    'tile --cpu-level') words='auto reference c neon sse4.2 avx2 avx512bw avx512' ;;
    'tile --threads') words='' ;;
    'tile --log') words='text json' ;;
    'merge --threads') words='' ;;
    'merge --log') words='text json' ;;
    'status --threads') words='' ;;
    'status --log') words='text json' ;;
    'match --format') words='auto tif pfm' ;;
    'match --min-disparity') words='' ;;
    'match --max-disparity') words='' ;;
    'match --cost') words='auto sad zncc census ad-census' ;;
    'match --window') words='' ;;
    'match --census') words='5x5 7x7 9x7 9x9' ;;
    'match --lr-threshold') words='' ;;
    'match --uniqueness') words='' ;;
    'match --min-sigma') words='' ;;
    'match --subpixel') words='off on' ;;
    'match --median') words='none 3 5' ;;
    'match --fill') words='none nearest interpolate' ;;
    'match --downscale') words='' ;;
    'match --band') words='' ;;
    'match --first') words='' ;;
    'match --last') words='' ;;
    'match --optimizer') words='auto local sgm bp' ;;
    'match --p1') words='' ;;
    'match --p2') words='' ;;
    'match --paths') words='4 8' ;;
    'match --bp-weight') words='' ;;
    'match --bp-truncation') words='' ;;
    'match --bp-outer') words='' ;;
    'match --bp-inner') words='' ;;
    'match --bp-tile') words='' ;;
    'match --device') words='auto cpu opencl cuda' ;;
    'match --cpu-level') words='auto reference c neon sse4.2 avx2 avx512bw avx512' ;;
    'match --threads') words='' ;;
    'match --config') words='' ;;
    'match --log') words='text json' ;;
    'devices --threads') words='' ;;
    'devices --log') words='text json' ;;
    esac
    if [ "$words" = - ] && [[ $word == -* ]]; then
        case ${COMP_WORDS[1]} in
        run) words='--help --output --tr --t_srs --vertical --cost --optimizer --surface-filter --p1 --p2 --paths --device --cpu-level --threads --memory --tile --fill --hmin --hmax --dem --dem-vertical --reference --reference-mask --exclude --where --layer --reference-vertical --band --mask-left --mask-right --base-height --co --config --overwrite --keep-job --strict --quiet --verbose --log' ;;
        info) words='--help --tr --t_srs --threads --memory --tile --hmin --hmax --dem --dem-vertical --band --mask-left --mask-right --base-height --config --quiet --verbose --log' ;;
        compare) words='--help --class --within --dem-vertical --reference-vertical --png --mask --exclude --where --layer --aligned --difference --model --track --json --threads --memory --config --overwrite --quiet --verbose --log' ;;
        stack) words='--help --list --align --bias --dem-vertical --no-filled --output --tr --t_srs --vertical --threads --memory --co --config --overwrite --quiet --verbose --log' ;;
        plan) words='--help --output --list --tr --t_srs --vertical --cost --optimizer --surface-filter --p1 --p2 --paths --device --threads --memory --tile --fill --hmin --hmax --dem --dem-vertical --reference --reference-mask --exclude --where --layer --reference-vertical --band --mask-left --mask-right --base-height --co --config --overwrite --quiet --verbose --log' ;;
        tile) words='--help --count --index-env --index-base --wait --cpu-level --threads --strict --quiet --verbose --log' ;;
        merge) words='--help --output --threads --overwrite --keep-job --strict --quiet --verbose --log' ;;
        status) words='--help --failed --accounting --threads --overwrite --quiet --verbose --log' ;;
        match) words='--help --output --format --preview --min-disparity --max-disparity --cost --window --census --lr-threshold --uniqueness --min-sigma --subpixel --median --fill --downscale --band --first --last --overwrite --optimizer --p1 --p2 --paths --bp-weight --bp-truncation --bp-outer --bp-inner --bp-tile --device --cpu-level --threads --config --quiet --verbose --log' ;;
        devices) words='--help --threads --quiet --verbose --log' ;;
        esac
    fi
    if [ "$words" = - ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    fi
}
complete -o filenames -F _stereodem stereodem
