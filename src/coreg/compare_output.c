/* Result of a comparison -> text, JSON. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare.h"
#include "product/fields.h"

#include <cJSON.h>
#include <math.h>

static cJSON *json_stats(const SdmErrorStats *s)
{
    cJSON *const o = cJSON_CreateObject();
    SDM_JSON(o, SDM_FIELD("n", s->count), SDM_FIELD("bias", s->bias_m), SDM_FIELD("median", s->median_m),
             SDM_FIELD("std", s->std_m), SDM_FIELD("nmad", s->nmad_m), SDM_FIELD("rmse", s->rmse_m),
             SDM_FIELD("le90", s->le90_m), SDM_FIELD("p99", s->p99_m), SDM_FIELD("over30", s->over30));
    return o;
}

static void json_class(cJSON *root, const char *name, const SdmCompareClass *k)
{
    if (k->cells == 0)
        return;
    cJSON *const o = cJSON_AddObjectToObject(root, name);
    SDM_JSON(o, SDM_FIELD("cells", k->cells), SDM_FIELD("filled", k->filled), SDM_FIELD("over10", k->over10),
             SDM_FIELD("over30", k->over30));
}

/* Figures of each range that has any; hi: NULL for classes, which are one value. */
static void json_ranges(cJSON *root, const char *key, const SdmCompareRange *range, int n, const char *lo,
                        const char *hi)
{
    cJSON *const list = cJSON_AddArrayToObject(root, key);
    for (int k = 0; k < n; k++) {
        if (range[k].aligned.count == 0 && n != SDM_COMPARE_SLOPES)
            continue;
        cJSON *const o = json_stats(&range[k].aligned);
        SDM_JSON(o, SDM_FIELD(lo, range[k].lo)); /* null: open */
        if (hi)
            SDM_JSON(o, SDM_FIELD(hi, range[k].hi));
        cJSON_AddItemToArray(list, o);
    }
}

static void json_lags(cJSON *root, const SdmCompareResult *r)
{
    cJSON *const lags = cJSON_AddArrayToObject(root, "distance");
    for (int k = 0; k < SDM_LAGS; k++) {
        const SdmErrorLag *const l = &r->lag[k];
        cJSON *const o = cJSON_CreateObject();
        SDM_JSON(o, SDM_FIELD("lag_m", l->lag_m), SDM_FIELD("pairs", l->pairs),
                 SDM_FIELD("semivariance_m2", l->semivariance_m2),
                 SDM_FIELD("error_m", sqrt(l->semivariance_m2)), SDM_FIELD("areas", l->areas),
                 SDM_FIELD("area_mean_error_m", l->area_error_m));
        cJSON_AddItemToArray(lags, o);
    }
}

static void json_tilt(cJSON *root, const SdmCompareResult *r)
{
    double tilt[2];
    cJSON *const o = cJSON_AddObjectToObject(root, "model");
    cJSON_AddStringToObject(o, "kind", r->tilt.fitted ? "tilt" : "shift");
    if (!r->tilt.fitted)
        return;
    sdm_tilt_slope(&r->tilt, tilt);
    cJSON_AddItemToObject(o, "centre", cJSON_CreateDoubleArray(r->centre_m, 2));
    cJSON_AddItemToObject(o, "tilt_m_per_m", cJSON_CreateDoubleArray(tilt, 2));
}

/* East, north, up: what to add to the DEM's place and heights. */
static void json_move(cJSON *root, const SdmShift *move)
{
    cJSON_AddItemToObject(root, "apply_m", cJSON_CreateDoubleArray(move->move_m, 3));
    cJSON_AddNumberToObject(root, "undetermined_directions", move->undetermined);
    if (!move->verdict)
        return;
    cJSON *const o = cJSON_AddObjectToObject(root, "not_applied");
    cJSON_AddStringToObject(o, "reason", sdm_shift_verdict_text(move->verdict));
    cJSON_AddItemToObject(o, "found_m", cJSON_CreateDoubleArray(move->found_m, 2));
    cJSON *const halves = cJSON_AddArrayToObject(o, "halves_m");
    for (int k = 0; k < 2; k++)
        cJSON_AddItemToArray(halves, cJSON_CreateDoubleArray(move->half_m[k], 2));
}

