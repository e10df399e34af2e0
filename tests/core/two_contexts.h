/* Setup and teardown of tests that compare one thread with three. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/case.h"

static SdmContext *ctx, *ctx3; /* of one and of three threads */

FIXTURE(setup)
{
    ctx = threaded_context(1);
    ctx3 = threaded_context(3);
    return 0;
}

FIXTURE(teardown)
{
    sdm_close(&ctx);
    sdm_close(&ctx3);
    return 0;
}
