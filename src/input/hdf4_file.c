/* HDF4 file: descriptors -> groups, attributes, linked blocks -> one stream -> numbers or samples. */
// SPDX-License-Identifier: Apache-2.0
#include "input/hdf4_file.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

/* Tags and codes of the format; numbers in files are big-endian. */
enum {
    TAG_NONE = 1,
    TAG_LINKED = 20,
    TAG_COMPRESSED = 40,
    TAG_NUMBER_TYPE = 106,
    TAG_DIMENSIONS = 701,
    TAG_SCIENTIFIC_DATA = 702,
    TAG_NUMERIC_GROUP = 720,
    TAG_VDATA_HEAD = 1962,
    TAG_VDATA = 1963,
    TAG_VGROUP = 1965,
    SPECIAL = 0x4000, /* bit of a tag: the element begins with a code that says how its data is stored */
    CODE_LINKED = 1,
    CODE_COMPRESSED = 3,
    CODER_NONE = 0,
    CODER_RUNS = 1,
    CODER_DEFLATE = 4,
    TYPE_UCHAR = 3,
    TYPE_CHAR = 4,
    TYPE_FLOAT32 = 5,
    TYPE_FLOAT64 = 6,
    TYPE_INT8 = 20,
    TYPE_UINT8 = 21,
    TYPE_INT16 = 22,
    TYPE_UINT16 = 23,
    TYPE_INT32 = 24,
    TYPE_UINT32 = 25,
    ORDER_LITTLE = 4
};
enum {
    MOST_DESCRIPTORS = 1 << 16,
    MOST_MEMBERS = 1 << 20, /* of all groups */
    MOST_GROUP = 1 << 16,   /* bytes of a group or an attribute */
    MOST_TABLE = 1 << 24,   /* bytes of a table */
    MOST_BAND = 1 << 28,    /* bytes of a band, packed and unpacked */
    NAME_SIZE = 64
};

typedef struct Descriptor {
    unsigned tag, ref;
    int64_t offset, length;
} Descriptor;

/* An element in memory, zeros behind it. */
typedef struct Element {
    uint8_t byte[MOST_GROUP + 8];
    size_t length;
} Element;

typedef struct Variable { /* a numeric group */
    char swath[NAME_SIZE], name[NAME_SIZE];
} Variable;

struct SdmHdf4 {
    VSILFILE *file;
    char path[1024];
    int count, first, variables, members;    /* first: descriptor of the first numeric group */
    Descriptor descriptor[MOST_DESCRIPTORS]; /* by tag, then by ref */
    Variable *variable;
    char **metadata;
    Element element; /* the last that was loaded */
};

static unsigned u16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static int32_t i32(const uint8_t *p)
{
    return (int32_t)((uint32_t)u16(p) << 16 | u16(p + 2));
}

static bool read_at(const SdmHdf4 *f, int64_t offset, void *out, size_t bytes)
{
    return offset >= 0 && VSIFSeekL(f->file, (vsi_l_offset)offset, SEEK_SET) == 0 &&
           VSIFReadL(out, 1, bytes, f->file) == bytes;
}

static int by_tag_and_ref(const void *a, const void *b)
{
    const Descriptor *const x = a, *const y = b;
    const int64_t p = (int64_t)x->tag << 16 | x->ref, q = (int64_t)y->tag << 16 | y->ref;
    return p != q ? (p > q) - (p < q) : (x->offset > y->offset) - (x->offset < y->offset);
}

/* All descriptors, block by block; false: cut short, or too many. */
static bool read_descriptors(SdmHdf4 *f)
{
    uint8_t head[6], d[12];
    int64_t at = 4;
    for (int blocks = 0; at != 0; blocks++) {
        if (blocks == MOST_DESCRIPTORS || !read_at(f, at, head, sizeof head))
            return false;
        for (unsigned i = 0; i < u16(head); i++) {
            if (f->count == MOST_DESCRIPTORS || VSIFReadL(d, 1, sizeof d, f->file) != sizeof d)
                return false;
            if (u16(d) != TAG_NONE)
                f->descriptor[f->count++] = (Descriptor){u16(d), u16(d + 2), i32(d + 4), i32(d + 8)};
        }
        at = i32(head + 2);
    }
    qsort(f->descriptor, (size_t)f->count, sizeof *f->descriptor, by_tag_and_ref);
    while (f->first < f->count && f->descriptor[f->first].tag < TAG_NUMERIC_GROUP)
        f->first++;
    for (int i = f->first; i < f->count && f->descriptor[i].tag == TAG_NUMERIC_GROUP; i++)
        f->variables++;
    return true;
}