void sdm_compare_json(const SdmCompareResult *r, cJSON *root)
{
    SDM_JSON(root, SDM_FIELD("reference", r->points ? "points" : "raster"),
             SDM_FIELD("sign", "DEM minus reference, metres"), SDM_FIELD("cells", r->cells),
             SDM_FIELD("coverage", r->coverage));
    if (!r->points)
        cJSON_AddNumberToObject(root, "footprint_coverage", r->footprint_coverage);
    cJSON_AddItemToObject(root, "raw", json_stats(&r->raw));
    json_move(root, &r->move);
    cJSON_AddItemToObject(root, "aligned", json_stats(&r->aligned));
    json_class(root, "water", &r->water);
    json_class(root, "cloud", &r->cloud);
    json_ranges(root, "slope", r->slope, SDM_COMPARE_SLOPES, "lo_deg", "hi_deg");
    json_ranges(root, "height", r->band, SDM_COMPARE_BANDS, "lo_m", "hi_m");
    if (r->unstable.aligned.count)
        cJSON_AddItemToObject(root, "unstable", json_stats(&r->unstable.aligned));
    json_ranges(root, "class", r->class, SDM_COMPARE_CLASSES, "class", NULL);
    json_lags(root, r);
    json_tilt(root, r);
    SDM_JSON(root, SDM_FIELD("source", *r->source ? r->source : NULL),
             SDM_FIELD("note", *r->note ? r->note : NULL));
}

static void add_stats(void *to, const char *name, const SdmErrorStats *s)
{
    SdmText *const t = to;
    if (s->count == 0)
        return;
    sdm_text_add(
        t,
        "%-12s n %lld  bias %.3f  median %.3f  std %.3f  nmad %.3f  rmse %.3f  le90 %.3f  p99 %.3f  over30 "
        "%.3f %%\n",
        name, (long long)s->count, s->bias_m, s->median_m, s->std_m, s->nmad_m, s->rmse_m, s->le90_m,
        s->p99_m, 100.0 * s->over30);
}

static void add_class(SdmText *t, const char *name, const SdmCompareClass *k)
{
    if (k->cells)
        sdm_text_add(
            t, "%-12s cells %lld, %.2f %% of them filled; off by over 10 m %.2f %%, over 30 m %.2f %%\n",
            name, (long long)k->cells, 100.0 * k->filled, 100.0 * k->over10, 100.0 * k->over30);
}

/* unit: "" of classes. */
static void each_range(const SdmCompareRange *range, int n, const char *unit, SdmCompareEach *each, void *of)
{
    char name[48];
    for (int k = 0; k < n; k++) {
        if (!*unit)
            snprintf(name, sizeof name, "class %d", k);
        else if (isinf(range[k].lo))
            snprintf(name, sizeof name, "< %.0f %s", range[k].hi, unit);
        else if (k + 1 == n)
            snprintf(name, sizeof name, "> %.0f %s", range[k].lo, unit);
        else
            snprintf(name, sizeof name, "%.0f-%.0f %s", range[k].lo, range[k].hi, unit);
        if (range[k].aligned.count)
            each(of, name, &range[k].aligned);
    }
}

void sdm_compare_each(const SdmCompareResult *r, SdmCompareEach *each, void *of)
{
    each(of, "raw", &r->raw);
    each(of, "aligned", &r->aligned);
    each_range(r->slope, SDM_COMPARE_SLOPES, "deg", each, of);
    each_range(r->band, SDM_COMPARE_BANDS, "m", each, of);
    each_range(r->class, SDM_COMPARE_CLASSES, "", each, of);
    if (r->unstable.aligned.count)
        each(of, "not stable", &r->unstable.aligned);
}

static void add_lags(SdmText *t, const SdmCompareResult *r)
{
    for (int k = 0; k < SDM_LAGS; k++) {
        const SdmErrorLag *const l = &r->lag[k];
        if (l->pairs == 0 && l->areas < 2)
            continue;
        sdm_text_add(t, "%.0f m%*s", l->lag_m, l->lag_m < 100.0 ? 9 : l->lag_m < 1000.0 ? 8 : 7, "");
        if (l->pairs)
            sdm_text_add(t, " semivariance %.3f m^2 (%.3f m, %lld pairs)", l->semivariance_m2,
                         sqrt(l->semivariance_m2), (long long)l->pairs);
        if (isfinite(l->area_error_m))
            sdm_text_add(t, "  error of a mean over %.0f m x %.0f m %.3f m (%lld areas)", l->lag_m, l->lag_m,
                         l->area_error_m, (long long)l->areas);
        sdm_text_add(t, "\n");
    }
}

