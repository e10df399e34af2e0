/* Option parser, ranges, check and printing: what users type, and the sentence that they get. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "core/secrets.h"
#include "tests/case.h"

enum { MAX_WORDS = 80 };

typedef struct Fixture {
    SdmContext *ctx;
    SdmOptions opt;
    SdmCommandLine line;
} Fixture;
static Fixture fixture, *const f = &fixture;

FIXTURE(setup)
{
    *f = (Fixture){.line = {.name = "run", .command = SDM_CMD_RUN, .max = 2}};
    sdm_options_default(&f->opt);
    f->line.sets[0] = (SdmOptionSet){.table = sdm_option_table, .opts = &f->opt};
    return sdm_open(&f->ctx, NULL) == SDM_OK ? 0 : -1;
}

FIXTURE(teardown)
{
    sdm_close(&f->ctx);
    return 0;
}

/* Parse "a b c", split at blanks; "~" stands for an empty word.  The words live until the next call. */
static SdmStatus parse(const char *text)
{
    static char buffer[4096], command[] = "run";
    char *words[MAX_WORDS], *rest = NULL;
    int count = 0;
    snprintf(buffer, sizeof buffer, "%s", text);
    words[count++] = command;
    for (char *w = strtok_r(buffer, " ", &rest); w && count < MAX_WORDS; w = strtok_r(NULL, " ", &rest)) {
        if (strcmp(w, "~") == 0)
            *w = '\0';
        words[count++] = w;
    }
    sdm_options_default(&f->opt);
    return sdm_options_parse(f->ctx, &f->line, count, words);
}

/* The line is refused with a sentence that has `part` in it. */
static void refused(const char *text, const char *part)
{
    const SdmStatus st = parse(text);
    if (st != SDM_ERR_USAGE)
        fail_msg("'%s' gave status %d", text, (int)st);
    if (!strstr(sdm_error(f->ctx), part))
        fail_msg("'%s' gave \"%s\" without \"%s\"", text, sdm_error(f->ctx), part);
    assert_null(strchr(sdm_error(f->ctx), '\n'));
}

TEST_WITH(test_values, setup, teardown)
{
    assert_int_equal(parse("-o d.tif --tr=12.5 left --threads 3 --memory 1.5G --vertical egm2008 --hmin -10 "
                           "--overwrite --cost census --co A=1 --co B=2=3 right"),
                     SDM_OK);
    assert_string_equal(f->opt.output, "d.tif");
    assert_true(f->opt.tr == 12.5 && f->opt.hmin_m == -10.0 && isnan(f->opt.hmax_m));
    assert_int_equal(f->opt.threads, 3);
    assert_true(f->opt.memory_bytes == INT64_C(1610612736));
    assert_int_equal(f->opt.vertical, SDM_EGM2008);
    assert_true(f->opt.overwrite && !f->opt.quiet);
    assert_string_equal(f->opt.cost, "census");
    assert_string_equal(f->opt.co[0], "A=1");
    assert_string_equal(f->opt.co[1], "B=2=3");
    assert_null(f->opt.co[2]);
    assert_int_equal(f->line.count, 2);
    assert_string_equal(f->line.positional[0], "left");
    assert_string_equal(f->line.positional[1], "right");
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_OK);
}

TEST_WITH(test_sizes, setup, teardown)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"--memory 67108864", 67108864}, {"--memory 64M", 67108864},
                {"--memory 64m", 67108864},      {"--memory 65536K", 67108864},
                {"--memory 1T", 1099511627776},  {"--memory 2GiB", 2147483648},
                {"--memory 2GB", 2147483648},    {"--memory 0.5G", 536870912}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(parse(good[i].text), SDM_OK);
        assert_true(f->opt.memory_bytes == good[i].bytes);
    }
    static const char *const bad[] = {"63M", "2",   "-2G",   "2X",   "G",         "2GG",
                                      "nan", "inf", "1e300", "9e18", "0x80000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        snprintf(text, sizeof text, "--memory %s", bad[i]);
        refused(text, "expected a size of at least 64M");
        assert_non_null(strstr(sdm_error(f->ctx), bad[i]));
    }
}

TEST_WITH(test_numbers_refused, setup, teardown)
{
    static const char *const bad[] = {"-5",  "nan", "NaN",  "x",   "0",   "inf",
                                      "1e9", "3m",  "0x10", "1,5", "--5", "."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        snprintf(text, sizeof text, "--tr %s", bad[i]);
        refused(text, "expected a number from 1e-06 to 100000");
    }
    refused("--tr ~", "--tr: found ''");
    refused("--tr=", "--tr: found ''");
    refused("--threads 0", "--threads: found '0', expected a whole number from 1 to 1024");
    refused("--threads 1025", "from 1 to 1024");
    refused("--threads 1.5", "whole number");
    refused("--threads 99999999999999999999", "whole number");
    refused("--tile 63", "from 64 to 65536");
    refused("--tile 65537", "from 64 to 65536");
    assert_int_equal(parse("--tile 64 --threads 1024"), SDM_OK);
}

