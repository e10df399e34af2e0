/* How fast a device is beside the processor: main processing of a small synthetic scene on both, measured
 * once and kept in the cache.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_DEVICE_SPEED_H
#define SDM_DEVICE_SPEED_H

#include "gpu/device.h"

typedef struct SdmDeviceSpeed {
    int w, h;                     /* of the scene, px */
    double device_s, processor_s; /* wall time, transfers included */
    bool same;                    /* the same heights, flags and scores on both, bit for bit */
} SdmDeviceSpeed;

/* What was measured before with that name of device, driver, build, instruction set and number of threads. */
bool sdm_device_speed_known(SdmContext *ctx, const SdmDeviceInfo *info, SdmDeviceSpeed *out);
/* Measure an open device now, in less than a second (and what its driver takes to build the kernels); keep
 * the result. */
SdmStatus sdm_device_speed_measure(SdmContext *ctx, SdmDevice *device, SdmDeviceSpeed *out);
/* "1024 x 768 px take 0.031 s, on the processor 0.061 s" */
enum { SDM_SPEED_TEXT = 96 };
void sdm_device_speed_text(const SdmDeviceSpeed *speed, char out[SDM_SPEED_TEXT]);

#endif