static void add_tilt(SdmText *t, const SdmCompareResult *r)
{
    double tilt[2];
    if (!r->tilt.fitted)
        return;
    sdm_tilt_slope(&r->tilt, tilt);
    sdm_text_add(t, "tilt         %.4f m/km towards east, %.4f m/km towards north\n", 1000.0 * tilt[0],
                 1000.0 * tilt[1]);
}

enum { FEW = 10 };                    /* differences, the move is fitted to */
static const double OTHER_UNIT = 2.0; /* heights of one place are not so many times as large */

/* Why it may be wrong, and what was left out. */
static void add_doubts(SdmText *t, const SdmCompareResult *r)
{
    const SdmShift *const move = &r->move;
    const bool other = r->aligned.count >= FEW && r->aligned.nmad_m > SDM_OTHER_GROUND_M;
    const double ratio = r->height_ratio;
    if (ratio > OTHER_UNIT || ratio < 0.0 || (ratio > 0.0 && ratio < 1.0 / OTHER_UNIT))
        sdm_text_add(
            t,
            "the heights of the DEM are %.2f times those of the reference: is one of them upside down, or in "
            "feet?\n",
            ratio);
    else if (other)
        sdm_text_add(t,
                     "they differ by %.0f m (NMAD), more than heights of one place do: are both in metres?\n",
                     r->aligned.nmad_m);
    else if (move->undetermined)
        sdm_text_add(t, "moved %s: the heights of the %s %s\n",
                     move->undetermined > 1 ? "in height only" : "along one horizontal direction only",
                     r->points ? "DEM at the points" : "reference",
                     move->undetermined > 1 ? "are flat, a plane or of another place"
                                            : "do not change along the other");
    if (5 * r->aligned.count < r->raw.count)
        sdm_text_add(
            t,
            "only %lld of %lld %s have no voids around their place in the %s: the move and the figures after "
            "it are "
            "theirs\n",
            (long long)r->aligned.count, (long long)r->raw.count, r->points ? "points" : "cells",
            r->points ? "DEM" : "reference");
    if (r->aligned.count < FEW)
        sdm_text_add(
            t, "only %lld %s%s: after a move that was fitted to so few, the figures say nothing of the DEM\n",
            (long long)r->aligned.count, r->points ? "point" : "cell", r->aligned.count == 1 ? "" : "s");
    if (r->tilt.fitted && r->raw.count > 0 && r->aligned.nmad_m > 1.01 * r->raw.nmad_m)
        sdm_text_add(t, "the model raises the NMAD from %.3f to %.3f m: take --model shift\n", r->raw.nmad_m,
                     r->aligned.nmad_m);
    if (!move->verdict)
        return;
    sdm_text_add(t, "moved in height only: %s (found: %.2f m east, %.2f m north",
                 sdm_shift_verdict_text(move->verdict), move->found_m[0], move->found_m[1]);
    if (isfinite(move->half_m[0][0]) && isfinite(move->half_m[1][0]))
        sdm_text_add(t, "; halves: %.2f, %.2f and %.2f, %.2f m", move->half_m[0][0], move->half_m[0][1],
                     move->half_m[1][0], move->half_m[1][1]);
    sdm_text_add(t, ")\n");
}

static void add_notes(SdmText *t, const SdmCompareResult *r)
{
    if (r->source[0])
        sdm_text_add(t, "points: %s\n", r->source);
    if (r->note[0])
        sdm_text_add(t, "note: %s\n", r->note);
}

