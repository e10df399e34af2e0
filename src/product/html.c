/* The run as a page for people -> NAME.html: pictures and plots inside, nothing fetched from elsewhere. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "product/picture.h"
#include "product/plot.h"

#include <math.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
    "<meta name='viewport' content='width=device-width,initial-scale=1'>"
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src data:; style-src "
    "'unsafe-inline'\">"
    "<style>:root{--ink:#1c2430;--soft:#5d6b7c;--line:#e1e6ec;--card:#fff;--page:#f4f6f8;--green:#2e866e}"
    "*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 "
    "2px;overflow-wrap:anywhere}"
    "h2{font-size:16px;margin:0 0 12px}p{margin:0 0 10px}.soft{color:var(--soft)}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px "
    "20px;margin-top:18px}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:18px}.grid "
    ".card{margin:0}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:14px}"
    ".facts b{display:block;font-size:22px;font-weight:650}.facts span{color:var(--soft);font-size:13px}"
    "img{max-width:100%;height:auto;display:block;border-radius:8px;background:#e8ecf0}svg{width:100%;height:"
    "auto}"
    "table{border-collapse:collapse;width:100%;font-size:14px}td{padding:4px 8px;border-bottom:1px solid "
    "var(--line);"
    "overflow-wrap:anywhere}td:last-child{text-align:right;font-variant-numeric:tabular-nums}"
    ".bar{height:8px;border-radius:4px;background:var(--green);min-width:1px}"
    ".key{display:flex;flex-wrap:wrap;gap:4px 14px;margin-top:10px;font-size:13px;color:var(--soft)}"
    ".key i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:5px;border:1px solid "
    "#0002}"
    ".doubt{border:2px solid #c8463c}.doubt ul{margin:0;padding-left:20px}"
    ".two{margin-top:18px}.t{font-size:13px;fill:#5d6b7c}.n{font-size:14px;fill:#1c2430}.g{stroke:#e1e6ec}.a{"
    "stroke:#8b98a8}"
    ".b{fill:#2e866e}.m{stroke:#c8463c;stroke-width:1.5}.p{fill:none;stroke:#1c2430;stroke-width:1.5}"
    ".before{stroke:#e09a4a;stroke-width:2.2;stroke-linecap:round;opacity:.55;fill:none}"
    ".after{stroke:#2e6fa8;stroke-width:2.2;stroke-linecap:round;opacity:.6;fill:none}</style><title>";

static void image(SdmText *t, const SdmPicture *picture, const char *what)
{
    sdm_text_add(t, "<img width='%d' height='%d' alt='%s' src='data:image/png;base64,", picture->width,
                 picture->height, what);
    sdm_text_base64(t, picture->data, picture->size);
    sdm_text_add(t, "'>");
}

static void cell(SdmText *t, const char *name, const char *value)
{
    sdm_text_add(t, "<tr><td>");
    sdm_text_escape(t, name);
    sdm_text_add(t, "</td><td>");
    sdm_text_escape(t, value);
    sdm_text_add(t, "</td></tr>");
}

static void fact(SdmText *t, const char *what, const char *fmt, double value)
{
    char text[64];
    snprintf(text, sizeof text, fmt, value); /* fmt: one of ours, below */
    sdm_text_add(t, "<div><b>%s</b><span>%s</span></div>", isnan(value) ? "none" : text, what);
}

static void add_head(SdmText *t, const SdmProduct *p)
{
    const char *const path = p->names->path[SDM_FILE_DEM], *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    sdm_text_raw(t, head, sizeof head - 1);
    sdm_text_escape(t, name);
    sdm_text_add(t, "</title></head><body><main><h1>");
    sdm_text_escape(t, name);
    sdm_text_add(t, "</h1><p class='soft'>");
    sdm_text_escape(t, p->report.scene_id);
    sdm_text_add(t, " &middot; ");
    sdm_text_escape(t, p->report.scene_kind);
    if (!p->report.stack) {
        sdm_text_add(t, " &middot; ");
        sdm_text_escape(t, p->report.time_utc[0] ? p->report.time_utc : "time unknown");
        sdm_text_add(t, " &middot; matched by %s", p->report.cost);
    }
    sdm_text_add(t, " &middot; stereodem %s</p>", SDM_VERSION);
}

