/* Simulated pairs held against a naive reading of what they say about themselves: rays are built from the
 * text tables as a user would (P, V, sight vector, lattice), RPC are read by GDAL, and image content is
 * compared between the views.  Nothing of lab/simulate is called but sdm_simulate(). */
// SPDX-License-Identifier: Apache-2.0
#include "naive_reading.h"

#include "core/stats.h"

/* Mean shift (columns, rows) of the right image's content against the position that tables and truth predict:
 * one least-squares step with the right image's gradient.  @return correlation of the two images. */
static double content_shift(const World *w, const Band *l, const Band *r, double shift[2])
{
    double a = 0, b = 0, c = 0, p = 0, q = 0, n = 0, sl = 0, sr = 0, ll = 0, rr = 0, lr = 0;
    for (int row = 12; row < l->image.ny - 12; row += 5)
        for (int col = 12; col < l->image.nx - 12; col += 5) {
            double at[2];
            transfer(w, l, r, col, row, at);
            at[0] += shift[0];
            at[1] += shift[1];
            if (!(at[0] > 3 && at[1] > 3 && at[0] < r->image.nx - 4 && at[1] < r->image.ny - 4))
                continue;
            const double u = (double)l->image.v[row * l->image.nx + col],
                         v = (double)cubic_at(&r->image, at[0], at[1]);
            const double gx =
                0.5 * (double)(cubic_at(&r->image, at[0] + 1, at[1]) - cubic_at(&r->image, at[0] - 1, at[1]));
            const double gy =
                0.5 * (double)(cubic_at(&r->image, at[0], at[1] + 1) - cubic_at(&r->image, at[0], at[1] - 1));
            a += gx * gx, b += gx * gy, c += gy * gy, p += gx * (u - v), q += gy * (u - v);
            n++, sl += u, sr += v, ll += u * u, rr += v * v, lr += u * v;
        }
    assert_true(n > 500);
    shift[0] += (c * p - b * q) / (a * c - b * b);
    shift[1] += (a * q - b * p) / (a * c - b * b);
    return (n * lr - sl * sr) / sqrt((n * ll - sl * sl) * (n * rr - sr * sr));
}

static void check_pair(const char *dir, double across, double along)
{
    BAND l = read_band(dir, 0);
    BAND r = read_band(dir, 1);
    WORLD w = open_world(dir);
    double shift[2] = {across, along};
    content_shift(&w, &l, &r, shift);
    const double corr = content_shift(&w, &l, &r, shift);
    print_message("%s: content %.4f %.4f px from where it should be, correlation %.4f\n", dir,
                  shift[0] - across, shift[1] - along, corr);
    assert_true(corr > 0.97);
    assert_true(fabs(shift[0] - across) < 0.02 && fabs(shift[1] - along) < 0.02);
}

/* The middle pixels of both views look at a ground point, from an orbit of ASTER's speed. */
static void check_centres(const char *dir, double lon_deg, double lat_deg, double h)
{
    for (int v = 0; v < 2; v++) {
        BAND b = read_band(dir, v);
        double lon, lat;
        hit(&b, 0.5 * (b.image.nx - 1), 0.5 * (b.image.ny - 1), h, &lon, &lat);
        assert_true(apart_m(lon_deg, lat_deg, lon, lat) < 0.3);
        assert_true(fabs(sqrt(sdm_dot3(b.v[0], b.v[0])) - 7502.0) < 10.0);
    }
}

TEST(test_centre_and_plane)
{
    const double azimuth[3] = {190.0, 10.0, 280.0};
    for (int k = 0; k < 3; k++) {
        SdmSimulateOptions opt = small();
        char dir[16];
        snprintf(dir, sizeof dir, "plane%d", k);
        opt.shape = "plane";
        opt.slope_deg = 25.0;
        opt.slope_azimuth_deg = azimuth[k];
        opt.roll_deg = 4.0 - 4.0 * k;
        simulate_ok(dir, &opt);
        const double az = azimuth[k] * PI / 180.0, t = tan(25.0 * PI / 180.0);
        const double h = 300.0 + 7.5 * t * (205 * fabs(sin(az)) + 210 * fabs(cos(az)));
        check_centres(dir, 10.3, 46.2, h);
        WORLD w = open_world(dir);
        assert_true(fabs(world_height(&w, 10.3, 46.2) - h) < 0.01);
        const int nx = w.truth.nx;
        const float *const m =
            w.truth.v + w.truth.ny / 2 * nx + nx / 2; /* slopes, a cell east and a cell south */
        assert_true(fabs((double)(m[1] - m[0]) + 30.0 * t * sin(az)) < 0.01);
        assert_true(fabs((double)(m[nx] - m[0]) - 30.0 * t * cos(az)) < 0.01);
        check_pair(dir, 0.0, 0.0);
    }
}