TEST_WITH(test_words_refused, setup, teardown)
{
    refused("--cost zncd", "--cost: found 'zncd', expected one of auto, zncc, census");
    refused("--cost z", "one of auto, zncc");
    refused("--cost ~", "--cost: found ''");
    refused("--cost zncc|census", "one of auto, zncc");
    refused("--vertical 1", "one of ellipsoid, egm96, egm2008");
    refused("--co COMPRESS", "--co: found 'COMPRESS', expected NAME=VALUE");
    refused("--config =1", "expected NAME=VALUE");
    refused("-o ~", "--output: found '', expected a text that is not empty");
}

TEST_WITH(test_lines_refused, setup, teardown)
{
    refused("--outptu x", "unknown option --outptu, did you mean --output?");
    refused("-tr 5", "did you mean --tr?");
    refused("--t-srs=EPSG:4326", "did you mean --t_srs?");
    refused("--ref x", "did you mean --reference?");
    refused("--out x", "did you mean --output?");
    refused("--resolution 5", "did you mean --tr?");
    refused("--res 5", "did you mean --tr?");
    refused("--roi 1 2 3 4", "did you mean --bounds?");
    refused("--t_projwin 1 2 3 4", "did you mean --bounds?");
    refused("--cutline x", "did you mean --area?");
    refused("--reference_vertical egm96", "did you mean --reference-vertical?");
    refused("--EPSG 5", "unknown option --EPSG;");
    refused("--mem 2G", "did you mean --memory?");
    refused("--nothinglikeit", "unknown option --nothinglikeit; stereodem run --help lists all");
    refused("-x", "unknown option -x");
    refused("-o", "--output: needs a value FILE, found none");
    refused("-o --tr 5", "--output: needs a value FILE, found the option --tr");
    refused("--tr 5 a --tr 5", "--tr: given twice");
    refused("-o a --output b", "--output: given twice");
    refused("--quiet --quiet", "--quiet: given twice");
    refused("--quiet=yes", "--quiet: found the value 'yes', expected none");
    refused("a b c", "unexpected argument 'c'; run takes at most 2");
    refused("~", "an argument is empty");
    f->line.command = SDM_CMD_INFO;
    refused("--overwrite", "unknown option --overwrite");
}

TEST_WITH(test_ends, setup, teardown)
{
    assert_int_equal(parse("-- --tr -5"), SDM_OK);
    assert_int_equal(f->line.count, 2);
    assert_string_equal(f->line.positional[0], "--tr");
    assert_int_equal(parse("--tr 5 --help --rubbish"), SDM_OK);
    assert_true(f->line.help);
    assert_int_equal(parse("-"), SDM_OK); /* a name like any other */
    assert_false(f->line.help);
    assert_int_equal(f->line.count, 1);
    assert_int_equal(parse("-o=--tr"), SDM_OK);
    assert_string_equal(f->opt.output, "--tr");
}

TEST_WITH(test_pairs_limit, setup, teardown)
{
    char text[1024] = "";
    for (int i = 0; i < SDM_MAX_KEY_VALUES; i++)
        strcat(text, "--co A=1 ");
    assert_int_equal(parse(text), SDM_OK);
    assert_null(f->opt.co[SDM_MAX_KEY_VALUES]);
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_OK);
    strcat(text, "--co A=1");
    refused(text, "--co: given more than 32 times");
}

/* Set one field, expect the check to name it. */
#define CHECK_REFUSES(field, value, part)                                                                    \
    do {                                                                                                     \
        sdm_options_default(&f->opt);                                                                        \
        f->opt.field = (value);                                                                              \
        assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_ERR_USAGE);                                 \
        if (!strstr(sdm_error(f->ctx), part))                                                                \
            fail_msg("%s = %s gave \"%s\"", #field, #value, sdm_error(f->ctx));                              \
    } while (0)

