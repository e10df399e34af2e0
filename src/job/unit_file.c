/* Header, body, checksums; for each kind one function names the fields, for writing and reading alike. */
// SPDX-License-Identifier: Apache-2.0
#include "job/unit_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "sdm_build.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a body as a sequence of fields ---- */

typedef enum Way { COUNT, WRITE, READ } Way;

/* The body on its way: its bytes are counted, written or read, by the same calls. */
typedef struct Body {
    Way way;
    uint64_t bytes; /* COUNT: so far; READ: not read yet, of the whole body */
    SdmFileWriter *to;
    FILE *from;
    uint64_t sum; /* of the pieces that are done */
    size_t used, filled; /* of the piece: bytes used, bytes in it (READ) */
    bool bad; /* READ: cut short, or a value that cannot be */
    unsigned char piece[SDM_UNIT_PIECE];
} Body;

static void flush_piece(Body *b)
{
    b->sum = sdm_hash(b->sum, b->piece, b->used);
    if (b->way == WRITE)
        sdm_file_put(b->to, b->piece, b->used);
    b->used = 0;
}

/* Read the next piece. */
static void fill_piece(Body *b)
{
    const size_t n = b->bytes < sizeof b->piece ? (size_t)b->bytes : sizeof b->piece;
    b->used = 0;
    b->filled = fread(b->piece, 1, n, b->from);
    b->bad |= b->filled != n || n == 0;
    b->bytes -= n;
    b->sum = sdm_hash(b->sum, b->piece, b->filled);
}

static void move_bytes(Body *b, unsigned char *data, size_t size)
{
    if (b->way == COUNT)
        b->bytes += size;
    while (b->way == WRITE && size > 0) {
        const size_t room = sizeof b->piece - b->used, n = size < room ? size : room;
        memcpy(b->piece + b->used, data, n);
        b->used += n;
        data += n;
        size -= n;
        if (b->used == sizeof b->piece)
            flush_piece(b);
    }
    while (b->way == READ && size > 0 && !b->bad) {
        if (b->used == b->filled)
            fill_piece(b);
        const size_t room = b->filled - b->used, n = size < room ? size : room;
        memcpy(data, b->piece + b->used, n);
        b->used += n;
        data += n;
        size -= n;
    }
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void reverse(unsigned char *p, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        const unsigned char held = p[i];
        p[i] = p[size - 1 - i];
        p[size - 1 - i] = held;
    }
}

