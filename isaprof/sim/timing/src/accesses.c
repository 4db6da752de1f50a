/* Addresses of memory accesses, reduced to what the issue loop needs.
 *
 * isaprof.sim.timing.accesses does the same in NumPy, where there is no
 * compiler; the tests compare the two. Lanes stay where the executor put them,
 * each wave's for itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* isaprof.sim.timing.accesses */
enum { VECTOR, LOCAL };

typedef struct {
    const int64_t *addresses;
    const int8_t *lanes;
    int64_t count;
    uint64_t hash;
    int32_t event, form;
} shape_t;

typedef struct {
    shape_t *shape;
    int32_t *slot;
    int64_t n, room, slots;
} shapes_t;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Four independent chains, as the processor multiplies several numbers at once. */
static uint64_t hash_of(const shape_t *s)
{
    uint64_t h[4] = {(uint64_t)s->form, (uint64_t)s->count, 3, 5};
    int64_t i = 0;
    for (; i + 4 <= s->count; i += 4)
        for (int j = 0; j < 4; j++) h[j] = mix(h[j], (uint64_t)s->addresses[i + j] * 256 + (uint8_t)s->lanes[i + j]);
    for (; i < s->count; i++) h[0] = mix(h[0], (uint64_t)s->addresses[i] * 256 + (uint8_t)s->lanes[i]);
    return mix(mix(h[0], h[1]), mix(h[2], h[3]));
}

static int equal(const shape_t *a, const shape_t *b)
{
    return a->hash == b->hash && a->form == b->form && a->count == b->count &&
           !memcmp(a->addresses, b->addresses, sizeof(int64_t) * (size_t)a->count) &&
           !memcmp(a->lanes, b->lanes, (size_t)a->count);
}

static int grow(shapes_t *t)
{
    int64_t room = t->room ? t->room * 2 : 512, slots = room * 2;
    shape_t *shape = realloc(t->shape, sizeof(shape_t) * (size_t)room);
    if (!shape) return -1;
    t->shape = shape;
    int32_t *slot = malloc(sizeof(int32_t) * (size_t)slots);
    if (!slot) return -1;
    free(t->slot);
    memset(slot, 0xff, sizeof(int32_t) * (size_t)slots);
    t->slot = slot, t->room = room, t->slots = slots;
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at = shape[i].hash & (uint64_t)(slots - 1);
        while (slot[at] >= 0) at = (at + 1) & (uint64_t)(slots - 1);
        slot[at] = (int32_t)i;
    }
    return 0;
}

/* The first event with the same lanes and addresses, which may be this one; -1 without memory. */
static int32_t first_like(shapes_t *t, shape_t *s)
{
    if (t->n == t->room && grow(t)) return -1;
    s->hash = hash_of(s);
    uint64_t at = s->hash & (uint64_t)(t->slots - 1);
    for (; t->slot[at] >= 0; at = (at + 1) & (uint64_t)(t->slots - 1))
        if (equal(t->shape + t->slot[at], s)) return t->shape[t->slot[at]].event;
    t->slot[at] = (int32_t)t->n;
    t->shape[t->n++] = *s;
    return s->event;
}

/* Distinct lines of the addresses' first and last bytes, ascending, to ``to``; how many. */
static int64_t distinct(const int64_t *a, int64_t n, int64_t last, int64_t shift, int64_t *to)
{
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++)
        for (int end = 0; end < 2; end++) {
            int64_t line = (a[i] + (end ? last : 0)) >> shift, at = m;
            if (m && to[m - 1] == line) continue;
            while (at && to[at - 1] > line) at--;
            if (at && to[at - 1] == line) continue;
            memmove(to + at + 1, to + at, sizeof *to * (size_t)(m - at));
            to[at] = line;
            m++;
        }
    return m;
}

/* ``events`` of each wave, where its addresses and lanes are; the rest by event, one wave behind the other.
 *
 * Out: lowest and highest byte; where each vector access's cache lines begin in ``lines`` (room for two a
 * lane); ``same``: the first event with the same lanes and addresses, for LDS accesses of lanes, else -1.
 * 0, or -1 without memory.
 */
int tl_accesses(int64_t waves, const int64_t *events, const int64_t *const *addresses, const int8_t *const *lanes,
                const int64_t *count, const int32_t *bytes, const int32_t *space, const uint8_t *store,
                const uint8_t *atomic, int64_t shift, int64_t *lowest, int64_t *highest, int64_t *lines_ptr,
                int64_t *lines, int32_t *same)
{
    shapes_t table = {0};
    int64_t e = 0, n_lines = 0;
    int status = 0;
    lines_ptr[0] = 0;
    for (int64_t w = 0; w < waves && !status; w++) {
        const int64_t *a = addresses[w];
        const int8_t *l = lanes[w];
        for (int64_t end = e + events[w]; e < end; e++) {
            int64_t n = count[e], low = n ? a[0] : 0, high = low;
            for (int64_t i = 1; i < n; i++) {
                low = a[i] < low ? a[i] : low;
                high = a[i] > high ? a[i] : high;
            }
            high += bytes[e] - 1;
            lowest[e] = low, highest[e] = high, same[e] = -1;
            if (space[e] == VECTOR && n) {
                if (low >> shift == high >> shift) lines[n_lines++] = low >> shift;
                else n_lines += distinct(a, n, bytes[e] - 1, shift, lines + n_lines);
            } else if (space[e] == LOCAL && n && l[0] >= 0) {
                shape_t s = {a, l, n, 0, (int32_t)e, bytes[e] * 4 + (store[e] ? 2 : 0) + (atomic[e] ? 1 : 0)};
                same[e] = first_like(&table, &s);
                if (same[e] < 0) {
                    status = -1;
                    break;
                }
            }
            lines_ptr[e + 1] = n_lines;
            a += n, l += n;
        }
    }
    free(table.shape);
    free(table.slot);
    return status;
}
