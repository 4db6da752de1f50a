/* States of waves from their records: isaprof.sim.timing.records._states, compiled. */
#include <stdint.h>

enum { IDLE = 1, EXEC, WAIT, STALL };

typedef struct {
    int32_t *wave;
    int64_t *begin, *duration;
    int8_t *state;
    int64_t n;
} out_t;

/* From ``from`` to ``to``; one more stretch, or more of the wave's last one (which began behind ``first``). */
static void stretch(out_t *o, int64_t first, int32_t wave, int64_t from, int64_t to, int8_t state)
{
    if (to <= from) return;
    if (o->n > first && o->state[o->n - 1] == state) {
        o->duration[o->n - 1] += to - from;
        return;
    }
    o->wave[o->n] = wave, o->begin[o->n] = from, o->duration[o->n] = to - from, o->state[o->n++] = state;
}

static int64_t inside(int64_t t, int64_t begin, int64_t end)
{
    t = t < end ? t : end;
    return t > begin ? t : begin;
}

/* ``first``: each wave's first record, and their number. Room for two states a record and one a wave. */
int64_t tl_states(int64_t waves, const int64_t *first, const int64_t *begin, const int64_t *end, const int64_t *time,
                  const int64_t *stall, const uint8_t *immediate, int32_t *wave, int64_t *from, int64_t *duration,
                  int8_t *state)
{
    out_t o = {wave, from, duration, state, 0};
    for (int64_t w = 0; w < waves; w++) {
        int64_t begun = o.n, at = inside(begin[w], begin[w], end[w]);
        int8_t now = IDLE;
        for (int64_t i = first[w]; i < first[w + 1]; i++) {
            int64_t ready = inside(time[i], begin[w], end[w]);
            stretch(&o, begun, (int32_t)w, at, ready, now);
            at = inside(time[i] + stall[i], begin[w], end[w]);
            stretch(&o, begun, (int32_t)w, ready, at, immediate[i] ? WAIT : STALL);
            now = EXEC;
        }
        stretch(&o, begun, (int32_t)w, at, end[w], now);
    }
    return o.n;
}
