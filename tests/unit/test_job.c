/* The parts of a job: its plan as structs and as text, its files, its leases. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "job/job.h"
#include "tests/folder.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define SAMPLE SDM_SOURCE_DIR "/sampledata/AST_L1A_00401012001180005_sim.hdf"
/* ---- options ---- */

/* Each option of a plan changes blocks, or products, or is listed here: a new one must be thought about. */
TEST(every_option_says_what_it_changes)
{
    static const char *const nothing[] = {"--device", "--threads", "--memory", "--tile",   "--overwrite",
                                          "--quiet",  "--verbose", "--log",    "--options"};
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        bool listed = !(o->commands & SDM_CMD_PLAN);
        for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
            listed = listed || strcmp(nothing[i], o->name) == 0;
        const bool flagged = (o->commands & (SDM_CHANGES_BLOCKS | SDM_CHANGES_PRODUCTS)) != 0;
        if (listed == flagged)
            fail_msg("%s", o->name);
    }
}

/* ---- the plan ---- */

static void same_text(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    if (a[n] != b[n])
        fail_msg("from byte %zu: '%.60s' and '%.60s'", n, a + n, b + n);
}

static SdmStatus plan_sample(SdmContext *ctx, const SdmOptions *options, SdmPlan **out)
{
    static const SdmPlanInput input[2] = {{SAMPLE, NULL}, {SAMPLE ".none", NULL}};
    return sdm_plan_make(
        ctx, &(SdmPlanSource){.options = options, .folder = folder, .input = input, .count = 2}, out);
}

TEST_CTX(a_plan_comes_back_from_its_text)
{
    SdmOptions options = default_options();
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL, *again = NULL;
    SDM_OWNED char *text = NULL, *text_again = NULL;
    options.tile = 64;
    options.tr = 1.0 / 3.0 + 10.0;
    options.hmin_m = -0.1;
    options.dem = SDM_SOURCE_DIR "/sampledata/truth.tif";
    options.vertical = SDM_EGM96;
    options.co[0] = "COMPRESS=ZSTD";
    options.config[0] = "GDAL_NUM_THREADS=1";
    assert_int_equal(plan_sample(ctx, &options, &plan), SDM_OK);
    assert_int_equal(sdm_plan_print(ctx, plan, &text), SDM_OK);
    assert_int_equal(sdm_plan_parse(ctx, "plan.json", text, strlen(text), &again), SDM_OK);
    assert_int_equal(sdm_plan_print(ctx, again, &text_again), SDM_OK);
    same_text(text, text_again);
    assert_int_equal(again->units, plan->units);
    assert_non_null(again->scene[1].error);
    const SdmPlanScene *const a = &plan->scene[0], *const b = &again->scene[0];
    assert_true(a->tiled && a->tile_count > 1 && a->unit_count == a->tile_count + 1);
    assert_int_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->product_fingerprint, b->product_fingerprint);
    for (int64_t unit = 0; unit < plan->units; unit++)
        assert_int_equal(sdm_plan_unit_fingerprint(a, unit), sdm_plan_unit_fingerprint(b, unit));
    assert_memory_equal(a->tile, b->tile, (size_t)a->tile_count * sizeof *a->tile);
    assert_memory_equal(a->tiles_end, b->tiles_end, sizeof a->tiles_end);
    assert_int_equal(a->file[0].mtime_us, b->file[0].mtime_us);
    assert_true(again->options.tr == options.tr && again->options.hmin_m == options.hmin_m);
    assert_string_equal(again->options.config[0], options.config[0]);
}

TEST_CTX(fingerprints_follow_the_options)
{
    SdmOptions options = default_options();
    SdmPlan *plan[4];
    for (int i = 0; i < 4; i++) {
        options.threads = i;
        options.vertical = i == 1 ? SDM_EGM96 : SDM_ELLIPSOID;
        options.config[0] = i == 2 ? "GDAL_NUM_THREADS=1" : NULL;
        options.cost = i == 3 ? "census" : "auto";
        assert_int_equal(plan_sample(ctx, &options, &plan[i]), SDM_OK);
    }
    const SdmPlanScene *const usual = &plan[0]->scene[0];
    assert_int_equal(plan[1]->scene[0].fingerprint, usual->fingerprint);
    assert_int_not_equal(plan[1]->scene[0].product_fingerprint, usual->product_fingerprint);
    assert_int_not_equal(plan[2]->scene[0].fingerprint, usual->fingerprint);
    assert_int_not_equal(plan[3]->scene[0].fingerprint, usual->fingerprint);
    for (int i = 0; i < 4; i++)
        sdm_plan_close(&plan[i]);
}

