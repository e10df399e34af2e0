/* Result of a comparison -> text, JSON, picture of the residuals. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "coreg/compare.h"
#include "geo/png.h"

#include <cJSON.h>
#include <math.h>
#include <stdarg.h>

static cJSON *json_stats(const SdmErrorStats *s)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "n", (double)s->count);
    cJSON_AddNumberToObject(o, "bias", s->bias_m);
    cJSON_AddNumberToObject(o, "mean", s->mean_m);
    cJSON_AddNumberToObject(o, "nmad", s->nmad_m);
    cJSON_AddNumberToObject(o, "rmse", s->rmse_m);
    cJSON_AddNumberToObject(o, "le90", s->le90_m);
    cJSON_AddNumberToObject(o, "p99", s->p99_m);
    cJSON_AddNumberToObject(o, "over30", s->over30);
    return o;
}

static void json_class(cJSON *root, const char *name, const SdmCompareClass *k)
{
    if (k->cells == 0)
        return;
    cJSON *const o = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(o, "cells", (double)k->cells);
    cJSON_AddNumberToObject(o, "filled", k->filled);
    cJSON_AddNumberToObject(o, "over10", k->over10);
    cJSON_AddNumberToObject(o, "over30", k->over30);
}

char *sdm_compare_json(const SdmCompareResult *r)
{
    cJSON *const root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "cells", (double)r->cells);
    cJSON_AddNumberToObject(root, "coverage", r->coverage);
    cJSON_AddItemToObject(root, "raw", json_stats(&r->raw));
    cJSON_AddItemToObject(root, "shift_m", cJSON_CreateDoubleArray(r->shift_m, 3));
    cJSON_AddNumberToObject(root, "undetermined_directions", r->undetermined);
    cJSON_AddItemToObject(root, "aligned", json_stats(&r->aligned));
    json_class(root, "water", &r->water);
    json_class(root, "cloud", &r->cloud);
    cJSON *const slopes = cJSON_AddArrayToObject(root, "slope");
    for (int k = 0; k < 6; k++) {
        cJSON *const o = json_stats(&r->slope[k].aligned);
        cJSON_AddNumberToObject(o, "lo_deg", r->slope[k].lo_deg);
        cJSON_AddNumberToObject(o, "hi_deg", r->slope[k].hi_deg);
        cJSON_AddItemToArray(slopes, o);
    }
    if (r->note[0])
        cJSON_AddStringToObject(root, "note", r->note);
    char *const text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

typedef struct Text { /* out[used] is the terminating 0 */
    char *out;
    size_t size, used;
} Text;

static void add(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(Text *t, const char *fmt, ...)
{
    if (t->used >= t->size)
        return;
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->out + t->used, t->size - t->used, fmt, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
}

static void add_stats(Text *t, const char *name, const SdmErrorStats *s)
{
    if (s->count == 0)
        return;
    add(t, "%-12s n %lld  bias %.3f  mean %.3f  nmad %.3f  rmse %.3f  le90 %.3f  p99 %.3f  over30 %.3f %%\n",
        name, (long long)s->count, s->bias_m, s->mean_m, s->nmad_m, s->rmse_m, s->le90_m, s->p99_m,
        100.0 * s->over30);
}

static void add_class(Text *t, const char *name, const SdmCompareClass *k)
{
    if (k->cells)
        add(t, "%-12s cells %lld  filled %.2f %%  of these off by over 10 m %.2f %%, over 30 m %.2f %%\n",
            name, (long long)k->cells, 100.0 * k->filled, 100.0 * k->over10, 100.0 * k->over30);
}

void sdm_compare_text(const SdmCompareResult *r, char *out, size_t size)
{
    Text t = {.out = out, .size = size};
    add(&t, "cells %lld  coverage %.2f %%  shift dx %.2f dy %.2f dz %.2f m\n", (long long)r->cells,
        100.0 * r->coverage, r->shift_m[0], r->shift_m[1], r->shift_m[2]);
    if (r->undetermined)
        add(&t, "%s: the heights of the reference %s\n",
            r->undetermined > 1 ? "shifted in height only" : "shifted along one horizontal direction only",
            r->undetermined > 1 ? "are flat or a plane" : "do not change along the other");
    add_class(&t, "water", &r->water);
    add_class(&t, "cloud", &r->cloud);
    add_stats(&t, "raw", &r->raw);
    add_stats(&t, "aligned", &r->aligned);
    for (int k = 0; k < 6; k++) {
        char name[32];
        if (r->slope[k].hi_deg < 90.0)
            snprintf(name, sizeof name, "%.0f-%.0f deg", r->slope[k].lo_deg, r->slope[k].hi_deg);
        else
            snprintf(name, sizeof name, "> %.0f deg", r->slope[k].lo_deg);
        add_stats(&t, name, &r->slope[k].aligned);
    }
    if (r->note[0])
        add(&t, "note: %s\n", r->note);
}

SdmStatus sdm_compare_picture(SdmContext *ctx, int64_t cols, int64_t rows, const float *residual_m,
                              uint8_t *grey, const char *path)
{
    SdmStatus st = SDM_OK;
    SdmPng png = {0};
    for (int64_t i = 0; i < rows * cols; i++) {
        const double e = fmin(fmax((double)residual_m[i], -20.0), 20.0);
        grey[i] = isnan(residual_m[i]) ? 0 : (uint8_t)lround(1.0 + (e + 20.0) / 40.0 * 254.0);
    }
    TRY(sdm_png_encode(ctx, grey, (int)cols, (int)rows, 1, &png));
    TRY(sdm_file_write(ctx, path, png.data, png.size));
done:
    sdm_png_close(&png);
    return st;
}
