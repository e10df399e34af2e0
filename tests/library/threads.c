/* Two contexts in two threads give the same bytes as one after the other; a context that is cancelled from another thread
 * ends.  The scene is that of the example. */
// SPDX-License-Identifier: Apache-2.0
#define main example_main
#include "../../examples/dem_from_arrays.c"
#undef main
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Job {
    const char *cost;
    uint16_t samples[2][N * N];
    float *height;
    int64_t cells;
    SdmStatus st;
} Job;

static void *compute(void *data)
{
    Job *const j = data;
    SdmContext *ctx = NULL;
    SdmDem *dem = NULL;
    SdmRpc rpc;
    if (sdm_context_open(&ctx, "run") || sdm_set(ctx, "tr", "2") || sdm_set(ctx, "cost", j->cost))
        return NULL;
    for (int k = 0; k < 2; k++) {
        make_view(k, j->samples[k], &rpc);
        if (sdm_set_image(ctx, (SdmSide)k, SDM_SAMPLE_UINT16, j->samples[k], N, N, 2 * N) ||
            sdm_set_rpc(ctx, (SdmSide)k, &rpc))
            return NULL;
    }
    j->st = sdm_make_dem(ctx, NULL, NULL, &dem);
    if (j->st)
        fprintf(stderr, "%s\n", sdm_error(ctx));
    if (dem) {
        j->cells = sdm_dem_cols(dem) * sdm_dem_rows(dem);
        j->height = malloc((size_t)j->cells * sizeof(float));
        sdm_dem_read(ctx, dem, SDM_LAYER_HEIGHT, j->height, 0);
    }
    sdm_dem_close(&dem);
    sdm_context_close(&ctx);
    return NULL;
}

static int stopped_when_asked(void *user)
{
    return ++*(int *)user > 2;
}

static int check_cancel(void)
{
    SdmContext *ctx = NULL;
    SdmDem *dem = NULL;
    int asked = 0;
    sdm_context_open(&ctx, "run");
    sdm_set_cancel(ctx, stopped_when_asked, &asked);
    const SdmStatus st = make_dem(ctx, NULL, &dem);
    const int good = st == SDM_ERR_STOPPED && !dem && strstr(sdm_error(ctx), "stopped");
    sdm_context_close(&ctx);
    return good;
}

int main(void)
{
    static Job one[2] = {{.cost = "census"}, {.cost = "zncc"}},
               both[2] = {{.cost = "census"}, {.cost = "zncc"}};
    pthread_t thread[2];
    int good = 1;
    for (int k = 0; k < 2; k++)
        compute(&one[k]);
    for (int k = 0; k < 2; k++)
        pthread_create(&thread[k], NULL, compute, &both[k]);
    for (int k = 0; k < 2; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < 2; k++) {
        good &= one[k].st == SDM_OK && both[k].st == SDM_OK && one[k].cells == both[k].cells;
        good = good && memcmp(one[k].height, both[k].height, (size_t)one[k].cells * sizeof(float)) == 0;
        free(one[k].height);
        free(both[k].height);
    }
    if (!good)
        fprintf(stderr, "two at once differ from one after the other\n");
    if (!check_cancel())
        good = 0, fprintf(stderr, "a run that is asked to stop goes on\n");
    return !good;
}
