/* Geometry, pyramid and filters on every device here against those of the chain with the reference kernels,
 * bit for bit. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu_cases.h"
#include "matching/filters.h"

static const Shape shapes[] = {{1, 1}, {7, 2}, {65, 2}, {3, 70}, {2, 3}, {33, 31}, {129, 67}, {300, 130}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const char *name_of(const char *what, Shape s, int turn)
{
    static char text[100];
    snprintf(text, sizeof text, "%s, %d x %d, turn %d", what, s.w, s.h, turn);
    return text;
}

/* ---- warp, pyramid ---- */

TEST(warps_are_the_references)
{
    int64_t pixels = 0;
    for (int turn = 0; turn < 40 * N_SHAPES; turn += CASE_STEP) {
        const Shape s = shapes[turn % N_SHAPES];
        const size_t n = (size_t)s.w * (size_t)s.h;
        const enum SdmSide side = turn / N_SHAPES % 2 ? SDM_RIGHT : SDM_LEFT;
        uint64_t seed = (uint64_t)turn + 3;
        SdmLattice lat;
        SdmGpuCells cells;
        SdmWindow win = {.level = turn % 5, .u0 = turn % 50 - 20, .v0 = turn % 31 - 10, .w = s.w, .h = s.h};
        SdmLevelImage im = {.x0 = turn % 9 - 4, .y0 = -(turn % 5), .w = s.w + 20, .h = s.h + 10};
        const size_t source_n = (size_t)(im.w * im.h);
        random_nodes(&lat, &win, turn % 3 ? 16 : 64, &seed);
        for (int i = 0; i < lat.nu * lat.nv && turn % 11 == 5; i++) /* far off the image */
            lat.node[i].right[0] *= 300000;
        im.data = malloc(2 * source_n);
        FREED int16_t *const want = malloc(2 * n);
        FREED float *const surface = malloc(4 * n);
        fill_image(im.data, source_n, (enum Fill)(turn / 2 % FILL_END), 0, &seed);
        for (size_t i = 0; i < n; i++)
            surface[i] = real(&seed, 300.0f, 700.0f);
        const SdmLevelTask task = {.kernels = &sdm_kernels_reference,
                                   .lattice = &lat,
                                   .win = win,
                                   .left_source = &im,
                                   .right_source = &im};
        OK(sdm_warp_view(test.ctx, &task, side, turn % 4 ? surface : NULL, want));
        for (size_t i = 0; i < n; i++)
            pixels += want[i] != SDM_PIXEL_NODATA;
        SdmBuffer *node = put(lat.node, nodes_bytes(&lat)), *source = put(im.data, 2 * source_n),
                  *heights = put(surface, 4 * n), *const out = put(NULL, 2 * n);
        const SdmGpuImage image = {.data = source, .x0 = im.x0, .y0 = im.y0, .w = im.w, .h = im.h};
        OK(sdm_gpu_cells_new(test.ctx, &test.gpu, &lat, node, &win, side, &cells));
        OK(sdm_gpu_warp(test.ctx, &test.gpu, &cells, turn % 4 ? heights : NULL, &image, out));
        expect(out, want, 2 * n, name_of("warp", s, turn));
        sdm_buffer_free(&node);
        sdm_buffer_free(&source);
        sdm_buffer_free(&heights);
        free(lat.node);
        free(im.data);
    }
    assert_true(pixels > 5000);
}

typedef struct Source {
    const int16_t *data;
    int64_t x0, y0, w;
} Source;

static SdmStatus read_source(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                             int16_t *out)
{
    const Source *const s = user;
    (void)ctx;
    for (int64_t y = 0; y < h; y++)
        memcpy(out + y * w, s->data + (y0 + y - s->y0) * s->w + (x0 - s->x0), (size_t)w * sizeof *out);
    return SDM_OK;
}

