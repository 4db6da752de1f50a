/* The issue loop of isaprof.sim.timing.engine, compiled.
 *
 * engine.py is the reference: the same waves give the same records here, and
 * the tests compare the two. What happens rarely (the dispatcher's choice of
 * SIMD and slot) stays in Python and is called when a wave ends. Times are
 * cycles; everything is a flat array that the caller owns, but the caches.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NEVER (-((int64_t)1 << 40))
#define WAVE_BITS 20
#define WAVE_MASK (((int64_t)1 << WAVE_BITS) - 1)

/* isaprof.sim.timing.scoreboard.Kind, in its order */
enum { VALU, TRANS, MATRIX, SALU, SMEM, VMEM, LDS, EXPORT, BRANCH, MESSAGE, WAIT, DELAY, IMMED, BARRIER,
       SIGNAL, BARRIER_WAIT, END, DELAY_ALU, WAIT_ALU, SKIP, KINDS };
/* isaprof.sim.timing.scoreboard.Slot */
enum { SLOT_VALU = 0, SLOT_SALU = 4, SLOT_LDS_TAKEN = 11, SLOTS = 12 };
/* isaprof.sim.timing.lines */
enum { PORT_VALU = 0, PORT_NONE = 7, PORTS = 8, REGISTERS = 256 };
/* isaprof.sim.timing.paths */
enum { VECTOR, LOCAL, SCALAR };

enum { SIDE_FIRST, SIDE_EITHER, SIDE_SECOND };

/* -- least-recently-used sets of lines ------------------------------------------------------------ */

typedef struct { int64_t key, ready; int32_t chain, older, younger; } node_t;
typedef struct {
    int64_t capacity;
    int32_t count, room, buckets, oldest, youngest, failed;
    node_t *node;
    int32_t *bucket;
} cache_t;

static uint32_t hash_of(int64_t key)
{
    return (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32);
}

static int cache_init(cache_t *c, int64_t capacity)
{
    memset(c, 0, sizeof *c);
    c->capacity = capacity < 1 ? 1 : capacity;
    c->room = 64;
    c->buckets = 64;
    c->oldest = c->youngest = -1;
    c->node = malloc(sizeof(node_t) * 64);
    c->bucket = malloc(sizeof(int32_t) * 64);
    if (!c->node || !c->bucket) return -1;
    memset(c->bucket, 0xff, sizeof(int32_t) * 64);
    return 0;
}

static void cache_free(cache_t *c)
{
    free(c->node);
    free(c->bucket);
}

static int cache_grow(cache_t *c)
{
    int32_t room = c->room * 2;
    node_t *node = realloc(c->node, sizeof(node_t) * (size_t)room);
    if (!node) return -1;
    c->node = node;
    int32_t *bucket = malloc(sizeof(int32_t) * (size_t)room);
    if (!bucket) return -1;
    free(c->bucket);
    c->bucket = bucket;
    c->room = c->buckets = room;
    memset(bucket, 0xff, sizeof(int32_t) * (size_t)room);
    for (int32_t i = 0; i < c->count; i++) {
        uint32_t b = hash_of(node[i].key) & (uint32_t)(room - 1);
        node[i].chain = bucket[b];
        bucket[b] = i;
    }
    return 0;
}

static void unlink_age(cache_t *c, int32_t i)
{
    node_t *n = c->node + i;
    if (n->older >= 0) c->node[n->older].younger = n->younger; else c->oldest = n->younger;
    if (n->younger >= 0) c->node[n->younger].older = n->older; else c->youngest = n->older;
}

static void link_youngest(cache_t *c, int32_t i)
{
    node_t *n = c->node + i;
    n->older = c->youngest;
    n->younger = -1;
    if (c->youngest >= 0) c->node[c->youngest].younger = i; else c->oldest = i;
    c->youngest = i;
}

/* The line's arrival, which makes it the youngest; NEVER where it is not there. */
static int64_t cache_touch(cache_t *c, int64_t key)
{
    int32_t i = c->bucket[hash_of(key) & (uint32_t)(c->buckets - 1)];
    while (i >= 0 && c->node[i].key != key) i = c->node[i].chain;
    if (i < 0) return NEVER;
    if (i != c->youngest) {
        unlink_age(c, i);
        link_youngest(c, i);
    }
    return c->node[i].ready;
}

/* Add a line that is not there; the oldest goes when the set is full. */
static void cache_fill(cache_t *c, int64_t key, int64_t ready)
{
    int32_t i;
    if (c->count >= c->capacity) {
        i = c->oldest;
        int32_t *at = c->bucket + (hash_of(c->node[i].key) & (uint32_t)(c->buckets - 1));
        while (*at != i) at = &c->node[*at].chain;
        *at = c->node[i].chain;
        unlink_age(c, i);
    } else {
        if (c->count == c->room && cache_grow(c)) {
            c->failed = 1;
            return;
        }
        i = c->count++;
    }
    uint32_t b = hash_of(key) & (uint32_t)(c->buckets - 1);
    c->node[i].key = key;
    c->node[i].ready = ready;
    c->node[i].chain = c->bucket[b];
    c->bucket[b] = i;
    link_youngest(c, i);
}

/* A new arrival for the line that was touched or added last. */
static void cache_set_youngest(cache_t *c, int64_t ready)
{
    if (c->youngest >= 0) c->node[c->youngest].ready = ready;
}

/* -- what Python hands over (isaprof.sim.timing.compiled.Unit, same order) ----------------------------- */

