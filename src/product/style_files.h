/* Statistics of a DEM and the layout of its QA raster -> files that make a GIS show them with the report's
 * colours and words: layer styles of QGIS, and the band "reason" as a raster with colour table, categories
 * and attribute table. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text.h"
#include "product/dem_stats.h"
#include "product/qa_raster.h"

/* Each adds a whole file; failures stay in out->st.  A layer style of QGIS (QML) for a raster: */
void sdm_style_dem(SdmText *out, double low_m, double high_m); /* the ramp of the relief; NaN: no heights */
void sdm_style_qa(SdmText *out, const SdmQaLayout *layout);    /* the band "reason" */
void sdm_style_change(SdmText *out, double limit, const char *unit); /* a map of change, -limit..limit */

/* A virtual raster (VRT) of the band "reason".  qa: name of the QA raster's file, in the same folder. */
void sdm_reason_raster(SdmText *out, const SdmGrid *grid, const SdmQaLayout *layout, const char *qa);