/* Level after level, from the finest one. */
TEST(pyramids_are_the_references)
{
    enum { LEVELS = 4 };
    for (int turn = 0; turn < 10 * N_SHAPES; turn += CASE_STEP) {
        const Shape s = shapes[turn % N_SHAPES];
        const size_t n = (size_t)s.w * (size_t)s.h;
        const int64_t x0 = turn / N_SHAPES % 7 - 3, y0 = turn / N_SHAPES % 5 - 2;
        const int64_t bounds[4] = {x0, y0, x0 + s.w, y0 + s.h};
        uint64_t seed = (uint64_t)turn + 9;
        SDM_CLOSED_BY(sdm_pyramid_free) SdmPyramid p = {0};
        SdmGpuImage level[LEVELS];
        FREED int16_t *const data = malloc(2 * n);
        fill_image(data, n, (enum Fill)(turn / N_SHAPES % FILL_END), 0, &seed);
        for (size_t i = 0; i < n && turn % 5 == 0; i++) /* every share of weight */
            data[i] = next_random(&seed) % 2 ? (int16_t)SDM_PIXEL_NODATA : data[i];
        Source source = {.data = data, .x0 = x0, .y0 = y0, .w = s.w};
        const SdmPyramidSource from = {
            .kernels = &sdm_kernels_reference, .read = read_source, .user = &source};
        OK(sdm_pyramid_build(test.ctx, &from, bounds, 0, LEVELS - 1, &p));
        for (int l = 0; l < LEVELS; l++) {
            SdmLevelImage at;
            sdm_level_place(bounds, l, &at);
            level[l] = (SdmGpuImage){.data = put(l ? NULL : data, 2 * (size_t)(at.w * at.h)),
                                     .x0 = at.x0,
                                     .y0 = at.y0,
                                     .w = at.w,
                                     .h = at.h};
            assert_true(at.w == p.level[l].w && at.h == p.level[l].h);
            if (l > 0)
                OK(sdm_gpu_half(test.ctx, &test.gpu, &level[l - 1], &level[l]));
        }
        for (int l = 0; l < LEVELS; l++)
            expect(level[l].data, p.level[l].data, 2 * (size_t)(level[l].w * level[l].h),
                   name_of("pyramid", s, turn));
    }
}

/* ---- filters ---- */

enum { MOST_PIXELS = 811 * 415 };
static float prior[MOST_PIXELS], kept_h_m[MOST_PIXELS];
static int16_t view[2][MOST_PIXELS];

typedef struct Filters { /* a surface with holes on both sides; it came from `prior` */
    Shape s;
    size_t n;
    int turn;
    SdmSurface surface;
    SdmGpuSurface there;
} Filters;

static void filters_open(Filters *f, Shape shape, int turn)
{
    uint64_t seed = (uint64_t)turn + 21;
    *f = (Filters){.s = shape, .n = (size_t)shape.w * (size_t)shape.h, .turn = turn};
    assert_true(f->n <= MOST_PIXELS);
    OK(sdm_surface_alloc(test.ctx, &(SdmWindow){.u0 = turn % 7, .v0 = turn % 5, .w = f->s.w, .h = f->s.h},
                         &f->surface));
    for (size_t i = 0; i < f->n; i++) {
        const float size = turn % 16 == 7 ? 1000.0f : 1.0f; /* beyond what changes are kept within */
        f->surface.h_m[i] = size * (100.0f + (float)(next_random(&seed) % (turn % 3 ? 1000u : 5u)) / 64.0f);
        prior[i] = 100.0f + (float)(next_random(&seed) % 600) / 64.0f;
        f->surface.flags[i] = next_random(&seed) % 8 < (unsigned)(turn / 8 % 9) ? 1 : SDM_QA_LOW_SCORE;
        f->surface.score[i] = 1;
    }
    f->there = (SdmGpuSurface){.win = f->surface.win,
                               .h_m = put(f->surface.h_m, 4 * f->n),
                               .prior_m = put(prior, 4 * f->n),
                               .flags = put(f->surface.flags, 2 * f->n)};
}

