/* Addresses (https://..., s3://...) <-> names of GDAL's virtual file systems that read them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

/* Name = its beginning for GDAL (returned; "": not an address) and the rest, a part of it. */
const char *sdm_address_split(const char *name, const char **rest);

/* GDAL's names in a sentence -> the addresses, in place. */
void sdm_address_show(char *text);
