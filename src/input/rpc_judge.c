/* RPC, image -> camera, and doubts: by the rays, the map coordinates and the size of the image.  Are its
 * heights in metres? */
// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"
#include "geo/geodesy.h"
#include "geo/projector.h"
#include "input/rpc_find.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { PLACES = 9 };
static const double EARTH_LOW_M = -500.0, EARTH_HIGH_M = 9000.0;

/* Place i of 3 x 3 over the image, px. */
static void place(const SdmImage *im, int i, double at[2])
{
    static const double share[3] = {0.05, 0.5, 0.95};
    at[0] = share[i % 3] * (double)im->width;
    at[1] = share[i / 3] * (double)im->height;
}

static void heights(const SdmCamera *cam, double *lo, double *hi)
{
    *lo = fmax(cam->hmin_m, EARTH_LOW_M);
    *hi = fmin(cam->hmax_m, EARTH_HIGH_M);
}

/* One more reason to doubt the camera. */
static void add_doubt(SdmCameraNote *note, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_doubt(SdmCameraNote *note, const char *fmt, ...)
{
    size_t n = strlen(note->doubt);
    va_list args;
    if (n > 0)
        n += (size_t)snprintf(note->doubt + n, sizeof note->doubt - n, "; ");
    if (n >= sizeof note->doubt)
        return;
    va_start(args, fmt);
    vsnprintf(note->doubt + n, sizeof note->doubt - n, fmt, args);
    va_end(args);
}

/* ---- rays are straight ---- */

/* Right RPCs bend their rays by less than 0.01 px, coefficients in another order by 0.5 to 110 px (Pleiades,
 * WorldView-3, ZY-3). */
static const double BENT_PX = 0.02, STRAIGHT_PX = 0.03, DOUBTFUL_BEND_PX = 10.0;

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

/* The most that the middle of a ray lies beside the line between its ends, px; lost rays do not count. */
static double measure_bend_px(const SdmCamera *cam, const SdmImage *im)
{
    double lo, hi, most = 0.0;
    heights(cam, &lo, &hi);
    for (int i = 0; i < PLACES; i++) {
        double at[4][3], ground[4][3], p[4][3], on[3];
        for (int k = 0; k < 4; k++) { /* low, middle, high; and the next pixel */
            place(im, i, at[k]);
            at[k][0] += k == 3;
            at[k][2] = k == 0 ? lo : k == 2 ? hi : 0.5 * (lo + hi);
        }
        sdm_camera_locate(cam, 4, at[0], ground[0]);
        for (int k = 0; k < 4; k++)
            sdm_geodetic_to_ecef(ground[k][0], ground[k][1], ground[k][2], p[k]);
        const double t =
            (distance(p[0], p[1]) * distance(p[0], p[1]) - distance(p[1], p[2]) * distance(p[1], p[2])) /
                (2.0 * distance(p[0], p[2]) * distance(p[0], p[2])) +
            0.5;
        for (int k = 0; k < 3; k++)
            on[k] = p[0][k] + t * (p[2][k] - p[0][k]);
        const double bend = distance(p[1], on) / distance(p[1], p[3]);
        most = bend > most ? bend : most;
    }
    return most;
}

/* The same terms in the order of RPC00A -> that of RPC00B. */
static void reorder(double c[20])
{
    static const int from[20] = {0, 1, 2, 3, 4, 5, 6, 10, 7, 8, 9, 11, 14, 17, 12, 15, 18, 13, 16, 19};
    double b[20];
    for (int i = 0; i < 20; i++)
        b[from[i]] = c[i];
    memcpy(c, b, sizeof b);
}

/* Rays that are bent, and straight in the other order: the coefficients are those of RPC00A. */
static void judge_order(const char *name, const SdmImage *im, SdmRpc *rpc, SdmCamera **cam,
                        SdmCameraNote *note)
{
    SdmRpc other = *rpc;
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *straight = NULL;
    const double bend = measure_bend_px(*cam, im);
    if (!(bend > BENT_PX))
        return;
    reorder(other.line_num);
    reorder(other.line_den);
    reorder(other.samp_num);
    reorder(other.samp_den);
    const bool opened = sdm_camera_open_rpc(NULL, name, &other, &straight) == SDM_OK;
    const double left = opened ? measure_bend_px(straight, im) : NAN;
    if (left < STRAIGHT_PX && left < 0.1 * bend) {
        const size_t n = strlen(note->source);
        snprintf(note->source + n, sizeof note->source - n,
                 " (in the order of RPC00A: in that of RPC00B its rays would bend by %.2g px)", bend);
        SdmCamera *const bent = *cam;
        *cam = straight;
        straight = bent;
        *rpc = other;
    } else if (bend > DOUBTFUL_BEND_PX) {
        add_doubt(note,
                  "the RPC of %.120s bends its rays by up to %.1f px, which no camera does: its coefficients "
                  "are damaged or in another order",
                  sdm_path_base(name), bend);
    }
}

/* ---- heights are metres ---- */

/* Rays of a line meet at the satellite: 437 to 712 km high of every RPC at hand, 3.28 times as high and more
 * where its heights are in feet.  They pass each other by less than 0.014 of the distance of their pixels,
 * rays along the track by 0.5 and more, at any height. */
static const double HIGHEST_ORBIT_M = 1.3e6, LOWEST_ORBIT_M = 3e5, FOOT_M = 0.3048, MEET = 0.1;

/* How high the rays of two places meet, m, below 0 under the ground; NaN where they do not. */
static double measure_altitude_m(const SdmCamera *cam, const SdmImage *im, int i, int j)
{
    double at[4][3], ground[4][3], p[4][3], d[2][3], a = 0.0, b = 0.0, c = 0.0, square = 0.0, miss = 0.0;
    for (int k = 0; k < 4; k++) { /* low and high of the one, of the other */
        double h[2];
        place(im, k < 2 ? i : j, at[k]);
        heights(cam, &h[0], &h[1]);
        at[k][2] = h[k % 2];
    }
    sdm_camera_locate(cam, 4, at[0], ground[0]);
    for (int k = 0; k < 4; k++)
        sdm_geodetic_to_ecef(ground[k][0], ground[k][1], ground[k][2], p[k]);
    for (int k = 0; k < 3; k++) {
        d[0][k] = (p[1][k] - p[0][k]) / distance(p[1], p[0]);
        d[1][k] = (p[3][k] - p[2][k]) / distance(p[3], p[2]);
        a += d[0][k] * d[1][k];
        b += d[0][k] * (p[0][k] - p[2][k]);
        c += d[1][k] * (p[0][k] - p[2][k]);
    }
    const double along = (a * c - b) / (1.0 - a * a), other = (c - a * b) / (1.0 - a * a);
    for (int k = 0; k < 3; k++) {
        square += pow(p[0][k] + along * d[0][k], 2.0);
        miss += pow(p[0][k] + along * d[0][k] - p[2][k] - other * d[1][k], 2.0);
    }
    return sqrt(miss) < MEET * distance(p[0], p[2]) ? sqrt(square) - SDM_WGS84_A : (double)NAN;
}

static bool is_orbit(double altitude_m)
{
    return altitude_m > LOWEST_ORBIT_M && altitude_m < HIGHEST_ORBIT_M;
}

/* Heights in feet become metres, where the rays of a line meet at an orbit's height for these alone.  Heights
 * of the wrong sign make them meet as far below the ground.  Lines run along columns in an image that was
 * turned. */
static SdmStatus judge_heights(SdmContext *ctx, const char *name, const SdmImage *im, const SdmRpc *rpc,
                               SdmCamera **cam, SdmCameraNote *note)
{
    SdmRpc metres = *rpc;
    SdmCamera *other = NULL;
    const double row = measure_altitude_m(*cam, im, 3, 5), column = measure_altitude_m(*cam, im, 1, 7),
                 high = is_orbit(FOOT_M * row) ? row : column;
    if (is_orbit(row) || is_orbit(column))
        return SDM_OK;
    if (is_orbit(-row) || is_orbit(-column))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the rays of its RPC (%s) meet %.0f km below the ground, not above it: "
                        "HEIGHT_SCALE %g, or the terms with the height, have the wrong sign; get the image's "
                        "RPC from its supplier again",
                        name, note->source, -1e-3 * (is_orbit(-row) ? row : column), rpc->height_scale);
    metres.height_off *= FOOT_M;
    metres.height_scale *= FOOT_M;
    if (!is_orbit(FOOT_M * high) || sdm_camera_open_rpc(NULL, name, &metres, &other) != SDM_OK)
        return SDM_OK;
    sdm_camera_close(cam);
    *cam = other;
    const size_t n = strlen(note->source);
    snprintf(note->source + n, sizeof note->source - n,
             " (its heights in feet: as metres its rays would meet %.0f km above the ground)", 1e-3 * high);
    return SDM_OK;
}

