/* Figures of a DEM -> the report: a JSON object, and a page after the template report.html. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report.h"
#include "core/options.h"
#include "core/path.h"
#include "core/secrets.h"

#include <assert.h>
#include <cJSON.h>
#include <cpl_string.h>
#include <math.h>
#include <string.h>

/* ---- plots: inline SVG ---- */

enum { FEW = 100 }; /* points that are drawn larger */

typedef struct Box { /* where the axes lie, SVG units */
    const SdmPlot *plot;
    double left, right, top, bottom;
} Box;

static double at_x(const Box *b, double x)
{
    const SdmPlot *const p = b->plot;
    const double share = p->log_x ? log(x / p->x0) / log(p->x1 / p->x0) : (x - p->x0) / (p->x1 - p->x0);
    return b->left + share * (b->right - b->left);
}

static double at_y(const Box *b, double y)
{
    return b->bottom - (y - b->plot->y0) / (b->plot->y1 - b->plot->y0) * (b->bottom - b->top);
}

double sdm_round_up(double x)
{
    const double unit = pow(10.0, floor(log10(x)));
    return x <= unit ? unit : x <= 2.0 * unit ? 2.0 * unit : x <= 5.0 * unit ? 5.0 * unit : 10.0 * unit;
}

static void draw_axes(SdmText *t, const Box *b)
{
    const SdmPlot *const p = b->plot;
    const double sx = fmax(sdm_round_up((p->x1 - p->x0) / 8.0), p->whole_x ? 1.0 : 0.0),
                 sy = sdm_round_up((p->y1 - p->y0) / 6.0);
    for (double x = p->log_x ? pow(10.0, ceil(log10(p->x0))) : ceil(p->x0 / sx) * sx; x <= p->x1;
         x = p->log_x ? 10.0 * x : x + sx) {
        const double at = p->log_x || fabs(x) >= sx / 2.0 ? x : 0.0;
        sdm_text_add(t, "<text class='t' x='%.1f' y='%.1f' text-anchor='middle'>%.6g</text>", at_x(b, at),
                     b->bottom + 18.0, at);
    }
    for (double y = ceil(p->y0 / sy) * sy; !p->no_y_ticks && y <= p->y1; y += sy)
        sdm_text_add(t,
                     "<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>"
                     "<text class='t' x='%.1f' y='%.1f' text-anchor='end'>%.6g</text>",
                     b->left, b->right, at_y(b, y), at_y(b, y), b->left - 6.0, at_y(b, y) + 4.0,
                     fabs(y) < sy / 2.0 ? 0.0 : y);
    sdm_text_add(t, "<line class='a' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", b->left, b->right, b->bottom,
                 b->bottom);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>",
                 (b->left + b->right) / 2.0, b->bottom + 38.0, p->x_label);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f'>%s</text>", b->left, b->top - 6.0, p->y_label);
}

static void draw_bars(SdmText *t, const Box *b, const SdmSeries *s)
{
    const double width = (b->right - b->left) / s->n;
    for (int i = 0; i < s->n; i++)
        sdm_text_add(t, "<rect class='%s' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>", s->style,
                     b->left + (b->right - b->left) * i / s->n, at_y(b, s->y[i]), width - 0.8,
                     b->bottom - at_y(b, s->y[i]));
}

static void draw_points(SdmText *t, const Box *b, const SdmSeries *s)
{
    int known = 0;
    for (int i = 0; i < s->n; i++)
        known += !isnan(s->y[i]);
    sdm_text_add(t, "<path class='%s%s' d='", s->style, known < FEW ? " few" : "");
    for (int i = 0; i < s->n; i++)
        if (s->y[i] >= b->plot->y0 && s->y[i] <= b->plot->y1)
            sdm_text_add(t, "M%.1f %.1fh0", at_x(b, s->x[i]), at_y(b, s->y[i]));
    sdm_text_add(t, "'/>");
}

static void draw_line(SdmText *t, const Box *b, const SdmSeries *s)
{
    sdm_text_add(t, "<polyline class='%s' points='", s->style);
    for (int i = 0; i < s->n; i++)
        if (s->x[i] >= b->plot->x0 && s->x[i] <= b->plot->x1 && !isnan(s->y[i]))
            sdm_text_add(t, "%.1f,%.1f ", at_x(b, s->x[i]),
                         at_y(b, fmin(fmax(s->y[i], b->plot->y0), b->plot->y1)));
    sdm_text_add(t, "'/>");
}

