/* Records of tries -> accounts of units, their sums, CSV and JSON. */
// SPDX-License-Identifier: Apache-2.0
#include "job/accounting.h"

#include "core/lease.h"
#include "core/path.h"
#include "core/text.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sums ---- */

static void add_try(SdmAccount *to, const SdmTry *t, bool running)
{
    to->tries++;
    to->failed += t->state == SDM_TRY_FAILED;
    to->killed += t->state == SDM_TRY_BEGUN && !running;
    to->wall_ms += t->wall_ms;
    to->user_ms += t->user_ms;
    to->system_ms += t->system_ms;
    to->waited_ms += t->waited_ms;
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        to->stage_ms[i] += t->stage_ms[i];
    to->peak_bytes = t->peak_bytes > to->peak_bytes ? t->peak_bytes : to->peak_bytes;
}

static void add_account(SdmAccount *to, const SdmAccount *from)
{
    to->units += from->units;
    to->tries += from->tries;
    to->failed += from->failed;
    to->killed += from->killed;
    to->wall_ms += from->wall_ms;
    to->user_ms += from->user_ms;
    to->system_ms += from->system_ms;
    to->waited_ms += from->waited_ms;
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        to->stage_ms[i] += from->stage_ms[i];
    to->peak_bytes = from->peak_bytes > to->peak_bytes ? from->peak_bytes : to->peak_bytes;
}

/* Of a try's wall time, what no stage and no waiting took: opening, reading checksums, storing. */
static int64_t other_ms(const SdmAccount *a)
{
    int64_t left = a->wall_ms - a->waited_ms;
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        left -= a->stage_ms[i];
    return left;
}

/* ---- units ---- */

static bool is_same_unit(const SdmTry *a, const SdmTry *b)
{
    return strcmp(a->key, b->key) == 0 && a->kind == b->kind && a->unit == b->unit &&
           strcmp(a->fingerprint, b->fingerprint) == 0;
}

/* Does a task hold the lease of what the try works on? */
static bool is_running(const SdmAccounting *a, const SdmTry *t, double now_s)
{
    char path[SDM_PATH_SIZE];
    const SdmStatus st = t->kind == SDM_TRY_MERGE
                             ? sdm_format(NULL, path, sizeof path, "%s/scene_%s.merging", a->folder, t->key)
                             : sdm_format(NULL, path, sizeof path, "%s/unit_%s_%06lld.run", a->folder, t->key,
                                          (long long)t->unit);
    return st == SDM_OK && sdm_lease_is_live(path, now_s);
}

static void sum_unit(SdmAccounting *a, SdmUnitAccount *u, double now_s)
{
    const SdmTry *const end = u->first + u->sum.tries;
    bool done = false;
    u->sum = (SdmAccount){.units = 1};
    for (const SdmTry *t = u->first; t < end; t++) {
        bool *const running = &a->running[t - a->tries.item];
        *running = t->state == SDM_TRY_BEGUN && t + 1 == end && is_running(a, t, now_s);
        add_try(&u->sum, t, *running);
        done = done || t->state == SDM_TRY_DONE;
        if (t->state == SDM_TRY_DONE && t->wall_ms - t->waited_ms > u->longest_ms)
            u->longest_ms = t->wall_ms - t->waited_ms;
        u->state = done                        ? "done"
                   : *running                  ? "running"
                   : t->state == SDM_TRY_BEGUN ? "killed"
                                               : sdm_try_state_name(t->state);
    }
}