static void filters_close(Filters *f)
{
    sdm_surface_free(&f->surface);
    sdm_buffer_free(&f->there.h_m);
    sdm_buffer_free(&f->there.flags);
    sdm_buffer_free(&f->there.prior_m);
    sdm_buffer_free(&f->there.score);
}

static void check_median_and_reject(Filters *f)
{
    const SdmRejection r = {.half = f->turn % 8, .tol_m = f->turn % 2 ? 3.3f : 0.5f, .share = 0.3f};
    FREED uint16_t *const flags = malloc(2 * f->n);
    SdmBuffer *const median = put(NULL, 4 * f->n), *const kept = put(NULL, 2 * f->n);
    OK(sdm_gpu_median(test.ctx, &test.gpu, &f->there, median));
    OK(sdm_gpu_reject(test.ctx, &test.gpu, &f->there, &r, kept));
    OK(sdm_surface_reject(test.ctx, &sdm_kernels_reference, &f->surface, prior, &r, flags));
    expect(kept, flags, 2 * f->n, name_of("reject", f->s, f->turn));
    OK(sdm_surface_median(test.ctx, &sdm_kernels_reference, &f->surface));
    expect(median, f->surface.h_m, 4 * f->n, name_of("median", f->s, f->turn));
}

/* Some pixels without a match are seen by both views. */
static void check_border(Filters *f)
{
    uint64_t seed = (uint64_t)f->turn + 31;
    const int half = f->turn % 5;
    for (size_t i = 0; i < f->n; i++) {
        const bool outside = !(f->surface.flags[i] & SDM_QA_VALID) && next_random(&seed) % 4 > 0;
        f->surface.flags[i] = outside ? SDM_QA_OUTSIDE : f->surface.flags[i];
        f->surface.score[i] = outside ? 0 : (uint8_t)(next_random(&seed) % 251);
        for (int side = 0; side < 2; side++)
            view[side][i] = (int16_t)(next_random(&seed) % 8 ? 9 : SDM_PIXEL_NODATA);
    }
    SDM_CLOSED_BY(sdm_buffer_free)
    SdmBuffer *left = put(view[0], 2 * f->n), *right = put(view[1], 2 * f->n);
    SdmBuffer *const kept = put(NULL, 2 * f->n);
    f->there.score = put(f->surface.score, f->n);
    OK(sdm_upload(test.ctx, f->there.flags, 0, f->surface.flags, 2 * (int64_t)f->n, 0, true));
    OK(sdm_gpu_border(test.ctx, &test.gpu, &f->there, &(SdmGpuBorder){left, right, half}, kept));
    const SdmBorderWindows in = {view[0], view[1], prior, half};
    assert_int_equal(sdm_match_border(test.ctx, &in, &f->surface), SDM_OK);
    expect(f->there.h_m, f->surface.h_m, 4 * f->n, name_of("border, heights", f->s, f->turn));
    expect(f->there.score, f->surface.score, f->n, name_of("border, scores", f->s, f->turn));
    f->there.h_m = f->there.score = NULL;
    expect(kept, f->surface.flags, 2 * f->n, name_of("border, flags", f->s, f->turn));
}

static void check_refine(Filters *f)
{
    const SdmWindow *const c = &f->surface.win;
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface fine = {0};
    const SdmWindow win = {.u0 = 2 * c->u0 + f->turn % 3 - 1,
                           .v0 = 2 * c->v0 + f->turn % 4 - 2,
                           .w = 2 * c->w + f->turn % 5 - 1,
                           .h = 2 * c->h + f->turn % 2};
    OK(sdm_surface_alloc(test.ctx, &win, &fine));
    const size_t bytes = (size_t)win.w * (size_t)win.h * 4;
    SdmBuffer *const out = put(NULL, bytes);
    sdm_surface_refine(test.ctx, &sdm_kernels_reference, &f->surface, &fine);
    OK(sdm_gpu_refine(test.ctx, &test.gpu, c, f->there.h_m, &win, out));
    expect(out, fine.h_m, bytes, name_of("refine", f->s, f->turn));
}

