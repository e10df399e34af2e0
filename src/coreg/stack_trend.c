/* Samples of the layers -> the rate of each place, the stable ground among them, the plane that lays each
 * layer on it, and the error that the heights of a layer share. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_trend.h"
#include "core/qa_reasons.h"
#include "core/stats.h"
#include "coreg/coreg.h"
#include "geo/grid.h"
#include "product/report.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 3, NODE = 6 /* samples */, MIN_RATES = 9 /* of a node */, MIN_PLANE = 500 /* samples */ };
static const double MOVING = 3.0;       /* NMADs of the nodes' rates, or errors of the sample's own */
static const double LEAST_SHARED = 0.3; /* of a layer's error: so much its heights share at least */

/* ---- lines ---- */

/* Fit the lines of rows x cols places, on all threads.  gather: fill the series, which has room for `layers`
 * dates, from a place of a row on; put: take its lines, of which those inside the row count. */
typedef struct Work {
    int layers;
    int64_t cols, rows;
    void (*gather)(void *user, int64_t row, int64_t col, SdmTrendSeries *series);
    void (*put)(void *user, int64_t row, int64_t col, const SdmTrend *line);
    void *user;
} Work;

static SdmStatus series_open(SdmContext *ctx, int layers, SdmTrendSeries *out)
{
    SdmTrendRow **const part[] = {&out->height_m, &out->weight, &out->spare, &out->second_m};
    PASS(sdm_alloc(ctx, &out->year, (size_t)layers + 1, sizeof *out->year, "heights by date"));
    for (int i = 0; i < 4; i++)
        PASS(sdm_alloc(ctx, part[i], (size_t)layers + 1, sizeof **part[i], "heights by date"));
    return SDM_OK;
}

static void series_close(SdmTrendSeries *series)
{
    SDM_FREE(&series->year, &series->height_m, &series->weight, &series->spare, &series->second_m);
}

static SdmStatus fit_rows(const SdmStack *s, const Work *work)
{
    SdmStatus why = SDM_OK;
#pragma omp parallel num_threads(s->threads)
    {
        SDM_CLOSED_BY(series_close) SdmTrendSeries series = {0};
        SdmTrend line;
        const SdmStatus one = series_open(s->ctx, work->layers, &series);
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
#pragma omp for schedule(dynamic, 4)
        for (int64_t row = 0; row < work->rows; row++)
            for (int64_t col = 0; col < work->cols && !one; col += SDM_TREND_CELLS) {
                work->gather(work->user, row, col, &series);
                sdm_trend_fit(&series, &line);
                work->put(work->user, row, col, &line);
            }
    }
    return why ? why : sdm_check_stop(s->ctx);
}

/* ---- rates of the samples ---- */

static SdmStatus trend_open(SdmStack *s)
{
    SdmStackTrend *t = NULL;
    double first = INFINITY, last = -INFINITY;
    PASS(sdm_alloc(s->ctx, &s->trend, 1, sizeof *s->trend, "trend"));
    t = s->trend;
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        t->cols = l->sample_col0 + l->sample_cols > t->cols ? l->sample_col0 + l->sample_cols : t->cols;
        t->rows = l->sample_row0 + l->sample_rows > t->rows ? l->sample_row0 + l->sample_rows : t->rows;
        first = fmin(first, l->year);
        last = fmax(last, l->year);
        l->scene_m = l->residual_nmad_m > 0.0 ? l->residual_nmad_m : 1.0;
    }
    t->mid_year = 0.5 * (first + last);
    PASS(sdm_alloc(s->ctx, &t->line, (size_t)(t->cols * t->rows), sizeof *t->line, "rates"));
    return sdm_alloc(s->ctx, &t->moving, (size_t)(t->cols * t->rows), 1, "rates");
}

void sdm_stack_trend_close(SdmStack *s)
{
    SdmStackTrend *const t = s->trend;
    if (!t)
        return;
    SDM_FREE(&t->line, &t->moving);
    sdm_mean_map_close(&t->mean);
    sdm_png_close(&t->map);
    sdm_free(&s->trend);
}

static void gather_samples(void *user, int64_t row, int64_t col, SdmTrendSeries *series)
{
    const SdmStack *const s = user;
    series->n = 0;
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        if (row < l->sample_row0 || row >= l->sample_row0 + l->sample_rows)
            continue;
        const int n = series->n++;
        series->year[n] = (float)(l->year - s->trend->mid_year);
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            series->height_m[n][c] = sdm_layer_level(s, l, col + c, row);
            series->weight[n][c] = (float)(1.0 / l->scene_m);
        }
    }
}

