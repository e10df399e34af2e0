/* Log lines and progress: a live line on a terminal, plain lines elsewhere, JSON lines on request. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *sdm_status_name(SdmStatus st)
{
    static const char *const names[SDM_STATUS_END] = {"ok",     "usage",       "input",   "data",   "io",
                                                      "memory", "unsupported", "stopped", "device", "budget"};
    return st >= 0 && st < SDM_STATUS_END ? names[st] : "unknown";
}

static const char *stage_name(int stage)
{
    return stage >= 0 && stage < 10 ? sdm_stage_names[stage] : "";
}

void sdm_screen_open(SdmScreen *screen, const char *command, const SdmOptions *opt)
{
    const char *const kind = getenv("TERM");
    *screen = (SdmScreen){.command = command,
                          .quiet = opt->quiet,
                          .verbose = opt->verbose,
                          .columns = 80,
                          .stage = -1,
                          .step = -1,
                          .started_s = sdm_now_s()};
    screen->json = strcmp(opt->log, "json") == 0;
    screen->terminal = !screen->json && isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
    const int columns = screen->terminal ? sdm_system_columns() : 0;
    screen->columns = columns >= 20 ? columns : screen->columns;
}

static void erase_line(SdmScreen *screen)
{
    if (screen->line_up)
        fputs("\r\033[K", stderr);
    screen->line_up = false;
}

void sdm_screen_close(SdmScreen *screen)
{
    erase_line(screen);
    fflush(stderr);
}

/* Move all fields of *from (then deleted) to the end of `to`. */
static void move_fields(cJSON *to, cJSON *from)
{
    while (from && from->child) {
        cJSON *const item = cJSON_DetachItemViaPointer(from, from->child);
        char name[64];
        snprintf(name, sizeof name, "%s", item->string);
        cJSON_AddItemToObject(to, name, item);
    }
    cJSON_Delete(from);
}

void sdm_screen_json(const SdmScreen *screen, const char *event, cJSON *object)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = NULL};
    cJSON *const line = cJSON_CreateObject();
    SDM_JSON(line, SDM_FIELD("event", event), SDM_FIELD("command", screen->command));
    move_fields(line, object);
    cJSON_AddNumberToObject(line, "seconds",
                            (double)(int64_t)((sdm_now_s() - screen->started_s) * 1e3) / 1e3);
    sdm_text_json(&text, line, true);
    cJSON_Delete(line);
    if (text.st == SDM_OK) {
        fputs(text.data, stdout);
        fflush(stdout);
    }
}

static cJSON *stage_object(int stage)
{
    cJSON *const object = cJSON_CreateObject();
    if (stage > 0)
        SDM_JSON(object, SDM_FIELD("stage", stage), SDM_FIELD("stage_name", stage_name(stage)));
    return object;
}

static void log_text(SdmScreen *screen, SdmLogLevel level, int stage, const char *text)
{
    erase_line(screen);
    if (level <= SDM_LOG_WARNING)
        fprintf(stderr, "%s %s: %s%s\n", sdm_program.name, screen->command,
                level == SDM_LOG_WARNING ? "warning: " : "", text);
    else if (stage > 0)
        fprintf(stderr, "[%d %s] %s\n", stage, stage_name(stage), text);
    else
        fprintf(stderr, "%s\n", text);
}

void sdm_screen_log(void *user, SdmLogLevel level, int stage, const char *text)
{
    SdmScreen *const screen = user;
    const SdmLogLevel most = screen->quiet ? SDM_LOG_ERROR : screen->verbose ? SDM_LOG_VERBOSE : SDM_LOG_INFO;
    if (level > most)
        return;
#pragma omp critical(sdm_screen)
    {
        if (screen->json) {
            static const char *const levels[] = {"error", "warning", "info", "verbose"};
            cJSON *const object = stage_object(stage);
            SDM_JSON(object, SDM_FIELD("level", levels[level]), SDM_FIELD("message", text));
            sdm_screen_json(screen, "log", object);
        } else {
            log_text(screen, level, stage, text);
        }
    }
}

/* "1:02:03 left" from the share done so far; "" while there is too little to tell. */
static void time_left(const SdmScreen *screen, double done, char *out, size_t size)
{
    const double elapsed = sdm_now_s() - screen->started_s;
    *out = '\0';
    if (!(done > 0.01) || done >= 1.0 || elapsed < 0.5)
        return;
    const int left = (int)(elapsed * (1.0 - done) / done + 0.5);
    if (left >= 3600)
        snprintf(out, size, ", %d:%02d:%02d left", left / 3600, left / 60 % 60, left % 60);
    else
        snprintf(out, size, ", %d:%02d left", left / 60, left % 60);
}

static void draw_line(SdmScreen *screen, int stage, double done, const char *what)
{
    char left[64], line[512];
    const double now = sdm_now_s();
    if (stage == screen->stage && done < 1.0 && now - screen->drawn_s < 0.1)
        return;
    screen->stage = stage;
    screen->drawn_s = now;
    time_left(screen, done, left, sizeof left);
    snprintf(line, sizeof line, "%3d %%%s  %s: %s", (int)(100.0 * done), left, stage_name(stage), what);
    fprintf(stderr, "\r\033[K%.*s", screen->columns - 1, line);
    fflush(stderr);
    screen->line_up = true;
}

/* Not on a terminal: a line for each new stage and each tenth; as JSON, each hundredth. */
static void print_step(SdmScreen *screen, int stage, double done, const char *what)
{
    char left[64];
    const int step = (int)((screen->json ? 100.0 : 10.0) * done);
    if (stage == screen->stage && step <= screen->step)
        return;
    screen->stage = stage;
    screen->step = step > screen->step ? step : screen->step;
    if (screen->json) {
        cJSON *const object = stage_object(stage);
        SDM_JSON(object, SDM_FIELD("done", (double)(int)(1e3 * done) / 1e3), SDM_FIELD("message", what));
        sdm_screen_json(screen, "progress", object);
        return;
    }
    time_left(screen, done, left, sizeof left);
    fprintf(stderr, "%3d %%%s  %s: %s\n", (int)(100.0 * done), left, stage_name(stage), what);
}

void sdm_screen_progress(void *user, int stage, double done, const char *what)
{
    SdmScreen *const screen = user;
    if (screen->quiet || !(done >= 0.0))
        return;
#pragma omp critical(sdm_screen)
    {
        if (screen->terminal)
            draw_line(screen, stage, done < 1.0 ? done : 1.0, what ? what : "");
        else
            print_step(screen, stage, done < 1.0 ? done : 1.0, what ? what : "");
    }
}

void sdm_screen_print(SdmScreen *screen, const char *fmt, ...)
{
    if (screen->json || screen->quiet)
        return;
    erase_line(screen);
    fflush(stderr);
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

void sdm_screen_error(SdmScreen *screen, SdmStatus st, const char *sentence)
{
    erase_line(screen);
    fprintf(stderr, "%s %s: %s\n", sdm_program.name, screen->command, sentence);
    if (!screen->json)
        return;
    cJSON *const object = cJSON_CreateObject();
    SDM_JSON(object, SDM_FIELD("status", sdm_status_name(st)), SDM_FIELD("message", sentence));
    sdm_screen_json(screen, "error", object);
}

SdmStatus sdm_screen_refuse_views(const SdmCall *call)
{
    return call->line.count <= 2
               ? SDM_OK
               : sdm_fail(
                     call->ctx, SDM_ERR_USAGE,
                     "found %d views, but %s takes a scene or a pair; run alone pairs three views or more",
                     call->line.count, call->command->name);
}
