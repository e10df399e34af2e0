/* A row of a pass of semi-global matching in vectors of W bytes, labels of E bits: included by sgm_rows.c
 * with both set. The pixel's labels are `n` vectors; n is a constant where the function is made for one, so
 * that a path along the row stays in registers. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define O(op) JOIN(JOIN(op, E), W) /* min -> min_8_64 */
#define P(op) JOIN(op, W)
#define vec P(vec)
enum { O(EACH) = W * 8 / E /* labels of a vector */ };

/* Costs of vector i of a pixel. */
VEC vec O(cost)(const uint8_t *cost, int i)
{
#if E == 8
    return P(load)(cost + i * W);
#else
    return P(wide)(cost + i * (W / 2));
#endif
}

/* Path costs of a pixel: from those of the pixel before (n vectors) and their least into `to`, which may be
 * the same; the least of the new ones. */
VEC __m128i O(walk)(const vec *from, __m128i m, const uint16_t *p2, vec p1, const uint8_t *cost, int n,
                    vec *to)
{
    const vec pad = O(set)(-1), least = O(all)(m), jump = O(add)(least, O(set)(*p2));
    vec below = pad, all = pad;
    for (int i = 0; i < n; i++) {
        const vec a = from[i], above = i + 1 < n ? from[i + 1] : pad;
        const vec beside = O(add)(O(min)(O(up)(a, below), O(down)(a, above)), p1);
        const vec best = O(min)(O(min)(a, beside), jump);
        to[i] = O(add)(O(cost)(cost, i), O(sub)(best, least));
        all = O(min)(all, to[i]);
        below = a;
    }
    return O(least)(all);
}

/* Put the sums of the four paths at a pixel, or add them to what is there. */
VEC void O(sums)(const vec *const path[SDM_SGM_PATHS], const bool *goes, int n, uint16_t *sum, bool add)
{
    for (int i = 0; i < n; i++) {
#if E == 8
        vec even = P(evens)(path[0][i]), odd = P(odds)(path[0][i]);
        for (int k = 1; k < SDM_SGM_PATHS; k++)
            if (goes[k]) {
                even = P(add_16)(even, P(evens)(path[k][i]));
                odd = P(add_16)(odd, P(odds)(path[k][i]));
            }
        P(gather)(sum + i * W, even, odd, add);
#else
        vec all = path[0][i];
        for (int k = 1; k < SDM_SGM_PATHS; k++)
            if (goes[k])
                all = O(add)(all, path[k][i]);
        P(store)(sum + i * (W / 2), add ? O(add)(all, P(load)(sum + i * (W / 2))) : all);
#endif
    }
}

VEC void O(copy)(const vec *from, int n, vec *to)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

/* along, across: path 0 and, of the row before, path 1 at the pixel before; nothing: zeros; all n vectors. */
VEC void O(row_of)(const SdmSgmRow *r, int n, vec *along, vec *across, vec *kept, const vec *nothing)
{
    const vec p1 = O(set)(r->p1);
    const bool goes[SDM_SGM_PATHS] = {r->sum, r->p2[1], r->p2[2], r->p2[3]};
    const ptrdiff_t begin = r->step > 0 ? 0 : r->width - 1;
    vec *const row[SDM_SGM_PATHS] = {NULL, r->path[1], r->path[2], r->path[3]};
    __m128i along_least = _mm_setzero_si128(), across_least = along_least;
    O(copy)(nothing, n, along);
    O(copy)(nothing, n, across);
    for (ptrdiff_t left = r->width, x = begin; left > 0; left--, x += r->step) {
        const uint8_t *const cost = r->cost + x * r->pitch;
        vec *const here[SDM_SGM_PATHS] = {along, row[1] + x * n, row[2] + x * n, row[3] + x * n};
        if (goes[0])
            along_least = O(walk)(along, along_least, r->p2[0] + x, p1, cost, n, along);
        if (goes[1]) {
            const __m128i least = _mm_cvtsi32_si128(r->least[1][x]);
            O(copy)(here[1], n, kept);
            const __m128i m = O(walk)(across, across_least, r->p2[1] + x, p1, cost, n, here[1]);
            r->least[1][x] = (uint16_t)_mm_cvtsi128_si32(m);
            O(copy)(kept, n, across);
            across_least = least;
        }
        if (goes[2]) {
            const __m128i least = _mm_cvtsi32_si128(r->least[2][x]);
            const __m128i m = O(walk)(here[2], least, r->p2[2] + x, p1, cost, n, here[2]);
            r->least[2][x] = (uint16_t)_mm_cvtsi128_si32(m);
        }
        if (goes[3]) {
            const bool last = left == 1;
            const __m128i least = _mm_cvtsi32_si128(last ? 0 : r->least[3][x + r->step]);
            const vec *const from = last ? nothing : row[3] + (x + r->step) * n;
            const __m128i m = O(walk)(from, least, r->p2[3] + x, p1, cost, n, here[3]);
            r->least[3][x] = (uint16_t)_mm_cvtsi128_si32(m);
        }
        if (goes[0])
            O(sums)((const vec *const[]){along, here[1], here[2], here[3]}, goes, n, r->sum + x * r->pitch,
                    r->add);
    }
}

static void O(row)(const SdmSgmRow *r)
{
    enum { FEW = 4 };
    const int n = r->pitch / O(EACH);
    vec few[3][FEW], *const room = r->path[0], none[FEW];
    for (int i = 0; i < FEW; i++)
        none[i] = O(set)(0);
    if (n == 1)
        O(row_of)(r, 1, few[0], few[1], few[2], none);
    else if (n == 2)
        O(row_of)(r, 2, few[0], few[1], few[2], none);
    else if (n == 4)
        O(row_of)(r, 4, few[0], few[1], few[2], none);
    else {
        memset(room + 3 * (ptrdiff_t)n, 0, (size_t)n * sizeof *room);
        O(row_of)(r, n, room, room + n, room + 2 * (ptrdiff_t)n, room + 3 * (ptrdiff_t)n);
    }
}

#undef JOIN_
#undef JOIN
#undef O
#undef P
#undef vec
#undef E
