/* Figures of a DEM -> a report of sections, which report_json.c and report_html.c write.
 * A section is an object of the JSON report, a card of the HTML page, or both; so is each of its items: with
 * a key it stands in the JSON report, with a label on the page.  To add a section, write a function that
 * calls sdm_report_section() and the calls below, and call it where the report of a scene (scene_report.c),
 * of a stack (coreg/stack_report.c) or of any DEM (dem_report.c) is put together. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_REPORT_MODEL_H
#define SDM_REPORT_MODEL_H

#include "geo/png.h"

/* Order of the sections on the page; sections of the same place stand in the order in which they were added.
 */
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
    SDM_STYLE_ALERT  /* set off from the rest */
} SdmReportStyle;

typedef enum SdmReportKind {
    SDM_REPORT_NUMBER,
    SDM_REPORT_TEXT,
    SDM_REPORT_FLAG,
    SDM_REPORT_NUMBERS,
    SDM_REPORT_GROUP, /* items with keys: an object */
    SDM_REPORT_LIST,  /* items without: an array */
    /* on the page alone */
    SDM_REPORT_ROW,  /* of a table: NOTEs as its cells */
    SDM_REPORT_NOTE, /* a paragraph */
    SDM_REPORT_PICTURE,
    SDM_REPORT_LEGEND, /* of the picture or plot before it: colours with labels */
    SDM_REPORT_COLOUR, /* entry of a legend */
    SDM_REPORT_PLOT
} SdmReportKind;

/* A plot: series over two axes. */
typedef enum SdmSeriesKind {
    SDM_SERIES_BARS,
    SDM_SERIES_POINTS,
    SDM_SERIES_LINE,
    SDM_SERIES_VERTICAL
} SdmSeriesKind;
enum { SDM_MAX_SERIES = 4 };
typedef struct SdmPlot {
    const char *x_label, *y_label;
    double x0, x1, y0, y1; /* ranges of the axes; points outside y0..y1 are left out, lines are cut */
    int height;            /* of the box, units of the page */
    bool y_ticks;
    int count;
    struct {
        SdmSeriesKind kind;
        const char *style; /* class of the page's style sheet */
        const double *x,
            *y; /* n each; x is NULL for bars, which divide x0..x1 evenly; y is NULL for verticals */
        int n;
    } series[SDM_MAX_SERIES];
} SdmPlot;

/* How good a figure is. */
typedef enum SdmVerdict { SDM_UNJUDGED, SDM_GOOD, SDM_FAIR, SDM_POOR } SdmVerdict;

typedef struct SdmReport SdmReport;
typedef struct SdmReportItem {
    SdmReportKind kind;
    const char *key;   /* NULL: not in the JSON report, or in a list */
    const char *label; /* NULL: not on the page; "": there without a label; of a section, its title */
    const char *text;  /* TEXT, NOTE */
    double number;     /* NUMBER, FLAG; NaN: none */
    const char *unit;  /* " m", as it follows the number on the page */
    int digits;        /* after the point, on the page */
    double share;      /* 0..1: length of a bar beside the number; negative: no bar */
    const double *numbers;
    int count;
    unsigned char rgb[3];
    bool coloured;
    const SdmPng *picture; /* borrowed */
    double pixel_m;        /* of a map: metres on the ground of a pixel of the picture, north up; 0: no map */
    SdmVerdict verdict;
    const char *scale;     /* what is good and bad, beside a figure */
    const SdmPlot *plot;
    SdmReportPlace place; /* of a section */
    SdmReportStyle style;
    SdmReport *report;
    struct SdmReportItem *first, *last, *next;
} SdmReportItem;

/* Passwords, tokens and keys in texts are hidden, see core/secrets.h.
 * Items and texts lie in blocks that are freed with the report; the first failure stays in `st`, and later
 * calls do nothing: they accept NULL in place of an item. */
struct SdmReport {
    SdmContext *ctx;
    SdmStatus st;
    SdmReportItem *root; /* the JSON object, with the sections among its items */
    const char *title, *subtitle;
    struct SdmReportBlock *blocks;
};

void sdm_report_open(SdmContext *ctx, SdmReport *r);
void sdm_report_close(SdmReport *r);
/* Heading of the page, the output's name without its folder, and the line below it. */
void sdm_report_title(SdmReport *r, const char *output, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* key: name of the JSON object, NULL for a card of the page alone; title and place: of the card. */
SdmReportItem *sdm_report_section(SdmReport *r, const char *key, const char *title, SdmReportPlace place,
                                  SdmReportStyle style);

/* ---- in the JSON report alone; texts and numbers are copied.  In a list, key is NULL ---- */
void sdm_report_number(SdmReportItem *to, const char *key, double value); /* NaN: null */
void sdm_report_text(SdmReportItem *to, const char *key, const char *value);
void sdm_report_flag(SdmReportItem *to, const char *key, bool value);
void sdm_report_numbers(SdmReportItem *to, const char *key, const double *values, int n);
SdmReportItem *sdm_report_group(SdmReportItem *to, const char *key);
SdmReportItem *sdm_report_list(SdmReportItem *to, const char *key);

/* ---- on the page; key NULL: there alone.  Each call returns the item, NULL on failure ---- */
SdmReportItem *sdm_report_figure(SdmReportItem *to, const char *key, const char *label, double value,
                                 const char *unit, int digits); /* NaN: "none" */
/* Judge a figure: good from `good` on, poor beyond `poor`, which lies on the other side; scale: the same in
 * words.  item may be NULL. */
void sdm_report_judge(SdmReportItem *item, double good, double poor, const char *scale);
SdmReportItem *sdm_report_entry(SdmReportItem *to, const char *key, const char *label, const char *value);
/* A list of texts, as bullets. */
SdmReportItem *sdm_report_bullets(SdmReportItem *to, const char *key);
/* A row of a table, to be filled from left to right. */
SdmReportItem *sdm_report_row(SdmReportItem *to);
void sdm_report_cell(SdmReportItem *row, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A paragraph; `words in back quotes` are set as code. */
void sdm_report_note(SdmReportItem *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Entries that are folded away below a line. */
SdmReportItem *sdm_report_fold(SdmReportItem *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* pixel_m: metres on the ground of a pixel of a map, which gets a scale bar; 0: none. */
void sdm_report_picture(SdmReportItem *to, const char *label, const SdmPng *picture, double pixel_m);
SdmReportItem *sdm_report_legend(SdmReportItem *to);
/* rgb or label may be NULL. */
void sdm_report_colour(SdmReportItem *legend, const unsigned char rgb[3], const char *label);
/* A plot to be filled; NULL on failure. */
SdmPlot *sdm_report_plot(SdmReportItem *to, const char *label);
/* Room for n numbers that live as long as the report, zero; NULL on failure. */
double *sdm_report_room(SdmReport *r, int n);
const char *sdm_report_printf(SdmReport *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
