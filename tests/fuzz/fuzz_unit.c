/* Fuzz the files of the job folder: the input says which bytes of a whole file are changed, and where it is
 * cut. byte 0: even = block, odd = prepared scene; then pieces of 4 bytes: place (2), change (1), what to do
 * (1). Whatever was changed must be found; what is whole must be read. */
// SPDX-License-Identifier: Apache-2.0
#include "job/unit_file.h"
#include "fuzz.h"

#include <string.h>

enum { SIDE = 9, LONGEST = 1 << 15, FINGERPRINT = 77 };

typedef struct Whole {
    uint8_t bytes[LONGEST];
    size_t size;
} Whole;

static void take(const char *path, Whole *out)
{
    FILE *const f = fopen(path, "rb");
    if (!f)
        abort();
    out->size = fread(out->bytes, 1, LONGEST, f);
    fclose(f);
}

static const SdmUnitName *name_of(const char *path, int prepared)
{
    static SdmUnitName name;
    name = (SdmUnitName){.fingerprint = FINGERPRINT, .kind = prepared ? SDM_UNIT_PREPARED : SDM_UNIT_BLOCK};
    snprintf(name.path, sizeof name.path, "%s", path);
    return &name;
}

/* One file of each kind, as the program writes it. */
static void make_whole(const char *path, Whole whole[2])
{
    SdmBlock b = {0};
    const SdmWindow win = {.level = 2, .w = SIDE, .h = SIDE};
    SdmPrepared p = {.frame = {.width = 16, .height = 16},
                     .settings = {.cost_name = "zncc", .coarse_level = 2, .coarsest_level = 3},
                     .pointing = {.profile_count = 5, .profile_step_px = 8},
                     .coarse.win = win,
                     .terrain.win = win,
                     .grid = {.wkt = "LOCAL_CS[]", .spacing = 30.0, .cols = SIDE, .rows = SIDE}};
    float height[SIDE * SIDE] = {1.0F};
    uint16_t away[SIDE * SIDE] = {3}, flags[SIDE * SIDE] = {1};
    double profile[5] = {0.25};
    SdmPointSample sample[4];
    memset(sample, 0, sizeof sample);
    p.coarse.h_m = height;
    p.coarse.flags = flags;
    p.terrain.h_m = height;
    p.terrain.distance_px = away;
    p.pointing.profile_px = profile;
    p.points.rounds = 2;
    p.points.round[1].sample_count = 4;
    p.points.round[1].samples = sample;
    if (sdm_block_alloc(NULL, 3, 4, SIDE, SIDE, &b) ||
        sdm_unit_write(NULL, name_of(path, 0), &b, NULL, true, NULL))
        abort();
    take(path, &whole[0]);
    sdm_block_free(&b);
    if (sdm_unit_write(NULL, name_of(path, 1), &p, NULL, true, NULL))
        abort();
    take(path, &whole[1]);
}

static size_t damage(uint8_t *bytes, size_t size, const uint8_t *data, size_t n)
{
    for (; n >= 4; n -= 4, data += 4) {
        const size_t at = ((size_t)data[0] << 8 | data[1]) % (size + 1);
        if (data[3] % 16 == 0)
            size = at;
        else if (at < size)
            bytes[at] = (uint8_t)(bytes[at] ^ data[2]);
        if (data[3] % 16 == 1 && size < LONGEST)
            bytes[size++] = data[2];
    }
    return size;
}

static SdmStatus read_back(SdmContext *ctx, const char *path, int kind)
{
    SdmBlock b = {0};
    SdmPrepared p = {0};
    SdmStatus st = SDM_OK;
    if (kind) {
        st = sdm_unit_read(ctx, name_of(path, 1), &p, NULL);
        sdm_prepared_free(&p);
        return st;
    }
    st = sdm_unit_read(ctx, name_of(path, 0), &b, NULL);
    if ((st == SDM_OK) != (sdm_unit_check(ctx, name_of(path, 0)) == SDM_OK))
        abort();
    sdm_block_free(&b);
    return st;
}

FUZZ_IN(ctx)
{
    static Whole whole[2];
    static uint8_t bytes[LONGEST];
    const char *const path = fuzz_file("unit.sdm");
    if (!whole[0].size)
        make_whole(path, whole);
    const int kind = size ? data[0] & 1 : 0;
    const Whole *const good = &whole[kind];
    memcpy(bytes, good->bytes, good->size);
    const size_t n = size > 1 ? damage(bytes, good->size, data + 1, size - 1) : good->size;
    fuzz_write(path, bytes, n);
    const bool same = n == good->size && memcmp(bytes, good->bytes, n) == 0;
    const SdmStatus st = read_back(ctx, path, kind);
    if ((st == SDM_OK) != same || (st != SDM_OK && !*sdm_error(ctx)))
        abort();
}
