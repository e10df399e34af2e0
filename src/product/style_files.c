/* Statistics of a DEM and the layout of its QA raster -> files that make a GIS show them with the report's
 * colours and words: layer styles of QGIS, and the band "reason" as a raster with colour table, categories
 * and attribute table. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "product/picture.h"
#include "product/report.h"

#include <math.h>

static int reason_band(const SdmQaLayout *layout)
{
    int k = 0;
    while (k < layout->bands && layout->band[k].kind != SDM_BAND_REASON)
        k++;
    return k + 1;
}

/* ---- layer styles ---- */

static void begin_style(SdmText *t, const char *renderer, int band)
{
    sdm_text_add(t,
                 "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
                 "<qgis version=\"3.22\" styleCategories=\"Symbology\">\n <pipe>\n"
                 "  <rasterrenderer type=\"%s\" band=\"%d\" opacity=\"1\" alphaBand=\"-1\" nodataColor=\"\"",
                 renderer, band);
}

static void end_style(SdmText *t)
{
    sdm_text_add(t, "  </rasterrenderer>\n </pipe>\n <blendMode>0</blendMode>\n</qgis>\n");
}

/* A ramp of n stops of equal distance from low to high, metres. */
static void add_ramp(SdmText *t, double low, double high, const char *unit, sdm_ramp_fn *colour, int n)
{
    const int digits = high - low < 2.0 ? 2 : high - low < 20.0 ? 1 : 0;
    unsigned char c[3], last[3];
    begin_style(t, "singlebandpseudocolor", 1);
    sdm_text_add(
        t,
        " classificationMin=\"%.6f\" classificationMax=\"%.6f\">\n   <rasterTransparency/>\n"
        "   <rastershader>\n    <colorrampshader colorRampType=\"INTERPOLATED\" classificationMode=\"1\" "
        "clip=\"0\" minimumValue=\"%.6f\" maximumValue=\"%.6f\" labelPrecision=\"%d\">\n",
        low, high, low, high, digits);
    colour(0.0, c);
    colour(1.0, last);
    sdm_text_add(
        t,
        "     <colorramp name=\"[source]\" type=\"gradient\">\n"
        "      <prop k=\"color1\" v=\"%d,%d,%d,255\"/>\n      <prop k=\"color2\" v=\"%d,%d,%d,255\"/>\n"
        "      <prop k=\"discrete\" v=\"0\"/>\n      <prop k=\"rampType\" v=\"gradient\"/>\n"
        "      <prop k=\"stops\" v=\"",
        c[0], c[1], c[2], last[0], last[1], last[2]);
    for (int i = 1; i < n - 1; i++) {
        colour(i / (n - 1.0), c);
        sdm_text_add(t, "%s%.6f;%d,%d,%d,255", i > 1 ? ":" : "", i / (n - 1.0), c[0], c[1], c[2]);
    }
    sdm_text_add(t, "\"/>\n     </colorramp>\n");
    for (int i = 0; i < n; i++) {
        const double value = low + (high - low) * i / (n - 1.0);
        colour(i / (n - 1.0), c);
        sdm_text_add(t,
                     "     <item value=\"%.6f\" label=\"%.*f %s\" color=\"#%02x%02x%02x\" alpha=\"255\"/>\n",
                     value, digits, value, unit, c[0], c[1], c[2]);
    }
    sdm_text_add(t, "    </colorrampshader>\n   </rastershader>\n");
    end_style(t);
}

void sdm_style_dem(SdmText *out, double low_m, double high_m)
{
    enum { STOPS = 8 };
    const bool known = low_m < high_m;
    add_ramp(out, known ? low_m : 0.0, known ? fmax(high_m, low_m + 1.0) : 1.0, "m", sdm_relief_ramp, STOPS);
}

void sdm_style_change(SdmText *out, double limit, const char *unit)
{
    enum { STOPS = 9 };
    add_ramp(out, -limit, limit, unit, sdm_change_ramp, STOPS);
}

