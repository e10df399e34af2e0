/* The labels of a row of sums in vectors of W bytes: included by sgm_rows.c with W set.  Right pixels' bests
 * so far lie in the lanes of the labels that they meet at the pixel x: from pixel to pixel they move a lane
 * down. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define P(op) JOIN(op, W)
#define vec P(vec)

VEC int P(best_of)(const uint16_t *sum, int n)
{
    vec least = P(load)(sum);
    for (int i = 1; i < n; i++)
        least = P(min_16)(least, P(load)(sum + i * (W / 2)));
    const vec all = P(all_16)(P(least_16)(least));
    int i = 0, at = P(first_equal)(P(load)(sum), all);
    while (at == 64 && ++i < n)
        at = P(first_equal)(P(load)(sum + i * (W / 2)), all);
    return i * (W / 2) + at;
}

/* Every right pixel a lane down; the first lane's pixel leaves. */
VEC void P(slide)(vec *best, vec *label, int n)
{
    const vec none = P(set_16)(-1);
    for (int i = 0; i < n; i++) {
        best[i] = P(down_16)(best[i], i + 1 < n ? best[i + 1] : none);
        label[i] = P(down_16)(label[i], i + 1 < n ? label[i + 1] : none);
    }
}

VEC void P(leave)(const SdmSgmPick *p, ptrdiff_t right, unsigned label)
{
    if (right >= 0 && right < p->width)
        p->right[right] = label < (unsigned)p->labels ? (uint16_t)label : UINT16_MAX;
}

VEC unsigned P(lowest)(vec a)
{
#if W == 64
    return (uint16_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(a));
#elif W == 32
    return (uint16_t)_mm_cvtsi128_si32(_mm256_castsi256_si128(a));
#else
    return (uint16_t)_mm_cvtsi128_si32(a);
#endif
}

/* best, label: n vectors each; mine: numbers of the labels */
VEC void P(rights)(const SdmSgmPick *p, int n, vec *best, vec *label, const vec *mine)
{
    for (int i = 0; i < n; i++)
        best[i] = label[i] = P(set_16)(-1);
    for (ptrdiff_t x = 0; x < p->width; x++) {
        for (int i = 0; i < n; i++)
            P(take_less)(P(load)(p->sum + x * p->pitch + i * (W / 2)), mine[i], &best[i], &label[i]);
        P(leave)(p, x + p->first, P(lowest)(label[0]));
        P(slide)(best, label, n);
    }
    for (ptrdiff_t x = p->width; x < p->width + p->labels; x++) {
        P(leave)(p, x + p->first, P(lowest)(label[0]));
        P(slide)(best, label, n);
    }
}

static void P(pick_row)(const SdmSgmPick *p)
{
    enum { FEW = 4 };
    const int n = p->pitch / (W / 2);
    vec few[3][FEW], *const room = (vec *)(void *)p->room;
    vec *const mine = n <= FEW ? few[2] : room + 2 * (ptrdiff_t)n;
    for (ptrdiff_t x = 0; x < p->width; x++) {
        const uint16_t *const sum = p->sum + x * p->pitch;
        p->left[x] = (uint16_t)(n == 2 ? P(best_of)(sum, 2) : P(best_of)(sum, n));
    }
    if (!p->right)
        return;
    for (ptrdiff_t x = 0; x < p->width; x++)
        p->right[x] = UINT16_MAX;
    for (int i = 0; i < p->pitch; i++)
        ((uint16_t *)mine)[i] = (uint16_t)i;
    if (n == 1)
        P(rights)(p, 1, few[0], few[1], mine);
    else if (n == 2)
        P(rights)(p, 2, few[0], few[1], mine);
    else if (n == 4)
        P(rights)(p, 4, few[0], few[1], mine);
    else
        P(rights)(p, n, room, room + n, mine);
}

#undef JOIN_
#undef JOIN
#undef P
#undef vec
