/* Time -> satellite; column -> sight vector; pixel -> exact ray. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

static const double EARTH_RAD_S = 7.2921159e-5;

void sim_orbit(const SimCamera *cam, double t_s, double p[3], double v[3])
{
    const double cu = cos(cam->rate_rad_s * t_s), su = sin(cam->rate_rad_s * t_s);
    const double ce = cos(EARTH_RAD_S * t_s), se = sin(EARTH_RAD_S * t_s);
    double pi[3], vi[3];
    for (int k = 0; k < 3; k++) {
        pi[k] = cam->radius_m * (cu * cam->p0[k] + su * cam->q0[k]);
        vi[k] = cam->radius_m * cam->rate_rad_s * (cu * cam->q0[k] - su * cam->p0[k]);
    }
    p[0] = ce * pi[0] + se * pi[1]; /* the Earth has turned by EARTH_RAD_S t since t = 0 */
    p[1] = ce * pi[1] - se * pi[0];
    p[2] = pi[2];
    v[0] = ce * vi[0] + se * vi[1];
    v[1] = ce * vi[1] - se * vi[0];
    v[2] = vi[2];
}

void sim_sight(const SimCamera *cam, double col, double sight[3])
{
    const double y = cam->across + (0.5 * (cam->width - 1) - col) * cam->ifov, z = cos(cam->pitch_rad);
    const double c = cos(cam->roll_rad), s = sin(cam->roll_rad);
    sight[0] = -sin(cam->pitch_rad);
    sight[1] = y * c + z * s;
    sight[2] = z * c - y * s;
    sim_unit(sight);
}

void sim_direction(const double p[3], const double v[3], const double sight[3], double dir[3])
{
    double x[3], y[3], z[3];
    for (int k = 0; k < 3; k++)
        z[k] = -p[k];
    sim_unit(z);
    sdm_cross3(v, p, y);
    sim_unit(y);
    sdm_cross3(y, z, x);
    for (int k = 0; k < 3; k++)
        dir[k] = x[k] * sight[0] + y[k] * sight[1] + z[k] * sight[2];
    sim_unit(dir);
}

void sim_ray(const SimCamera *cam, double col, double row, double from[3], double dir[3])
{
    double v[3], sight[3];
    sim_orbit(cam, cam->t0_s + row * cam->line_s, from, v);
    sim_sight(cam, col, sight);
    sim_direction(from, v, sight, dir);
}

void sim_camera_error(const SimCamera *cam, double row, double *dcol, double *drow)
{
    *dcol = cam->shift_px[0];
    *drow = cam->shift_px[1];
    for (int k = 0; k < cam->waves; k++) {
        const SimWave *const w = &cam->wave[k];
        const double phase = 2.0 * SIM_PI * w->frequency * row + w->phase;
        *dcol += w->amplitude_px * sin(phase);
        *drow += w->amplitude_px * sin(phase + w->lag);
    }
}

double sim_camera_jitter(const SimCamera *cam)
{
    double sum = 0.0;
    for (int k = 0; k < cam->waves; k++)
        sum += cam->wave[k].amplitude_px;
    return sum;
}