typedef struct {
    /* sizes */
    int64_t n_lines, n_waves, n_groups, n_counters, simds, depth;
    /* constants of the loop */
    int64_t queued, one_port, fair, grain, whole, exec_start, untraced_slot, slack, retire_slack, endpgm_idle,
        barrier_release,
        export_latency, message_latency, jump, next, immediate, message;
    /* LDS */
    int64_t lds_depth, lds_spacing, lds_shared, lds_held;
    /* vector memory */
    int64_t vmem_depth, vmem_spacing, vmem_per_line, vmem_piece, vmem_store_lane, vmem_acknowledge, vmem_return_lines,
        atomic_lane, cus;
    /* memory */
    int64_t warm, dram, mall_latency, l1_latency, l2_latency, scalar_latency, mid_latency, line_shift,
        scalar_shift, page_shift, line_cycles, dram_cycles, scalar_walk, vector_walk;
    int64_t l1_lines, mid_lines, l2_lines, mall_lines, scalar_lines;
    int64_t scalar_bytes;
    /* fetch */
    int64_t fetch_lines, start_warm, start_cold, sequential, branch, ahead, fetch_warm, prefetch_first,
        prefetch_last, last_block;
    double fetch_wave_cycles;
    /* lines */
    const int32_t *kind, *port, *busy, *extra, *block, *exec, *latency, *release, *alone, *side, *hold, *scale,
        *category, *fetch, *taken, *cycles, *clause, *priority, *traced, *store, *load, *apart,
        *lds_latency, *lds_port, *load_bytes, *vmem_cycles;
    const double *lds_cycles;
    const int32_t *rule_ptr, *rule_slot, *rule_add, *sets_ptr, *sets_slot, *sets_add, *read_ptr, *read,
        *write_ptr, *write, *delay, *counters_ptr, *counters, *waits_ptr, *wait_counter, *wait_n;
    /* paths */
    const int32_t *path_line, *path_event;
    const uint8_t *path_taken;
    const int64_t *path_start;
    /* memory events */
    const int32_t *space, *event_store, *atomic, *lanes, *event_bytes, *passes, *least;
    const int64_t *lowest, *lines_ptr, *cache_lines;
    /* per SIMD, counter, group */
    const int32_t *half, *cu, *counter_max;
    const int64_t *first_wave;
    /* out: records in order of issue, ends of waves */
    int32_t *r_wave, *r_category;
    int64_t *r_step, *r_time, *r_stall, *r_duration, *end;
    int64_t n_records;
    /* what happened: 0 done, 1 the caller asked to stop, 2 no memory */
    int64_t status;
} unit_t;

typedef int (*ended_t)(int64_t wave, int64_t now, int64_t group_is_empty);
typedef int (*progress_t)(int64_t issued);

typedef struct { int64_t live, arrived, phase, released, n_waiting; } group_t;
typedef struct { int64_t wave, cycle; int taken; } fresh_t;

/* a path back to the registers: busy since (cycles) and until (sixteenths of a cycle) */
typedef struct { int64_t near, since, until; } path_t;

typedef struct {
    unit_t *u;
    ended_t ended;
    progress_t progress;
    int64_t *step, *ready, *last_end, *board, *stored, *signalled, *arrival, *arrival_stall, *heap, n_heap;
    int32_t *priority, *simd, *group_of;
    group_t *group;
    int64_t *waiting;
    fresh_t *fresh;
    int64_t n_fresh, room_fresh;
    int64_t *outstanding; /* wave, counter -> counter's room of completion times, ascending */
    int32_t *n_outstanding, *room_at;
    int64_t room_all, *last_done;
    /* units */
    int64_t lds_banks[2], lds_port[2], lds_next[2], lds_count[2], *lds_starts, *lds_returns, lds_taken;
    int64_t *vmem_busy, *vmem_next, *vmem_count, *vmem_starts;
    path_t *vmem_path, scalar_path;
    cache_t *l1, mid, l2, mall, scalar, icache;
    int64_t *pages[2], *page_ready[2], n_pages[2], room_pages[2];
    int64_t *turn_back, *turn_served; /* isaprof.sim.timing.units.Turns: LDS, then vector memory, by SIMD */
    int64_t l2_free, dram_free, fill_free, fetch_ready;
    int64_t fetch_waiting; /* waves that waited for the first block */
    int fetch_begun, no_memory;
} loop_t;

#define MAX(a, b) ((a) > (b) ? (a) : (b))

static int64_t up_to(int64_t t, int64_t grain)
{
    int64_t r = t % grain;
    if (r < 0) r += grain;
    return r ? t + grain - r : t;
}

/* -- memory hierarchy: isaprof.sim.timing.memory.Memory ------------------------------------------------- */

/* When the page is translated; a first touch is noted with ``ready``. */
static int64_t page_of(loop_t *s, int which, int64_t page, int64_t ready)
{
    for (int64_t i = s->n_pages[which] - 1; i >= 0; i--)
        if (s->pages[which][i] == page) return s->page_ready[which][i];
    if (s->n_pages[which] == s->room_pages[which]) {
        int64_t room = s->room_pages[which] * 2;
        int64_t *p = realloc(s->pages[which], sizeof(int64_t) * (size_t)room);
        if (p) s->pages[which] = p;
        int64_t *q = realloc(s->page_ready[which], sizeof(int64_t) * (size_t)room);
        if (q) s->page_ready[which] = q;
        if (!p || !q) {
            s->no_memory = 1;
            return ready;
        }
        s->room_pages[which] = room;
    }
    int64_t i = s->n_pages[which]++;
    s->pages[which][i] = page;
    s->page_ready[which][i] = ready;
    return ready;
}

static int64_t below(loop_t *s, int64_t line, int64_t t, int which)
{
    unit_t *u = s->u;
    int64_t start = MAX(t, s->l2_free);
    s->l2_free = start + u->line_cycles;
    int64_t present = cache_touch(&s->l2, line), ready;
    if (present != NEVER) return MAX(start + u->l2_latency, present);
    if (u->warm) {
        ready = start + u->l2_latency;
    } else {
        int64_t page = (line << u->line_shift) >> u->page_shift;
        int64_t translated = page_of(s, which, page, start + (which ? u->vector_walk : u->scalar_walk));
        start = MAX(start, s->dram_free);
        s->dram_free = start + u->dram_cycles;
        int known = cache_touch(&s->mall, line) != NEVER;
        int64_t latency = known ? u->mall_latency : u->dram;
        ready = MAX(MAX(start, translated) + latency, s->fill_free);
        s->fill_free = ready + u->line_cycles;
        if (!known) cache_fill(&s->mall, line, ready);
    }
    cache_fill(&s->l2, line, ready);
    return ready;
}