static void draw_verticals(SdmText *t, const Box *b, const SdmSeries *s)
{
    for (int i = 0; i < s->n; i++)
        sdm_text_add(t, "<line class='%s' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", s->style,
                     at_x(b, s->x[i]), at_x(b, s->x[i]), b->top, b->bottom);
}

/* The range of the series on one axis, with a twentieth more on both sides where it is y; what is given
 * stays. */
static void find_range(const SdmPlot *p, bool is_y, double *from, double *to)
{
    double low = INFINITY, high = -INFINITY;
    if (*to > *from)
        return;
    for (int k = 0; k < p->count; k++) {
        const double *const v = is_y ? p->series[k].y : p->series[k].x;
        for (int i = 0; v && i < p->series[k].n; i++) {
            const bool none = p->series[k].y && isnan(p->series[k].y[i]);
            low = none ? low : fmin(low, v[i]);
            high = none ? high : fmax(high, v[i]);
        }
        low = is_y && p->series[k].kind == SDM_SERIES_BARS ? fmin(low, 0.0) : low;
    }
    const double more = is_y ? fmax(0.05 * (high - low), 1e-6 * fmax(fabs(high), 1e-3)) : 0.0;
    *from = low < 0.0 || low > 0.0 || !is_y ? low - more : low;
    *to = high > *from ? high + more : *from + 1.0;
}

/* The plot as inline SVG. */
static void plot_svg(SdmText *out, const SdmPlot *plot, const char *label)
{
    static void (*const draw[])(SdmText *, const Box *,
                                const SdmSeries *) = {[SDM_SERIES_BARS] = draw_bars,
                                                      [SDM_SERIES_POINTS] = draw_points,
                                                      [SDM_SERIES_LINE] = draw_line,
                                                      [SDM_SERIES_VERTICAL] = draw_verticals};
    SdmPlot own = *plot;
    const SdmPlot *const p = &own;
    own.height = plot->height ? plot->height : 200;
    find_range(plot, false, &own.x0, &own.x1);
    find_range(plot, true, &own.y0, &own.y1);
    const Box b = {
        .plot = p, .left = p->no_y_ticks ? 20.0 : 60.0, .right = 700.0, .top = 24.0, .bottom = p->height};
    sdm_text_add(out, "<svg viewBox='0 0 720 %d' role='img' aria-label='%s'>", p->height + 48, label);
    draw_axes(out, &b);
    for (int i = 0; i < p->count; i++)
        draw[p->series[i].kind](out, &b, &p->series[i]);
    sdm_text_add(out, "</svg>");
}

extern const unsigned char sdm_report_page[]; /* report.html, made part of the program by the build */

/* ---- memory ---- */

typedef struct SdmReportRoom {
    struct SdmReportRoom *next;
    double value[];
} SdmReportRoom;

double *sdm_report_room(SdmReport *r, int n)
{
    SdmReportRoom *room = NULL;
    if (r->st == SDM_OK)
        r->st = sdm_alloc(r->ctx, &room, sizeof *room + (size_t)n * sizeof(double), 1, "report");
    if (!room)
        return NULL;
    room->next = r->rooms;
    r->rooms = room;
    return room->value;
}

static char *format(SdmReport *r, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *const out = n < 0 ? NULL : (char *)sdm_report_room(r, n / (int)sizeof(double) + 1);
    if (out) {
        vsnprintf(out, (size_t)n + 1, fmt, ap);
        sdm_hide_secrets(out, false);
    }
    return out;
}

const char *sdm_report_printf(SdmReport *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *const out = format(r, fmt, ap);
    va_end(ap);
    return out ? out : "";
}

void sdm_report_open(SdmContext *ctx, SdmReport *r)
{
    *r = (SdmReport){.ctx = ctx};
    r->root = (SdmReportItem){r, cJSON_CreateObject(), NULL};
}

void sdm_report_close(SdmReport *r)
{
    while (r->rooms) {
        SdmReportRoom *room = r->rooms;
        r->rooms = room->next;
        sdm_free(&room);
    }
    for (int i = 0; i < r->sections; i++)
        sdm_text_close(&r->section[i].html);
    cJSON_Delete(r->root.json);
    r->root.json = NULL;
}

