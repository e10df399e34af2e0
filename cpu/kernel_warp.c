/* A row of lattice cells and heights -> the source resampled there: positions of 1/256 px, 4 x 4 integer
 * cubic taps. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

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

typedef struct Limits { /* of a position; see vf_kept() */
    vf half, least, most;
} Limits;

static inline Limits limits_of(void)
{
    return (Limits){vf_kept(vf_set(0.5f)), vf_kept(vf_set(-8e6f)), vf_kept(vf_set(8e6f))};
}

/* One axis of SDM_VEC pixels: position in 1/256 px from the cell's origin, kept within +-8e6. */
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

/* Fewer than SDM_VEC pixels at the end of the row; apart, so that the loop over cells keeps nothing for
 * them. */
static __attribute__((noinline)) void place_rest(const SdmWarpRow *in, const SdmWarpCell *cell, int x,
                                                 int count, int32_t *col, int32_t *row)
{
    const Limits limits = limits_of();
    float fraction[SDM_VEC] = {0}, above_m[SDM_VEC] = {0};
    for (int i = 0; i < count; i++) {
        fraction[i] = in->fraction[x + i];
        above_m[i] = in->surface_m ? in->surface_m[x + i] - in->height0_m : 0.0f;
    }
    const vf f = vf_load(fraction), t = vf_load(above_m);
    vi_store(col, vi_add(vi_set(from_source(cell->origin_col, in->source_col0)),
                         positions(cell, 0, &limits, f, t)));
    vi_store(row, vi_add(vi_set(from_source(cell->origin_row, in->source_row0)),
                         positions(cell, 1, &limits, f, t)));
}

/* Positions of the row's pixels x0..x1 - 1, in 1/256 px of the source. */
static void place_pixels(const SdmWarpRow *in, int *cell_at, int x0, int x1, int32_t *col, int32_t *row)
{
    const Limits limits = limits_of();
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
            place_rest(in, cell, x, end - x, col + (x - x0), row + (x - x0));
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

static void sample_each(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count, int16_t *out)
{
    for (int i = 0; i < count; i++)
        out[i] = sample(in, col[i], row[i]);
}

#if SDM_VEC >= 8
static inline __m128i four_of(const int16_t *p)
{
    return _mm_loadl_epi64((const void *)p);
}

/* Four numbers of memory for each two lanes, from `at` on. */
static inline vi fours_at(const int16_t *from, const ptrdiff_t at[SDM_VEC / 2])
{
#if SDM_VEC == 16 /* loads that leave the others as they are: no shuffles, for which there is one unit */
    vi v = _mm512_castsi128_si512(four_of(from + at[0]));
#pragma GCC unroll 8
    for (int i = 1; i < 8; i++)
        v = _mm512_mask_broadcastq_epi64(v, (__mmask8)(1 << i), four_of(from + at[i]));
    return v;
#elif defined(__SSE4_2__) /* the second of two loads leaves the other four as they are */
    const __m128d low = _mm_castsi128_pd(four_of(from + at[0])),
                  high = _mm_castsi128_pd(four_of(from + at[2]));
    return _mm256_set_m128i(_mm_castpd_si128(_mm_loadh_pd(high, (const void *)(from + at[3]))),
                            _mm_castpd_si128(_mm_loadh_pd(low, (const void *)(from + at[1]))));
#else
    return _mm256_set_m128i(_mm_unpacklo_epi64(four_of(from + at[2]), four_of(from + at[3])),
                            _mm_unpacklo_epi64(four_of(from + at[0]), four_of(from + at[1])));
#endif
}

/* Eight numbers of memory for each four lanes, from `at` on. */
static inline vi eights_at(const int16_t *from, const ptrdiff_t at[SDM_VEC / 4])
{
#if SDM_VEC == 16
    vi v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(from + at[0])));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + at[1])), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + at[2])), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + at[3])), 3);
