/* A row of lattice cells and heights -> the source resampled there: positions of 1/256 px, 4 x 4 integer
 * cubic taps. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

#include <stdalign.h>

sdm_warp_row_fn SDM_NAME(warp_row);
sdm_cost_scratch_fn SDM_NAME(cost_scratch);
enum {
    CHUNK = 256,       /* pixels that are placed together */
    FARTHEST = 1 << 22 /* px: images are smaller, and 1/256 px fit 32 bits */
};

size_t SDM_NAME(cost_scratch)(int width, int window, int dmin, int dmax)
{
    return cost_scratch_bytes(width, window, dmin, dmax);
}

/* One axis: position in 1/256 px from the cell's origin, kept within +-8e6. */
static inline int32_t position(const SdmWarpCell *cell, int axis, float f, float t)
{
    const float *const l = cell->begin + 4 * axis, *const c = cell->change + 4 * axis;
    const float a = l[0] + f * c[0], b = l[1] + f * c[1], q = l[2] + f * c[2];
    float p = (a + t * (b + t * q)) + 0.5f;
    p = p > -8e6f ? p : -8e6f;
    p = p < 8e6f ? p : 8e6f;
    return (int32_t)floorf(p);
}

typedef struct Limits { /* of a position; see vf_kept() */
    vf half, least, most;
} Limits;

/* The same of SDM_VEC pixels. */
static inline vi positions(const SdmWarpCell *cell, int axis, const Limits *limits, vf f, vf t)
{
    const float *const l = cell->begin + 4 * axis, *const c = cell->change + 4 * axis;
    const vf a = vf_add(vf_set(l[0]), vf_mul(f, vf_set(c[0]))),
             b = vf_add(vf_set(l[1]), vf_mul(f, vf_set(c[1])));
    const vf q = vf_add(vf_set(l[2]), vf_mul(f, vf_set(c[2])));
    const vf p = vf_add(vf_add(a, vf_mul(t, vf_add(b, vf_mul(t, q)))), limits->half);
    return vi_down(vf_min(vf_max(p, limits->least), limits->most));
}

/* Origin of a cell in 1/256 px of the source; far off when it does not fit. */
static inline int32_t from_source(int32_t origin, int32_t first)
{
    const int64_t at = (int64_t)origin - first;
    return (int32_t)(at > FARTHEST ? FARTHEST : at < -FARTHEST ? -FARTHEST : at) * 256;
}

typedef struct Positions { /* of pixels x0.. */
    int32_t *col, *row;
    int x0;
} Positions;

/* Pixels at the end of the row; apart, so that the loop over cells keeps nothing for them. */
static __attribute__((noinline)) void place_rest(const SdmWarpRow *in, const SdmWarpCell *cell, Positions out,
                                                 int x, int end)
{
    const int32_t col0 = from_source(cell->origin_col, in->source_col0),
                  row0 = from_source(cell->origin_row, in->source_row0);
    for (; x < end; x++) {
        const float f = in->fraction[x], t = in->surface_m ? in->surface_m[x] - in->height0_m : 0.0f;
        out.col[x - out.x0] = col0 + position(cell, 0, f, t);
        out.row[x - out.x0] = row0 + position(cell, 1, f, t);
    }
}

/* Positions of the row's pixels x0..x1 - 1, in 1/256 px of the source. */
static void place_pixels(const SdmWarpRow *in, int *cell_at, int x0, int x1, int32_t *col, int32_t *row)
{
    const Limits limits = {vf_kept(vf_set(0.5f)), vf_kept(vf_set(-8e6f)), vf_kept(vf_set(8e6f))};
    int c = *cell_at, x = x0;
    while (x < x1) {
        while (in->cell_begin[c + 1] <= x)
            c++;
        const SdmWarpCell *const cell = &in->cells[c];
        const int32_t col0 = from_source(cell->origin_col, in->source_col0),
                      row0 = from_source(cell->origin_row, in->source_row0);
        const int end = in->cell_begin[c + 1] < x1 ? in->cell_begin[c + 1] : x1;
        for (; x < end && x + SDM_VEC <= in->width;
             x += SDM_VEC) { /* what is beyond the cell is overwritten by the next */
            const vf f = vf_load(in->fraction + x);
            const vf t =
                in->surface_m ? vf_sub(vf_load(in->surface_m + x), vf_set(in->height0_m)) : vf_set(0.0f);
            vi_store(col + (x - x0), vi_add(vi_set(col0), positions(cell, 0, &limits, f, t)));
            vi_store(row + (x - x0), vi_add(vi_set(row0), positions(cell, 1, &limits, f, t)));
        }
        if (x < end)
            place_rest(in, cell, (Positions){col, row, x0}, x, end);
        x = end;
    }
    *cell_at = c;
}

