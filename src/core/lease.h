/* One process at a time: a lease is a file that its holder makes, keeps fresh and removes.
 *
 * The file names its holder: place (machine, and name space of process numbers), process, start.  A thread of
 * the holder renews its time stamp every few seconds.  There is one rule of liveness: on the same place the
 * lease is dead when that process is gone; elsewhere when the file has not changed for SDM_LEASE_SILENT_S.
 * Only the file system's own clock is asked, and files are created exclusively and opened anew for each look:
 * that works on network file systems, where locks do not and attributes are cached. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_LEASE_H
#define SDM_LEASE_H

#include "core/core.h"

typedef struct SdmLease SdmLease;

enum { SDM_LEASE_PERIOD_S = 5, SDM_LEASE_SILENT_S = 30 };

/* Take the output of a run: the lease OUTPUT.part-owner.  SDM_ERR_IO with a sentence when another run has it,
 * or when the file cannot be made. */
SdmStatus sdm_lease_take_output(SdmContext *ctx, const char *output, SdmLease **out);
/* Take the lease `path`, and wait while another process has it (one log line, which names `what`). */
SdmStatus sdm_lease_wait(SdmContext *ctx, const char *path, const char *what, SdmLease **out);
/* Take the lease `path` to let others know of work that nobody is kept from; NULL when another process has
 * it, or when it cannot be made. */
SdmLease *sdm_lease_announce(const char *path);
/* Stop renewing and remove the file; nothing for NULL. */
void sdm_lease_release(SdmLease **lease);
const char *sdm_lease_path(const SdmLease *lease);

/* Wait until the file `result` is there, or nobody holds the lease `path`, or wait_s are over.  order: while
 * the lease has not been seen, wait 0.5 s x order (at most 10), so that of several who wait the lowest takes
 * it. */
SdmStatus sdm_lease_wait_result(SdmContext *ctx, const char *path, const char *result, double wait_s,
                                int64_t order);

/* Seconds of the clock of the file system that holds the folder: of a file made there for this; of this
 * machine where none can be made. */
double sdm_lease_clock_s(const char *folder);
/* Does a process hold the lease `path`?  now_s: from sdm_lease_clock_s(). */
bool sdm_lease_is_live(const char *path, double now_s);

#endif
