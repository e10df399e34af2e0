/* truth.tif and class.tif -> reference.tif, a global DEM as users have it (coarser, with noise that grows
 * with the slope, a long-wave error, forest, voids and a shift), and change.tif, by how much the scene has
 * really changed since. */
// SPDX-License-Identifier: Apache-2.0
#include "core/disjoint_sets.h"
#include "core/stats.h"
#include "simulate/sim.h"

#include <gdal.h>

enum {
    TRUTH_LEVEL = 2 /* octave whose nodes are as far apart as cells of the truth */,
    MOST_CELLS = 1 << 28,
    REFERENCE_SEED = 1
};
static const float VOID_M = -9999.0f;
static const double FOREST_SHARE = 0.15, FOREST_M = 6.0, VOID_SHARE = 0.03, BLOB_LOW_M = 10.0,
                    BLOB_HIGH_M = 30.0, LONG_WAVE_M = 10e3, SHIFT_M[3] = {7.0, -5.0, 3.0};

/* Error of a reference by its posting: sigma = least + by_slope tan(slope), and of the long wave, metres. */
typedef struct Quality {
    double least_m, by_slope_m, long_wave_m, blur_cells, noise_cells;
} Quality;
static const Quality FINE = {1.5, 4.0, 0.7, 0.7, 1.5}, COARSE = {3.0, 5.0, 1.5, 0.27, 1.0};

typedef struct Truth {
    SimScene *sc;
    int nx, ny;
    double geo[6];
    float *height_m; /* ny x nx; where there is no truth the median */
    uint8_t *class;
    int64_t seen; /* cells of the scene, class > 0 */
} Truth;

static size_t cells_of(const Truth *t)
{
    return (size_t)t->nx * (size_t)t->ny;
}

static SdmStatus read_raster(const Truth *t, const char *name, int type, void *out)
{
    char path[SIM_PATH + 32];
    SdmStatus st = sdm_format(t->sc->ctx, path, sizeof path, "%s/%s", t->sc->folder, name);
    GDALDatasetH ds = st == SDM_OK ? GDALOpen(path, GA_ReadOnly) : NULL;
    if (st == SDM_OK && (!ds || GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, 0, 0, t->nx, t->ny, out,
                                             t->nx, t->ny, (GDALDataType)type, 0, 0) != CE_None))
        st = sdm_fail(t->sc->ctx, SDM_ERR_IO, "cannot read %s again", path);
    if (ds)
        GDALClose(ds);
    return st;
}

static double x_of(const Truth *t, double col)
{
    return t->geo[0] + (col + 0.5) * t->geo[1];
}

static double y_of(const Truth *t, double row)
{
    return t->geo[3] + (row + 0.5) * t->geo[5];
}

/* ---- fields ---- */

/* Noise of sigma 1 whose correlation falls to exp(-1/2) over `length_m`, at every cell.  *out: allocated. */
static SdmStatus make_field(const Truth *t, uint32_t seed, double length_m, float **out)
{
    SimSpectrum spec;
    SimScene *const sc = t->sc;
    const int found = sim_octave(1.22 * length_m, sc->unit_m),
              level = found > TRUTH_LEVEL ? found : TRUTH_LEVEL;
    const SimBox box = {x_of(t, 0.0), y_of(t, t->ny - 1.0), x_of(t, t->nx - 1.0), y_of(t, 0.0)};
    SDM_CLOSED_BY(sim_window_free) SimWindow win = sim_window(&box, ldexp(sc->unit_m, level), 3);
    sim_spectrum(&spec, (uint32_t)REFERENCE_SEED * 8u + seed + 0x51ed27u, level, level, 0.0, 1.0);
    PASS(sim_noise(sc->ctx, &spec, level, &win));
    PASS(sdm_alloc(sc->ctx, out, cells_of(t), sizeof **out, "the reference"));
#pragma omp parallel for num_threads(sc->threads)
    for (int j = 0; j < t->ny; j++)
        for (int i = 0; i < t->nx; i++)
            (*out)[(size_t)j * (size_t)t->nx + (size_t)i] = sim_value(&win, x_of(t, i), y_of(t, j));
    return SDM_OK;
}

/* The same with the value that `share` of the scene's cells exceed. */
static SdmStatus make_parts(const Truth *t, uint32_t seed, double length_m, double share, float **field,
                            float *edge)
{
    SDM_OWNED float *copy = NULL;
    int64_t n = 0;
    PASS(make_field(t, seed, length_m, field));
    PASS(sdm_alloc(t->sc->ctx, &copy, cells_of(t), sizeof *copy, "the reference"));
    for (size_t k = 0; k < cells_of(t); k++)
        if (t->class[k])
            copy[n++] = (*field)[k];
    *edge = share > 0.0 ? (float)sdm_quantile_f32(copy, n, 1.0 - share) : INFINITY;
    return SDM_OK;
}