/* Above all else: why not to trust the DEM as it is. */
static void add_doubts(SdmText *t, const SdmQuality *d)
{
    if (!d || d->count == 0)
        return;
    sdm_text_add(t, "<section class='card doubt'><h2>This DEM is doubtful</h2><ul>");
    for (int i = 0; i < d->count; i++) {
        sdm_text_add(t, "<li>");
        sdm_text_escape(t, d->text[i]);
        sdm_text_add(t, "</li>");
    }
    sdm_text_add(t, "</ul></section>");
}

/* How good is it: what the run itself can say, and what it cannot. */
static void add_summary(SdmText *t, const SdmProduct *p, int vertical)
{
    static const char *const datum[] = {"the WGS 84 ellipsoid", "the EGM96 geoid", "the EGM2008 geoid"};
    const SdmSurvey *const s = &p->survey;
    const SdmPointReport *const points = p->report.points;
    const SdmPointRound *const last = points && points->rounds ? &points->round[points->rounds - 1] : NULL;
    const double seen = (double)(s->cells - s->mask_bits[2]); /* bit 2: outside */
    const char *const unit = p->grid.geographic                                ? "degrees"
                             : sdm_grid_spacing_m(&p->grid) == p->grid.spacing ? "m"
                                                                               : "units of the CRS";
    const double share = 100.0 * (double)s->valid / fmax(seen, 1.0);
    sdm_text_add(t, "<section class='card'><h2>How good is it?</h2><div class='facts'>");
    fact(t, "of the cells seen by both views have a height", "%.1f %%", fmin(share, 100.0));
    fact(t, "of these were filled over small holes", "%.1f %%",
         100.0 * (double)s->mask_bits[1] / fmax((double)s->valid, 1.0));
    fact(t, "median height", "%.1f m", sdm_survey_quantile_m(s, 0.5));
    fact(t, "heights from the 1 % quantile", "%.0f m", sdm_survey_quantile_m(s, 0.01));
    fact(t, "to the 99 % quantile", "%.0f m", sdm_survey_quantile_m(s, 0.99));
    fact(t, "what the pointing correction leaves (NMAD)", "%.3f px", last ? last->after_nmad_px : NAN);
    fact(t, "matches behind it", "%.0f", last ? (double)last->inliers : (double)NAN);
    fact(t, "base to height ratio", "%.2f", p->report.base_height);
    fact(t, "from start to end", "%.1f s", p->report.wall_s);
    sdm_text_add(
        t,
        "</div><p class='soft' style='margin:14px 0 0'>Heights in metres above %s, cells of %.6g %s, %lld x "
        "%lld. "
        "A residual of one pixel across the rays is %.1f m on the ground; along them it is %.1f m of height. "
        "Only a reference can tell the absolute error: <code>stereodem compare DEM "
        "REFERENCE</code>.</p></section>",
        datum[vertical], p->grid.spacing, unit, (long long)p->grid.cols, (long long)p->grid.rows,
        p->report.gsd_m, p->report.gsd_m / fmax(p->report.base_height, 1e-3));
}

static void add_maps(SdmText *t, const SdmProduct *p, const SdmPicture *relief, const SdmPicture *coverage)
{
    sdm_text_add(t, "<section class='card'><h2>Relief</h2>");
    image(t, relief, "shaded relief");
    sdm_text_add(t, "<div class='key'><span>%.0f m</span>", sdm_survey_quantile_m(&p->survey, 0.01));
    for (int i = 0; i < 12; i++) {
        double rgb[3];
        sdm_relief_colour(i / 11.0, rgb);
        sdm_text_add(t, "<i style='background:rgb(%.0f,%.0f,%.0f);margin:5px 0'></i>", rgb[0], rgb[1],
                     rgb[2]);
    }
    sdm_text_add(
        t, "<span>%.0f m</span></div></section><div class='grid two'><section class='card'><h2>Coverage</h2>",
        sdm_survey_quantile_m(&p->survey, 0.99));
    image(t, coverage, "coverage");
    sdm_text_add(t, "<div class='key'>");
    for (const SdmCoverKind *k = sdm_cover_kinds; k->bit; k++)
        if (!p->report.stack || k->bit == SDM_QA_VALID || k->bit == SDM_QA_FILLED)
            sdm_text_add(t, "<span><i style='background:rgb(%d,%d,%d)'></i>%s</span>", k->rgb[0], k->rgb[1],
                     k->rgb[2], k->label);
    sdm_text_add(t, "</div></section><section class='card'><h2>Cells by what they met</h2><table>");
    for (int b = 0; b < sdm_qa_bits(&p->report); b++)
        sdm_text_add(t, "<tr><td>%s</td><td>%.2f %%</td></tr>", sdm_qa_names[b],
                     100.0 * (double)p->survey.mask_bits[b] / (double)p->survey.cells);
    sdm_text_add(t, "</table></section></div>");
}

