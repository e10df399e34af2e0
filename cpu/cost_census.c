/* Two images -> scores by census words of 31 bits: their Hamming distance, summed over the window by column
 * sums that are updated from row to row.  score = 1 - 2 * bits / (31 n): 1 for equal words, about 0 for
 * unrelated ones.  A word compares its pixel with 31 neighbours of a block of 9 x 7, one of each two opposite
 * ones (sdm_in_census_word()): the comparison with the other one is in that one's own word, which the window
 * mostly holds, too.  Source: Zabih and Woodfill 1994; Iwata et al. 2011, eq. 15 and 16; sparse words: Fife
 * and Archibald 2013. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(census);
enum { HALF_X = SDM_CENSUS_HALF_X, HALF_Y = SDM_CENSUS_HALF_Y, BITS = SDM_CENSUS_BITS, PLANES = 2 };

/* A word is kept as two planes of 16 bits: a bit per neighbour, 1 where it is darker than the centre
 * (nodata is darkest; beyond the sides 0). The order of the bits does not matter. */
static void planes_of(const CostScratch *s, const SdmCostJob *job, int side, int row, uint16_t *plane[PLANES])
{
    const size_t reach = cost_reach(job->dmin, job->dmax);
    const size_t wide = cost_round((size_t)job->width) + COST_MARGIN + 2 * reach;
    const int first =
        job->row_begin - 2 * job->window; /* of the rows that are asked for, so never negative */
    const size_t slot = (size_t)(row - first) % COST_WORD_ROWS;
    for (size_t k = 0; k < PLANES; k++)
        plane[k] = (uint16_t *)(void *)s->word[side] + (PLANES * slot + k) * wide + reach;
}

/* Words of LANES pixels whose neighbours all lie in the row. */
#if SDM_VEC == 16
enum { LANES = 32 };
static inline void census_many(const int16_t *const row[2 * HALF_Y + 1], int x, uint16_t *const plane[PLANES])
{
    const __m512i centre = _mm512_loadu_si512(row[HALF_Y] + x);
    __m512i word[PLANES] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    int bit = 0;
#pragma GCC unroll 7
    for (int j = 0; j <= 2 * HALF_Y; j++)
#pragma GCC unroll 9
        for (int i = -HALF_X; i <= HALF_X; i++) {
            if (!sdm_in_census_word(i, j - HALF_Y))
                continue;
            const __m512i near = _mm512_loadu_si512(row[j] + x + i);
#ifdef __AVX512VBMI2__
            /* the sign of a difference that saturates: 1 where the neighbour is darker */
            word[bit / 16] = _mm512_shldi_epi16(word[bit / 16], _mm512_subs_epi16(near, centre), 1);
#else
            const __m512i one = _mm512_set1_epi16((int16_t)(uint16_t)(1u << bit % 16));
            word[bit / 16] = _mm512_mask_add_epi16(word[bit / 16], _mm512_cmplt_epi16_mask(near, centre),
                                                   word[bit / 16], one);
#endif
            bit++;
        }
    for (int k = 0; k < PLANES; k++)
        _mm512_storeu_si512(plane[k] + x, word[k]);
}

/* Bits of each word, or of each byte where a sum of PLANES fits; the words of such sums. */
#ifdef __AVX512BITALG__
#define BITS_OF(a) _mm512_popcnt_epi16(a)
#define WORDS_OF(a) (a)
#else
static inline __m512i bits_of_bytes(__m512i a)
{
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i low = _mm512_set1_epi8(15);
    return _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(a, low)),
                           _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(a, 4), low)));
}
#define BITS_OF(a) bits_of_bytes(a)
#define WORDS_OF(a) _mm512_maddubs_epi16(a, _mm512_set1_epi8(1))
#endif

/* Differing bits of 32 words, 16 bits each; wide: from plane to plane. */
static inline __m512i differing(const uint16_t *left, const uint16_t *right, ptrdiff_t wide)
{
    __m512i n = _mm512_setzero_si512();
    for (int k = 0; k < PLANES; k++) {
        const __m512i differ =
            _mm512_xor_si512(_mm512_loadu_si512(left + k * wide), _mm512_loadu_si512(right + k * wide));
        n = _mm512_add_epi8(n, BITS_OF(differ)); /* at most 31 in a word: no carry from byte to byte */
    }
    return WORDS_OF(n);
}

/* Update column sums: add this row's counts of bits and keep them; subtract the kept counts of the row that
 * leaves, if one does. */
