/* Addresses and GDAL's names of them, by a table of their beginnings. */
// SPDX-License-Identifier: Apache-2.0
#include "core/address.h"

#include <string.h>
#include <strings.h>

static const char *const BEGINNING[][2] = {{"https://", "/vsicurl/https://"},
                                           {"http://", "/vsicurl/http://"},
                                           {"ftp://", "/vsicurl/ftp://"},
                                           {"s3://", "/vsis3/"},
                                           {"gs://", "/vsigs/"},
                                           {"az://", "/vsiaz/"}};
enum { COUNT = sizeof BEGINNING / sizeof *BEGINNING };

const char *sdm_address_split(const char *name, const char **rest)
{
    *rest = name;
    for (int i = 0; i < COUNT; i++) {
        const size_t n = strlen(BEGINNING[i][0]);
        if (strncasecmp(name, BEGINNING[i][0], n) == 0) {
            *rest = name + n;
            return BEGINNING[i][1];
        }
    }
    return "";
}

void sdm_address_show(char *text)
{
    for (int i = 0; i < COUNT; i++) {
        const size_t to = strlen(BEGINNING[i][0]), from = strlen(BEGINNING[i][1]);
        for (char *at = strstr(text, BEGINNING[i][1]); at; at = strstr(at, BEGINNING[i][1])) {
            memcpy(at, BEGINNING[i][0], to);
            memmove(at + to, at + from, strlen(at + from) + 1);
        }
    }
}
