/* HDF4 file: descriptors -> groups -> linked blocks -> one deflated stream -> samples. */
// SPDX-License-Identifier: Apache-2.0
#include "input/hdf4_bands.h"

#include <cpl_conv.h>
#include <stdio.h>
#include <string.h>

/* Tags and codes of the format; numbers in files are big-endian. */
enum {
    TAG_NONE = 1,
    TAG_LINKED = 20,
    TAG_COMPRESSED = 40,
    TAG_SCIENTIFIC_DATA = 702,
    TAG_NUMERIC_GROUP = 720,
    TAG_VGROUP = 1965,
    SPECIAL = 0x4000, /* bit of a tag: the element begins with a code that says how its data is stored */
    CODE_LINKED = 1,
    CODE_COMPRESSED = 3,
    CODER_DEFLATE = 4
};
enum {
    MOST_DESCRIPTORS = 1 << 16,
    MOST_GROUP = 1 << 16,   /* bytes of a group */
    MOST_BAND = 1 << 28     /* bytes of a band, packed and unpacked */
};

typedef struct Descriptor {
    unsigned tag, ref;
    long offset, length;
} Descriptor;

/* An element in memory, zeros behind it. */
typedef struct Element {
    uint8_t byte[MOST_GROUP + 8];
    size_t length;
} Element;

typedef struct File {
    FILE *file;
    int count;
    Descriptor descriptor[MOST_DESCRIPTORS];
    Element vgroup, group;
} File;

static unsigned u16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static int32_t i32(const uint8_t *p)
{
    return (int32_t)((uint32_t)u16(p) << 16 | u16(p + 2));
}

static bool read_at(const File *f, long offset, void *out, size_t bytes)
{
    return offset >= 0 && fseek(f->file, offset, SEEK_SET) == 0 && fread(out, 1, bytes, f->file) == bytes;
}

/* All descriptors, block by block; false: no HDF4 file, or it has too many. */
static bool read_descriptors(File *f)
{
    uint8_t head[6], d[12];
    long at = 4;
    for (int blocks = 0; at != 0; blocks++) {
        if (blocks == MOST_DESCRIPTORS || !read_at(f, at, head, sizeof head))
            return false;
        for (unsigned i = 0; i < u16(head); i++) {
            if (f->count == MOST_DESCRIPTORS || fread(d, 1, sizeof d, f->file) != sizeof d)
                return false;
            if (u16(d) != TAG_NONE)
                f->descriptor[f->count++] = (Descriptor){u16(d), u16(d + 2), i32(d + 4), i32(d + 8)};
        }
        at = i32(head + 2);
    }
    return true;
}

static const Descriptor *find(const File *f, unsigned tag, unsigned ref)
{
    for (int i = 0; i < f->count; i++)
        if (f->descriptor[i].tag == tag && f->descriptor[i].ref == ref)
            return &f->descriptor[i];
    return NULL;
}

static bool load(const File *f, const Descriptor *d, Element *out)
{
    if (!d || d->length < 0 || d->length > MOST_GROUP || !read_at(f, d->offset, out->byte, (size_t)d->length))
        return false;
    out->length = (size_t)d->length;
    memset(out->byte + out->length, 0, 8);
    return true;
}

/* Load a Vgroup if it has this name.  Content: count, tags, refs, length and letters of the name ... */
static bool is_vgroup(File *f, const Descriptor *d, const char *name)
{
    const Element *const e = &f->vgroup;
    if (!load(f, d, &f->vgroup))
        return false;
    const size_t at = 2 + 4 * (size_t)u16(e->byte), length = strlen(name);
    return at + 2 + length <= e->length && u16(e->byte + at) == length &&
           memcmp(e->byte + at + 2, name, length) == 0;
}

/* Member i of the loaded Vgroup, if it is of this kind. */
static const Descriptor *member(const File *f, unsigned i, unsigned tag)
{
    const uint8_t *const e = f->vgroup.byte;
    return u16(e + 2 + 2 * i) == tag ? find(f, tag, u16(e + 2 + 2 * (u16(e) + i))) : NULL;
}

/* Load the fields of a swath: the group "Data Fields" in the group of its name. */
static bool load_fields(File *f, const char *swath)
{
    for (int i = 0; i < f->count; i++) {
        const Descriptor *inside[16];
        unsigned n = 0;
        if (f->descriptor[i].tag != TAG_VGROUP || !is_vgroup(f, &f->descriptor[i], swath))
            continue;
        for (unsigned k = 0; k < u16(f->vgroup.byte) && n < 16; k++)
            n += (inside[n] = member(f, k, TAG_VGROUP)) != NULL;
        while (n > 0)
            if (is_vgroup(f, inside[--n], "Data Fields"))
                return true;
    }
    return false;
}

/* Where a stream lies: in one block, or in linked ones. */
typedef struct Stream {
    const Descriptor *whole; /* NULL: linked */
    unsigned table, each;    /* ref of the first table of blocks; refs in a table */
    size_t length, samples;  /* packed and unpacked bytes */
} Stream;

