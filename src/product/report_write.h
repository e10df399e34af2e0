/* A report -> the texts of NAME.json and NAME.html. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_REPORT_WRITE_H
#define SDM_REPORT_WRITE_H

#include "core/text.h"
#include "product/report_model.h"

/* Add the JSON object, with a line end.  Numbers read back to the same value; SDM_ERR_MEMORY. */
SdmStatus sdm_report_json(const SdmReport *r, SdmText *out);
/* Add a page for people that needs no other file and no network: pictures and plots are part of it;
 * SDM_ERR_MEMORY. */
SdmStatus sdm_report_html(const SdmReport *r, SdmText *out);

/* A plot as inline SVG.  label: for readers that do not see it. */
void sdm_plot_svg(SdmText *out, const SdmPlot *plot, const char *label);

#endif