void sdm_report_title(SdmReport *r, const char *output, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->subtitle = format(r, fmt, ap);
    va_end(ap);
    r->title = sdm_report_printf(r, "%s", output ? sdm_path_base(output) : "DEM in memory");
}

/* ---- the JSON report ---- */

/* The item, NULL where the JSON report has none. */
static cJSON *put(SdmReportItem to, const char *key, cJSON *item)
{
    if (key ? cJSON_AddItemToObject(to.json, key, item)
            : cJSON_IsArray(to.json) && cJSON_AddItemToArray(to.json, item))
        return item;
    cJSON_Delete(item);
    return NULL;
}

void sdm_report_number(SdmReportItem to, const char *key, double value)
{
    char text[40] = "null";
    if (isfinite(value))
        sdm_print_real(value, 15, text, sizeof text);
    (void)put(to, key, cJSON_CreateRaw(text));
}

void sdm_report_text(SdmReportItem to, const char *key, const char *value)
{
    cJSON *const item = cJSON_CreateString(value ? value : "");
    if (item)
        sdm_hide_secrets(item->valuestring, false);
    (void)put(to, key, item);
}

void sdm_report_add(SdmReportItem to, const SdmField *field, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (field[i].kind == SDM_FIELD_TEXT)
            sdm_report_text(to, field[i].key, field[i].text);
        else if (field[i].kind == SDM_FIELD_FLAG)
            (void)put(to, field[i].key, cJSON_CreateBool(field[i].number > 0.0));
        else
            sdm_report_number(to, field[i].key, field[i].number);
}

void sdm_report_numbers(SdmReportItem to, const char *key, const double *values, int n)
{
    const SdmReportItem list = sdm_report_list(to, key);
    for (int i = 0; values && i < n; i++)
        sdm_report_number(list, NULL, values[i]);
}

SdmReportItem sdm_report_group(SdmReportItem to, const char *key)
{
    return (SdmReportItem){to.report, put(to, key, cJSON_CreateObject()), to.section};
}

SdmReportItem sdm_report_list(SdmReportItem to, const char *key)
{
    return (SdmReportItem){to.report, put(to, key, cJSON_CreateArray()), to.section};
}

SdmStatus sdm_report_json(const SdmReport *r, SdmText *out)
{
    PASS(r->st);
    sdm_text_json(out, r->root.json, false);
    return out->st;
}

/* ---- items of the page ---- */

/* The text of the section, with `block` open. */
static SdmText *page(SdmReportItem to, SdmReportBlock block)
{
    static const char *const begin[] = {"", "<table>", "<div class='facts'>", "<div class='key'>", "<ul>"};
    static const char *const end[] = {"", "</table>", "</div>", "</div>", "</ul>"};
    SdmReportSection *const s = to.section;
    if (s->open != block)
        sdm_text_add(&s->html, "%s%s", end[s->open], begin[block]);
    s->open = block;
    return &s->html;
}

static void add_text(SdmReportItem to, SdmText *t, const char *before, const char *text, const char *after)
{
    sdm_text_add(t, "%s", before);
    sdm_text_escape(t, sdm_report_printf(to.report, "%s", text));
    sdm_text_add(t, "%s", after);
}

static void add_number(SdmText *t, double value, const char *unit, int digits)
{
    if (isnan(value))
        sdm_text_add(t, "none");
    else
        sdm_text_add(t, "%.*f%s", digits, value, unit ? unit : "");
}

static const char *verdict(double v, const SdmScale *scale)
{
    if (!scale || isnan(v))
        return "";
    const bool rises = scale->good > scale->poor;
    return (rises ? v >= scale->good : v <= scale->good) ? " class='good'"
           : (rises ? v < scale->poor : v > scale->poor) ? " class='poor'"
                                                         : " class='fair'";
}

void sdm_report_judged(SdmReportItem to, const char *label, double value, const char *unit, int digits,
                       const SdmScale *scale)
{
    const bool facts = to.section->style == SDM_STYLE_FACTS;
    SdmText *const t = page(to, facts ? SDM_BLOCK_FACTS : SDM_BLOCK_TABLE);
    if (facts) {
        sdm_text_add(t, "<div><b%s>", verdict(value, scale));
        add_number(t, value, unit, digits);
        add_text(to, t, "</b><span>", label, "");
        if (*verdict(value, scale))
            sdm_text_add(t, "<small>%s</small>", scale->words);
        sdm_text_add(t, "</span></div>");
    } else {
        add_text(to, t, "<tr><td>", label, "</td><td>");
        add_number(t, value, unit, digits);
        sdm_text_add(t, "</td></tr>\n");
    }
}