TEST(test_fractal_and_errors)
{
    SdmSimulateOptions opt = small();
    opt.relief_m = 150.0;
    opt.striping = 1.0;
    simulate_ok("fractal", &opt);
    check_pair("fractal", 0.0, 0.0);
    opt.pointing_px[0] = 1.6;
    opt.pointing_px[1] = -0.4;
    simulate_ok("pointing", &opt);
    check_pair("pointing", -1.6, 0.4); /* what pixel c shows lies at c + 1.6 by the tables */
}

TEST(test_far_places)
{
    const double place[4][2] = {{20.0, 82.0}, {-70.0, -50.0}, {180.0, 10.0}, {-179.97, 60.0}};
    for (int k = 0; k < 4; k++) {
        SdmSimulateOptions opt = small();
        opt.lon_deg = place[k][0];
        opt.lat_deg = place[k][1];
        opt.shape = "flat";
        opt.with_rpc = true;
        opt.overwrite = true;
        simulate_ok("far", &opt);
        check_centres("far", place[k][0], place[k][1], 300.0);
    }
}

TEST(test_rpc_of_aster)
{
    SdmSimulateOptions opt = small();
    opt.lon_deg = 179.99;
    opt.lat_deg = -47.0;
    opt.with_rpc = true;
    simulate_ok("with_rpc", &opt);
    for (int v = 0; v < 2; v++) {
        char path[400];
        BAND b = read_band("with_rpc", v);
        double worst = 0.0;
        out_path(path, sizeof path, "with_rpc", v ? "right.tif" : "left.tif");
        GDALDatasetH ds = GDALOpen(path, GA_ReadOnly);
        for (int k = 0; k < 200; k++) {
            const double c = (k * 37) % b.image.nx, r = (k * 101) % b.image.ny, h = 200.0 + 5.0 * k;
            double lon, lat, col, row;
            hit(&b, c, r, h, &lon, &lat);
            project_rpc(ds, lon, lat, h, &col, &row);
            worst = fmax(worst, hypot(col - c, row - r));
        }
        print_message("RPC against tables: largest difference %.1e px\n", worst);
        assert_true(worst < 0.02);
        GDALClose(ds);
    }
}

static double mean_of(const char *dir, double *sigma)
{
    RASTER image = read_raster(dir, "left.tif");
    double sum = 0, sq = 0, n = image.count;
    for (int k = 0; k < image.count; k++)
        sum += (double)image.v[k], sq += (double)image.v[k] * (double)image.v[k];
    *sigma = sqrt(sq / n - sum / n * (sum / n));
    return sum / n;
}

TEST(test_rpc_layout)
{
    SdmSimulateOptions opt = small();
    opt.layout = "rpc";
    opt.gsd_m = 0.5;
    opt.relief_m = 30.0;
    opt.noise_dn = 1.0;
    opt.base_height = 0.3;
    simulate_ok("rpc", &opt);
    char path[400];
    for (int v = 0; v < 2; v++) {
        out_path(path, sizeof path, "rpc", v ? "right.tif" : "left.tif");
        GDALDatasetH ds = GDALOpen(path, GA_ReadOnly);
        double c0, r0, c1, r1;
        project_rpc(ds, 10.3, 46.2, 315.0, &c0, &r0);
        project_rpc(ds, 10.3, 46.2, 415.0, &c1, &r1);
        assert_true(fabs(c0 - 0.5 * (GDALGetRasterXSize(ds) - 1)) < 0.02);
        assert_true(fabs(r0 - 0.5 * (GDALGetRasterYSize(ds) - 1)) < 0.02);
        const double parallax_m = hypot(c1 - c0, r1 - r0) * 0.5; /* B/H x 100 m; nadir is geocentric */
        print_message("parallax of 100 m: %.3f m\n", parallax_m);
        assert_true(v ? fabs(parallax_m - 30.0) < 0.7 : parallax_m < 0.5);
        GDALClose(ds);
    }
    double sigma;
    const double mean = mean_of("rpc", &sigma);
    assert_true(mean > 550 && mean < 850 && sigma > 80 && sigma < 260); /* DN x 10 */
}

