/* The list at the end of a zip archive -> the reason for which GDAL cannot unpack a member. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSI functions take 64-bit offsets */
#include "input/aster_files.h"

#include <cpl_vsi.h>
#include <string.h>

enum { END_BYTES = 22, LONGEST_COMMENT = 65535, ENTRY_BYTES = 46, LIST_BYTES_MAX = 1 << 22, NAME_SHOWN = 80 };

static unsigned number(const unsigned char *at, int bytes)
{
    unsigned v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* `size` bytes of a file; VSIFree(), NULL where they cannot be read. */
static unsigned char *read_part(VSILFILE *file, vsi_l_offset from, size_t size)
{
    unsigned char *const part = size ? VSIMalloc(size) : NULL;
    if (part && VSIFSeekL(file, from, SEEK_SET) == 0 && VSIFReadL(part, 1, size, file) == size)
        return part;
    VSIFree(part);
    return NULL;
}

/* The archive's list of members, *size bytes; VSIFree(), NULL where there is none. */
static unsigned char *read_list(VSILFILE *file, size_t *size)
{
    VSIFSeekL(file, 0, SEEK_END);
    const vsi_l_offset all = VSIFTellL(file);
    const size_t tail = all < LONGEST_COMMENT + END_BYTES ? (size_t)all : LONGEST_COMMENT + END_BYTES;
    unsigned char *const end = read_part(file, all - tail, tail), *list = NULL;
    for (size_t i = end && tail >= END_BYTES ? tail - END_BYTES + 1 : 0; i > 0 && !list; i--)
        if (memcmp(end + i - 1, "PK\5\6", 4) == 0) {
            *size = number(end + i - 1 + 12, 4);
            list = *size <= LIST_BYTES_MAX ? read_part(file, number(end + i - 1 + 16, 4), *size) : NULL;
            break;
        }
    VSIFree(end);
    return list;
}

/* Reason why GDAL cannot read a member; NULL: it can. */
static const char *fault_of(const unsigned char *entry, const char *name)
{
    const unsigned method = number(entry + 10, 2);
    if (*name == '/')
        return "has an absolute name";
    if (!strstr(name, "VNIR_Band3"))
        return NULL;
    if (number(entry + 8, 2) & 1)
        return "is encrypted";
    return method == 0 || method == 8 || method == 9 ? NULL /* stored, deflate, deflate64 */
           : method == 12                            ? "is compressed by bzip2"
           : method == 14                            ? "is compressed by LZMA"
           : method == 93                            ? "is compressed by Zstandard"
           : method == 95                            ? "is compressed by xz"
                                                     : "is compressed by a rare method";
}

void sdm_zip_fault(const char *path, char *why, size_t size)
{
    size_t bytes = 0, at = 0;
    VSILFILE *const file = VSIFOpenL(path, "rb");
    unsigned char *const list = file ? read_list(file, &bytes) : NULL;
    *why = '\0';
    while (list && !*why && at + ENTRY_BYTES <= bytes && memcmp(list + at, "PK\1\2", 4) == 0) {
        const unsigned char *const entry = list + at;
        const size_t n = number(entry + 28, 2), more = number(entry + 30, 2) + number(entry + 32, 2);
        char name[1024];
        if (at + ENTRY_BYTES + n > bytes)
            break;
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)entry + ENTRY_BYTES);
        const char *const fault = fault_of(entry, name);
        if (fault)
            snprintf(why, size, "%.*s %s", (int)NAME_SHOWN, name, fault);
        at += ENTRY_BYTES + n + more;
    }
    VSIFree(list);
    if (file)
        VSIFCloseL(file);
}
