/* Opening a device: whether it computes, and whether it rounds as the processor does. */
// SPDX-License-Identifier: Apache-2.0
#include "known_answers.h"
#include "device_inside.h"


static const double WRONG = 1e-3; /* relative error that no rounding explains */

/* Compare the device's answers with the processor's, count of every item.  exact: cleared where one
 * differs.  SDM_ERR_DEVICE: one is no rounding of the right answer. */
static SdmStatus compare(SdmContext *ctx, SdmDevice *d, const double *have, const double *want, int count,
                         const char *const names[], bool *exact)
{
    for (int i = 0; i < SDM_ANSWER_ITEMS * count; i++) {
        const double h = have[i], w = want[i];
        if (h == w)
            continue;
        if (!(fabs(h - w) <= WRONG * fabs(w) + 0x1p-126)) /* denormals may be flushed to 0 */
            return sdm_fail(
                ctx, SDM_ERR_DEVICE,
                "%s: its answer to a test (%s) is %.9g instead of %.9g: driver or device are faulty",
                d->info.name, names[i % count], h, w);
        if (*exact)
            snprintf(d->info.differs, sizeof d->info.differs, "%s", names[i % count]);
        *exact = false;
    }
    return SDM_OK;
}

/* Run one of the kernels: bytes of its answers -> out. */
static SdmStatus ask(SdmContext *ctx, SdmDevice *d, const char *kernel, const SdmBuffer *in, void *out,
                     int64_t bytes)
{
    SdmStatus st = SDM_OK;
    SdmBuffer *answers = NULL;
    TRY(sdm_buffer_new(ctx, d, bytes, "answers", &answers));
    const SdmArg args[] = {SDM_BUF(in), SDM_BUF(answers)};
    TRY(sdm_launch(ctx, d, 0, &(SdmLaunch){kernel, {1, 1, 1}, {SDM_ANSWER_ITEMS, 1, 1}, 2, args}));
    TRY(sdm_download(ctx, answers, 0, out, bytes, 0, true));
done:
    sdm_buffer_free(&answers);
    return st;
}

/* Ask an opened device.  info.exact is set where every answer is the processor's, whatever the driver claims;
 * else info.differs names the first operation.  info.doubles is cleared where those differ.  SDM_ERR_DEVICE
 * where it does not compute at all. */
static SdmStatus probe(SdmContext *ctx, SdmDevice *d)
{
    enum { N = SDM_ANSWER_ITEMS, ALL = SDM_ANSWER_ITEMS * SDM_ANSWERS };
    SdmStatus st = SDM_OK;
    float in[N][SDM_ANSWER_INPUTS], answer[ALL], definition[ALL];
    double have[ALL], want[ALL], seconds;
    SdmBuffer *inputs = NULL;
    for (int i = 0; i < N; i++) {
        sdm_answer_inputs(i, in[i]);
        sdm_answers_of(i, in[i], definition + i * SDM_ANSWERS);
    }
    TRY(sdm_buffer_new(ctx, d, sizeof in, "the inputs of a test", &inputs));
    TRY(sdm_upload(ctx, inputs, 0, in, sizeof in, 0, true));
    TRY(ask(ctx, d, "sdm_known_answers", inputs, answer, sizeof answer));
    for (int i = 0; i < ALL; i++) {
        have[i] = (double)answer[i];
        want[i] = (double)definition[i];
    }
    d->info.exact = true;
    TRY(compare(ctx, d, have, want, SDM_ANSWERS, sdm_answer_names, &d->info.exact));
    if (!d->info.doubles)
        goto done;
    for (int i = 0; i < N; i++)
        sdm_double_answers_of(in[i], want + i * SDM_DOUBLE_ANSWERS);
    TRY(ask(ctx, d, "sdm_known_doubles", inputs, have, (int64_t)sizeof *have * N * SDM_DOUBLE_ANSWERS));
    TRY(compare(ctx, d, have, want, SDM_DOUBLE_ANSWERS, sdm_answer_names + SDM_ANSWERS, &d->info.doubles));
done:
    if (st == SDM_OK)
        st = sdm_device_seconds(ctx, d, 0, &seconds); /* the clock starts anew */
    sdm_buffer_free(&inputs);
    return st;
}

SdmStatus sdm_device_open(SdmContext *ctx, enum SdmApi api, int index, SdmDevice **out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_device_open_untested(ctx, api, index, out));
    TRY(probe(ctx, *out));
    (void)sdm_device_trim(*out);
    (*out)->peak = 0;
done:
    if (st != SDM_OK)
        sdm_device_close(out);
    return st;
}