/* count numbers of `size` bytes. */
static void move_array(Body *b, void *data, size_t count, size_t size)
{
    unsigned char *const p = data;
    if (is_little_endian() || b->way == COUNT) {
        move_bytes(b, p, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char one[8];
        memcpy(one, p + i * size, size);
        reverse(one, size);
        move_bytes(b, one, size);
        reverse(one, size);
        memcpy(p + i * size, one, size);
    }
}

/* Are `count` elements of `size` bytes left to be read?  Asked before memory is allocated for them. */
static bool has_room_for(Body *b, uint64_t count, uint64_t size)
{
    const uint64_t left = b->bytes + (b->filled - b->used);
    b->bad |= b->way == READ && count > left / size;
    return !b->bad;
}

/* A whole number of lo..hi. */
static void move_whole(Body *b, int64_t *value, int64_t lo, int64_t hi)
{
    move_array(b, value, 1, sizeof *value);
    b->bad |= b->way == READ && (*value < lo || *value > hi);
    if (b->bad)
        *value = lo;
}

static void move_int(Body *b, int *value, int lo, int hi)
{
    int64_t wide = *value;
    move_whole(b, &wide, lo, hi);
    *value = (int)wide;
}

static void move_reals(Body *b, double *value, size_t count)
{
    move_array(b, value, count, sizeof *value);
}

static void move_floats(Body *b, float *value, size_t count)
{
    move_array(b, value, count, sizeof *value);
}

/* A text in room for `size` bytes, its final 0 among them. */
static void move_text(Body *b, char *text, size_t size)
{
    int n = b->way == READ ? 0 : (int)strlen(text);
    move_int(b, &n, 0, (int)size - 1);
    move_bytes(b, (unsigned char *)text, (size_t)n);
    text[n] = '\0';
}

/* ---- what bodies hold ---- */

typedef SdmStatus sdm_move_fn(SdmContext *ctx, Body *body, void *object);
static const int64_t MOST = INT32_MAX;

static SdmStatus move_block(SdmContext *ctx, Body *body, void *object)
{
    SdmStatus st = SDM_OK;
    SdmBlock *const b = object;
    int64_t *const size[4] = {&b->col0, &b->row0, &b->w, &b->h};
    for (int i = 0; i < 4; i++)
        move_whole(body, size[i], 0, MOST);
    const uint64_t n = (uint64_t)b->w * (uint64_t)b->h;
    if (!has_room_for(body, n, 5 * sizeof(float) + 2 * sizeof(uint16_t)))
        return SDM_OK;
    if (body->way == READ)
        TRY(sdm_block_alloc(ctx, b->col0, b->row0, b->w, b->h, b));
    float *const floats[] = {b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho};
    for (int i = 0; i < 5; i++)
        move_floats(body, floats[i], (size_t)n);
    move_array(body, b->count, (size_t)n, sizeof *b->count);
    move_array(body, b->mask, (size_t)n, sizeof *b->mask);
done:
    return st;
}

static void move_frame(Body *b, SdmFrame *f)
{
    double *const reals[] = {
        &f->lon_deg, &f->lat_deg, &f->h0_m,   &f->gsd_m,       &f->angle_rad,       &f->x0_m,
        &f->y0_m,    &f->hmin_m,  &f->hmax_m, &f->base_height, &f->convergence_deg, &f->du_dh};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    move_reals(b, f->slant_px, 2);
    move_reals(b, f->across, 2);
    move_whole(b, &f->width, 1, MOST);
    move_whole(b, &f->height, 1, MOST);
}

static void move_radiometry(Body *b, SdmRadiometry *r)
{
    move_reals(b, &r->scale, 1);
    move_reals(b, &r->offset, 1);
    move_floats(b, &r->saturated_at, 1);
    move_floats(b, r->fill, 2);
}

/* All other settings follow: see sdm_prepared_kernels(). */
static void move_measured(Body *b, SdmMeasured *m)
{
    _Static_assert(sizeof *m == 8 + 9 * 4, "another field of SdmMeasured is to be stored");
    int borders = m->borders;
    move_text(b, m->cost_name, sizeof m->cost_name);
    move_floats(b, &m->ray_error_limit_px, 1);
    move_floats(b, &m->discontinuity_px, 1);
    move_int(b, &borders, 0, 1);
    m->borders = borders == 1;
    move_int(b, &m->label_range_px, 0, SDM_SEMI_GLOBAL_RANGE_MAX);
    move_int(b, &m->coarse_offset_px, 0, INT32_MAX);
    move_int(b, &m->coarse_level, 0, 30);
    move_int(b, &m->coarsest_level, 0, 30);
    move_int(b, &m->hide_above[0], INT16_MIN, INT16_MAX);
    move_int(b, &m->hide_above[1], INT16_MIN, INT16_MAX);
}

static SdmStatus move_pointing(SdmContext *ctx, Body *b, SdmPointing *p)
{
    SdmStatus st = SDM_OK;
    move_reals(b, p->dir, 2);
    move_reals(b, p->centre, 2);
    move_reals(b, p->scale, 2);
    move_int(b, &p->degree, 0, SDM_POINT_MAX_DEGREE);
    move_int(b, &p->terms, 0, SDM_POINT_MAX_TERMS);
    move_reals(b, p->coef, SDM_POINT_MAX_TERMS);
    move_whole(b, &p->profile_row0, INT64_MIN, INT64_MAX);
    move_int(b, &p->profile_step_px, 0, INT32_MAX);
    move_int(b, &p->profile_count, 0, INT32_MAX);
    if (!has_room_for(b, (uint64_t)p->profile_count, sizeof(double)))
        return SDM_OK;
    if (b->way == READ)
        TRY(sdm_alloc(ctx, &p->profile_px, (size_t)p->profile_count + 1, sizeof(double), "the profile"));
    move_reals(b, p->profile_px, (size_t)p->profile_count);
done:
    return st;
}

static void move_along(Body *b, SdmAlongCorrection *a)
{
    move_reals(b, &a->east_m, 1);
    move_reals(b, &a->north_m, 1);
    move_int(b, &a->degree, 0, SDM_ALONG_MAX_DEGREE);
    move_reals(b, a->coef, SDM_ALONG_MAX_TERMS);
    for (int k = 0; k < 2; k++) {
        move_int(b, &a->waves[k], 0, SDM_ALONG_WAVES);
        for (int i = 0; i < SDM_ALONG_WAVES; i++) {
            SdmAlongWave *const w = &a->wave[k][i];
            double *const reals[] = {&w->per_row, &w->cos_px, &w->sin_px};
            for (int j = 0; j < 3; j++)
                move_reals(b, reals[j], 1);
        }
    }
}

static SdmStatus move_round(SdmContext *ctx, Body *b, SdmPointRound *r)
{
    SdmStatus st = SDM_OK;
    double *const reals[] = {&r->before_median_px, &r->before_nmad_px, &r->after_nmad_px,
                             &r->cross_validation_px, &r->profile_rms_px};
    int *const wholes[] = {&r->matches, &r->inliers, &r->degree, &r->level};
    _Static_assert(sizeof(SdmPointSample) == 4 * sizeof(float), "a sample is four floats");
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        move_int(b, wholes[i], INT32_MIN, INT32_MAX);
    move_int(b, &r->sample_count, 0, INT32_MAX);
    if (!has_room_for(b, (uint64_t)r->sample_count, sizeof *r->samples))
        return SDM_OK;
    if (b->way == READ)
        TRY(sdm_alloc(ctx, &r->samples, (size_t)r->sample_count + 1, sizeof *r->samples, "samples"));
    move_array(b, r->samples, 4 * (size_t)r->sample_count, sizeof(float));
done:
    return st;
}

static SdmStatus move_points(SdmContext *ctx, Body *b, SdmPointReport *p)
{
    SdmStatus st = SDM_OK;
    int rounds = p->rounds;
    move_int(b, &rounds, 0, (int)(sizeof p->round / sizeof *p->round));
    for (int i = 0; i < rounds && !b->bad; i++) {
        p->rounds = rounds;
        TRY(move_round(ctx, b, &p->round[i]));
    }
done:
    return st;
}

static void move_window(Body *b, SdmWindow *w)
{
    move_int(b, &w->level, 0, 30);
    move_whole(b, &w->u0, -MOST, MOST);
    move_whole(b, &w->v0, -MOST, MOST);
    move_int(b, &w->w, 1, INT32_MAX);
    move_int(b, &w->h, 1, INT32_MAX);
}

/* Heights of the coarse surface, and of the terrain in the same window. */
static SdmStatus move_surfaces(SdmContext *ctx, Body *b, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmTerrainMask *const t = &p->terrain;
    move_window(b, &p->coarse.win);
    move_window(b, &t->win);
    const uint64_t n = (uint64_t)p->coarse.win.w * (uint64_t)p->coarse.win.h;
    if (!has_room_for(b, n, 2 * sizeof(float) + sizeof(uint16_t)))
        return SDM_OK;
    if (b->way == READ) {
        TRY(sdm_alloc_raw(ctx, &p->coarse.h_m, (size_t)n, sizeof(float), "the coarse surface"));
        TRY(sdm_alloc_raw(ctx, &t->h_m, (size_t)n, sizeof(float), "the terrain"));
        TRY(sdm_alloc_raw(ctx, &t->distance_px, (size_t)n, sizeof(uint16_t), "the terrain"));
    }
    move_floats(b, p->coarse.h_m, (size_t)n);
    move_floats(b, t->h_m, (size_t)n);
    move_array(b, t->distance_px, (size_t)n, sizeof *t->distance_px);
done:
    return st;
}

static void move_grid(Body *b, SdmGrid *g)
{
    int geographic = g->geographic;
    move_text(b, g->wkt, sizeof g->wkt);
    move_reals(b, &g->x0, 1);
    move_reals(b, &g->y0, 1);
    move_reals(b, &g->spacing, 1);
    move_whole(b, &g->cols, 0, MOST);
    move_whole(b, &g->rows, 0, MOST);
    move_int(b, &geographic, 0, 1);
    g->geographic = geographic != 0;
}

static SdmStatus move_bins(SdmContext *ctx, Body *b, SdmReferenceBins *bins)
{
    SdmStatus st = SDM_OK;
    move_reals(b, &bins->step_px, 1);
    move_int(b, &bins->count, 0, INT32_MAX);
    if (!has_room_for(b, (uint64_t)bins->count, sizeof(float)))
        return SDM_OK;
    if (b->way == READ)
        TRY(sdm_alloc(ctx, &bins->value_px, (size_t)bins->count + 1, sizeof(float), "means by row"));
    move_floats(b, bins->value_px, (size_t)bins->count);
done:
    return st;
}

static SdmStatus move_reference(SdmContext *ctx, Body *b, SdmReferenceReport *r)
{
    SdmStatus st = SDM_OK;
    double *const reals[] = {&r->cell_m,  &r->px_per_m,      &r->row_m,         &r->covered,
                             &r->masked,  &r->fit.point_px,  &r->fit.rows_seen, &r->shift_m[0],
                             &r->shift_m[1], &r->shift_m[2], &r->fit.correction_px};
    move_int(b, &r->state, SDM_REFERENCE_NONE, SDM_REFERENCE_FITTED);
    move_text(b, r->datum, sizeof r->datum);
    move_text(b, r->reason, sizeof r->reason);
    move_text(b, r->question, sizeof r->question);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    move_reals(b, r->fit.constant_px, SDM_ALONG_SCHEMES);
    move_reals(b, r->fit.fitted_px, SDM_ALONG_SCHEMES);
    for (int i = 0; i < 4; i++) {
        move_reals(b, &r->spread[i / 2][i % 2].median_m, 1);
        move_reals(b, &r->spread[i / 2][i % 2].nmad_m, 1);
    }
    for (int k = 0; k < 2; k++)
        TRY(move_bins(ctx, b, &r->bins[k]));
    int has_mask = r->left_out != NULL;
    move_int(b, &has_mask, 0, 1);
    if (!has_mask)
        return SDM_OK;
    move_grid(b, &r->grid);
    const uint64_t n = (uint64_t)r->grid.cols * (uint64_t)r->grid.rows;
    if (!has_room_for(b, n, 1))
        return SDM_OK;
    if (b->way == READ)
        TRY(sdm_alloc(ctx, &r->left_out, (size_t)n + 1, 1, "the blocks left out of the fit"));
    move_bytes(b, r->left_out, (size_t)n);
done:
    return st;
}

static SdmStatus move_prepared(SdmContext *ctx, Body *b, void *object)
{
    SdmStatus st = SDM_OK;
    SdmPrepared *const p = object;
    move_frame(b, &p->frame);
    for (int i = 0; i < 2; i++) {
        move_text(b, p->camera[i].source, sizeof p->camera[i].source);
        move_text(b, p->camera[i].doubt, sizeof p->camera[i].doubt);
        move_int(b, &p->camera[i].bin, 0, INT32_MAX);
        move_radiometry(b, &p->radiometry[i]);
    }
    move_measured(b, &p->settings.measured);
    double *const reals[] = {&p->hmin_m, &p->hmax_m, &p->max_update_m, &p->lattice_error_px};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    move_grid(b, &p->grid);
    TRY(move_pointing(ctx, b, &p->pointing));
    move_along(b, &p->along);
    TRY(move_reference(ctx, b, &p->reference));
    move_text(b, p->prior.datum, sizeof p->prior.datum);
    move_reals(b, &p->prior.covered, 1);
    TRY(move_points(ctx, b, &p->points));
    TRY(move_surfaces(ctx, b, p));
done:
    return st;
}

/* ---- a product's record ---- */

static void move_usage(Body *b, SdmUsage *u)
{
    double *const reals[] = {&u->wall_s, &u->user_s, &u->system_s, &u->peak_bytes, &u->ended_s};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    move_reals(b, u->stage_s, SDM_USAGE_STAGES);
    move_bytes(b, (unsigned char *)u->host, sizeof u->host);
    u->host[sizeof u->host - 1] = '\0';
}

/* The files that it was made from, and the doubts. */
static SdmStatus move_lists(SdmContext *ctx, Body *b, SdmDemResult *r)
{
    SdmStatus st = SDM_OK;
    move_int(b, &r->files, 0, INT32_MAX);
    move_int(b, &r->doubts, 0, SDM_MAX_WARNINGS);
    if (!has_room_for(b, (uint64_t)r->files, 3 * sizeof(int64_t)))
        return SDM_OK;
    if (b->way == READ) {
        TRY(sdm_alloc(ctx, &r->file, (size_t)r->files + 1, sizeof *r->file, "files of a product"));
        TRY(sdm_alloc(ctx, &r->doubt, SDM_MAX_WARNINGS, sizeof *r->doubt, "doubts of a product"));
    }
    for (int i = 0; i < r->files; i++) {
        move_text(b, r->file[i].path, sizeof r->file[i].path);
        move_whole(b, &r->file[i].size_bytes, INT64_MIN, INT64_MAX);
        move_whole(b, &r->file[i].mtime_s, INT64_MIN, INT64_MAX);
    }
    for (int i = 0; i < r->doubts; i++)
        move_text(b, r->doubt[i].text, sizeof r->doubt[i].text);
done:
    return st;
}

static SdmStatus move_record(SdmContext *ctx, Body *b, void *object)
{
    SdmStatus st = SDM_OK;
    SdmProductRecord *const p = object;
    SdmDemResult *const r = &p->result;
    double *const reals[] = {&r->spacing,    &r->coverage,      &r->pointing_residual_px,
                             &r->tie_points, &r->matched_share, &r->wall_s};
    int64_t hash;
    memcpy(&hash, &p->dem_hash, sizeof hash);
    r->known = true;
    move_whole(b, &r->cols, 0, MOST);
    move_whole(b, &r->rows, 0, MOST);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        move_reals(b, reals[i], 1);
    move_whole(b, &p->dem_bytes, -1, INT64_MAX);
    move_whole(b, &p->dem_mtime_us, INT64_MIN, INT64_MAX);
    move_whole(b, &hash, INT64_MIN, INT64_MAX);
    memcpy(&p->dem_hash, &hash, sizeof hash);
    TRY(move_lists(ctx, b, r));
    move_whole(b, &p->units, 0, MOST);
    if (!has_room_for(b, (uint64_t)p->units, 15 * sizeof(double) + sizeof p->unit->host))
        return SDM_OK;
    if (b->way == READ)
        TRY(sdm_alloc(ctx, &p->unit, (size_t)p->units + 1, sizeof *p->unit, "units of a product"));
    for (int64_t i = 0; i < p->units; i++)
        move_usage(b, &p->unit[i]);
done:
    return st;
}

void sdm_product_record_free(SdmProductRecord *record)
{
    sdm_dem_result_free(&record->result);
    sdm_free(&record->unit);
}

/* ---- header ---- */

enum { HEADER_BYTES = 8 + 4 + 4 + 8 + 8 + 8 + 8 * (5 + SDM_USAGE_STAGES) + 64, SUM_BYTES = 8 };
static const char MAGIC[8] = {'S', 'D', 'M', 'U', 'N', 'I', 'T', '\n'};

typedef struct Header {
    char magic[8];
    uint32_t format, kind;
    uint64_t build, fingerprint, body_bytes;
    SdmUsage usage;
} Header;

static void move_header(Body *b, Header *h)
{
    move_array(b, h->magic, sizeof h->magic, 1);
    move_array(b, &h->format, 1, sizeof h->format);
    move_array(b, &h->kind, 1, sizeof h->kind);
    move_array(b, &h->build, 1, sizeof h->build);
    move_array(b, &h->fingerprint, 1, sizeof h->fingerprint);
    move_array(b, &h->body_bytes, 1, sizeof h->body_bytes);
    move_usage(b, &h->usage);
}

/* Write the checksum of what was written, header or body. */
static void end_writing(Body *b)
{
    unsigned char text[SUM_BYTES];
    if (b->used)
        flush_piece(b);
    for (int i = 0; i < SUM_BYTES; i++)
        text[i] = (unsigned char)(b->sum >> 8 * i);
    sdm_file_put(b->to, text, sizeof text);
    b->sum = 0;
}

/* Is the checksum of what was read, header or body, the one that follows it? */
static bool ends_well(Body *b)
{
    unsigned char text[SUM_BYTES];
    uint64_t sum = 0;
    if (b->bad || fread(text, 1, sizeof text, b->from) != sizeof text)
        return false;
    for (int i = 0; i < SUM_BYTES; i++)
        sum |= (uint64_t)text[i] << 8 * i;
    const bool same = sum == b->sum;
    b->sum = 0;
    return same;
}

/* ---- write ---- */

static Header make_header(const SdmUnitName *name)
{
    Header h = {.format = SDM_UNIT_FORMAT,
                .kind = (uint32_t)name->kind,
                .build = SDM_BUILD_HASH,
                .fingerprint = name->fingerprint};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    return h;
}

/* The function that writes and reads the body of a kind. */
static sdm_move_fn *move_of(SdmUnitKind kind)
{
    return kind == SDM_UNIT_BLOCK ? move_block : kind == SDM_UNIT_PREPARED ? move_prepared : move_record;
}

static SdmStatus write_file(SdmContext *ctx, const SdmUnitName *name, void *object, const SdmUsage *usage,
                            bool sync, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    SdmFileWriter w;
    Body *body = NULL;
    Header h = make_header(name);
    sdm_move_fn *const move = move_of(name->kind);
    if (usage)
        h.usage = *usage;
    TRY(sdm_alloc(ctx, &body, 1, sizeof *body, "a file's buffer"));
    (void)move(ctx, body, object); /* COUNT */
    h.body_bytes = body->bytes;
    TRY(sdm_file_create(ctx, name->path, &w));
    body->way = WRITE;
    body->to = &w;
    move_header(body, &h);
    end_writing(body);
    (void)move(ctx, body, object);
    end_writing(body);
    TRY(sdm_file_close(ctx, &w, sync));
    st = sdm_lease_check(ctx, lease);
    if (st == SDM_OK)
        st = sdm_file_rename(ctx, &w);
    else
        sdm_file_discard(&w);
done:
    sdm_free(&body);
    return st;
}

SdmStatus sdm_unit_write(SdmContext *ctx, const SdmUnitName *name, const void *what, const SdmUsage *usage,
                         bool sync, SdmLease *lease)
{
    union { /* shallow: not changed by writing */
        SdmBlock block;
        SdmProductRecord record;
        SdmPrepared prepared;
    } copy;
    if (name->kind == SDM_UNIT_BLOCK)
        copy.block = *(const SdmBlock *)what;
    else if (name->kind == SDM_UNIT_RECORD)
        copy.record = *(const SdmProductRecord *)what;
    else
        copy.prepared = *(const SdmPrepared *)what;
    return write_file(ctx, name, &copy, usage, sync, lease);
}

/* ---- read ---- */

static SdmStatus check_header(SdmContext *ctx, const char *path, Body *body, const Header *want, Header *h)
{
    struct stat s;
    body->bytes = HEADER_BYTES;
    move_header(body, h);
    if (!ends_well(body) || memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s is damaged, or of another stereodem version: it does not begin as a unit's file",
                        path);
    if (h->format != want->format)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s has format %u, this program writes format %u", path,
                        (unsigned)h->format, (unsigned)want->format);
    if (h->build != want->build && want->kind != SDM_UNIT_RECORD)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s was written by another build of stereodem (%016llx, this is %016llx)", path,
                        (unsigned long long)h->build, (unsigned long long)want->build);
    if (h->kind != want->kind || h->fingerprint != want->fingerprint)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s was made from other inputs or options", path);
    if (fstat(fileno(body->from), &s) != 0 || h->body_bytes > (uint64_t)s.st_size ||
        (uint64_t)s.st_size != HEADER_BYTES + SUM_BYTES + h->body_bytes + SUM_BYTES)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its length does not fit", path);
    body->bytes = h->body_bytes;
    return SDM_OK;
}

