/* The devices of this machine that can run. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/device.h"
#include "tests/case.h"

static SdmDeviceInfo devices[2 * SDM_MOST_DEVICES];
static int device_count;

/* Says why where there is none. */
static inline void find_devices(void)
{
    char reason[SDM_REASON_SIZE];
    for (int api = 0; api < SDM_API_COUNT; api++) {
        SdmDeviceInfo found[SDM_MOST_DEVICES];
        const int n = sdm_devices((enum SdmApi)api, found, SDM_MOST_DEVICES, reason);
        if (n == 0)
            print_message("%s: %s\n", sdm_api_name((enum SdmApi)api), reason);
        for (int i = 0; i < n; i++) {
            const SdmDeviceInfo *const d = &found[i];
            print_message("%s:%d %s%s%s\n", sdm_api_name(d->api), d->index, d->name,
                          d->why_not[0] ? ": " : "", d->why_not);
            if (!d->why_not[0])
                devices[device_count++] = *d;
        }
    }
    if (!device_count)
        print_message("skipped: no OpenCL or CUDA device here\n");
}
