/* Ground and camera -> the image of one view, tile by tile. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_string.h>
#include <gdal.h>

static const double RPC_SCALE = 10.0; /* UInt16 of the rpc layout: DN x 10 */

enum { TOWN_RAYS = 4 }; /* a pixel and axis */

typedef struct Job { /* one tile of one view */
    SimScene *sc;
    const SimView *view;
    const SimGround *ground;
    int c0, r0, nx, ny;
    double foot[2][2]; /* map x, y a column; map x, y a row */
    double *rows;      /* a lattice row for each row of the tile */
    float *dn;         /* ny x nx, DN as the detector should see them */
    uint16_t *pixels;  /* ny x nx, or as many uint8_t */
} Job;

static void close_job(Job *job)
{
    SDM_FREE(&job->rows, &job->dn, &job->pixels);
}

/* Mean radiance of the pixel's footprint on the slope where its ray hits. */
static float footprint(const Job *job, const SimRay *ray, double h)
{
    const SimLattice *const lat = &job->view->lattice;
    double x, y, part[2][2];
    float slope[2];
    sim_ray_xy(lat, ray, h, &x, &y);
    sim_slope(&job->ground->terrain, x, y, slope);
    double lean[2];
    sim_ray_lean(lat, ray, h, lean);
    const double facing = 1.0 - (double)slope[0] * lean[0] - (double)slope[1] * lean[1],
                 face = facing > 0.2 ? facing : 0.2;
    int n[2];
    for (int a = 0; a < 2; a++) { /* what a column or a row spans on the slope */
        const double rise = ((double)slope[0] * job->foot[a][0] + (double)slope[1] * job->foot[a][1]) / face;
        part[a][0] = job->foot[a][0] + rise * lean[0];
        part[a][1] = job->foot[a][1] + rise * lean[1];
        const double length = sqrt(part[a][0] * part[a][0] + part[a][1] * part[a][1]);
        n[a] = (int)(2.0 * length / job->ground->terrain.step_m + 0.8);
        n[a] = n[a] < 2 ? 2 : n[a] > 6 ? 6 : n[a];
    }
    if (job->sc->town)
        n[0] = n[1] = TOWN_RAYS;
    float sum = 0.0f;
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++) {
            const double u = (i + 0.5) / n[0] - 0.5, v = (j + 0.5) / n[1] - 0.5;
            const double to[2] = {u * part[0][0] + v * part[1][0], u * part[0][1] + v * part[1][1]};
            const double p[3] = {x + to[0], y + to[1],
                                 h + (double)slope[0] * to[0] + (double)slope[1] * to[1]};
            sum += job->sc->town
                       ? sim_town_dn(job->sc, (int)(job->view - job->sc->view), p, lean, &job->ground->light)
                       : sim_value(&job->ground->light, p[0], p[1]);
        }
    return sum / (float)(n[0] * n[1]);
}

static void render_row(Job *job, int r)
{
    const SimScene *const sc = job->sc;
    const SimGround *const g = job->ground;
    const SimLattice *const lat = &job->view->lattice;
    double *const line = job->rows + (size_t)r * (size_t)lat->nx * 6;
    double dcol, drow;
    sim_camera_error(&job->view->cam, job->r0 + r, &dcol, &drow);
    const double t_s = sim_row_time(&job->view->cam, job->r0 + r + drow);
    sim_lattice_row(lat, job->r0 + r + drow, line);
    for (int c = 0; c < job->nx; c++) {
        SimRay ray;
        double p[3];
        float *const out = job->dn + (size_t)r * (size_t)job->nx + (size_t)c;
        sim_lattice_ray(lat, line, job->c0 + c + dcol, &ray);
        const float through = sim_cloud_view(sc, g, lat, &ray, t_s, out);
        if (!(through > 0.0f))
            continue;
        p[2] = sim_trace(lat, g, &ray);
        sim_ray_xy(lat, &ray, p[2], &p[0], &p[1]);
        *out += through * sim_cloud_shadow(sc, g, p, t_s) * footprint(job, &ray, p[2]);
    }
}

