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
    uint64_t sum;        /* of the pieces that are done */
    size_t used, filled; /* of the piece: bytes used, bytes in it (READ) */
    bool bad;            /* READ: cut short, a value that cannot be, or st is a failure */
    SdmContext *ctx;
    SdmStatus st; /* of allocations */
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

static void move_bytes(Body *b, void *object, size_t size)
{
    unsigned char *data = object;
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

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

/* Can a list of `count` elements follow, each of at least `stored` bytes?  Reading allocates it, if so many
 * bytes are left. */
static bool begin_list(Body *b, void *list /* T ** */, int64_t count, size_t size, size_t stored)
{
    if (b->way != READ)
        return true;
    b->bad |= (uint64_t)count > (b->bytes + (b->filled - b->used)) / stored;
    if (!b->bad)
        b->st = sdm_alloc(b->ctx, list, (size_t)count + 1, size, "what a unit's file holds");
    b->bad |= b->st != SDM_OK;
    return !b->bad;
}

/* A whole number of lo..hi. */
static void move_whole(Body *b, int64_t *value, int64_t lo, int64_t hi)
{
    move_bytes(b, value, sizeof *value);
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
    move_bytes(b, value, count * sizeof *value);
}

/* Each of the numbers at these addresses. */
static void move_each(Body *b, double *const *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        move_reals(b, value[i], 1);
}
#define MOVE_EACH(b, ...)                                                                                    \
    move_each(b, (double *const[]){__VA_ARGS__}, sizeof((double *const[]){__VA_ARGS__}) / sizeof(double *))

static void move_floats(Body *b, float *value, size_t count)
{
    move_bytes(b, value, count * sizeof *value);
}

static void move_bool(Body *b, bool *value)
{
    int whole = *value;
    move_int(b, &whole, 0, 1);
    *value = whole == 1;
}

/* An array of `count` numbers of `size` bytes. */
static void move_numbers(Body *b, void *array /* T ** */, int64_t count, size_t size)
{
    void *data;
    if (!begin_list(b, array, count, size, size))
        return;
    memcpy(&data, array, sizeof data);
    move_bytes(b, data, (size_t)count * size);
}

/* A text in room for `size` bytes, its final 0 among them. */
static void move_text(Body *b, char *text, size_t size)
{
    int n = b->way == READ ? 0 : (int)strlen(text);
    move_int(b, &n, 0, (int)size - 1);
    move_bytes(b, text, (size_t)n);
    text[n] = '\0';
}

/* ---- what bodies hold ---- */

typedef void sdm_move_fn(Body *body, void *object);
static const int64_t MOST = INT32_MAX;

static void move_block(Body *body, void *object)
{
    SdmBlock *const b = object;
    int64_t *const size[4] = {&b->col0, &b->row0, &b->w, &b->h};
    for (int i = 0; i < 4; i++)
        move_whole(body, size[i], 0, MOST);
    const size_t n = (size_t)b->w * (size_t)b->h;
    const uint64_t left = body->bytes + (body->filled - body->used);
    body->bad |= body->way == READ && n > left / (5 * sizeof(float) + 2 * sizeof(uint16_t));
    if (body->way == READ && !body->bad) {
        body->st = sdm_block_alloc(body->ctx, b->col0, b->row0, b->w, b->h, b);
        body->bad = body->st != SDM_OK;
    }
    if (body->bad)
        return;
    float *const floats[] = {b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho};
    for (int i = 0; i < 5; i++)
        move_floats(body, floats[i], n);
    move_bytes(body, b->count, n * sizeof *b->count);
    move_bytes(body, b->mask, n * sizeof *b->mask);
}

static void move_frame(Body *b, SdmFrame *f)
{
    MOVE_EACH(b, &f->lon_deg, &f->lat_deg, &f->h0_m, &f->gsd_m, &f->angle_rad, &f->x0_m, &f->y0_m, &f->hmin_m,
              &f->hmax_m, &f->base_height, &f->convergence_deg, &f->du_dh);
    move_reals(b, f->slant_px, 2);
    move_reals(b, f->across, 2);
    move_whole(b, &f->width, 1, MOST);
    move_whole(b, &f->height, 1, MOST);
}

static void move_radiometry(Body *b, SdmRadiometry *r)
{
    MOVE_EACH(b, &r->scale, &r->offset);
    move_floats(b, &r->saturated_at, 1);
    move_floats(b, r->fill, 2);
}

/* All other settings follow from these: see sdm_prepared_kernels(). */
static void move_measured(Body *b, SdmMeasured *m)
{
    _Static_assert(sizeof *m == 8 + 10 * 4, "another field of SdmMeasured is to be stored");
    move_text(b, m->cost_name, sizeof m->cost_name);
    move_floats(b, &m->ray_error_limit_px, 1);
    move_floats(b, &m->final_score, 1);
    move_floats(b, &m->discontinuity_px, 1);
    move_bool(b, &m->borders);
    move_int(b, &m->label_range_px, 0, SDM_SEMI_GLOBAL_RANGE_MAX);
    move_int(b, &m->coarse_offset_px, 0, INT32_MAX);
    move_int(b, &m->coarse_level, 0, 30);
    move_int(b, &m->coarsest_level, 0, 30);
    move_int(b, &m->hide_above[0], INT16_MIN, INT16_MAX);
    move_int(b, &m->hide_above[1], INT16_MIN, INT16_MAX);
}

static void move_pointing(Body *b, SdmPointing *p)
{
    move_reals(b, p->dir, 2);
    move_reals(b, p->centre, 2);
    move_reals(b, p->scale, 2);
    move_int(b, &p->degree, 0, SDM_POINT_MAX_DEGREE);
    move_int(b, &p->terms, 0, SDM_POINT_MAX_TERMS);
    move_reals(b, p->coef, SDM_POINT_MAX_TERMS);
    move_whole(b, &p->profile_row0, INT64_MIN, INT64_MAX);
    move_int(b, &p->profile_step_px, 0, INT32_MAX);
    move_int(b, &p->profile_count, 0, INT32_MAX);
    move_numbers(b, &p->profile_px, p->profile_count, sizeof(double));
}

static void move_along(Body *b, SdmAlongCorrection *a)
{
    MOVE_EACH(b, &a->east_m, &a->north_m);
    move_int(b, &a->degree, 0, SDM_ALONG_MAX_DEGREE);
    move_reals(b, a->coef, SDM_ALONG_MAX_TERMS);
    for (int k = 0; k < 2; k++) {
        move_int(b, &a->waves[k], 0, SDM_ALONG_WAVES);
        for (int i = 0; i < SDM_ALONG_WAVES; i++)
            MOVE_EACH(b, &a->wave[k][i].per_row, &a->wave[k][i].cos_px, &a->wave[k][i].sin_px);
    }
}

static void move_round(Body *b, SdmPointRound *r)
{
    int *const wholes[] = {&r->matches, &r->inliers, &r->degree, &r->level};
    _Static_assert(sizeof(SdmPointSample) == 4 * sizeof(float), "a sample is four floats");
    MOVE_EACH(b, &r->before_median_px, &r->before_nmad_px, &r->after_nmad_px, &r->cross_validation_px,
              &r->profile_rms_px);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        move_int(b, wholes[i], INT32_MIN, INT32_MAX);
    move_int(b, &r->sample_count, 0, INT32_MAX);
    move_numbers(b, &r->samples, 4 * (int64_t)r->sample_count, sizeof(float));
}

static void move_points(Body *b, SdmPointReport *p)
{
    int rounds = p->rounds;
    move_int(b, &rounds, 0, (int)(sizeof p->round / sizeof *p->round));
    for (int i = 0; i < rounds && !b->bad; i++) {
        p->rounds = rounds;
        move_round(b, &p->round[i]);
    }
}

static void move_window(Body *b, SdmWindow *w)
{
    move_int(b, &w->level, 0, 30);
    move_whole(b, &w->u0, -MOST, MOST);
    move_whole(b, &w->v0, -MOST, MOST);
    move_int(b, &w->w, 1, INT32_MAX);
    move_int(b, &w->h, 1, INT32_MAX);
}

/* Heights and flags of the coarse surface, and of the terrain in the same window. */
static void move_surfaces(Body *b, SdmPrepared *p)
{
    SdmTerrainMask *const t = &p->terrain;
    move_window(b, &p->coarse.win);
    move_window(b, &t->win);
    const int64_t n = (int64_t)p->coarse.win.w * p->coarse.win.h;
    move_numbers(b, &p->coarse.h_m, n, sizeof(float));
    move_numbers(b, &p->coarse.flags, n, sizeof *p->coarse.flags);
    move_numbers(b, &t->h_m, n, sizeof(float));
    move_numbers(b, &t->distance_px, n, sizeof(uint16_t));
}

static void move_grid(Body *b, SdmGrid *g)
{
    move_text(b, g->wkt, sizeof g->wkt);
    MOVE_EACH(b, &g->x0, &g->y0, &g->spacing);
    move_whole(b, &g->cols, 0, MOST);
    move_whole(b, &g->rows, 0, MOST);
    move_bool(b, &g->geographic);
}

static void move_bins(Body *b, SdmReferenceBins *bins)
{
    move_reals(b, &bins->step_px, 1);
    move_int(b, &bins->count, 0, INT32_MAX);
    move_numbers(b, &bins->value_px, bins->count, sizeof(float));
}

static void move_reference(Body *b, SdmReferenceReport *r)
{
    bool has_mask = r->left_out != NULL;
    move_int(b, &r->state, SDM_REFERENCE_NONE, SDM_REFERENCE_FITTED);
    move_text(b, r->datum, sizeof r->datum);
    move_text(b, r->reason, sizeof r->reason);
    move_text(b, r->question, sizeof r->question);
    MOVE_EACH(b, &r->cell_m, &r->px_per_m, &r->row_m, &r->covered, &r->masked, &r->fit.point_px,
              &r->fit.rows_seen, &r->shift_m[0], &r->shift_m[1], &r->shift_m[2], &r->fit.correction_px);
    move_reals(b, r->fit.constant_px, SDM_ALONG_SCHEMES);
    move_reals(b, r->fit.fitted_px, SDM_ALONG_SCHEMES);
    for (int i = 0; i < 4; i++)
        MOVE_EACH(b, &r->spread[i / 2][i % 2].median_m, &r->spread[i / 2][i % 2].nmad_m);
    for (int k = 0; k < 2; k++)
        move_bins(b, &r->bins[k]);
    move_bool(b, &has_mask);
    if (!has_mask)
        return;
    move_grid(b, &r->grid);
    move_numbers(b, &r->left_out, r->grid.cols * r->grid.rows, 1);
}

static void move_prepared(Body *b, void *object)
{
    SdmPrepared *const p = object;
    move_frame(b, &p->frame);
    for (int i = 0; i < 2; i++) {
        move_text(b, p->camera[i].source, sizeof p->camera[i].source);
        move_text(b, p->camera[i].doubt, sizeof p->camera[i].doubt);
        move_int(b, &p->camera[i].bin, 0, INT32_MAX);
        move_radiometry(b, &p->radiometry[i]);
    }
    move_measured(b, &p->settings.measured);
    MOVE_EACH(b, &p->hmin_m, &p->hmax_m, &p->max_update_m, &p->lattice_error_px);
    move_grid(b, &p->grid);
    move_pointing(b, &p->pointing);
    move_along(b, &p->along);
    move_reference(b, &p->reference);
    move_text(b, p->prior.datum, sizeof p->prior.datum);
    move_reals(b, &p->prior.covered, 1);
    move_points(b, &p->points);
    move_surfaces(b, p);
}

/* ---- a product's record ---- */

static void move_usage(Body *b, SdmUsage *u)
{
    MOVE_EACH(b, &u->wall_s, &u->user_s, &u->system_s, &u->peak_bytes, &u->ended_s);
    move_reals(b, u->stage_s, SDM_USAGE_STAGES);
    move_bytes(b, u->host, sizeof u->host);
    u->host[sizeof u->host - 1] = '\0';
}

/* The files that it was made from, and the doubts. */
static void move_lists(Body *b, SdmDemResult *r)
{
    move_int(b, &r->files, 0, INT32_MAX);
    move_int(b, &r->doubts, 0, SDM_MAX_WARNINGS);
    if (!begin_list(b, &r->file, r->files, sizeof *r->file, 3 * sizeof(int64_t)) ||
        !begin_list(b, &r->doubt, r->doubts, sizeof *r->doubt, sizeof(int64_t)))
        return;
    for (int i = 0; i < r->files; i++) {
        move_text(b, r->file[i].path, sizeof r->file[i].path);
        move_whole(b, &r->file[i].size_bytes, INT64_MIN, INT64_MAX);
        move_whole(b, &r->file[i].mtime_s, INT64_MIN, INT64_MAX);
    }
    for (int i = 0; i < r->doubts; i++)
        move_text(b, r->doubt[i].text, sizeof r->doubt[i].text);
}

static void move_record(Body *b, void *object)
{
    SdmProductRecord *const p = object;
    SdmDemResult *const r = &p->result;
    r->known = true;
    move_whole(b, &r->cols, 0, MOST);
    move_whole(b, &r->rows, 0, MOST);
    MOVE_EACH(b, &r->spacing, &r->coverage, &r->pointing_residual_px, &r->tie_points, &r->matched_share,
              &r->wall_s);
    move_whole(b, &p->dem_bytes, -1, INT64_MAX);
    move_whole(b, &p->dem_mtime_us, INT64_MIN, INT64_MAX);
    move_bytes(b, &p->dem_hash, sizeof p->dem_hash);
    move_lists(b, r);
    move_whole(b, &p->units, 0, MOST);
    if (!begin_list(b, &p->unit, p->units, sizeof *p->unit, 15 * sizeof(double) + sizeof p->unit->host))
        return;
    for (int64_t i = 0; i < p->units; i++)
        move_usage(b, &p->unit[i]);
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
    _Static_assert(offsetof(Header, usage) == 40, "no gaps between the fields of a header");
    move_bytes(b, h, offsetof(Header, usage));
    move_usage(b, &h->usage);
}

/* Write the checksum of what was written, header or body. */
static void end_writing(Body *b)
{
    if (b->used)
        flush_piece(b);
    sdm_file_put(b->to, &b->sum, sizeof b->sum);
    b->sum = 0;
}

/* Compare the checksum of the header or body just read with the one that follows it. */
static bool ends_well(Body *b)
{
    uint64_t sum;
    if (b->bad || fread(&sum, sizeof sum, 1, b->from) != 1)
        return false;
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

static size_t size_of(SdmUnitKind kind)
{
    return kind == SDM_UNIT_BLOCK      ? sizeof(SdmBlock)
           : kind == SDM_UNIT_PREPARED ? sizeof(SdmPrepared)
                                       : sizeof(SdmProductRecord);
}

/* The function that writes and reads the body of a kind. */
static sdm_move_fn *move_of(SdmUnitKind kind)
{
    return kind == SDM_UNIT_BLOCK ? move_block : kind == SDM_UNIT_PREPARED ? move_prepared : move_record;
}

SdmStatus sdm_unit_write(SdmContext *ctx, const SdmUnitName *name, const void *what, const SdmUsage *usage,
                         bool sync, SdmLease *lease)
{
    union {
        SdmBlock block;
        SdmProductRecord record;
        SdmPrepared prepared;
    } copy; /* shallow: not changed by writing */
    SdmFileWriter w;
    SDM_OWNED Body *body = NULL;
    Header h = make_header(name);
    sdm_move_fn *const move = move_of(name->kind);
    memcpy(&copy, what, size_of(name->kind));
    if (usage)
        h.usage = *usage;
    PASS(sdm_alloc(ctx, &body, 1, sizeof *body, "a file's buffer"));
    move(body, &copy); /* COUNT */
    h.body_bytes = body->bytes;
    PASS(sdm_file_create(ctx, name->path, &w));
    body->way = WRITE;
    body->to = &w;
    move_header(body, &h);
    end_writing(body);
    move(body, &copy);
    end_writing(body);
    PASS(sdm_file_close(ctx, &w, sync));
    const SdmStatus st = sdm_lease_check(ctx, lease);
    if (st == SDM_OK)
        return sdm_file_rename(ctx, &w);
    sdm_file_discard(&w);
    return st;
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
    const Header want = make_header(name);
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "a file's buffer"));
    (*out)->way = READ;
    (*out)->from = fopen(name->path, "rb");
    if (!(*out)->from)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: %s", name->path, strerror(errno));
    return check_header(ctx, name->path, *out, &want, h);
}

