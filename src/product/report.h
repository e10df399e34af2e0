/* Figures of a DEM -> the report: NAME.json for programs, NAME.html for people, filled by the same calls.
 * A section is an object of the JSON report, a card of the page, or both; so is what it holds: with a key it
 * stands in the JSON report, with a label on the page.  To add a section, write a function that calls
 * sdm_report_section() and the calls below, and call it where the report of a scene (scene_report.c), of a
 * stack (coreg/stack.c), of a comparison (coreg/compare_report.c) or of any DEM (dem_report.c) is put
 * together. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/png.h"
#include "product/fields.h"
#include "product/picture.h"

/* Order of the sections on the page; sections of the same place stand in the order of their calls. */
typedef enum SdmReportPlace {
    SDM_PAGE_NONE, /* in the JSON report alone */
    SDM_PAGE_WARNINGS,
    SDM_PAGE_SUMMARY,
    SDM_PAGE_MAPS,
    SDM_PAGE_HEIGHTS,
    SDM_PAGE_ALIGNMENT, /* of views or DEMs to each other */
    SDM_PAGE_TIME,
    SDM_PAGE_PARAMETERS,
    SDM_PAGE_END
} SdmReportPlace;

typedef enum SdmReportStyle {
    SDM_STYLE_CARD,  /* as wide as the page */
    SDM_STYLE_HALF,  /* half as wide: two such sections stand side by side */
    SDM_STYLE_FACTS, /* figures in large type, their labels below */
    SDM_STYLE_ALERT, /* set off from the rest */
    SDM_STYLE_WIDE   /* a table of many columns */
} SdmReportStyle;

typedef enum SdmReportBlock { /* what is open on the page */
                              SDM_BLOCK_NONE,
                              SDM_BLOCK_TABLE,
                              SDM_BLOCK_FACTS,
                              SDM_BLOCK_LEGEND,
                              SDM_BLOCK_BULLETS
} SdmReportBlock;

typedef struct SdmReportSection {
    SdmReportPlace place;
    SdmReportStyle style;
    SdmReportBlock open;
    bool folded;
    SdmText html;
} SdmReportSection;

typedef struct SdmReport SdmReport;

/* Where items are added: an object or a list of the JSON report, and a section of the page; either may be
 * NULL. */
typedef struct SdmReportItem {
    SdmReport *report;
    struct cJSON *json;
    SdmReportSection *section;
} SdmReportItem;

enum { SDM_REPORT_SECTIONS = 32 };

/* The first failure stays in `st`, and later calls do nothing. */
struct SdmReport {
    SdmContext *ctx;
    SdmStatus st;
    SdmReportItem root; /* the JSON object */
    const char *title, *subtitle;
    SdmReportSection section[SDM_REPORT_SECTIONS];
    int sections;
    struct SdmReportRoom *rooms;
};

