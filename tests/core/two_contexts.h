/* Setup and teardown of tests that compare one thread with three. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

static SdmContext *ctx, *ctx3; /* of one and of three threads */

static inline SdmContext *open_context(int threads)
{
    SdmOptions opt;
    SdmContext *c = NULL;
    sdm_options_default(&opt);
    opt.threads = threads;
    (void)sdm_open(&c, &opt);
    return c;
}

static inline int setup(void **state)
{
    (void)state;
    ctx = open_context(1);
    ctx3 = open_context(3);
    return !ctx || !ctx3;
}

static inline int teardown(void **state)
{
    (void)state;
    sdm_close(&ctx);
    sdm_close(&ctx3);
    return 0;
}
