/* A prepared scene -> what its report says before any block is read: inputs, frame, pointing. */
// SPDX-License-Identifier: Apache-2.0
#include "job/merge_report.h"

SdmStatus sdm_merge_inputs(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, SdmInputFile **out,
                           int *count)
{
    SdmStatus st = SDM_OK;
    const cJSON *file;
    SdmInputFile *to;
    *count = 0;
    TRY(sdm_alloc(ctx, out, (size_t)cJSON_GetArraySize(s->files) + 1, sizeof **out, "list of inputs"));
    to = *out;
    cJSON_ArrayForEach(file, s->files)
    {
        const cJSON *const rel = cJSON_GetObjectItemCaseSensitive(file, "path");
        const cJSON *const absolute = cJSON_GetObjectItemCaseSensitive(file, "absolute");
        const cJSON *const size = cJSON_GetObjectItemCaseSensitive(file, "size_bytes");
        const cJSON *const time = cJSON_GetObjectItemCaseSensitive(file, "mtime_us");
        if (!cJSON_IsString(rel))
            continue;
        TRY(sdm_path_find(ctx, job->folder, rel->valuestring,
                          cJSON_IsString(absolute) ? absolute->valuestring : NULL, to->path));
        to->size_bytes = cJSON_IsNumber(size) ? (int64_t)size->valuedouble : 0;
        to->mtime_s = cJSON_IsNumber(time) ? (int64_t)(time->valuedouble / 1e6) : 0;
        to++;
    }
    *count = (int)(to - *out);
done:
    return st;
}

SdmStatus sdm_merge_report(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, SdmSceneReport *out)
{
    SdmStatus st = SDM_OK;
    const SdmPrepared *const p = &job->prepared;
    const SdmFrame *const f = &p->frame;
    const int tiles = (int)s->unit_count - (s->tiled ? 1 : 0);
    *out = (SdmSceneReport){.centre_lon_deg = f->lon_deg,
                       .centre_lat_deg = f->lat_deg,
                       .base_height = f->base_height,
                       .convergence_deg = f->convergence_deg,
                       .gsd_m = f->gsd_m,
                       .hmin_m = f->hmin_m,
                       .hmax_m = f->hmax_m,
                       .pointing = &p->pointing,
                       .points = &p->points,
                       .work = {.blocks = tiles,
                                .frame_cols = f->width,
                                .frame_rows = f->height,
                                .lattice_error_px = p->lattice_error_px},
                       .job = s->whole};
    TRY(sdm_path_find(ctx, job->folder, s->left[0], s->left[1], out->left));
    if (s->right[0])
        TRY(sdm_path_find(ctx, job->folder, s->right[0], s->right[1], out->right));
    snprintf(out->scene_id, sizeof out->scene_id, "%s", s->id);
    snprintf(out->time_utc, sizeof out->time_utc, "%s", s->time_utc);
    snprintf(out->scene_kind, sizeof out->scene_kind, "%s", s->kind);
    snprintf(out->cost, sizeof out->cost, "%s", p->settings.cost_name);
done:
    return st;
}