/* Its place in the plan, if it is planned so now. */
static void place_unit(SdmUnitAccount *u, const SdmJobKeys *keys)
{
    char name[64], makes[17];
    const char *end;
    int64_t unit;
    const SdmTry *const t = u->first;
    u->scene = -1;
    u->unit = -1;
    snprintf(name, sizeof name, "scene_%s.", t->key);
    const SdmPlanScene *const s = sdm_job_keys_find(keys, name, &unit, &end);
    if (!s || s->error)
        return;
    u->scene = s->number;
    if (t->kind == SDM_TRY_MERGE || t->unit >= s->unit_count)
        return;
    unit = s->first_unit + t->unit;
    snprintf(makes, sizeof makes, "%016" PRIx64, sdm_plan_unit_fingerprint(s, unit));
    if (strcmp(makes, t->fingerprint) == 0 && (t->kind == SDM_TRY_PREPARATION) == !sdm_plan_tile_of(s, unit))
        u->unit = unit;
}

/* By the plan's order: scenes, their units, their merges; then what is not planned now. */
static int compare_units(const void *a, const void *b)
{
    const SdmUnitAccount *const u = a, *const v = b;
    int order = ((unsigned)u->scene > (unsigned)v->scene) - ((unsigned)u->scene < (unsigned)v->scene);
    const uint64_t m = (uint64_t)u->unit, n = (uint64_t)v->unit;
    order = order ? order : (m > n) - (m < n);
    return order ? order : (u->first > v->first) - (u->first < v->first);
}

