/* The door of src/scene: a DEM from two arrays and two RPC cameras in memory, the same bytes as from
 * files.  Two at once: tests/library/threads.c. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "scene/scene.h"
#include "simulate/simulate.h"

enum { SIDE = 320, PAD = 13 /* samples behind each row */ };

/* A view read from its file: samples of some type with gaps between rows, and its RPC. */
typedef struct View {
    SdmRpc rpc;
    int w, h;
    uint16_t *words; /* h x (w + PAD): samples */
    uint8_t *mask;   /* h x (w + PAD): 0 in a corner */
    char path[256];
} View;
static View view[2];

static void copy_coefficients(View *v, GDALDatasetH ds)
{
    GDALRPCInfoV2 i;
    assert_true(GDALExtractRPCInfoV2(GDALGetMetadata(ds, "RPC"), &i));
    v->rpc = (SdmRpc){.line_off = i.dfLINE_OFF,
                      .samp_off = i.dfSAMP_OFF,
                      .lat_off = i.dfLAT_OFF,
                      .long_off = i.dfLONG_OFF,
                      .height_off = i.dfHEIGHT_OFF,
                      .line_scale = i.dfLINE_SCALE,
                      .samp_scale = i.dfSAMP_SCALE,
                      .lat_scale = i.dfLAT_SCALE,
                      .long_scale = i.dfLONG_SCALE,
                      .height_scale = i.dfHEIGHT_SCALE};
    memcpy(v->rpc.line_num, i.adfLINE_NUM_COEFF, sizeof v->rpc.line_num);
    memcpy(v->rpc.line_den, i.adfLINE_DEN_COEFF, sizeof v->rpc.line_den);
    memcpy(v->rpc.samp_num, i.adfSAMP_NUM_COEFF, sizeof v->rpc.samp_num);
    memcpy(v->rpc.samp_den, i.adfSAMP_DEN_COEFF, sizeof v->rpc.samp_den);
}

/* Samples as a GeoTIFF with the RPC of a view, a row a block. */
static void write_tiff(const char *path, const View *v, const void *samples, GDALDataType type, bool with_rpc)
{
    const char *const co[] = {"BLOCKYSIZE=1", NULL};
    const GDALDatasetH from = GDALOpen(v->path, GA_ReadOnly),
                       to = GDALCreate(GDALGetDriverByName("GTiff"), path, v->w, v->h, 1, type, (char **)co);
    const int size = GDALGetDataTypeSizeBytes(type);
    assert_non_null(to);
    if (with_rpc)
        GDALSetMetadata(to, GDALGetMetadata(from, "RPC"), "RPC");
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(to, 1), GF_Write, 0, 0, v->w, v->h, (void *)samples, v->w,
                                  v->h, type, size, size * (v->w + PAD)),
                     CE_None);
    GDALClose(from);
    GDALClose(to);
}

FIXTURE(simulate)
{
    static const char *const names[] = {"left.tif", "right.tif"};
    SdmContext *ctx = default_context();
    SdmSimulateOptions opt;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/pair", scratch());
    sdm_simulate_default(&opt);
    opt.output = folder;
    opt.layout = "rpc";
    opt.width = opt.height = SIDE;
    assert_int_equal(sdm_simulate(ctx, &opt), SDM_OK);
    sdm_close(&ctx);
    GDALAllRegister();
    for (int k = 0; k < 2; k++) {
        View *const v = &view[k];
        snprintf(v->path, sizeof v->path, "%s/%s", folder, names[k]);
        const GDALDatasetH ds = GDALOpen(v->path, GA_ReadOnly);
        assert_non_null(ds);
        copy_coefficients(v, ds);
        v->w = GDALGetRasterXSize(ds);
        v->h = GDALGetRasterYSize(ds);
        const size_t pitch = (size_t)v->w + PAD, n = pitch * (size_t)v->h;
        v->words = calloc(n, sizeof *v->words);
        v->mask = calloc(n, 1);
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, 0, 0, v->w, v->h, v->words, v->w,
                                      v->h, GDT_UInt16, 2, (int)(2 * pitch)),
                         CE_None);
        GDALClose(ds);
        for (size_t i = 0; i < n; i++)
            v->mask[i] = i / pitch > 50 || i % pitch > 60;
    }
    return 0;
}

FIXTURE(release)
{
    for (int k = 0; k < 2; k++) {
        free(view[k].words);
        free(view[k].mask);
    }
    return 0;
}