/* The deflated data of a numeric group, which is a list of tags and refs; false where it has none. */
static bool stream_of(File *f, const Descriptor *numeric, Stream *out)
{
    const Descriptor *data = NULL, *linked;
    uint8_t head[16];
    if (!load(f, numeric, &f->group))
        return false;
    for (size_t i = 0; i + 4 <= f->group.length && !data; i += 4)
        if (u16(f->group.byte + i) == TAG_SCIENTIFIC_DATA)
            data = find(f, TAG_SCIENTIFIC_DATA | SPECIAL, u16(f->group.byte + i + 2));
    if (!data || data->length < 14 || !read_at(f, data->offset, head, 14) || u16(head) != CODE_COMPRESSED ||
        u16(head + 12) != CODER_DEFLATE)
        return false;
    const int32_t samples = i32(head + 4);
    const unsigned ref = u16(head + 8);
    *out = (Stream){.whole = find(f, TAG_COMPRESSED, ref), .samples = samples > 0 ? (size_t)samples : 0};
    linked = find(f, TAG_COMPRESSED | SPECIAL, ref);
    if (out->whole) {
        out->length = out->whole->length > 0 ? (size_t)out->whole->length : 0;
    } else if (linked && linked->length >= 16 && read_at(f, linked->offset, head, 16) &&
               u16(head) == CODE_LINKED) {
        const int32_t length = i32(head + 2), each = i32(head + 10);
        out->length = length > 0 ? (size_t)length : 0;
        out->each = each > 0 && each < MOST_GROUP / 2 - 1 ? (unsigned)each : 0;
        out->table = u16(head + 14);
    }
    return out->length > 0 && out->length <= MOST_BAND && out->samples > 0 && out->samples <= MOST_BAND;
}

static bool find_band(File *f, const char *swath, Stream *out)
{
    Stream s;
    *out = (Stream){.samples = 0};
    for (unsigned i = 0, n = load_fields(f, swath) ? u16(f->vgroup.byte) : 0; i < n; i++)
        if (stream_of(f, member(f, i, TAG_NUMERIC_GROUP), &s) && s.samples > out->samples)
            *out = s;
    return out->samples > 0;
}

/* The packed bytes of a stream, as many as it has. */
static bool read_stream(File *f, const Stream *s, uint8_t *out)
{
    if (s->whole)
        return read_at(f, s->whole->offset, out, s->length);
    size_t done = 0;
    unsigned table = s->table;
    for (int tables = 0; done < s->length && table && tables < MOST_DESCRIPTORS; tables++) {
        if (!load(f, find(f, TAG_LINKED, table), &f->group) || f->group.length < 2 + 2 * (size_t)s->each)
            return false;
        table = u16(f->group.byte);
        for (unsigned i = 0; i < s->each && done < s->length; i++) {
            const Descriptor *const block = find(f, TAG_LINKED, u16(f->group.byte + 2 + 2 * i));
            const size_t left = s->length - done,
                         n = !block || block->length <= 0     ? 0
                             : (size_t)block->length < left ? (size_t)block->length
                                                              : left;
            if (n == 0 || !read_at(f, block->offset, out + done, n))
                return false;
            done += n;
        }
    }
    return done == s->length;
}

static void unpack(const Stream *s, const uint8_t *packed, SdmUnpackedBand *out)
{
    size_t size = 0;
    if (!CPLZLibInflate(packed, s->length, out->sample, s->samples, &size) || size != s->samples)
        sdm_free(&out->sample);
    out->bytes = out->sample ? s->samples : 0;
}

SdmStatus sdm_hdf4_unpack(SdmContext *ctx, const char *path, const char *const swath[2],
                          SdmUnpackedBand out[2])
{
    SdmStatus st = SDM_OK;
    File *f = NULL;
    Stream s[2];
    uint8_t *packed[2] = {NULL, NULL};
    memset(out, 0, 2 * sizeof *out);
    TRY(sdm_alloc(ctx, &f, 1, sizeof *f, "HDF4 descriptors"));
    f->file = fopen(path, "rb");
    if (!f->file || !read_descriptors(f) || !find_band(f, swath[0], &s[0]) || !find_band(f, swath[1], &s[1]))
        goto done;
    for (int k = 0; k < 2; k++) {
        TRY(sdm_alloc_raw(ctx, &packed[k], s[k].length, 1, "packed ASTER band"));
        if (!read_stream(f, &s[k], packed[k]))
            goto done;
    }
    for (int k = 0; k < 2; k++)
        TRY(sdm_alloc_raw(ctx, &out[k].sample, s[k].samples, 1, "ASTER band"));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1)
    for (int k = 1; k >= 0; k--) /* the longer one first */
        unpack(&s[k], packed[k], &out[k]);
done:
    for (int k = 0; k < 2; k++) {
        sdm_free(&packed[k]);
        if (st != SDM_OK)
            sdm_free(&out[k].sample);
    }
    if (f && f->file)
        fclose(f->file);
    sdm_free(&f);
    return st;
}