static void add_plots(SdmText *t, const SdmReport *r, const SdmSurvey *s)
{
    sdm_text_add(t, "<div class='grid two'><section class='card'><h2>Heights</h2>");
    sdm_plot_histogram(t, s);
    if (r->stack) {
        sdm_text_add(t, "</section>");
        sdm_stack_table(t, r->stack);
        sdm_text_add(t, "</div>");
        return;
    }
    sdm_text_add(t, "</section><section class='card'><h2>Pointing</h2>");
    if (r->points && r->points->rounds) {
        const SdmPointRound *const last = &r->points->round[r->points->rounds - 1];
        sdm_plot_pointing(t, r->pointing, last);
        sdm_text_add(t,
                     "<div class='key'><span><i style='background:#e09a4a'></i>before</span><span>"
                     "<i style='background:#2e6fa8'></i>after</span><span><i style='background:#1c2430'></i>"
                     "jitter profile</span></div><table>");
        for (int i = 0; i < r->points->rounds; i++) {
            const SdmPointRound *const k = &r->points->round[i];
            sdm_text_add(t,
                         "<tr><td>round %d: %d matches, %d used, degree %d</td>"
                         "<td>%.3f &rarr; %.3f px NMAD, median before %.2f px</td></tr>",
                         i + 1, k->matches, k->inliers, k->degree, k->before_nmad_px, k->after_nmad_px,
                         k->before_median_px);
        }
        sdm_text_add(t, "</table>");
    } else {
        sdm_text_add(t, "<p class='soft'>No correction was estimated.</p>");
    }
    sdm_text_add(t, "</section></div>");
}

static void add_work(SdmText *t, SdmContext *ctx, const SdmReport *r)
{
    double most = 1e-9;
    char name[64], value[1024];
    for (int i = 1; i < 10; i++)
        most = fmax(most, sdm_stage_time(ctx, i));
    sdm_text_add(t, "<div class='grid two'><section class='card'><h2>Time</h2><table>");
    for (int i = 1; i < 10; i++)
        sdm_text_add(
            t,
            "<tr><td>%d %s</td><td style='width:50%%'><div class='bar' style='width:%.1f%%'></div></td>"
            "<td>%.2f s</td></tr>",
            i, sdm_stage_names[i], 100.0 * sdm_stage_time(ctx, i) / most, sdm_stage_time(ctx, i));
    sdm_text_add(
        t,
        "</table><p class='soft' style='margin-top:10px'>%.1f s in all, %d threads, %.0f MB at most, "
        "%d blocks (%d taken up from an earlier run).</p></section>"
        "<section class='card'><h2>Parameters</h2><table>",
        r->wall_s, sdm_threads(ctx), (double)sdm_memory_peak(ctx) * 1e-6, r->blocks, r->blocks_resumed);
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++)
        if (s->commands & (r->stack ? SDM_CMD_STACK : SDM_CMD_RUN)) {
            snprintf(name, sizeof name, "%s", s->name);
            sdm_option_print(s, sdm_options(ctx), value, sizeof value);
            if (value[0])
                cell(t, name, value);
        }
    for (int i = 0; i < r->file_count; i++) {
        snprintf(value, sizeof value, "%lld bytes", (long long)r->files[i].size_bytes);
        cell(t, r->files[i].path, value);
    }
    sdm_text_add(t, "</table></section></div></main></body></html>\n");
}

SdmStatus sdm_html_write(SdmContext *ctx, const SdmProduct *p, const SdmPicture *relief,
                         const SdmPicture *coverage)
{
    SdmText t = {.ctx = ctx};
    SdmStatus st = SDM_OK;
    add_head(&t, p);
    add_doubts(&t, p->report.doubts);
    if (p->report.stack)
        sdm_stack_summary(&t, p, sdm_options(ctx)->vertical);
    else
        add_summary(&t, p, sdm_options(ctx)->vertical);
    add_maps(&t, p, relief, coverage);
    add_plots(&t, &p->report, &p->survey);
    add_work(&t, ctx, &p->report);
    st = sdm_text_write(&t, p->names->part[SDM_FILE_HTML]);
    sdm_text_close(&t);
    return st;
}