static SdmOptions options(void)
{
    SdmOptions o;
    sdm_options_default(&o);
    o.device = "cpu";
    o.threads = 2;
    return o;
}

static void describe_arrays(bool masked, SdmViewInput in[2])
{
    for (int k = 0; k < 2; k++) {
        const View *const v = &view[k];
        const int64_t pitch = v->w + PAD;
        in[k] = (SdmViewInput){.image = {.type = SDM_SAMPLE_UINT16,
                                         .samples = v->words,
                                         .width = v->w,
                                         .height = v->h,
                                         .row_bytes = 2 * pitch,
                                         .mask = masked ? v->mask : NULL,
                                         .mask_row_bytes = masked ? pitch : 0},
                               .rpc = &v->rpc};
    }
}

/* Contexts of blocks that a test still has: memory is freed before its context is closed. */
static SdmContext *kept[64];
static int kept_count;

static void close_later(SdmContext *ctx)
{
    kept[kept_count++] = ctx;
}

FIXTURE(close_kept)
{
    while (kept_count > 0)
        sdm_close(&kept[--kept_count]);
    return 0;
}

/* A block whose place is set, on the processor. */
static SdmStatus compute_block(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmBlock *block)
{
    SDM_CLOSED_BY(sdm_device_pool_close) SdmDevicePool *processor = NULL;
    SdmBlockWork work = {.block = *block};
    const int64_t room = sdm_block_room(ctx, scene, p) - SDM_BLOCK_CELL_BYTES * block->w * block->h;
    PASS(sdm_device_pool_open(ctx, "cpu", &processor));
    PASS(sdm_block_begin(ctx, scene, p, processor, room > 1 ? room : 1, &work));
    PASS(sdm_block_end(ctx, processor, &work));
    *block = work.block;
    return SDM_OK;
}

/* All cells of the DEM of an opened scene, which is closed. */
static SdmStatus compute(SdmContext *ctx, SdmScene *scene, SdmGrid *grid, SdmBlock *block)
{
    SdmStatus st = SDM_OK;
    SdmPrepared p = {0};
    TRY(sdm_scene_prepare(ctx, scene, &p));
    *grid = p.grid;
    *block = (SdmBlock){.w = p.grid.cols, .h = p.grid.rows};
    TRY(compute_block(ctx, scene, &p, block));
done:
    sdm_prepared_free(&p);
    sdm_scene_close(&scene);
    return st;
}

static SdmStatus from_arrays(bool masked, SdmGrid *grid, SdmBlock *block)
{
    const SdmOptions o = options();
    SdmViewInput in[2];
    SdmScene *scene = NULL;
    SdmContext *ctx = context_of(&o);
    describe_arrays(masked, in);
    SdmStatus st = sdm_scene_open_arrays(ctx, &o, in, &scene);
    if (st == SDM_OK)
        st = compute(ctx, scene, grid, block);
    if (st != SDM_OK)
        print_message("%s\n", sdm_error(ctx));
    close_later(ctx);
    return st;
}

static void from_files(const SdmOptions *o, const char *left, const char *right, SdmGrid *grid,
                       SdmBlock *block)
{
    SdmScene *scene = NULL;
    SdmContext *ctx = context_of(o);
    assert_int_equal(sdm_scene_open(ctx, o, left, right, &scene), SDM_OK);
    assert_int_equal(compute(ctx, scene, grid, block), SDM_OK);
    close_later(ctx);
}

static int64_t valid_cells(const SdmBlock *b)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b->w * b->h; i++)
        n += (b->mask[i] & SDM_QA_VALID) != 0;
    return n;
}

static void same_blocks(const SdmBlock *a, const SdmBlock *b)
{
    assert_true(a->w == b->w && a->h == b->h && a->w * a->h > 5000);
    const size_t n = (size_t)(a->w * a->h);
    assert_memory_equal(a->height_m, b->height_m, n * sizeof(float));
    assert_memory_equal(a->score, b->score, n * sizeof(float));
    assert_memory_equal(a->ray_error_m, b->ray_error_m, n * sizeof(float));
    assert_memory_equal(a->spread_m, b->spread_m, n * sizeof(float));
    assert_memory_equal(a->ortho, b->ortho, n * sizeof(float));
    assert_memory_equal(a->count, b->count, n * sizeof(uint16_t));
    assert_memory_equal(a->mask, b->mask, n * sizeof(uint16_t));
}