static int compare_whole(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Median of n values, which are sorted here. */
static int64_t median(int64_t *value, int64_t n)
{
    qsort(value, (size_t)n, sizeof *value, compare_whole);
    return (value[(n - 1) / 2] + value[n / 2]) / 2;
}

static SdmStatus judge_kind(SdmContext *ctx, SdmAccounting *a, int kind)
{
    SdmStatus st = SDM_OK;
    int64_t n = 0, *value[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        TRY(sdm_alloc(ctx, &value[k], (size_t)a->units + 1, sizeof *value[k], "the accounts"));
    for (int64_t i = 0; i < a->units; i++) {
        const SdmUnitAccount *const u = &a->unit[i];
        if (u->first->kind != kind || strcmp(u->state, "done") != 0)
            continue;
        value[0][n] = u->longest_ms;
        value[1][n++] = u->sum.peak_bytes;
    }
    if (n < 3)
        goto done;
    const int64_t usual_ms = median(value[0], n), usual_bytes = median(value[1], n);
    for (int64_t i = 0; i < a->units; i++) {
        SdmUnitAccount *const u = &a->unit[i];
        if (u->first->kind != kind)
            continue;
        u->is_slow =
            u->longest_ms > SDM_SLOW_TIMES * usual_ms && u->longest_ms > usual_ms + 1000 * SDM_SLOW_S;
        u->is_hungry = u->sum.peak_bytes > SDM_HUNGRY_TIMES * usual_bytes &&
                       u->sum.peak_bytes > usual_bytes + ((int64_t)SDM_HUNGRY_MIB << 20);
    }
done:
    sdm_free(&value[0]);
    sdm_free(&value[1]);
    return st;
}

/* Units of the plan that are done by their records.  A tile's task may have prepared the scene: then the
 * preparation is in the tile's record. */
static SdmStatus count_recorded(SdmContext *ctx, SdmAccounting *a, const SdmPlan *plan)
{
    enum { PREPARATION = 1, TILE = 2 };
    SdmStatus st = SDM_OK;
    uint8_t *done = NULL;
    TRY(sdm_alloc(ctx, &done, (size_t)plan->count, 1, "the accounts"));
    for (int64_t i = 0; i < a->units; i++) {
        const SdmUnitAccount *const u = &a->unit[i];
        if (u->unit < 0 || strcmp(u->state, "done") != 0)
            continue;
        a->recorded++;
        done[u->scene] |= u->first->kind == SDM_TRY_PREPARATION ? PREPARATION : TILE;
    }
    for (int s = 0; s < plan->count; s++)
        a->recorded += plan->scene[s].tiled && done[s] == TILE;
done:
    sdm_free(&done);
    return st;
}

static SdmStatus part_units(SdmContext *ctx, SdmAccounting *a, const SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    SdmJobKeys keys = {.count = 0};
    const double now_s = sdm_lease_clock_s(a->folder);
    TRY(sdm_alloc(ctx, &a->unit, (size_t)a->tries.count + 1, sizeof *a->unit, "the accounts"));
    TRY(sdm_alloc(ctx, &a->running, (size_t)a->tries.count + 1, sizeof *a->running, "the accounts"));
    TRY(sdm_job_keys_open(ctx, plan, &keys));
    for (int64_t i = 0; i < a->tries.count; i++) {
        const SdmTry *const t = &a->tries.item[i];
        if (i == 0 || !is_same_unit(t, t - 1))
            a->unit[a->units++].first = t;
        a->unit[a->units - 1].sum.tries++;
    }
    for (int64_t i = 0; i < a->units; i++) {
        SdmUnitAccount *const u = &a->unit[i];
        sum_unit(a, u, now_s);
        place_unit(u, &keys);
        add_account(&a->all, &u->sum);
        add_account(&a->kind[u->first->kind], &u->sum);
    }
    if (a->units)
        qsort(a->unit, (size_t)a->units, sizeof *a->unit, compare_units);
    TRY(count_recorded(ctx, a, plan));
    for (int kind = 0; kind < SDM_TRY_KINDS; kind++)
        TRY(judge_kind(ctx, a, kind));
done:
    sdm_job_keys_close(&keys);
    return st;
}

SdmStatus sdm_accounting_open(SdmContext *ctx, const char *folder, SdmAccounting **out)
{
    SdmStatus st = SDM_OK;
    SdmAccounting *a = NULL;
    SdmJob job = {.plan = NULL};
    *out = NULL;
    TRY(sdm_alloc(ctx, &a, 1, sizeof *a, "the accounts"));
    TRY(sdm_job_open(ctx, folder, sdm_options(ctx), &job));
    TRY(sdm_format(ctx, a->folder, sizeof a->folder, "%s", folder));
    TRY(sdm_tries_read(ctx, &job, &a->tries));
    TRY(part_units(ctx, a, job.plan));
    *out = a;
    a = NULL;
done:
    sdm_job_close(&job);
    sdm_accounting_close(&a);
    return st;
}

void sdm_accounting_close(SdmAccounting **accounting)
{
    SdmAccounting *const a = *accounting;
    if (!a)
        return;
    sdm_tries_close(&a->tries);
    sdm_free(&a->running);
    sdm_free(&a->unit);
    sdm_free(accounting);
}

/* ---- CSV ---- */

/* A text as a field: in quotes where it needs them. */
static void put_field(SdmText *t, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        sdm_text_add(t, "%s", text);
        return;
    }
    sdm_text_add(t, "\"");
    for (; *text; text++)
        sdm_text_add(t, *text == '"' ? "\"\"" : "%c", *text);
    sdm_text_add(t, "\"");
}

static void put_whole(SdmText *t, int64_t n)
{
    sdm_text_add(t, n < 0 ? "," : ",%lld", (long long)n);
}

static void put_seconds(SdmText *t, int64_t ms)
{
    sdm_text_add(t, ",%s%lld.%03lld", ms < 0 ? "-" : "", (long long)llabs(ms / 1000),
                 (long long)llabs(ms % 1000));
}

/* To the second; "": not known. */
static void print_time(int64_t ms, char out[40])
{
    *out = '\0';
    if (ms > 0)
        sdm_plan_print_time(ms / 1000 * 1000000, out);
}

static void put_time(SdmText *t, int64_t ms)
{
    char text[40];
    print_time(ms, text);
    sdm_text_add(t, ",%s", text);
}

static const SdmTry *last_of(const SdmUnitAccount *u)
{
    return u->first + u->sum.tries - 1;
}

static void put_unit(SdmText *t, const SdmUnitAccount *u)
{
    const SdmAccount *const s = &u->sum;
    put_field(t, u->first->name);
    put_whole(t, u->scene);
    put_whole(t, u->unit);
    sdm_text_add(t, ",%s,%s", sdm_try_kind_name(u->first->kind), u->state);
    const int64_t counts[3] = {s->tries, s->failed, s->killed};
    for (int i = 0; i < 3; i++)
        put_whole(t, counts[i]);
    const int64_t times[5] = {s->wall_ms, s->user_ms, s->system_ms, s->user_ms + s->system_ms, s->waited_ms};
    for (int i = 0; i < 5; i++)
        put_seconds(t, times[i]);
    put_whole(t, s->peak_bytes);
    sdm_text_add(t, ",");
    put_field(t, last_of(u)->host);
    put_time(t, u->first->started_ms);
    put_time(t, last_of(u)->ended_ms);
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        put_seconds(t, s->stage_ms[i]);
    put_seconds(t, other_ms(s));
    sdm_text_add(t, ",%d,%d\n", u->is_slow, u->is_hungry);
}

static void print_csv(const SdmAccounting *a, SdmText *t)
{
    sdm_text_add(t, "name,scene,unit,kind,state,tries,failed,killed,wall_s,user_s,system_s,cpu_s,waited_s,"
                    "peak_bytes,host,started_utc,ended_utc");
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        sdm_text_add(t, ",%s_s", sdm_stage_names[i]);
    sdm_text_add(t, ",other_s,slow,hungry\n");
    for (int64_t i = 0; i < a->units; i++)
        put_unit(t, &a->unit[i]);
}

/* ---- JSON ---- */

static void add_seconds(cJSON *o, const char *key, int64_t ms)
{
    cJSON_AddNumberToObject(o, key, (double)ms / 1e3);
}

static void add_account_json(cJSON *o, const SdmAccount *a)
{
    add_seconds(o, "wall_s", a->wall_ms);
    add_seconds(o, "user_s", a->user_ms);
    add_seconds(o, "system_s", a->system_ms);
    add_seconds(o, "cpu_s", a->user_ms + a->system_ms);
    add_seconds(o, "waited_s", a->waited_ms);
    cJSON_AddNumberToObject(o, "peak_bytes", (double)a->peak_bytes);
    cJSON *const stages = cJSON_AddObjectToObject(o, "stages_s");
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        add_seconds(stages, sdm_stage_names[i], a->stage_ms[i]);
    add_seconds(stages, "other", other_ms(a));
}

static void add_counts(cJSON *o, const SdmAccount *a, bool units)
{
    if (units)
        cJSON_AddNumberToObject(o, "units", (double)a->units);
    cJSON_AddNumberToObject(o, "tries", (double)a->tries);
    cJSON_AddNumberToObject(o, "failed", (double)a->failed);
    cJSON_AddNumberToObject(o, "killed", (double)a->killed);
}

static void add_time(cJSON *o, const char *key, int64_t ms)
{
    char text[40];
    print_time(ms, text);
    if (*text)
        cJSON_AddStringToObject(o, key, text);
}

static cJSON *try_json(const SdmTry *t, bool running)
{
    cJSON *const o = cJSON_CreateObject();
    SdmAccount one = {.units = 0};
    cJSON_AddStringToObject(o, "state",
                            running                     ? "running"
                            : t->state == SDM_TRY_BEGUN ? "killed"
                                                        : sdm_try_state_name(t->state));
    cJSON_AddStringToObject(o, "host", t->host);
    cJSON_AddNumberToObject(o, "process", (double)t->process);
    cJSON_AddNumberToObject(o, "threads", (double)t->threads);
    add_time(o, "started_utc", t->started_ms);
    add_time(o, "ended_utc", t->ended_ms);
    if (t->state == SDM_TRY_BEGUN)
        return o; /* what it used is not known */
    add_try(&one, t, running);
    add_account_json(o, &one);
    return o;
}

static cJSON *unit_json(const SdmAccounting *a, const SdmUnitAccount *u)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", u->first->name);
    if (u->scene >= 0)
        cJSON_AddNumberToObject(o, "scene", u->scene);
    if (u->unit >= 0)
        cJSON_AddNumberToObject(o, "unit", (double)u->unit);
    cJSON_AddStringToObject(o, "kind", sdm_try_kind_name(u->first->kind));
    cJSON_AddStringToObject(o, "state", u->state);
    add_account_json(o, &u->sum);
    cJSON_AddBoolToObject(o, "slow", u->is_slow);
    cJSON_AddBoolToObject(o, "hungry", u->is_hungry);
    cJSON *const tries = cJSON_AddArrayToObject(o, "tries");
    for (const SdmTry *t = u->first; t < u->first + u->sum.tries; t++)
        cJSON_AddItemToArray(tries, try_json(t, a->running[t - a->tries.item]));
    return o;
}