static int64_t mid_level(loop_t *s, int64_t line, int64_t t)
{
    unit_t *u = s->u;
    if (!u->mid_lines) return below(s, line, t, 1);
    int64_t ready = cache_touch(&s->mid, line);
    if (ready == NEVER) {
        ready = below(s, line, t, 1);
        cache_fill(&s->mid, line, ready);
    }
    return MAX(ready, t + u->mid_latency);
}

static int64_t vector_load(loop_t *s, int64_t t, int cu, const int64_t *lines, int64_t n)
{
    unit_t *u = s->u;
    cache_t *c = s->l1 + cu;
    int64_t done = t + u->l1_latency;
    for (int64_t i = 0; i < n; i++) {
        int64_t ready = cache_touch(c, lines[i]);
        if (ready == NEVER) {
            ready = mid_level(s, lines[i], t + i);
            cache_fill(c, lines[i], ready);
        }
        done = MAX(done, MAX(ready, t + i + u->l1_latency));
    }
    return done;
}

static int64_t vector_store(loop_t *s, int64_t t, const int64_t *lines, int64_t n)
{
    int64_t start = t;
    for (int64_t i = 0; i < n; i++) {
        start = MAX(start, s->l2_free);
        s->l2_free = start + s->u->line_cycles;
        if (cache_touch(&s->l2, lines[i]) == NEVER) cache_fill(&s->l2, lines[i], start);
    }
    return start;
}

static int64_t scalar_load(loop_t *s, int64_t t, int64_t address, int64_t size)
{
    unit_t *u = s->u;
    int64_t done = t + u->scalar_latency;
    int64_t last = (address + MAX(size, 1) - 1) >> u->scalar_shift;
    for (int64_t line = address >> u->scalar_shift; line <= last; line++) {
        int64_t ready = cache_touch(&s->scalar, line);
        if (ready == NEVER) {
            ready = below(s, (line << u->scalar_shift) >> u->line_shift, t, 0);
            cache_fill(&s->scalar, line, ready);
        }
        done = MAX(done, ready);
    }
    return done;
}

/* -- units: isaprof.sim.timing.units ---------------------------------------------------------------------- */

static int64_t lds_free(loop_t *s, int simd)
{
    int h = s->u->half[simd];
    return MAX(s->lds_next[h], s->lds_starts[h * s->u->lds_depth + s->lds_count[h] % s->u->lds_depth]);
}

static int64_t lds_issue(loop_t *s, int simd, int32_t line, int32_t event, int64_t now)
{
    unit_t *u = s->u;
    double cycles = u->lds_cycles[line], conflicts = 1.0;
    int64_t latency = u->lds_latency[line] >= 0 ? u->lds_latency[line] : -u->lds_latency[line];
    if (u->lds_latency[line] >= 0 && event >= 0 && u->least[event])
        conflicts = (double)u->passes[event] / u->least[event];
    int h = u->half[simd], b = u->lds_shared ? 0 : h, sharers = u->lds_shared ? 2 : 1;
    int64_t port = u->lds_port[line];
    int64_t start = MAX(now, s->lds_banks[b]);
    int64_t passes = (int64_t)nearbyint(conflicts * cycles / sharers);
    int64_t done = start + MAX(1, passes);
    s->lds_banks[b] = done;
    s->lds_starts[h * u->lds_depth + s->lds_count[h] % u->lds_depth] = done;
    s->lds_next[h] = now + u->lds_spacing;
    s->lds_port[h] = MAX(done, MAX(start, s->lds_port[h]) + port);
    int64_t arrival = s->lds_port[h] - port + latency;
    s->lds_taken = now;
    if (u->lds_held) {
        int64_t *oldest = s->lds_returns + h * u->lds_held + s->lds_count[h] % u->lds_held;
        s->lds_taken = MAX(now, *oldest);
        *oldest = arrival;
    }
    s->lds_count[h]++;
    return arrival;
}

static int64_t vmem_free(loop_t *s, int simd)
{
    int c = s->u->cu[simd];
    return MAX(s->vmem_next[c], s->vmem_starts[c * s->u->vmem_depth + s->vmem_count[c] % s->u->vmem_depth]);
}

/* isaprof.sim.timing.units.ReturnPath */
static int64_t through(path_t *p, int64_t ready, int64_t sixteenths)
{
    if (ready < p->since - p->near) return ready;
    if (ready * 16 > p->until + p->near * 16) p->since = ready;
    int64_t start = MAX(ready * 16, p->until);
    p->until = start + sixteenths;
    return (start + 15) >> 4;
}

static int64_t vmem_issue(loop_t *s, int simd, int32_t line, int32_t event, int64_t now)
{
    unit_t *u = s->u;
    int c = u->cu[simd];
    int64_t start = MAX(now, s->vmem_busy[c]);
    const int64_t *touched = u->cache_lines;
    int64_t n = 0, lanes = 0;
    if (event >= 0) {
        touched = u->cache_lines + u->lines_ptr[event];
        n = u->lines_ptr[event + 1] - u->lines_ptr[event];
        lanes = u->lanes[event];
    }
    int64_t cycles = u->vmem_cycles[line];
    if (u->store[line] && u->vmem_store_lane && n * 2 > lanes && lanes > 1)
        cycles = MAX(cycles, lanes * u->vmem_store_lane);
    else {
        if (u->vmem_piece) {
            int64_t moved = lanes * u->load_bytes[line], width = (int64_t)1 << u->line_shift;
            int64_t pieces = (moved + u->vmem_piece - 1) / u->vmem_piece + n - (moved + width - 1) / width;
            int64_t most = MAX(n, lanes);
            cycles = MAX(cycles, pieces < most ? pieces : most);
        }
        cycles = MAX(cycles, 1 + (n - 1) * u->vmem_per_line);
    }
    s->vmem_busy[c] = start + cycles;
    s->vmem_next[c] = now + u->apart[line];
    s->vmem_starts[c * u->vmem_depth + s->vmem_count[c] % u->vmem_depth] = start;
    s->vmem_count[c]++;
    if (event < 0) return start + cycles;
    if (u->atomic[event]) {
        int64_t done = start;
        for (int64_t i = 0; i < n; i++) {
            int64_t t = below(s, touched[i], start, 1);
            done = MAX(done, t);
        }
        done += lanes * u->atomic_lane;
        return u->load[line] ? done : MAX(done, start + u->vmem_acknowledge);
    }
    if (u->event_store[event])
        return vector_store(s, start + cycles - u->vmem_spacing, touched, n) + u->vmem_acknowledge;
    int64_t ready = vector_load(s, start, c, touched, n);
    if (!u->vmem_return_lines) return ready;
    int64_t back = (n + u->vmem_return_lines - 1) / u->vmem_return_lines;
    return through(s->vmem_path + c, ready, 16 * MAX(u->vmem_cycles[line], back));
}

