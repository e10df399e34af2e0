/* OpenCL program: the embedded source, built once for a device and driver and kept in the cache. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"
#include "opencl.h"

#include <string.h>

enum { OPTIONS_SIZE = 128, KEY_SIZE = 1024, LOG_SIZE = 8192 };

/* Everything on which the binary depends. */
static void make_key(const SdmDeviceInfo *info, const char *options, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "OpenCL\n%s\n%s\n%s\n%s\n%zu %016llx\n", info->platform, info->name,
             info->driver, options, sdm_kernels_text_bytes,
             (unsigned long long)sdm_hash(0, sdm_kernels_text, sdm_kernels_text_bytes));
}

static bool build(SdmCl *cl, const char *options)
{
    return cl->api.BuildProgram(cl->program, 1, &cl->device, options, NULL, NULL) == CL_OK;
}

static bool build_cached(SdmContext *ctx, SdmCl *cl, const char *options, const char *key)
{
    char *binary = NULL;
    size_t bytes = 0;
    int32_t status = CL_OK, code = CL_OK;
    sdm_cache_read(ctx, key, &binary, &bytes);
    if (!binary)
        return false;
    cl->program = cl->api.CreateProgramWithBinary(cl->context, 1, &cl->device, &bytes,
                                                  (const unsigned char *[]){(const unsigned char *)binary}, &status, &code);
    const bool good = cl->program && code == CL_OK && status == CL_OK && build(cl, options);
    if (!good && cl->program) {
        cl->api.ReleaseProgram(cl->program);
        cl->program = NULL;
    }
    sdm_free(&binary);
    return good;
}

static void keep_binary(SdmContext *ctx, const SdmCl *cl, const char *key)
{
    size_t bytes = 0;
    char *binary = NULL;
    if (cl->api.GetProgramInfo(cl->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_OK ||
        bytes == 0 || sdm_alloc(ctx, &binary, bytes, 1, "a built program") != SDM_OK)
        return;
    if (cl->api.GetProgramInfo(cl->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_OK)
        sdm_cache_write(ctx, key, binary, bytes);
    sdm_free(&binary);
}

/* The first lines of the compiler's complaint. */
static SdmStatus fail_build(SdmContext *ctx, const SdmDeviceInfo *info, const SdmCl *cl)
{
    SdmStatus st = SDM_OK;
    char *text = NULL;
    TRY(sdm_alloc(ctx, &text, LOG_SIZE, 1, "a compiler's log"));
    (void)cl->api.GetProgramBuildInfo(cl->program, cl->device, CL_PROGRAM_BUILD_LOG, LOG_SIZE - 1, text,
                                      NULL);
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: %s", info->name, text);
    const char *const fault = strstr(text, "error");
    st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "%s (%s): the driver cannot build the kernels: %.300s",
                  info->name, info->driver, fault ? fault : text);
done:
    sdm_free(&text);
    return st;
}

SdmStatus sdm_cl_build(SdmContext *ctx, const SdmDeviceInfo *info, SdmCl *cl)
{
    const char *const options =
        info->divides ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    const char *const source = (const char *)sdm_kernels_text;
    char key[KEY_SIZE];
    int32_t code = CL_OK;
    make_key(info, options, key);
    if (build_cached(ctx, cl, options, key))
        return SDM_OK;
    const double since = sdm_now_s();
    cl->program = cl->api.CreateProgramWithSource(cl->context, 1, (const char *[]){source},
                                                  &sdm_kernels_text_bytes, &code);
    if (!cl->program)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "%s: the driver does not take the kernels: %s (%d)",
                        info->name, sdm_cl_error(code), (int)code);
    if (!build(cl, options))
        return fail_build(ctx, info, cl);
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: kernels built in %.1f s", info->name, sdm_now_s() - since);
    keep_binary(ctx, cl, key);
    return SDM_OK;
}
