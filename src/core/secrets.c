/* Text -> the same without passwords, tokens, keys and signatures, for files that are passed on. */
// SPDX-License-Identifier: Apache-2.0
#include "core/secrets.h"

#include <string.h>
#include <strings.h>

static const char NAME[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

static bool holds(const char *text, size_t n, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (strncasecmp(text + i, word, length) == 0)
            return true;
    return false;
}

/* Is it the name of a header, whose value may hold blanks? */
static bool is_header(const char *name, size_t n)
{
    return holds(name, n, "authorization") || holds(name, n, "cookie") || holds(name, n, "headers");
}

/* "key" as a word of its own, or behind "access" or "api". */
static bool holds_key(const char *name, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++)
        if (strncasecmp(name + i, "key", 3) == 0 && (i + 3 == n || strchr("_-.", name[i + 3])) &&
            (i == 0 || strchr("_-.", name[i - 1]) || holds(name, i, "access") || holds(name, i, "api")))
            return true;
    return false;
}

static bool is_secret(const char *name, size_t n)
{
    static const char *const word[] = {"token",     "secret",     "passw", "userpwd",           "bearer",
                                       "signature", "credential", "pwd",   "connection_string", "jwt"};
    if (n >= 5 && strncasecmp(name + n - 5, "_file", 5) == 0) /* the value is a file's name */
        return false;
    bool found = is_header(name, n) || holds_key(name, n) ||
                 (n >= 3 && n <= 5 && strncasecmp(name + n - 3, "sig", 3) == 0);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        found = found || holds(name, n, word[i]);
    return found;
}

/* Length of "user:password" before the @ of an address. */
static size_t user_length(const char *text)
{
    size_t n = strcspn(text, "/?# \t\n'\"");
    while (n && text[n] != '@')
        n--;
    return n;
}

/* The next piece of a text: so many characters to be shown, then so many to be hidden. */
static void next_piece(const char *text, bool is_pair, size_t *shown, size_t *hidden)
{
    const size_t n = strspn(text, NAME);
    const char *const end = text + n;
    *shown = n ? n : 1;
    *hidden = 0;
    if (strncmp(end, "://", 3) == 0) {
        *shown = n + 3;
        *hidden = user_length(end + 3);
        return;
    }
    const size_t user = strcspn(end, "@/\\ \t\n'\"");
    if (n && *end == ':' && end[user] == '@') { /* user:password@host */
        *shown = n + 1;
        *hidden = user - 1;
        return;
    }
    const size_t sign = *end == '=' ? 1 : strncasecmp(end, "%3d", 3) == 0 ? 3 : 0;
    const bool header = is_header(text, n);
    if (!(sign || (header && *end == ':')) || !is_secret(text, n))
        return;
    *shown = n + (sign ? sign : 1);
    *shown += strspn(text + *shown, " ");
    *hidden =
        is_pair && sign ? strlen(text + *shown) : strcspn(text + *shown, header ? "\n'\"" : "&; \t\n'\"<>");
}

void sdm_hide_secrets(char *text, bool is_pair)
{
    const char *from = text;
    char *to = text;
    while (*from) {
        size_t shown, hidden;
        next_piece(from, is_pair && from == text, &shown, &hidden);
        memmove(to, from, shown);
        memset(to + shown, '*', hidden < 3 ? hidden : 3);
        to += shown + (hidden < 3 ? hidden : 3);
        from += shown + hidden;
    }
    *to = '\0';
}
