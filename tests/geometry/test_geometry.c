/* Geometry cases as text: every tests/geometry/NAME.txt, read line by line and held against the cameras.
 *
 *   # comment
 *   scene file PATH [PATH]         a scene or pair, PATH from the source folder; skipped when it is not there
 *   scene tables BASE              ASTER text tables without images: BASE.VNIR_Band3N.LatticePoint.txt ...
 *   scene rpc NAME                 a camera of its own: set KEY VALUE, or, for coefficients,
 *                                  set KEY FROM_INDEX VALUES
 *   scene parallel CRS SHIFT g0 .. g5      map CRS, metres of image shift per metre of height, GDAL's
 *                                  geotransform
 *   view left|right                which camera the next lines are about (default left)
 *   tolerance METRES m PIXELS px   of locate and of project; also of the way back through the other function
 *   locate COL ROW HEIGHT -> LON LAT | nowhere
 *   project LON LAT HEIGHT -> COL ROW | nowhere
 *
 * Pixels count from the centre of the first one, degrees are geodetic on WGS 84, heights are metres
 * above it. */
// SPDX-License-Identifier: Apache-2.0
#include "../unit/reading.h"
#include "input/camera.h"
#include "input/aster_files.h"

#include <glob.h>

#define PLACE SDM_SOURCE_DIR "/"
static const double BACK_PX = 0.001; /* what locate promises of the way back */

typedef struct Cases {
    SdmContext *ctx;
    const char *file;
    int line, done, failed;
    SdmScene *scene;
    SdmCamera *own[2]; /* cameras that are not a scene's */
    const SdmCamera *view[2];
    int side;
    bool absent; /* the scene is not at hand: its lines are passed over */
    SdmRpc rpc;
    bool rpc_open; /* lines `set` may still come */
    double tolerance_m, tolerance_px;
} Cases;

static void complain(Cases *c, const char *what, const char *text)
{
    print_message("%s:%d: %s: %s\n", c->file, c->line, what, text);
    c->failed++;
}

static void close_scene(Cases *c)
{
    sdm_scene_close(&c->scene);
    for (int k = 0; k < 2; k++) {
        sdm_camera_close(&c->own[k]);
        c->view[k] = NULL;
    }
    c->side = 0;
    c->absent = c->rpc_open = false;
}

static void open_file(Cases *c, const char *left, const char *right)
{
    char path[2][1100];
    snprintf(path[0], sizeof path[0], PLACE "%s", left);
    snprintf(path[1], sizeof path[1], PLACE "%s", right ? right : "");
    c->absent = !have(path[0]) || (right && !have(path[1]));
    if (c->absent) {
        print_message("%s: no %s, its cases are passed over\n", c->file, left);
        return;
    }
    if (sdm_scene_open(c->ctx, sdm_options(c->ctx), path[0], right ? path[1] : NULL, &c->scene) != SDM_OK) {
        complain(c, "scene", sdm_error(c->ctx));
        return;
    }
    for (int k = 0; k < 2; k++)
        c->view[k] = c->scene->view[k].camera;
}

static void open_tables(Cases *c, const char *base)
{
    static const char *const telescope[2] = {"3N", "3B"};
    char path[1100], first[1200];
    snprintf(path, sizeof path, PLACE "%s", base);
    snprintf(first, sizeof first, "%s.VNIR_Band3N.LatticePoint.txt", path);
    c->absent = !have(first);
    for (int k = 0; k < 2 && !c->absent; k++) {
        if (sdm_aster_open_tables(c->ctx, path, telescope[k], &c->own[k]) != SDM_OK)
            complain(c, "tables", sdm_error(c->ctx));
        c->view[k] = c->own[k];
    }
}

