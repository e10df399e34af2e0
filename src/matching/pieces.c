/* A piece is followed from its first pixel until it ends or is large enough; pixels that reach a large one
 * belong to it. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/pieces.h"
#include "core/qa_reasons.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Evidence of a piece: sum, mean, and mean where others around have few heights, as on moving water. */
enum { EVIDENCE = 500, MEAN_EVIDENCE = 25, ALONE_EVIDENCE = 75 };
#define ALONE_SHARE 0.2 /* of the pixels around, below which a piece is alone */

/* State of a pixel, in an array with a rim of one. */
enum { NEW, OUT, SMALL, LARGE }; /* OUT: not valid, or beyond the raster */

/* A pixel: its place in the raster, and in an array with a rim of one pixel. */
typedef struct Member {
    ptrdiff_t at, rimmed;
} Member;

/* The valid pixels that are connected with pixel `first`, into piece[]; returns their number, `large` for a
 * piece of so many or more, of which some pixels are marked only. */
static int find_piece(const SdmPieces *p, Member first, int large, uint8_t *state,
                      Member piece[SDM_PIECE_MOST])
{
    const Member step[4] = {{-1, -1}, {1, 1}, {-p->width, -p->width - 2}, {p->width, p->width + 2}};
    int count = 1;
    bool joins = false;
    piece[0] = first;
    state[first.rimmed] = SMALL;
    for (int n = 0; n < count && count < large && !joins; n++) {
        const Member from = piece[n];
        for (int k = 0; k < 4 && count < large; k++) {
            const Member to = {from.at + step[k].at, from.rimmed + step[k].rimmed};
            if (state[to.rimmed] == OUT || state[to.rimmed] == SMALL ||
                fabsf(p->value[to.at] - p->value[from.at]) > p->step)
                continue;
            if (state[to.rimmed] == LARGE) {
                joins = true;
                break;
            }
            state[to.rimmed] = SMALL;
            piece[count++] = to;
        }
    }
    if (!joins && count < large)
        return count;
    for (int k = 0; k < count; k++)
        state[piece[k].rimmed] = LARGE;
    return large;
}

/* Is the pixel to the left or above part of a large piece, and connected with it? */
static bool continues_large(const SdmPieces *p, Member m, const uint8_t *state)
{
    return (state[m.rimmed - 1] == LARGE && !(fabsf(p->value[m.at] - p->value[m.at - 1]) > p->step)) ||
           (state[m.rimmed - p->width - 2] == LARGE &&
            !(fabsf(p->value[m.at] - p->value[m.at - p->width]) > p->step));
}

/* Do few other pixels of the box SDM_PIECE_AROUND px about a piece have a height? */
static bool is_alone(const SdmPieces *p, const uint8_t *state, const Member *piece, int count)
{
    const ptrdiff_t w = p->width, h = p->height, reach = SDM_PIECE_AROUND;
    ptrdiff_t x0 = w, x1 = 0, y0 = h, y1 = 0, valid = 0;
    for (int k = 0; k < count; k++) {
        const ptrdiff_t x = piece[k].at % w, y = piece[k].at / w;
        x0 = x < x0 ? x : x0;
        x1 = x >= x1 ? x + 1 : x1;
        y0 = y < y0 ? y : y0;
        y1 = y >= y1 ? y + 1 : y1;
    }
    x0 = x0 > reach ? x0 - reach : 0;
    y0 = y0 > reach ? y0 - reach : 0;
    x1 = x1 + reach < w ? x1 + reach : w;
    y1 = y1 + reach < h ? y1 + reach : h;
    for (ptrdiff_t y = y0; y < y1; y++)
        for (ptrdiff_t x = x0; x < x1; x++)
            valid += state[(y + 1) * (w + 2) + x + 1] != OUT;
    return (double)(valid - count) < ALONE_SHARE * (double)((x1 - x0) * (y1 - y0));
}

static bool is_weak(const SdmPieces *p, const uint8_t *state, const Member *piece, int count, int least)
{
    int evidence = 0;
    for (int k = 0; k < count; k++) {
        if (p->flags[piece[k].at] & SDM_QA_FILLED)
            return false;
        evidence += p->score[piece[k].at] > least ? p->score[piece[k].at] - least : 0;
    }
    return evidence < EVIDENCE || evidence < MEAN_EVIDENCE * count ||
           (evidence < ALONE_EVIDENCE * count && is_alone(p, state, piece, count));
}

SdmStatus sdm_drop_pieces(SdmContext *ctx, const SdmPieces *p, int small, int weak, int least)
{
    const int w = p->width, h = p->height, large = small > weak ? small : weak;
    const ptrdiff_t row = w + 2;
    const size_t rimmed = (size_t)row * (size_t)(h + 2);
    SDM_OWNED uint8_t *state = NULL;
    Member piece[SDM_PIECE_MOST];
    assert(large > 0 && large <= SDM_PIECE_MOST);
    PASS(sdm_alloc_raw(ctx, &state, rimmed, 1, "pieces of surface"));
    memset(state, OUT, rimmed);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            state[(y + 1) * row + x + 1] = p->flags[(ptrdiff_t)y * w + x] & SDM_QA_VALID ? NEW : OUT;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const Member first = {(ptrdiff_t)y * w + x, (y + 1) * row + x + 1};
            if (state[first.rimmed] != NEW)
                continue;
            if (continues_large(p, first, state)) { /* most pixels */
                state[first.rimmed] = LARGE;
                continue;
            }
            const int count = find_piece(p, first, large, state, piece);
            if (count < small || (count < weak && is_weak(p, state, piece, count, least)))
                for (int k = 0; k < count; k++)
                    p->flags[piece[k].at] = SDM_QA_ISOLATED;
        }
    return SDM_OK;
}
