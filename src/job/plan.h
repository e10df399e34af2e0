/* plan.json: scenes, parameters and units of a job.  The tree of the file is what the program works from,
 * too. */
#ifndef SDM_PLAN_H
#define SDM_PLAN_H

#include "core/hash.h"
#include "core/path.h"
#include "input/scene_open.h"

#include <cJSON.h>

/* Units are numbered through all scenes: a small scene is one unit; a tiled one is its preparation, then its
 * tiles. */
typedef struct SdmPlan {
    cJSON *root;
    cJSON **scene;       /* count */
    int64_t *first_unit; /* count + 1 */
    int count;
    int64_t units;
} SdmPlan;

/* A scene of the list: as given, from here. */
typedef struct SdmPlanInput {
    char left[SDM_PATH_SIZE], right[SDM_PATH_SIZE]; /* right: "" for a scene that holds both views */
} SdmPlanInput;

/* What a scene of the plan says; texts are borrowed from the plan. */
typedef struct SdmPlanScene {
    int number;
    const char *name;        /* unique in the job; its products are called so */
    const char *id, *kind, *time_utc;
    const char *error;       /* why it could not be planned, then without units; else NULL */
    const char *left[2], *right[2]; /* relative, absolute; right[0] = NULL */
    int64_t first_unit, unit_count;
    bool tiled;
    double x0, y0, spacing;  /* the planned grid */
    const cJSON *files, *tiles;
    uint64_t fingerprint;    /* of what the blocks depend on: version, inputs, parameters */
    uint64_t whole;          /* and of what the products depend on */
} SdmPlanScene;

/* Plan the scenes: opens each as far as its cameras, reads no pixel.  A scene that cannot be opened gets its
 * error. ctx: options.  folder: of the job, exists. */
SdmStatus sdm_plan_make(SdmContext *ctx, const char *folder, const SdmPlanInput *input, int count,
                        SdmPlan **out);
/* Scenes of a list file: one or two names a line, relative to the list; '#' begins a comment; quotes for
 * names with blanks. *out: owned by the caller. */
SdmStatus sdm_plan_list(SdmContext *ctx, const char *path, SdmPlanInput **out, int *count);

SdmStatus sdm_plan_read(SdmContext *ctx, const char *folder, SdmPlan **out);
SdmStatus sdm_plan_write(SdmContext *ctx, const char *folder, const SdmPlan *plan);
/* The text of plan.json, one line a scene; free with cJSON_free. */
char *sdm_plan_text(const SdmPlan *plan);
void sdm_plan_close(SdmPlan **plan);

/* Options as planned into *opt, which holds what the caller's command says: that of threads, log and kernels
 * stays. Strings are borrowed from the plan or from `paths`. */
typedef struct SdmPlanPaths {
    char dem[SDM_PATH_SIZE], mask[2][SDM_PATH_SIZE];
} SdmPlanPaths;
SdmStatus sdm_plan_options(SdmContext *ctx, const SdmPlan *plan, const char *folder, SdmPlanPaths *paths,
                           SdmOptions *opt);

/* Scene s (0..count-1).  opt: as sdm_plan_options() left them. */
SdmStatus sdm_plan_scene(SdmContext *ctx, const SdmPlan *plan, const SdmOptions *opt, int s,
                         SdmPlanScene *out);
int sdm_plan_scene_of(const SdmPlan *plan, int64_t unit); /* the scene that a unit belongs to */

/* A tile: cells of the planned grid. */
SdmStatus sdm_plan_tile(SdmContext *ctx, const SdmPlanScene *scene, int64_t i, int64_t cells[4],
                        double *cpu_s);
double sdm_plan_prepare_s(const SdmPlan *plan, int s); /* expected CPU seconds; 0 for a small scene */
double sdm_plan_units_s(const SdmPlan *plan, int s);   /* of all units of the scene */

/* Are the files of the scene what they were when it was planned?  Else SDM_ERR_INPUT with both sizes and time
 * stamps. needed: they must be there. */
SdmStatus sdm_plan_check_files(SdmContext *ctx, const char *folder, const SdmPlanScene *scene, bool needed);

/* ---- for plan_make.c and plan.c ---- */
cJSON *sdm_plan_file(SdmContext *ctx, const char *folder, const char *path); /* NULL: no such file */
cJSON *sdm_plan_path(SdmContext *ctx, const char *folder, const char *path);
/* Name each of `count` scenes by its id, with a number behind it where that, or what lies beside its DEM,
 * would be called as another's. */
SdmStatus sdm_plan_name_scenes(SdmContext *ctx, cJSON *scenes, int count);
SdmStatus sdm_plan_index(SdmContext *ctx, const char *name,
                         SdmPlan *plan); /* scene, first_unit, ... from root */

#endif