/* How many pixels of a raster differ between two scenes. */
static int count_changed(const char *a, const char *b, const char *file)
{
    int changed = 0;
    RASTER one = read_raster(a, file);
    RASTER other = read_raster(b, file);
    assert_true(one.nx == other.nx && one.ny == other.ny);
    for (int k = 0; k < one.count; k++)
        changed += one.v[k] != other.v[k];
    return changed;
}

TEST(test_error_seed)
{
    SdmSimulateOptions opt = small();
    opt.layout = "rpc";
    opt.noise_dn = 1.0;
    opt.jitter_px = 0.3;
    simulate_ok("seed_plain", &opt);
    opt.error_seed = 5;
    simulate_ok("seed_five", &opt);
    simulate_ok("seed_five_again", &opt);
    assert_int_equal(count_changed("seed_plain", "seed_five", "truth.tif"), 0); /* the ground is the same */
    assert_int_equal(count_changed("seed_five", "seed_five_again", "right.tif"), 0);
    assert_true(count_changed("seed_plain", "seed_five", "left.tif") > 1000); /* the scene is another */
    opt.noise_dn = 0.0;
    simulate_ok("phase_five", &opt);
    opt.error_seed = 6;
    simulate_ok("phase_six", &opt);
    assert_int_equal(count_changed("phase_five", "phase_six", "left.tif"), 0);
    assert_true(count_changed("phase_five", "phase_six", "right.tif") > 1000); /* jitter of another phase */
}

/* Sines of a list move the image of their view alone. */
TEST(test_jitter_lists)
{
    static const char *const bad[] = {"",
                                      "0.1",
                                      "0.1:",
                                      ":300",
                                      "0.1:300,",
                                      "11:300",
                                      "0.1:1",
                                      "nan:300",
                                      "0.1:300;0.2:90",
                                      "0.1:9,0.1:9,0.1:9,0.1:9,0.1:9,0.1:9,0.1:9,0.1:9,0.1:9"};
    SdmSimulateOptions opt = small();
    opt.with_rpc = true;
    simulate_ok("still", &opt);
    opt.jitter_left = "0.15:300,0.08:90";
    simulate_ok("left_shakes", &opt);
    assert_int_equal(count_changed("still", "left_shakes", "right.tif"), 0);
    assert_int_equal(count_changed("still", "left_shakes", "truth.tif"), 0);
    const int left = count_changed("still", "left_shakes", "left.tif");
    assert_true(left > 1000);
    opt.jitter_right = "0.2:250,0.1:120,0.05:33";
    simulate_ok("both_shake", &opt);
    assert_int_equal(count_changed("left_shakes", "both_shake", "left.tif"), 0);
    assert_true(count_changed("left_shakes", "both_shake", "right.tif") > 1000);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        opt.jitter_left = bad[k];
        simulate_refused("bad_list", &opt, SDM_ERR_USAGE, "--jitter-left");
    }
}

/* Median of truth - reference - change over what has a reference: where the scene has changed, or has not. */
static double median_error(const Raster *truth, const Raster *reference, const Raster *change, bool changed)
{
    FREED double *const e = malloc(sizeof *e * (size_t)truth->count);
    int64_t n = 0;
    assert_non_null(e);
    for (int k = 0; k < truth->count; k++)
        if (reference->v[k] > -9000.0f && truth->v[k] > -9000.0f &&
            (change->v[k] < 0.0f || change->v[k] > 0.0f) == changed)
            e[n++] = (double)(truth->v[k] - reference->v[k] - change->v[k]);
    return sdm_median_f64(e, n);
}

/* The reference is the truth before the change, moved and blurred; its change covers the share asked for. */
TEST(test_reference)
{
    SdmSimulateOptions opt = small();
    opt.width = opt.height = 300;
    opt.relief_m = 200.0;
    opt.reference_m = 30.0;
    for (int q = 0; q < 2; q++) {
        int empty = 0;
        const char *const dir = q ? "changed" : "unchanged";
        opt.change_share = 0.1 * q;
        simulate_ok(dir, &opt);
        RASTER truth = read_raster(dir, "truth.tif");
        RASTER class = read_raster(dir, "class.tif");
        RASTER reference = read_raster(dir, "reference.tif");
        RASTER change = read_raster(dir, "change.tif");
        assert_true(reference.nx == truth.nx && change.ny == truth.ny);
        const double seen = count_in(&class, 1.0f, 255.0f);
        for (int k = 0; k < truth.count; k++)
            empty += class.v[k] > 0.0f && reference.v[k] < -9000.0f;
        const int changed = change.count - count_in(&change, 0.0f, 0.0f);
        assert_true(fabs(changed / seen - (q ? 0.1 : 0.0)) < 0.02);
        assert_true(fabs(empty / seen - 0.03) < 0.005);
        assert_true(fabs(median_error(&truth, &reference, &change, false) + 3.0) < 1.5);
        assert_true(q == 0 || fabs(median_error(&truth, &reference, &change, true) + 3.0) < 3.0);
    }
    simulate_ok("reference_again", &opt);
    assert_int_equal(count_changed("changed", "reference_again", "reference.tif"), 0);
    opt.reference_m = 90.0;
    simulate_ok("reference_coarse", &opt);
    opt.reference_m = 50.0;
    simulate_refused("reference_odd", &opt, SDM_ERR_USAGE, "--reference");
}