/* Read the rest of the body and compare its checksum. */
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
    Header h;
    SDM_CLOSED_BY(close_file) Body *body = NULL;
    PASS(open_file(ctx, name, &h, &body));
    body->ctx = ctx;
    if (object)
        move_of(name->kind)(body, object);
    PASS(body->st);
    while (!object && body->bytes > 0 && !body->bad) {
        fill_piece(body);
        body->used = body->filled;
    }
    PASS(end_body(ctx, name->path, body));
    if (usage)
        *usage = h.usage;
    if (object && name->kind == SDM_UNIT_PREPARED && !is_consistent(object))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: a value in it cannot be", name->path);
    return SDM_OK;
}

SdmStatus sdm_unit_read(SdmContext *ctx, const SdmUnitName *name, void *what, SdmUsage *usage)
{
    memset(what, 0, size_of(name->kind));
    const SdmStatus st = read_file(ctx, name, what, usage);
    if (st == SDM_OK)
        return st;
    if (name->kind == SDM_UNIT_BLOCK)
        sdm_block_free(what);
    else if (name->kind == SDM_UNIT_PREPARED)
        sdm_prepared_free(what);
    else
        sdm_product_record_free(what);
    memset(what, 0, size_of(name->kind));
    return st;
}

SdmStatus sdm_unit_check(SdmContext *ctx, const SdmUnitName *name)
{
    return read_file(ctx, name, NULL, NULL);
}

bool sdm_unit_peek(const SdmUnitName *name, SdmUsage *usage)
{
    Header h;
    SDM_CLOSED_BY(close_file) Body *body = NULL;
    if (open_file(NULL, name, &h, &body) != SDM_OK)
        return false;
    *usage = h.usage;
    return true;
}
