/* Scenes and options -> the plan of a job: its scenes, their inputs, their units; and plan.json. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/hash.h"
#include "core/options.h"
#include "core/path.h"
#include "core/hash_table.h"
#include "input/scene_open.h"

/* Where a file lies. */
typedef struct SdmPlanPlace {
    const char *path;     /* relative to the job folder, or a name that GDAL alone understands; NULL: none */
    const char *absolute; /* where it lay when it was planned; NULL: path is to be taken as it is */
    bool full; /* the user gave its absolute name, which messages of this process keep; plan.json does not */
} SdmPlanPlace;

/* A file that a scene is made from. */
typedef struct SdmPlanFile {
    SdmPlanPlace at;
    bool has_stamp;               /* size and time are known: it is a file of its own */
    int64_t size_bytes, mtime_us; /* when it was planned; since 1970 */
} SdmPlanFile;

/* A unit that makes a block of the DEM. */
typedef struct SdmPlanTile {
    int64_t cells[4];     /* col, row, cols, rows of the planned grid */
    int64_t window[4];    /* u0, v0, u1, v1: pixels of the frame that can be needed, without the halo */
    int64_t memory_bytes; /* expected peak of the process */
    double cpu_s;         /* expected processor time */
} SdmPlanTile;

typedef struct SdmPlanScene {
    int number;
    const char *name; /* unique in the job; its products are called so */
    char key[17];     /* unique in the job: of its input files; names its state, whatever its number */
    const char *id, *kind, *time_utc, *cost;
    const char *error; /* why it could not be planned, then it has no units; else NULL */
    SdmPlanPlace left, right;
    int64_t frame_cols, frame_rows;
    double frame_spacing_m;
    double x0, y0, spacing; /* the planned grid: corner of the first cell, units of the output CRS */
    int64_t cols, rows;
    SdmPlanFile *file; /* owned by the plan, as all below */
    int file_count;
    bool tiled; /* the first unit is the preparation, the others are tiles; else one unit is all */
    int64_t prepare_bytes;
    double prepare_s;
    SdmPlanTile *tile;
    int64_t tile_count, tiles_end[2]; /* end of the tiles: col, row */
    int64_t first_unit, unit_count;
    uint64_t fingerprint;         /* of the inputs, and of the options that change blocks */
    uint64_t product_fingerprint; /* and of those that change products */
} SdmPlanScene;

enum { SDM_PLAN_INPUTS = 7 }; /* options that name an input, in the order of the option table */

/* Units are numbered through all scenes. */
typedef struct SdmPlan {
    SdmPlanScene *scene;
    int count;
    int64_t units;
    SdmOptions options;                  /* those that are planned; the others have their defaults */
    SdmPlanPlace input[SDM_PLAN_INPUTS]; /* of options that name a file */
    struct SdmPlanText *text;            /* holds all strings */
} SdmPlan;

/* A scene: names as given, from here; right: NULL for a scene that holds both views. */
typedef struct SdmPlanInput {
    const char *left, *right;
} SdmPlanInput;

/* Scenes of a list file: one or two names a line, relative to the list; '#' begins a comment; names with
 * blanks stand in quotes.  *out: owned by the caller. */
SdmStatus sdm_plan_list(SdmContext *ctx, const char *path, SdmPlanInput **out, int *count);

/* The scenes to plan; all is borrowed. */
typedef struct SdmPlanSource {
    const SdmOptions *options;
    const char *folder; /* of the job, exists */
    const SdmPlanInput *input;
    int count;
    const SdmScene *scene; /* the only one, open already; NULL: each is opened */
    const SdmPlan *former; /* its scenes keep their names; NULL: none */
} SdmPlanSource;

/* Plan the scenes: open each as far as its cameras, read no pixel.  A scene that cannot be opened, or does
 * not fit the memory budget, gets its error; out of memory ends the planning. */
SdmStatus sdm_plan_make(SdmContext *ctx, const SdmPlanSource *from, SdmPlan **out);
void sdm_plan_close(SdmPlan **plan);

/* True if the plan holds the option; each task decides on the others. */
bool sdm_plan_has_option(const SdmOptionSpec *option);

int sdm_plan_scene_of(const SdmPlan *plan, int64_t unit); /* the scene that a unit belongs to */
/* The tile that a unit makes; NULL for a preparation. */
const SdmPlanTile *sdm_plan_tile_of(const SdmPlanScene *scene, int64_t unit);
/* Hash of the inputs, options and cells that the file of a unit depends on. */
uint64_t sdm_plan_unit_fingerprint(const SdmPlanScene *scene, int64_t unit);
double sdm_plan_unit_s(const SdmPlanScene *scene, int64_t unit); /* expected processor time */
/* Share of the preparation in the wall time of it and the first `tiles` tiles; an untiled scene has one. */
double sdm_plan_prepared_share(const SdmPlanScene *scene, int64_t tiles);

/* Size and time of a file; false, and 0: it is not there. */
bool sdm_plan_stamp(const char *path, int64_t *size_bytes, int64_t *mtime_us);
/* Compare the files of the scene with the plan: SDM_ERR_INPUT with both sizes and time stamps where one
 * differs, or is missing although `needed`. */
SdmStatus sdm_plan_check_files(SdmContext *ctx, const char *folder, const SdmPlanScene *scene, bool needed);

/* ---- plan.json ---- */
SdmStatus sdm_plan_read(SdmContext *ctx, const char *folder, SdmPlan **out);
SdmStatus sdm_plan_write(SdmContext *ctx, const char *folder, const SdmPlan *plan);
/* The same from and to text, which is freed with sdm_free().  name: of the file, for sentences. */
SdmStatus sdm_plan_parse(SdmContext *ctx, const char *name, const char *text, size_t size, SdmPlan **out);
SdmStatus sdm_plan_print(SdmContext *ctx, const SdmPlan *plan, char **out);

/* ---- for those who fill a plan ---- */
SdmStatus sdm_plan_new(SdmContext *ctx, int count, SdmPlan **out);
/* Keep a copy of a string (NULL: none) as long as the plan. */
SdmStatus sdm_plan_keep(SdmContext *ctx, SdmPlan *plan, const char *text, const char **out);
/* Once scenes, options and inputs are filled: keys, fingerprints and ends of tiles. */
SdmStatus sdm_plan_complete(SdmContext *ctx, SdmPlan *plan);
/* ISO 8601, to the second, or to the microsecond where it has one. */
void sdm_plan_print_time(int64_t us, char out[40]);
