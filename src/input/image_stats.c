/* Opened image -> stretch to signed 12 bit and saturation level, from samples all over it. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "input/image.h"

#include <math.h>
#include <string.h>

enum {
    READ_PX_MAX = 1 << 25,
    SAMPLES_MAX = 1 << 19,
    WINDOW_PX = 1 << 20,
    BAND_ROWS = 256,
    BANDS = 8,
    SATURATED_PART = 20
};

typedef struct Samples {
    float *value; /* of usable pixels, `count` of them */
    float *spare; /* room for as many */
    int64_t count, tried;
    float min, max; /* of every usable pixel read, not of the samples alone */
} Samples;

/* ---- which pixels: by their position alone, so that the same pixels give the same, however the file stores
 * them ---- */

/* Bands of `rows` rows from the top; every `every`-th of them is read, and the last, where a file that was
 * cut short ends.  The pixels of a band, counted row by row, give a sample every `step`. */
typedef struct Sampling {
    int64_t width, rows, bands, every, step;
    int64_t most; /* samples at most */
} Sampling;

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static Sampling choose_sampling(int64_t width, int64_t height)
{
    Sampling p = {.width = width, .rows = BAND_ROWS, .every = 1};
    while (p.rows > 1 && p.rows * width * BANDS > READ_PX_MAX)
        p.rows /= 2;
    p.bands = (height + p.rows - 1) / p.rows;
    while (p.bands / p.every * p.rows * width > READ_PX_MAX)
        ++p.every;
    const int64_t read = (p.bands + p.every - 2) / p.every + 1,
                  px = (p.every > 1 ? read * p.rows : height) * width;
    p.step = px / SAMPLES_MAX + 1;
    while (common_divisor(p.step, width) > 1)
        ++p.step; /* not the same columns in every row */
    p.most = px / p.step + read;
    return p;
}

static bool is_read(const Sampling *p, int64_t band)
{
    return band % p->every == 0 || band == p->bands - 1;
}

/* The first sample of row y from column x on. */
static int64_t first_sample(const Sampling *p, int64_t x, int64_t y)
{
    const int64_t band = y / p->rows, at = (y - band * p->rows) * p->width + x + band;
    return x + (p->step - at % p->step) % p->step;
}

/* ---- reading them, in the order in which the file stores them ---- */

/* The outermost pixels of a side of the image. */
typedef struct Side {
    float value;
    bool seen, differ; /* differ: not of one value, or some are no data anyway */
} Side;

/* An image that is measured. */
typedef struct Measure {
    SdmImage *im;
    Sampling p;
    Samples s;
    Side side[4]; /* top, bottom, left, right; of rows that are read */
    float *raw;   /* a window */
    uint8_t *flaws;
} Measure;

static void find_extremes(const float *raw, const uint8_t *flaws, int64_t n, Samples *s)
{
    for (int64_t i = 0; i < n; ++i) {
        s->min = !flaws[i] && raw[i] < s->min ? raw[i] : s->min;
        s->max = !flaws[i] && raw[i] > s->max ? raw[i] : s->max;
    }
}

/* The n pixels of a window, `step` apart, that lie on a side of the image. */
static void look_at_side(const Measure *m, int64_t from, int64_t n, int64_t step, Side *side)
{
    for (int64_t i = from; n-- > 0 && !side->differ; i += step) {
        side->value = side->seen ? side->value : m->raw[i];
        side->seen = true;
        side->differ = m->flaws[i] || m->raw[i] != side->value;
    }
}

static void look_at_sides(Measure *m, SdmImageWindow at)
{
    if (at.y == 0)
        look_at_side(m, 0, at.w, 1, &m->side[0]);
    if (at.y + at.h == m->im->height)
        look_at_side(m, (at.h - 1) * at.w, at.w, 1, &m->side[1]);
    if (at.x == 0)
        look_at_side(m, 0, at.h, at.w, &m->side[2]);
    if (at.x + at.w == m->im->width)
        look_at_side(m, at.w - 1, at.h, at.w, &m->side[3]);
}

/* A window inside a band. */
static SdmStatus sample_window(SdmContext *ctx, Measure *m, SdmImageWindow at)
{
    Samples *const s = &m->s;
    PASS(sdm_image_raw(ctx, m->im, at, m->raw, m->flaws));
    find_extremes(m->raw, m->flaws, at.w * at.h, s);
    look_at_sides(m, at);
    for (int64_t j = 0; j < at.h; ++j)
        for (int64_t x = first_sample(&m->p, at.x, at.y + j) - at.x; x < at.w; x += m->p.step) {
            s->tried++;
            if (!m->flaws[j * at.w + x])
                s->value[s->count++] = m->raw[j * at.w + x];
        }
    return SDM_OK;
}

/* The bands of a window that are to be read. */
static SdmStatus sample_bands(SdmContext *ctx, Measure *m, SdmImageWindow at)
{
    const int64_t end = at.y + at.h;
    while (at.y < end) {
        const int64_t band = at.y / m->p.rows, next = (band + 1) * m->p.rows;
        at.h = (next < end ? next : end) - at.y;
        if (is_read(&m->p, band))
            PASS(sample_window(ctx, m, at));
        at.y += at.h;
    }
    return SDM_OK;
}

