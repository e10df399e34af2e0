/* Units of a job that are computed: finished ones are found, the others are begun, ended and stored. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_UNIT_QUEUE_H
#define SDM_UNIT_QUEUE_H

#include "core/lease.h"
#include "job/build_products.h"
#include "job/job.h"

typedef struct SdmUnits SdmUnits;

typedef struct SdmUnitsRequest {
    const SdmJob *job;  /* borrowed */
    SdmLease *output;   /* borrowed: of the products that the units are for; NULL: none, each unit has its
                         * own */
    bool is_shared;     /* other processes work on the job: wait for them, keep failures for status */
    bool keep_last;     /* the last block of a scene stays in memory, see sdm_units_result() */
    double wait_s;      /* longest wait for another process that prepares a scene */
    int64_t expected;   /* units that will be begun */
} SdmUnitsRequest;

/* queue: the back end, taken over; pointer to NULL: opened when a unit needs it. */
SdmStatus sdm_units_open(SdmContext *ctx, const SdmUnitsRequest *request, SdmDevicePool **queue,
                         SdmUnits **out);
void sdm_units_close(SdmUnits **units); /* abandons what is in work */

/* Begin a unit; it is found done when its file is there, whole and of this plan.  Its failure is kept beside
 * it. Not while sdm_units_is_full(). */
SdmStatus sdm_units_begin(SdmContext *ctx, SdmUnits *units, int64_t unit);
/* Must units end before this one can begin?  All in work are of one scene, as many as the back end takes. */
bool sdm_units_is_full(const SdmUnits *units, int64_t unit);
int sdm_units_in_work(const SdmUnits *units);
/* None is in work, none comes: devices close meanwhile. */
SdmStatus sdm_units_finish(SdmContext *ctx, SdmUnits *units);
/* The back end as --device takes it, "auto" until it is ready; NULL: not asked for yet. */
const char *sdm_units_device(const SdmUnits *units);
/* End the one that began first: wait, grid, write.  *done: what it was, also after a failure. */
typedef struct SdmUnitDone {
    int64_t unit;
    bool resumed; /* it was found done */
    double seconds;
} SdmUnitDone;
SdmStatus sdm_units_end(SdmContext *ctx, SdmUnits *units, SdmUnitDone *done);
/* Cells of the DEM that a unit makes, for the progress; 0: it is a preparation, or its scene is not the one
 * in work, or not prepared yet. */
int64_t sdm_units_cells(const SdmUnits *units, int64_t unit);
/* After a failure, which is returned: the units in work are finished where they can be, and kept. */
SdmStatus sdm_units_end_others(SdmContext *ctx, SdmUnits *units, SdmStatus st);
/* The first doubt of a scene that was prepared here; "": none. */
const char *sdm_units_doubt(const SdmUnits *units);
int64_t sdm_units_resumed(const SdmUnits *units); /* that were found done */

/* What the products of a scene are built from, once its units have ended: borrowed from `units`. */
SdmStatus sdm_units_result(SdmContext *ctx, SdmUnits *units, int scene, SdmBuildInput *out);
/* Write the block that is kept in memory, so that the next process finds it. */
void sdm_units_store_last(SdmUnits *units);

#endif