TEST_WITH(test_check, setup, teardown)
{
    sdm_options_default(&f->opt);
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_OK);
    CHECK_REFUSES(tr, NAN, "--tr");
    CHECK_REFUSES(tr, -30.0, "--tr: found '-30'");
    CHECK_REFUSES(tr, (double)INFINITY, "--tr");
    CHECK_REFUSES(hmin_m, (double)-INFINITY, "--hmin");
    CHECK_REFUSES(hmax_m, 1e5, "--hmax: found '100000'");
    CHECK_REFUSES(base_height, 0.0, "--base-height");
    CHECK_REFUSES(threads, -1, "--threads: found '-1'");
    CHECK_REFUSES(tile, 1, "--tile");
    CHECK_REFUSES(band, -1, "--band");
    CHECK_REFUSES(memory_bytes, 0, "--memory");
    CHECK_REFUSES(memory_bytes, -1, "--memory");
    CHECK_REFUSES(vertical, 3, "--vertical: found '3'");
    CHECK_REFUSES(vertical, -1, "--vertical");
    CHECK_REFUSES(cost, NULL, "--cost");
    CHECK_REFUSES(log, "xml", "--log: found 'xml', expected one of text, json");
    CHECK_REFUSES(output, "", "--output");
    CHECK_REFUSES(co[0], "X", "--co");
    CHECK_REFUSES(config[0], "=", "--config");
}

TEST_WITH(test_check_together, setup, teardown)
{
    sdm_options_default(&f->opt);
    f->opt.hmin_m = 100.0;
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_OK);
    f->opt.hmax_m = 100.0;
    assert_refused(f->ctx, sdm_options_check(f->ctx, &f->opt), SDM_ERR_USAGE, "--hmin: found 100 m");
    f->opt.hmax_m = 100.5;
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_OK);
    f->opt.quiet = f->opt.verbose = true;
    assert_int_equal(sdm_options_check(f->ctx, &f->opt), SDM_ERR_USAGE);
}

/* Every option has a help text, a default in words, a metavar unless it is a switch, and sane limits. */
TEST(test_table)
{
    int count = 0;
    for (const SdmOptionSpec *spec = sdm_option_table; spec->name; spec++, count++) {
        assert_true(strncmp(spec->name, "--", 2) == 0);
        assert_non_null(spec->help);
        assert_non_null(spec->fallback);
        assert_true((spec->type == SDM_OPT_BOOL) == (spec->metavar == NULL));
        assert_true(spec->commands != 0);
        if (spec->type == SDM_OPT_INT || spec->type == SDM_OPT_REAL || spec->type == SDM_OPT_BYTES)
            assert_true(spec->lo < spec->hi);
        if (spec->type == SDM_OPT_CHOICE || spec->type == SDM_OPT_ENUM)
            assert_non_null(spec->choices);
        for (const SdmOptionSpec *other = sdm_option_table; other < spec; other++)
            if (other->commands & spec->commands & 0xffff) /* a command has one option of a name */
                assert_string_not_equal(other->name, spec->name);
    }
    assert_in_range(count, 1, 64);
}

TEST(test_secrets)
{
    static const char *const texts[][2] = {
        {"/vsicurl/https://me:pass@host:8/a.tif", "/vsicurl/https://***@host:8/a.tif"},
        {"https://host/a@b.tif?x=1&X-Amz-Signature=af31&y=2",
         "https://host/a@b.tif?x=1&X-Amz-Signature=***&y=2"},
        {"/vsicurl?url=https%3A%2F%2Fh%2Fa%3Fsig%3Dabcd", "/vsicurl?url=https%3A%2F%2Fh%2Fa%3Fsig%3D***"},
        {"sent 'Authorization: Bearer abcd' to host", "sent 'Authorization: ***' to host"},
        {"--config AWS_SECRET_ACCESS_KEY=abcd --tr 3", "--config AWS_SECRET_ACCESS_KEY=*** --tr 3"},
        {"GDAL_HTTP_HEADER_FILE=h.txt AWS_NO_SIGN_REQUEST=YES",
         "GDAL_HTTP_HEADER_FILE=h.txt AWS_NO_SIGN_REQUEST=YES"},
        {"KEY[\"a\"] = 3; the key: x; config=1", "KEY[\"a\"] = 3; the key: x; config=1"},
        {"sig=a password=", "sig=* password="},
        {"password='x y' and more", "password='***' and more"},
        {"{\"token\": \"x \\\"y\", \"tr\": 3}", "{\"token\": \"***\", \"tr\": 3}"},
        {"{'api_key' : 'abc'}", "{'api_key' : '***'}"},
        {"--config 'GDAL_HTTP_USERPWD=me:two words' -q", "--config 'GDAL_HTTP_USERPWD=***' -q"},
        {"GDAL_HTTP_HEADERS=\"Authorization: Bearer ab cd\" -q", "GDAL_HTTP_HEADERS=\"***\" -q"},
        {"the 'token': 'a.tif'; \"tr\": \"30\"", "the 'token': '***'; \"tr\": \"30\""}};
    char text[200];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text, "%s", texts[i][0]);
        sdm_hide_secrets(text, false);
        assert_string_equal(text, texts[i][1]);
    }
    snprintf(text, sizeof text, "GDAL_HTTP_USERPWD=me:two words");
    sdm_hide_secrets(text, true);
    assert_string_equal(text, "GDAL_HTTP_USERPWD=***");
}

RUN_TESTS(NULL, NULL)
