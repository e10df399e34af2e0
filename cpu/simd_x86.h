/* Operations that SSE4.2, AVX2 and AVX-512 share, by V_ and SI_ of vec.h.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_X86_H
#define SDM_SIMD_X86_H

VEC v8 v8_load(const void *p) { return SI_(loadu)(p); }
VEC void v8_store(void *p, v8 a) { SI_(storeu)(p, a); }
VEC v8 v8_set(int a) { return V_(set1_epi8)((int8_t)a); }
VEC v8 v8_add(v8 a, v8 b) { return V_(add_epi8)(a, b); }
VEC v8 v8_adds(v8 a, v8 b) { return V_(adds_epu8)(a, b); }
VEC v8 v8_sub(v8 a, v8 b) { return V_(sub_epi8)(a, b); }
VEC v8 v8_min(v8 a, v8 b) { return V_(min_epu8)(a, b); }
VEC v8 v8_max(v8 a, v8 b) { return V_(max_epu8)(a, b); }
VEC v8 v8_absdiff(v8 a, v8 b) { return v8_sub(v8_max(a, b), v8_min(a, b)); }

VEC v16 v16_load(const void *p) { return SI_(loadu)(p); }
VEC void v16_store(void *p, v16 a) { SI_(storeu)(p, a); }
VEC v16 v16_set(int a) { return V_(set1_epi16)((short)a); }
VEC v16 v16_add(v16 a, v16 b) { return V_(add_epi16)(a, b); }
VEC v16 v16_adds(v16 a, v16 b) { return V_(adds_epu16)(a, b); }
VEC v16 v16_sub(v16 a, v16 b) { return V_(sub_epi16)(a, b); }
VEC v16 v16_or(v16 a, v16 b) { return SI_(or)(a, b); }
VEC v16 v16_min(v16 a, v16 b) { return V_(min_epu16)(a, b); }
VEC v16 v16_absdiff(v16 a, v16 b) { return V_(abs_epi16)(v16_sub(a, b)); }
VEC v16 v8_evens(v8 a) { return SI_(and)(a, v16_set(255)); }
VEC v16 v8_odds(v8 a) { return V_(srli_epi16)(a, 8); }

VEC v16 vi_bits(vi a) { return a; }

#endif