/* Passwords, tokens and keys in texts are hidden, see core/secrets.h. */
void sdm_report_open(SdmContext *ctx, SdmReport *r);
void sdm_report_close(SdmReport *r);
/* Heading of the page, the output's name without its folder, and the line below it. */
void sdm_report_title(SdmReport *r, const char *output, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Add the JSON object, with a line end.  Numbers read back to the same value; SDM_ERR_MEMORY. */
SdmStatus sdm_report_json(const SdmReport *r, SdmText *out);
/* Add a page that needs no other file and no network: pictures and plots are part of it; SDM_ERR_MEMORY. */
SdmStatus sdm_report_html(SdmReport *r, SdmText *out);

/* key: name of the JSON object, NULL for a card of the page alone; title and place: of the card. */
SdmReportItem sdm_report_section(SdmReport *r, const char *key, const char *title, SdmReportPlace place,
                                 SdmReportStyle style);

/* ---- in the JSON report alone; in a list, key is NULL ---- */
void sdm_report_number(SdmReportItem to, const char *key, double value); /* NaN: null */
void sdm_report_text(SdmReportItem to, const char *key, const char *value);
/* Several of these, SDM_FIELD(key, value) each. */
#define SDM_REPORT(to, ...) sdm_report_add(to, SDM_EACH(const SdmField, __VA_ARGS__))
void sdm_report_add(SdmReportItem to, const SdmField *field, size_t count);
void sdm_report_numbers(SdmReportItem to, const char *key, const double *values, int n);
/* Items added to these stand in the same section of the page. */
SdmReportItem sdm_report_group(SdmReportItem to, const char *key);
SdmReportItem sdm_report_list(SdmReportItem to, const char *key);

/* ---- on the page; with a key in the JSON report, too ---- */
void sdm_report_figure(SdmReportItem to, const char *key, const char *label, double value, const char *unit,
                       int digits); /* unit: " m", as it follows the number; NaN: "none" */
/* Scale of a figure: good from `good` on; poor: beyond `poor`, which lies on the other side; the same in
 * words. */
typedef struct SdmScale {
    double good, poor;
    const char *words;
} SdmScale;
void sdm_report_judged(SdmReportItem to, const char *label, double value, const char *unit, int digits,
                       const SdmScale *scale);
/* A figure with a bar beside it; share: its length, 0..1. */
void sdm_report_bar(SdmReportItem to, const char *label, double value, const char *unit, int digits,
                    double share);
void sdm_report_bullet(SdmReportItem to, const char *text);
/* A row of a table; a tab stands between two cells. */
void sdm_report_row(SdmReportItem to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A paragraph; `words in back quotes` are set as code. */
void sdm_report_note(SdmReportItem to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fold what follows away below a line; NULL: up to here. */
void sdm_report_fold(SdmReportItem to, const char *line);
/* pixel_m: metres on the ground of a pixel of a map, which gets a scale bar; 0: none. */
void sdm_report_picture(SdmReportItem to, const char *label, const SdmPng *picture, double pixel_m);
/* The next entry of a legend; rgb or label may be NULL. */
void sdm_report_colour(SdmReportItem to, const unsigned char rgb[3], const char *label);
/* Colours of a ramp from low to high, in a unit, whose values are told at its ends and `labels` - 1 times in
 * between. */
void sdm_report_ramp(SdmReportItem to, sdm_ramp_fn *colour, double low, double high, const char *unit,
                     int labels);

/* 1, 2 or 5 times a power of ten, not below x. */
double sdm_round_up(double x);

/* A plot: series over two axes. */
typedef enum SdmSeriesKind {
    SDM_SERIES_BARS,
    SDM_SERIES_POINTS,
    SDM_SERIES_LINE,
    SDM_SERIES_VERTICAL
} SdmSeriesKind;
typedef struct SdmSeries {
    SdmSeriesKind kind;
    const char *style;   /* class of the page's style sheet */
    const double *x, *y; /* n each; x is NULL for bars, which divide x0..x1 evenly; y for verticals; y NaN: no
                          * point */
    int n;
    const char *label; /* in the legend; NULL: not there */
} SdmSeries;
enum { SDM_MAX_SERIES = 4 };
typedef struct SdmPlot {
    const char *x_label, *y_label;
    double x0, x1, y0, y1; /* ranges of the axes, equal: those of the series; points outside y0..y1 are left
                            * out, lines are cut */
    int height;            /* of the box, units of the page; 0: 200 */
    bool no_y_ticks, log_x, whole_x; /* whole_x: no ticks between numbers of classes */
    int count;
    SdmSeries series[SDM_MAX_SERIES];
} SdmPlot;
/* The plot and its legend.  label: for readers that do not see it. */
void sdm_report_plot(SdmReportItem to, const char *label, const SdmPlot *plot);

/* Room for n numbers, zero, and a text, that live as long as the report; NULL, "" on failure. */
double *sdm_report_room(SdmReport *r, int n);
const char *sdm_report_printf(SdmReport *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