/* Gaussian of sigma cells along one axis, cut at 3 sigma: in -> out. */
static void blur_axis(const Truth *t, const float *in, double sigma, bool down, float *out)
{
    const int reach = (int)ceil(3.0 * sigma), step = down ? t->nx : 1;
#pragma omp parallel for num_threads(t->sc->threads)
    for (int j = 0; j < t->ny; j++)
        for (int i = 0; i < t->nx; i++) {
            const size_t at = (size_t)j * (size_t)t->nx + (size_t)i;
            const int own = down ? j : i, count = down ? t->ny : t->nx;
            double sum = 0.0, weights = 0.0;
            for (int k = -reach; k <= reach; k++) {
                const double w = exp(-0.5 * k * k / (sigma * sigma));
                sum += w *
                       (double)in[(ptrdiff_t)at + (ptrdiff_t)(sdm_clamp(own + k, 0, count - 1) - own) * step];
                weights += w;
            }
            out[at] = (float)(sum / weights);
        }
}

/* *out: allocated. */
static SdmStatus blur(const Truth *t, const float *in, double sigma, float **out)
{
    SDM_OWNED float *half = NULL;
    PASS(SDM_ALLOC(t->sc->ctx, "the reference", SDM_ARRAY(*out, cells_of(t)), SDM_ARRAY(half, cells_of(t))));
    blur_axis(t, in, sigma, false, half);
    blur_axis(t, half, sigma, true, *out);
    return SDM_OK;
}

/* ---- change: of the scene since the reference, metres ---- */

/* Patches of +-10 to 30 m: connected parts of where a field is high. */
static SdmStatus make_change(const Truth *t, float *change_m)
{
    SDM_OWNED float *field = NULL;
    float edge;
    SDM_OWNED int32_t *set = NULL;
    PASS(make_parts(t, 1, 0.03 * t->sc->extent_m, t->sc->opt->change_share, &field, &edge));
    PASS(sdm_alloc(t->sc->ctx, &set, cells_of(t), sizeof *set, "the reference"));
    for (int32_t k = 0; k < (int32_t)cells_of(t); k++) {
        set[k] = k;
        if (!(field[k] > edge))
            continue;
        if (k % t->nx > 0 && field[k - 1] > edge)
            sdm_sets_join(set, k - 1, k);
        if (k >= t->nx && field[k - t->nx] > edge)
            sdm_sets_join(set, k - t->nx, k);
    }
    for (int32_t k = 0; k < (int32_t)cells_of(t); k++) {
        const int32_t root = sdm_sets_root(set, k);
        const double size = sim_hash(REFERENCE_SEED, 201, root, 0) / 4294967296.0,
                     sign = sim_hash(REFERENCE_SEED, 202, root, 0) & 1 ? 1.0 : -1.0;
        change_m[k] = field[k] > edge && t->class[k]
                          ? (float)(sign * (BLOB_LOW_M + (BLOB_HIGH_M - BLOB_LOW_M) * size))
                          : 0.0f;
    }
    return SDM_OK;
}

/* ---- the reference ---- */

/* height_m += what the reference's sensor, its forest and its long-wave error add. */
static SdmStatus add_errors(const Truth *t, const Quality *q, double posting_m, float *height_m)
{
    SDM_OWNED float *noise = NULL, *wave = NULL, *forest = NULL, *smooth = NULL;
    float edge;
    const size_t w = (size_t)t->nx;
    PASS(make_field(t, 2, q->noise_cells * posting_m, &noise));
    PASS(make_field(t, 3, LONG_WAVE_M, &wave));
    PASS(make_parts(t, 4, 0.02 * t->sc->extent_m, FOREST_SHARE, &forest, &edge));
    PASS(blur(t, t->height_m, 1.0, &smooth));
    for (int j = 0; j < t->ny; j++)
        for (int i = 0; i < t->nx; i++) {
            const size_t k = (size_t)j * w + (size_t)i, row = (size_t)j * w, col = (size_t)i;
            const int a = sdm_clamp(i - 1, 0, t->nx - 1), b = sdm_clamp(i + 1, 0, t->nx - 1),
                      c = sdm_clamp(j - 1, 0, t->ny - 1), d = sdm_clamp(j + 1, 0, t->ny - 1);
            const double gx = (double)(smooth[row + (size_t)b] - smooth[row + (size_t)a]) /
                              ((b - a) * t->geo[1]),
                         gy = (double)(smooth[(size_t)d * w + col] - smooth[(size_t)c * w + col]) /
                              ((d - c) * t->geo[1]);
            const double n = (double)noise[k];
            height_m[k] +=
                (float)(n * (q->least_m + q->by_slope_m * hypot(gx, gy)) + q->long_wave_m * (double)wave[k]);
            if (forest[k] > edge)
                height_m[k] += (float)(FOREST_M + 1.5 * n);
        }
    return SDM_OK;
}

/* Cells of the posting from those of the truth, `step` to one, shifted; voids. */
static void sample_shifted(const Truth *t, const float *height_m, const float *hole, float edge, int step,
                           float *out)
{
    const int nx = t->nx / step, ny = t->ny / step;
    const double dx = SHIFT_M[0] / t->geo[1], dy = -SHIFT_M[1] / t->geo[1];
#pragma omp parallel for num_threads(t->sc->threads)
    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++) {
            const double a = i * step + 0.5 * (step - 1), b = j * step + 0.5 * (step - 1);
            const size_t at = (size_t)b * (size_t)t->nx + (size_t)a;
            out[(size_t)j * (size_t)nx + (size_t)i] =
                hole[at] > edge ? VOID_M
                                : sim_cubic(height_m, t->nx, t->ny, a - dx, b - dy) + (float)SHIFT_M[2];
        }
}

