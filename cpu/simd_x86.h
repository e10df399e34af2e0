/* What the vectors of SSE4.2, AVX2 and AVX-512 have in common: included by the header of one with VEC_MM
 * (_mm256_) and VEC_SI (si256) set.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_X86_H
#define SDM_SIMD_X86_H

#define VEC_JOIN_(a, b) a##b
#define VEC_JOIN(a, b) VEC_JOIN_(a, b)
#define MM(op) VEC_JOIN(VEC_MM, op)
#define MM_SI(op) VEC_JOIN(MM(op), VEC_SI)

VEC v8 v8_load(const void *p) { return MM_SI(loadu_)(p); }
VEC void v8_store(void *p, v8 a) { MM_SI(storeu_)(p, a); }
VEC v8 v8_set1(int a) { return MM(set1_epi8)((int8_t)a); }
VEC v8 v8_add(v8 a, v8 b) { return MM(add_epi8)(a, b); }
VEC v8 v8_adds(v8 a, v8 b) { return MM(adds_epu8)(a, b); }
VEC v8 v8_sub(v8 a, v8 b) { return MM(sub_epi8)(a, b); }
VEC v8 v8_min(v8 a, v8 b) { return MM(min_epu8)(a, b); }
VEC v8 v8_max(v8 a, v8 b) { return MM(max_epu8)(a, b); }
VEC v8 v8_absdiff(v8 a, v8 b) { return v8_sub(v8_max(a, b), v8_min(a, b)); }

VEC v16 v16_load(const void *p) { return MM_SI(loadu_)(p); }
VEC void v16_store(void *p, v16 a) { MM_SI(storeu_)(p, a); }
VEC v16 v16_set1(int a) { return MM(set1_epi16)((short)a); }
VEC v16 v16_add(v16 a, v16 b) { return MM(add_epi16)(a, b); }
VEC v16 v16_adds(v16 a, v16 b) { return MM(adds_epu16)(a, b); }
VEC v16 v16_sub(v16 a, v16 b) { return MM(sub_epi16)(a, b); }
VEC v16 v16_or(v16 a, v16 b) { return MM_SI(or_)(a, b); }
VEC v16 v16_min(v16 a, v16 b) { return MM(min_epu16)(a, b); }
VEC v16 v16_absdiff(v16 a, v16 b) { return MM(abs_epi16)(v16_sub(a, b)); }
VEC v16 v8_evens(v8 a) { return MM_SI(and_)(a, v16_set1(255)); }
VEC v16 v8_odds(v8 a) { return MM(srli_epi16)(a, 8); }

VEC v32 v32_load(const void *p) { return MM_SI(loadu_)(p); }
VEC void v32_store(void *p, v32 a) { MM_SI(storeu_)(p, a); }
VEC v32 v32_set1(int32_t a) { return MM(set1_epi32)(a); }
VEC v16 v32_bits(v32 a) { return a; }
VEC v32 v32_add(v32 a, v32 b) { return MM(add_epi32)(a, b); }
VEC v32 v32_sub(v32 a, v32 b) { return MM(sub_epi32)(a, b); }
VEC v32 v32_shift_right(v32 a, int n) { return MM(srl_epi32)(a, _mm_cvtsi32_si128(n)); }

VEC vf vf_load(const void *p) { return MM(loadu_ps)(p); }
VEC vf vf_set1(float a) { return MM(set1_ps)(a); }
VEC vf vf_mul(vf a, vf b) { return MM(mul_ps)(a, b); }
VEC vf vf_sub(vf a, vf b) { return MM(sub_ps)(a, b); }
VEC vf vf_from(v32 a) { return MM(cvtepi32_ps)(a); }
VEC v32 v32_round(vf a) { return MM(cvtps_epi32)(a); }

#endif
