/* Memory and processors that the machine grants: control groups (Linux), OpenMP's environment, limits. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* The least of what the process's control groups and all above them grant, of version 1 or 2. */
typedef struct SdmGrant {
    int64_t memory_bytes; /* INT64_MAX: no limit */
    double processors;    /* that it may use on average; INFINITY: no limit */
} SdmGrant;
/* root: of the file system that is asked; "" but in tests. */
void sdm_grant_read(const char *root, SdmGrant *out);

/* Threads where the option threads is not given: processors, or what OMP_NUM_THREADS or a control group's
 * quota allow, if less. */
int sdm_usual_threads(void);
/* Bytes of --memory where it is not given: 2G, or three quarters of what the process may have, if less. */
int64_t sdm_usual_memory(void);
/* A warning where the budget, bytes, is more than the process may have. */
void sdm_memory_check(SdmContext *ctx, int64_t bytes);

/* Before the first parallel work of a call: SDM_ERR_USAGE where threads would get too small a stack.  Where
 * fewer threads than wanted can be started, or OpenMP's threads were lost by a fork, the context works with
 * those that there are. */
SdmStatus sdm_threads_check(SdmContext *ctx);
/* Count calls of the library: 1 where one begins, -1 where it ends.  A process that is forked meanwhile is
 * refused by sdm_threads_check(). */
void sdm_calls_add(int count);
