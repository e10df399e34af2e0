/* OpenCL programs: the embedded sources, each built once for a device and driver and kept in the cache. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"
#include "device_cache.h"
#include "opencl.h"

#include <string.h>

enum { KEY_SIZE = 1024, LOG_SIZE = 8192 };

/* The programs of gpu.cmake. */
#define PROGRAMS(X) X(test) X(chain) X(match) X(volume) X(grid) X(pair) X(labels) X(sgm) X(bp)
#define DECLARE(name)                             \
    extern const unsigned char sdm_program_##name[]; \
    extern const size_t sdm_program_##name##_bytes;
PROGRAMS(DECLARE)
#define COUNT(name) PROGRAM_##name,
enum { PROGRAMS(COUNT) PROGRAM_COUNT };
_Static_assert((int)PROGRAM_COUNT == (int)SDM_CL_PROGRAMS, "programs");

typedef struct Text { /* of a program */
    const char *name, *source;
    size_t bytes;
} Text;

static Text text_of(int program)
{
#define CASE(name)                                                                                           \
    case PROGRAM_##name:                                                                                     \
        return (Text){#name, (const char *)sdm_program_##name, sdm_program_##name##_bytes};
    switch (program) {
        PROGRAMS(CASE)
    default:
        return (Text){"", "", 0};
    }
}

/* By how the names of its kernels begin. */
static int program_of(const char *kernel)
{
    static const struct {
        const char *begin;
        int program;
    } table[] = {{"sdm_", PROGRAM_test},      {"copy_", PROGRAM_test},     {"match_", PROGRAM_match},
                 {"ray_zncc", PROGRAM_match}, {"volume_", PROGRAM_volume}, {"grid_", PROGRAM_grid},
                 {"pair_", PROGRAM_pair},     {"label_", PROGRAM_labels},  {"right_", PROGRAM_labels},
                 {"sgm_", PROGRAM_sgm},       {"bp_", PROGRAM_bp}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(kernel, table[i].begin, strlen(table[i].begin)) == 0)
            return table[i].program;
    return PROGRAM_chain;
}

/* Everything on which the binary depends. */
static void make_key(const SdmDeviceInfo *info, const Text *text, const char *options, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "OpenCL\n%s\n%s\n%s\n%s\n%s %zu %016llx\n", info->platform, info->name,
             info->driver, options, text->name, text->bytes,
             (unsigned long long)sdm_hash(0, text->source, text->bytes));
}

static bool build(const SdmClShared *cl, ClHandle program, const char *options)
{
    return cl->api.BuildProgram(program, 1, &cl->device, options, NULL, NULL) == CL_OK;
}

/* NULL: the cache has none that the driver takes. */
static ClHandle build_cached(SdmContext *ctx, const SdmClShared *cl, const char *options, const char *key)
{
    char *binary = NULL;
    size_t bytes = 0;
    int32_t status = CL_OK, code = CL_OK;
    sdm_cache_read(ctx, key, &binary, &bytes);
    if (!binary)
        return NULL;
    ClHandle program = cl->api.CreateProgramWithBinary(
        cl->context, 1, &cl->device, &bytes, (const unsigned char *[]){(const unsigned char *)binary},
        &status, &code);
    const bool good = program && code == CL_OK && status == CL_OK && build(cl, program, options);
    if (!good && program) {
        cl->api.ReleaseProgram(program);
        program = NULL;
    }
    sdm_free(&binary);
    return program;
}

static void keep_binary(SdmContext *ctx, const SdmClShared *cl, ClHandle program, const char *key)
{
    size_t bytes = 0;
    char *binary = NULL;
    if (cl->api.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_OK ||
        bytes == 0 || sdm_alloc(ctx, &binary, bytes, 1, "a built program") != SDM_OK)
        return;
    if (cl->api.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_OK)
        sdm_cache_write(ctx, key, binary, bytes);
    sdm_free(&binary);
}

/* The first lines of the compiler's complaint. */
static SdmStatus fail_build(SdmContext *ctx, const SdmDeviceInfo *info, const SdmClShared *cl,
                            ClHandle program)
{
    SdmStatus st = SDM_OK;
    char *text = NULL;
    TRY(sdm_alloc(ctx, &text, LOG_SIZE, 1, "a compiler's log"));
    (void)cl->api.GetProgramBuildInfo(program, cl->device, CL_PROGRAM_BUILD_LOG, LOG_SIZE - 1, text,
                                      NULL);
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: %s", info->name, text);
    const char *const fault = strstr(text, "error");
    st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "%s (%s): the driver cannot build the kernels: %.300s",
                  info->name, info->driver, fault ? fault : text);
done:
    sdm_free(&text);
    return st;
}

static SdmStatus build_text(SdmContext *ctx, const SdmDeviceInfo *info, const SdmClShared *cl,
                            const Text *text, ClHandle *out)
{
    SdmStatus st = SDM_OK;
    const char *const options =
        info->divides ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    char key[KEY_SIZE];
    int32_t code = CL_OK;
    make_key(info, text, options, key);
    *out = build_cached(ctx, cl, options, key);
    if (*out)
        return SDM_OK;
    const double since = sdm_now_s();
    ClHandle program =
        cl->api.CreateProgramWithSource(cl->context, 1, (const char *[]){text->source}, &text->bytes, &code);
    if (!program)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "%s: the driver rejects the kernels: %s (%d)",
                        info->name, sdm_cl_error(code), (int)code);
    if (!build(cl, program, options)) {
        st = fail_build(ctx, info, cl, program);
        cl->api.ReleaseProgram(program);
        return st;
    }
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: kernels of '%s' built in %.1f s", info->name, text->name,
            sdm_now_s() - since);
    keep_binary(ctx, cl, program, key);
    *out = program;
    return SDM_OK;
}

SdmStatus sdm_cl_program_of(SdmContext *ctx, const SdmDeviceInfo *info, SdmClShared *shared,
                            const char *kernel, ClHandle *out)
{
    SdmStatus st = SDM_OK;
    const int i = program_of(kernel);
    const Text text = text_of(i);
    pthread_mutex_lock(&shared->building); /* who comes second takes what the first one has built */
    if (!shared->program[i])
        TRY(build_text(ctx, info, shared, &text, &shared->program[i]));
    *out = shared->program[i];
done: /* in the middle of work another device, or the processor, can go on */
    pthread_mutex_unlock(&shared->building);
    return st == SDM_ERR_UNSUPPORTED && i != PROGRAM_test ? SDM_ERR_DEVICE : st;
}
