/* Arithmetic whose answers are known -> does a device round as the processor does?  The operations are those
 * of the kernels.  sdm_known_answers() in self_test.cl computes the same on a device. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_KNOWN_ANSWERS_H
#define SDM_KNOWN_ANSWERS_H

#include <math.h>
#include <stdint.h>

enum { SDM_ANSWER_ITEMS = 64, SDM_ANSWER_INPUTS = 4, SDM_ANSWERS = 9, SDM_DOUBLE_ANSWERS = 3 };

/* Name of each tested operation, for people; those with doubles follow the others. */
static const char *const sdm_answer_names[SDM_ANSWERS + SDM_DOUBLE_ANSWERS] = {
    "a product and a sum",   "a difference of products", "division",          "square root",
    "reciprocal root",       "denormals",                "ties",              "int to float",
    "long to float",         "product and sum (double)", "division (double)", "double to float"};

/* Inputs of an item: numbers of 0.5..1.5 with full mantissas, so that a fused product shows in every second
 * item. */
static inline void sdm_answer_inputs(int item, float in[SDM_ANSWER_INPUTS])
{
    uint32_t state = (uint32_t)item * 2654435761u + 12345u;
    for (int k = 0; k < SDM_ANSWER_INPUTS; k++) {
        state = state * 1664525u + 1013904223u;
        in[k] = 0.5f + (float)(state >> 8) * 0x1p-24f;
    }
}

/* Each operation by itself: volatile keeps the compiler from joining them. */
static inline void sdm_answers_of(int item, const float in[SDM_ANSWER_INPUTS], float out[SDM_ANSWERS])
{
    const volatile float ab = in[0] * in[1], cd = in[2] * in[3], root = sqrtf(in[0]);
    const volatile float small = in[0] * 0x1p-100f, smaller = in[1] * 0x1p-30f;
    out[0] = ab + in[2];
    out[1] = ab - cd;
    out[2] = in[0] / in[1];
    out[3] = root;
    out[4] = 1.0f / root;
    out[5] = small * smaller;
    out[6] = rintf((float)(item - 32) + 0.5f);
    out[7] = (float)(int32_t)(item * 33554467 + 1);
    out[8] = (float)((int64_t)item * INT64_C(140737488355349) + 3);
}

/* out[2] is a float in a double. */
static inline void sdm_double_answers_of(const float in[SDM_ANSWER_INPUTS], double out[SDM_DOUBLE_ANSWERS])
{
    const volatile double a = (double)in[0] * 1.1, b = (double)in[1] * 0.7, ab = a * b;
    out[0] = ab + (double)in[2];
    out[1] = a / b;
    out[2] = (double)(float)ab;
}

#endif