/* isaprof.sim.timing.units.Turns.ask */
static int64_t turn_ask(loop_t *s, int which, int simd, int64_t now, int64_t free_at)
{
    unit_t *u = s->u;
    int64_t *back = s->turn_back + which * u->simds, *served = s->turn_served + which * u->simds;
    const int32_t *unit = which ? u->cu : u->half;
    if (free_at > now) {
        if (!(now < back[simd] && back[simd] < free_at)) back[simd] = free_at;
        return free_at;
    }
    for (int64_t other = 0; other < u->simds; other++)
        if (back[other] == now && served[other] < served[simd] && unit[other] == unit[simd] && other != simd) {
            back[simd] = now + u->grain;
            return now + u->grain;
        }
    return free_at;
}

static int64_t fetch_first(loop_t *s, int64_t begin)
{
    unit_t *u = s->u;
    if (!s->fetch_begun) {
        s->fetch_begun = 1;
        s->fetch_ready = begin + u->start_cold;
        for (int64_t b = u->prefetch_first; b <= u->prefetch_last; b++) cache_fill(&s->icache, b, s->fetch_ready);
    }
    return s->fetch_ready;
}

static int64_t fetch_begin(loop_t *s, int64_t begin)
{
    int64_t ready = fetch_first(s, begin), start = begin + s->u->start_warm;
    if (start >= ready) return start;
    return ready + (int64_t)nearbyint((double)s->fetch_waiting++ * s->u->fetch_wave_cycles);
}

static int64_t fetch_block(loop_t *s, int64_t t, int64_t block, int branch)
{
    unit_t *u = s->u;
    int64_t ready = cache_touch(&s->icache, block);
    if (ready == NEVER) {
        ready = u->fetch_warm ? t : t + (branch ? u->branch : u->sequential);
        cache_fill(&s->icache, block, ready);
    }
    if (t < ready) {
        t = up_to(ready, u->grain);
        cache_set_youngest(&s->icache, ready + (int64_t)nearbyint(u->fetch_wave_cycles));
    }
    int64_t last = block + u->ahead < u->last_block ? block + u->ahead : u->last_block;
    for (int64_t more = block + 1; more <= last; more++)
        if (cache_touch(&s->icache, more) == NEVER)
            cache_fill(&s->icache, more, u->fetch_warm ? t : t + u->sequential);
    return t;
}

/* -- residency: isaprof.sim.timing.residency ----------------------------------------------------------------- */

static void push(loop_t *s, int64_t w, int64_t t)
{
    int64_t key = ((t * 4 + 3 - s->priority[w]) << WAVE_BITS) | w;
    int64_t i = s->n_heap++;
    while (i) {
        int64_t up = (i - 1) / 2;
        if (s->heap[up] <= key) break;
        s->heap[i] = s->heap[up];
        i = up;
    }
    s->heap[i] = key;
}

