/* Data passes of LDS accesses and why their banks conflict, pattern by pattern.
 *
 * isaprof.sim.timing.lds says how and does the same in NumPy, where there is no
 * compiler; the tests compare the two.
 */
#include "shapes.h"

enum { LANES = 128, MAX_BANKS = 128, WHO = 64 };

/* Lanes that are checked together, by the kind of access: isaprof.sim.timing.lds.Groups. */
typedef struct {
    const int8_t *group; /* of each lane, -1: none */
    int64_t groups, banks;
} pattern_t;

/* Room for one access; a lane that occurs again belongs to a later round. */
typedef struct {
    int64_t *dword;
    int32_t *at, *member, *next, *slot;
    int8_t *who;
    int64_t rounds;
} work_t;

/* Columns by round and lane to ``at``; where each round ends to ``ends`` (room for as many as columns). */
static void in_rounds(work_t *w, const int8_t *lanes, int64_t n, int32_t *ends)
{
    int ascending = 1;
    for (int64_t i = 1; i < n; i++) ascending &= lanes[i] > lanes[i - 1];
    if (ascending) {
        for (int64_t i = 0; i < n; i++) w->at[i] = (int32_t)i;
        ends[0] = (int32_t)n, w->rounds = 1;
        return;
    }
    int32_t seen[LANES] = {0};
    w->rounds = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t round = seen[lanes[i]]++;
        if (round == w->rounds) memset(w->slot + LANES * w->rounds++, 0xff, sizeof(int32_t) * LANES);
        w->slot[LANES * round + lanes[i]] = (int32_t)i;
    }
    int32_t m = 0;
    for (int64_t round = 0; round < w->rounds; round++) {
        for (int lane = 0; lane < LANES; lane++)
            if (w->slot[LANES * round + lane] >= 0) w->at[m++] = w->slot[LANES * round + lane];
        ends[round] = m;
    }
}

/* Dwords that ``n`` columns want from the busiest bank. With ``who`` (room for WHO): lanes that want them, -1 behind. */
static int64_t busiest(work_t *w, const int64_t *a, const int8_t *lanes, const int32_t *columns, int64_t n,
                       int64_t dwords, int64_t banks, int shared, int8_t *who)
{
    int32_t head[MAX_BANKS], count[MAX_BANKS], m = 0;
    int64_t best = 0, mask = banks & (banks - 1) ? 0 : banks - 1, shift = 2, low = 0;
    /* aligned accesses of 2 or 4 dwords meet in all their banks or in none: one for all */
    for (int64_t i = 0; i < n; i++) low |= a[columns[i]] >> 2;
    if (mask && !(dwords & (dwords - 1)) && dwords <= banks && !(low & (dwords - 1)))
        for (; dwords > 1; dwords /= 2) shift++, banks /= 2, mask /= 2;
    for (int64_t b = 0; b < banks; b++) head[b] = -1, count[b] = 0;
    for (int64_t i = 0; i < n; i++) {
        /* a division takes longer than all the rest */
        int64_t d = a[columns[i]] >> shift, bank = mask ? d & mask : (d % banks + banks) % banks;
        for (int64_t end = d + dwords; d < end; d++, bank = bank + 1 == banks ? 0 : bank + 1) {
            int32_t k = shared ? head[bank] : -1;
            while (k >= 0 && w->dword[k] != d) k = w->next[k];
            if (k >= 0) continue;
            w->dword[m] = d, w->who[m] = lanes[columns[i]], w->next[m] = head[bank];
            head[bank] = m++;
            if (++count[bank] > best) best = count[bank];
        }
    }
    if (who) {
        int64_t b = 0, left = best;
        while (count[b] < best) b++;
        memset(who, 0xff, WHO);
        /* the last one comes first */
        for (int32_t k = head[b]; k >= 0; k = w->next[k])
            if (--left < WHO) who[left] = w->who[k];
    }
    return best;
}

/* Passes of one access; ``least``: without conflicts. With ``who``: one of the groups with the most. */
static int64_t passes_of(work_t *w, const pattern_t *p, const int64_t *a, const int8_t *lanes,
                         const int32_t *ends, int64_t dwords, int shared, int64_t *least, int8_t *who)
{
    int64_t total = 0, worst = 0;
    *least = 0;
    for (int64_t round = 0, from = 0; round < w->rounds; from = ends[round++]) {
        int32_t first[LANES + 1] = {0};
        for (int64_t i = from; i < ends[round]; i++) first[p->group[lanes[w->at[i]]] + 1]++;
        /* those of no group lie in front */
        for (int64_t g = 1; g <= p->groups; g++) first[g] += first[g - 1];
        int32_t put[LANES + 1];
        put[0] = 0;
        memcpy(put + 1, first, sizeof(int32_t) * (size_t)p->groups);
        for (int64_t i = from; i < ends[round]; i++) w->member[put[p->group[lanes[w->at[i]]] + 1]++] = w->at[i];
        for (int64_t g = 0; g < p->groups; g++) {
            if (first[g + 1] == first[g]) { /* the pass of a group is not skipped */
                total++, ++*least;
                continue;
            }
            int8_t found[WHO];
            int64_t n = busiest(w, a, lanes, w->member + first[g], first[g + 1] - first[g], dwords, p->banks, shared,
                                who ? found : NULL);
            if (who && n > worst) memcpy(who, found, WHO);
            worst = n > worst ? n : worst;
            total += n;
            ++*least;
        }
    }
    *least = *least ? *least : 1;
    return total;
}