/* The pixel at a position in 1/256 px of the source. */
static int16_t sample(const SdmWarpRow *in, int32_t col256, int32_t row256)
{
    const int32_t col = col256 >> 8, row = row256 >> 8;
    const int px = col256 & 255, py = row256 & 255;
    if (col < 1 || row < 1 || col + 2 >= in->source_width || row + 2 >= in->source_height)
        return SDM_PIXEL_NODATA;
    const int16_t *p = in->source + (ptrdiff_t)(row - 1) * in->source_stride + (col - 1);
    const int16_t *const wx = sdm_cubic_weights[px], *const wy = sdm_cubic_weights[py];
    uint32_t sum = 0;
    bool nodata = false;
    for (int j = 0; j < 4; j++, p += in->source_stride) {
        const int32_t h = p[0] * wx[0] + p[1] * wx[1] + p[2] * wx[2] + p[3] * wx[3];
        nodata |= (p[0] == SDM_PIXEL_NODATA) | (p[1] == SDM_PIXEL_NODATA) | (p[2] == SDM_PIXEL_NODATA) |
                  (p[3] == SDM_PIXEL_NODATA);
        /* 15 bits x 15 bits; unsigned, since nodata makes it wrap */
        sum += (uint32_t)((h + 1024) >> 11) * (uint32_t)wy[j];
    }
    int32_t value = (int32_t)(sum + (1 << 16)) >> 17;
    value = value > 2047 ? 2047 : value < -2047 ? -2047 : value;
    return nodata ? (int16_t)SDM_PIXEL_NODATA : (int16_t)value;
}

#if SDM_VEC >= 8
static inline __m256i load8(const int32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Two 64-bit words in each half. */
static inline __m256i words4(const void *a, const void *b, const void *c, const void *d)
{
#if defined(__AVX512VL__) /* loads that leave the other words as they are: no shuffles, for which there is one
                     * unit */
    __m256i v = _mm256_broadcastq_epi64(_mm_loadl_epi64(a));
    v = _mm256_mask_broadcastq_epi64(v, 2, _mm_loadl_epi64(b));
    v = _mm256_mask_broadcastq_epi64(v, 4, _mm_loadl_epi64(c));
    return _mm256_mask_broadcastq_epi64(v, 8, _mm_loadl_epi64(d));
#elif defined(__SSE4_2__) /* the second of two loads leaves the other word as it is */
    const __m128d low = _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(a)), b),
                  high = _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(c)), d);
    return _mm256_set_m128i(_mm_castpd_si128(high), _mm_castpd_si128(low));
#else
    const __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64(a), _mm_loadl_epi64(b)),
                  high = _mm_unpacklo_epi64(_mm_loadl_epi64(c), _mm_loadl_epi64(d));
    return _mm256_set_m128i(high, low);
#endif
}

/* Weights of the taps of eight pixels, in pairs: of the first two taps and of the last two.  The phase is
 * the low byte of a position. */
static inline void weights8(const int32_t *position256, __m256i pair[2])
{
    const int16_t(*const w)[4] = sdm_cubic_weights;
    uint8_t phase[8];
    for (int i = 0; i < 8; i++)
        phase[i] = (uint8_t)position256[i];
    const __m256 a = _mm256_castsi256_ps(words4(w[phase[0]], w[phase[1]], w[phase[4]], w[phase[5]]));
    const __m256 b = _mm256_castsi256_ps(words4(w[phase[2]], w[phase[3]], w[phase[6]], w[phase[7]]));
    pair[0] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    pair[1] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
}

/* What is the same for all pixels of a row; see i8_kept(). */
typedef struct Sampler {
    const int16_t *line[4]; /* of the source, about its first row, from the pixel before its first column */
    ptrdiff_t stride;
    int last_run; /* last column that a run of eight pixels may have on its left */
    __m256i half_h, half_v, least, most, none;
} Sampler;

static inline Sampler sampler_of(const SdmWarpRow *in)
{
    Sampler s = {.stride = in->source_stride,
                 .last_run = in->source_width - 7,
                 .half_h = i8_kept(_mm256_set1_epi32(1 << 10)),
                 .half_v = i8_kept(_mm256_set1_epi32(1 << 16)),
                 .least = i8_kept(_mm256_set1_epi32(-2047)),
                 .most = i8_kept(_mm256_set1_epi32(2047)),
                 .none = i8_kept(_mm256_set1_epi16(SDM_PIXEL_NODATA))};
    for (int j = 0; j < 4; j++)
        s.line[j] = in->source + (j - 1) * in->source_stride - 1;
    return s;
}