static inline void add_counts(int16_t *col, __m512i n, uint8_t *kept, bool leaves)
{
    const __m512i old =
        leaves ? _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)kept)) : _mm512_setzero_si512();
    _mm512_storeu_si512(col, _mm512_add_epi16(_mm512_loadu_si512(col), _mm512_sub_epi16(n, old)));
    _mm256_storeu_si256((void *)kept, _mm512_cvtepi16_epi8(n));
}
enum { KEPT = 1 }; /* bytes a pixel */
#define WIDE_LOAD(p) _mm512_loadu_si512(p)
#define WIDE_ADD(a, b) _mm512_add_epi16(a, b)
#define WIDE_LOW(a) _mm512_cvtepi16_epi32(_mm512_castsi512_si256(a))
#define WIDE_HIGH(a) _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(a, 1))
#elif SDM_VEC == 8
enum { LANES = 16 };
static inline void census_many(const int16_t *const row[2 * HALF_Y + 1], int x, uint16_t *const plane[PLANES])
{
    const __m256i centre = vi_load(row[HALF_Y] + x);
    __m256i word[PLANES] = {vi_zero(), vi_zero()};
#if !VEC_SHIFTS_IN
    __m256i before = vi_zero();
#endif
    int bit = 1; /* the first of 32 stays 0 */
#pragma GCC unroll 7
    for (int j = 0; j <= 2 * HALF_Y; j++)
#pragma GCC unroll 9
        for (int i = -HALF_X; i <= HALF_X; i++) {
            if (!sdm_in_census_word(i, j - HALF_Y))
                continue;
            const __m256i darker = _mm256_cmpgt_epi16(centre, vi_load(row[j] + x + i));
#if VEC_SHIFTS_IN
            word[bit / 16] = i8_shift_in(word[bit / 16], darker);
#else
            if (bit % 2) { /* two neighbours share the constant: eight pixels of one, eight of the other */
                const __m256i one = _mm256_set1_epi8((int8_t)(uint8_t)(1u << bit / 2 % 8));
                word[bit / 16] = _mm256_or_si256(word[bit / 16],
                                                 _mm256_and_si256(_mm256_packs_epi16(before, darker), one));
            }
            before = darker;
#endif
            bit++;
        }
    for (int k = 0; k < PLANES; k++)
        vi_store(plane[k] + x, VEC_SHIFTS_IN
                                   ? word[k]
                                   : _mm256_unpacklo_epi8(word[k], _mm256_unpackhi_epi64(word[k], word[k])));
}

/* Differing bits of 16 words, in two bytes each; wide: from plane to plane. */
static inline __m256i differing(const uint16_t *left, const uint16_t *right, ptrdiff_t wide)
{
    __m256i n = vi_zero(); /* a byte counts at most 2 x 8 */
    for (int k = 0; k < PLANES; k++)
        n = _mm256_add_epi8(n,
                            i8_bits(_mm256_xor_si256(vi_load(left + k * wide), vi_load(right + k * wide))));
    return n;
}

/* Update column sums: add this row's counts of bits and keep them; subtract the kept counts of the row that
 * leaves, if one does. */
static inline void add_counts(int16_t *col, __m256i bytes, uint8_t *kept, bool leaves)
{
    const __m256i old = leaves ? vi_load(kept) : vi_zero();
    const __m256i n = i8_pair_sums(_mm256_sub_epi8(bytes, old));
    vi_store(col, _mm256_add_epi16(vi_load(col), n));
    vi_store(kept, bytes);
}
enum { KEPT = 2 }; /* bytes a pixel */
#define WIDE_LOAD(p) vi_load(p)
#define WIDE_ADD(a, b) _mm256_add_epi16(a, b)
#define WIDE_LOW(a) _mm256_cvtepi16_epi32(_mm256_castsi256_si128(a))
#define WIDE_HIGH(a) _mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1))
#else
enum { LANES = 64 }; /* of a loop that the compiler turns into vectors */
static inline void census_many(const int16_t *const row[2 * HALF_Y + 1], int x, uint16_t *const plane[PLANES])
{
    const int16_t *restrict const centre = row[HALF_Y] + x;
    int bit = 0;
    for (int k = 0; k < PLANES; k++)
        memset(plane[k] + x, 0, sizeof(uint16_t) * LANES);
    for (int j = 0; j <= 2 * HALF_Y; j++)
        for (int i = -HALF_X; i <= HALF_X; i++) {
            if (!sdm_in_census_word(i, j - HALF_Y))
                continue;
            uint16_t *restrict const out = plane[bit / 16] + x;
            const int16_t *restrict const near = row[j] + x + i;
            const uint16_t one = (uint16_t)(1u << bit++ % 16);
            for (int lane = 0; lane < LANES; lane++)
                out[lane] = (uint16_t)(out[lane] | (near[lane] < centre[lane] ? one : 0));
        }
}
#endif