/* A budget that is too small is the scene's fault; a failed allocation ends the planning, whichever it is. */
TEST_CTX(planning_ends_when_memory_does)
{
    SdmOptions options = default_options();
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL;
    assert_int_equal(plan_sample(ctx, &options, &plan), SDM_OK); /* what is made once is there */
    sdm_plan_close(&plan);
    EACH_ALLOCATION_FAILS(plan_sample(ctx, &options, &plan), assert_true(made == SDM_OK || !plan), 10, 1);
    assert_null(plan->scene[0].error);
}

/* ---- unit files ---- */

enum {
    SIDE = 7,
    SUM = 8,
    FORMAT_AT = 8,
    BUILD_AT = 16,
    HEADER = 40 + 8 * (5 + SDM_USAGE_STAGES) + 64,
    BODY_AT = HEADER + SUM
};

static const SdmUnitName *name_of(const char *file, uint64_t fingerprint, SdmUnitKind kind)
{
    static SdmUnitName name;
    name = (SdmUnitName){.fingerprint = fingerprint, .kind = kind};
    snprintf(name.path, sizeof name.path, "%s", in_folder(file));
    return &name;
}

static void write_unit(SdmContext *ctx)
{
    SDM_CLOSED_BY(sdm_block_free) SdmBlock b = {0};
    const SdmUsage used = {.wall_s = 2.5, .stage_s = {[5] = 1.5}, .host = "here"};
    assert_int_equal(sdm_block_alloc(ctx, 3, 4, SIDE, SIDE, &b), SDM_OK);
    for (int i = 0; i < SIDE * SIDE; i++) {
        b.height_m[i] = (float)i;
        b.count[i] = (uint16_t)i;
    }
    assert_int_equal(sdm_unit_write(ctx, name_of("u", 77, SDM_UNIT_BLOCK), &b, &used, false, NULL), SDM_OK);
}

static void put_sum(unsigned char *to, uint64_t sum)
{
    for (int i = 0; i < SUM; i++)
        to[i] = (unsigned char)(sum >> 8 * i);
}

/* The checksum of the block: of its struct, five arrays of floats and two of whole numbers. */
static uint64_t sum_block(const unsigned char *body)
{
    uint64_t sum = sdm_hash(0, body, sizeof(SdmBlock));
    body += sizeof(SdmBlock);
    for (int i = 0; i < 7; i++) {
        const size_t n = SIDE * SIDE * (i < 5 ? sizeof(float) : sizeof(uint16_t));
        sum = sdm_hash(sum, body, n);
        body += n;
    }
    return sum;
}

/* Both ways of reading refuse what lies there, with a sentence that holds `why`. */
static void refused(SdmContext *ctx, const char *why)
{
    SdmBlock b = {0};
    assert_int_equal(sdm_unit_read(ctx, name_of("u", 77, SDM_UNIT_BLOCK), &b, NULL), SDM_ERR_INPUT);
    if (!strstr(sdm_error(ctx), why))
        fail_msg("%s", sdm_error(ctx));
    assert_null(b.height_m);
}

TEST_CTX(a_block_comes_back)
{
    SdmBlock b = {0};
    SdmUsage used;
    write_unit(ctx);
    assert_int_equal(sdm_unit_read(ctx, name_of("u", 77, SDM_UNIT_BLOCK), &b, &used), SDM_OK);
    assert_true(b.col0 == 3 && b.row0 == 4 && b.w == SIDE && b.h == SIDE && used.stage_s[5] == 1.5);
    assert_true(used.wall_s == 2.5 && strcmp(used.host, "here") == 0);
    assert_true(b.height_m[SIDE] == (float)SIDE && b.count[SIDE] == SIDE);
    sdm_block_free(&b);
    assert_int_equal(sdm_unit_check(ctx, name_of("u", 77, SDM_UNIT_BLOCK)), SDM_OK);
    assert_true(sdm_unit_peek(name_of("u", 77, SDM_UNIT_BLOCK), &used));
    assert_false(sdm_unit_peek(name_of("u", 78, SDM_UNIT_BLOCK), &used));
    assert_false(sdm_unit_peek(name_of("u", 77, SDM_UNIT_PREPARED), &used));
    assert_refused(ctx, sdm_unit_check(ctx, name_of("u", 78, SDM_UNIT_BLOCK)), SDM_ERR_INPUT,
                   "other inputs or options");
}

