/* Files of `match`: names of sequences, PFM to the byte, outputs that fail leave nothing. */
// SPDX-License-Identifier: Apache-2.0

#include <gdal.h>

#include "rectified/disparity.h"
#include "rectified/disparity_steps.h"
#include "tests/folder.h"

static SdmContext *ctx;

FIXTURE(setup)
{
    GDALAllRegister();
    return sdm_open(&ctx, NULL) != SDM_OK || make_folder(state) || chdir(folder);
}

FIXTURE(teardown)
{
    sdm_close(&ctx);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

TEST(patterns)
{
    FREED SdmPattern *const p = malloc(sizeof *p);
    FREED char *const name = malloc(SDM_PATH_SIZE);
    static const struct {
        const char *text;
        int digits, number;
        const char *name;
    } good[] = {
        {"a/left_%04d.png", 4, 7, "a/left_0007.png"},
        {"%d", 1, 120, "120"},
        {"%02dx", 2, 1234, "1234x"},
        {"50%%_%d%%.tif", 1, 3, "50%_3%.tif"},
        {"plain.tif", 0, 9, "plain.tif"},
        {"100%%", 0, 1, "100%"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(sdm_pattern_parse(ctx, "LEFT", good[i].text, p), SDM_OK);
        assert_int_equal(p->digits, good[i].digits);
        assert_int_equal(sdm_pattern_name(ctx, p, good[i].number, name), SDM_OK);
        assert_string_equal(name, good[i].name);
    }
    static const char *const bad[] = {"%",     "a%",   "%4d",   "%04", "%s",   "%n",
                                      "%d_%d", "%00d", "%010d", "%hd", "%d/x", "%.3d"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sdm_pattern_parse(ctx, "LEFT", bad[i], p) != SDM_ERR_USAGE)
            fail_msg("'%s' was taken", bad[i]);
}

TEST(numbers_in_a_folder)
{
    static const char *const files[] = {"l_003.png", "l_010.png", "l_1200.png", "l_04.png", "l_0005.png",
                                        "l_00x.png", "l_007.jpg", "xl_008.png", "l_.png"};
    FREED SdmPattern *const p = malloc(sizeof *p);
    int *numbers = NULL, count = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put_bytes(files[i], "", 0);
    assert_int_equal(sdm_pattern_parse(ctx, "LEFT", "l_%03d.png", p), SDM_OK);
    assert_int_equal(sdm_pattern_numbers(ctx, p, -1, -1, &numbers, &count), SDM_OK);
    assert_int_equal(count, 3); /* as printf writes them: 3, 10, 1200 */
    assert_true(numbers[0] == 3 && numbers[1] == 10 && numbers[2] == 1200);
    sdm_free(&numbers);
    assert_int_equal(sdm_pattern_numbers(ctx, p, 4, 1199, &numbers, &count), SDM_OK);
    assert_true(count == 1 && numbers[0] == 10);
    sdm_free(&numbers);
    assert_int_equal(sdm_pattern_numbers(ctx, p, 11, 20, &numbers, &count), SDM_ERR_INPUT);
    assert_null(numbers);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
}

TEST(pfm_to_the_byte)
{
    /* rows from the bottom; 1.5 = 3FC00000, -2 = C0000000, inf = 7F800000, lowest byte first */
    static const float d[4] = {1.5f, NAN, -2.0f, 0.0f};
    static const unsigned char want[] = "Pf\n2 2\n-1.0\n"
                                        "\0\0\0\xC0"
                                        "\0\0\0\0"
                                        "\0\0\xC0\x3F"
                                        "\0\0\x80\x7F";
    static const SdmPairFiles names = {.output = "d.pfm"};
    SdmDisparityOptions opt;
    sdm_disparity_default(&opt);
    assert_int_equal(sdm_outputs_write(ctx, &names, &opt, 2, 2, d), SDM_OK);
    size_t n;
    FREED unsigned char *const have = read_all("d.pfm", &n);
    unlink("d.pfm");
    assert_int_equal(n, sizeof want - 1);
    assert_memory_equal(have, want, n);
}

/* Whichever allocation fails: a sentence, no file. */
TEST(no_memory_no_file)
{
    static const float d[6] = {1, 2, 3, NAN, 5, 6};
    SdmDisparityOptions opt;
    FREED SdmPairFiles *const names = calloc(1, sizeof *names);
    sdm_disparity_default(&opt);
    strcpy(names->preview, "p.png");
    for (int pfm = 0; pfm < 2; pfm++) {
        strcpy(names->output, pfm ? "o.pfm" : "o.tif");
        EACH_ALLOCATION_FAILS(
            sdm_outputs_write(ctx, names, &opt, 3, 2, d),
            assert_true(made == SDM_OK || (access(names->output, F_OK) != 0 && access("p.png", F_OK) != 0)),
            1, 1);
        assert_int_equal(unlink(names->output), 0);
        assert_int_equal(unlink("p.png"), 0);
    }
}

/* Bytes that a sequence of `count` pairs takes at a time. */
static int64_t peak_of(int count)
{
    SdmOptions options = default_options();
    SdmDisparityOptions opt;
    SdmDisparityResult result;
    options.threads = 1;
    options.device = "cpu";
    sdm_disparity_default(&opt);
    opt.output = "d_%d.pfm";
    opt.max_disparity = 8;
    opt.first = 1;
    opt.last = count;
    opt.overwrite = true;
    SDM_CLOSED_BY(sdm_close) SdmContext *own = context_of(&options);
    assert_ok(own, sdm_disparity_run(own, "l_%d.tif", "r_%d.tif", &options, &opt, &result));
    assert_int_equal(result.frames, count);
    return sdm_memory_peak(own);
}

TEST(memory_of_a_sequence_does_not_grow)
{
    enum { WIDTH = 200, HEIGHT = 100, PAIRS = 8 };
    FREED uint8_t *const pixel = malloc(WIDTH * HEIGHT);
    char name[16];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        pixel[i] = (uint8_t)((unsigned)i * 2654435761u >> 24);
    for (int k = 2; k < 2 * (PAIRS + 1); k++) {
        snprintf(name, sizeof name, k % 2 ? "r_%d.tif" : "l_%d.tif", k / 2);
        const GDALDatasetH f =
            GDALCreate(GDALGetDriverByName("GTiff"), name, WIDTH, HEIGHT, 1, GDT_Byte, NULL);
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(f, 1), GF_Write, 0, 0, WIDTH, HEIGHT, pixel, WIDTH,
                                      HEIGHT, GDT_Byte, 0, 0),
                         CE_None);
        GDALClose(f);
    }
    const int64_t few = peak_of(4), many = peak_of(PAIRS);
    for (int k = 2; k < 2 * (PAIRS + 1); k++) {
        snprintf(name, sizeof name, k % 2 ? "r_%d.tif" : "l_%d.tif", k / 2);
        unlink(name);
        snprintf(name, sizeof name, "d_%d.pfm", k / 2);
        unlink(name);
    }
    assert_true(many - few < WIDTH * HEIGHT * (int64_t)sizeof(float)); /* the disparities of one pair */
}

RUN_TESTS(setup, teardown)