static void print_json(const SdmAccounting *a, SdmText *t)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "job", a->folder);
    cJSON *const totals = cJSON_AddObjectToObject(o, "totals");
    add_counts(totals, &a->all, true);
    add_account_json(totals, &a->all);
    cJSON *const kinds = cJSON_AddObjectToObject(o, "kinds");
    for (int k = 0; k < SDM_TRY_KINDS; k++) {
        cJSON *const kind = cJSON_AddObjectToObject(kinds, sdm_try_kind_name(k));
        add_counts(kind, &a->kind[k], true);
        add_account_json(kind, &a->kind[k]);
    }
    cJSON *const rule = cJSON_AddObjectToObject(o, "rule");
    cJSON_AddNumberToObject(rule, "slow_times_median", SDM_SLOW_TIMES);
    cJSON_AddNumberToObject(rule, "slow_seconds_more", SDM_SLOW_S);
    cJSON_AddNumberToObject(rule, "hungry_times_median", SDM_HUNGRY_TIMES);
    cJSON_AddNumberToObject(rule, "hungry_mib_more", SDM_HUNGRY_MIB);
    cJSON *const units = cJSON_AddArrayToObject(o, "units");
    for (int64_t i = 0; i < a->units; i++)
        cJSON_AddItemToArray(units, unit_json(a, &a->unit[i]));
    char *const text = cJSON_Print(o);
    t->st = text ? t->st : sdm_fail(t->ctx, SDM_ERR_MEMORY, "out of memory: the accounts as JSON");
    if (text)
        sdm_text_raw(t, text, strlen(text));
    sdm_text_add(t, "\n");
    cJSON_free(text);
    cJSON_Delete(o);
}