/* The same where some neighbours, or pixels, lie beyond the sides.  There lies the largest number, which is
 * never darker; words of pixels beyond the row mean nothing. */
static void census_side(const int16_t *const row[2 * HALF_Y + 1], int w, int x, uint16_t *const plane[PLANES])
{
    int16_t part[2 * HALF_Y + 1][LANES + 2 * HALF_X];
    const int16_t *first[2 * HALF_Y + 1];
    const int before = x < HALF_X ? HALF_X - x : 0, from = x - HALF_X + before;
    const int count = w - from < LANES + 2 * HALF_X - before ? w - from : LANES + 2 * HALF_X - before;
    uint16_t *words[PLANES];
    for (int j = 0; j <= 2 * HALF_Y; j++) {
        for (int i = 0; i < LANES + 2 * HALF_X; i++)
            part[j][i] = INT16_MAX;
        memcpy(part[j] + before, row[j] + from, sizeof(int16_t) * (size_t)count);
        first[j] = part[j] + HALF_X;
    }
    for (int k = 0; k < PLANES; k++)
        words[k] = plane[k] + x;
    census_many(first, 0, words);
}

static void census_row(const SdmCostJob *job, const CostScratch *s, int y, int side)
{
    const int16_t *row[2 * HALF_Y + 1];
    uint16_t *plane[PLANES];
    const int w = job->width;
    for (int j = -HALF_Y; j <= HALF_Y; j++)
        row[j + HALF_Y] = cost_image_row(job, s, side, y + j);
    planes_of(s, job, side, y, plane);
    for (int x = 0; x < w; x += LANES)
        if (x < HALF_X || x + LANES + HALF_X > w)
            census_side(row, w, x, plane);
        else
            census_many(row, x, plane);
}

typedef struct RowWords { /* planes of a row, left and right */
    uint16_t *left[PLANES], *right[PLANES];
} RowWords;

/* Add the differing bits of a row to the column sums and subtract those of the row that leaves, which were
 * kept. */
static void add_bits(int16_t *restrict col, uint8_t *restrict kept, const RowWords *in, int d, int count,
                     bool leaves)
{
#if SDM_VEC > 4
    const ptrdiff_t wide = in->left[1] - in->left[0];
    const uint16_t *const left = in->left[0], *const right = in->right[0] + d;
    for (int x = 0; leaves && x < count; x += LANES)
        add_counts(col + x, differing(left + x, right + x, wide), kept + KEPT * x, true);
    for (int x = 0; !leaves && x < count; x += LANES)
        add_counts(col + x, differing(left + x, right + x, wide), kept + KEPT * x, false);
#else
    for (int x = 0; x < count; x++) {
        uint32_t differ = 0;
        for (int k = 0; k < PLANES; k++)
            differ |= (uint32_t)(in->left[k][x] ^ in->right[k][x + d]) << (16 * k);
        const int n = __builtin_popcount(differ), old = leaves ? kept[x] : 0;
        col[x] = (int16_t)(col[x] + n - old);
        kept[x] = (uint8_t)n;
    }
#endif
}

typedef struct ScoreRow {
    int window, count; /* columns of a window, pixels of a row */
    float scale;       /* differing bits of a window -> 2 at most */
} ScoreRow;

/* Scores of a row from the column sums; window sums fit 16 bits (31 x 21 x 21 at most).  The textures tell
 * which windows leave the image. */
#if SDM_VEC > 4
static inline vf score_of(vi bits, const float *ri, const float *rj, float scale)
{
    const vf score = vf_sub(vf_set(1.0f), vf_mul(vf_from(bits), vf_set(scale)));
    return vf_sel(vf_negative(vf_or(vf_load(ri), vf_load(rj))), vf_set(SDM_SCORE_NONE), score);
}

