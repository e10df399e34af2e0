/* What chain.c, fine.c and the chain on a device share: windows, passes and thresholds of every step. */
#ifndef SDM_CHAIN_PARTS_H
#define SDM_CHAIN_PARTS_H

#include "matching/chain.h"

SdmLevelTask sdm_level_task(const SdmChainInput *in, const SdmWindow *win);
/* sdm_chain_level() with the task of the level, open. */
SdmStatus sdm_chain_level_in(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, int range,
                             int window, SdmSurface *s);
/* Threads for passes over a window, until sdm_team_leave(): small ones are done before others have woken. */
int sdm_level_team(SdmContext *ctx, const SdmWindow *win);
SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out);
SdmStatus sdm_chain_clean(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);
SdmStatus sdm_chain_complete(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);

/* Passes of a level: the first, the one of what failed there, if it has one, and repeat i of level 0. */
enum { SDM_FIRST_RANGE = 3, SDM_FIRST_WINDOW = 9, SDM_REPEATS = 2 };
SdmPass sdm_search_pass(const SdmMatchSettings *set, int range, int window);
SdmPass sdm_retry_pass(const SdmMatchSettings *set, int level);
bool sdm_level_retries(const SdmMatchSettings *set, int level);
SdmPass sdm_repeat_pass(const SdmMatchSettings *set, int i);
/* Metres of height for one pixel of residual at a level: of the scene, not of the tile's lattice. */
float sdm_metres_per_pixel(const SdmChainInput *in, int level);
/* Rejection and filling of a level. */
enum { SDM_REJECT_HALF = 3 };
#define SDM_REJECT_SHARE 0.3f
extern const SdmFill sdm_fill_far, sdm_fill_near;

/* What level `level` must compute of `win` for the levels below it to be exact inside `need`: multiples of 16
 * but where win ends. */
SdmWindow sdm_fine_part(const SdmMatchSettings *s, const SdmWindow *win, const SdmWindow *need, int level);
/* A window of level 0 on another level. */
SdmWindow sdm_window_at(const SdmWindow *win, int level);
/* Holes of the window that are filled in the end. */
extern const SdmFill sdm_fill_hole;
/* Saturated pixels are told, small holes filled. */
SdmStatus sdm_fine_finish(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse, SdmSurface *s);

/* Reach of the mean of the ray gaps, px. */
enum { SDM_RAY_ERROR_HALF = 5 };
/* Set the flags and scores of out->surface from a last look: what hangs over the terrain is ISOLATED, what
 * does not fit over a larger window LOW_SCORE, where the rays miss each other RAY_GAP.  out->ray_error_px is
 * allocated and filled. */
SdmStatus sdm_validate(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmFineResult *out);
/* Its pass of sdm_level_ray_error(), and the least score (250 x) that it leaves. */
SdmPass sdm_validation_pass(const SdmMatchSettings *set);
uint8_t sdm_validation_min_score(const SdmMatchSettings *set);

#endif
