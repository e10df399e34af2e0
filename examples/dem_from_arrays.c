/* A DEM from two arrays and two RPC cameras in memory; no file is read or written.  The images show a made-up place of hills
 * on the equator, from straight above and from the side.  cc dem_from_arrays.c $(pkg-config --cflags --libs stereodem) -lm */
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stereodem/stereodem.h>
enum { N = 320 }; /* pixels of 1 m */
static const double slope = 0.5; /* columns by which a metre of height shifts the right view */
static double noise(int c, int r) { return (((unsigned)c * 73856093u ^ (unsigned)r * 19349663u) * 2654435761u >> 16) / 65536.0; }
static double texture(double c, double r)
{
    const int x = (int)floor(c), y = (int)floor(r);
    const double u = c - x, v = r - y, top = noise(x, y) * (1 - u) + noise(x + 1, y) * u;
    return 200.0 + 1000.0 * (top * (1 - v) + (noise(x, y + 1) * (1 - u) + noise(x + 1, y + 1) * u) * v);
}
static void make_view(int right, uint16_t *samples, SdmRpc *rpc)
{
    for (int i = 0; i < N * N; i++) {
        double c = i % N;
        for (int k = 0; right && k < 20; k++) /* the left column that is seen here; heights of 92 to 108 m */
            c = i % N - slope * 8.0 * sin(c / 37.0) * cos(i / N / 51.0);
        samples[i] = (uint16_t)(texture(c, i / N) + 0.5);
    }
    *rpc = (SdmRpc){.line_off = N / 2, .samp_off = N / 2, .long_off = 15.0, .height_off = 100.0, .line_scale = N / 2,
                    .samp_scale = N / 2, .lat_scale = N / 2 / 110574.0, .long_scale = N / 2 / 111320.0, .height_scale = 100.0,
                    .line_num = {0.0, 0.0, -1.0}, .line_den = {1.0}, .samp_den = {1.0}, .samp_num = {0.0, 1.0}};
    rpc->samp_num[3] = right ? slope * 100.0 / (N / 2) : 0.0;
}
static void show(void *cancelled, int stage, double done, const char *what)
{
    fprintf(stderr, "%3.0f %%  stage %d: %s\n", 100.0 * done, stage, what);
    if (cancelled && done >= 0.3) /* half-way */
        sdm_cancel(cancelled);
}
static SdmStatus make_dem(SdmContext *ctx, SdmContext *cancelled, SdmDem **dem)
{
    static uint16_t samples[2][N * N];
    SdmRpc rpc;
    int st = sdm_set(ctx, "tr", "2") != SDM_OK;
    for (int k = 0; k < 2 && !st; k++) {
        make_view(k, samples[k], &rpc);
        st = sdm_set_image(ctx, (SdmSide)k, SDM_SAMPLE_UINT16, samples[k], N, N, 0) || sdm_set_rpc(ctx, (SdmSide)k, &rpc);
    }
    sdm_set_progress(ctx, show, cancelled);
    return st ? SDM_ERR_USAGE : sdm_make_dem(ctx, NULL, NULL, dem);
}
int main(void)
{
    SdmStatus st = SDM_OK;
    for (int cancel = 0; cancel < 2 && st == SDM_OK; cancel++) {
        SdmDem *dem = NULL;
        SdmContext *ctx = NULL;
        st = sdm_context_open(&ctx, "run");
        st = st == SDM_OK ? make_dem(ctx, cancel ? ctx : NULL, &dem) : st;
        printf("%d columns: %s\n", dem ? (int)sdm_dem_cols(dem) : 0, st ? sdm_error(ctx) : "done");
        sdm_dem_close(&dem);
        sdm_context_close(&ctx);
    }
    return st != SDM_ERR_STOPPED;
}