/* triples: room for the sums of three columns, of which windows are summed with fewer loads. */
static inline __attribute__((always_inline)) void score_windows(const ScoreRow *row, const int16_t *column,
                                                                const float *ri, const float *rj,
                                                                int16_t *triples, float *score, int window)
{
    const int count = row->count;
    const float scale = row->scale;
    const int16_t *const first = column - window / 2;
    for (int x = 0; x < count + window; x += LANES)
        vi_store(triples + x, WIDE_ADD(WIDE_ADD(WIDE_LOAD(first + x), WIDE_LOAD(first + x + 1)),
                                       WIDE_LOAD(first + x + 2)));
    for (int x = 0; x < count; x += LANES) {
        vi sum = WIDE_LOAD(triples + x);
        int k = 3;
        for (; k + 3 <= window; k += 3)
            sum = WIDE_ADD(sum, WIDE_LOAD(triples + x + k));
        for (; k < window; k++)
            sum = WIDE_ADD(sum, WIDE_LOAD(first + x + k));
        vf_store(score + x, score_of(WIDE_LOW(sum), ri + x, rj + x, scale));
        vf_store(score + x + SDM_VEC, score_of(WIDE_HIGH(sum), ri + x + SDM_VEC, rj + x + SDM_VEC, scale));
    }
}

static void to_score(const ScoreRow *row, const int16_t *column, const float *ri, const float *rj,
                     int16_t *triples, float *score)
{
    switch (row->window) { /* unrolled for each of the chain's */
    case 5:
        score_windows(row, column, ri, rj, triples, score, 5);
        return;
    case 9:
        score_windows(row, column, ri, rj, triples, score, 9);
        return;
    case 13:
        score_windows(row, column, ri, rj, triples, score, 13);
        return;
    default:
        score_windows(row, column, ri, rj, triples, score, row->window);
    }
}
#else
static void to_score(const ScoreRow *row, const int16_t *column, const float *restrict ri,
                     const float *restrict rj, int16_t *restrict sums, float *restrict score)
{
    const int window = row->window, count = row->count;
    const float scale = row->scale;
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int k = 0; k < window; k++)
        for (int x = 0; x < count; x++)
            sums[x] = (int16_t)(sums[x] + column[x + k - window / 2]);
    for (int x = 0; x < count; x++) {
        const float s = 1.0f - (float)sums[x] * scale;
        score[x] = ri[x] < 0.0f || rj[x] < 0.0f ? SDM_SCORE_NONE : s;
    }
}
#endif

/* Column sums of a disparity: 16 bits each, in an array of 32-bit elements. */
static inline int16_t *columns_of(const CostScratch *s, int k)
{
    return (int16_t *)(void *)s->column + k * s->pitch;
}

/* Add row y, whose words are ready, to the column sums and subtract the row that leaves, if one does. */
static void move_rows(const SdmCostJob *job, const CostScratch *s, int y, bool leaves)
{
    RowWords in;
    const int labels = job->dmax - job->dmin + 1, first = job->row_begin - 2 * job->window;
    uint8_t *const kept = s->kept + 2 * s->pitch * labels * ((y - first) % job->window);
    planes_of(s, job, 0, y, in.left);
    for (int k = 0; k < labels; k++) {
        const int d = job->dmin + k, v = job->along_v ? d : 0;
        planes_of(s, job, 1, y + v, in.right);
        add_bits(columns_of(s, k), kept + 2 * s->pitch * k, &in, d - v, job->width, leaves);
    }
}

/* Words of the rows that enter with row y; first: of all rows along v. */
static void find_words(const SdmCostJob *job, const CostScratch *s, int y, bool first)
{
    const int low = job->along_v ? job->dmin : 0, high = job->along_v ? job->dmax : 0;
    census_row(job, s, y, 0);
    for (int v = first ? low : high; v <= high; v++)
        census_row(job, s, y + v, 1);
}

void SDM_NAME(census)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int win = job->window, half = win / 2, nd = job->dmax - job->dmin + 1;
    const ScoreRow row = {.window = win, .count = job->width, .scale = 2.0f / (float)(BITS * win * win)};
    CostScratch s;
    cost_scratch_cut(&s, job);
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) {
        cost_step(job, &s, y, (CostNeeds){.left = COST_TEXTURE, .right = COST_NODATA});
        find_words(job, &s, y + half, y == job->row_begin - win + 1);
        move_rows(job, &s, y + half, y > job->row_begin);
        if (y < job->row_begin)
            continue;
        for (int k = 0; k < nd; k++) {
            const CostLabel label = cost_label(job, &s, y, k);
            to_score(&row, columns_of(&s, k), s.left.texture, label.right->texture + label.d,
                     (int16_t *)(void *)s.window, s.score + k * s.pitch);
        }
        const SdmCostRow out = cost_row_of(&s, job, y);
        consume(user, &out);
    }
}