void sdm_report_figure(SdmReportItem to, const char *key, const char *label, double value, const char *unit,
                       int digits)
{
    if (key)
        sdm_report_number(to, key, value);
    sdm_report_judged(to, label, value, unit, digits, NULL);
}

void sdm_report_bar(SdmReportItem to, const char *label, double value, const char *unit, int digits,
                    double share)
{
    SdmText *const t = page(to, SDM_BLOCK_TABLE);
    sdm_text_add(t, "<tr><td>%s</td><td class='scale'><div class='bar' style='width:%.1f%%'></div></td><td>",
                 label, 100.0 * share);
    add_number(t, value, unit, digits);
    sdm_text_add(t, "</td></tr>\n");
}

void sdm_report_bullet(SdmReportItem to, const char *text)
{
    add_text(to, page(to, SDM_BLOCK_BULLETS), "<li>", text, "</li>");
}

void sdm_report_row(SdmReportItem to, const char *fmt, ...)
{
    va_list ap;
    SdmText *const t = page(to, SDM_BLOCK_TABLE);
    va_start(ap, fmt);
    char *cell = format(to.report, fmt, ap);
    va_end(ap);
    sdm_text_add(t, "<tr>");
    while (cell) {
        char *const tab = strchr(cell, '\t');
        if (tab)
            *tab = '\0';
        sdm_text_add(t, "<td>");
        sdm_text_escape(t, cell);
        sdm_text_add(t, "</td>");
        cell = tab ? tab + 1 : NULL;
    }
    sdm_text_add(t, "</tr>\n");
}

void sdm_report_note(SdmReportItem to, const char *fmt, ...)
{
    va_list ap;
    SdmText *const t = page(to, SDM_BLOCK_NONE);
    va_start(ap, fmt);
    char *piece = format(to.report, fmt, ap);
    va_end(ap);
    sdm_text_add(t, "<p class='soft'>");
    for (bool code = false; piece; code = !code) {
        char *const quote = strchr(piece, '`');
        if (quote)
            *quote = '\0';
        sdm_text_add(t, code ? "<code>" : "");
        sdm_text_escape(t, piece);
        sdm_text_add(t, code ? "</code>" : "");
        piece = quote ? quote + 1 : NULL;
    }
    sdm_text_add(t, "</p>");
}

void sdm_report_fold(SdmReportItem to, const char *line)
{
    SdmText *const t = page(to, SDM_BLOCK_NONE);
    if (to.section->folded)
        sdm_text_add(t, "</details>");
    if (line)
        sdm_text_add(t, "<details><summary>%s</summary>", line);
    to.section->folded = line != NULL;
}

/* The longest of 1, 2 or 5 times a power of ten that is at most a third of the map. */
static void add_scale_bar(SdmText *t, double width_m)
{
    double length_m = pow(10.0, floor(log10(width_m / 3.0)));
    length_m *= 5.0 * length_m <= width_m / 3.0 ? 5.0 : 2.0 * length_m <= width_m / 3.0 ? 2.0 : 1.0;
    sdm_text_add(t,
                 "<figcaption><span class='length' style='width:%.2f%%'>%.6g %s</span><span>N "
                 "&#8593;</span></figcaption>",
                 100.0 * length_m / width_m, length_m < 1000.0 ? length_m : length_m / 1000.0,
                 length_m < 1000.0 ? "m" : "km");
}

void sdm_report_picture(SdmReportItem to, const char *label, const SdmPng *png, double pixel_m)
{
    SdmText *const t = page(to, SDM_BLOCK_NONE);
    sdm_text_add(
        t, "<figure style='max-width:%dpx'><img width='%d' height='%d' alt='%s' src='data:image/png;base64,",
        pixel_m > 0.0 && png->width < 900 ? 900 : png->width, png->width, png->height, label);
    char *const base64 = CPLBase64Encode((int)png->size, png->data);
    sdm_text_add(t, "%s", base64);
    CPLFree(base64);
    sdm_text_add(t, "'>");
    if (pixel_m > 0.0)
        add_scale_bar(t, pixel_m * png->width);
    sdm_text_add(t, "</figure>");
}