static const Descriptor *find(const SdmHdf4 *f, unsigned tag, unsigned ref)
{
    const int64_t wanted = (int64_t)tag << 16 | ref;
    int low = 0, high = f->count;
    while (low < high) {
        const int mid = low + (high - low) / 2;
        if (((int64_t)f->descriptor[mid].tag << 16 | f->descriptor[mid].ref) < wanted)
            low = mid + 1;
        else
            high = mid;
    }
    const Descriptor *const d = &f->descriptor[low];
    return low < f->count && d->tag == tag && d->ref == ref ? d : NULL;
}

static bool load(SdmHdf4 *f, const Descriptor *d)
{
    Element *const e = &f->element;
    if (!d || d->length < 0 || d->length > MOST_GROUP || !read_at(f, d->offset, e->byte, (size_t)d->length))
        return false;
    e->length = (size_t)d->length;
    memset(e->byte + e->length, 0, 8);
    return true;
}

/* A text with its length before it at *at of the loaded element, which moves behind it; long ones are cut. */
static void text_at(const SdmHdf4 *f, size_t *at, char out[NAME_SIZE])
{
    const size_t left = f->element.length > *at + 2 ? f->element.length - *at - 2 : 0;
    const size_t told = left ? u16(f->element.byte + *at) : 0, n = told < left ? told : left;
    snprintf(out, NAME_SIZE, "%.*s", (int)n, left ? (const char *)f->element.byte + *at + 2 : "");
    *at += 2 + n;
}

/* Members of the loaded Vgroup of one kind.  Content: count, tags, refs, name, class. */
static int list_members(SdmHdf4 *f, unsigned tag, const Descriptor **out, int most)
{
    const uint8_t *const e = f->element.byte;
    int n = 0;
    const unsigned count = 2 + 4 * (size_t)u16(e) <= f->element.length ? u16(e) : 0;
    for (unsigned i = 0; i < count && n < most; i++)
        if (f->members++ < MOST_MEMBERS && u16(e + 2 + 2 * i) == tag)
            n += (out[n] = find(f, tag, u16(e + 2 + 2 * (count + i)))) != NULL;
    return n;
}

/* Give the numeric groups in the loaded Vgroup its name, or that of the swath that it belongs to. */
static void name_variables(SdmHdf4 *f, const char *name, bool swath)
{
    enum { MOST = 1024 };
    const Descriptor *inside[MOST];
    for (int n = list_members(f, TAG_NUMERIC_GROUP, inside, MOST); n > 0; n--) {
        Variable *const v = &f->variable[inside[n - 1] - &f->descriptor[f->first]];
        memcpy(swath ? v->swath : v->name, name, NAME_SIZE);
    }
}

/* A Vgroup of class Var0.0 is a variable and has its name; one of class SWATH has groups of fields in it.
 * false: it cannot be read. */
static bool read_vgroup(SdmHdf4 *f, const Descriptor *d)
{
    char name[NAME_SIZE] = "", class[NAME_SIZE] = "";
    const Descriptor *groups[16];
    if (!load(f, d))
        return false;
    size_t at = 2 + 4 * (size_t)u16(f->element.byte);
    text_at(f, &at, name);
    text_at(f, &at, class);
    if (strcmp(class, "Var0.0") == 0)
        name_variables(f, name, false);
    if (strcmp(class, "SWATH") != 0)
        return true;
    for (int n = list_members(f, TAG_VGROUP, groups, 16); n > 0; n--)
        if (load(f, groups[n - 1]))
            name_variables(f, name, true);
    return true;
}

