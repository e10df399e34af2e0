/* Runs a fuzz target without libFuzzer: every seed as it is, then seeds with deterministic mutations.
 *   fuzz_NAME [-runs=N] [-max_total_time=SECONDS] SEED_FILE_OR_FOLDER...
 * The input being run lies in fuzz_NAME.input, so that it is at hand after a crash; give it as the only seed
 * with -runs=0 to run it again. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 1 << 16, MOST_SEEDS = 256, NAME_SIZE = 512 };

typedef struct Seed {
    uint8_t *bytes;
    size_t size;
} Seed;

typedef struct Driver {
    Seed seeds[MOST_SEEDS];
    int count;
    uint64_t random;
    int shown; /* the file with the input being run */
} Driver;

static uint32_t next_random(Driver *d, uint32_t below)
{
    d->random = d->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (uint32_t)(d->random >> 33) % below : 0;
}

static void add_file(Driver *d, const char *name)
{
    FILE *const file = fopen(name, "rb");
    if (!file || d->count == MOST_SEEDS) {
        fprintf(stderr, "%s: cannot be read as a seed\n", name);
        exit(2);
    }
    Seed *const seed = &d->seeds[d->count++];
    seed->bytes = calloc(1, LONGEST);
    if (!seed->bytes)
        exit(2);
    seed->size = fread(seed->bytes, 1, LONGEST, file);
    fclose(file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_seeds(Driver *d, const char *name)
{
    struct stat info;
    struct dirent **entries = NULL;
    if (stat(name, &info) != 0 || !S_ISDIR(info.st_mode)) {
        add_file(d, name);
        return;
    }
    const int n = scandir(name, &entries, NULL, by_name); /* in a fixed order */
    for (int i = 0; i < n; i++) {
        char path[NAME_SIZE];
        if (entries[i]->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", name, entries[i]->d_name) < NAME_SIZE)
            add_file(d, path);
        free(entries[i]);
    }
    free(entries);
}

static void run(const Driver *d, const uint8_t *bytes, size_t size)
{
    uint8_t *const exact = malloc(size ? size : 1); /* so that a sanitizer sees the end */
    if (!exact || pwrite(d->shown, bytes, size, 0) != (ssize_t)size || ftruncate(d->shown, (off_t)size) != 0)
        exit(2);
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* Texts that readers tend to trip over. */
static const char *const awkward[] = {
    "nan", "-inf", "1e999", "-1",       "0",          "99999999999999999999", "=",      "\n",
    " ",   "--",   "%s%n",  "\xff\xfe", "0x7fffffff", "2147483648",           "1e-320", ","};

/* Replace [at, at + cut) of the input by `text`; what does not fit is dropped. */
static size_t splice(uint8_t *bytes, size_t size, size_t at, size_t cut, const void *text, size_t n)
{
    if (at > size)
        at = size;
    if (cut > size - at)
        cut = size - at;
    if (n > LONGEST - at)
        n = LONGEST - at;
    size_t tail = size - at - cut;
    if (tail > LONGEST - at - n)
        tail = LONGEST - at - n;
    memmove(bytes + at + n, bytes + at + cut, tail);
    memcpy(bytes + at, text, n);
    return at + n + tail;
}

static size_t mutate(Driver *d, uint8_t *bytes, size_t size)
{
    const size_t at = next_random(d, (uint32_t)size + 1);
    const size_t n = 1 + next_random(d, next_random(d, 4) ? 8 : 512);
    uint8_t piece[512] = {0};
    switch (next_random(d, 6)) {
    case 0: /* flip a bit */
        if (at < size)
            bytes[at] = (uint8_t)(bytes[at] ^ (1u << next_random(d, 8)));
        return size;
    case 1: /* any byte */
        piece[0] = (uint8_t)next_random(d, 256);
        return splice(bytes, size, at, next_random(d, 2), piece, 1);
    case 2: /* drop a piece */
        return splice(bytes, size, at, n, piece, 0);
    case 3: { /* repeat a piece */
        const size_t have = n < size - at ? n : size - at;
        memcpy(piece, bytes + at, have);
        return splice(bytes, size, next_random(d, (uint32_t)size + 1), 0, piece, have);
    }
    case 4: /* cut off */
        return next_random(d, 8) ? size : at;
    default: {
        const char *const text = awkward[next_random(d, sizeof awkward / sizeof *awkward)];
        return splice(bytes, size, at, next_random(d, 12), text, strlen(text));
    }
    }
}

int main(int argc, char **argv)
{
    static Driver d = {.random = 20260101};
    static uint8_t bytes[LONGEST];
    long runs = 10000, seconds = 0, done = 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-runs=", 6) == 0)
            runs = strtol(argv[i] + 6, NULL, 10);
        else if (strncmp(argv[i], "-max_total_time=", 16) == 0)
            seconds = strtol(argv[i] + 16, NULL, 10);
        else
            add_seeds(&d, argv[i]);
    }
    if (d.count == 0) {
        fprintf(stderr, "usage: %s [-runs=N] [-max_total_time=SECONDS] SEED...\n", argv[0]);
        return 2;
    }
    char path[NAME_SIZE];
    snprintf(path, sizeof path, "%s.input", argv[0]);
    d.shown = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    const time_t start = time(NULL);
    for (int i = 0; i < d.count; i++)
        run(&d, d.seeds[i].bytes, d.seeds[i].size);
    for (; done < runs && (seconds == 0 || time(NULL) - start < seconds); done++) {
        const Seed *const seed = &d.seeds[next_random(&d, (uint32_t)d.count)];
        size_t size = seed->size;
        memcpy(bytes, seed->bytes, size);
        for (uint32_t edits = 1 + next_random(&d, 6); edits > 0; edits--)
            size = mutate(&d, bytes, size);
        run(&d, bytes, size);
    }
    printf("%d seeds, %ld mutated inputs, no crash\n", d.count, done);
    for (int i = 0; i < d.count; i++)
        free(d.seeds[i].bytes);
    close(d.shown);
    return 0;
}