void sdm_style_qa(SdmText *out, const SdmQaLayout *layout)
{
    begin_style(out, "paletted", reason_band(layout));
    sdm_text_add(out, ">\n   <rasterTransparency/>\n   <colorPalette>\n");
    for (int i = 0; i < SDM_QA_REASONS; i++) {
        const SdmQaReason *const r = &sdm_qa_reasons[i];
        if (!(r->bit & layout->legend))
            continue;
        sdm_text_add(out, "    <paletteEntry value=\"%d\" color=\"#%02x%02x%02x\" alpha=\"255\" label=\"", i,
                     r->rgb[0], r->rgb[1], r->rgb[2]);
        sdm_text_escape(out, sdm_qa_words(layout, r->bit));
        sdm_text_add(out, "\"/>\n");
    }
    sdm_text_add(out, "   </colorPalette>\n");
    end_style(out);
}

/* ---- the reasons as a raster ---- */

static void add_attributes(SdmText *t, const SdmQaLayout *layout)
{
    static const struct {
        const char *name;
        int type, usage; /* GDALRATFieldType, GDALRATFieldUsage */
    } field[] = {{"Value", 0, 5}, {"Reason", 2, 2}, {"Red", 0, 6}, {"Green", 0, 7}, {"Blue", 0, 8}};
    sdm_text_add(t, "    <GDALRasterAttributeTable tableType=\"thematic\">\n");
    for (int i = 0; i < 5; i++)
        sdm_text_add(
            t, "      <FieldDefn index=\"%d\"><Name>%s</Name><Type>%d</Type><Usage>%d</Usage></FieldDefn>\n",
            i, field[i].name, field[i].type, field[i].usage);
    for (int i = 0; i < SDM_QA_REASONS; i++) {
        const SdmQaReason *const r = &sdm_qa_reasons[i];
        sdm_text_add(t, "      <Row index=\"%d\"><F>%d</F><F>", i, i);
        sdm_text_escape(t, sdm_qa_words(layout, r->bit));
        sdm_text_add(t, "</F><F>%d</F><F>%d</F><F>%d</F></Row>\n", r->rgb[0], r->rgb[1], r->rgb[2]);
    }
    sdm_text_add(t, "    </GDALRasterAttributeTable>\n");
}

static void add_colours(SdmText *t, const SdmQaLayout *layout)
{
    sdm_text_add(t, "    <ColorTable>\n");
    for (int i = 0; i < SDM_QA_REASONS; i++)
        sdm_text_add(t, "      <Entry c1=\"%d\" c2=\"%d\" c3=\"%d\" c4=\"255\"/>\n", sdm_qa_reasons[i].rgb[0],
                     sdm_qa_reasons[i].rgb[1], sdm_qa_reasons[i].rgb[2]);
    sdm_text_add(t, "    </ColorTable>\n    <CategoryNames>\n");
    for (int i = 0; i < SDM_QA_REASONS; i++) {
        sdm_text_add(t, "      <Category>");
        sdm_text_escape(t, sdm_qa_words(layout, sdm_qa_reasons[i].bit));
        sdm_text_add(t, "</Category>\n");
    }
    sdm_text_add(t, "    </CategoryNames>\n");
}

void sdm_reason_raster(SdmText *out, const SdmGrid *grid, const SdmQaLayout *layout, const char *qa)
{
    const long long w = grid->cols, h = grid->rows;
    sdm_text_add(out, "<VRTDataset rasterXSize=\"%lld\" rasterYSize=\"%lld\">\n  <SRS>", w, h);
    sdm_text_escape(out, grid->wkt);
    sdm_text_add(out,
                 "</SRS>\n  <GeoTransform>%.17g, %.17g, 0, %.17g, 0, %.17g</GeoTransform>\n"
                 "  <VRTRasterBand dataType=\"Byte\" band=\"1\">\n    <Description>reason</Description>\n"
                 "    <ColorInterp>Palette</ColorInterp>\n",
                 grid->x0, grid->spacing, grid->y0, -grid->spacing);
    add_colours(out, layout);
    add_attributes(out, layout);
    sdm_text_add(out, "    <SimpleSource>\n      <SourceFilename relativeToVRT=\"1\">");
    sdm_text_escape(out, qa);
    sdm_text_add(out,
                 "</SourceFilename>\n      <SourceBand>%d</SourceBand>\n"
                 "      <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"%lld\" ySize=\"%lld\"/>\n"
                 "      <DstRect xOff=\"0\" yOff=\"0\" xSize=\"%lld\" ySize=\"%lld\"/>\n"
                 "    </SimpleSource>\n  </VRTRasterBand>\n</VRTDataset>\n",
                 reason_band(layout), w, h, w, h);
}