static void put_samples(void *user, int64_t row, int64_t col, const SdmTrend *line)
{
    SdmStackTrend *const t = ((const SdmStack *)user)->trend;
    for (int c = 0; c < SDM_TREND_CELLS && col + c < t->cols; c++)
        t->line[row * t->cols + col + c] =
            (SdmTrendLine){line->rate[c], line->error[c], line->level_m[c], line->factor[c], line->count[c]};
}

static SdmStatus find_rates(SdmStack *s)
{
    return fit_rows(s, &(Work){s->count, s->trend->cols, s->trend->rows, gather_samples, put_samples, s});
}

/* ---- stable ground ---- */

/* Median rate of the samples of a node; NaN for few. */
static float node_rate(const SdmStackTrend *t, int64_t col, int64_t row)
{
    float value[NODE * NODE];
    int64_t n = 0;
    for (int64_t r = row; r < row + NODE && r < t->rows; r++)
        for (int64_t c = col; c < col + NODE && c < t->cols; c++)
            if (!isnan(t->line[r * t->cols + c].rate))
                value[n++] = t->line[r * t->cols + c].rate;
    return n < MIN_RATES ? NAN : (float)sdm_median_f32(value, n);
}

/* Ground moves where the rates of a node differ from those of most nodes, or a sample's from theirs. */
static SdmStatus find_moving(SdmStack *s)
{
    SdmStackTrend *const t = s->trend;
    const int64_t across = (t->cols + NODE - 1) / NODE, down = (t->rows + NODE - 1) / NODE;
    SDM_OWNED float *rate = NULL, *spare = NULL;
    double middle = 0.0, nmad = INFINITY;
    int64_t n = 0, stable = 0, known = 0;
    PASS(sdm_alloc(s->ctx, &rate, (size_t)(across * down), sizeof *rate, "rates"));
    PASS(sdm_alloc(s->ctx, &spare, (size_t)(across * down), sizeof *spare, "rates"));
    for (int64_t k = 0; k < across * down; k++) {
        rate[k] = node_rate(t, k % across * NODE, k / across * NODE);
        if (!isnan(rate[k]))
            spare[n++] = rate[k];
    }
    if (n > 0)
        nmad = sdm_nmad_f32(spare, n, &middle);
    for (int64_t i = 0; i < t->cols * t->rows; i++) {
        const double of_node = (double)rate[i / t->cols / NODE * across + i % t->cols / NODE];
        const double own = (double)t->line[i].rate - middle;
        t->moving[i] = fabs(of_node - middle) > MOVING * fmax(nmad, SDM_TREND_STEP) ||
                       fabs(own) > MOVING * (double)t->line[i].error;
        known += !isnan(t->line[i].rate);
        stable += !isnan(t->line[i].rate) && !t->moving[i];
    }
    t->stable = known ? (double)stable / (double)known : 0.0;
    return SDM_OK;
}

/* ---- the plane of a layer ---- */

/* Standard error of the line at the date of each layer: so much smaller than the errors of a few layers are
 * their residuals. */
static void find_line_errors(SdmStack *s)
{
    double w = 0.0, wt = 0.0, wtt = 0.0;
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        const double year = l->year - s->trend->mid_year, weight = 1.0 / (l->scene_m * l->scene_m);
        w += weight;
        wt += weight * year;
        wtt += weight * year * year;
    }
    for (int i = 0; i < s->count; i++) {
        const double year = s->layer[i].year - s->trend->mid_year;
        s->layer[i].line_m = sqrt(fmax((wtt - 2.0 * year * wt + year * year * w) / (w * wtt - wt * wt), 0.0));
    }
}

/* Residuals of a layer on stable ground. */
static void gather_stable(const SdmStack *s, const SdmLayer *l, SdmTiltSamples *out)
{
    const double east_m = s->dx_m * (double)s->sample_step, north_m = -s->dy_m * (double)s->sample_step;
    for (int64_t i = 0; i < l->sample_cols * l->sample_rows; i++) {
        const int64_t col = l->sample_col0 + i % l->sample_cols, row = l->sample_row0 + i / l->sample_cols;
        if (isnan(l->residual[i]) || l->unstable[i] || s->trend->moving[row * s->trend->cols + col])
            continue;
        out->east_m[out->count] = (float)((double)col * east_m);
        out->north_m[out->count] = (float)((double)row * north_m);
        out->error_m[out->count++] = l->residual[i];
    }
}

