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

/* ---- lines of the samples, and of the cells of a block ---- */

typedef struct Places {
    SdmStack *s;
    int64_t cols, rows;
    const SdmBlockLayers *in; /* over the block; NULL: the places are the samples */
    const SdmBlock *b;        /* in cells of the part */
    float *plane;             /* SDM_TREND_BANDS x h x w */
} Places;

/* Heights and weights of the samples from a place on. */
static void gather_samples(const SdmStack *s, int64_t row, int64_t col, SdmTrendSeries *series)
{
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

/* The same of the block. */
static void gather_cells(const Places *p, int64_t row, int64_t col, SdmTrendSeries *series)
{
    const int64_t first = row * p->cols + col;
    series->n = p->in->count;
    for (int i = 0; i < series->n; i++) {
        const SdmLayer *const l = &p->s->layer[p->in->index[i]];
        const float *const height_m = p->in->height_m[i] + first, *const errors = p->in->error_m[i],
                           *const error_m = errors ? errors + first : NULL;
        const uint8_t *const filled = p->in->filled[i] + first;
        const float tilt_m = (float)sdm_layer_bias(p->s, l, p->in->col0 + col, p->in->row0 + row),
                    across_m = (float)l->tilt_m[1], shared = (float)(l->scene_m * l->scene_m);
        series->year[i] = (float)(l->year - p->s->trend->mid_year);
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const bool is = col + c < p->cols && !filled[c];
            const float own = is && error_m && error_m[c] > 0.0f ? error_m[c] : 0.0f;
            series->height_m[i][c] = is ? height_m[c] - (tilt_m + across_m * (float)c) : NAN;
            series->weight[i][c] = 1.0f / sqrtf(shared + own * own);
        }
    }
}

/* Lines -> the planes, rounded. */
static void put_cells(const Places *p, int64_t row, int64_t col, const SdmTrend *line)
{
    static const float step[SDM_TREND_BANDS] = {(float)SDM_TREND_STEP, (float)SDM_TREND_STEP, 1.0f,
                                                0.0078125f, 0.015625f};
    const float *const from[SDM_TREND_BANDS] = {line->rate, line->error, line->count, line->span,
                                                line->nmad_m};
    for (int band = 0; band < SDM_TREND_BANDS; band++)
        for (int c = 0; c < SDM_TREND_CELLS && col + c < p->cols; c++) {
            const int64_t at = row * p->cols + col + c;
            const bool none = isnan(line->rate[c]) || (p->b->mask[at] & SDM_QA_MASKED);
            p->plane[band * p->cols * p->rows + at] =
                none ? SDM_NODATA : floorf(from[band][c] / step[band] + 0.5f) * step[band];
        }
}

static void series_close(SdmTrendSeries *series)
{
    SDM_FREE(&series->year, &series->height_m, &series->weight, &series->spare, &series->second_m);
}

/* Fit the lines of all places, on all threads. */
static SdmStatus fit_lines(const Places *p)
{
    SdmStatus why = SDM_OK;
    SdmStackTrend *const t = p->s->trend;
    const size_t room = (size_t)p->s->count;
#pragma omp parallel num_threads(p->s->threads)
    {
        SDM_CLOSED_BY(series_close) SdmTrendSeries series = {0};
        SdmTrend line;
        const SdmStatus one = SDM_ALLOC(p->s->ctx, "heights by date", SDM_ARRAY(series.year, room),
                                        SDM_ARRAY(series.height_m, room), SDM_ARRAY(series.weight, room),
                                        SDM_ARRAY(series.spare, room), SDM_ARRAY(series.second_m, room));
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
#pragma omp for schedule(dynamic, 4)
        for (int64_t row = 0; row < p->rows; row++)
            for (int64_t col = 0; col < p->cols && !one; col += SDM_TREND_CELLS) {
                if (p->in)
                    gather_cells(p, row, col, &series);
                else
                    gather_samples(p->s, row, col, &series);
                sdm_trend_fit(&series, &line);
                if (p->in)
                    put_cells(p, row, col, &line);
                for (int c = 0; c < SDM_TREND_CELLS && col + c < p->cols && !p->in; c++)
                    t->line[row * p->cols + col + c] = (SdmTrendLine){
                        line.rate[c], line.error[c], line.level_m[c], line.factor[c], line.count[c]};
            }
    }
    return why ? why : sdm_check_stop(p->s->ctx);
}

SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmBlockLayers *in)
{
    SDM_OWNED float *plane = NULL;
    PASS(sdm_alloc_raw(s->ctx, &plane, (size_t)(b->w * b->h), SDM_TREND_BANDS * sizeof *plane, "block"));
    PASS(fit_lines(&(Places){.s = s, .cols = b->w, .rows = b->h, .in = in, .b = b, .plane = plane}));
    for (int64_t i = 0; i < b->w * b->h; i++)
        if (plane[i] != SDM_NODATA)
            sdm_mean_map_add(&s->trend->mean, b->col0 + i % b->w, b->row0 + i / b->w,
                             (double)plane[i] / SDM_TREND_STEP);
    return sdm_product_write_trend(s->ctx, product, b, plane);
}

static SdmStatus trend_open(SdmStack *s)
{
    SdmStackTrend *t = NULL;
    const size_t samples = (size_t)(s->sample_cols * s->sample_rows);
    PASS(sdm_alloc(s->ctx, &s->trend, 1, sizeof *s->trend, "trend"));
    t = s->trend;
    t->cols = s->sample_cols;
    t->rows = s->sample_rows;
    t->first = t->last = s->layer;
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        t->first = l->year < t->first->year ? l : t->first;
        t->last = l->year > t->last->year ? l : t->last;
        l->scene_m = l->residual_nmad_m > 0.0 ? l->residual_nmad_m : 1.0;
    }
    t->mid_year = 0.5 * (t->first->year + t->last->year);
    return SDM_ALLOC(s->ctx, "rates", SDM_ARRAY(t->line, samples), SDM_ARRAY(t->moving, samples));
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
    PASS(SDM_ALLOC(s->ctx, "rates", SDM_ARRAY(rate, (size_t)(across * down)),
                   SDM_ARRAY(spare, (size_t)(across * down))));
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
    const Places samples = {.s = s, .cols = s->sample_cols, .rows = s->sample_rows};
    for (int round = 0;; round++) {
        PASS(fit_lines(&samples));
        PASS(find_moving(s));
        if (round == ROUNDS)
            break;
        find_line_errors(s);
        PASS(sdm_stack_each(s, lay));
        PASS(sdm_stack_residuals(s));
    }
    PASS(calibrate(s));
    PASS(fit_lines(&samples));
    PASS(choose_limit(s));
    PASS(sdm_stack_each(s, share_error));
    sdm_log(s->ctx, SDM_LOG_INFO, 8,
            "trend: %.0f %% of the ground is stable, and lays the DEMs on each other",
            100.0 * s->trend->stable);
    return SDM_OK;
}