/* Share of a class in the cells that are seen. */
static double share_of(const Raster *class, float what)
{
    return (double)count_in(class, what, what) / count_in(class, 1.0f, 255.0f);
}

TEST(test_water_and_cloud)
{
    SdmSimulateOptions opt = small();
    opt.width = opt.height = 400;
    opt.lake = 0.12;
    opt.ocean = 0.15;
    opt.relief_m = 200.0;
    simulate_ok("water", &opt);
    int zero = 0;
    RASTER class = read_raster("water", "class.tif");
    RASTER truth = read_raster("water", "truth.tif");
    assert_true(fabs(share_of(&class, 2.0f) - 0.27) < 0.04);
    for (int k = 0; k < class.count; k++)
        zero += class.v[k] == 2.0f && fabsf(truth.v[k]) < 0.5f;
    const int water = count_in(&class, 2.0f, 2.0f);
    assert_true(zero > 0.4 * water && zero < 0.75 * water); /* the ocean's part of the water */
    BAND l = read_band("water", 0);
    assert_true(fabs((double)count_in(&l.image, 29.01f, 34.99f) / l.image.count - 0.27) < 0.05);
    opt.lake = opt.ocean = 0.0;
    opt.cloud = 0.2;
    simulate_ok("cloud", &opt);
    RASTER sky = read_raster("cloud", "class.tif");
    const double cover = share_of(&sky, 3.0f);
    assert_true(cover > 0.15 && cover < 0.6);
}

/* Columns by which the bright clouds of the right view lie beside those of the left one, beyond the
 * difference of the swaths; the parallax along the track is whatever it is. */
static int clouds_across(const Raster *l, const Raster *r)
{
    int least = l->count, at = 0;
    for (int d = -80; d <= 80; d++)
        for (int e = -160; e <= 160; e += 2) {
            int unlike = 0;
            for (int y = 100; y < l->ny - 100; y += 4)
                for (int x = 80; x < l->nx - 80; x += 4) {
                    const int rx = x + (r->nx - l->nx) / 2 + d, ry = y + (r->ny - l->ny) / 2 + e;
                    const bool in = rx >= 0 && ry >= 0 && rx < r->nx && ry < r->ny,
                               right = in && r->v[ry * r->nx + rx] > 130.0f;
                    unlike += (l->v[y * l->nx + x] > 130.0f) != right;
                }
            if (unlike < least)
                least = unlike, at = d;
        }
    return at;
}

/* Root mean square of the steps between pixels of a row. */
static double contrast(const Raster *image)
{
    double sum = 0.0;
    for (int k = 1; k < image->count; k++)
        if (k % image->nx)
            sum += pow((double)(image->v[k] - image->v[k - 1]), 2.0);
    return sqrt(sum / image->count);
}

TEST(test_cloud_kinds)
{
    static const char *const kinds[] = {"patches", "broken", "layers", "cirrus"};
    SdmSimulateOptions opt = small();
    opt.width = opt.height = 320;
    opt.shape = "flat";
    for (int k = 0; k < 4; k++) {
        opt.texture_dn = k == 3 ? 16.0 : 0.0;
        opt.cloud = 0.3;
        opt.cloud_kind = kinds[k];
        simulate_ok(kinds[k], &opt);
        BAND l = read_band(kinds[k], 0);
        BAND r = read_band(kinds[k], 1);
        RASTER class = read_raster(kinds[k], "class.tif");
        const double cloudy = (double)count_in(&l.image, 130.01f, 255.0f) / l.image.count,
                     shadow = (double)count_in(&l.image, 0.0f, 49.99f) / l.image.count,
                     hidden = share_of(&class, 3.0f);
        const int across = clouds_across(&l.image, &r.image);
        print_message("%s: clouds %.3f, shadows %.3f, hidden %.3f, %d px across\n", kinds[k], cloudy, shadow,
                      hidden, across);
        if (k < 3) {
            assert_true(fabs(cloudy - 0.3) < 0.06 && hidden > cloudy && hidden < 2.2 * cloudy);
            assert_true(k ? shadow > 0.03 && shadow < 0.35 : shadow == 0.0);
            assert_true(k ? abs(across) >= 12 : abs(across) <= 6); /* 55 s of wind; the Earth turns */
        } else {
            opt.cloud = 0.0;
            opt.cloud_kind = NULL;
            simulate_ok("clear", &opt);
            BAND clear = read_band("clear", 0);
            const double part = contrast(&l.image) / contrast(&clear.image);
            print_message("contrast %.3f of that without clouds\n", part);
            assert_true(hidden < 0.1 && part < 0.97 && part > 0.6);
        }
    }
}

