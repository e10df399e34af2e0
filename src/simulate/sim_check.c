/* Options of simulate -> usable, or one sentence that names the bad one.  The table is the only place with
 * ranges. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "simulate/sim.h"

#include <math.h>
#include <string.h>

static SdmStatus check_number(SdmContext *ctx, const SdmOptionSpec *s, double v)
{
    if (v >= s->lo && v <= s->hi)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s is %g; give a number from %g to %g", s->name, v, s->lo, s->hi);
}

static SdmStatus check_choice(SdmContext *ctx, const SdmOptionSpec *s, const char *v)
{
    const size_t n = v ? strlen(v) : 0;
    for (const char *p = s->choices; n && p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (strncmp(p, v, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s is '%s'; choose one of %s", s->name, v ? v : "", s->choices);
}

static SdmStatus check_field(SdmContext *ctx, const SdmOptionSpec *s, const char *field)
{
    double real;
    int number;
    const char *text;
    switch (s->type) {
    case SDM_OPT_REAL:
        memcpy(&real, field, sizeof real);
        return check_number(ctx, s, real);
    case SDM_OPT_INT:
        memcpy(&number, field, sizeof number);
        return check_number(ctx, s, number);
    case SDM_OPT_CHOICE:
        memcpy(&text, field, sizeof text);
        return check_choice(ctx, s, text);
    default:
        return SDM_OK;
    }
}

SdmStatus sim_check(SdmContext *ctx, const SdmSimulateOptions *opt)
{
    SdmStatus st = SDM_OK;
    for (const SdmOptionSpec *s = sdm_simulate_options; s->name; s++) {
        const bool place = s->offset == offsetof(SdmSimulateOptions, lon_deg) ||
                           s->offset == offsetof(SdmSimulateOptions, lat_deg);
        if (place && isnan(opt->lon_deg) && isnan(opt->lat_deg))
            continue;
        TRY(check_field(ctx, s, (const char *)opt + s->offset));
    }
    if (!opt->output || !opt->output[0])
        return sdm_fail(ctx, SDM_ERR_USAGE, "simulate needs a folder to write; give --output DIR");
    if (opt->with_rpc && strcmp(opt->layout, "rpc") == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--with-rpc belongs to --layout aster; the layout %s has RPC anyway", opt->layout);
    if (opt->lake + opt->ocean > 0.95)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--lake %g and --ocean %g leave no land; give at most 0.95 together", opt->lake,
                        opt->ocean);
done:
    return st;
}