/* The word behind "=" of a line of an object description, without quotation marks and blanks around it. */
static const char *word_of(const char *line, char out[256])
{
    const char *const equals = strchr(line, '='), *const begin = equals + 1 + strspn(equals + 1, " \t\"(");
    size_t n = strcspn(begin, "\"\r");
    while (n > 0 && strchr(" \t)", begin[n - 1]))
        n--;
    snprintf(out, 256, "%.*s", (int)(n < 256 ? n : 255), begin);
    return out;
}

/* Objects of a text -> KEY=VALUE; a text without any is a value itself. */
static void add_text(SdmHdf4 *f, const char *name, const char *text)
{
    char key[256] = "", value[256];
    if (!strstr(text, "OBJECT")) {
        f->metadata = CSLAddNameValue(f->metadata, name, text);
        return;
    }
    char **const lines = CSLTokenizeString2(text, "\n", CSLT_STRIPLEADSPACES);
    for (int i = 0; lines && lines[i]; i++) {
        const bool object = EQUALN(lines[i], "OBJECT", 6), end = EQUALN(lines[i], "END_OBJECT", 10);
        if (end)
            *key = '\0';
        else if (object && strchr(lines[i], '='))
            word_of(lines[i], key);
        else if (*key && EQUALN(lines[i], "VALUE", 5) && strchr(lines[i], '='))
            f->metadata = CSLAddNameValue(f->metadata, key, word_of(lines[i], value));
    }
    CSLDestroy(lines);
}

/* Place of a stream: in one block, or in linked ones. */
typedef struct Stream {
    const Descriptor *whole; /* NULL: linked */
    unsigned table, each;    /* ref of the first table of blocks; refs in a table */
    unsigned coder;
    size_t length, size; /* packed and unpacked bytes */
} Stream;

/* The bytes of an element that is stored as it is, whole or in linked blocks; false where it is neither. */
static bool locate(const SdmHdf4 *f, unsigned tag, unsigned ref, Stream *out)
{
    const Descriptor *const linked = find(f, tag | SPECIAL, ref);
    uint8_t head[16];
    *out = (Stream){.whole = find(f, tag, ref)};
    if (out->whole) {
        out->length = out->whole->length > 0 ? (size_t)out->whole->length : 0;
    } else if (linked && linked->length >= 16 && read_at(f, linked->offset, head, 16) &&
               u16(head) == CODE_LINKED) {
        const int32_t length = i32(head + 2), each = i32(head + 10);
        out->length = length > 0 ? (size_t)length : 0;
        out->each = each > 0 && each < MOST_GROUP / 2 - 1 ? (unsigned)each : 0;
        out->table = u16(head + 14);
    }
    out->size = out->length;
    return out->length > 0 && out->length <= MOST_BAND;
}

/* The packed bytes of a stream, as many as it has. */
static bool read_stream(SdmHdf4 *f, const Stream *s, uint8_t *out)
{
    const uint8_t *const e = f->element.byte;
    if (s->whole)
        return read_at(f, s->whole->offset, out, s->length);
    size_t done = 0;
    unsigned table = s->table;
    for (int tables = 0; done < s->length && table && tables < MOST_DESCRIPTORS; tables++) {
        if (!load(f, find(f, TAG_LINKED, table)) || f->element.length < 2 + 2 * (size_t)s->each)
            return false;
        table = u16(e);
        for (unsigned i = 0; i < s->each && done < s->length; i++) {
            const Descriptor *const block = find(f, TAG_LINKED, u16(e + 2 + 2 * i));
            const size_t left = s->length - done, n = !block || block->length <= 0   ? 0
                                                      : (size_t)block->length < left ? (size_t)block->length
                                                                                     : left;
            if (n == 0 || !read_at(f, block->offset, out + done, n))
                return false;
            done += n;
        }
    }
    return done == s->length;
}

/* A Vdata of one field of characters and class Attr0.0 is a text attribute.  Head: interlace, records, bytes
 * of a record, fields, then of each its type, bytes, offset and count; names of the fields, name, class. */