/* Whole blocks of the file, as many as fit WINDOW_PX: first across, then down.  One that is larger is read by
 * rows. */
static SdmImageWindow choose_window(const SdmImage *im)
{
    int bw = (int)im->width, bh = 1;
    if (im->band)
        GDALGetBlockSize(im->band, &bw, &bh);
    const int64_t across = WINDOW_PX / ((int64_t)bw * bh);
    SdmImageWindow at = {.w = across > 1 ? across * bw : bw, .h = bh};
    at.w = at.w < im->width ? at.w : im->width;
    at.w = at.w < WINDOW_PX ? at.w : WINDOW_PX;
    const int64_t down = WINDOW_PX / (at.w * bh);
    at.h = at.w == im->width && down > 1 ? down * bh : bh;
    return at;
}

/* Blocks in the order of the file: each is decoded once. */
static SdmStatus sample_image(SdmContext *ctx, Measure *m, SdmImageWindow size)
{
    const int64_t width = m->im->width, height = m->im->height;
    const int64_t rows = size.h < WINDOW_PX / size.w ? size.h : WINDOW_PX / size.w;
    SDM_OWNED float *raw = NULL;
    SDM_OWNED uint8_t *flaws = NULL;
    const size_t n = (size_t)(size.w * rows);
    PASS(SDM_ALLOC(ctx, "image window", SDM_ARRAY(raw, n), SDM_ARRAY(flaws, n)));
    m->raw = raw;
    m->flaws = flaws;
    for (int64_t top = 0; top < height; top += size.h)
        for (int64_t x = 0; x < width; x += size.w) {
            const int64_t end = top + size.h < height ? top + size.h : height;
            for (int64_t y = top; y < end; y += rows)
                PASS(sample_bands(ctx, m,
                                  (SdmImageWindow){.x = x,
                                                   .y = y,
                                                   .w = size.w < width - x ? size.w : width - x,
                                                   .h = rows < end - y ? rows : end - y}));
        }
    return SDM_OK;
}

/* The samples without those at the highest value, where these are more than the percentile leaves out and lie
 * far above all others: saturated pixels. */
static int64_t count_unsaturated(const Samples *s)
{
    int64_t n = s->count;
    while (n > 0 && s->value[n - 1] == s->max)
        n--;
    if (n == 0 || s->count - n <= s->count / 1000)
        return s->count;
    const double low = s->value[n / 1000], high = s->value[n - 1 - n / 1000];
    return (double)s->max > high + 1.5 * (high - low) ? n : s->count;
}

/* A stretch from percentiles with head-room, so that the darkest and brightest pixels keep their texture. */
static void set_stretch(SdmImage *im, const Samples *s)
{
    const int64_t n = count_unsaturated(s);
    const double low = s->value[n / 1000], high = s->value[n - 1 - n / 1000];
    const double min = s->min, max = s->max, range = fmax(high - low, 1e-3 * (max - min));
    const double from = fmax(min, low - 0.5 * range), to = fmin(max, high + 1.5 * range);
    im->q.scale = 2 * SDM_Q_MAX / (to - from);
    im->q.offset = -SDM_Q_MAX - from * im->q.scale;
}

/* A clipped sensor leaves many pixels at the highest value; noise does not. */
static void set_saturation(SdmImage *im, const Samples *s)
{
    const float max = s->max;
    int64_t saturated = 0;
    while (saturated < s->count && s->value[s->count - 1 - saturated] == max)
        ++saturated;
    if (saturated >= 32 && saturated * 5000 >= s->count)
        im->q.saturated_at = max;
    else if (GDALGetRasterDataType(im->band) == GDT_UInt16)
        im->q.saturated_at = UINT16_MAX;
}

static void set_shares(SdmImage *im, const Samples *s)
{
    int64_t saturated = 0;
    for (int64_t i = 0; i < s->count; ++i)
        saturated += s->value[i] >= im->q.saturated_at;
    im->unusable = s->tried ? 1.0 - (double)s->count / (double)s->tried : 0.0;
    im->saturated = s->tried ? (double)saturated / (double)s->tried : 0.0;
}

enum { FILL_LEAST = 32, FILL_SHARE = 2000 /* one in so many samples */ };

/* Number of the sorted samples [from, to) that equal the one at their upper or lower end. */
static int64_t run_of(const float *sorted, int64_t from, int64_t to, bool top)
{
    const float v = sorted[top ? to - 1 : from];
    int64_t n = 0;
    while (n < to - from && sorted[top ? to - 1 - n : from + n] == v)
        ++n;
    return n;
}

