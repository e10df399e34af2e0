/* Areas of one grey value in a block of matches -> one place for each, where the views show it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/edge_filters.h"

/* A flat roof without texture has no census words that tell its place, but its outline does.  For each
 * connected area whose windows of 5 x 5 pixels have little texture, which is noise, the height, or the height
 * above the base, is looked for at which most of its pixels have one grey value in the right view, too
 * (glass: another one than in the left view), and the right view has an edge where the left one has, at the
 * ends of the area's rows.  Where there is just one, all its pixels get it, for their matches are of noise:
 * they become SDM_QA_VALID | SDM_QA_FILLED, with 250 x the share that fits as score.  The place's part of a
 * pixel comes from the edges of both views, halfway between the grey values of their sides: the mean of the
 * most ends that agree within 0.6 px.  Source: after the intensity consistent selection of Hirschmueller
 * 2008, with constant heights and outlines. */
SdmStatus sdm_plain_areas(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
