/* Header, body, checksums.  A body is the struct of its kind as it lies in memory, its pointers 0, then the
 * arrays that these lead to. */
// SPDX-License-Identifier: Apache-2.0
#include "job/unit_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "sdm_build.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");
/* A record is read by other builds, too. */
_Static_assert(sizeof(SdmProductRecord) == 152 && sizeof(SdmUsage) == 184 && sizeof(SdmDoubt) == 2048 &&
                   sizeof(SdmInputFile) == 1040,
               "another field is stored: give SDM_UNIT_FORMAT its next number");

/* ---- what bodies hold ---- */

typedef union Any {
    SdmBlock block;
    SdmPrepared prepared;
    SdmProductRecord record;
} Any;

static size_t size_of(SdmUnitKind kind)
{
    return kind == SDM_UNIT_BLOCK      ? sizeof(SdmBlock)
           : kind == SDM_UNIT_PREPARED ? sizeof(SdmPrepared)
                                       : sizeof(SdmProductRecord);
}

enum { MOST_ARRAYS = 16 };

/* An array that a pointer of the struct leads to. */
typedef struct Array {
    void *pointer; /* T ** */
    void *data;
    int64_t count; /* elements; below 0: it cannot be */
    size_t size;   /* of an element */
} Array;

typedef struct Arrays {
    Array item[MOST_ARRAYS];
    int count;
} Arrays;

/* Take an array out of the struct, whose pointer becomes NULL. */
static void take(Arrays *a, void *pointer, int64_t count, size_t size)
{
    Array *const to = &a->item[a->count++];
    *to = (Array){.pointer = pointer, .count = count, .size = size};
    memcpy(&to->data, pointer, sizeof to->data);
    memset(pointer, 0, sizeof to->data);
}
#define TAKE(arrays, pointer, count) take(arrays, &(pointer), count, sizeof *(pointer))

static int64_t cells(int64_t w, int64_t h)
{
    return w < 0 || h < 0 || w > INT32_MAX || h > INT32_MAX ? -1 : w * h;
}

static bool take_block(SdmBlock *b, Arrays *a)
{
    const int64_t n = cells(b->w, b->h);
    float **const floats[] = {&b->height_m, &b->score, &b->ray_error_m, &b->spread_m, &b->ortho};
    for (int i = 0; i < 5; i++)
        TAKE(a, *floats[i], n);
    TAKE(a, b->count, n);
    TAKE(a, b->mask, n);
    b->pairs = NULL;
    b->error_m = NULL;
    return cells(b->col0, b->row0) >= 0;
}

static bool take_prepared(SdmPrepared *p, Arrays *a)
{
    const SdmWindow *const win = &p->coarse.win, *const terrain = &p->terrain.win;
    const int64_t n = win->w > 0 && win->h > 0 ? cells(win->w, win->h) : -1;
    const SdmPointing *const pointing = &p->pointing;
    SdmReferenceReport *const r = &p->reference;
    p->settings.kernels = NULL;
    p->settings.cost = NULL;
    p->reference_dem = NULL;
    p->coarse.extent = NULL;
    p->coarse.score = NULL;
    TAKE(a, p->coarse.h_m, n);
    TAKE(a, p->coarse.flags, n);
    TAKE(a, p->terrain.h_m, n);
    TAKE(a, p->terrain.distance_px, n);
    TAKE(a, p->pointing.profile_px, pointing->profile_count);
    for (int i = 0; i < 4; i++)
        TAKE(a, p->points.round[i].samples, i < p->points.rounds ? p->points.round[i].sample_count : 0);
    for (int k = 0; k < 2; k++)
        TAKE(a, r->bins[k].value_px, r->bins[k].count);
    TAKE(a, r->left_out, sdm_reference_applied(r) ? cells(r->grid.cols, r->grid.rows) : 0);
    return win->w == terrain->w && win->h == terrain->h && win->level == p->settings.coarse_level &&
           win->level == terrain->level && p->settings.coarsest_level >= win->level &&
           p->grid.spacing > 0.0 && pointing->degree >= 0 && pointing->degree <= SDM_POINT_MAX_DEGREE &&
           pointing->terms <= (pointing->degree + 1) * (pointing->degree + 2) / 2 &&
           (pointing->profile_count == 0 || pointing->profile_step_px > 0) && p->points.rounds <= 4 &&
           (!sdm_reference_applied(r) || r->grid.spacing > 0.0);
}