/* ---- map coordinates ---- */

/* An image on a map (an Ortho Ready product) has an RPC that agrees with the map at one height.  px; of an
 * RPC adjusted by a constant, and of one that is another image's. */
static const double MAP_SHAPE_PX = 1.5, MAP_SHIFT_PX = 20.0;

/* How the RPC and the map place the pixels at the height where they agree best: the mean, and the most that a
 * place lies from it, px.  False where the RPC has no place for the map's. */
static bool compare_with_map(const SdmImage *im, const SdmCamera *cam, double ground[PLACES][2],
                             double *shift, double *shape)
{
    double r[2][PLACES][2], h[2], dot = 0.0, square = 0.0, mean[2] = {0.0, 0.0};
    heights(cam, &h[0], &h[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < PLACES; i++) {
            const double g[3] = {ground[i][0], ground[i][1], h[k]};
            double at[2], is[2];
            place(im, i, at);
            sdm_camera_project(cam, 1, g, is);
            for (int j = 0; j < 2; j++)
                r[k][i][j] = is[j] - at[j];
        }
    for (int i = 0; i < 2 * PLACES; i++) {
        const double a = r[0][i / 2][i % 2], slope = r[1][i / 2][i % 2] - a;
        dot += a * slope;
        square += slope * slope;
    }
    for (int i = 0; i < 2 * PLACES; i++) {
        r[0][i / 2][i % 2] -= dot / fmax(square, 1e-12) * (r[1][i / 2][i % 2] - r[0][i / 2][i % 2]);
        mean[i % 2] += r[0][i / 2][i % 2] / PLACES;
    }
    *shape = 0.0;
    for (int i = 0; i < PLACES; i++)
        *shape = fmax(*shape, hypot(r[0][i][0] - mean[0], r[0][i][1] - mean[1]));
    *shift = hypot(mean[0], mean[1]);
    return isfinite(dot) && isfinite(square);
}

/* Longitude and latitude of the places by the image's map coordinates; false where it has none. */
static bool locate_on_map(SdmContext *ctx, const SdmImage *im, double ground[PLACES][2])
{
    double g[6];
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *map = NULL;
    const char *const wkt = im->dataset ? GDALGetProjectionRef(im->dataset) : NULL;
    if (!wkt || !*wkt || GDALGetGeoTransform(im->dataset, g) != CE_None)
        return false;
    const bool known = sdm_projector_open(NULL, wkt, &map) == SDM_OK;
    for (int i = 0; i < PLACES && known; i++) {
        double at[2];
        place(im, i, at);
        ground[i][0] = g[0] + (at[0] + 0.5) * g[1] + (at[1] + 0.5) * g[2];
        ground[i][1] = g[3] + (at[0] + 0.5) * g[4] + (at[1] + 0.5) * g[5];
        sdm_projector_inverse(map, 1, &ground[i][0], &ground[i][1]);
    }
    if (!known)
        sdm_log(ctx, SDM_LOG_VERBOSE, 1, "%s: its map coordinates are not compared with its RPC", im->name);
    return known;
}

/* *has_map: the image lies on a map as its RPC has it, but for a shift. */
static SdmStatus judge_map(SdmContext *ctx, const char *name, const SdmImage *im, const SdmCamera *cam,
                           SdmCameraNote *note, bool *has_map)
{
    double ground[PLACES][2], shift, shape;
    *has_map = locate_on_map(ctx, im, ground);
    if (!*has_map)
        return SDM_OK;
    const bool seen = compare_with_map(im, cam, ground, &shift, &shape);
    if (seen && shape <= MAP_SHAPE_PX && shift <= MAP_SHAPE_PX)
        return SDM_OK;
    if (!seen || shape > MAP_SHAPE_PX || shift > MAP_SHIFT_PX) {
        char apart[64] = "have no place in common";
        if (seen)
            snprintf(apart, sizeof apart, "lie up to %.4g px apart", shift + shape);
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its map coordinates and its RPC (%s) %s at any height; an image put on a map "
                        "cannot keep the RPC of the raw one: give the raw image, or, where this is it, take "
                        "the map coordinates off with gdal_edit.py -unsetgt",
                        name, note->source, apart);
    }
    add_doubt(note, "the RPC of %.120s places its pixels %.1f px from where its map coordinates do",
              sdm_path_base(name), shift);
    return SDM_OK;
}

