/* Addresses of memory accesses, reduced to what the issue loop needs.
 *
 * isaprof.sim.timing.accesses does the same in NumPy, where there is no
 * compiler; the tests compare the two. Lanes stay where the executor put them,
 * each wave's for itself.
 */
#include "shapes.h"

/* isaprof.sim.timing.accesses */
enum { VECTOR, LOCAL };

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
                if ((status = make_room(&table))) break;
                int32_t *place = place_of(&table, &s);
                same[e] = table.shape[*place < 0 ? keep(&table, place, &s) : *place].event;
            }
            lines_ptr[e + 1] = n_lines;
            a += n, l += n;
        }
    }
    release(&table);
    return status;
}