int sdm_fill_find(const float *sorted, int64_t *from, int64_t *to, bool top_alone, float fill[2])
{
    const int64_t count = *to - *from;
    int found = 0;
    for (int top = top_alone; top < 2; ++top) {
        const int64_t n = *from < *to ? run_of(sorted, *from, *to, top) : 0;
        const int64_t a = top ? *from : *from + n, b = top ? *to - n : *to; /* the others */
        if (n < FILL_LEAST || n * FILL_SHARE < count || a >= b)
            continue;
        const float v = sorted[top ? *to - 1 : *from];
        const double spread = (double)sorted[b - 1] - (double)sorted[a];
        const double away = top ? (double)v - (double)sorted[b - 1] : (double)sorted[a] - (double)v;
        if (!(spread > 0.0) || !(away > spread || (!top && v == 0.0f)))
            continue;
        fill[found++] = v;
        *from = a;
        *to = b;
    }
    return found;
}

/* Undeclared fill, dropped from the sorted samples. */
static void drop_fill(SdmImage *im, Samples *s)
{
    int64_t from = 0, to = s->count;
    const bool top_alone = im->own_mask || im->zero_is_fill;
    if (!sdm_fill_find(s->value, &from, &to, top_alone, im->q.fill))
        return;
    if (top_alone && (s->count - to) * SATURATED_PART < s->count) { /* spots, not a collar: saturated */
        im->q.fill[0] = NAN;
        return;
    }
    memmove(s->value, s->value + from, (size_t)(to - from) * sizeof *s->value);
    s->count = to - from;
    s->min = s->value[0];
    s->max = s->value[s->count - 1];
}

/* A frame of one value around the image, which the file does not declare: a whole side has it; of saturated
 * pixels, which may be clouds, three sides. */
static void drop_frame(SdmImage *im, const Side side[4], Samples *s)
{
    for (int k = 0; k < 4 && isnan(im->q.fill[1]); k++) {
        const float frame = side[k].value;
        int sides = 0;
        int64_t n = 0;
        for (int j = 0; j < 4; j++)
            sides += side[j].seen && !side[j].differ && side[j].value == frame;
        for (int64_t i = 0; i < s->count && sides > 0; i++)
            n += s->value[i] == frame;
        if (sides < (frame >= im->q.saturated_at ? 3 : 1) || n * FILL_SHARE < s->count || n == s->count)
            continue;
        im->q.fill[isnan(im->q.fill[0]) ? 0 : 1] = frame;
        n = 0;
        s->min = INFINITY;
        s->max = -INFINITY;
        for (int64_t i = 0; i < s->count; i++)
            if (s->value[i] != frame) {
                s->value[n++] = s->value[i];
                s->min = fminf(s->min, s->value[n - 1]);
                s->max = fmaxf(s->max, s->value[n - 1]);
            }
        s->count = n;
    }
}

static void warn_fill(SdmContext *ctx, const SdmImage *im, int64_t before, const Samples *s)
{
    char value[24];
    for (int k = 0; k < 2 && !isnan(im->q.fill[k]); ++k) {
        sdm_fill_text(im->q.fill[k], value);
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s: %s is taken for no data, though the file does not declare it (%.1f %% of the pixels "
                "looked at are fill, the others lie in %.6g..%.6g); declare it with gdal_edit.py -a_nodata "
                "%s, or mask unusable pixels with --mask-left and --mask-right",
                im->name, value, 100.0 * (double)(before - s->count) / (double)before, (double)s->min,
                (double)s->max, value);
    }
}

/* Stretch, saturation and undeclared fill from the samples. */
static SdmStatus set_radiometry(SdmContext *ctx, SdmImage *im, const Side side[4], Samples *s)
{
    const int64_t before = s->count;
    if (!(s->min <= s->max))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s: has no usable pixel (all of %lld looked at are 0, nodata, masked or NaN); give "
                        "another image or mask",
                        im->name, (long long)s->tried);
    if (!(s->max > s->min))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s: has no usable pixel (all of %lld looked at have the value %g); give another "
                        "image",
                        im->name, (long long)s->tried, (double)s->min);
    if (!im->bytes) {
        if (!s->count) /* a few usable pixels, none of them a sample */
            s->value[s->count++] = s->min;
        sdm_sort_f32(s->value, s->count, s->spare);
        drop_fill(im, s);
    }
    drop_frame(im, side, s);
    warn_fill(ctx, im, before, s);
    if (!im->bytes) {
        set_stretch(im, s);
        set_saturation(im, s);
    }
    set_shares(im, s);
    return SDM_OK;
}

SdmStatus sdm_image_measure(SdmContext *ctx, SdmImage *im)
{
    const Sampling p = choose_sampling(im->width, im->height);
    const size_t n = (size_t)p.most;
    SDM_OWNED float *value = NULL, *spare = NULL;
    PASS(SDM_ALLOC_RAW(ctx, "image samples", SDM_ARRAY(value, n), SDM_ARRAY(spare, n)));
    Measure m = {.im = im, .p = p, .s = {.value = value, .spare = spare, .min = INFINITY, .max = -INFINITY}};
    PASS(sample_image(ctx, &m, choose_window(im)));
    return set_radiometry(ctx, im, m.side, &m.s);
}