#else
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)(from + at[0]))),
                                   _mm_loadu_si128((const void *)(from + at[1])), 1);
#endif
}

/* Weights of the taps, in pairs: of the first two taps and of the last two.  The phase is the low byte of a
 * position. */
static inline __attribute__((always_inline)) void weights_of(const int32_t *position256, vi pair[2])
{
    /* else GCC loads the weights for two callers before it is known which of them needs them, and spills */
    __asm__("" : "+r"(position256));
    const uint8_t *const phase = (const uint8_t *)position256;
    ptrdiff_t first[SDM_VEC / 2], last[SDM_VEC / 2]; /* of two pixels of each four, of the others */
    for (int i = 0; i < SDM_VEC / 2; i++) {
        first[i] = 4 * (ptrdiff_t)phase[4 * (i / 2 * 4 + i % 2)];
        last[i] = 4 * (ptrdiff_t)phase[4 * (i / 2 * 4 + i % 2 + 2)];
    }
    const vi a = fours_at(sdm_cubic_weights[0], first), b = fours_at(sdm_cubic_weights[0], last);
    pair[0] = vi_evens(a, b);
    pair[1] = vi_odds(a, b);
}

/* Constants of a row; see vi_kept(). */
typedef struct Sampler {
    const int16_t *line[4]; /* of the source, about its first row, from the pixel before its first column */
    ptrdiff_t stride;
    vi half_h, half_v, least, most, none;
} Sampler;

static inline Sampler sampler_of(const SdmWarpRow *in)
{
    Sampler s = {.stride = in->source_stride,
                 .half_h = vi_kept(vi_set(1 << 10)),
                 .half_v = vi_kept(vi_set(1 << 16)),
                 .least = vi_kept(vi_set(-2047)),
                 .most = vi_kept(vi_set(2047)),
                 .none = vi_kept(vi_set((int32_t)0x80008000))}; /* SDM_PIXEL_NODATA in both halves */
    for (int j = 0; j < 4; j++)
        s.line[j] = in->source + (j - 1) * in->source_stride - 1;
    return s;
}

/* Values of SDM_VEC pixels from the pairs of their taps, row after row. */
static inline vi weigh(const Sampler *s, const vi first[4], const vi last[4], const vi wx[2], const vi wy[2])
{
    vi h[4];
    for (int j = 0; j < 4; j++)
        h[j] = vi_weighed(s->half_h, first[j], wx[0], last[j], wx[1]);
    /* rows 0 and 1, 2 and 3 in one word */
    const vi upper = vi_scaled_halves(h[0], h[1], 11), lower = vi_scaled_halves(h[2], h[3], 11),
             v = vi_scaled(vi_weighed(s->half_v, upper, wy[0], lower, wy[1]), 17);
    return vi_min(vi_max(v, s->least), s->most);
}

/* SDM_VEC pixels, of which each four lie close together on one source row: eight pixels of the source hold
 * the taps of a four.  False, and nothing done, where it is otherwise or one of the eight has no data.  The
 * taps lie in the source, and a row of it follows theirs, so that all of the eight can be read. */
