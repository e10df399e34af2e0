/* What only the operating system can tell or do: system_posix.c, system_windows.c.  No other file asks which
 * system it is on. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SYSTEM_H
#define SDM_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* The real path of the program or shared library that holds this code; false: unknown, or too long. */
bool sdm_system_module(char *out, size_t size);

/* What stands between folders in a variable of the environment. */
extern const char sdm_system_list_separator[];

#endif
