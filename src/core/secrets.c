/* Text -> the same without passwords, tokens, keys and signatures, for files that are passed on. */
// SPDX-License-Identifier: Apache-2.0
#include "core/secrets.h"

#include <string.h>
#include <strings.h>

static const char NAME[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

/* Names of headers, whose values may hold blanks. */
static const char HEADERS[] = "authorization cookie headers";

/* Does a text of n characters hold one of these words, which blanks separate? */
static bool holds(const char *text, size_t n, const char *words)
{
    bool found = false;
    for (size_t k; *words; words += k + (words[k] == ' ')) {
        k = strcspn(words, " ");
        for (size_t i = 0; i + k <= n; i++)
            found = found || strncasecmp(text + i, words, k) == 0;
    }
    return found;
}

/* "key" as a word of its own, or behind "access" or "api". */
static bool holds_key(const char *name, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++)
        if (strncasecmp(name + i, "key", 3) == 0 && (i + 3 == n || strchr("_-.", name[i + 3])) &&
            (i == 0 || strchr("_-.", name[i - 1]) || holds(name, i, "access api")))
            return true;
    return false;
}

static bool is_secret(const char *name, size_t n)
{
    if (n >= 5 && strncasecmp(name + n - 5, "_file", 5) == 0) /* the value is a file's name */
        return false;
    return holds(name, n, HEADERS) || holds_key(name, n) ||
           (n >= 3 && n <= 5 && strncasecmp(name + n - 3, "sig", 3) == 0) ||
           holds(name, n, "token secret passw userpwd bearer signature credential pwd connection_string jwt");
}

/* Length of "user:password" before the @ of an address. */
static size_t user_length(const char *text)
{
    size_t n = strcspn(text, "/?# \t\n'\"");
    while (n && text[n] != '@')
        n--;
    return n;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* The next piece of a text: so many characters to be shown, then so many to be hidden.  before: the character
 * before it. */
static void next_piece(const char *text, char before, bool is_pair, size_t *shown, size_t *hidden)
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
    /* between a name and its value: =, %3D, the colon of a header, or ": of a quoted name */
    const bool header = holds(text, n, HEADERS), quoted = n && is_quote(before) && *end == before;
    const size_t blanks = quoted ? 1 + strspn(end + 1, " ") : 0,
                 sign = quoted                                   ? (end[blanks] == ':' ? blanks + 1 : 0)
                        : *end == '=' || (header && *end == ':') ? 1
                        : strncasecmp(end, "%3d", 3) == 0        ? 3
                                                                 : 0;
    if (!sign || !is_secret(text, n))
        return;
    *shown = n + sign;
    *shown += strspn(text + *shown, " ");
    const char *value = text + *shown;
    const char quote = is_quote(*value) ? *value : quoted ? '\0' : before;
    if (is_pair && *end != ':') {
        *hidden = strlen(value);
    } else if (is_quote(quote)) { /* up to the quote that no backslash stands before */
        value += is_quote(*value);
        *shown = (size_t)(value - text);
        while (value[*hidden] && value[*hidden] != quote)
            *hidden += value[*hidden] == '\\' && value[*hidden + 1] ? 2 : 1;
    } else {
        *hidden = strcspn(value, header ? "\n'\"" : "&; \t\n'\"<>");
    }
}

void sdm_hide_secrets(char *text, bool is_pair)
{
    const char *from = text;
    char *to = text;
    while (*from) {
        size_t shown, hidden;
        next_piece(from, from > text ? from[-1] : '\0', is_pair && from == text, &shown, &hidden);
        memmove(to, from, shown);
        memset(to + shown, '*', hidden < 3 ? hidden : 3);
        to += shown + (hidden < 3 ? hidden : 3);
        from += shown + hidden;
    }
    *to = '\0';
}