static inline __attribute__((always_inline)) bool sample_along(const Sampler *s, const int32_t *col256,
                                                               const int32_t *row256, int16_t *out)
{
    int32_t apart = 0; /* known long before what vectors tell, which is also true */
    for (int i = 0; i < SDM_VEC; i += 4)
        apart |= row256[i] ^ row256[i + 3];
    if (apart >> 8)
        return false;
    const vi col = vi_sra(vi_load(col256), 8), row = vi_sra(vi_load(row256), 8);
    const vi from = vi_min(vi_of_four(col, 0), vi_of_four(col, 3)); /* columns rise or fall */
    const vi place = vi_sub(col, from), four = vi_set(4);
    const vi away = vi_or(vi_sub(vi_max_u(place, four), four), vi_xor(row, vi_of_four(row, 0)));
    if (vi_any(away))
        return false;
    __asm__("" : "+r"(col256), "+r"(row256)); /* else clang takes them from the vectors, more slowly */
    ptrdiff_t at[SDM_VEC / 4];
    for (int i = 0; i < SDM_VEC; i += 4)
        at[i / 4] = (ptrdiff_t)(row256[i] >> 8) * s->stride +
                    ((col256[i] < col256[i + 3] ? col256[i] : col256[i + 3]) >> 8);
    vi first[4], last[4], wx[2], wy[2], least = vi_zero();
    const vi spread = vi_repeat(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12)),
             take = vi_add(vi_bytes(vi_add(place, place), spread), vi_set(0x03020100)),
             take2 = vi_add(take, vi_set(0x04040404));
    for (int j = 0; j < 4; j++) {
        const vi taps = eights_at(s->line[j], at);
        least = vi_min16(least, taps); /* no data is less than all others */
        first[j] = vi_bytes(taps, take);
        last[j] = vi_bytes(taps, take2);
    }
    if (vi_any_equal16(least, s->none))
        return false;
    weights_of(col256, wx);
    weights_of(row256, wy);
    vi_store_i16(out, weigh(s, first, last, wx, wy));
    return true;
}

/* SDM_VEC pixels anywhere in the source; offset: of each from its first pixel. */
static inline __attribute__((always_inline)) void sample_apart(const Sampler *s, const int32_t *col256,
                                                               const int32_t *row256, const int32_t *offset,
                                                               int16_t *out)
{
    vi first[4], last[4], wx[2], wy[2], least;
    for (int k = 0; k < 4; k += 2) { /* all rows of half the pixels: more places have no room in registers */
        ptrdiff_t at[SDM_VEC / 2];
        for (int i = 0; i < SDM_VEC / 2; i++)
            at[i] = offset[i / 2 * 4 + i % 2 + k];
        for (int j = 0; j < 4; j++)
            (k ? last : first)[j] = fours_at(s->line[j], at);
    }
    for (int j = 0; j < 4; j++) {
        const vi a = first[j], b = last[j];
        first[j] = vi_evens(a, b);
        last[j] = vi_odds(a, b);
        const vi both = vi_min16(first[j], last[j]);
        least = j ? vi_min16(least, both) : both;
    }
    weights_of(col256, wx);
    weights_of(row256, wy);
    const vi v = weigh(s, first, last, wx, wy);
    vi_store_i16(out, vi_sel(vi_halves_differ(least, s->none), v, s->none));
}

/* Offsets of `count` pixels, or some more, from the first one of the source. */
static void find_offsets(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count,
                         int32_t *offset)
{
    const vi stride = vi_set((int32_t)in->source_stride);
    for (int i = 0; i < count; i += SDM_VEC)
        vi_store(offset + i,
                 vi_add(vi_mul(vi_sra(vi_load(row + i), 8), stride), vi_sra(vi_load(col + i), 8)));
}

/* End of the positions whose taps lie in the source, which is at most FARTHEST large. */
static inline int32_t taps_end(int32_t size)
{
    return (size - 2) * 256;
}

/* SDM_VEC pixels, of which some may have taps beyond the source: these become nodata. */
static __attribute__((noinline)) void sample_side(const SdmWarpRow *in, const int32_t *col256,
                                                  const int32_t *row256, int16_t *out)
{
    const int32_t end[2] = {taps_end(in->source_width), taps_end(in->source_height)};
    const Sampler s = sampler_of(in); /* its own, so that the caller's stays in registers */
    const vi first = vi_set(256), col = vi_load(col256), row = vi_load(row256);
    const vi near_col = vi_max(vi_min(col, vi_set(end[0] - 1)), first),
             near_row = vi_max(vi_min(row, vi_set(end[1] - 1)), first);
    const vm inside = vm_and(vi_eq(col, near_col), vi_eq(row, near_row));
    int32_t at[2][SDM_VEC], offset[SDM_VEC];
    if (vm_none(inside) || end[0] <= 256 || end[1] <= 256) {
        vi_store_i16(out, s.none);
        return;
    }
    vi_store(at[0], near_col);
    vi_store(at[1], near_row);
    find_offsets(in, at[0], at[1], SDM_VEC, offset);
    sample_apart(&s, at[0], at[1], offset, out);
    vi_store_i16(out, vi_sel(inside, vi_load_i16(out), s.none));
}

