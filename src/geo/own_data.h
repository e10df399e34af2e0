/* Data that a release carries beside its program or library, ../share/proj and ../share/gdal. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

/* Folders for PROJ to search: our own, then those that the environment names; NULL: we carry none, PROJ's
 * usual ones serve.  The caller frees the list by CSLDestroy(). */
char **sdm_own_proj_folders(void);

/* GDALAllRegister(), with our own data where we carry them: those that the environment names may be of
 * another GDAL or PROJ (conda, OSGeo4W). */
void sdm_gdal_register(void);
