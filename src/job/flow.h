/* Blocks of scenes flow from their source through a store into a sink: units of a job are found finished in
 * its folder, or computed and kept there; each block that is not kept goes to the caller.  run, tile, merge
 * and a DEM in memory are this loop with a store, a sink, or both. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease.h"
#include "job/job.h"

typedef struct SdmFlow SdmFlow;

/* A unit that has ended. */
typedef struct SdmFlowUnit {
    int64_t unit; /* of the plan */
    bool resumed; /* it was found done */
    double seconds;
    SdmBlock *block; /* where it is in memory and in no file: freed after the call, unless the callee takes
                      * the arrays; NULL: there is none */
    const SdmUsage *used; /* by making it, without the preparation of its scene */
} SdmFlowUnit;

typedef struct SdmFlowRequest {
    const SdmJob *job;   /* borrowed, as all below */
    SdmScene *images;    /* the scene of a job of one, open to SDM_DEPTH_WHOLE; NULL: opened when needed */
    bool has_store;      /* units are kept in the job's folder */
    bool is_shared;      /* other processes work on the job: wait for their preparations, keep failures */
    bool keep_last;      /* the last block of a scene goes to the caller, not into the store */
    double wait_s;       /* longest wait for another process that prepares a scene */
    SdmLease *output;    /* of the products that the units are for; NULL: none */
    const int64_t *unit; /* those to do; NULL: first .. first + count - 1 */
    int64_t first, count;
    const char *word; /* of a unit, for the progress */
    double share;     /* of the progress when all units have ended */
    /* Called for each unit that has ended, in their order, and for one that failed; returns what ends all, or
     * SDM_OK to go on with the others.  NULL: a failure ends all. */
    SdmStatus (*ended)(SdmContext *ctx, void *user, const SdmFlowUnit *unit, SdmStatus st);
    void *user;
} SdmFlowRequest;

/* queue: the back end, taken over; pointer to NULL: opened when a unit needs it. */
SdmStatus sdm_flow_open(SdmContext *ctx, const SdmFlowRequest *request, SdmDevicePool **queue, SdmFlow **out);
/* Compute the units, as many at a time as the back end takes.  After a failure that ends the flow, units that
 * were begun are finished, if possible, and stored. */
SdmStatus sdm_flow_run(SdmContext *ctx, SdmFlow *flow);
void sdm_flow_close(SdmFlow **flow); /* abandons what is in work */

/* The prepared scene, borrowed, and what its preparation has used; prepares it where that was not done. */
SdmStatus sdm_flow_prepared(SdmContext *ctx, SdmFlow *flow, int scene, const SdmPrepared **prepared,
                            const SdmUsage **used);
/* Keep a block in the store that the caller has had. */
SdmStatus sdm_flow_store(SdmContext *ctx, SdmFlow *flow, int64_t unit, const SdmBlock *block,
                         const SdmUsage *used);
/* The back end; NULL: none was opened yet. */
const SdmDevicePool *sdm_flow_queue(const SdmFlow *flow);
/* The first doubt of the scenes prepared by this flow; "": none. */
const char *sdm_flow_doubt(const SdmFlow *flow);
