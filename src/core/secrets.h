/* Text -> the same without passwords, tokens, keys and signatures, for files that are passed on. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* Replace by *** in place: the values of "NAME=VALUE" and of parameters of addresses whose names tell of a
 * secret (token, password, key, signature ...), "user:password@" of an address, values of the headers
 * Authorization and Cookie.  is_pair: the text is one NAME=VALUE, whose value may hold blanks. */
void sdm_hide_secrets(char *text, bool is_pair);
