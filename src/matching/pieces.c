/* Pieces are gone through pixel by pixel, from the first one of each row by row. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/pieces.h"
#include "core/qa_reasons.h"

#include <math.h>
#include <string.h>

enum { EVIDENCE = 500 };

/* A pixel: its place in the raster, and in an array with a rim of one pixel. */
typedef struct Member {
    int32_t at, rimmed;
} Member;

/* The valid pixels that are connected with pixel `first`, into piece[]; returns their number.  seen: with a
 * rim; 1: not valid or found before. */
static int find_piece(const SdmPieces *p, Member first, uint8_t *seen, Member *piece)
{
    const Member step[4] = {{-1, -1}, {1, 1}, {-p->width, -p->width - 2}, {p->width, p->width + 2}};
    int count = 1;
    piece[0] = first;
    seen[first.rimmed] = 1;
    for (int n = 0; n < count; n++) {
        const Member from = piece[n];
        for (int k = 0; k < 4; k++) {
            const Member to = {from.at + step[k].at, from.rimmed + step[k].rimmed};
            if (seen[to.rimmed] || fabsf(p->value[to.at] - p->value[from.at]) > p->step)
                continue;
            seen[to.rimmed] = 1;
            piece[count++] = to;
        }
    }
    return count;
}

static bool is_weak(const SdmPieces *p, const Member *piece, int count, int least)
{
    int evidence = 0;
    for (int k = 0; k < count && evidence < EVIDENCE; k++) {
        if (p->flags[piece[k].at] & SDM_QA_FILLED)
            return false;
        evidence += p->score[piece[k].at] > least ? p->score[piece[k].at] - least : 0;
    }
    return evidence < EVIDENCE;
}

SdmStatus sdm_drop_pieces(SdmContext *ctx, const SdmPieces *p, int small, int weak, int least)
{
    SdmStatus st = SDM_OK;
    const int w = p->width, h = p->height;
    const size_t rimmed = (size_t)(w + 2) * (size_t)(h + 2);
    uint8_t *seen = NULL;
    Member *piece = NULL;
    TRY(sdm_alloc_raw(ctx, &seen, rimmed, 1, "pieces of surface"));
    TRY(sdm_alloc_raw(ctx, &piece, (size_t)w * (size_t)h, sizeof *piece, "pieces of surface"));
    memset(seen, 1, rimmed);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            seen[(y + 1) * (w + 2) + x + 1] = !(p->flags[y * w + x] & SDM_QA_VALID);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const Member first = {y * w + x, (y + 1) * (w + 2) + x + 1};
            if (seen[first.rimmed])
                continue;
            const int count = find_piece(p, first, seen, piece);
            if (count < small || (count < weak && is_weak(p, piece, count, least)))
                for (int k = 0; k < count; k++)
                    p->flags[piece[k].at] = SDM_QA_ISOLATED;
        }
done:
    sdm_free(&seen);
    sdm_free(&piece);
    return st;
}
