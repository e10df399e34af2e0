/* Unit files: header, arrays, checksum; written aside and renamed when whole. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"
#include "core/path.h"
#include "job/unit_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };
static const char MAGIC[8] = "SDMUNIT2";

typedef struct Header {
    char magic[8];
    uint64_t fingerprint, kind;
    int64_t size[4];
    double stage_s[SDM_UNIT_STAGES];
} Header;

typedef struct File {
    FILE *f;
    uint64_t sum;
    bool bad;
} File;

/* The sum goes by pieces from the start of each array, so a file can be checked without room for it. */
static void add_to_sum(File *f, const void *data, size_t size)
{
    for (const char *p = data; size > 0;) {
        const size_t n = size < PIECE ? size : PIECE;
        f->sum = sdm_hash(f->sum, p, n);
        p += n;
        size -= n;
    }
}

static void put(File *f, const void *data, size_t size)
{
    add_to_sum(f, data, size);
    f->bad |= size > 0 && fwrite(data, 1, size, f->f) != size;
}

static void get(File *f, void *data, size_t size)
{
    if (f->bad || (size > 0 && fread(data, 1, size, f->f) != size)) {
        f->bad = true;
        return;
    }
    add_to_sum(f, data, size);
}

static SdmStatus open_aside(SdmContext *ctx, const char *path, char *aside, size_t size, File *f)
{
    *f = (File){0};
    const SdmStatus st = sdm_file_temporary_name(ctx, path, aside, size);
    if (st != SDM_OK)
        return st;
    f->f = fopen(aside, "wbx");
    if (!f->f)
        return sdm_fail(ctx, SDM_ERR_IO, "%s cannot be written: %s", aside, strerror(errno));
    return SDM_OK;
}

static SdmStatus close_aside(SdmContext *ctx, const char *path, const char *aside, bool sync, File *f)
{
    const uint64_t sum = f->sum;
    put(f, &sum, sizeof sum);
    int err = f->bad ? errno : 0;
    if (fflush(f->f) != 0 || (sync && fsync(fileno(f->f)) != 0)) {
        err = errno;
        f->bad = true;
    }
    if (fclose(f->f) != 0)
        f->bad = true;
    if (!f->bad && rename(aside, path) == 0)
        return SDM_OK;
    err = err ? err : errno;
    remove(aside);
    return sdm_fail(ctx, SDM_ERR_IO,
                    "%s cannot be written whole: %s; %s and give the same command again", path,
                    strerror(err), sdm_file_advice(err));
}

enum { KIND_BLOCK = 1, KIND_PREPARED = 2 };

static void block_arrays(File *f, const SdmBlock *b, void (*move)(File *, void *, size_t))
{
    const size_t n = (size_t)(b->w * b->h);
    float *const floats[] = {b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho};
    for (int i = 0; i < 5; i++)
        move(f, floats[i], n * sizeof(float));
    move(f, b->count, n * sizeof(uint16_t));
    move(f, b->mask, n * sizeof(uint16_t));
}

static void put_array(File *f, void *data, size_t size)
{
    put(f, data, size);
}

static Header make_header(uint64_t fingerprint, uint64_t kind, const double *stage_s)
{
    Header h = {.fingerprint = fingerprint, .kind = kind};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    if (stage_s)
        memcpy(h.stage_s, stage_s, sizeof h.stage_s);
    return h;
}

SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *b,
                         const double *stage_s, bool sync)
{
    File f;
    char aside[SDM_PATH_SIZE + 64];
    const SdmStatus st = open_aside(ctx, path, aside, sizeof aside, &f);
    if (st != SDM_OK)
        return st;
    Header h = make_header(fingerprint, KIND_BLOCK, stage_s);
    const int64_t size[4] = {b->col0, b->row0, b->w, b->h};
    memcpy(h.size, size, sizeof size);
    put(&f, &h, sizeof h);
    block_arrays(&f, b, put_array);
    return close_aside(ctx, path, aside, sync, &f);
}

static SdmStatus open_checked(SdmContext *ctx, const char *path, uint64_t fingerprint, uint64_t kind,
                              Header *h, File *f)
{
    *f = (File){.f = fopen(path, "rb")};
    if (!f->f)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: %s", path, strerror(errno));
    get(f, h, sizeof *h);
    if (f->bad || memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || h->fingerprint != fingerprint ||
        h->kind != kind) {
        fclose(f->f);
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s belongs to another job or is damaged", path);
    }
    return SDM_OK;
}