static bool take_record(SdmProductRecord *p, Arrays *a)
{
    SdmDemResult *const r = &p->result;
    r->known = true;
    r->pair = NULL;
    r->pairs = 0;
    TAKE(a, r->doubt, r->doubts);
    TAKE(a, r->file, r->files);
    TAKE(a, p->unit, p->units);
    return r->doubts <= SDM_MAX_WARNINGS;
}

/* Take the arrays out of a struct and clear what is not stored of it; false: one of its values cannot be. */
static bool take_arrays(SdmUnitKind kind, void *object, Arrays *out)
{
    out->count = 0;
    return kind == SDM_UNIT_BLOCK      ? take_block(object, out)
           : kind == SDM_UNIT_PREPARED ? take_prepared(object, out)
                                       : take_record(object, out);
}

void sdm_product_record_free(SdmProductRecord *record)
{
    sdm_dem_result_free(&record->result);
    sdm_free(&record->unit);
}

/* ---- bytes, written or read ---- */

enum { SUM_BYTES = 8 };
static const char MAGIC[8] = {'S', 'D', 'M', 'U', 'N', 'I', 'T', '\n'};

typedef struct Header {
    char magic[8];
    uint32_t format, kind;
    uint64_t build, fingerprint, body_bytes;
    SdmUsage usage;
} Header;
_Static_assert(sizeof(Header) == 40 + sizeof(SdmUsage), "no gaps between the fields of a header");

static Header make_header(const SdmUnitName *name)
{
    Header h = {.format = SDM_UNIT_FORMAT,
                .kind = (uint32_t)name->kind,
                .build = SDM_BUILD_HASH,
                .fingerprint = name->fingerprint};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    return h;
}

typedef struct Stream {
    SdmFileWriter *to; /* NULL: reading */
    FILE *from;
    uint64_t sum; /* of what was moved since the last checksum */
    bool bad;     /* the file is cut short, or a checksum does not fit */
} Stream;

/* data NULL: read what is not kept. */
static void move(Stream *s, void *data, size_t size)
{
    unsigned char piece[SDM_UNIT_PIECE], *at = data;
    for (size_t n; size > 0 && !s->bad; size -= n) {
        unsigned char *const here = at ? at : piece;
        n = size < sizeof piece ? size : sizeof piece;
        if (s->to)
            sdm_file_put(s->to, here, n);
        else
            s->bad = fread(here, 1, n, s->from) != n;
        s->sum = sdm_hash(s->sum, here, n);
        at = at ? at + n : NULL;
    }
}

/* Write the checksum of the header or body just moved, or compare it with the one that follows. */
static void move_sum(Stream *s)
{
    uint64_t sum = s->sum;
    if (s->to)
        sdm_file_put(s->to, &sum, SUM_BYTES);
    else
        s->bad |= fread(&sum, SUM_BYTES, 1, s->from) != 1 || sum != s->sum;
    s->sum = 0;
}

/* ---- write ---- */

SdmStatus sdm_unit_write(SdmContext *ctx, const SdmUnitName *name, const void *what, const SdmUsage *usage,
                         bool sync, SdmLease *lease)
{
    Any copy;
    Arrays arrays;
    SdmFileWriter w;
    Stream s = {.to = &w};
    Header h = make_header(name);
    h.body_bytes = size_of(name->kind);
    memcpy(&copy, what, h.body_bytes);
    (void)take_arrays(name->kind, &copy, &arrays);
    for (int i = 0; i < arrays.count; i++) {
        Array *const a = &arrays.item[i];
        a->count = a->data ? a->count : 0;
        h.body_bytes += (size_t)a->count * a->size;
    }
    if (usage)
        h.usage = *usage;
    PASS(sdm_file_create(ctx, name->path, &w));
    move(&s, &h, sizeof h);
    move_sum(&s);
    move(&s, &copy, size_of(name->kind));
    for (int i = 0; i < arrays.count; i++)
        move(&s, arrays.item[i].data, (size_t)arrays.item[i].count * arrays.item[i].size);
    move_sum(&s);
    PASS(sdm_file_close(ctx, &w, sync));
    const SdmStatus st = sdm_lease_check(ctx, lease);
    if (st == SDM_OK)
        return sdm_file_rename(ctx, &w);
    sdm_file_discard(&w);
    return st;
}