/* ---- size ---- */

static const double MARGIN_PX = 5.0; /* that suppliers leave about the image */
static const double LARGER = 1.1;    /* no supplier fits an RPC to so little of its image, */
static const double SMALLER = 0.9;   /* or to so much beyond it */

/* An RPC is fitted to the pixels from OFF - SCALE to OFF + SCALE.  That of a whole image begins at its first
 * pixel, and when it went with a clip to other pixels, before the clip's. */
static SdmStatus judge_size(SdmContext *ctx, const char *name, const SdmImage *im, const SdmRpc *rpc,
                            SdmCameraNote *note)
{
    const double size[2] = {2.0 * fabs(rpc->samp_scale), 2.0 * fabs(rpc->line_scale)},
                 first[2] = {rpc->samp_off - 0.5 * size[0], rpc->line_off - 0.5 * size[1]},
                 is[2] = {(double)im->width, (double)im->height};
    bool smaller = false, moved = false, larger = false, clip = false, whole = true, beside = false;
    int row = 1, column = 1;
    for (int k = 0; k < 2; k++) {
        smaller = smaller || is[k] < 0.98 * size[k] - 2.0;
        moved = moved || first[k] < -MARGIN_PX;
        larger = larger || is[k] > LARGER * size[k];
        clip = clip || is[k] < SMALLER * size[k];
        const double other = fabs(is[k] - size[k]), away = fabs(first[k]);
        beside = beside || (other < 0.02 * size[k] + 2.0 && away > other + MARGIN_PX && away < size[k]);
        whole = whole && fabs(first[k]) <= MARGIN_PX;
    }
    if (larger)
        add_doubt(note,
                  "%.120s has %.0f x %.0f px, its RPC is for %.0f x %.0f: if that is of an image of coarser "
                  "pixels, or before a margin was added, places and heights are wrong",
                  sdm_path_base(name), is[0], is[1], size[0], size[1]);
    if (beside)
        add_doubt(
            note,
            "the RPC of %.120s is for as many pixels as that has, but for those from column %.0f and row "
            "%.0f: if its offsets are exchanged (LINE_OFF, SAMP_OFF), or of another image, places and "
            "heights are wrong",
            sdm_path_base(name), first[0], first[1]);
    const bool is_tile = sdm_product_tile(sdm_path_base(name), &row, &column);
    if (!smaller || moved || (is_tile && row == 1 && column == 1))
        return SDM_OK;
    if (is_tile)
        return sdm_fail(
            ctx, SDM_ERR_INPUT,
            "%s: one tile of a product by its name (row %d, column %d), but its RPC (%s) is that of the "
            "whole product, %.0f x %.0f px, the tile has %.0f x %.0f; give the product's .TIL or folder",
            name, row, column, note->source, size[0], size[1], is[0], is[1]);
    if (clip && whole)
        return sdm_fail(
            ctx, SDM_ERR_INPUT,
            "%s: %.0f x %.0f px with the RPC (%s) of a whole image of %.0f x %.0f; clip that image with "
            "gdal_translate -srcwin, which moves the RPC, or, where the clip begins at its first pixel, fill "
            "it up: gdal_translate -srcwin 0 0 %.0f %.0f",
            name, is[0], is[1], note->source, size[0], size[1], ceil(size[0]), ceil(size[1]));
    add_doubt(
        note,
        "%.120s has %.0f x %.0f px, its RPC is for %.0f x %.0f: unless that was moved with the clip "
        "(LINE_OFF, SAMP_OFF), or the clip begins at the image's first pixel, places and heights are wrong",
        sdm_path_base(name), is[0], is[1], size[0], size[1]);
    return SDM_OK;
}