static void read_attribute(SdmHdf4 *f, const Descriptor *d)
{
    char name[NAME_SIZE], class[NAME_SIZE];
    const uint8_t *const e = f->element.byte;
    Stream s;
    if (!load(f, d) || f->element.length < 18 || u16(e + 8) != 1 ||
        (u16(e + 10) != TYPE_CHAR && u16(e + 10) != TYPE_UCHAR))
        return;
    size_t at = 18;
    text_at(f, &at, name);
    text_at(f, &at, name);
    text_at(f, &at, class);
    if (strcmp(class, "Attr0.0") != 0 || !locate(f, TAG_VDATA, d->ref, &s) || s.length > MOST_GROUP)
        return;
    char *const text = VSICalloc(s.length + 1, 1);
    if (text && read_stream(f, &s, (uint8_t *)text))
        add_text(f, name, text);
    VSIFree(text);
}

static bool read_contents(SdmHdf4 *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->descriptor[i].tag == TAG_VGROUP && !read_vgroup(f, &f->descriptor[i]))
            return false;
        else if (f->descriptor[i].tag == TAG_VDATA_HEAD)
            read_attribute(f, &f->descriptor[i]);
    return f->members < MOST_MEMBERS;
}

SdmStatus sdm_hdf4_open(SdmContext *ctx, const char *path, SdmHdf4 **out)
{
    SDM_CLOSED_BY(sdm_hdf4_close) SdmHdf4 *f = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &f, 1, sizeof *f, "HDF4 descriptors"));
    PASS(sdm_format(ctx, f->path, sizeof f->path, "%s", path));
    f->file = VSIFOpenL(path, "rb");
    bool good = f->file && read_descriptors(f);
    if (good)
        PASS(sdm_alloc(ctx, &f->variable, (size_t)f->variables + 1, sizeof *f->variable, "HDF4 fields"));
    good = good && read_contents(f);
    if (!good)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: an HDF4 file whose list of contents cannot be read; it is cut short or damaged, "
                        "fetch it again",
                        path);
    *out = f;
    f = NULL;
    return SDM_OK;
}

void sdm_hdf4_close(SdmHdf4 **file)
{
    SdmHdf4 *const f = file ? *file : NULL;
    if (!f)
        return;
    if (f->file)
        VSIFCloseL(f->file);
    CSLDestroy(f->metadata);
    sdm_free(&f->variable);
    sdm_free(file);
}

bool sdm_hdf4_field(const SdmHdf4 *f, int i, const char **swath, const char **field)
{
    for (int k = 0; k < f->variables; k++)
        if (*f->variable[k].swath && i-- == 0) {
            *swath = f->variable[k].swath;
            *field = f->variable[k].name;
            return true;
        }
    return false;
}

char **sdm_hdf4_metadata(const SdmHdf4 *f)
{
    return f->metadata;
}

typedef struct Field {
    const char *swath, *name;
    Stream stream;
    int shape[3];
    unsigned type, bytes; /* of a number */
    bool little_endian;
} Field;

static SdmStatus fail_field(SdmContext *ctx, const SdmHdf4 *f, const Field *d)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: field %s of %s cannot be read; the file is cut short or damaged, fetch it again",
                    f->path, d->name, d->swath);
}

/* Rank, sizes, then references to the type of the numbers and of scales.  false: damaged, or not of two or
 * three dimensions. */
static bool read_dimensions(SdmHdf4 *f, const Descriptor *d, Field *out)
{
    const uint8_t *const e = f->element.byte;
    static const uint8_t bytes[] = {
        [TYPE_UCHAR] = 1, [TYPE_CHAR] = 1,  [TYPE_FLOAT32] = 4, [TYPE_FLOAT64] = 8, [TYPE_INT8] = 1,
        [TYPE_UINT8] = 1, [TYPE_INT16] = 2, [TYPE_UINT16] = 2,  [TYPE_INT32] = 4,   [TYPE_UINT32] = 4};
    const unsigned rank = load(f, d) ? u16(e) : 0;
    int64_t count = 1;
    if (rank < 2 || rank > 3 || f->element.length < 6 + 4 * (size_t)rank)
        return false;
    out->shape[0] = 1;
    for (unsigned i = 0; i < rank; i++) {
        const int32_t size = out->shape[3 - rank + i] = i32(e + 2 + 4 * i);
        count *= size > 0 && size <= MOST_BAND && count <= MOST_BAND ? size : 0;
    }
    if (!load(f, find(f, TAG_NUMBER_TYPE, u16(e + 4 + 4 * rank))) || f->element.length < 4)
        return false;
    out->type = e[1];
    out->little_endian = e[3] == ORDER_LITTLE;
    out->bytes = out->type < sizeof bytes ? bytes[out->type] : 0;
    return count > 0 && out->bytes > 0 && (size_t)count * out->bytes == out->stream.size;
}

