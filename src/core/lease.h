/* One process at a time at an output: a lease is a file beside it, OUTPUT.part-owner, that its holder makes,
 * keeps fresh and removes.
 *
 * The file names its holder: place (machine, name space of process numbers, boot), process, start, and a
 * number that no other lease has.  The protocol needs no locks, no common clock and no hard links:
 * - To take a lease, make its file exclusively.  When the file is there, its holder may be dead: on the same
 *   place, when that process is gone; elsewhere, when the file has not changed for SDM_LEASE_SILENT_S.  Only
 *   the file system's own clock is asked, or the time for which this process has watched the file.
 * - To take away the file of a dead holder, read it again, rename it to a name of one's own, read what was
 *   renamed, and remove it; give it back when it is not the one that was found dead.
 * - A thread of the holder renews the time stamp every SDM_LEASE_PERIOD_S, of the file that has its own text
 *   and of no other.  The file is opened anew for each look, since network file systems cache attributes.
 * - A holder that was suspended or cut off from the file system may have lost its lease.  Before each act
 *   that cannot be undone (give a file its final name, remove files that others may use) it calls
 *   sdm_lease_check(), which renews the lease and reads it once more: nobody takes it away for the next
 *   SDM_LEASE_SILENT_S.  A lease that was lost stays lost: its process stops and touches nothing but its own
 *   temporary files.
 * - A process that is suspended between this check and the act can still come too late.  Therefore temporary
 *   names are the process's own, and files are put in place whole, by a rename.
 * A process that is stopped on the same place is alive: it keeps what it holds alone, but nobody waits longer
 * than SDM_LEASE_SILENT_S for a result of its work. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef struct SdmLease SdmLease;

enum { SDM_LEASE_PERIOD_S = 5, SDM_LEASE_SILENT_S = 30 };

/* Take the output of a run.  SDM_ERR_IO with a sentence when another run has it,
 * or when it cannot be made, taken away from a dead run, or renewed. */
SdmStatus sdm_lease_take_output(SdmContext *ctx, const char *output, SdmLease **out);
/* Take the output, and wait while another process has it (one log line, which names `what`).  wait_s finite:
 * *out is NULL, without a failure, once so many seconds are over or the holder has been silent for
 * SDM_LEASE_SILENT_S; INFINITY: wait as long as the holder lives.  Errors as above. */
SdmStatus sdm_lease_wait_output(SdmContext *ctx, const char *output, const char *what, double wait_s,
                                SdmLease **out);
/* Is the lease still held?  Renews it.  SDM_ERR_IO with a sentence when another process has taken it over, or
 * when its file is gone or cannot be read; NULL is held. */
SdmStatus sdm_lease_check(SdmContext *ctx, SdmLease *lease);
/* Stop renewing and remove the file, unless another process has the lease by now; nothing for NULL. */
void sdm_lease_release(SdmLease **lease);
const char *sdm_lease_path(const SdmLease *lease);