/* Values of eight pixels from the pairs of their taps, row after row. */
static inline __m256i weigh8(const Sampler *s, const __m256i first[4], const __m256i last[4],
                             const __m256i wx[2], const __m256i wy[2])
{
    __m256i h[4];
    for (int j = 0; j < 4; j++)
        h[j] = i8_madd_two(first[j], wx[0], last[j], wx[1]);
    /* rows 0 and 1, 2 and 3 in one word */
    const __m256i upper = i8_rounded_halves(h[0], h[1], s->half_h, 11),
                  lower = i8_rounded_halves(h[2], h[3], s->half_h, 11),
                  v = i8_rounded(i8_madd_two(upper, wy[0], lower, wy[1]), s->half_v, 17);
    return _mm256_min_epi32(_mm256_max_epi32(v, s->least), s->most);
}

static inline void store8(int16_t *out, __m256i v)
{
    _mm_storeu_si128((__m128i *)(void *)out,
                     _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

/* The first column of four pixels whose columns rise or fall. */
static inline int first_column(const int32_t *col256)
{
    return (col256[0] < col256[3] ? col256[0] : col256[3]) >> 8;
}

/* Eight pixels, of which each four lie close together on one source row: eight pixels of the source hold the
 * taps of a four.  False, and nothing done, where it is otherwise or one of those has no data. */
static inline bool sample8_along(const Sampler *s, const int32_t *col256, const int32_t *row256, int16_t *out)
{
    if (((row256[0] ^ row256[3]) | (row256[4] ^ row256[7])) >> 8)
        return false;
    const __m256i col = _mm256_srai_epi32(load8(col256), 8), row = _mm256_srai_epi32(load8(row256), 8);
    const __m256i one_end = _mm256_shuffle_epi32(col, 0x00), other_end = _mm256_shuffle_epi32(col, 0xFF),
                  from = _mm256_min_epi32(one_end, other_end);
    const __m256i apart = _mm256_sub_epi32(col, from), four = _mm256_set1_epi32(4),
                  far = _mm256_sub_epi32(_mm256_max_epu32(apart, four), four),
                  away = _mm256_or_si256(far, _mm256_xor_si256(row, _mm256_shuffle_epi32(row, 0)));
    const int a = first_column(col256), b = first_column(col256 + 4);
    if (!_mm256_testz_si256(away, away) || a > s->last_run || b > s->last_run)
        return false;
    const ptrdiff_t at_a = (ptrdiff_t)(row256[0] >> 8) * s->stride + a,
                    at_b = (ptrdiff_t)(row256[4] >> 8) * s->stride + b;
    __m256i first[4], last[4], wx[2], wy[2], least = _mm256_setzero_si256();
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4,
                                            4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const __m256i take = _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_add_epi32(apart, apart), spread),
                                         _mm256_set1_epi32(0x03020100)),
                  take2 = _mm256_add_epi8(take, _mm256_set1_epi8(4));
    for (int j = 0; j < 4; j++) {
        const int16_t *const line = s->line[j];
        const __m256i taps = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(line + at_a))),
            _mm_loadu_si128((const __m128i *)(const void *)(line + at_b)), 1);
        least = _mm256_min_epi16(least, taps); /* no data is less than all others */
        first[j] = _mm256_shuffle_epi8(taps, take);
        last[j] = _mm256_shuffle_epi8(taps, take2);
    }
    const __m256i bad = _mm256_cmpeq_epi16(least, s->none);
    if (!_mm256_testz_si256(bad, bad))
        return false;
    weights8(col256, wx);
    weights8(row256, wy);
    store8(out, weigh8(s, first, last, wx, wy));
    return true;
}

/* Eight pixels anywhere in the source; offset: of each from its first pixel. */
static inline void sample8(const Sampler *s, const int32_t *col256, const int32_t *row256,
                           const int32_t *offset, int16_t *out)
{
    __m256i first[4], last[4], wx[2], wy[2], least;
    for (int k = 0; k < 4; k += 2) { /* all rows of four pixels: more places have no room in registers */
        const ptrdiff_t a = offset[k], b = offset[k + 1], c = offset[k + 4], d = offset[k + 5];
        for (int j = 0; j < 4; j++)
            (k ? last : first)[j] = words4(s->line[j] + a, s->line[j] + b, s->line[j] + c, s->line[j] + d);
    }
    for (int j = 0; j < 4; j++) {
        const __m256 a = _mm256_castsi256_ps(first[j]), b = _mm256_castsi256_ps(last[j]);
        first[j] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
        last[j] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
        const __m256i both = _mm256_min_epi16(first[j], last[j]);
        least = j ? _mm256_min_epi16(least, both) : both;
    }
    weights8(col256, wx);
    weights8(row256, wy);
    const __m256i bad = _mm256_cmpeq_epi16(least, s->none),
                  whole = _mm256_cmpeq_epi32(bad, _mm256_setzero_si256()), v = weigh8(s, first, last, wx, wy);
    store8(out, _mm256_blendv_epi8(s->none, v, whole));
}