/* Prefetch the source of a later row, from the places of `count` pixels of this one. */
static void fetch_ahead(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count)
{
    const uintptr_t first = (uintptr_t)in->source; /* a number: the place may lie off the source */
    for (int k = 0; k < count && in->fetch_each > 0; k += in->fetch_each) {
        const intptr_t at = (intptr_t)(row[k] >> 8) * in->source_stride + (col[k] >> 8) + in->ahead;
        __builtin_prefetch((const void *)(first + sizeof(int16_t) * (uintptr_t)at));
    }
}

/* Are the positions, SDM_VEC of them or more, among 256..end - 1? */
static inline bool all_before(const int32_t *position256, int count, int32_t end)
{
    const vi first = vi_set(256), most = vi_set(end - 1 - 256);
    vi from_first = vi_sub(vi_load(position256 + count - SDM_VEC), first);
    for (int i = 0; i + SDM_VEC < count; i += SDM_VEC) /* before the first: a large number without a sign */
        from_first = vi_max_u(from_first, vi_sub(vi_load(position256 + i), first));
    return end > 256 && !vi_any(vi_xor(vi_max_u(from_first, most), most));
}

/* Sample pixels by vectors; false, and nothing done, where there are too few or the source is too large. */
static bool sample_many(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count, int16_t *out)
{
    int32_t offset[CHUNK + SDM_VEC];
    bool found = false; /* offsets, of all at once: reading one just written would wait for it */
    const bool fits = in->source_width <= FARTHEST && in->source_height <= FARTHEST &&
                      (int64_t)in->source_height * in->source_stride <= INT32_MAX; /* offsets do */
    if (!fits || count < SDM_VEC)
        return false;
    const Sampler s = sampler_of(in);
    const int32_t right = taps_end(in->source_width), bottom = taps_end(in->source_height);
    const int last = count - SDM_VEC; /* the last vector may do some once more */
    const bool followed = all_before(row, count, bottom - 256);
    const bool inside = all_before(col, count, right) && (followed || all_before(row, count, bottom));
    fetch_ahead(in, col, row, count);
    for (int i = 0;; i += SDM_VEC) {
        if (i > last) {
            if (i == last + SDM_VEC)
                return true;
            i = last;
        }
        if (!inside && !(all_before(col + i, SDM_VEC, right) && all_before(row + i, SDM_VEC, bottom))) {
            sample_side(in, col + i, row + i, out + i);
        } else if (!followed || !sample_along(&s, col + i, row + i, out + i)) {
            if (!found)
                find_offsets(in, col, row, count, offset);
            found = true;
            sample_apart(&s, col + i, row + i, offset + i, out + i);
        }
    }
}
#else
static bool sample_many(const SdmWarpRow *in, const int32_t *col, const int32_t *row, int count, int16_t *out)
{
    (void)in, (void)col, (void)row, (void)count, (void)out;
    return false;
}
#endif

void SDM_NAME(warp_row)(const SdmWarpRow *row_of, int16_t *out)
{
    const SdmWarpRow own = *row_of, *const in = &own; /* else read again after each store */
    int32_t col[CHUNK + SDM_VEC], row[CHUNK + SDM_VEC];
    for (int x = 0, cell = 0; x < in->width; x += CHUNK) {
        const int end = x + CHUNK < in->width ? x + CHUNK : in->width;
        place_pixels(in, &cell, x, end, col, row);
        if (!sample_many(in, col, row, end - x, out + x))
            sample_each(in, col, row, end - x, out + x);
    }
}
