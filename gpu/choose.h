/* The target of --device: the processor, or a device of an API.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_CHOOSE_H
#define SDM_GPU_CHOOSE_H

#include "device.h"

typedef struct SdmChoice {
    bool cpu; /* the rest says nothing then */
    enum SdmApi api;
    int index;             /* the first of them */
    int count, all[SDM_MOST_DEVICES]; /* devices of one platform that share the work, their indices */
    char text[32]; /* "cpu", "cuda:0", of several "cuda": what --device takes */
    char name[SDM_NAME_SIZE];
    bool exact;        /* rounds as the processor does */
    char why_not[320]; /* auto took the processor: why no CUDA device; else "" */
    bool expected;     /* then: a CUDA device or driver is there, so the user would expect a device */
} SdmChoice;

/* name: "cpu"; "opencl" or "cuda", the first that can run (of OpenCL's, one that is not the processor if
 * there is any); "opencl:2", that one; "auto": a CUDA device that claims to round as the processor does, else
 * the processor.  SDM_ERR_UNSUPPORTED says why one that was named cannot run. */
SdmStatus sdm_choose_device(SdmContext *ctx, const char *name, SdmChoice *out);
/* The same with all that can share the work where no number was given: those of the platform of the first. */
SdmStatus sdm_choose_devices(SdmContext *ctx, const char *name, SdmChoice *out);
/* The first of a list that can run, one that is not the processor if there is any; by itself (auto): none
 * that is the processor or rounds otherwise.  NULL: none. */
const SdmDeviceInfo *sdm_first_device(const SdmDeviceInfo *list, int count, bool by_itself);
/* May auto find a card?  Opens CUDA's library, for good, but does not start the driver, which takes time. */
bool sdm_may_have_card(void);
/* Log what was taken. */
void sdm_choice_tell(SdmContext *ctx, const SdmChoice *choice);

#endif