/* ---- the file ---- */

/* Does the file lie in the folder? */
static bool is_inside(const char *folder, const char *path)
{
    char rel[SDM_PATH_SIZE], absolute[SDM_PATH_SIZE];
    return sdm_path_split(NULL, folder, path, rel, absolute) == SDM_OK && *absolute &&
           strncmp(rel, "../", 3) != 0;
}

SdmStatus sdm_accounting_check(SdmContext *ctx, const char *job, const char *path, bool overwrite)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_file_check_output(ctx, "--accounting", path));
    if (!sdm_path_ends_in(path, ".csv") && !sdm_path_ends_in(path, ".json"))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: found '%.300s', expected a name that ends in .csv or .json", path);
    if (sdm_path_ends_in(path, ".json") && is_inside(job, path))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: %.300s lies in the job's folder, whose .json files are the job's own; "
                        "give another folder, or a name that ends in .csv",
                        path);
    if (!overwrite && access(path, F_OK) == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: %.300s exists; give --overwrite to replace it, or another name", path);
done:
    return st;
}

SdmStatus sdm_accounting_write(SdmContext *ctx, const SdmAccounting *a, const char *path)
{
    SdmText t = {.ctx = ctx};
    if (sdm_path_ends_in(path, ".csv"))
        print_csv(a, &t);
    else
        print_json(a, &t);
    SdmStatus st = t.st;
    if (st == SDM_OK)
        st = sdm_file_write(ctx, path, t.data, t.size);
    sdm_text_close(&t);
    return st;
}