/* The data of a numeric group: as they are, or packed. */
static SdmStatus find_stream(SdmContext *ctx, const SdmHdf4 *f, unsigned ref, Field *out)
{
    const Descriptor *const special = find(f, TAG_SCIENTIFIC_DATA | SPECIAL, ref);
    uint8_t head[16] = {0};
    if (special && (special->length < 14 || !read_at(f, special->offset, head, 14)))
        return fail_field(ctx, f, out);
    const unsigned code = u16(head), coder = code == CODE_COMPRESSED ? u16(head + 12) : CODER_NONE;
    if (code > CODE_COMPRESSED || code == 2 ||
        (coder != CODER_NONE && coder != CODER_RUNS && coder != CODER_DEFLATE))
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "%s: field %s of %s is stored in a way that is not read here (code %u, coder %u), "
                        "expected deflated or plain data; convert it with HDF4's hrepack -t '*:NONE' -c "
                        "'*:NONE'",
                        f->path, out->name, out->swath, code, coder);
    if (!(code == CODE_COMPRESSED ? locate(f, TAG_COMPRESSED, u16(head + 8), &out->stream)
                                  : locate(f, TAG_SCIENTIFIC_DATA, ref, &out->stream)))
        return fail_field(ctx, f, out);
    out->stream.coder = coder;
    if (code == CODE_COMPRESSED)
        out->stream.size = i32(head + 4) > 0 ? (size_t)i32(head + 4) : 0;
    return SDM_OK;
}

static SdmStatus find_field(SdmContext *ctx, SdmHdf4 *f, const char *swath, const char *name, Field *out)
{
    const Descriptor *numeric = NULL, *dimensions = NULL;
    unsigned data = 0;
    *out = (Field){.swath = swath, .name = name};
    for (int i = 0; i < f->variables && !numeric; i++)
        if (strcmp(f->variable[i].swath, swath) == 0 && strcmp(f->variable[i].name, name) == 0)
            numeric = &f->descriptor[f->first + i];
    if (!numeric)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no field %s of %s in it, expected an ASTER level 1A scene; the file is damaged "
                        "or incomplete, fetch it again",
                        f->path, name, swath);
    if (!load(f, numeric))
        return fail_field(ctx, f, out);
    for (size_t i = 0; i + 4 <= f->element.length; i += 4) { /* a list of tags and refs */
        const unsigned tag = u16(f->element.byte + i), ref = u16(f->element.byte + i + 2);
        data = tag == TAG_SCIENTIFIC_DATA ? ref : data;
        dimensions = tag == TAG_DIMENSIONS ? find(f, tag, ref) : dimensions;
    }
    PASS(find_stream(ctx, f, data, out));
    if (!read_dimensions(f, dimensions, out))
        return fail_field(ctx, f, out);
    return SDM_OK;
}

/* Runs: a byte that counts (7 bits), then that many bytes and one, or one byte that many times and three. */
static bool unpack_runs(const uint8_t *in, size_t length, uint8_t *out, size_t size)
{
    size_t at = 0, done = 0;
    while (at < length && done < size) {
        const bool same = in[at] & 0x80;
        const size_t count = (in[at++] & 0x7fu) + (same ? 3u : 1u), taken = same ? 1 : count;
        if (count > size - done || taken > length - at)
            return false;
        if (same)
            memset(out + done, in[at], count);
        else
            memcpy(out + done, in + at, count);
        at += taken;
        done += count;
    }
    return done == size;
}

static bool unpack(const Stream *s, const uint8_t *packed, uint8_t *out)
{
    size_t size = 0;
    return s->coder == CODER_NONE ? true
           : s->coder == CODER_RUNS
               ? unpack_runs(packed, s->length, out, s->size)
               : CPLZLibInflate(packed, s->length, out, s->size, &size) && size == s->size;
}

