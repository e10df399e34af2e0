/* Camera -> the text files of an ASTER scene (V003): orbit, sight vectors, lattice, radiometric table. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/text.h"
#include "simulate/sim.h"

enum { COLUMNS = 11, MAX_ROWS = 24 };
typedef struct Table { /* lattice of one band as the metadata tell it */
    double row[MAX_ROWS], col[COLUMNS], p[MAX_ROWS][3], v[MAX_ROWS][3], sight[COLUMNS][3];
    int rows, digits;
} Table;

/* Mark `count` of n by the seed, in groups of 1 to `most`. */
static void mark_lost(uint32_t seed, int view, int count, int most, int n, uint8_t *lost)
{
    for (int k = 0, left = count; left > 0; k++) {
        const int first = (int)(sim_hash(seed, 400, k, view) % (uint32_t)n),
                  group = 1 + (int)(sim_hash(seed, 401, k, view) % (uint32_t)most);
        for (int i = first; i < n && i < first + group && left > 0; i++) {
            left -= !lost[i];
            lost[i] = 1;
        }
    }
}

SdmStatus sim_radiometry(SimScene *sc, int view)
{
    SimView *const v = &sc->view[view];
    const uint32_t seed = sim_error_seed(sc->opt) + 7u;
    const size_t n = (size_t)v->cam.width;
    PASS(SDM_ALLOC(sc->ctx, "radiometric table", SDM_ARRAY(v->c1, n), SDM_ARRAY(v->c0, n)));
    for (int c = 0; c < v->cam.width; c++) {
        v->c1[c] = 1.0 + 0.02 * sc->opt->striping * sim_gauss(seed, c, 2 * view);
        v->c0[c] = sc->opt->striping * sim_gauss(seed, c, 2 * view + 1);
    }
    PASS(sdm_alloc(sc->ctx, &v->lost, (size_t)v->cam.height, 1, "lost lines"));
    PASS(sdm_alloc(sc->ctx, &v->dead, n, 1, "dead columns"));
    mark_lost(seed, view, sc->opt->lost_lines, 4, v->cam.height, v->lost);
    mark_lost(seed, 2 + view, sc->opt->dead_columns, 1, v->cam.width, v->dead);
    return SDM_OK;
}

static void fill_table(const SimScene *sc, int view, Table *t)
{
    const SimCamera *const cam = &sc->view[view].cam;
    const double step = fmax(8.0, round(400.0 * sc->opt->height / 4200.0));
    const double first = -round((view ? 0.1 : 0.58) * step);
    const uint32_t seed = sim_error_seed(sc->opt) + 6u;
    const SdmSimulateOptions *const o = sc->opt;
    *t = (Table){.rows = (int)ceil((cam->height - 1 - first) / step) + 1};
    t->rows = t->rows > MAX_ROWS ? MAX_ROWS : t->rows;
    const bool exact = o->orbit_noise_m <= 0.0 && o->velocity_noise_mps <= 0.0 &&
                       sc->view[0].cam.waves + sc->view[1].cam.waves == 0 &&
                       hypot(o->pointing_px[0], o->pointing_px[1]) <= 0.0;
    t->digits = exact ? 12 : 6;
    for (int c = 0; c < COLUMNS; c++) {
        t->col[c] = round(c * cam->width / 10.0);
        sim_sight(cam, t->col[c], t->sight[c]);
    }
    for (int r = 0; r < t->rows; r++) {
        t->row[r] = first + r * step;
        sim_orbit(cam, cam->t0_s + t->row[r] * cam->line_s, t->p[r], t->v[r]);
        for (int a = 0; a < 3; a++) {
            t->p[r][a] += o->orbit_noise_m * sim_gauss(seed, r, a + 8 * view);
            t->v[r][a] += o->velocity_noise_mps * sim_gauss(seed, r, a + 8 * view + 4);
        }
    }
}

/* Write the text as a file of the band, and begin an empty one. */
static SdmStatus write_text(SimScene *sc, int view, const char *field, SdmText *text)
{
    char path[SIM_PATH + 160];
    SdmFileWriter file;
    PASS(text->st);
    PASS(sdm_format(sc->ctx, path, sizeof path, "%s/%s.VNIR_Band%s.%s.txt", sc->folder, sc->base,
                    sc->view[view].name, field));
    PASS(sdm_file_create(sc->ctx, path, &file));
    sdm_file_put(&file, text->data, text->size);
    sdm_text_close(text);
    return sdm_file_commit(sc->ctx, &file, false);
}

static void add_vector(SdmText *text, int digits, const double v[3])
{
    sdm_text_add(text, "%.*f %.*f %.*f\n", digits, v[0], digits, v[1], digits, v[2]);
}

/* Geocentric latitude or longitude of the lattice on the ellipsoid. */
static SdmStatus write_ground(SimScene *sc, int view, const Table *t, const char *field, SdmText *text)
{
    for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double dir[3], hit[3];
            sim_direction(t->p[r], t->v[r], t->sight[c], dir);
            sim_ray_at_height(t->p[r], dir, 0.0, hit);
            const double rad = field[1] == 'a' ? atan2(hit[2], hypot(hit[0], hit[1])) : atan2(hit[1], hit[0]);
            sdm_text_add(text, "%.6f%s", rad * (180.0 / SIM_PI), c == COLUMNS - 1 ? "\n" : " ");
        }
    return write_text(sc, view, field, text);
}

SdmStatus sim_tables(SimScene *sc, int view)
{
    Table t;
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = sc->ctx};
    const SimView *const v = &sc->view[view];
    fill_table(sc, view, &t);
    for (int r = 0; r < t.rows; r++)
        add_vector(&text, 6, t.p[r]);
    PASS(write_text(sc, view, "SatellitePosition", &text));
    for (int r = 0; r < t.rows; r++)
        add_vector(&text, t.digits, t.v[r]);
    PASS(write_text(sc, view, "SatelliteVelocity", &text));
    for (int k = 0; k < t.rows * COLUMNS; k++) { /* an empty line between rows, as in LatticePoint */
        sdm_text_add(&text, k && k % COLUMNS == 0 ? "\n" : "");
        add_vector(&text, t.digits, t.sight[k % COLUMNS]);
    }
    PASS(write_text(sc, view, "SightVector", &text));
    for (int k = 0; k < t.rows * COLUMNS; k++)
        sdm_text_add(&text, "%s%.0f %.0f\n", k && k % COLUMNS == 0 ? "\n" : "", t.col[k % COLUMNS],
                     t.row[k / COLUMNS]);
    PASS(write_text(sc, view, "LatticePoint", &text));
    PASS(write_ground(sc, view, &t, "Latitude", &text));
    PASS(write_ground(sc, view, &t, "Longitude", &text));
    for (int c = 0; c < v->cam.width; c++)
        sdm_text_add(&text, "%.8g %.8g 1\n", v->c0[c], v->c1[c]);
    return write_text(sc, view, "RadiometricCorrTable", &text);
}
