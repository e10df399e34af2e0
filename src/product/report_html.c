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

static void add_picture(SdmText *t, const SdmPng *png, const char *label)
{
    sdm_text_add(t, "<img width='%d' height='%d' alt='%s' src='data:image/png;base64,", png->width,
                 png->height, label);
    sdm_text_base64(t, png->data, png->size);
    sdm_text_add(t, "'>");
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
    sdm_text_add(t, fact ? "<div><b>" : "<tr><td>");
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

static void add_items(SdmText *t, const SdmReportItem *of, bool facts, Block *open)
{
    const Block table = facts ? BLOCK_FACTS : BLOCK_TABLE;
    for (const SdmReportItem *i = of->first; i; i = i->next) {
        if (i->kind == SDM_REPORT_GROUP)
            add_items(t, i, facts, open);
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
            add_picture(t, i->picture, i->label);
        else if (i->kind == SDM_REPORT_LEGEND)
            add_legend(t, i);
        else if (i->kind == SDM_REPORT_PLOT)
            sdm_plot_svg(t, i->plot, i->label);
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
