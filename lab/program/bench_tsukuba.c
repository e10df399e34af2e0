/* bench --tsukuba FOLDER: Middlebury's images -> the curve of belief propagation. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_bp.h"
#include "program/lab.h"
#include "rectified/image_load.h"
#include "rectified/sequence.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { TRUTH_SCALE = 16, PATH_BYTES = SDM_PATH_SIZE };

/* Truth of Tsukuba: 16 times the disparity, 0 where it is not known. */
static SdmStatus to_labels(SdmContext *ctx, const SdmImagePair *truth, const char *path, uint8_t *out)
{
    for (int i = 0; i < truth->width * truth->height; i++) {
        const int v = truth->left[i] == SDM_PIXEL_NODATA ? 0 : truth->left[i]; /* zeros along the edges */
        if (v < 0 || v % TRUTH_SCALE != 0 || v / TRUTH_SCALE >= SDM_BENCH_BP_LABELS)
            return sdm_fail(ctx, SDM_ERR_INPUT, "%s: found %d, expected disparities times %d, below %d", path,
                            v, (int)TRUTH_SCALE, (int)(TRUTH_SCALE * SDM_BENCH_BP_LABELS));
        out[i] = (uint8_t)(v / TRUTH_SCALE);
    }
    return SDM_OK;
}

static const char *const images[] = {"im_left.png", "im_right.png", "disp_left.png"};

SdmStatus sdm_bench_curve_check(SdmContext *ctx, const char *folder)
{
    char path[PATH_BYTES];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, images[i]);
        if (access(path, R_OK) != 0)
            return sdm_fail(
                ctx, SDM_ERR_INPUT,
                "--tsukuba %s: %s: %s; expected a folder with im_left.png, im_right.png and disp_left.png",
                folder, images[i], strerror(errno));
    }
    return SDM_OK;
}

SdmStatus sdm_bench_curve_of(SdmContext *ctx, const char *folder, const char *cpu_level, FILE *to)
{
    SdmStatus st = SDM_OK;
    SdmImagePair views = {0}, truth = {0};
    uint8_t *labels = NULL;
    char *path = NULL;
    TRY(sdm_alloc(ctx, &path, 3, PATH_BYTES, "names"));
    char *const left = path, *const right = path + PATH_BYTES, *const known = path + 2 * PATH_BYTES;
    for (int i = 0; i < 3; i++)
        snprintf(path + i * PATH_BYTES, PATH_BYTES, "%s/%s", folder, images[i]);
    TRY(sdm_image_pair_load(ctx, left, right, 0, false, &views));
    TRY(sdm_image_pair_load(ctx, known, known, 0, false, &truth));
    if (!views.eight_bit || truth.width != views.width || truth.height != views.height)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT, "%s: expected 8-bit images and a truth of their size", folder));
    TRY(sdm_alloc(ctx, &labels, (size_t)views.width * (size_t)views.height, 1, "truth"));
    TRY(to_labels(ctx, &truth, known, labels));
    const SdmPairImage as = {
        .width = views.width, .height = views.height, .stride = views.width, .eight_bit = true};
    SdmBenchTsukuba t = {.image = {as, as}, .truth = labels};
    t.image[0].data = views.left;
    t.image[1].data = views.right;
    TRY(sdm_bench_bp_curve(ctx, &t, cpu_level, to));
done:
    sdm_image_pair_free(&views);
    sdm_image_pair_free(&truth);
    sdm_free(&labels);
    sdm_free(&path);
    return st;
}
