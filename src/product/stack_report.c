/* What a stack found about its DEMs -> its part of NAME.json and NAME.html. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <cJSON.h>
#include <math.h>

static void number(cJSON *to, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(to, name, value);
    else
        cJSON_AddNullToObject(to, name);
}

void sdm_stack_json(cJSON *root, const SdmStackReport *stack)
{
    cJSON *const to = cJSON_AddObjectToObject(root, "stack");
    number(to, "count", stack->count);
    number(to, "groups", stack->groups);
    number(to, "pairs", stack->ties);
    cJSON_AddStringToObject(to, "align", stack->align);
    number(to, "disagree_m", stack->disagree_m);
    cJSON *const dems = cJSON_AddArrayToObject(to, "dems");
    for (int i = 0; i < stack->count; i++) {
        const SdmStackedDem *const d = &stack->dems[i];
        cJSON *const dem = cJSON_CreateObject();
        cJSON_AddStringToObject(dem, "path", d->path);
        cJSON_AddItemToObject(dem, "shift_m", cJSON_CreateDoubleArray(d->shift_m, 3));
        number(dem, "nmad_m", d->nmad_m);
        number(dem, "smooth_m", d->smooth_m);
        number(dem, "cells_compared", (double)d->samples);
        number(dem, "group", d->group);
        number(dem, "partners", d->partners);
        cJSON_AddItemToArray(dems, dem);
    }
}

/* Median over the DEMs that were compared, NaN when none was. */
static double typical_nmad(const SdmStackReport *stack)
{
    double best = NAN;
    int most = -1;
    for (int i = 0; i < stack->count; i++) { /* the one that has half of the others below it */
        int below = 0, above = 0;
        for (int j = 0; j < stack->count; j++) {
            below += stack->dems[j].nmad_m < stack->dems[i].nmad_m;
            above += stack->dems[j].nmad_m > stack->dems[i].nmad_m;
        }
        const int balance = below < above ? below : above;
        if (isfinite(stack->dems[i].nmad_m) && balance > most) {
            most = balance;
            best = stack->dems[i].nmad_m;
        }
    }
    return best;
}

static void fact(SdmText *t, const char *what, const char *unit, int digits, double value)
{
    if (isnan(value))
        sdm_text_add(t, "<div><b>none</b><span>%s</span></div>", what);
    else
        sdm_text_add(t, "<div><b>%.*f%s</b><span>%s</span></div>", digits, value, unit, what);
}

void sdm_stack_summary(SdmText *t, const SdmProduct *p, int vertical)
{
    static const char *const datum[] = {"the WGS 84 ellipsoid", "the EGM96 geoid", "the EGM2008 geoid"};
    const SdmStackReport *const stack = p->report.stack;
    const SdmSurvey *const s = &p->survey;
    const double valid = fmax((double)s->valid, 1.0);
    sdm_text_add(t, "<section class='card'><h2>How good is it?</h2><div class='facts'>");
    fact(t, "DEMs", "", 0, stack->count);
    fact(t, "groups that hang together", "", 0, stack->groups);
    fact(t, "of the cells have a height", " %", 1, 100.0 * (double)s->valid / (double)s->cells);
    fact(t, "of these are interpolated in every DEM", " %", 1, 100.0 * (double)s->mask_bits[1] / valid);
    fact(t, "of these have just two DEMs, far apart", " %", 1, 100.0 * (double)s->mask_bits[12] / valid);
    fact(t, "NMAD of a single DEM against the others (median)", " m", 2, typical_nmad(stack));
    fact(t, "median height", " m", 1, sdm_survey_quantile_m(s, 0.5));
    fact(t, "from start to end", " s", 1, p->report.wall_s);
    sdm_text_add(
        t,
        "</div><p class='soft' style='margin:14px 0 0'>Heights in metres above %s, cells of %.6g %s, "
        "%lld x %lld. What all DEMs have wrong alike cannot be seen here: "
        "<code>stereodem compare DEM REFERENCE</code>.</p></section>",
        stack->datum_unknown ? "what the DEMs do not say" : datum[vertical], p->grid.spacing,
        p->grid.geographic ? "degrees" : "units of the CRS", (long long)p->grid.cols,
        (long long)p->grid.rows);
}

void sdm_stack_table(SdmText *t, const SdmStackReport *stack)
{
    sdm_text_add(t, "<section class='card'><h2>DEMs and how far they lay off</h2><table><tr><td>DEM</td>"
                    "<td>east, north, up</td><td>NMAD</td><td>of it smooth</td></tr>");
    for (int i = 0; i < stack->count; i++) {
        const SdmStackedDem *const d = &stack->dems[i];
        sdm_text_add(t, "<tr><td>");
        sdm_text_escape(t, d->path);
        if (d->partners == 0)
            sdm_text_add(t, " (overlaps no other: left where it is)");
        else if (stack->groups > 1)
            sdm_text_add(t, " (group %d)", d->group + 1);
        sdm_text_add(t, "</td><td>%.2f, %.2f, %.2f m</td>", d->shift_m[0], d->shift_m[1], d->shift_m[2]);
        const double figure_m[2] = {d->nmad_m, d->smooth_m};
        for (int k = 0; k < 2; k++)
            if (isnan(figure_m[k]))
                sdm_text_add(t, "<td>%s</td>", k ? "left in" : "none");
            else
                sdm_text_add(t, "<td>%.2f m</td>", figure_m[k]);
        sdm_text_add(t, "</tr>");
    }
    sdm_text_add(t, "</table></section>");
}