TEST_WITH(words_and_masks_are_as_in_files, NULL, close_kept)
{
    SdmOptions o = options();
    SdmGrid grid[2];
    SDM_CLOSED_BY(sdm_block_free) SdmBlock file = {0}, array = {0};
    char path[4][256];
    (void)state;
    for (int k = 0; k < 4; k++) {
        const View *const v = &view[k & 1];
        snprintf(path[k], sizeof path[k], "%s/%s%d.tif", scratch(), k < 2 ? "words" : "mask", k & 1);
        if (k < 2)
            write_tiff(path[k], v, v->words, GDT_UInt16, true);
        else
            write_tiff(path[k], v, v->mask, GDT_Byte, false);
    }
    o.mask_left = path[2];
    o.mask_right = path[3];
    from_files(&o, path[0], path[1], &grid[0], &file);
    assert_int_equal(from_arrays(true, &grid[1], &array), SDM_OK);
    same_blocks(&file, &array);
}

/* Any rectangle of the DEM is a part of the whole. */
TEST_WITH(a_block_is_a_part, NULL, close_kept)
{
    const SdmOptions o = options();
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&o);
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SdmViewInput in[2];
    SDM_CLOSED_BY(sdm_prepared_free) SdmPrepared p = {0};
    (void)state;
    describe_arrays(false, in);
    assert_int_equal(sdm_scene_open_arrays(ctx, &o, in, &scene), SDM_OK);
    assert_int_equal(sdm_scene_prepare(ctx, scene, &p), SDM_OK);
    SDM_CLOSED_BY(sdm_block_free)
    SdmBlock all = {.w = p.grid.cols, .h = p.grid.rows}, part = {.col0 = 31, .row0 = 17, .w = 45, .h = 39};
    assert_int_equal(compute_block(ctx, scene, &p, &all), SDM_OK);
    assert_int_equal(compute_block(ctx, scene, &p, &part), SDM_OK);
    for (int64_t r = 0; r < part.h; r++)
        assert_memory_equal(part.height_m + r * part.w, all.height_m + (part.row0 + r) * all.w + part.col0,
                            (size_t)part.w * sizeof(float));
    SdmQualitySums sums = {0};
    SdmQuality quality;
    sdm_quality_add(&sums, &all, &p, 2);
    assert_int_equal(sdm_quality_assess(ctx, &o, &sums, &p, "left", "right", &quality), SDM_OK);
    assert_true(quality.matched_share > 0.8 && quality.count == 0);
}

/* The files are gone: a DEM is made all the same. */
TEST_WITH(no_file_is_needed, NULL, close_kept)
{
    SdmGrid grid;
    SDM_CLOSED_BY(sdm_block_free) SdmBlock block = {0};
    (void)state;
    for (int k = 0; k < 2; k++)
        assert_true(unlink(view[k].path) == 0);
    assert_int_equal(from_arrays(false, &grid, &block), SDM_OK);
    assert_true(valid_cells(&block) > block.w * block.h / 2);
}

static SdmStatus try_open(const SdmOptions *o, SdmViewInput in[2], const char *word)
{
    SdmScene *scene = NULL;
    SdmOptions plain = options();
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&plain);
    const SdmStatus st = sdm_scene_open_arrays(ctx, o, in, &scene);
    assert_null(scene);
    assert_non_null(strstr(sdm_error(ctx), word));
    return st;
}

TEST(faults_are_named)
{
    SdmOptions o = options();
    SdmViewInput in[2];
    (void)state;
    describe_arrays(false, in);
    in[1].rpc = NULL;
    assert_int_equal(try_open(&o, in, "right image: has no camera"), SDM_ERR_USAGE);
    describe_arrays(false, in);
    in[0].image.samples = NULL;
    in[0].image.name = "first";
    assert_int_equal(try_open(&o, in, "first: an array of"), SDM_ERR_USAGE);
    describe_arrays(false, in);
    in[0].image.width = 20;
    assert_int_equal(try_open(&o, in, "expected at least 64 x 64"), SDM_ERR_INPUT);
    describe_arrays(false, in);
    o.mask_left = "mask.tif";
    assert_int_equal(try_open(&o, in, "--mask-left"), SDM_ERR_USAGE);
}

RUN_TESTS(simulate, release)
