/* The best residuals of a row -> its new heights and reasons. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "kernels.h"
#include "vec.h"

sdm_update_row_fn SDM_NAME(update_row);

static uint16_t judge(const SdmUpdateRow *u, int x)
{
    if (u->texture[x] < 0.0f)
        return SDM_QA_OUTSIDE;
    if (!(u->texture[x] > 0.0f))
        return SDM_QA_TEXTURELESS;
    if (u->score[x] <= SDM_SCORE_NONE)
        return SDM_QA_OUTSIDE;
    if (u->score[x] < u->min_score)
        return SDM_QA_LOW_SCORE;
    if (u->mismatch && u->mismatch[x] > u->max_mismatch)
        return SDM_QA_LEFT_RIGHT;
    if (u->not_at_edge && u->edge[x])
        return SDM_QA_AMBIGUOUS;
    if (u->runner_up && u->score[x] - u->runner_up[x] < u->min_margin)
        return SDM_QA_AMBIGUOUS;
    return SDM_QA_VALID;
}

static void update_pixel(const SdmUpdateRow *u, int x)
{
    if (u->keep_valid && (u->flags[x] & SDM_QA_VALID))
        return;
    if (u->min_quality && (u->flags[x] & SDM_QA_VALID) && u->quality[x] < u->min_quality) {
        u->h_m[x] = u->prior[x];
        return;
    }
    const float d = u->residual[x], k = u->du_dh[x];
    const int a = x > 0 ? x - 1 : x, b = x + 1 < u->width ? x + 1 : x;
    uint16_t flags = judge(u, x);
    if ((flags & SDM_QA_VALID) &&
        1.0f + k * (u->prior[b] - u->prior[a]) / (float)(b - a > 0 ? b - a : 1) < 0.1f)
        flags = SDM_QA_FOLD;
    u->h_m[x] = flags & SDM_QA_VALID ? sdm_height_at(u->prior, u->width, x, d) + d / k : u->prior[x];
    u->flags[x] = flags;
    u->quality[x] = u->score[x] > 0.0f ? (uint8_t)(u->score[x] * 250.0f + 0.5f) : 0;
}

/* Constants of a row; see vi_kept(). */
typedef struct Judge {
    vi valid, ambiguous, left_right, low_score, outside, textureless, fold;
    vf none, least_stretch, quality_unit;
} Judge;

static inline Judge judge_of(void)
{
    return (Judge){.valid = vi_kept(vi_set(SDM_QA_VALID)),
                   .ambiguous = vi_kept(vi_set(SDM_QA_AMBIGUOUS)),
                   .left_right = vi_kept(vi_set(SDM_QA_LEFT_RIGHT)),
                   .low_score = vi_kept(vi_set(SDM_QA_LOW_SCORE)),
                   .outside = vi_kept(vi_set(SDM_QA_OUTSIDE)),
                   .textureless = vi_kept(vi_set(SDM_QA_TEXTURELESS)),
                   .fold = vi_kept(vi_set(SDM_QA_FOLD)),
                   .none = vf_kept(vf_set(SDM_SCORE_NONE)),
                   .least_stretch = vf_kept(vf_set(0.1f)),
                   .quality_unit = vf_kept(vf_set(250.0f))};
}

/* The reasons, the first that applies. */
static inline vi judge_many(const SdmUpdateRow *u, const Judge *j, int x)
{
    const vf texture = vf_load(u->texture + x), score = vf_load(u->score + x), zero = vf_set(0.0f);
    vi f = j->valid;
    if (u->runner_up)
        f = vi_sel(vf_gt(vf_set(u->min_margin), vf_sub(score, vf_load(u->runner_up + x))), j->ambiguous, f);
    if (u->not_at_edge)
        f = vi_sel(vi_gt(vi_load_u8(u->edge + x), vi_zero()), j->ambiguous, f);
    if (u->mismatch)
        f = vi_sel(vf_gt(vf_load(u->mismatch + x), vf_set(u->max_mismatch)), j->left_right, f);
    f = vi_sel(vf_gt(vf_set(u->min_score), score), j->low_score, f);
    f = vi_sel(vf_ge(j->none, score), j->outside, f);
    f = vi_sel(vf_gt(texture, zero), f, j->textureless);
    return vi_sel(vf_gt(zero, texture), j->outside, f);
}

/* Pixels i and i + 1 of a row, side by side in memory; of SDM_VEC places. */
typedef struct Neighbours {
    vf first, second;
} Neighbours;

static inline Neighbours neighbours_at(const float *row, vi i)
{
#if SDM_VEC == 8
    const double *const pairs = (const double *)(const void *)row; /* moved as they are */
    const __m256 low = _mm256_castpd_ps(_mm256_i32gather_pd(pairs, _mm256_castsi256_si128(i), 4));
    const __m256 high = _mm256_castpd_ps(_mm256_i32gather_pd(pairs, _mm256_extracti128_si256(i, 1), 4));
    const __m256 a = _mm256_permute2f128_ps(low, high, 0x20), b = _mm256_permute2f128_ps(low, high, 0x31);
    return (Neighbours){_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xDD)};