static void close_file(Body **body)
{
    if (*body && (*body)->from)
        fclose((*body)->from);
    sdm_free(body);
}

/* *h: the header of the file, checked; *out: what follows, to be closed by the caller. */
static SdmStatus open_file(SdmContext *ctx, const SdmUnitName *name, Header *h, Body **out)
{
    SdmStatus st = SDM_OK;
    const Header want = make_header(name);
    TRY(sdm_alloc(ctx, out, 1, sizeof **out, "a file's buffer"));
    (*out)->way = READ;
    (*out)->from = fopen(name->path, "rb");
    if (!(*out)->from)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT, "%s: %s", name->path, strerror(errno)));
    TRY(check_header(ctx, name->path, *out, &want, h));
done:
    if (st != SDM_OK)
        close_file(out);
    return st;
}

/* What is left of the body is read for its checksum, which is compared. */
static SdmStatus end_body(SdmContext *ctx, const char *path, Body *body)
{
    const bool strange = body->bad || body->used != body->filled || body->bytes > 0;
    body->bad = false;
    while (body->bytes > 0 && !body->bad)
        fill_piece(body);
    if (!ends_well(body))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its checksum does not fit", path);
    return strange ? sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: a value in it cannot be", path) : SDM_OK;
}

/* Do the windows lie in the frame as they must? */
static bool is_consistent(const SdmPrepared *p)
{
    const SdmWindow *const a = &p->coarse.win, *const b = &p->terrain.win;
    return a->w == b->w && a->h == b->h && a->level == p->settings.coarse_level && a->level == b->level &&
           p->settings.coarsest_level >= p->settings.coarse_level && p->grid.spacing > 0.0 &&
           p->pointing.terms <= (p->pointing.degree + 1) * (p->pointing.degree + 2) / 2 &&
           (p->pointing.profile_count == 0 || p->pointing.profile_step_px > 0) &&
           (!sdm_reference_applied(&p->reference) ||
            (p->reference.left_out && p->reference.grid.spacing > 0.0));
}