/* Spread what saturates along the row, on either side by up to SIM_BLOOM pixels. */
static void bloom_row(const Job *job, int r)
{
    float *const row = job->dn + (size_t)r * (size_t)job->nx;
    for (int c = 0; c < job->nx; c++) {
        if (row[c] < SIM_FULL_DN)
            continue;
        const uint32_t any = sim_hash(sim_error_seed(job->sc->opt) + 7u, 402, job->c0 + c, job->r0 + r);
        for (int k = 1; k <= (int)(any % (SIM_BLOOM + 1)) && k <= c; k++)
            row[c - k] = SIM_FULL_DN;
        while (c < job->nx && row[c] >= SIM_FULL_DN)
            c++;
        for (int k = (int)(any / 256 % (SIM_BLOOM + 1)); k > 0 && c < job->nx; k--)
            row[c++] = SIM_FULL_DN;
    }
}

/* Values of saturated, lost or dead pixels: the digital number; else -1. */
static int fixed_pixel(const Job *job, int c, int r, bool wide)
{
    if (job->view->lost[job->r0 + r] || job->view->dead[job->c0 + c])
        return 0;
    const bool full =
        job->sc->opt->snow > 0.0 && job->dn[(size_t)r * (size_t)job->nx + (size_t)c] >= SIM_FULL_DN;
    return full ? wide ? UINT16_MAX - 1 : UINT8_MAX : -1;
}

/* Noise and the detector's own gain and offset; integers. */
static void develop_row(Job *job, int r, bool wide)
{
    const SimScene *const sc = job->sc;
    const uint32_t seed = sim_error_seed(sc->opt) + 5u + (uint32_t)(job->view - sc->view);
    for (int c = 0; c < job->nx; c++) {
        const size_t k = (size_t)r * (size_t)job->nx + (size_t)c;
        const double noise = sc->opt->noise_dn * sim_gauss(seed, job->c0 + c, job->r0 + r);
        const double c0 = job->view->c0[job->c0 + c], c1 = job->view->c1[job->c0 + c];
        const int fixed = fixed_pixel(job, c, r, wide);
        if (wide) {
            const double scaled = rint(RPC_SCALE * ((double)job->dn[k] + noise));
            job->pixels[k] = (uint16_t)(fixed < 0 ? fmin(fmax(scaled, 1.0), 65534.0) : (double)fixed);
            continue;
        }
        const double seen = fmin(fmax(rint(((double)job->dn[k] - c0) / c1 + noise), 1.0), 254.0),
                     raw = fixed < 0 ? seen : (double)fixed;
        ((uint8_t *)job->pixels)[k] = (uint8_t)raw;
        job->dn[k] = fixed == 0 ? 0.0f : (float)(c1 * raw + c0);
    }
}

static void set_footprint(Job *job)
{
    const SimLattice *const lat = &job->view->lattice;
    const double c = job->c0 + 0.5 * job->nx, r = job->r0 + 0.5 * job->ny, h = job->sc->h_mean;
    double x0, y0, x1, y1;
    for (int a = 0; a < 2; a++) {
        sim_lattice_xy(lat, c, r, h, &x0, &y0);
        sim_lattice_xy(lat, c + (a == 0), r + (a == 1), h, &x1, &y1);
        job->foot[a][0] = x1 - x0;
        job->foot[a][1] = y1 - y0;
    }
}

static SdmStatus render_tile(Job *job, bool wide)
{
    SDM_CLOSED_BY(sim_ground_close) SimGround ground = {.top = 0.0f};
    SimScene *const sc = job->sc;
    const SimCamera *const cam = &job->view->cam;
    const double jitter = sim_camera_jitter(cam), m0 = 2.0 + fabs(cam->shift_px[0]) + jitter,
                 m1 = 2.0 + fabs(cam->shift_px[1]) + jitter;
    const double px[4] = {job->c0 - m0, job->r0 - m1, job->c0 + job->nx + m0, job->r0 + job->ny + m1};
    const SimBox box = sim_lattice_box(&job->view->lattice, px, sc->h_lo, sc->h_hi);
    SimBox sky[SIM_DECKS];
    for (int k = 0; k < sc->decks; k++)
        sky[k] = sim_lattice_box(&job->view->lattice, px, sc->deck[k].height, sc->deck[k].top);
    PASS(sim_ground_open(sc, &box, &ground));
    PASS(sim_light_open(sc, (int)(job->view - sc->view), &ground));
    PASS(sim_cloud_open(sc, sky, &box, &ground));
    job->ground = &ground;
    set_footprint(job);
#pragma omp parallel for schedule(dynamic, 4) num_threads(sc->threads)
    for (int r = 0; r < job->ny; r++) {
        render_row(job, r);
        if (sc->opt->snow > 0.0)
            bloom_row(job, r);
        develop_row(job, r, wide);
    }
    return SDM_OK;
}