#elif SDM_VEC == 16
    const __m512i low = _mm512_castpd_si512(_mm512_i32gather_pd(_mm512_castsi512_si256(i), row, 4));
    const __m512i high = _mm512_castpd_si512(_mm512_i32gather_pd(_mm512_extracti32x8_epi32(i, 1), row, 4));
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return (Neighbours){_mm512_castsi512_ps(_mm512_permutex2var_epi32(low, even, high)),
                        _mm512_castsi512_ps(_mm512_permutex2var_epi32(low, odd, high))};
#else
    return (Neighbours){vf_gather(row, i), vf_gather(row + 1, i)};
#endif
}

/* Pixels x - 1, x and x + 1 of the prior. */
typedef struct Three {
    vf before, at, after;
} Three;

/* Heights of the prior at the pixels x + d. */
static inline vf heights_at(const SdmUpdateRow *u, int x, vf d, const Three *prior)
{
    const vi last = vi_set(u->width - 1);
    const vf whole = vf_floor(d), zero = vf_set(0.0f), one = vf_set(1.0f);
    if (vm_none(vf_gt(vf_abs(d), one))) { /* nearly everywhere */
        const vm left = vf_gt(zero, d);
        const Neighbours n = {vf_sel(left, prior->before, vf_sel(vf_ge(d, one), prior->after, prior->at)),
                              vf_sel(left, prior->at, prior->after)};
        return vf_add(n.first, vf_mul(vf_sub(d, whole), vf_sub(n.second, n.first)));
    }
    const vi i = vi_add(vi_down(d), vi_add(vi_set(x), vi_load(sdm_lane_numbers)));
    const vi at = vi_min(vi_max(i, vi_zero()), vi_set(u->width - 2));
    const Neighbours h = neighbours_at(u->prior, at);
    const vf between = vf_add(h.first, vf_mul(vf_sub(d, whole), vf_sub(h.second, h.first)));
    return vf_sel(vi_gt(vi_zero(), i), h.first, vf_sel(vi_gt(last, i), between, h.second));
}

/* keeps: some pixels keep what they have. */
static inline __attribute__((always_inline)) void update_many(const SdmUpdateRow *u, const Judge *j, int x,
                                                              bool keeps)
{
    const Three near = {vf_load(u->prior + x - 1), vf_load(u->prior + x), vf_load(u->prior + x + 1)};
    const vf d = vf_load(u->residual + x), k = vf_load(u->du_dh + x), prior = near.at;
    const vf score = vf_load(u->score + x), zero = vf_set(0.0f), rise = vf_sub(near.after, near.before);
    const vm folds = vf_gt(j->least_stretch, vf_add(vf_set(1.0f), vf_mul(vf_mul(k, rise), vf_set(0.5f))));
    vi f = judge_many(u, j, x);
    f = vi_sel(vm_and(folds, vi_eq(f, j->valid)), j->fold, f);
    vf h = vf_sel(vi_eq(f, j->valid), vf_add(heights_at(u, x, d, &near), vf_div(d, k)), prior);
    vi q = vi_trunc(vf_add(vf_mul(vf_max(score, zero), j->quality_unit), vf_set(0.5f)));
    if (keeps) {
        const vi old = vi_load_u16(u->flags + x), quality = vi_load_u8(u->quality + x);
        const vi most = vi_set(u->keep_valid ? UINT8_MAX + 1 : u->min_quality);
        const vm keep = vm_and(vi_gt(vi_and(old, j->valid), vi_zero()), vi_gt(most, quality));
        f = vi_sel(keep, old, f);
        h = vf_sel(keep, u->keep_valid ? vf_load(u->h_m + x) : prior, h);
        q = vi_sel(keep, quality, q);
    }
    vf_store(u->h_m + x, h);
    vi_store_u16(u->flags + x, f);
    vi_store_u8(u->quality + x, q);
}

void SDM_NAME(update_row)(const SdmUpdateRow *row)
{
    const SdmUpdateRow own = *row, *const u = &own; /* else read again after each store */
    const Judge j = judge_of();
    int x = 0;
    if (u->width > SDM_VEC + 1) {
        update_pixel(u, x++);
        if (u->keep_valid || u->min_quality)
            for (; x + SDM_VEC < u->width; x += SDM_VEC)
                update_many(u, &j, x, true);
        else
            for (; x + SDM_VEC < u->width; x += SDM_VEC)
                update_many(u, &j, x, false);
    }
    for (; x < u->width; x++)
        update_pixel(u, x);
}
