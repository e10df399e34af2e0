/* Scene centre -> map, orbit and the two cameras that look at it. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

static const double ORBIT_M = 705000.0, RADIUS_M = 6378137.0, GM = 3.986004418e14;
static const double LINE_S = 2.199e-3, ASTER_GSD_M = 15.0, AFT_DEG = 27.6, JITTER_CYCLES = 0.0033 /* a row */;

/* UTM zone of the centre; polar stereographic where UTM ends. */
static int epsg_of(double lon, double lat)
{
    if (lat > 84.0)
        return 3413;
    if (lat < -80.0)
        return 3031;
    int zone = (int)floor((lon + 180.0) / 6.0) + 1;
    zone = zone < 1 ? 1 : zone > 60 ? 60 : zone;
    return (lat < 0.0 ? 32700 : 32600) + zone;
}

SdmStatus sim_place_open(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    sc->lon_deg = opt->lon_deg;
    sc->lat_deg = opt->lat_deg;
    if (isnan(opt->lon_deg) && opt->terrain)
        PASS(sim_dem_centre(sc->ctx, opt->terrain, &sc->lon_deg, &sc->lat_deg));
    else if (isnan(opt->lon_deg))
        sc->lon_deg = 4.75, sc->lat_deg = 44.45;
    const int epsg = epsg_of(sc->lon_deg, sc->lat_deg);
    OGRSpatialReferenceH geo = sim_srs(4326);
    sc->srs = sim_srs(epsg);
    if (geo && sc->srs)
        sc->to_map = OCTNewCoordinateTransformation(geo, sc->srs);
    OSRDestroySpatialReference(geo);
    if (!geo || !sc->srs)
        return sdm_fail(sc->ctx, SDM_ERR_UNSUPPORTED, "PROJ does not know EPSG:%d; is its proj.db installed?",
                        epsg);
    sc->x = sc->lon_deg;
    sc->y = sc->lat_deg;
    if (!sc->to_map || !OCTTransform(sc->to_map, 1, &sc->x, &sc->y, NULL))
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "the scene centre %.6f, %.6f does not lie on the map EPSG:%d",
                        sc->lon_deg, sc->lat_deg, epsg);
    sc->extent_m = opt->gsd_m * (opt->width > opt->height ? opt->width : opt->height);
    return SDM_OK;
}

/* Orbit whose satellite is above the unit vector `up` at t = 0 and goes south (sun-synchronous where it can).
 */
static void set_orbit(SimCamera *cam, const double up[3])
{
    const double flat = hypot(up[0], up[1]) > 1e-9 ? hypot(up[0], up[1]) : 1e-9;
    const double east[3] = {-up[1] / flat, up[0] / flat, 0.0};
    double north[3];
    sdm_cross3(up, east, north);
    double e = cos(98.2 * SIM_PI / 180.0) / flat; /* sin(azimuth) cos(latitude) = cos(inclination) */
    e = e < -0.97 ? -0.97 : e;
    for (int k = 0; k < 3; k++) {
        cam->p0[k] = up[k];
        cam->q0[k] = e * east[k] - sqrt(1.0 - e * e) * north[k];
    }
    cam->radius_m = RADIUS_M + ORBIT_M;
    cam->rate_rad_s = sqrt(GM / cam->radius_m) / cam->radius_m;
}

/* Miss of the centre ray: target minus hit, and the ray's length. */
static double centre_miss(const SimCamera *cam, const double target[3], double h, double miss[3])
{
    double from[3], dir[3], hit[3], d[3];
    sim_ray(cam, 0.5 * (cam->width - 1), 0.5 * (cam->height - 1), from, dir);
    sim_ray_at_height(from, dir, h, hit);
    for (int k = 0; k < 3; k++) {
        miss[k] = target[k] - hit[k];
        d[k] = hit[k] - from[k];
    }
    return sqrt(sdm_dot3(d, d));
}

/* Left: move the orbit until the centre pixel, pointed by roll, looks at the target at t = 0. */
static void aim_left(SimCamera *cam, const double target[3], double h)
{
    double up[3], miss[3];
    memcpy(up, target, sizeof up);
    sim_unit(up);
    cam->t0_s = -0.5 * (cam->height - 1) * cam->line_s;
    for (int k = 0; k < 60; k++) {
        set_orbit(cam, up);
        const double length = centre_miss(cam, target, h, miss);
        cam->ifov = cam->ifov > 0.0 ? cam->ifov : 1.0 / length;
        for (int a = 0; a < 3; a++)
            up[a] += miss[a] / RADIUS_M;
        sim_unit(up);
    }
}

/* Right: move time and the swath until its centre pixel looks at the target. */
static double aim_right(SimCamera *cam, const double target[3], double h)
{
    double length = 0.0, t = cam->radius_m * sin(cam->pitch_rad) / (cam->radius_m * cam->rate_rad_s);
    for (int k = 0; k < 60; k++) {
        double miss[3], p[3], v[3], y[3];
        cam->t0_s = t - 0.5 * (cam->height - 1) * cam->line_s;
        length = centre_miss(cam, target, h, miss);
        sim_orbit(cam, t, p, v);
        sdm_cross3(v, p, y);
        sim_unit(y);
        sim_unit(v);
        t += sdm_dot3(miss, v) / (cam->rate_rad_s * RADIUS_M);
        cam->across += sdm_dot3(miss, y) / length;
    }
    return length;
}

