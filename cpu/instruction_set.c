/* The instruction sets and their kernels, see instruction_set.h. */
// SPDX-License-Identifier: Apache-2.0
#include "instruction_set.h"

#include <string.h>
#if SDM_X86
#include <cpuid.h>
#endif

extern const SdmKernels sdm_kernels_c;
extern const SdmPairKernels sdm_pair_kernels_c;
extern const SdmSgmKernels sdm_sgm_kernels_c;
static bool always(void)
{
    return true;
}
#if SDM_X86
extern const SdmKernels sdm_kernels_sse42, sdm_kernels_avx2, sdm_kernels_avx512bw, sdm_kernels_avx512;
extern const SdmPairKernels sdm_pair_kernels_sse42, sdm_pair_kernels_avx2, sdm_pair_kernels_avx2_wide,
    sdm_pair_kernels_avx512;
extern const SdmSgmKernels sdm_sgm_kernels_sse42, sdm_sgm_kernels_avx2, sdm_sgm_kernels_avx512;
enum { EBX = 1, ECX = 2, AVX_STATE = 0x6, AVX512_STATE = 0xe6 };
/* Does the processor say so?  __builtin_cpu_supports() is not asked: zig's is always false. */
static bool has(unsigned leaf, int reg, unsigned bits)
{
    unsigned r[4];
    return __get_cpuid_count(leaf, 0, &r[0], &r[1], &r[2], &r[3]) && (r[reg] & bits) == bits;
}
/* Does the system save these registers when it switches threads? */
static bool saves(unsigned states)
{
    unsigned low, high;
    if (!has(1, ECX, bit_OSXSAVE))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & states) == states;
}
static bool has_sse42(void)
{
    return has(1, ECX, bit_SSE4_2 | bit_POPCNT);
}
/* A level is all that any of its kernels may use. */
static bool has_avx2(void)
{
    return has_sse42() && saves(AVX_STATE) && has(7, EBX, bit_AVX2 | bit_BMI | bit_BMI2) &&
           has(0x80000001, ECX, bit_LZCNT);
}
static bool has_avx512bw(void) /* Skylake-X, Cascade Lake */
{
    return has_avx2() && saves(AVX512_STATE) &&
           has(7, EBX, bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL);
}
static bool has_avx512(void) /* Ice Lake, Zen 4 and later */
{
    return has_avx512bw() &&
           has(7, ECX, bit_AVX512VPOPCNTDQ | bit_AVX512BITALG | bit_AVX512VBMI2 | bit_AVX512VNNI);
}
#ifdef SDM_CPU_MODEL /* what clang asks for SDM_VECTOR_LOOPS; zig's is always false */
struct {
    unsigned unused[3], features;
} __cpu_model;
int __cpu_indicator_init(void);
int __cpu_indicator_init(void)
{
    __cpu_model.features = (unsigned)has_avx2() << 10;
    return 0;
}
#endif
#endif
#if SDM_NEON
extern const SdmKernels sdm_kernels_neon;
extern const SdmPairKernels sdm_pair_kernels_neon;
extern const SdmSgmKernels sdm_sgm_kernels_neon;
#endif
#if !SDM_X86 || !SDM_NEON
static bool never(void)
{
    return false;
}
#endif

/* The first kernel of a pair takes chunks as wide as a vector, the second chunks of two vectors. */
const SdmCpuLevel sdm_cpu_levels[SDM_CPU_LEVELS] = {
    {"reference", always, &sdm_kernels_reference, {NULL, NULL}, &sdm_sgm_kernels_reference},
    {"c", always, &sdm_kernels_c, {&sdm_pair_kernels_c, NULL}, &sdm_sgm_kernels_c},
#if SDM_NEON /* aarch64 always has it */
    {"neon", always, &sdm_kernels_neon, {&sdm_pair_kernels_neon, NULL}, &sdm_sgm_kernels_neon},
#else
    {"neon", never, NULL, {NULL, NULL}, NULL},
#endif
#if SDM_X86
    {"sse4.2", has_sse42, &sdm_kernels_sse42, {&sdm_pair_kernels_sse42, NULL}, &sdm_sgm_kernels_sse42},
    {"avx2",
     has_avx2,
     &sdm_kernels_avx2,
     {&sdm_pair_kernels_avx2, &sdm_pair_kernels_avx2_wide},
     &sdm_sgm_kernels_avx2},
    /* without a count of bits, kernels of pairs are no faster than those of AVX2 (`bench papers`) */
    {"avx512bw",
     has_avx512bw,
     &sdm_kernels_avx512bw,
     {&sdm_pair_kernels_avx2, &sdm_pair_kernels_avx2_wide},
     &sdm_sgm_kernels_avx2},
    {"avx512", has_avx512, &sdm_kernels_avx512, {&sdm_pair_kernels_avx512, NULL}, &sdm_sgm_kernels_avx512},
#else
    {"sse4.2", never, NULL, {NULL, NULL}, NULL},
    {"avx2", never, NULL, {NULL, NULL}, NULL},
    {"avx512bw", never, NULL, {NULL, NULL}, NULL},
    {"avx512", never, NULL, {NULL, NULL}, NULL},
#endif
};

const SdmCpuLevel *sdm_cpu_level(const char *name)
{
    const SdmCpuLevel *best = NULL;
    const bool any = strcmp(name, "auto") == 0;
    for (int i = 0; i < SDM_CPU_LEVELS; i++) {
        const SdmCpuLevel *const level = &sdm_cpu_levels[i];
        if ((any ? i > 0 : strcmp(name, level->name) == 0) && level->here())
            best = level;
    }
    return best;
}

const SdmKernels *sdm_kernels_at(const char *name)
{
    const SdmCpuLevel *const level = sdm_cpu_level(name);
    return level ? level->kernels : NULL;
}

const char *sdm_kernels_name(const char *name)
{
    const SdmCpuLevel *const level = sdm_cpu_level(name);
    return level ? level->name : "none";
}

/* The narrowest kernels of this level and those below it that have `lanes`; without any the widest,
 * `best`. */
static const SdmPairKernels *narrowest(const SdmCpuLevel *level, const SdmPairKernels *best, int lanes)
{
    for (; best && level > sdm_cpu_levels; level--) {
        const SdmPairKernels *const kernels = level->pair[0]; /* NULL: of another processor */
        if (kernels && kernels->lanes >= lanes && kernels->lanes < best->lanes)
            best = kernels;
    }
    return best;
}

const SdmPairKernels *sdm_pair_kernels(const SdmCpuLevel *level, int disparities)
{
    return narrowest(level, level->pair[1] ? level->pair[1] : level->pair[0], disparities);
}

const SdmPairKernels *sdm_bp_kernels(const SdmCpuLevel *level, int labels)
{
    return narrowest(level, level->pair[0], 2 * labels);
}
