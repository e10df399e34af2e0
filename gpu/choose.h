/* What --device names: the processor, or a device of an API.  Internal; not installed. */
#ifndef SDM_GPU_CHOOSE_H
#define SDM_GPU_CHOOSE_H

#include "device.h"

typedef struct SdmChoice {
    bool cpu; /* the rest says nothing then */
    enum SdmApi api;
    int index;
    char text[32]; /* "cpu", "cuda:0": what --device takes */
} SdmChoice;

/* name: "cpu"; "opencl" or "cuda", the first that can run (of OpenCL's, one that is not the processor if
 * there is any); "opencl:2", that one; "auto": a CUDA device, else an OpenCL device that is no processor,
 * else the processor; one that does not round as the processor does is never taken by itself.  What was taken
 * is logged. SDM_ERR_UNSUPPORTED says why one that was named cannot run. */
SdmStatus sdm_choose_device(SdmContext *ctx, const char *name, SdmChoice *out);

#endif
