/* A row of a pass of semi-global matching, path costs of E bits: included by sgm_rows.c with E set.  The
 * labels of a pixel are `n` vectors; n is a compile-time constant in the specialised copies, so that a
 * path along the row stays in registers. */
// SPDX-License-Identifier: Apache-2.0

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define O(op) JOIN(v, E, op) /* _min -> v8_min */
#define vec JOIN(v, E, )

/* Costs of vector i of a pixel. */
VEC vec O(_costs)(const uint8_t *cost, int i)
{
#if E == 8
    return v8_load(cost + i * LANES);
#else
    return v16_from_costs(cost + i * VL);
#endif
}

/* Path costs of a pixel into `to`, from those of the pixel before (n vectors, may be `to`) and their least
 * m; returns the least of the new ones. */
VEC Least O(_walk)(const vec *from, Least m, const uint16_t *p2, vec p1, const uint8_t *cost, int n, vec *to)
{
    const vec pad = O(_set)(-1), least = O(_all)(m), jump = O(_adds)(least, O(_set)(*p2));
    vec below = pad, all = pad;
    for (int i = 0; i < n; i++) {
        const vec a = from[i], above = i + 1 < n ? from[i + 1] : pad;
        const vec beside = O(_adds)(O(_min)(O(_up)(a, below, 1), O(_down)(a, above, 1)), p1);
        const vec best = O(_min)(O(_min)(a, beside), jump);
        to[i] = O(_adds)(O(_costs)(cost, i), O(_sub)(best, least));
        all = O(_min)(all, to[i]);
        below = a;
    }
    return O(_least)(all);
}

/* Store the sums of the four paths at a pixel, or add them to the stored ones. */
VEC void O(_sums)(const vec *const path[SDM_SGM_PATHS], const bool *goes, int n, uint16_t *sum, bool add)
{
    for (int i = 0; i < n; i++) {
#if E == 8
        v16 even = v8_evens(path[0][i]), odd = v8_odds(path[0][i]), at[2];
        for (int k = 1; k < SDM_SGM_PATHS; k++)
            if (goes[k]) {
                even = v16_add(even, v8_evens(path[k][i]));
                odd = v16_add(odd, v8_odds(path[k][i]));
            }
        v16_join(even, odd, &at[0], &at[1]);
        for (int half = 0; half < 2; half++)
            put_sum(sum + i * LANES + half * VL, at[half], add);
#else
        vec all = path[0][i];
        for (int k = 1; k < SDM_SGM_PATHS; k++)
            if (goes[k])
                all = v16_adds(all, path[k][i]);
        put_sum(sum + i * VL, all, add);
#endif
    }
}

VEC void O(_copy)(const vec *from, int n, vec *to)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

/* along: path 0 at the pixel before; across: path 1 of the row before at the pixel before; kept: scratch;
 * nothing: zeros; n vectors each. */
VEC void O(_row_of)(const SdmSgmRow *r, int n, vec *along, vec *across, vec *kept, const vec *nothing)
{
    const vec p1 = O(_set)(r->p1);
    const bool goes[SDM_SGM_PATHS] = {r->sum, r->p2[1], r->p2[2], r->p2[3]};
    const ptrdiff_t begin = r->step > 0 ? 0 : r->width - 1;
    vec *const row[SDM_SGM_PATHS] = {NULL, r->path[1], r->path[2], r->path[3]};
    Least along_least = least_set(0), across_least = along_least;
    O(_copy)(nothing, n, along);
    O(_copy)(nothing, n, across);
    for (ptrdiff_t left = r->width, x = begin; left > 0; left--, x += r->step) {
        const uint8_t *const cost = r->cost + x * r->pitch;
        vec *const here[SDM_SGM_PATHS] = {along, row[1] + x * n, row[2] + x * n, row[3] + x * n};
        if (goes[0])
            along_least = O(_walk)(along, along_least, r->p2[0] + x, p1, cost, n, along);
        if (goes[1]) {
            const Least least = least_set(r->least[1][x]);
            O(_copy)(here[1], n, kept);
            const Least m = O(_walk)(across, across_least, r->p2[1] + x, p1, cost, n, here[1]);
            r->least[1][x] = (uint16_t)least_get(m);
            O(_copy)(kept, n, across);
            across_least = least;
        }
        if (goes[2]) {
            const Least least = least_set(r->least[2][x]);
            const Least m = O(_walk)(here[2], least, r->p2[2] + x, p1, cost, n, here[2]);
            r->least[2][x] = (uint16_t)least_get(m);
        }
        if (goes[3]) {
            const bool last = left == 1;
            const Least least = least_set(last ? 0 : r->least[3][x + r->step]);
            const vec *const from = last ? nothing : row[3] + (x + r->step) * n;
            const Least m = O(_walk)(from, least, r->p2[3] + x, p1, cost, n, here[3]);
            r->least[3][x] = (uint16_t)least_get(m);
        }
        if (goes[0])
            O(_sums)
        ((const vec *const[]){along, here[1], here[2], here[3]}, goes, n, r->sum + x * r->pitch, r->add);
    }
}

static void O(_row)(const SdmSgmRow *r)
{
    enum { FEW = 4 };
    const int n = r->pitch * E / 8 / LANES;
    vec few[3][FEW], *const room = r->path[0], none[FEW];
    for (int i = 0; i < FEW; i++)
        none[i] = O(_set)(0);
    if (n == 1)
        O(_row_of)(r, 1, few[0], few[1], few[2], none);
    else if (n == 2)
        O(_row_of)(r, 2, few[0], few[1], few[2], none);
    else if (n == 4)
        O(_row_of)(r, 4, few[0], few[1], few[2], none);
    else {
        memset(room + 3 * (ptrdiff_t)n, 0, (size_t)n * sizeof *room);
        O(_row_of)(r, n, room, room + n, room + 2 * (ptrdiff_t)n, room + 3 * (ptrdiff_t)n);
    }
}

#undef JOIN_
#undef JOIN
#undef O
#undef vec
#undef E