static void open_parallel(Cases *c, const char *text)
{
    char crs[64];
    SdmParallel in = {.wkt = crs};
    double *const g = in.geotransform;
    if (sscanf(text, "%63s %lf %lf %lf %lf %lf %lf %lf", crs, &in.shift, &g[0], &g[1], &g[2], &g[3], &g[4],
               &g[5]) != 8)
        complain(c, "expected CRS SHIFT and six numbers", text);
    else if (sdm_camera_open_parallel(c->ctx, "parallel", &in, &c->own[0]) != SDM_OK)
        complain(c, "parallel", sdm_error(c->ctx));
    c->view[0] = c->own[0];
}

static void open_scene(Cases *c, const char *text)
{
    char kind[16] = "", a[512] = "", b[512] = "";
    int n = 0;
    close_scene(c);
    const int found = sscanf(text, "%15s %n%511s %511s", kind, &n, a, b);
    if (strcmp(kind, "file") == 0 && found >= 2)
        open_file(c, a, found > 2 ? b : NULL);
    else if (strcmp(kind, "tables") == 0 && found == 2)
        open_tables(c, a);
    else if (strcmp(kind, "parallel") == 0)
        open_parallel(c, text + n);
    else if (strcmp(kind, "rpc") == 0 && found == 2)
        c->rpc_open = true;
    else
        complain(c, "no scene", text);
    if (c->rpc_open)
        c->rpc = (SdmRpc){0};
}

/* "LINE_OFF 4000.5" or "SAMP_NUM 5 a b c d e". */
static void set_rpc(Cases *c, const char *text)
{
    SdmRpc *const r = &c->rpc;
    const struct {
        const char *key;
        double *value;
        int count;
    } field[] = {{"LINE_OFF", &r->line_off, 1},     {"SAMP_OFF", &r->samp_off, 1},
                 {"LAT_OFF", &r->lat_off, 1},       {"LONG_OFF", &r->long_off, 1},
                 {"HEIGHT_OFF", &r->height_off, 1}, {"LINE_SCALE", &r->line_scale, 1},
                 {"SAMP_SCALE", &r->samp_scale, 1}, {"LAT_SCALE", &r->lat_scale, 1},
                 {"LONG_SCALE", &r->long_scale, 1}, {"HEIGHT_SCALE", &r->height_scale, 1},
                 {"LINE_NUM", r->line_num, 20},     {"LINE_DEN", r->line_den, 20},
                 {"SAMP_NUM", r->samp_num, 20},     {"SAMP_DEN", r->samp_den, 20}};
    char key[32];
    int from = 0, n = 0;
    if (sscanf(text, "%31s %n", key, &n) != 1)
        key[0] = '\0';
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        if (strcmp(key, field[i].key) != 0)
            continue;
        char *at = (char *)(uintptr_t)(text + n), *end = at;
        if (field[i].count > 1) {
            from = (int)strtol(at, &end, 10);
            at = end;
        }
        for (int k = from; k >= 0 && k < field[i].count; k++, at = end) {
            const double v = strtod(at, &end);
            if (end == at)
                break;
            field[i].value[k] = v;
        }
        if (at + strspn(at, " ") == strchr(at, '\0'))
            return;
    }
    complain(c, "expected KEY VALUE or KEY INDEX VALUES", text);
}

/* The camera of the view; an RPC of its own is made when its first case comes. */
static const SdmCamera *camera(Cases *c)
{
    if (c->rpc_open && sdm_camera_open_rpc(c->ctx, "made", &c->rpc, &c->own[0]) != SDM_OK)
        complain(c, "rpc", sdm_error(c->ctx));
    if (c->rpc_open)
        c->view[0] = c->own[0];
    c->rpc_open = false;
    return c->view[c->side];
}

/* Metres on the ground between two places that are near each other. */
static double apart_m(const double a[2], const double b[2])
{
    const double dlon = remainder(a[0] - b[0], 360.0) * cos(a[1] * SDM_DEG), dlat = a[1] - b[1];
    return hypot(dlon, dlat) * SDM_DEG * SDM_WGS84_A;
}