/* ---- pixels are squares ---- */

/* Seen along the rays a pixel is square to 4 % and 2 degrees in every RPC at hand; where fore and aft views
 * have the lines of the nadir view, to 1.2 (ALOS PRISM).  In an image that was put on a map it is square on
 * the ground, or, where it still has that map, what the map says: of one in degrees no square. */
static const double SQUARE = 1.3, SQUARE_ON_GROUND = 1.1, MOST_SKEW = 0.26; /* cosine */
static const double SMALLEST_M = 0.1; /* three times as sharp as any satellite */
static const double STEP_PX = 16.0;

static bool is_square(const double right[3], const double down[3], double most)
{
    const double across = sdm_dot3(right, right), along = sdm_dot3(down, down), ratio = sqrt(along / across);
    return !(ratio > most || ratio < 1.0 / most ||
             fabs(sdm_dot3(right, down)) > MOST_SKEW * sqrt(across * along));
}

/* An error of LAT_OFF, LONG_OFF, LAT_SCALE or LONG_SCALE in both views deforms the ground, and nothing else.
 * Seen from above, the rows of an image lie on the right of its columns, however it was taken. */
static void judge_pixels(const char *name, const SdmImage *im, const SdmCamera *cam, bool has_map,
                         SdmCameraNote *note)
{
    double at[4][3], ground[4][3], p[4][3], d[3][3], seen[2][3], h[2], up[3];
    heights(cam, &h[0], &h[1]);
    for (int k = 0; k < 4; k++) { /* the middle, to its right, below it, above it */
        place(im, 4, at[k]);
        at[k][0] += k == 1 ? STEP_PX : 0.0;
        at[k][1] += k == 2 ? STEP_PX : 0.0;
        at[k][2] = k == 3 ? h[1] : 0.5 * (h[0] + h[1]);
    }
    sdm_camera_locate(cam, 4, at[0], ground[0]);
    for (int k = 0; k < 4; k++)
        sdm_geodetic_to_ecef(ground[k][0], ground[k][1], ground[k][2], p[k]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            d[k][i] = p[k + 1][i] - p[0][i];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            seen[k][i] = d[k][i] - sdm_dot3(d[k], d[2]) / sdm_dot3(d[2], d[2]) * d[2][i];
    sdm_cross3(d[0], d[1], up);
    if (sdm_dot3(up, p[0]) > 0.0)
        add_doubt(note,
                  "the RPC of %.120s mirrors the image: where LONG_SCALE or LAT_SCALE has the wrong sign, "
                  "the DEM is mirrored, too",
                  sdm_path_base(name));
    else if ((!has_map && !is_square(d[0], d[1], SQUARE_ON_GROUND) && !is_square(seen[0], seen[1], SQUARE)) ||
             sdm_dot3(seen[0], seen[0]) < pow(SMALLEST_M * STEP_PX, 2.0))
        add_doubt(
            note,
            "the RPC of %.120s has pixels of %.2f x %.2f m, at %.0f degrees, seen along its rays: unless its "
            "sensor has such, LAT_OFF, LONG_OFF, LAT_SCALE or LONG_SCALE is wrong (exchanged, in radians)",
            sdm_path_base(name), sqrt(sdm_dot3(seen[0], seen[0])) / STEP_PX,
            sqrt(sdm_dot3(seen[1], seen[1])) / STEP_PX,
            acos(sdm_dot3(seen[0], seen[1]) / sqrt(sdm_dot3(seen[0], seen[0]) * sdm_dot3(seen[1], seen[1]))) /
                SDM_DEG);
}

SdmStatus sdm_rpc_judge(SdmContext *ctx, const char *name, const SdmImage *im, const SdmFoundRpc *found,
                        SdmCamera **out, SdmCameraNote *note)
{
    SdmStatus st = SDM_OK;
    SdmRpc rpc = found->rpc;
    bool has_map;
    *note = (SdmCameraNote){.doubt = ""};
    memcpy(note->source, found->source, sizeof note->source);
    TRY(sdm_camera_open_rpc(ctx, *found->path ? found->path : name, &found->rpc, out));
    TRY(judge_size(ctx, name, im, &found->rpc, note));
    judge_order(name, im, &rpc, out, note);
    TRY(judge_heights(ctx, name, im, &rpc, out, note));
    TRY(judge_map(ctx, name, im, *out, note, &has_map));
    judge_pixels(name, im, *out, has_map, note);
done:
    if (st != SDM_OK)
        sdm_camera_close(out);
    return st;
}
