/* Plots of the HTML report as inline SVG; for src/dem only. */
#ifndef SDM_PLOT_H
#define SDM_PLOT_H

#include "product/product_inside.h"

void sdm_plot_histogram(SdmText *t, const SdmSurvey *s);
/* Residuals of the matches along the rows of the right image, before and after, and the jitter profile. */
void sdm_plot_pointing(SdmText *t, const SdmPointing *pointing, const SdmPointRound *round);

#endif