/* Time in which the centre of view moves by one ground sample. */
static double line_time(SimCamera cam, const double target[3], double h, double gsd_m)
{
    double miss[3];
    const double dt = 0.01;
    cam.t0_s += dt;
    centre_miss(&cam, target, h, miss);
    return gsd_m * dt / sqrt(sdm_dot3(miss, miss));
}

static void left_size(SimScene *sc, SimCamera *left, const double target[3])
{
    double miss[3];
    left->width = sc->opt->width;
    left->height = sc->opt->height;
    left->line_s = LINE_S * sc->opt->gsd_m / ASTER_GSD_M;
    left->roll_rad = sc->opt->roll_deg * SIM_PI / 180.0;
    aim_left(left, target, sc->h_mean);
    if (strcmp(sc->opt->layout, "rpc") == 0) { /* square pixels; ASTER's are 14.9 m long */
        left->line_s = line_time(*left, target, sc->h_mean, sc->opt->gsd_m);
        aim_left(left, target, sc->h_mean);
    }
    left->ifov = sc->opt->gsd_m / centre_miss(left, target, sc->h_mean, miss);
}

/* ASTER: in the proportion of the real bands.  RPC: what the left image's ground needs over the height range.
 */
static void right_size(const SimScene *sc, SimCamera *right)
{
    const int w = sc->opt->width, h = sc->opt->height;
    if (strcmp(sc->opt->layout, "rpc") != 0) {
        right->width = (int)lround(w * 5000.0 / 4100.0);
        right->height = (int)lround(h * 5400.0 / 4200.0);
        return;
    }
    const double spread = sc->opt->base_height * fmax(sc->h_hi - sc->h_mean, sc->h_mean - sc->h_lo);
    right->width = w + (int)ceil(0.08 * w) + 32;
    right->height = h + (int)ceil(0.08 * h) + 32 + 2 * (int)ceil(spread / sc->opt->gsd_m);
}

/* Start of a sine, by the seed of the errors; 0 is that of --jitter. */
static double phase_of(const SdmSimulateOptions *opt, uint32_t level, int k)
{
    return 2.0 * SIM_PI * (double)sim_hash(sim_error_seed(opt), level, k, 0) / 4294967296.0;
}

/* The jitter of both views: the sine of --jitter, then those of the lists. */
static SdmStatus place_jitter(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    const char *const lists[2] = {opt->jitter_left, opt->jitter_right};
    for (int v = 0; v < 2; v++) {
        SimCamera *const cam = &sc->view[v].cam;
        if (v == 1 && opt->jitter_px > 0.0) /* without an error seed it starts with the scene */
            cam->wave[cam->waves++] = (SimWave){.amplitude_px = opt->jitter_px,
                                                .frequency = JITTER_CYCLES,
                                                .phase = opt->error_seed ? phase_of(opt, 0, 0) : 0.0,
                                                .lag = 2.0};
        const int first = cam->waves;
        PASS(sim_parse_jitter(sc->ctx, v, lists[v], cam->wave, &cam->waves));
        for (int k = first; k < cam->waves; k++) {
            cam->wave[k].phase = phase_of(opt, 1 + (uint32_t)v, 2 * (k - first));
            cam->wave[k].lag = phase_of(opt, 1 + (uint32_t)v, 2 * (k - first) + 1);
        }
    }
    return SDM_OK;
}

/* Pitch that sees a target, r metres from the Earth's centre, at the base/height ratio. */
static double pitch_of(double r, double base_height)
{
    return asin(r / (RADIUS_M + ORBIT_M) * sin(atan(base_height)));
}

SdmStatus sim_place_cameras(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    SimCamera *const left = &sc->view[0].cam, *const right = &sc->view[1].cam;
    double target[3];
    sim_to_ecef(sc->lon_deg, sc->lat_deg, sc->h_mean, target);
    const double r = sqrt(sdm_dot3(target, target)),
                 left_base = opt->symmetric ? 0.5 * opt->base_height : 0.0;
    *left = (SimCamera){.pitch_rad = pitch_of(r, 0.0 - left_base)};
    left_size(sc, left, target);
    *right = *left;
    right_size(sc, right);
    const bool rpc = strcmp(opt->layout, "rpc") == 0;
    right->pitch_rad = rpc ? pitch_of(r, opt->base_height - left_base) : AFT_DEG * SIM_PI / 180.0;
    right->ifov = opt->gsd_m / aim_right(right, target, sc->h_mean);
    aim_right(right, target, sc->h_mean);
    right->shift_px[0] = opt->pointing_px[0];
    right->shift_px[1] = opt->pointing_px[1];
    return place_jitter(sc);
}