static void try_case(Cases *c, const char *text, bool locate)
{
    double in[3], want[2] = {NAN, NAN}, got[3], back[3];
    char word[16] = "";
    const int n = sscanf(text, "%lf %lf %lf -> %lf %lf", &in[0], &in[1], &in[2], &want[0], &want[1]);
    const bool nowhere =
        n == 3 && sscanf(text, "%*f %*f %*f -> %15s", word) == 1 && strcmp(word, "nowhere") == 0;
    if (n != 5 && !nowhere) {
        complain(c, "expected three numbers, ->, two numbers or nowhere", text);
        return;
    }
    const SdmCamera *const cam = c->absent ? NULL : camera(c);
    if (!cam) {
        c->failed += !c->absent;
        return;
    }
    (locate ? sdm_camera_locate : sdm_camera_project)(cam, 1, in, got);
    c->done++;
    if (nowhere) {
        if (isfinite(got[0]) || isfinite(got[1]))
            complain(c, "expected nowhere", text);
        return;
    }
    got[2] = in[2];
    (locate ? sdm_camera_project : sdm_camera_locate)(cam, 1, got, back);
    const double miss = locate ? apart_m(got, want) : hypot(got[0] - want[0], got[1] - want[1]);
    const double round_px = locate ? hypot(back[0] - in[0], back[1] - in[1]) : 0.0;
    const double round_m = locate ? 0.0 : apart_m(back, in);
    if (!(miss <= (locate ? c->tolerance_m : c->tolerance_px)) || !(round_px <= BACK_PX) ||
        !(round_m <= c->tolerance_m)) {
        char found[160];
        snprintf(found, sizeof found, "found %.10f %.10f, off by %.6f %s, back off by %.6f px, %.6f m",
                 got[0], got[1], miss, locate ? "m" : "px", round_px, round_m);
        complain(c, found, text);
    }
}

static void take_line(Cases *c, char *text)
{
    char word[16] = "", side[8] = "";
    int n = 0;
    text[strcspn(text, "#\r\n")] = '\0';
    if (sscanf(text, "%15s %n", word, &n) != 1)
        return;
    const char *const rest = text + n;
    if (strcmp(word, "scene") == 0)
        open_scene(c, rest);
    else if (strcmp(word, "set") == 0 && c->rpc_open)
        set_rpc(c, rest);
    else if (strcmp(word, "view") == 0 && sscanf(rest, "%7s", side) == 1)
        c->side = strcmp(side, "right") == 0;
    else if (strcmp(word, "tolerance") == 0 &&
             sscanf(rest, "%lf m %lf px", &c->tolerance_m, &c->tolerance_px) == 2)
        return;
    else if (strcmp(word, "locate") == 0 || strcmp(word, "project") == 0)
        try_case(c, rest, *word == 'l');
    else
        complain(c, "not understood", text);
}

static void read_cases(Cases *c, const char *path)
{
    char text[1024];
    FILE *const f = fopen(path, "r");
    assert_non_null(f);
    c->file = strrchr(path, '/') + 1;
    c->line = 0;
    c->tolerance_m = c->tolerance_px = 0.0;
    const int before = c->done;
    while (fgets(text, sizeof text, f)) {
        c->line++;
        take_line(c, text);
    }
    fclose(f);
    print_message("%s: %d cases\n", c->file, c->done - before);
    close_scene(c);
}

TEST(every_file)
{
    glob_t files;
    Cases c = {.ctx = default_context()};
    assert_int_equal(glob(SDM_SOURCE_DIR "/tests/geometry/*.txt", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        read_cases(&c, files.gl_pathv[i]);
    globfree(&files);
    assert_int_equal(c.failed, 0);
    assert_true(c.done > 80); /* those that need nothing but this tree */
    sdm_close(&c.ctx);
}

RUN_TESTS(NULL, NULL)
