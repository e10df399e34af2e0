/* A report -> a page for people, after the template report.html. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report_write.h"

#include <math.h>
#include <string.h>

extern const unsigned char sdm_report_page[]; /* report.html, made part of the program by the build */
extern const size_t sdm_report_page_bytes;

/* ---- items of a section ---- */

typedef enum Block { BLOCK_NONE, BLOCK_TABLE, BLOCK_FACTS } Block; /* what is open on the page */

static void set_block(SdmText *t, Block *open, Block wanted)
{
    static const char *const begin[] = {"", "<table>", "<div class='facts'>"};
    static const char *const end[] = {"", "</table>", "</div>"};
    if (*open == wanted)
        return;
    sdm_text_add(t, "%s%s", end[*open], begin[wanted]);
    *open = wanted;
}

/* Text in which `back quotes` enclose code. */
static void add_prose(SdmText *t, const char *text)
{
    for (bool code = false; *text; code = !code) {
        const size_t n = strcspn(text, "`");
        char piece[1024];
        snprintf(piece, sizeof piece, "%.*s", (int)n, text);
        sdm_text_add(t, code ? "<code>" : "");
        sdm_text_escape(t, piece);
        sdm_text_add(t, code ? "</code>" : "");
        text += n + (text[n] == '`');
    }
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

static void add_picture(SdmText *t, const SdmReportItem *item)
{
    const SdmPng *const png = item->picture;
    sdm_text_add(
        t, "<figure style='max-width:%dpx'><img width='%d' height='%d' alt='%s' src='data:image/png;base64,",
        item->pixel_m > 0.0 && png->width < 900 ? 900 : png->width, png->width, png->height, item->label);
    sdm_text_base64(t, png->data, png->size);
    sdm_text_add(t, "'>");
    if (item->pixel_m > 0.0)
        add_scale_bar(t, item->pixel_m * png->width);
    sdm_text_add(t, "</figure>");
}

static void add_legend(SdmText *t, const SdmReportItem *legend)
{
    sdm_text_add(t, "<div class='key'>");
    for (const SdmReportItem *c = legend->first; c; c = c->next) {
        sdm_text_add(t, *c->label ? "<span>" : "");
        if (c->coloured)
            sdm_text_add(t, "<i style='background:rgb(%d,%d,%d)%s'></i>", c->rgb[0], c->rgb[1], c->rgb[2],
                         *c->label ? "" : ";margin:5px 0");
        sdm_text_escape(t, c->label);
        sdm_text_add(t, *c->label ? "</span>" : "");
    }
    sdm_text_add(t, "</div>");
}

static void add_bullets(SdmText *t, const SdmReportItem *list)
{
    sdm_text_add(t, "<ul>");
    for (const SdmReportItem *i = list->first; i; i = i->next) {
        sdm_text_add(t, "<li>");
        sdm_text_escape(t, i->text);
        sdm_text_add(t, "</li>");
    }
    sdm_text_add(t, "</ul>");
}

static void add_value(SdmText *t, const SdmReportItem *item)
{
    if (item->kind == SDM_REPORT_TEXT)
        sdm_text_escape(t, item->text);
    else if (isnan(item->number))
        sdm_text_add(t, "none");
    else
        sdm_text_add(t, "%.*f%s", item->digits, item->number, item->unit ? item->unit : "");
}

static void add_figure(SdmText *t, const SdmReportItem *item, bool fact)
{
    static const char *const verdict[] = {"", " class='good'", " class='fair'", " class='poor'"};
    sdm_text_add(t, fact ? "<div><b%s>" : "<tr><td>", verdict[item->verdict]);
    if (fact)
        add_value(t, item);
    else
        sdm_text_escape(t, item->label);
    if (!fact && item->share >= 0.0)
        sdm_text_add(t, "</td><td class='scale'><div class='bar' style='width:%.1f%%'></div>",
                     100.0 * item->share);
    sdm_text_add(t, fact ? "</b><span>" : "</td><td>");
    if (fact)
        sdm_text_escape(t, item->label);
    else
        add_value(t, item);
    if (fact && item->scale) {
        sdm_text_add(t, "<small>");
        sdm_text_escape(t, item->scale);
        sdm_text_add(t, "</small>");
    }
    sdm_text_add(t, fact ? "</span></div>" : "</td></tr>\n");
}

static void add_row(SdmText *t, const SdmReportItem *row)
{
    sdm_text_add(t, "<tr>");
    for (const SdmReportItem *c = row->first; c; c = c->next) {
        sdm_text_add(t, "<td>");
        sdm_text_escape(t, c->text);
        sdm_text_add(t, "</td>");
    }
    sdm_text_add(t, "</tr>\n");
}

static void add_items(SdmText *t, const SdmReportItem *of, bool facts, Block *open);

/* Items of a group; of one with a label, below a line that unfolds them. */
static void add_group(SdmText *t, const SdmReportItem *group, bool facts, Block *open)
{
    if (group->label) {
        set_block(t, open, BLOCK_NONE);
        sdm_text_add(t, "<details><summary>");
        sdm_text_escape(t, group->label);
        sdm_text_add(t, "</summary>");
    }
    add_items(t, group, facts, open);
    if (group->label) {
        set_block(t, open, BLOCK_NONE);
        sdm_text_add(t, "</details>");
    }
}

static void add_items(SdmText *t, const SdmReportItem *of, bool facts, Block *open)
{
    const Block table = facts ? BLOCK_FACTS : BLOCK_TABLE;
    for (const SdmReportItem *i = of->first; i; i = i->next) {
        if (i->kind == SDM_REPORT_GROUP)
            add_group(t, i, facts, open);
        if (!i->label || i->kind == SDM_REPORT_GROUP || (i->kind == SDM_REPORT_TEXT && !*i->text))
            continue;
        const bool figure = i->kind == SDM_REPORT_NUMBER || i->kind == SDM_REPORT_TEXT;
        set_block(t, open, figure ? table : i->kind == SDM_REPORT_ROW ? BLOCK_TABLE : BLOCK_NONE);
        if (figure)
            add_figure(t, i, facts);
        else if (i->kind == SDM_REPORT_ROW)
            add_row(t, i);
        else if (i->kind == SDM_REPORT_LIST)
            add_bullets(t, i);
        else if (i->kind == SDM_REPORT_PICTURE)
            add_picture(t, i);
        else if (i->kind == SDM_REPORT_LEGEND)
            add_legend(t, i);
        else if (i->kind == SDM_REPORT_PLOT)
            sdm_text_add(t, "<div class='plot'>"), sdm_plot_svg(t, i->plot, i->label),
                sdm_text_add(t, "</div>");
        else {
            sdm_text_add(t, "<p class='soft'>");
            add_prose(t, i->text);
            sdm_text_add(t, "</p>");
        }
    }
}

/* ---- sections, and the page around them ---- */

static void add_section(SdmText *t, const SdmReportItem *s)
{
    Block open = BLOCK_NONE;
    sdm_text_add(t, "<section class='card%s'><h2>", s->style == SDM_STYLE_ALERT ? " alert" : "");
    sdm_text_escape(t, s->label);
    sdm_text_add(t, "</h2>");
    add_items(t, s, s->style == SDM_STYLE_FACTS, &open);
    set_block(t, &open, BLOCK_NONE);
    sdm_text_add(t, "</section>\n");
}

/* Sections by place; of half width, two side by side. */
static void add_sections(SdmText *t, const SdmReport *r)
{
    bool beside = false;
    for (int place = SDM_PAGE_NONE + 1; place < SDM_PAGE_END; place++)
        for (const SdmReportItem *s = r->root->first; s; s = s->next) {
            const bool half = s->style == SDM_STYLE_HALF;
            if ((int)s->place != place)
                continue;
            sdm_text_add(t, half && !beside ? "<div class='grid two'>" : !half && beside ? "</div>" : "");
            add_section(t, s);
            sdm_text_add(t, half && beside ? "</div>" : "");
            beside = half && !beside;
        }
    sdm_text_add(t, beside ? "</div>" : "");
}

SdmStatus sdm_report_html(const SdmReport *r, SdmText *out)
{
    const char *from = (const char *)sdm_report_page, *const end = from + sdm_report_page_bytes;
    if (r->st)
        return r->st;
    while (from < end) { /* copy up to the next {{NAME}}, then its content */
        const char *open = from;
        while (open < end && strncmp(open, "{{", 2) != 0)
            open++;
        sdm_text_raw(out, from, (size_t)(open - from));
        if (!strncmp(open, "{{title}}", 9))
            sdm_text_escape(out, r->title);
        else if (!strncmp(open, "{{subtitle}}", 12))
            sdm_text_escape(out, r->subtitle);
        else if (!strncmp(open, "{{sections}}", 12))
            add_sections(out, r);
        for (from = open; from < end && *from != '}'; from++)
            ;
        from += from < end ? 2 : 0;
    }
    return out->st;
}
