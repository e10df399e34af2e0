/* Raw rasters of a product -> its point cloud: LAS 1.4, a point for each height, as a file .las or .laz. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/product.h"

/* Can a file of this format ("las", "laz") be written?  SDM_ERR_UNSUPPORTED where LASzip is not there. */
SdmStatus sdm_point_cloud_check(SdmContext *ctx, const char *format);
/* Write the point clouds that the product has, rows from the north, from rasters that are still open.  A .laz
 * is first a .las.  SDM_ERR_IO, _UNSUPPORTED. */
SdmStatus sdm_point_cloud_write(SdmContext *ctx, const SdmProduct *p);