/* Take a plane out of a layer and its samples, whose places are those of cells sample_step / 2 before. */
static void take_out(const SdmStack *s, const SdmTilt *tilt, SdmLayer *l, SdmTiltSamples *samples)
{
    double slope[2];
    const double half = (double)(s->sample_step / 2);
    sdm_tilt_slope(tilt, slope);
    for (int64_t i = 0; i < samples->count; i++)
        samples->error_m[i] -= (float)(slope[0] * ((double)samples->east_m[i] - tilt->centre_m[1]) +
                                       slope[1] * ((double)samples->north_m[i] - tilt->centre_m[0]));
    l->tilt_m[0] -=
        slope[0] * (tilt->centre_m[1] + half * s->dx_m) + slope[1] * (tilt->centre_m[0] - half * s->dy_m);
    l->tilt_m[1] += slope[0] * s->dx_m;
    l->tilt_m[2] -= slope[1] * s->dy_m;
}

/* Bring a layer to the others on stable ground: in height, and by its tilt where --bias asks for it; its
 * error is the NMAD that is left, and that of the line. */
static SdmStatus lay(SdmStack *s, SdmLayer *l)
{
    SDM_OWNED float *room = NULL;
    SdmTilt tilt = {.fitted = false};
    const size_t most = (size_t)(l->sample_cols * l->sample_rows) + 1;
    const bool move = strcmp(s->opt->align, "none") != 0;
    double median_m;
    PASS(sdm_alloc(s->ctx, &room, most, 3 * sizeof *room, "samples"));
    SdmTiltSamples samples = {0, room, room + most, room + 2 * most};
    gather_stable(s, l, &samples);
    if (samples.count < SDM_STACK_MIN_SAMPLES)
        return SDM_OK;
    if (move && samples.count >= MIN_PLANE && strcmp(s->opt->bias, "auto") == 0)
        PASS(sdm_tilt_fit(s->ctx, &samples, &tilt));
    take_out(s, &tilt, l, &samples);
    l->scene_m = fmax(hypot(sdm_nmad_f32(samples.error_m, samples.count, &median_m), l->line_m), 0.01);
    l->shift_m[2] += move ? median_m : 0.0;
    return SDM_OK;
}

/* ---- errors ---- */

/* The part of the residuals that the predicted errors do not explain (by their median) is a layer's common
 * error. */
static SdmStatus share_error(SdmStack *s, SdmLayer *l)
{
    double median_m;
    PASS(sdm_layer_median_error(s, l, &median_m));
    const double all = l->scene_m * l->scene_m;
    if (!isnan(median_m))
        l->scene_m = sqrt(fmax(all - median_m * median_m, LEAST_SHARED * LEAST_SHARED * all));
    return SDM_OK;
}

/* Residuals from the median of a few layers are too small: scale the errors so that the residuals of the
 * lines on stable ground agree with them. */
static SdmStatus calibrate(SdmStack *s)
{
    const SdmStackTrend *const t = s->trend;
    SDM_OWNED float *factor = NULL;
    double freedom = 0.0, scale = 1.0;
    int64_t n = 0;
    PASS(sdm_alloc(s->ctx, &factor, (size_t)(t->cols * t->rows), sizeof *factor, "rates"));
    for (int64_t i = 0; i < t->cols * t->rows; i++)
        if (t->line[i].factor > 0.0f && t->line[i].dates >= SDM_TREND_LEAST && !t->moving[i]) {
            freedom += (double)t->line[i].dates - 2.0;
            factor[n++] = t->line[i].factor;
        }
    if (n >= SDM_STACK_MIN_SAMPLES) /* the median of chi square by its freedom f is (1 - 2 / 9f)^3 */
        scale = sqrt(sdm_median_f32(factor, n) / pow(1.0 - 2.0 / 9.0 * (double)n / freedom, 3.0));
    for (int i = 0; i < s->count; i++)
        s->layer[i].scene_m *= scale;
    return SDM_OK;
}

/* A step of all layers, on all threads. */
static SdmStatus for_layers(SdmStack *s, SdmStatus (*step)(SdmStack *s, SdmLayer *l))
{
    SdmStatus why = SDM_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int i = 0; i < s->count; i++) {
        const SdmStatus one = step(s, &s->layer[i]);
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
    }
    return why;
}

/* Rate of the strongest colour: 1, 2 or 5 times a power of ten, beyond which lie at most 2 % of the rates;
 * the usual error. */
static SdmStatus choose_limit(SdmStack *s)
{
    SdmStackTrend *const t = s->trend;
    SDM_OWNED float *rate = NULL, *error = NULL;
    const size_t most = (size_t)(t->cols * t->rows);
    int64_t n = 0;
    PASS(SDM_ALLOC(s->ctx, "rates", SDM_ARRAY(rate, most), SDM_ARRAY(error, most)));
    for (size_t i = 0; i < most; i++)
        if (!isnan(t->line[i].rate)) {
            error[n] = t->line[i].error;
            rate[n++] = fabsf(t->line[i].rate);
        }
    if (n == 0)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "--trend: no place has heights of %d dates or more that lie over five weeks apart",
                        SDM_TREND_LEAST);
    t->limit = sdm_round_up(fmax(sdm_quantile_f32(rate, n, 0.98), 0.01));
    t->usual_error = sdm_median_f32(error, n);
    return SDM_OK;
}