/* Other format, other build: refused by the header, though all sums are right. */
TEST_CTX(other_programs_are_told_apart)
{
    const struct {
        int at;
        const char *why;
    } cases[] = {{FORMAT_AT, "has format 8"}, {BUILD_AT, "another build"}};
    for (int i = 0; i < 2; i++) {
        write_unit(ctx);
        size_t n;
        FREED unsigned char *const bytes = read_all("u", &n);
        bytes[cases[i].at] ^= 1;
        put_bytes("u", bytes, n);
        refused(ctx, "does not begin");
        put_sum(bytes + HEADER, sdm_hash(0, bytes, HEADER));
        put_bytes("u", bytes, n);
        refused(ctx, cases[i].why);
        assert_int_equal(sdm_unit_check(ctx, name_of("u", 77, SDM_UNIT_BLOCK)), SDM_ERR_INPUT);
    }
}

/* Sizes that do not fit are found before memory is taken for them, though all sums are right. */
TEST_CTX(big_values_are_refused)
{
    static const int64_t value[] = {-1, SIDE + 1, INT32_MAX, INT64_MAX, INT64_MIN, INT64_C(1) << 33};
    for (size_t i = 0; i < 4 * sizeof value / sizeof *value; i++) {
        write_unit(ctx);
        size_t n, field = i % 4;
        FREED unsigned char *const bytes = read_all("u", &n);
        for (int k = 0; k < 8; k++)
            bytes[BODY_AT + 8 * field + (size_t)k] = (unsigned char)((uint64_t)value[i / 4] >> 8 * k);
        put_sum(bytes + n - SUM, sum_block(bytes + BODY_AT));
        put_bytes("u", bytes, n);
        if (field < 2 && value[i / 4] >= 0 && value[i / 4] <= INT32_MAX)
            continue; /* a place, not a size */
        refused(ctx, "a value in it cannot be");
    }
}

/* What a prepared scene holds comes back; what is not stored is NULL. */
TEST_CTX(a_prepared_scene_comes_back)
{
    const SdmWindow win = {.level = 3, .u0 = -2, .v0 = 5, .w = SIDE, .h = SIDE};
    float height[SIDE * SIDE] = {[3] = 42.0f}, terrain[SIDE * SIDE] = {[4] = 1.0f};
    uint16_t away[SIDE * SIDE] = {[5] = 65535}, flags[SIDE * SIDE] = {1};
    double profile[3] = {0.0, 0.5, -0.25};
    SdmPointSample sample[2] = {{.col = 7.0f}, {.corrected_px = -1.0f}};
    float by_row[2] = {0.25f, -0.5f};
    uint8_t changed[6] = {[2] = 1};
    SdmPrepared back,
        p = {.frame = {.width = 16, .height = 32, .du_dh = -0.04, .across = {0.0, 1.0}},
             .radiometry[1] = {.saturated_at = INFINITY, .fill = {NAN, 3.0f}},
             .settings = {.cost_name = "census", .coarse_level = 3, .coarsest_level = 5},
             .pointing = {.degree = 1,
                          .terms = 3,
                          .coef = {[2] = 1e-3},
                          .profile_count = 3,
                          .profile_step_px = 4,
                          .profile_px = profile},
             .along = {.east_m = 7.0,
                       .degree = 1,
                       .coef = {[1] = 0.5},
                       .waves = {0, 1},
                       .wave[1][0] = {0.003, 0.1, -0.2}},
             .reference = {.state = SDM_REFERENCE_FITTED,
                           .reason = "none",
                           .masked = 0.25,
                           .shift_m = {7.0, -5.0, 3.0},
                           .bins[1] = {.count = 2, .step_px = 16.0, .value_px = by_row},
                           .grid = {.wkt = "LOCAL_CS[]", .spacing = 480.0, .cols = 3, .rows = 2},
                           .left_out = changed},
             .points = {.rounds = 1, .round[0] = {.matches = 9, .samples = sample, .sample_count = 2}},
             .coarse = {.win = win, .h_m = height, .flags = flags},
             .terrain = {.win = win, .h_m = terrain, .distance_px = away},
             .lattice_error_px = NAN,
             .grid = {.wkt = "LOCAL_CS[]", .spacing = 30.0, .cols = 5, .rows = 6, .geographic = true}};
    assert_int_equal(sdm_unit_write(ctx, name_of("p", 5, SDM_UNIT_PREPARED), &p, NULL, false, NULL), SDM_OK);
    assert_int_equal(sdm_unit_read(ctx, name_of("p", 5, SDM_UNIT_PREPARED), &back, NULL), SDM_OK);
    assert_memory_equal(&back.frame, &p.frame, sizeof p.frame);
    assert_memory_equal(&back.along, &p.along, sizeof p.along);
    assert_true(!back.coarse.score && !back.settings.kernels && !back.coarse.extent);
    size_t n[2]; /* all else, where it is written again */
    FREED char *const written = read_all("p", &n[0]);
    assert_true(n[0] > 20 * SIDE * SIDE); /* arrays, too */
    assert_int_equal(sdm_unit_write(ctx, name_of("p", 5, SDM_UNIT_PREPARED), &back, NULL, false, NULL),
                     SDM_OK);
    FREED char *const again = read_all("p", &n[1]);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(written, again, n[0]);
    sdm_prepared_free(&back);
    for (int k = 0; k < 2; k++) {
        p.reference.left_out = k ? changed : NULL; /* which products need */
        p.settings.coarse_level = k ? 2 : 3;       /* not that of the surface */
        assert_int_equal(sdm_unit_write(ctx, name_of("p", 5, SDM_UNIT_PREPARED), &p, NULL, false, NULL),
                         SDM_OK);
        assert_int_equal(sdm_unit_read(ctx, name_of("p", 5, SDM_UNIT_PREPARED), &back, NULL), SDM_ERR_INPUT);
    }
}