static void check_smooth_and_fill(Filters *f)
{
    static const SdmFill fills[] = {
        {4, 12, false}, {16, 60, true}, {6, 42, true}, {1, 1, false}, {15, 31, false}};
    const SdmFill fill = fills[f->turn / 3 % 5];
    static const SdmFill near = {.half = 4, .least = 12};
    const SdmFill *const again = f->turn / 15 % 2 ? &near : NULL;
    FREED uint8_t *const filled = malloc(f->n);
    SdmBuffer *const smooth = put(NULL, 4 * f->n), *mask = f->turn % 2 ? put(NULL, f->n) : NULL;
    OK(sdm_gpu_smooth(test.ctx, &test.gpu, &f->there, smooth));
    OK(sdm_gpu_fill(test.ctx, &test.gpu, &f->there, &fill, again, mask));
    memcpy(kept_h_m, f->surface.h_m, 4 * f->n);
    OK(sdm_surface_smooth(test.ctx, &sdm_kernels_reference, &f->surface));
    expect(smooth, f->surface.h_m, 4 * f->n, name_of("smooth", f->s, f->turn));
    memcpy(f->surface.h_m, kept_h_m, 4 * f->n);
    OK(sdm_surface_fill(test.ctx, &sdm_kernels_reference, &f->surface, prior, &fill, NULL, filled));
    if (again)
        OK(sdm_surface_fill(test.ctx, &sdm_kernels_reference, &f->surface, prior, again, NULL, NULL));
    expect(f->there.h_m, f->surface.h_m, 4 * f->n, name_of("fill", f->s, f->turn));
    f->there.h_m = NULL;
    if (mask)
        expect(mask, filled, f->n, name_of("filled", f->s, f->turn));
}

static void check_wiener(Filters *f)
{
    uint64_t seed = (uint64_t)f->turn + 4;
    float ratio[256];
    const float metres_per_px = 1.0f + (float)(f->turn % 30);
    fill_image(view[0], f->n, (enum Fill)(f->turn / N_SHAPES % FILL_END), 0, &seed);
    for (int i = 0; i < 256; i++)
        ratio[i] = (float)(i % 50) / 64.0f;
    for (size_t i = 0; i < f->n; i++)
        f->surface.score[i] = (uint8_t)(next_random(&seed) % 251);
    SDM_CLOSED_BY(sdm_buffer_free)
    SdmBuffer *image = put(view[0], 2 * f->n), *table = put(ratio, sizeof ratio);
    SdmBuffer *const out = put(NULL, 4 * f->n);
    f->there.score = put(f->surface.score, f->n);
    const SdmGpuWiener w = {.left = image, .ratio = table, .metres_per_px = metres_per_px};
    OK(sdm_gpu_wiener(test.ctx, &test.gpu, &f->there, &w, out));
    OK(sdm_surface_wiener(test.ctx, &sdm_kernels_reference, &f->surface, view[0], ratio, metres_per_px));
    expect(out, f->surface.h_m, 4 * f->n, name_of("Wiener filter", f->s, f->turn));
}