void sdm_report_colour(SdmReportItem to, const unsigned char rgb[3], const char *label)
{
    SdmText *const t = page(to, SDM_BLOCK_LEGEND);
    sdm_text_add(t, label ? "<span>" : "");
    if (rgb)
        sdm_text_add(t, "<i style='background:rgb(%d,%d,%d)%s'></i>", rgb[0], rgb[1], rgb[2],
                     label ? "" : ";margin:5px 0");
    if (label)
        add_text(to, t, "", label, "</span>");
}

void sdm_report_ramp(SdmReportItem to, sdm_ramp_fn *colour, double low, double high, const char *unit,
                     int labels)
{
    enum { STEPS = 12 };
    for (int i = 0; i <= STEPS; i++) {
        const double value = 2 * i == STEPS ? 0.5 * (low + high) : low + (high - low) * i / STEPS;
        unsigned char rgb[3];
        if (i * labels % STEPS == 0)
            sdm_report_colour(to, NULL,
                              sdm_report_printf(to.report, low < 0.0 && value > 0.0 ? "%+.*f %s" : "%.*f %s",
                                                (high - low < 5.0) + (high - low < 0.5), value, unit));
        colour(i / (STEPS - 1.0), rgb);
        if (i < STEPS)
            sdm_report_colour(to, rgb, NULL);
    }
}

void sdm_report_plot(SdmReportItem to, const char *label, const SdmPlot *plot)
{
    SdmText *t = page(to, SDM_BLOCK_NONE);
    sdm_text_add(t, "<div class='plot'>");
    plot_svg(t, plot, label);
    sdm_text_add(t, "</div>");
    for (int i = 0; i < plot->count; i++)
        if (plot->series[i].label)
            sdm_text_add(page(to, SDM_BLOCK_LEGEND), "<span><i class='%s'></i>%s</span>",
                         plot->series[i].style, plot->series[i].label);
}

/* ---- sections, and the page around them ---- */

SdmReportItem sdm_report_section(SdmReport *r, const char *key, const char *title, SdmReportPlace place,
                                 SdmReportStyle style)
{
    assert(r->sections < SDM_REPORT_SECTIONS);
    SdmReportSection *const s = &r->section[r->sections++];
    *s = (SdmReportSection){.place = place, .style = style, .html = {.ctx = r->ctx}};
    sdm_text_add(&s->html, "<section class='card%s'><h2>%s</h2>",
                 style == SDM_STYLE_ALERT  ? " alert"
                 : style == SDM_STYLE_WIDE ? " wide"
                                           : "",
                 title ? title : "");
    return (SdmReportItem){r, key ? sdm_report_group(r->root, key).json : NULL, s};
}

/* Sections by place; of half width, two side by side. */
static void add_sections(SdmText *t, const SdmReport *r)
{
    bool beside = false;
    for (int place = SDM_PAGE_NONE + 1; place < SDM_PAGE_END; place++)
        for (int i = 0; i < r->sections; i++) {
            const SdmReportSection *const s = &r->section[i];
            const bool half = s->style == SDM_STYLE_HALF;
            if ((int)s->place != place)
                continue;
            sdm_text_add(t, half && !beside ? "<div class='grid two'>" : !half && beside ? "</div>" : "");
            sdm_text_raw(t, s->html.data, s->html.size);
            sdm_text_add(t, half && beside ? "</section>\n</div>" : "</section>\n");
            beside = half && !beside;
        }
    sdm_text_add(t, beside ? "</div>" : "");
}

SdmStatus sdm_report_html(SdmReport *r, SdmText *out)
{
    const char *from = (const char *)sdm_report_page;
    for (int i = 0; i < r->sections; i++) {
        sdm_report_fold((SdmReportItem){r, NULL, &r->section[i]}, NULL);
        r->st = r->st ? r->st : r->section[i].html.st;
    }
    if (r->st)
        return r->st;
    for (const char *open; (open = strstr(from, "{{")) != NULL; from = strstr(open, "}}") + 2) {
        sdm_text_raw(out, from, (size_t)(open - from));
        if (!strncmp(open, "{{title}}", 9))
            sdm_text_escape(out, r->title);
        else if (!strncmp(open, "{{subtitle}}", 12))
            sdm_text_escape(out, r->subtitle);
        else
            add_sections(out, r);
    }
    sdm_text_raw(out, from, strlen(from));
    return out->st;
}