TEST(test_faults_of_detectors)
{
    SdmSimulateOptions opt = small();
    opt.snow = 0.2;
    opt.lost_lines = 7;
    opt.dead_columns = 3;
    simulate_ok("faults", &opt);
    for (int v = 0; v < 2; v++) {
        BAND b = read_band("faults", v);
        int lines = 0, columns = 0;
        const int nx = b.image.nx;
        for (int r = 0; r < b.image.ny; r++) {
            const Raster row = {.v = b.image.v + r * nx, .count = nx};
            const int n = count_in(&row, 0.0f, 0.0f);
            lines += n == nx;
            assert_true(n == nx || n == 3);
        }
        for (int c = 0; c < nx; c++) {
            int n = 0;
            for (int r = 0; r < b.image.ny; r++)
                n += b.image.v[r * nx + c] == 0.0f;
            columns += n == b.image.ny;
        }
        assert_true(lines == 7 && columns == 3);
        assert_true(v || fabs((double)count_in(&b.image, 255.0f, 255.0f) / b.image.count - 0.2) < 0.05);
    }
    double low = 1e9, high = -1e9; /* snow is the highest ground, but for what it blooms into */
    RASTER class = read_raster("faults", "class.tif");
    RASTER truth = read_raster("faults", "truth.tif");
    for (int k = 0; k < class.count; k++) {
        low = class.v[k] == 8.0f ? fmin(low, (double)truth.v[k]) : low;
        high = class.v[k] == 1.0f ? fmax(high, (double)truth.v[k]) : high;
    }
    assert_true(high < low + 120.0);
    assert_true(fabs(share_of(&class, 8.0f) - 0.22) < 0.05);
}

TEST(test_statistics)
{
    SdmSimulateOptions opt = small();
    opt.shape = "flat";
    opt.texture_dn = 0.0;
    opt.noise_dn = 2.0;
    opt.with_rpc = true;
    simulate_ok("noise", &opt);
    double sigma;
    const double mean = mean_of("noise", &sigma);
    assert_true(fabs(mean - 70.0) < 0.1 && fabs(sigma - 2.0) < 0.1);
}

TEST(test_refusals)
{
    SdmSimulateOptions opt = small();
    simulate_ok("twice", &opt);
    simulate_refused("twice", &opt, SDM_ERR_USAGE, "--overwrite");
    opt.overwrite = true;
    simulate_ok("twice", &opt);
    opt.noise_dn = NAN;
    simulate_refused("bad", &opt, SDM_ERR_USAGE, "--noise");
    opt = small();
    opt.layout = "spot";
    simulate_refused("bad", &opt, SDM_ERR_USAGE, "--layout");
    opt = small();
    opt.terrain = "/no/such/dem.tif";
    simulate_refused("bad", &opt, SDM_ERR_INPUT, "/no/such/dem.tif");
    opt.terrain = NULL;
    simulate_refused("no/such/parent", &opt, SDM_ERR_IO, "cannot make the folder");
    struct stat info;
    char path[256];
    out_path(path, sizeof path, "bad", "");
    assert_int_not_equal(stat(path, &info), 0);
}

TEST(test_allocations)
{
    char why[512];
    SdmSimulateOptions opt = small();
    opt.width = opt.height = 64;
    opt.cloud = opt.lake = opt.ocean = opt.snow = 0.1;
    opt.cloud_kind = "layers";
    for (int64_t n = 1; n < 400000; n = n < 40 ? n + 1 : n * 2) {
        sdm_alloc_fail_at(n);
        const SdmStatus st = simulate("alloc", &opt, why, sizeof why);
        sdm_alloc_fail_at(0);
        if (st == SDM_OK)
            return;
        assert_int_equal(st, SDM_ERR_MEMORY);
    }
    fail_msg("every allocation fails");
}

RUN_TESTS(make_folder, remove_folder)