/* The most frequent distance from a lane to the next, the smallest of several; INT64_MIN of one lane. */
static int64_t stride_of(const work_t *w, const int64_t *a, int64_t n)
{
    int64_t best = INT64_MIN, times = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t step = a[w->at[i]] - a[w->at[i - 1]], m = 0;
        for (int64_t j = 1; j < n; j++) m += a[w->at[j]] - a[w->at[j - 1]] == step;
        if (m > times || (m == times && step < best)) best = step, times = m;
    }
    return best;
}

typedef struct {
    shapes_t lanes, moved; /* by lanes alone (its ``event``: how many are named); named patterns */
    int64_t *zero, limit, n, *stride;
    int8_t *who;
} named_t;

/* The name of a conflict; -2: it needs a new one, -1: there are too many, -3: no memory. ``to``: addresses moved. */
static int32_t name_of(named_t *t, const shape_t *s, int64_t *to, int32_t **place, int32_t *of_lanes)
{
    if (make_room(&t->lanes) || make_room(&t->moved)) return -3;
    int64_t base = (s->addresses[0] >> 2) * 4;
    for (int64_t i = 0; i < s->count; i++) to[i] = s->addresses[i] - base;
    shape_t moved = *s, lanes = *s;
    moved.addresses = to, lanes.addresses = t->zero, lanes.event = 0;
    *place = place_of(&t->moved, &moved);
    if (**place >= 0) return t->moved.shape[**place].event;
    const shape_t *last = *of_lanes < 0 ? NULL : t->lanes.shape + *of_lanes;
    if (!last || last->form != s->form || last->count != s->count || memcmp(last->lanes, s->lanes, (size_t)s->count)) {
        int32_t *at = place_of(&t->lanes, &lanes);
        *of_lanes = *at < 0 ? keep(&t->lanes, at, &lanes) : *at;
    }
    if (t->lanes.shape[*of_lanes].event >= t->limit) return -1;
    t->lanes.shape[*of_lanes].event++;
    moved.addresses = malloc(sizeof(int64_t) * (size_t)s->count);
    if (!moved.addresses) return -3;
    memcpy((int64_t *)moved.addresses, to, sizeof(int64_t) * (size_t)s->count);
    moved.event = (int32_t)t->n++;
    keep(&t->moved, *place, &moved);
    return -2;
}

/* As tl_accesses, of which ``same`` comes; ``widest`` dwords and ``most`` lanes of an access.
 *
 * ``group``, ``groups``, ``banks``: eight patterns, reads and writes of up to 4, 8, 12 and more bytes a lane.
 * Out, by event: passes, least, and reason; of each reason its stride (INT64_MIN: none) and WHO lanes, -1 behind.
 * How many reasons, or -1 without memory.
 */
int64_t tl_local(int64_t waves, const int64_t *events, const int64_t *const *addresses, const int8_t *const *lanes,
                 const int64_t *count, const int32_t *bytes, const uint8_t *store, const uint8_t *atomic,
                 const int32_t *same, const int8_t *group, const int64_t *groups, const int64_t *banks, int64_t widest,
                 int64_t most, int64_t limit, int32_t *passes, int32_t *least, int32_t *reason, int64_t *stride,
                 int8_t *who)
{
    size_t columns = (size_t)(most + 1), nodes = columns * (size_t)widest;
    work_t w = {malloc(8 * nodes), malloc(4 * columns), malloc(4 * columns), malloc(4 * nodes),
                malloc(4 * LANES * columns), malloc(nodes), 0};
    int32_t *ends = malloc(4 * columns), of_lanes = -1;
    int64_t *moved = malloc(8 * columns), e = 0;
    named_t names = {{0}, {0}, calloc(columns, 8), limit, 0, stride, who};
    int failed = !w.dword || !w.at || !w.member || !w.next || !w.slot || !w.who || !ends || !moved || !names.zero;
    for (int64_t v = 0; v < waves && !failed; v++) {
        const int64_t *a = addresses[v];
        const int8_t *l = lanes[v];
        for (int64_t end = e + events[v]; e < end && !failed; a += count[e], l += count[e], e++) {
            passes[e] = least[e] = 0, reason[e] = -1;
            if (same[e] < 0) continue;
            if (same[e] != e) {
                passes[e] = passes[same[e]], least[e] = least[same[e]], reason[e] = reason[same[e]];
                continue;
            }
            int kind = (store[e] ? 4 : 0) + (bytes[e] <= 4 ? 0 : bytes[e] <= 8 ? 1 : bytes[e] <= 12 ? 2 : 3);
            pattern_t p = {group + kind * LANES, groups[kind], banks[kind]};
            int64_t dwords = bytes[e] > 4 ? (bytes[e] + 3) / 4 : 1, fewest;
            in_rounds(&w, l, count[e], ends);
            passes[e] = (int32_t)passes_of(&w, &p, a, l, ends, dwords, !atomic[e], &fewest, NULL);
            least[e] = (int32_t)fewest;
            if (passes[e] <= least[e]) continue;
            shape_t s = {a, l, count[e], 0, 0, bytes[e] * 4 + (store[e] ? 2 : 0) + (atomic[e] ? 1 : 0)};
            int32_t *place;
            reason[e] = name_of(&names, &s, moved, &place, &of_lanes);
            failed = reason[e] == -3;
            if (reason[e] != -2) continue;
            reason[e] = (int32_t)names.n - 1;
            passes_of(&w, &p, moved, l, ends, dwords, !atomic[e], &fewest, who + WHO * reason[e]);
            stride[reason[e]] = stride_of(&w, moved, ends[0]);
        }
    }
    for (int64_t i = 0; i < names.moved.n; i++) free((int64_t *)names.moved.shape[i].addresses);
    release(&names.moved), release(&names.lanes);
    free(w.dword), free(w.at), free(w.member), free(w.next), free(w.slot), free(w.who);
    free(ends), free(moved), free(names.zero);
    return failed ? -1 : names.n;
}