/* A hilly surface of which the right view is the left one but for noise, gain, offset and holes. */
static void check_least_squares(Filters *f, const SdmWindow *win, float px_per_metre)
{
    uint64_t seed = (uint64_t)f->turn + 8;
    const enum Fill fill = (enum Fill)(f->turn / N_SHAPES / 9 % (FILL_END + 2));
    int moved = 0;
    for (int side = 0; side < 2 && fill < FILL_END; side++)
        fill_image(view[side], f->n, fill, side, &seed);
    for (size_t i = 0; i < f->n; i++) {
        const int x = (int)i % f->s.w, y = (int)i / f->s.w;
        const float texture =
            300.0f * sinf(0.7f * (float)x) + 200.0f * sinf(0.3f * (float)x + 0.4f * (float)y);
        if (fill < FILL_END)
            continue;
        view[0][i] = (int16_t)(texture + real(&seed, -20.0f, 20.0f));
        view[1][i] = (int16_t)(0.8f * texture + 40.0f + real(&seed, -20.0f, 20.0f));
        for (int side = 0; side < 2 && fill > FILL_END; side++)
            if (next_random(&seed) % 200 == 0)
                view[side][i] = (int16_t)SDM_PIXEL_NODATA;
        if (fill > FILL_END && next_random(&seed) % 9 == 0)
            f->surface.flags[i] = SDM_PIXEL_ASIDE;
        f->surface.h_m[i] = 500.0f + 3.0f * sinf(0.05f * (float)(x + y)) + real(&seed, -1.0f, 1.0f);
    }
    f->surface.win = f->there.win = *win;
    OK(sdm_upload(test.ctx, f->there.flags, 0, f->surface.flags, 2 * (int64_t)f->n, 0, true));
    OK(sdm_upload(test.ctx, f->there.h_m, 0, f->surface.h_m, 4 * (int64_t)f->n, 0, true));
    SDM_CLOSED_BY(sdm_buffer_free)
    SdmBuffer *left = put(view[0], 2 * f->n), *right = put(view[1], 2 * f->n);
    SdmBuffer *const out = put(NULL, 4 * f->n);
    const SdmGpuLeastSquares q = {.left = left, .right = right, .px_per_metre = px_per_metre};
    OK(sdm_gpu_least_squares(test.ctx, &test.gpu, &f->there, &q, out));
    memcpy(kept_h_m, f->surface.h_m, 4 * f->n);
    OK(sdm_surface_least_squares(test.ctx, &sdm_kernels_reference, &f->surface, view[0], view[1],
                                 px_per_metre));
    for (size_t i = 0; i < f->n; i++)
        moved += f->surface.h_m[i] != kept_h_m[i];
    assert_true(fill < FILL_END || f->s.w < 16 || f->s.h < 16 || f->turn / 8 % 9 < 4 ||
                moved > f->s.w * f->s.h / 8);
    expect(out, f->surface.h_m, 4 * f->n, name_of("least squares", f->s, f->turn));
}

/* Windows that begin anywhere in the blocks of the frame; then several tiles of the processor. */
TEST(least_squares_are_the_references)
{
    for (int turn = 0; turn < 9 * (FILL_END + 2) * N_SHAPES; turn += CASE_STEP) {
        SDM_CLOSED_BY(filters_close) Filters f = {0};
        filters_open(&f, shapes[turn % N_SHAPES], turn);
        const SdmWindow win = {.u0 = turn / N_SHAPES % 19 - 9, .v0 = turn % 17 - 8, .w = f.s.w, .h = f.s.h};
        check_least_squares(&f, &win, (turn % 2 ? 1.0f : -1.0f) / (1.0f + (float)(turn / 3 % 30)));
    }
    for (int fill = FILL_END; fill < FILL_END + 2; fill++) {
        const Shape shape = {811, 415};
        const int turn = (9 * fill + 7) * N_SHAPES;
        SDM_CLOSED_BY(filters_close) Filters f = {0};
        filters_open(&f, shape, turn);
        check_least_squares(&f, &(SdmWindow){.u0 = 3, .v0 = -6, .w = shape.w, .h = shape.h}, -0.04f);
    }
}

TEST(filters_are_the_references)
{
    static const struct {
        void (*check)(Filters *f);
        int turns, step;
    } of[] = {{check_median_and_reject, 40, CASE_STEP},
              {check_refine, 40, CASE_STEP},
              {check_smooth_and_fill, 40, CASE_STEP},
              {check_border, 9, DEVICE_STEP},
              {check_wiener, 8, DEVICE_STEP}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (int turn = 0; turn < of[k].turns * N_SHAPES; turn += of[k].step) {
            SDM_CLOSED_BY(filters_close) Filters f = {0};
            filters_open(&f, shapes[turn % N_SHAPES], turn);
            of[k].check(&f);
        }
}

int main(void)
{
    return run_on_devices();
}