static int64_t pop(loop_t *s)
{
    int64_t first = s->heap[0], key = s->heap[--s->n_heap], i = 0, n = s->n_heap;
    while (2 * i + 1 < n) {
        int64_t child = 2 * i + 1;
        if (child + 1 < n && s->heap[child + 1] < s->heap[child]) child++;
        if (key <= s->heap[child]) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    if (n) s->heap[i] = key;
    return first;
}

static void be_fresh(loop_t *s, int64_t w, int64_t cycle)
{
    if (s->n_fresh == s->room_fresh) { /* a wave is there once: this cannot happen */
        s->no_memory = 1;
        return;
    }
    s->fresh[s->n_fresh++] = (fresh_t){w, cycle, 0};
}

static void record(loop_t *s, int64_t w, int64_t step, int64_t time, int64_t stall, int64_t duration,
                   int64_t category)
{
    unit_t *u = s->u;
    int64_t i = u->n_records++;
    u->r_wave[i] = (int32_t)w;
    u->r_step[i] = step;
    u->r_time[i] = time;
    u->r_stall[i] = stall;
    u->r_duration[i] = duration;
    u->r_category[i] = (int32_t)category;
    if (time + duration > s->last_end[w]) s->last_end[w] = time + duration;
}

static void resume(loop_t *s, int64_t w, int64_t released)
{
    unit_t *u = s->u;
    int64_t step = s->step[w] - 1, time = s->arrival[w], stall = s->arrival_stall[w];
    int32_t line = u->path_line[step];
    if (u->kind[line] == BARRIER_WAIT) {
        released = MAX(released, time + 1);
        if (u->traced[line]) record(s, w, step, time, 0, released - time, u->immediate);
    } else if (u->whole) {
        released = MAX(released, time + u->grain);
        record(s, w, step, time, released - time, released - time, u->immediate);
    } else {
        record(s, w, step, time, stall, released - time, u->message);
    }
    be_fresh(s, w, released);
}

static void release_group(loop_t *s, int32_t g, int64_t now)
{
    group_t *group = s->group + g;
    group->arrived = 0;
    group->phase++;
    group->released = now + s->u->barrier_release;
    int64_t n = group->n_waiting;
    group->n_waiting = 0;
    for (int64_t i = 0; i < n; i++) resume(s, s->waiting[s->u->first_wave[g] + i], group->released);
}

static void arrive(loop_t *s, int32_t g, int64_t now)
{
    if (++s->group[g].arrived >= s->group[g].live) release_group(s, g, now);
}

static void park(loop_t *s, int64_t w)
{
    int32_t g = s->group_of[w];
    s->waiting[s->u->first_wave[g] + s->group[g].n_waiting++] = w;
}

static int64_t since(loop_t *s, int64_t w, int64_t now)
{
    return NEVER < s->last_end[w] && s->last_end[w] < now ? s->last_end[w] : now;
}

/* Barriers and the end of the program; true when the wave does not go on at once. */
static int control(loop_t *s, int64_t w, int32_t line, int kind, int64_t step, int64_t now)
{
    unit_t *u = s->u;
    int32_t g = s->group_of[w];
    int64_t time = since(s, w, now);
    s->step[w] = step + 1;
    if (kind == SIGNAL) {
        int64_t stall = now - s->ready[w];
        record(s, w, step, s->ready[w], stall, stall + u->extra[line], u->message);
        s->signalled[w] = s->group[g].phase;
        arrive(s, g, now);
        return 0;
    }
    if (kind == BARRIER) {
        s->arrival[w] = time;
        s->arrival_stall[w] = now - time;
        park(s, w);
        arrive(s, g, now);
        return 1;
    }
    int64_t end = up_to(MAX(now + u->endpgm_idle, s->stored[w]), u->grain);
    record(s, w, step, time, 0, end - time, u->message);
    s->step[w] = u->path_start[w + 1];
    push(s, w, end);
    return 1;
}

static void barrier_wait(loop_t *s, int64_t w, int64_t step, int64_t base)
{
    group_t *group = s->group + s->group_of[w];
    s->arrival[w] = since(s, w, base);
    s->arrival_stall[w] = 0;
    s->step[w] = step + 1;
    if (group->phase > s->signalled[w]) resume(s, w, MAX(base, group->released));
    else park(s, w);
}

static int end_wave(loop_t *s, int64_t w, int64_t now)
{
    int32_t g = s->group_of[w];
    group_t *group = s->group + g;
    s->u->end[w] = now;
    group->live--;
    int empty = group->live == 0;
    if (!empty && group->arrived >= group->live) release_group(s, g, now);
    return s->ended(w, now, empty);
}

/* -- the loop ---------------------------------------------------------------------------------------------- */

static int64_t *pending_of(loop_t *s, int64_t w, int c)
{
    return s->outstanding + w * s->room_all + s->room_at[c];
}

/* isaprof.sim.timing.state.counter_free */
static int64_t counter_free(loop_t *s, int64_t w, int c, int64_t now)
{
    int32_t *count = s->n_outstanding + w * s->u->n_counters + c;
    int32_t most = s->u->counter_max[c], gone = 0;
    int64_t *pending = pending_of(s, w, c);
    while (gone < *count && pending[gone] <= now) gone++;
    if (gone) {
        memmove(pending, pending + gone, sizeof(int64_t) * (size_t)(*count - gone));
        *count -= gone;
    }
    return *count >= most ? pending[*count - most] : NEVER;
}

static void memory(loop_t *s, int64_t w, int32_t line, int kind, int simd, int32_t event, int64_t now)
{
    unit_t *u = s->u;
    int in_order = 1;
    int64_t done;
    if (kind == LDS || (kind == VMEM && event >= 0 && u->space[event] == LOCAL)) {
        done = lds_issue(s, simd, line, event, now);
        s->board[w * SLOTS + SLOT_LDS_TAKEN] = s->lds_taken;
    } else if (kind == VMEM) {
        done = vmem_issue(s, simd, line, event, now);
        if (u->store[line]) s->stored[w] = MAX(s->stored[w], done + u->endpgm_idle);
    } else if (kind == SMEM) {
        in_order = 0;
        if (event < 0 || u->event_store[event]) done = now + u->scalar_latency;
        else done = scalar_load(s, now, u->lowest[event], u->event_bytes[event]);
        if (u->scalar_bytes) done = through(&s->scalar_path, done, 16 * u->load_bytes[line] / u->scalar_bytes);
    } else if (kind == EXPORT) {
        done = now + u->export_latency;
    } else {
        in_order = 0;
        done = now + u->message_latency;
    }
    done = up_to(done, u->grain);
    for (int32_t i = u->counters_ptr[line]; i < u->counters_ptr[line + 1]; i++) {
        int c = u->counters[i];
        int64_t here = done;
        if (in_order) {
            int64_t *last = s->last_done + (w * u->n_counters + c) * KINDS + kind;
            here = MAX(here, *last);
            *last = here;
        }
        int64_t *pending = pending_of(s, w, c);
        int32_t *count = s->n_outstanding + w * u->n_counters + c;
        if (*count > u->counter_max[c]) { /* room for one more than the counter holds */
            s->no_memory = 1;
            return;
        }
        int32_t at = *count;
        while (at > 0 && pending[at - 1] > here) {
            pending[at] = pending[at - 1];
            at--;
        }
        pending[at] = here;
        ++*count;
    }
}

typedef struct { int64_t *valu, *trans; int32_t *valu_n, *trans_n; } recent_t;

/* isaprof.sim.timing.state.producer */
static int64_t producer(loop_t *s, recent_t *r, int which, int64_t w)
{
    if (which <= 4) return r->valu[w * 4 + ((r->valu_n[w] - which) & 3)];
    if (which <= 7) return r->trans[w * 4 + ((r->trans_n[w] - (which - 4)) & 3)];
    if (which == 8) return NEVER;
    return s->board[w * SLOTS + SLOT_SALU] + which - 7;
}

/* Called from Python while the loop waits in ``ended``: a wave of group ``g`` has a place. */
void tl_place(loop_t *s, int64_t w, int64_t g, int64_t simd, int64_t begin)
{
    s->group_of[w] = (int32_t)g;
    s->simd[w] = (int32_t)simd;
    s->group[g].live++;
    be_fresh(s, w, up_to(fetch_begin(s, begin), s->u->grain));
}

/* Places given by the caller may come in any order: the first fetch is that of the earliest. */
void tl_first_fetch(loop_t *s, int64_t begin)
{
    fetch_first(s, begin);
}

static void fill(int64_t *p, int64_t n, int64_t value)
{
    for (int64_t i = 0; i < n; i++) p[i] = value;
}

void tl_free(loop_t *s)
{
    if (!s) return;
    unit_t *u = s->u;
    if (s->l1)
        for (int64_t i = 0; i < u->cus; i++) cache_free(s->l1 + i);
    cache_free(&s->mid);
    cache_free(&s->l2);
    cache_free(&s->mall);
    cache_free(&s->scalar);
    cache_free(&s->icache);
    void *all[] = {s->step, s->ready, s->last_end, s->board, s->stored, s->signalled, s->arrival,
                   s->arrival_stall, s->heap, s->priority, s->simd, s->group_of, s->group, s->waiting, s->fresh,
                   s->outstanding, s->n_outstanding, s->room_at, s->last_done, s->lds_starts, s->lds_returns, s->vmem_path, s->vmem_busy, s->vmem_next,
                   s->vmem_count, s->vmem_starts, s->turn_back, s->turn_served, s->l1, s->pages[0], s->pages[1], s->page_ready[0],
                   s->page_ready[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(s);
}

static void *zeros(int64_t n, size_t size)
{
    return calloc((size_t)(n < 1 ? 1 : n), size);
}

/* State for one run; NULL where there is no memory. The caller keeps ``u`` alive. */
loop_t *tl_new(unit_t *u, ended_t ended, progress_t progress)
{
    loop_t *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->u = u;
    s->ended = ended;
    s->progress = progress;
    int64_t n = u->n_waves;
    s->step = zeros(n, 8);
    s->ready = zeros(n, 8);
    s->last_end = zeros(n, 8);
    s->board = zeros(n * SLOTS, 8);
    s->stored = zeros(n, 8);
    s->signalled = zeros(n, 8);
    s->arrival = zeros(n, 8);
    s->arrival_stall = zeros(n, 8);
    s->heap = zeros(n + 1, 8);
    s->priority = zeros(n, 4);
    s->simd = zeros(n, 4);
    s->group_of = zeros(n, 4);
    s->group = zeros(u->n_groups, sizeof(group_t));
    s->waiting = zeros(n, 8);
    s->room_fresh = n + 1;
    s->fresh = zeros(n + 1, sizeof(fresh_t));
    s->room_at = zeros(u->n_counters, 4);
    if (!s->room_at) goto failed;
    for (int64_t c = 0; c < u->n_counters; c++) {
        s->room_at[c] = (int32_t)s->room_all;
        s->room_all += u->counter_max[c] + 2;
    }
    s->outstanding = zeros(n * s->room_all, 8);
    s->n_outstanding = zeros(n * u->n_counters, 4);
    s->last_done = zeros(n * u->n_counters * KINDS, 8);
    s->lds_starts = zeros(2 * u->lds_depth, 8);
    s->lds_returns = zeros(2 * u->lds_held, 8);
    s->vmem_path = zeros(u->cus, sizeof(path_t));
    s->vmem_busy = zeros(u->cus, 8);
    s->vmem_next = zeros(u->cus, 8);
    s->vmem_count = zeros(u->cus, 8);
    s->vmem_starts = zeros(u->cus * u->vmem_depth, 8);
    s->turn_back = zeros(2 * u->simds, 8);
    s->turn_served = zeros(2 * u->simds, 8);
    s->l1 = zeros(u->cus, sizeof(cache_t));
    for (int i = 0; i < 2; i++) {
        s->room_pages[i] = 64;
        s->pages[i] = zeros(64, 8);
        s->page_ready[i] = zeros(64, 8);
        if (!s->pages[i] || !s->page_ready[i]) goto failed;
    }
    if (!s->step || !s->ready || !s->last_end || !s->board || !s->stored || !s->signalled || !s->arrival
        || !s->arrival_stall || !s->heap || !s->priority || !s->simd || !s->group_of || !s->group || !s->waiting
        || !s->fresh || !s->outstanding || !s->n_outstanding || !s->last_done || !s->lds_starts || !s->lds_returns
        || !s->vmem_path || !s->vmem_busy || !s->vmem_next
        || !s->vmem_count || !s->vmem_starts || !s->turn_back || !s->turn_served || !s->l1)
        goto failed;
    for (int64_t i = 0; i < u->cus; i++)
        if (cache_init(s->l1 + i, u->l1_lines)) goto failed;
    if (cache_init(&s->mid, u->mid_lines) || cache_init(&s->l2, u->l2_lines) || cache_init(&s->mall, u->mall_lines)
        || cache_init(&s->scalar, u->scalar_lines) || cache_init(&s->icache, u->fetch_lines))
        goto failed;
    for (int64_t i = 0; i < u->cus; i++) s->vmem_path[i].near = u->l1_latency;
    s->scalar_path.near = u->scalar_latency;
    for (int64_t w = 0; w < n; w++) s->step[w] = u->path_start[w];
    fill(s->last_end, n, NEVER);
    fill(s->board, n * SLOTS, NEVER);
    fill(s->stored, n, NEVER);
    fill(s->signalled, n, -1);
    fill(s->turn_back, 2 * u->simds, -1);
    fill(s->turn_served, 2 * u->simds, -1);
    fill(s->last_done, n * u->n_counters * KINDS, NEVER);
    fill(u->end, n, NEVER);
    for (int64_t g = 0; g < u->n_groups; g++) s->group[g].released = NEVER;
    return s;
failed:
    tl_free(s);
    return NULL;
}

/* Play all waves that have a place, and those that get one meanwhile. */
int tl_run(loop_t *s)
{
    unit_t *u = s->u;
    int64_t simds = u->simds, depth = u->depth, n = u->n_waves, grain = u->grain, issued = 0;
    int queued = (int)u->queued;
    int64_t *ports = zeros(simds * PORTS, 8), *owner = zeros(simds * PORTS, 8);
    int64_t *queue = zeros(simds * depth, 8), *queue_n = zeros(simds, 8);
    int64_t *valu_free = zeros(simds, 8), *trans_exec = zeros(simds, 8), *trans_free = zeros(simds, 8);
    int64_t *port_a = zeros(simds, 8), *port_b = zeros(simds, 8), *held = zeros(simds, 8);
    int64_t *matrix_free = zeros(simds, 8), *salu_free = zeros(simds, 8);
    int64_t *registers = zeros(n * REGISTERS, 8);
    recent_t recent = {zeros(n * 4, 8), zeros(n * 4, 8), zeros(n, 4), zeros(n, 4)};
    int64_t *fetched = zeros(n, 8);
    int32_t *clause = zeros(n, 4), *delay_id = zeros(n, 4), *delay_left = zeros(n, 4);
    uint8_t *after_valu = zeros(n, 1), *after_wait = zeros(n, 1);
    void *all[] = {ports, owner, queue, queue_n, valu_free, trans_exec, trans_free, port_a, port_b, held,
                   matrix_free, salu_free, registers, recent.valu, recent.trans, recent.valu_n, recent.trans_n,
                   fetched, clause, delay_id, delay_left, after_valu, after_wait};
    u->status = 2;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) goto out;
    fill(owner, simds * PORTS, -1);
    fill(queue, simds * depth, NEVER);
    fill(registers, n * REGISTERS, NEVER);
    fill(recent.valu, n * 4, NEVER);
    fill(recent.trans, n * 4, NEVER);
    fill(fetched, n, -1);

    for (;;) {
        int64_t w, base, step, now;
        int taken = 0;
        int32_t line;
        int kind;
        if (s->no_memory || s->l2.failed || s->mall.failed || s->scalar.failed || s->mid.failed || s->icache.failed)
            goto out;
        if (s->n_fresh) {
            fresh_t f = s->fresh[--s->n_fresh];
            w = f.wave;
            base = f.cycle;
            taken = f.taken;
            step = s->step[w];
        } else if (s->n_heap) {
            int64_t key = pop(s);
            now = key >> (WAVE_BITS + 2);
            w = key & WAVE_MASK;
            step = s->step[w];
            if (step == u->path_start[w + 1]) {
                if (end_wave(s, w, now)) {
                    u->status = 1;
                    goto out;
                }
                continue;
            }
            line = u->path_line[step];
            kind = u->kind[line];
            int port = u->port[line];
            int simd = s->simd[w];
            int64_t at = simd * PORTS + port;
            int64_t *q = queue + simd * depth;

            /* what it needs to issue now: its port, room in the queue, a free pipe */
            if (port != PORT_NONE) {
                int64_t free_at = ports[at], t;
                if (free_at > now && owner[at] == w) free_at = now;
                if (port == PORT_VALU) {
                    if (queued) {
                        t = q[queue_n[simd] % depth];
                        if (t > free_at) free_at = t;
                        if (kind == TRANS && trans_free[simd] > free_at) free_at = trans_free[simd];
                    } else {
                        int64_t a = port_a[simd], b = port_b[simd];
                        t = held[simd];
                        if (kind == MATRIX) {
                            free_at = MAX(MAX(a, b), matrix_free[simd]) - u->scale[line];
                        } else {
                            if (t > b) b = t;
                            if (u->alone[line]) free_at = MAX(a, b);
                            else free_at = u->side[line] == SIDE_FIRST || b > a ? a : b;
                        }
                    }
                } else if (kind == SALU) {
                    t = salu_free[simd] - u->slack;
                    if (t > free_at) free_at = t;
                    if (queued && after_valu[w]) {
                        t = q[queue_n[simd] % depth];
                        if (t > free_at) free_at = t;
                    }
                } else if (kind == LDS || kind == VMEM) {
                    t = kind == LDS ? lds_free(s, simd) : vmem_free(s, simd);
                    free_at = MAX(free_at, t);
                    if (u->fair) free_at = turn_ask(s, kind == VMEM, simd, now, free_at);
                }
                for (int32_t i = u->counters_ptr[line]; i < u->counters_ptr[line + 1]; i++) {
                    int c = u->counters[i];
                    if (s->n_outstanding[w * u->n_counters + c] >= u->counter_max[c]) {
                        t = counter_free(s, w, c, now);
                        free_at = MAX(free_at, t);
                    }
                }
                if (free_at > now) {
                    push(s, w, up_to(free_at, grain));
                    continue;
                }
                ports[at] = now + u->busy[line];
                if (u->fair && (kind == LDS || kind == VMEM))
                    s->turn_served[(kind == VMEM) * simds + simd] = now;
            }

            /* issue */
            issued++;
            if (!(issued & 0xFFFF) && s->progress && s->progress(issued)) {
                u->status = 1;
                goto out;
            }
            int64_t shifted = now, ready = s->ready[w]; /* shifted: where the VALU's result times count from */
            base = now + u->block[line];
            if (kind <= MATRIX) {
                int64_t stall = now - ready;
                record(s, w, step, ready, stall, stall + u->extra[line], u->category[line]);
                if (queued) {
                    int64_t start = now + u->exec_start, t, *mine = registers + w * REGISTERS;
                    if (valu_free[simd] > start) start = valu_free[simd];
                    for (int32_t i = u->read_ptr[line]; i < u->read_ptr[line + 1]; i++)
                        if (mine[u->read[i]] > start) start = mine[u->read[i]];
                    int64_t cycles = u->exec[line];
                    if (kind == TRANS) {
                        if (trans_exec[simd] > start) start = trans_exec[simd];
                        trans_exec[simd] = start + cycles;
                        trans_free[simd] = now + cycles;
                        valu_free[simd] = start + 1;
                        recent.trans[w * 4 + (recent.trans_n[w] & 3)] = start - u->exec_start + u->latency[line];
                        recent.trans_n[w]++;
                    } else {
                        valu_free[simd] = start + cycles;
                        recent.valu[w * 4 + (recent.valu_n[w] & 3)] = start - u->exec_start + u->latency[line];
                        recent.valu_n[w]++;
                    }
                    q[queue_n[simd] % depth] = start + cycles + u->release[line];
                    queue_n[simd]++;
                    t = start + u->latency[line];
                    for (int32_t i = u->write_ptr[line]; i < u->write_ptr[line + 1]; i++) mine[u->write[i]] = t;
                    shifted = start - u->exec_start;
                } else {
                    if (kind == MATRIX) {
                        shifted = now + u->scale[line];
                        matrix_free[simd] = shifted + u->exec[line];
                        port_a[simd] = port_b[simd] = shifted + u->busy[line];
                        held[simd] = shifted + u->hold[line];
                    } else if (u->alone[line]) {
                        port_a[simd] = port_b[simd] = now + u->busy[line];
                    } else if (port_a[simd] <= now
                               && (u->side[line] != SIDE_SECOND || MAX(port_b[simd], held[simd]) > now)) {
                        port_a[simd] = now + u->busy[line];
                    } else {
                        port_b[simd] = now + u->busy[line];
                    }
                    if (u->one_port) port_a[simd] = port_b[simd] = MAX(port_a[simd], port_b[simd]);
                }
                after_valu[w] = 1;
                after_wait[w] = 0;
            } else if (kind <= MESSAGE) {
                int64_t category = u->category[line], stall = now - ready;
                if (kind == BRANCH) {
                    if (u->path_taken[step] || category != u->jump) {
                        taken = 1;
                        base = now + u->taken[line];
                    } else {
                        category = u->next;
                    }
                }
                record(s, w, step, ready, stall, stall + u->extra[line], category);
                if (kind == SALU) {
                    salu_free[simd] = MAX(salu_free[simd], now) + u->exec[line];
                } else if (kind != BRANCH) {
                    memory(s, w, line, kind, simd, u->path_event[step], now);
                    if (clause[w]) {
                        clause[w]--;
                        owner[at] = clause[w] ? w : -1;
                        if (clause[w]) ports[at] += grain;
                    }
                }
                after_valu[w] = after_wait[w] = 0;
            } else if (kind <= IMMED) { /* wait, nop, other internal */
                int64_t time = since(s, w, now), t = now - time + grain;
                int64_t keep = time + t;
                record(s, w, step, time, u->whole ? t : now - time, t, u->immediate);
                s->last_end[w] = keep;
                if (u->clause[line]) clause[w] = u->clause[line];
                if (u->priority[line] >= 0) s->priority[w] = u->priority[line];
                after_valu[w] = 0;
                after_wait[w] = kind == WAIT;
            } else {
                if (control(s, w, line, kind, step, now)) continue;
                after_valu[w] = after_wait[w] = 0;
            }
            int64_t retires = MAX(now, shifted - u->retire_slack);
            for (int32_t i = u->sets_ptr[line]; i < u->sets_ptr[line + 1]; i++) {
                int slot = u->sets_slot[i];
                s->board[w * SLOTS + slot] = (slot == SLOT_VALU ? retires : now) + u->sets_add[i];
            }
            step++;
        } else {
            break;
        }

        /* when the wave is first ready for its next instruction; those without a packet pass here */
        int64_t last = u->path_start[w + 1];
        int parked = 0;
        for (;;) {
            if (step == last) break;
            line = u->path_line[step];
            kind = u->kind[line];
            if (u->fetch[line] != fetched[w]) {
                fetched[w] = u->fetch[line];
                base = fetch_block(s, base, fetched[w], taken);
            }
            taken = 0;
            if (kind >= DELAY_ALU && after_wait[w]) {
                base += u->untraced_slot;
                after_wait[w] = 0;
            }
            if (kind == DELAY_ALU) {
                const int32_t *d = u->delay + 3 * line;
                delay_left[w] = d[1];
                delay_id[w] = d[2];
                if (d[0]) {
                    int64_t t = producer(s, &recent, d[0], w);
                    if (t > base) base = t;
                }
            } else if (delay_id[w]) {
                if (delay_left[w]) {
                    delay_left[w]--;
                } else {
                    int64_t t = producer(s, &recent, delay_id[w], w);
                    if (t > base) base = t;
                    delay_id[w] = 0;
                }
            }
            int64_t *board = s->board + w * SLOTS;
            for (int32_t i = u->rule_ptr[line]; i < u->rule_ptr[line + 1]; i++) {
                int64_t t = board[u->rule_slot[i]] + u->rule_add[i];
                if (t > base) base = t;
            }
            if (kind >= DELAY_ALU) {
                step++;
                continue;
            }
            s->ready[w] = base;
            if (kind == WAIT) {
                int64_t early = u->whole ? grain : 0; /* its slot is the one in which the last one arrives */
                for (int32_t i = u->waits_ptr[line]; i < u->waits_ptr[line + 1]; i++) {
                    int c = u->wait_counter[i];
                    int32_t count = s->n_outstanding[w * u->n_counters + c], k = u->wait_n[i];
                    if (count > k && pending_of(s, w, c)[count - k - 1] - early > base)
                        base = pending_of(s, w, c)[count - k - 1] - early;
                }
                base = up_to(base, grain);
            } else if (kind == DELAY) {
                base += u->cycles[line] - grain;
            } else if (kind == BARRIER_WAIT) {
                parked = 1;
                barrier_wait(s, w, step, base);
            }
            break;
        }
        if (!parked) {
            s->step[w] = step;
            push(s, w, base);
        }
    }
    u->status = 0;
out:
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return (int)u->status;
}

/* Bytes of the record that Python fills, to notice a layout that differs. */
int64_t tl_size(void)
{
    return (int64_t)sizeof(unit_t);
}