/* ---- read ---- */

static SdmStatus read_header(SdmContext *ctx, const SdmUnitName *name, Stream *s, Header *h)
{
    const Header want = make_header(name);
    const char *const path = name->path;
    struct stat at;
    s->from = fopen(path, "rb");
    if (!s->from)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: %s", path, strerror(errno));
    move(s, h, sizeof *h);
    move_sum(s);
    if (s->bad || memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s is damaged, or of another stereodem version: it does not begin as a unit's file",
                        path);
    if (h->format != want.format)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s has format %u, this program writes format %u", path,
                        (unsigned)h->format, (unsigned)want.format);
    if (h->build != want.build && want.kind != SDM_UNIT_RECORD)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s was written by another build of stereodem (%016llx, this is %016llx)", path,
                        (unsigned long long)h->build, (unsigned long long)want.build);
    if (h->kind != want.kind || h->fingerprint != want.fingerprint)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s was made from other inputs or options", path);
    if (fstat(fileno(s->from), &at) != 0 || h->body_bytes < size_of(name->kind) ||
        h->body_bytes > (uint64_t)at.st_size ||
        (uint64_t)at.st_size != sizeof *h + SUM_BYTES + h->body_bytes + SUM_BYTES)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its length does not fit", path);
    return SDM_OK;
}

/* Do the arrays fill the rest of the body? */
static bool fit(const Arrays *arrays, uint64_t left)
{
    for (int i = 0; i < arrays->count; i++) {
        const Array *const a = &arrays->item[i];
        if (a->count < 0 || (uint64_t)a->count > left / a->size)
            return false;
        left -= (uint64_t)a->count * a->size;
    }
    return left == 0;
}

/* The struct of the body into object, and, unless its checksum is all that is asked for, the arrays. */
static SdmStatus read_body(SdmContext *ctx, const SdmUnitName *name, Stream *s, uint64_t bytes, void *object,
                           bool keep)
{
    Arrays arrays;
    const size_t size = size_of(name->kind);
    move(s, object, size);
    const bool good = take_arrays(name->kind, object, &arrays);
    if (!good || !fit(&arrays, bytes - size)) {
        memset(object, 0, size);
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: a value in it cannot be", name->path);
    }
    for (int i = 0; i < arrays.count; i++) {
        const Array *const a = &arrays.item[i];
        void *data = NULL;
        if (keep && a->count > 0)
            PASS(sdm_alloc_raw(ctx, &data, (size_t)a->count, a->size, "what a unit's file holds"));
        memcpy(a->pointer, &data, sizeof data);
        move(s, data, (size_t)a->count * a->size);
    }
    move_sum(s);
    return s->bad ? sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its checksum does not fit", name->path)
                  : SDM_OK;
}

static SdmStatus read_file(SdmContext *ctx, const SdmUnitName *name, void *object, bool keep, SdmUsage *usage)
{
    Header h;
    Stream s = {.to = NULL};
    SdmStatus st = read_header(ctx, name, &s, &h);
    if (st == SDM_OK && object)
        st = read_body(ctx, name, &s, h.body_bytes, object, keep);
    if (st == SDM_OK && usage)
        *usage = h.usage;
    if (s.from)
        fclose(s.from);
    return st;
}

SdmStatus sdm_unit_read(SdmContext *ctx, const SdmUnitName *name, void *what, SdmUsage *usage)
{
    memset(what, 0, size_of(name->kind));
    const SdmStatus st = read_file(ctx, name, what, true, usage);
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
    Any body;
    return read_file(ctx, name, &body, false, NULL);
}

bool sdm_unit_peek(const SdmUnitName *name, SdmUsage *usage)
{
    return read_file(NULL, name, NULL, false, usage) == SDM_OK;
}