static SdmStatus render_tiles(Job *job, bool wide, SimRaster *raw, SimRaster *plain)
{
    const SimCamera *const cam = &job->view->cam;
    const int tx = (cam->width + SIM_TILE - 1) / SIM_TILE, ty = (cam->height + SIM_TILE - 1) / SIM_TILE;
    for (int t = 0; t < tx * ty; t++) {
        job->c0 = t % tx * SIM_TILE;
        job->r0 = t / tx * SIM_TILE;
        job->nx = cam->width - job->c0 < SIM_TILE ? cam->width - job->c0 : SIM_TILE;
        job->ny = cam->height - job->r0 < SIM_TILE ? cam->height - job->r0 : SIM_TILE;
        PASS(sdm_check_stop(job->sc->ctx));
        PASS(render_tile(job, wide));
        if (raw)
            PASS(sim_raster_write(raw, job->c0, job->r0, job->nx, job->ny, job->pixels,
                                  wide ? GDT_UInt16 : GDT_Byte));
        if (plain)
            PASS(sim_raster_write(plain, job->c0, job->r0, job->nx, job->ny, job->dn, GDT_Float32));
        sdm_progress(job->sc->ctx, 0, 0.4 * (double)(job->view - job->sc->view) + 0.4 * (t + 1) / (tx * ty),
                     "render the pair");
    }
    return SDM_OK;
}

/* Which files the layout asks for: raw (tables beside it), plain (corrected, with RPC). */
static SdmStatus create(SimScene *sc, int view, SimRaster **raw, SimRaster **plain)
{
    SdmStatus st = SDM_OK;
    const SimView *const v = &sc->view[view];
    const bool rpc = strcmp(sc->opt->layout, "rpc") == 0;
    char name[160], **metadata = NULL;
    double rms = 0.0, worst = 0.0;
    SimRasterSpec spec = {
        .name = name, .nx = v->cam.width, .ny = v->cam.height, .type = GDT_Byte, .nodata = NAN};
    if (!rpc) {
        TRY(sdm_format(sc->ctx, name, sizeof name, "%s.VNIR_Band%s.ImageData.tif", sc->base, v->name));
        TRY(sim_raster_create(sc, &spec, raw));
    }
    if (!rpc && !sc->opt->with_rpc)
        return SDM_OK;
    TRY(sim_rpc_fit(sc, view, &metadata, &rms, &worst));
    sdm_log(sc->ctx, SDM_LOG_INFO, 0, "RPC of view %s: rms %.1e px, largest %.1e px", v->name, rms, worst);
    spec.rpc = metadata;
    spec.type = rpc ? GDT_UInt16 : sc->opt->striping > 0.0 ? GDT_Float32 : GDT_Byte;
    TRY(sdm_format(sc->ctx, name, sizeof name, "%s.tif", view ? "right" : "left"));
    TRY(sim_raster_create(sc, &spec, rpc ? raw : plain));
done:
    CSLDestroy(metadata);
    return st;
}

SdmStatus sim_render(SimScene *sc, int view)
{
    SDM_CLOSED_BY(sim_raster_drop) SimRaster *raw = NULL, *plain = NULL;
    SDM_CLOSED_BY(close_job) Job job = {.sc = sc, .view = &sc->view[view]};
    const bool wide = strcmp(sc->opt->layout, "rpc") == 0;
    PASS(SDM_ALLOC(sc->ctx, "tile", SDM_ARRAY(job.rows, (size_t)SIM_TILE * (size_t)job.view->lattice.nx * 6),
                   SDM_ARRAY(job.dn, SIM_TILE * SIM_TILE), SDM_ARRAY(job.pixels, SIM_TILE * SIM_TILE)));
    PASS(create(sc, view, &raw, &plain));
    PASS(render_tiles(&job, wide, raw, plain));
    if (raw)
        PASS(sim_raster_close(&raw));
    if (plain)
        PASS(sim_raster_close(&plain));
    return SDM_OK;
}