/* object NULL: only the checksum is looked at. */
static SdmStatus read_file(SdmContext *ctx, const SdmUnitName *name, void *object, SdmUsage *usage)
{
    SdmStatus st = SDM_OK;
    Header h;
    Body *body = NULL;
    TRY(open_file(ctx, name, &h, &body));
    if (object)
        TRY(move_of(name->kind)(ctx, body, object));
    while (!object && body->bytes > 0 && !body->bad) {
        fill_piece(body);
        body->used = body->filled;
    }
    TRY(end_body(ctx, name->path, body));
    if (object && name->kind == SDM_UNIT_PREPARED && !is_consistent(object))
        st = sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: a value in it cannot be", name->path);
    if (usage)
        *usage = h.usage;
done:
    close_file(&body);
    return st;
}

static void clear(SdmUnitKind kind, void *what)
{
    if (kind == SDM_UNIT_BLOCK)
        *(SdmBlock *)what = (SdmBlock){.height_m = NULL};
    else if (kind == SDM_UNIT_PREPARED)
        *(SdmPrepared *)what = (SdmPrepared){0};
    else
        *(SdmProductRecord *)what = (SdmProductRecord){.units = 0};
}

SdmStatus sdm_unit_read(SdmContext *ctx, const SdmUnitName *name, void *what, SdmUsage *usage)
{
    clear(name->kind, what);
    const SdmStatus st = read_file(ctx, name, what, usage);
    if (st == SDM_OK)
        return st;
    if (name->kind == SDM_UNIT_BLOCK)
        sdm_block_free(what);
    else if (name->kind == SDM_UNIT_PREPARED)
        sdm_prepared_free(what);
    else
        sdm_product_record_free(what);
    clear(name->kind, what);
    return st;
}

SdmStatus sdm_unit_check(SdmContext *ctx, const SdmUnitName *name)
{
    return read_file(ctx, name, NULL, NULL);
}

bool sdm_unit_peek(const SdmUnitName *name, SdmUsage *usage)
{
    Header h;
    Body *body = NULL;
    if (open_file(NULL, name, &h, &body) != SDM_OK)
        return false;
    close_file(&body);
    *usage = h.usage;
    return true;
}