void sdm_compare_text(const SdmCompareResult *r, SdmText *t)
{
    double move_m[3];
    sdm_text_add(t, "%s %lld  coverage %.2f %%", r->points ? "points" : "cells", (long long)r->cells,
                 100.0 * r->coverage);
    if (!r->points)
        sdm_text_add(t, "  within the DEM's footprint %.2f %%", 100.0 * r->footprint_coverage);
    for (int k = 0; k < 3; k++)
        move_m[k] = 0.0 + round(100.0 * r->move.move_m[k]) / 100.0; /* no -0.00 */
    sdm_text_add(t, "\nmove the DEM by %.2f m east, %.2f m north, %.2f m up\n", move_m[0], move_m[1],
                 move_m[2]);
    add_doubts(t, r);
    sdm_text_add(t,
                 "DEM minus reference: the DEM is %.3f m %s the reference (median); all figures in metres\n",
                 fabs(r->raw.median_m), r->raw.median_m < 0.0 ? "below" : "above");
    add_tilt(t, r);
    add_class(t, "water", &r->water);
    add_class(t, "cloud", &r->cloud);
    sdm_compare_each(r, add_stats, t);
    add_lags(t, r);
    add_notes(t, r);
}

void sdm_compare_remarks(const SdmCompareResult *r, SdmText *t)
{
    add_doubts(t, r);
    add_tilt(t, r);
    add_class(t, "water", &r->water);
    add_class(t, "cloud", &r->cloud);
    add_notes(t, r);
}

/* ---- options ---- */

#define FIELD(name) offsetof(SdmCompareOptions, name)
#define DATUMS "auto|" SDM_VERTICAL_WORDS

const SdmOptionSpec sdm_compare_options[] = {
    {"--output", "FILE.html", SDM_OPT_TEXT, FIELD(output), SDM_NO_RANGE, "none",
     SDM_CMD_COMPARE | SDM_SHOWN_FIRST,
     "Write a page with maps and histograms before and after alignment, differences by aspect (the curve of "
     "Nuth and Kaab), slope, height and class, and a semivariogram."},
    {"--class", "FILE", SDM_OPT_TEXT, FIELD(class_raster), SDM_NO_RANGE, NULL,
     SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Score only the cells of class 1 (land) of this raster, or of these polygons by their field class "
     "(without one: 1); 2 (water) and 3 (cloud) are reported apart."},
    {"--within", "FILE", SDM_OPT_TEXT, FIELD(within), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Compare only where this raster is valid, too, or inside of these polygons: coverage is counted there, "
     "not over all of the reference."},
    {"--dem-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(dem_vertical), 0.0, 0.0, DATUMS, "auto",
     SDM_CMD_COMPARE, "Vertical datum of the DEM's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {"--reference-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(reference_vertical), 0.0, 0.0, DATUMS, "auto",
     SDM_CMD_COMPARE,
     "Vertical datum of the reference's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {"--mask", "FILE", SDM_OPT_TEXT, FIELD(mask), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Stable ground: only cells where this raster is not 0, or inside of these polygons, are used for the "
     "shift and are scored; the others are reported apart."},
    {"--exclude", "FILE", SDM_OPT_TEXT, FIELD(exclude), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Unstable ground, such as outlines of glaciers: cells inside of these polygons, or where this raster is "
     "not 0, are not used for the shift and are reported apart."},
    {"--where", "SQL", SDM_OPT_TEXT, FIELD(where), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Take only the polygons that this attribute filter selects, as behind WHERE in SQL: 'area_km2 > 1'. It "
     "holds for every file of polygons that is given."},
    {"--layer", "NAME", SDM_OPT_TEXT, FIELD(layer), SDM_NO_RANGE, "the only one of polygons", SDM_CMD_COMPARE,
     "Layer of the polygons, for a file that has several."},
    {"--aligned", "FILE.tif", SDM_OPT_TEXT, FIELD(aligned), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Write the DEM without the shift and the systematic error of --model: on the same cells, resampled once "
     "from the original by cubic spline."},
    {"--difference", "FILE.tif", SDM_OPT_TEXT, FIELD(difference), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Write the aligned DEM minus the reference in metres, in stable and other places, with statistics as "
     "metadata."},
    {"--model", "MODEL", SDM_OPT_CHOICE, FIELD(model), 0.0, 0.0, "shift|tilt", "shift", SDM_CMD_COMPARE,
     "Systematic error that is estimated and removed: shift: a 3-D shift; tilt: also a plane."},
    {"--json", NULL, SDM_OPT_BOOL, FIELD(json), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_OF_SCREEN,
     "Print the figures as one line of JSON (metres, shares 0..1)."},
    {.name = NULL},
};

void sdm_compare_default(SdmCompareOptions *opt)
{
    *opt = (SdmCompareOptions){.dem_vertical = "auto", .reference_vertical = "auto", .model = "shift"};
}