/* The record of a product comes back, also to another build. */
TEST_CTX(a_record_comes_back)
{
    SdmDoubt doubt[SDM_MAX_WARNINGS] = {{.text = "a doubt"}};
    SdmInputFile file = {.path = "left.tif", .size_bytes = 7, .mtime_s = -1};
    SdmUsage unit[2] = {{.wall_s = 1.0, .host = "a"}, {.wall_s = 2.0, .host = "b"}};
    SdmProductRecord back, r = {.result = {.cols = 3,
                                           .spacing = 30.0,
                                           .tie_points = NAN,
                                           .doubt = doubt,
                                           .doubts = 1,
                                           .file = &file,
                                           .files = 1},
                                .dem_bytes = 9,
                                .dem_hash = UINT64_MAX - 1,
                                .unit = unit,
                                .units = 2};
    assert_int_equal(sdm_unit_write(ctx, name_of("u", 5, SDM_UNIT_RECORD), &r, NULL, false, NULL), SDM_OK);
    size_t n;
    FREED unsigned char *const bytes = read_all("u", &n);
    bytes[BUILD_AT] ^= 1;
    put_sum(bytes + HEADER, sdm_hash(0, bytes, HEADER));
    put_bytes("u", bytes, n);
    assert_int_equal(sdm_unit_read(ctx, name_of("u", 5, SDM_UNIT_RECORD), &back, NULL), SDM_OK);
    assert_true(back.result.known && back.result.cols == 3 && isnan(back.result.tie_points));
    assert_string_equal(back.result.doubt[0].text, "a doubt");
    assert_true(strcmp(back.result.file[0].path, "left.tif") == 0 && back.result.file[0].mtime_s == -1);
    assert_true(back.dem_bytes == 9 && back.dem_hash == UINT64_MAX - 1 && back.units == 2);
    assert_true(back.unit[1].wall_s == 2.0 && strcmp(back.unit[1].host, "b") == 0);
    sdm_product_record_free(&back);
    for (size_t at = 0; at < n; at++) { /* each cut is found */
        put_bytes("u", bytes, at);
        assert_int_equal(sdm_unit_read(ctx, name_of("u", 5, SDM_UNIT_RECORD), &back, NULL), SDM_ERR_INPUT);
    }
}

/* ---- leases ---- */

/* A process that has ended holds nothing, though nobody has waited for it yet. */
TEST_CTX(a_zombie_holds_nothing)
{
    SdmLease *l = NULL;
    siginfo_t info;
    const pid_t child = fork();
    if (child == 0)
        _exit(sdm_lease_take_output(ctx, in_folder("z.tif"), &l) == SDM_OK ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, 0);
    assert_int_equal(sdm_lease_take_output(ctx, in_folder("z.tif"), &l), SDM_OK);
    sdm_lease_release(&l);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

FIXTURE(close_folder) /* nothing else is left in it */
{
    remove(in_folder("u"));
    remove(in_folder("p"));
    return rmdir(folder);
}

RUN_TESTS(make_folder, close_folder)