static SdmStatus write_raster(const Truth *t, const char *name, const char *datum, int step, const float *v)
{
    SDM_CLOSED_BY(sim_raster_drop) SimRaster *out = NULL;
    const double geo[6] = {t->geo[0], step * t->geo[1], 0.0, t->geo[3], 0.0, step * t->geo[5]};
    const SimRasterSpec spec = {.name = name,
                                .nx = t->nx / step,
                                .ny = t->ny / step,
                                .type = GDT_Float32,
                                .geo = geo,
                                .nodata = (double)VOID_M,
                                .heights_above = datum};
    PASS(sim_raster_create(t->sc, &spec, &out));
    PASS(sim_raster_write(out, 0, 0, spec.nx, spec.ny, v, GDT_Float32));
    return sim_raster_close(&out);
}

static SdmStatus make_reference(const Truth *t, int step)
{
    const double posting_m = step * t->geo[1];
    const Quality *const q = posting_m < 60.0 ? &FINE : &COARSE;
    SDM_OWNED float *change_m = NULL, *height_m = NULL, *hole = NULL, *out = NULL;
    float edge;
    PASS(sdm_alloc(t->sc->ctx, &change_m, cells_of(t), sizeof *change_m, "the reference"));
    PASS(make_change(t, change_m));
    PASS(write_raster(t, "change.tif", NULL, 1, change_m));
    /* a posting's cell is a mean of the truth's: a box of `step` has the variance (step^2 - 1) / 12 */
    PASS(blur(t, t->height_m, sqrt(q->blur_cells * q->blur_cells * step * step + (step * step - 1) / 12.0),
              &height_m));
    for (size_t k = 0; k < cells_of(t); k++)
        height_m[k] -= change_m[k];
    PASS(add_errors(t, q, posting_m, height_m));
    PASS(make_parts(t, 5, 0.025 * t->sc->extent_m, VOID_SHARE, &hole, &edge));
    PASS(sdm_alloc(t->sc->ctx, &out, cells_of(t), sizeof *out, "the reference"));
    sample_shifted(t, height_m, hole, edge, step, out);
    return write_raster(t, "reference.tif", "WGS 84 ellipsoid", step, out);
}

/* Where there is no truth, its median, so that filters and slopes have something to read. */
static SdmStatus patch_truth(Truth *t)
{
    SDM_OWNED float *copy = NULL;
    int64_t n = 0;
    PASS(sdm_alloc(t->sc->ctx, &copy, cells_of(t), sizeof *copy, "the reference"));
    for (size_t k = 0; k < cells_of(t); k++) {
        t->seen += t->class[k] > 0;
        if (t->height_m[k] > VOID_M)
            copy[n++] = t->height_m[k];
    }
    const float median = (float)sdm_median_f32(copy, n);
    for (size_t k = 0; k < cells_of(t); k++)
        t->height_m[k] = t->height_m[k] > VOID_M ? t->height_m[k] : median;
    return SDM_OK;
}

SdmStatus sim_reference(SimScene *sc, const double geo[6], int nx, int ny)
{
    const double posting_m = sc->opt->reference_m, step = posting_m / geo[1];
    SDM_OWNED float *height_m = NULL;
    SDM_OWNED uint8_t *class = NULL;
    Truth t = {.sc = sc, .nx = nx, .ny = ny};
    memcpy(t.geo, geo, sizeof t.geo);
    if (!(posting_m > 0.0))
        return SDM_OK;
    if (fabs(step - round(step)) > 1e-6 || step < 1.0 || round(step) > 0.25 * (nx < ny ? nx : ny))
        return sdm_fail(
            sc->ctx, SDM_ERR_USAGE,
            "--reference: found %g m, expected a multiple of the truth's cells of %g m that is at most a "
            "quarter of the scene",
            posting_m, geo[1]);
    if ((double)nx * ny > MOST_CELLS)
        return sdm_fail(
            sc->ctx, SDM_ERR_USAGE,
            "--reference: the truth has %d x %d cells, expected at most %d in all; make a smaller scene", nx,
            ny, (int)MOST_CELLS);
    PASS(sdm_alloc(sc->ctx, &height_m, cells_of(&t), sizeof *height_m, "the reference"));
    PASS(sdm_alloc(sc->ctx, &class, cells_of(&t), 1, "the reference"));
    t.height_m = height_m;
    t.class = class;
    PASS(read_raster(&t, "truth.tif", GDT_Float32, t.height_m));
    PASS(read_raster(&t, "class.tif", GDT_Byte, t.class));
    PASS(patch_truth(&t));
    if (t.seen == 0)
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "--reference: no cell of the truth is seen by both views");
    return make_reference(&t, (int)lround(step));
}