/* Sizes come out of the file, so they are held against its length before anything is allocated for them. */
static SdmStatus check_length(SdmContext *ctx, const char *path, File *f, uint64_t payload)
{
    struct stat s;
    if (!f->bad && fstat(fileno(f->f), &s) == 0 &&
        (uint64_t)s.st_size == sizeof(Header) + payload + sizeof f->sum)
        return SDM_OK;
    fclose(f->f);
    return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its length does not fit", path);
}

static SdmStatus close_checked(SdmContext *ctx, const char *path, File *f)
{
    const uint64_t mine = f->sum;
    uint64_t sum = ~mine;
    get(f, &sum, sizeof sum);
    fclose(f->f);
    if (f->bad || sum != mine)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: its checksum does not fit", path);
    return SDM_OK;
}

/* Bytes of the arrays of a block; UINT64_MAX when its sizes cannot be. */
static uint64_t block_bytes(const Header *h)
{
    const int64_t most = INT32_MAX, *const z = h->size;
    if (z[0] < 0 || z[1] < 0 || z[2] < 0 || z[3] < 0 || z[2] > most || z[3] > most)
        return UINT64_MAX;
    return (uint64_t)(z[2] * z[3]) * (5 * sizeof(float) + 2 * sizeof(uint16_t));
}

SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *b, double *stage_s)
{
    File f;
    Header h;
    SdmStatus st = open_checked(ctx, path, fingerprint, KIND_BLOCK, &h, &f);
    if (st != SDM_OK)
        return st;
    st = check_length(ctx, path, &f, block_bytes(&h));
    if (st != SDM_OK)
        return st;
    st = sdm_block_alloc(ctx, h.size[0], h.size[1], h.size[2], h.size[3], b);
    if (st != SDM_OK) {
        fclose(f.f);
        return st;
    }
    block_arrays(&f, b, get);
    st = close_checked(ctx, path, &f);
    if (st != SDM_OK)
        sdm_block_free(b);
    else if (stage_s)
        memcpy(stage_s, h.stage_s, sizeof h.stage_s);
    return st;
}

SdmStatus sdm_unit_check(SdmContext *ctx, const char *path, uint64_t fingerprint)
{
    File f;
    Header h;
    char piece[PIECE];
    SdmStatus st = open_checked(ctx, path, fingerprint, KIND_BLOCK, &h, &f);
    if (st != SDM_OK)
        return st;
    st = check_length(ctx, path, &f, block_bytes(&h));
    if (st != SDM_OK)
        return st;
    for (int array = 0; array < 7; array++)
        for (uint64_t left = (uint64_t)(h.size[2] * h.size[3]) * (array < 5 ? 4 : 2); left > 0 && !f.bad;) {
            const size_t n = left < sizeof piece ? (size_t)left : sizeof piece;
            get(&f, piece, n);
            left -= n;
        }
    return close_checked(ctx, path, &f);
}

bool sdm_unit_peek(const char *path, uint64_t fingerprint, bool prepared, double stage_s[SDM_UNIT_STAGES])
{
    File f;
    Header h;
    struct stat s;
    if (open_checked(NULL, path, fingerprint, prepared ? KIND_PREPARED : KIND_BLOCK, &h, &f) != SDM_OK)
        return false;
    bool good = fstat(fileno(f.f), &s) == 0;
    if (!prepared)
        good = good && block_bytes(&h) != UINT64_MAX &&
               (uint64_t)s.st_size == sizeof h + block_bytes(&h) + sizeof f.sum;
    fclose(f.f);
    memcpy(stage_s, h.stage_s, sizeof h.stage_s);
    return good;
}

SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p,
                             const double *stage_s, bool sync)
{
    File f;
    char aside[SDM_PATH_SIZE + 64];
    const SdmStatus st = open_aside(ctx, path, aside, sizeof aside, &f);
    if (st != SDM_OK)
        return st;
    const size_t n = (size_t)p->coarse.win.w * (size_t)p->coarse.win.h;
    Header h = make_header(fingerprint, KIND_PREPARED, stage_s);
    const int64_t size[4] = {(int64_t)n, p->pointing.profile_count, p->points.rounds, (int64_t)sizeof *p};
    memcpy(h.size, size, sizeof size);
    put(&f, &h, sizeof h);
    put(&f, p, sizeof *p); /* pointers in it are set anew by the reader */
    put(&f, p->coarse.h_m, n * sizeof(float));
    put(&f, p->terrain.h_m, n * sizeof(float));
    put(&f, p->terrain.away, n * sizeof(uint16_t));
    put(&f, p->pointing.profile_px, (size_t)p->pointing.profile_count * sizeof(double));
    for (int i = 0; i < p->points.rounds; i++)
        put(&f, p->points.round[i].samples, (size_t)p->points.round[i].sample_count * sizeof(SdmPointSample));
    return close_aside(ctx, path, aside, sync, &f);
}

/* Bytes behind the struct, as its own sizes have it; 0 when they cannot be. */
static uint64_t prepared_bytes(const SdmPrepared *p)
{
    const SdmWindow *const win = &p->coarse.win;
    if (win->w <= 0 || win->h <= 0 || p->pointing.profile_count < 0 || p->points.rounds < 0 ||
        p->points.rounds > 4)
        return 0;
    uint64_t n = (uint64_t)win->w * (uint64_t)win->h * (2 * sizeof(float) + sizeof(uint16_t)) +
                 (uint64_t)p->pointing.profile_count * sizeof(double);
    for (int i = 0; i < p->points.rounds; i++) {
        if (p->points.round[i].sample_count < 0)
            return 0;
        n += (uint64_t)p->points.round[i].sample_count * sizeof(SdmPointSample);
    }
    return n;
}

static SdmStatus read_arrays(SdmContext *ctx, File *f, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    const SdmWindow win = p->coarse.win;
    const size_t n = (size_t)win.w * (size_t)win.h;
    p->coarse = (SdmSurface){0};
    p->terrain.h_m = NULL;
    p->terrain.away = NULL;
    p->pointing.profile_px = NULL;
    for (int i = 0; i < 4; i++)
        p->points.round[i].samples = NULL;
    TRY(sdm_surface_alloc(ctx, &win, &p->coarse));
    get(f, p->coarse.h_m, n * sizeof(float));
    TRY(sdm_alloc(ctx, &p->terrain.h_m, n, sizeof(float), "the terrain"));
    get(f, p->terrain.h_m, n * sizeof(float));
    TRY(sdm_alloc(ctx, &p->terrain.away, n, sizeof(uint16_t), "the terrain"));
    get(f, p->terrain.away, n * sizeof(uint16_t));
    TRY(sdm_alloc(ctx, &p->pointing.profile_px, (size_t)p->pointing.profile_count + 1, sizeof(double),
                  "the profile"));
    get(f, p->pointing.profile_px, (size_t)p->pointing.profile_count * sizeof(double));
    for (int i = 0; i < p->points.rounds; i++) {
        SdmPointRound *const r = &p->points.round[i];
        TRY(sdm_alloc(ctx, &r->samples, (size_t)r->sample_count + 1, sizeof *r->samples, "samples"));
        get(f, r->samples, (size_t)r->sample_count * sizeof *r->samples);
    }
done:
    return st;
}

SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p,
                            double *stage_s)
{
    File f;
    Header h;
    SdmStatus st = open_checked(ctx, path, fingerprint, KIND_PREPARED, &h, &f);
    if (st != SDM_OK)
        return st;
    get(&f, p, sizeof *p);
    const uint64_t arrays = prepared_bytes(p);
    f.bad |= h.size[3] != (int64_t)sizeof *p || arrays == 0;
    st = check_length(ctx, path, &f, sizeof *p + arrays);
    if (st != SDM_OK) {
        *p = (SdmPrepared){0};
        return st;
    }
    p->settings.kernels = NULL; /* of another process */
    p->settings.cost = NULL;
    st = read_arrays(ctx, &f, p);
    const SdmStatus end = close_checked(ctx, path, &f);
    st = st != SDM_OK ? st : end;
    if (st != SDM_OK)
        sdm_prepared_free(p);
    else if (stage_s)
        memcpy(stage_s, h.stage_s, sizeof h.stage_s);
    return st;
}
