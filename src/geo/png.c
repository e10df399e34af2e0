/* Pixels of 8 bits -> a PNG image in memory: one filter for all rows, one deflated stream (ISO/IEC 15948). */
// SPDX-License-Identifier: Apache-2.0
#include "geo/deflate.h"
#include "geo/png.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <string.h>

enum {
    SUB = 1,
    FRAME = 12,       /* bytes of a chunk beside its data: length, type, check sum */
    CHUNK = 1 << 30   /* bytes of data at most */
};

static unsigned char *put_number(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
    return at + 4;
}

/* Length, type and check sum around the data; the byte after the chunk. */
static unsigned char *put_chunk(unsigned char *at, const char *type, const void *data, size_t size)
{
    (void)put_number(at, (uint32_t)size);
    memcpy(at + 4, type, 4);
    if (size > 0)
        memcpy(at + 8, data, size);
    return put_number(at + 8 + size, crc32_gzip_refl(0, at + 4, size + 4));
}

/* Differences to the pixel on the left, which shaded relief and maps compress well by; each row begins with
 * the filter. */
static void filter_row(const unsigned char *row, size_t width, size_t bands, unsigned char *out)
{
    const size_t n = width * bands;
    out[0] = SUB;
    memcpy(out + 1, row, bands);
    for (size_t i = bands; i < n; i++)
        out[1 + i] = (unsigned char)(row[i] - row[i - bands]);
}

SdmStatus sdm_png_encode(SdmContext *ctx, const unsigned char *pixels, int width, int height, int bands,
                         SdmPng *out)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'},
                               colours[] = {0, 0, 4, 2, 6}; /* by bands */
    SdmStatus st = SDM_OK;
    const size_t row = (size_t)width * (size_t)bands, raw = (row + 1) * (size_t)height,
                 most = sdm_deflate_bound(raw);
    unsigned char *filtered = NULL, *packed = NULL, *work = NULL, header[13] = {0};
    *out = (SdmPng){.width = width, .height = height};
    TRY(sdm_alloc_raw(ctx, &work, SDM_DEFLATE_WORK, 1, "compression of a picture"));
    TRY(sdm_alloc_raw(ctx, &filtered, raw, 1, "rows of a picture"));
    TRY(sdm_alloc_raw(ctx, &packed, most, 1, "rows of a picture"));
    for (int y = 0; y < height; y++)
        filter_row(pixels + (size_t)y * row, (size_t)width, (size_t)bands, filtered + (size_t)y * (row + 1));
    const size_t size = sdm_deflate(filtered, raw, work, packed), chunks = size / CHUNK + 3;
    assert(size > 0); /* the bound holds any bytes */
    sdm_free(&filtered);
    TRY(sdm_alloc_raw(ctx, &out->data, sizeof signature + sizeof header + size + chunks * FRAME, 1,
                      "a picture"));
    (void)put_number(put_number(header, (uint32_t)width), (uint32_t)height);
    header[8] = 8; /* bits a sample */
    header[9] = colours[bands];
    memcpy(out->data, signature, sizeof signature);
    unsigned char *at = put_chunk(out->data + sizeof signature, "IHDR", header, sizeof header);
    for (size_t done = 0; done < size; done += CHUNK)
        at = put_chunk(at, "IDAT", packed + done, size - done < CHUNK ? size - done : CHUNK);
    at = put_chunk(at, "IEND", NULL, 0);
    out->size = (size_t)(at - out->data);
done:
    sdm_free(&work);
    sdm_free(&packed);
    sdm_free(&filtered);
    return st;
}

void sdm_png_close(SdmPng *png)
{
    sdm_free(&png->data);
    *png = (SdmPng){0};
}