/* The bytes of fields, which are unpacked side by side. */
static SdmStatus read_fields(SdmContext *ctx, SdmHdf4 *f, int count, const Field *field, uint8_t *out[])
{
    SdmStatus st = SDM_OK;
    uint8_t *packed[2] = {NULL, NULL};
    bool good[2] = {true, true};
    for (int k = 0; k < count; k++) {
        const Stream *const s = &field[k].stream;
        TRY(sdm_alloc_raw(ctx, &out[k], s->size, 1, field[k].name));
        if (s->coder != CODER_NONE)
            TRY(sdm_alloc_raw(ctx, &packed[k], s->length, 1, field[k].name));
        if (!read_stream(f, s, packed[k] ? packed[k] : out[k]))
            TRY(fail_field(ctx, f, &field[k]));
    }
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1) if (count > 1)
    for (int k = count - 1; k >= 0; k--) /* the longer one first */
        good[k] = unpack(&field[k].stream, packed[k], out[k]);
    for (int k = 0; k < count; k++)
        if (!good[k])
            TRY(fail_field(ctx, f, &field[k]));
done:
    for (int k = 0; k < 2; k++)
        sdm_free(&packed[k]);
    for (int k = 0; k < count && st != SDM_OK; k++)
        sdm_free(&out[k]);
    return st;
}

static double number_at(const uint8_t *p, const Field *d)
{
    uint64_t bits = 0;
    double real;
    float single;
    for (unsigned i = 0; i < d->bytes; i++)
        bits = bits << 8 | p[d->little_endian ? d->bytes - 1 - i : i];
    const uint32_t low = (uint32_t)bits;
    memcpy(&real, &bits, sizeof real);
    memcpy(&single, &low, sizeof single);
    return d->type == TYPE_FLOAT64   ? real
           : d->type == TYPE_FLOAT32 ? (double)single
           : d->type == TYPE_INT32   ? (double)(int32_t)low
           : d->type == TYPE_INT16   ? (double)(int16_t)low
           : d->type == TYPE_INT8    ? (double)(int8_t)low
                                     : (double)bits;
}

SdmStatus sdm_hdf4_table(SdmContext *ctx, SdmHdf4 *f, const char *swath, const char *name, double **out,
                         int shape[3])
{
    Field field;
    SDM_OWNED uint8_t *bytes = NULL;
    *out = NULL;
    PASS(find_field(ctx, f, swath, name, &field));
    if (field.stream.size > MOST_TABLE)
        return fail_field(ctx, f, &field);
    PASS(read_fields(ctx, f, 1, &field, &bytes));
    const size_t count = field.stream.size / field.bytes;
    PASS(sdm_alloc(ctx, out, count, sizeof **out, "table"));
    for (size_t i = 0; i < count; i++)
        (*out)[i] = number_at(bytes + i * field.bytes, &field);
    memcpy(shape, field.shape, sizeof field.shape);
    return SDM_OK;
}

SdmStatus sdm_hdf4_images(SdmContext *ctx, SdmHdf4 *f, const char *const swath[2], bool samples,
                          SdmUnpackedBand out[2])
{
    Field field[2];
    uint8_t *sample[2] = {NULL, NULL};
    memset(out, 0, 2 * sizeof *out);
    for (int k = 0; k < 2; k++) {
        PASS(find_field(ctx, f, swath[k], "ImageData", &field[k]));
        if (field[k].shape[0] != 1 || field[k].bytes != 1 || field[k].stream.size > MOST_BAND)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: field ImageData of %s has %d x %d x %d samples of %u bytes, expected one "
                            "band of ASTER's 8-bit integers; fetch it again",
                            f->path, swath[k], field[k].shape[0], field[k].shape[1], field[k].shape[2],
                            field[k].bytes);
    }
    if (samples)
        PASS(read_fields(ctx, f, 2, field, sample));
    for (int k = 0; k < 2; k++)
        out[k] = (SdmUnpackedBand){sample[k], field[k].shape[2], field[k].shape[1]};
    return SDM_OK;
}
