/* Pixels -> PNG in memory (ISO/IEC 15948): one filter, one piece of data, compressed by what GDAL brings. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product_inside.h"

#include <cpl_conv.h>
#include <string.h>

enum { SIGNATURE = 8, AROUND = 12 /* length, name and checksum of a chunk */, HEADER = 13, LEVEL = 3 };

static uint8_t *put_number(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (24 - 8 * i));
    return at + 4;
}

/* CRC-32 of ISO 3309, as of every chunk. */
static uint32_t checksum(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? UINT32_C(0xedb88320) ^ table[i] >> 1 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

/* A chunk whose `size` bytes of data stand behind its length and name already; where the next begins. */
static uint8_t *close_chunk(uint8_t *at, const char *name, size_t size)
{
    put_number(at, (uint32_t)size);
    memcpy(at + 4, name, 4);
    return put_number(at + 8 + size, checksum(at + 4, 4 + size));
}

/* Filter 3: less the mean of the pixel on the left and that above, rounded down. */
static void filter_row(const uint8_t *row, const uint8_t *above, int bytes, int pixel, uint8_t *out)
{
    *out++ = 3;
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(row[i] - (((i < pixel ? 0 : row[i - pixel]) + (above ? above[i] : 0)) >> 1));
}

SdmStatus sdm_png_encode(SdmContext *ctx, const uint8_t *pixels, int w, int h, int bands, SdmPicture *out)
{
    static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    SdmStatus st = SDM_OK;
    const size_t row = (size_t)w * (size_t)bands, plain = (row + 1) * (size_t)h,
                 most = plain + plain / 1000 + 1000;
    const uint8_t kind[5] = {8, bands == 4 ? 6 : 2, 0, 0,
                             0}; /* bits; colours, with transparency or without */
    uint8_t *lines = NULL, *data = NULL;
    size_t packed = 0;
    *out = (SdmPicture){.width = w, .height = h};
    TRY(sdm_alloc_raw(ctx, &lines, plain, 1, "a picture"));
    TRY(sdm_alloc_raw(ctx, &data, SIGNATURE + 3 * AROUND + HEADER + most, 1, "a picture"));
    for (int y = 0; y < h; y++)
        filter_row(pixels + (size_t)y * row, y ? pixels + (size_t)(y - 1) * row : NULL, (int)row, bands,
                   lines + (size_t)y * (row + 1));
    memcpy(data, signature, SIGNATURE);
    uint8_t *at = data + SIGNATURE;
    memcpy(put_number(put_number(at + 8, (uint32_t)w), (uint32_t)h), kind, sizeof kind);
    at = close_chunk(at, "IHDR", HEADER);
    if (!CPLZLibDeflate(lines, plain, LEVEL, at + 8, most, &packed))
        TRY(sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: a picture of %d x %d pixels cannot be compressed",
                     w, h));
    at = close_chunk(close_chunk(at, "IDAT", packed), "IEND", 0);
    out->size = (size_t)(at - data);
    out->data = data;
    data = NULL;
done:
    sdm_free(&lines);
    sdm_free(&data);
    return st;
}