/* Offsets of `count` pixels from the first one of the source. */
static void find_offsets(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count,
                         int32_t *offset)
{
    const __m256i stride = _mm256_set1_epi32((int32_t)in->source_stride);
    for (int k = 0; k + 8 <= count; k += 8) {
        const __m256i line = _mm256_mullo_epi32(_mm256_srai_epi32(load8(row + k), 8), stride);
        _mm256_storeu_si256((__m256i *)(void *)(offset + k),
                            _mm256_add_epi32(line, _mm256_srai_epi32(load8(col + k), 8)));
    }
}

/* What a later row will take of the source, by `count` pixels of this one. */
static void fetch_ahead(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count)
{
    const uintptr_t first = (uintptr_t)in->source; /* a number: the place may lie off the source */
    for (int k = 0; k < count && in->fetch_each > 0; k += in->fetch_each) {
        const intptr_t at = (intptr_t)(row[k] >> 8) * in->source_stride + (col[k] >> 8) + in->ahead;
        __builtin_prefetch((const void *)(first + sizeof(int16_t) * (uintptr_t)at));
    }
}

/* Are the positions, of whole vectors, among 256..end - 1? */
static inline bool all_before(const int32_t *position256, int count, int32_t end)
{
    const __m256i first = _mm256_set1_epi32(256), last = _mm256_set1_epi32(end - 1 - 256);
    __m256i most = _mm256_setzero_si256();
    for (int i = 0; i + 8 <= count; i += 8) /* what lies before the first is a large number without a sign */
        most = _mm256_max_epu32(most, _mm256_sub_epi32(load8(position256 + i), first));
    const __m256i beyond = _mm256_xor_si256(_mm256_max_epu32(most, last), last);
    return end > 256 && _mm256_testz_si256(beyond, beyond);
}

/* End of the positions whose taps lie in the source. */
static inline int32_t taps_end(int32_t size)
{
    return (size < FARTHEST ? size - 2 : FARTHEST) * 256;
}

/* Sample pixels from 0 on by vectors; return how many of the `count` were done. */
static int sample_many(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count, int16_t *out)
{
    int32_t offset[CHUNK + 8];
    bool found = false; /* offsets, of all at once: reading one just written would wait for it */
    if ((int64_t)in->source_height * in->source_stride > INT32_MAX) /* of offsets */
        return 0;
    const Sampler s = sampler_of(in);
    const int32_t right = taps_end(in->source_width), bottom = taps_end(in->source_height);
    const bool inside = all_before(col, count, right) && all_before(row, count, bottom);
    int i = 0;
    fetch_ahead(in, col, row, count);
    for (; i + 8 <= count; i += 8) {
        if (!inside && !(all_before(col + i, 8, right) && all_before(row + i, 8, bottom))) {
            for (int k = i; k < i + 8; k++)
                out[k] = sample(in, col[k], row[k]);
        } else if (!sample8_along(&s, col + i, row + i, out + i)) {
            if (!found)
                find_offsets(in, col, row, count, offset);
            found = true;
            sample8(&s, col + i, row + i, offset + i, out + i);
        }
    }
    return i;
}
#else
static int sample_many(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count, int16_t *out)
{
    (void)in, (void)col, (void)row, (void)count, (void)out;
    return 0;
}
#endif

void SDM_NAME(warp_row)(const SdmWarpRow *row_of, int16_t *out)
{
    const SdmWarpRow own = *row_of, *const in = &own; /* else read again after each store */
    int32_t col[CHUNK + SDM_VEC], row[CHUNK + SDM_VEC];
    for (int x = 0, cell = 0; x < in->width; x += CHUNK) {
        const int end = x + CHUNK < in->width ? x + CHUNK : in->width;
        place_pixels(in, &cell, x, end, col, row);
        for (int i = sample_many(in, col, row, end - x, out + x); i < end - x; i++)
            out[x + i] = sample(in, col[i], row[i]);
    }
}