SdmStatus sdm_stack_trend(SdmStack *s)
{
    PASS(trend_open(s));
    for (int round = 0; round < ROUNDS; round++) {
        PASS(find_rates(s));
        PASS(find_moving(s));
        find_line_errors(s);
        PASS(for_layers(s, lay));
        PASS(sdm_stack_residuals(s));
    }
    PASS(find_rates(s));
    PASS(find_moving(s));
    PASS(calibrate(s));
    PASS(find_rates(s));
    PASS(choose_limit(s));
    PASS(for_layers(s, share_error));
    sdm_log(s->ctx, SDM_LOG_INFO, 8,
            "trend: %.0f %% of the ground is stable, and lays the DEMs on each other",
            100.0 * s->trend->stable);
    return SDM_OK;
}

/* ---- heights of the layers over a block -> lines of its cells in the product's raster ---- */

typedef struct TrendBlock {
    SdmStack *s;
    const SdmBlock *b; /* in cells of the part */
    const SdmTrendLayers *in;
    int64_t at[2]; /* its first cell in the grid of the layers */
    float *plane;  /* SDM_TREND_BANDS x h x w */
} TrendBlock;

/* Heights and weights from a cell of the block on. */
static void gather(void *user, int64_t row, int64_t col, SdmTrendSeries *series)
{
    const TrendBlock *const k = user;
    const int64_t first = row * k->b->w + col;
    series->n = k->in->count;
    for (int i = 0; i < series->n; i++) {
        const SdmLayer *const l = &k->s->layer[k->in->index[i]];
        const float *const height_m = k->in->height_m[i] + first, *const errors = k->in->error_m[i],
                           *const error_m = errors ? errors + first : NULL;
        const uint8_t *const filled = k->in->filled[i] + first;
        const float tilt_m = (float)sdm_layer_bias(k->s, l, k->at[0] + col, k->at[1] + row),
                    across_m = (float)l->tilt_m[1], shared = (float)(l->scene_m * l->scene_m);
        series->year[i] = (float)(l->year - k->s->trend->mid_year);
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const bool is = col + c < k->b->w && !filled[c];
            const float own = is && error_m && error_m[c] > 0.0f ? error_m[c] : 0.0f;
            series->height_m[i][c] = is ? height_m[c] - (tilt_m + across_m * (float)c) : NAN;
            series->weight[i][c] = 1.0f / sqrtf(shared + own * own);
        }
    }
}

/* Lines -> the planes, rounded. */
static void put(void *user, int64_t row, int64_t col, const SdmTrend *line)
{
    static const float step[SDM_TREND_BANDS] = {(float)SDM_TREND_STEP, (float)SDM_TREND_STEP, 1.0f,
                                                0.0078125f, 0.015625f};
    const TrendBlock *const k = user;
    const float *const from[SDM_TREND_BANDS] = {line->rate, line->error, line->count, line->span,
                                                line->nmad_m};
    for (int band = 0; band < SDM_TREND_BANDS; band++)
        for (int c = 0; c < SDM_TREND_CELLS && col + c < k->b->w; c++) {
            const int64_t at = row * k->b->w + col + c;
            const bool none = isnan(line->rate[c]) || (k->b->mask[at] & SDM_QA_MASKED);
            k->plane[band * k->b->w * k->b->h + at] =
                none ? SDM_NODATA : floorf(from[band][c] / step[band] + 0.5f) * step[band];
        }
}

SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in)
{
    SDM_OWNED float *plane = NULL;
    PASS(sdm_alloc_raw(s->ctx, &plane, (size_t)(b->w * b->h), SDM_TREND_BANDS * sizeof *plane, "block"));
    TrendBlock k = {.s = s, .b = b, .in = in, .plane = plane};
    sdm_part_at(&s->grid, &s->part, k.at);
    k.at[0] += b->col0;
    k.at[1] += b->row0;
    PASS(fit_rows(s, &(Work){in->count, b->w, b->h, gather, put, &k}));
    for (int64_t i = 0; i < b->w * b->h; i++)
        if (plane[i] != SDM_NODATA)
            sdm_mean_map_add(&s->trend->mean, b->col0 + i % b->w, b->row0 + i / b->w,
                             (double)plane[i] / SDM_TREND_STEP);
    return sdm_product_write_trend(s->ctx, product, b, plane);
}
