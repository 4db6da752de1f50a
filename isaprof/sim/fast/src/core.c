/* The run loop: waves of a workgroup in turn, control flow, scalar ALU. */
#include "isa.h"

Kernel isa_kernels[MAX_KERNELS];
Scalar isa_scalars[MAX_KERNELS];
static const char *kernel_names[MAX_KERNELS], *scalar_names[MAX_KERNELS];
static int kernels, scalars;

void isa_add_kernel(const char *name, Kernel k) {
    if (kernels < MAX_KERNELS) kernel_names[kernels] = name, isa_kernels[kernels++] = k;
}
void isa_add_scalar(const char *name, Scalar k) {
    if (scalars < MAX_KERNELS) scalar_names[scalars] = name, isa_scalars[scalars++] = k;
}
/* index of an operation, -1 when there is none */
int isa_find_kernel(const char *name) {
    for (int i = 0; i < kernels; i++)
        if (!strcmp(kernel_names[i], name)) return i;
    return -1;
}
int isa_find_scalar(const char *name) {
    for (int i = 0; i < scalars; i++)
        if (!strcmp(scalar_names[i], name)) return i;
    return -1;
}
void isa_sizes(i64 *out) {
    out[0] = sizeof(Src), out[1] = sizeof(Dst), out[2] = sizeof(Dpp), out[3] = sizeof(Op), out[4] = sizeof(Mem);
    out[5] = sizeof(Mat), out[6] = sizeof(Memory), out[7] = sizeof(Wave), out[8] = sizeof(Prog);
    out[9] = sizeof(Group), out[10] = offsetof(Wave, s), out[11] = offsetof(Op, imm64);
}

/* atomics on global memory are done by one thread at a time */
static volatile char lock;
void isa_lock(void) {
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&lock, __ATOMIC_RELAXED)) {}
}
void isa_unlock(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

/* -- lane masks ----------------------------------------------------------------------- */
static u32 byte_rows[256][8];
__attribute__((constructor)) static void fill_byte_rows(void) {
    for (int i = 0; i < 256; i++)
        for (int b = 0; b < 8; b++) byte_rows[i][b] = i >> b & 1 ? 0xFFFFFFFFu : 0;
}
void isa_expand_mask(u32 *out, u64 m, i64 lanes) {
    for (i64 l = 0; l < lanes; l += 8) memcpy(out + l, byte_rows[m >> l & 255], 32);
}
u64 isa_pack_mask(const u32 *rows, i64 lanes) {
    u64 m = 0;
#ifdef __SSE2__
    for (i64 l = 0; l < lanes; l += 4)
        m |= (u64)_mm_movemask_ps(_mm_loadu_ps((const float *)(rows + l))) << l;
#else
    for (i64 l = 0; l < lanes; l++) m |= (u64)(rows[l] >> 31) << l;
#endif
    return m;
}
const u32 *isa_exec_row(Wave *w, u64 exec) {
    if (w->mask_of != exec) isa_expand_mask(w->mask, exec, w->lanes), w->mask_of = exec;
    return w->mask;
}

/* -- trace ---------------------------------------------------------------------------- */
/* One event: step, kind (space, load, store, bytes), count; addresses and lanes (-1: none) apart. The
 * run loop keeps room for the largest events of one instruction. */
int isa_event(Wave *w, int space, int load, int store, int nbytes, const u64 *a, const u8 *lane, int n) {
    if (!w->traced) return 0;
    i64 *head = w->events + 3 * w->nevents++;
    head[0] = w->step, head[1] = space | load << 8 | store << 16 | (i64)nbytes << 24, head[2] = n;
    memcpy(w->addresses + w->naddresses, a, 8 * (size_t)n);
    i8 *to = w->event_lanes + w->naddresses;
    if (lane) memcpy(to, lane, (size_t)n);
    else memset(to, -1, (size_t)n);
    w->naddresses += n;
    return 0;
}
enum { EVENT_ROOM = 4 };

/* -- scalar ALU ----------------------------------------------------------------------- */
u64 isa_scalar_value(const Wave *w, const Prog *p, const Src *s) {
    switch (s->kind) {
    case SRC_SLOT: return s->at == NUL ? 0 : w->s[s->at];
    case SRC_SLOT64: return s->at == NUL ? 0 : w->s[s->at] | (u64)w->s[s->at + 1] << 32;
    case SRC_CONST: return pair64(p->consts + 2 * s->at * w->lanes, w->lanes, 0);
    case SRC_SCC: return w->scc;
    case SRC_VCCZ: return lane_mask(w, VCC) == 0;
    case SRC_EXECZ: return exec_of(w) == 0;
    }
    return 0;
}

static inline void put_scalar(Wave *w, int slot, int bits, u64 x) {
    if (slot == NUL) return;
    w->s[slot] = (u32)x;
    if (bits == 64) w->s[slot + 1] = (u32)(x >> 32);
}

static int salu(Wave *w, const Prog *p, const Op *o) {
    u64 a = o->nsrc > 0 ? isa_scalar_value(w, p, &o->src[0]) : 0;
    u64 b = o->nsrc > 1 ? isa_scalar_value(w, p, &o->src[1]) : 0;
    u32 scc = w->scc;
    u64 r = isa_scalars[o->kernel](a, b, w->scc, &scc);
    if (o->bits) put_scalar(w, o->dst.at, o->bits, r);
    if (o->flags) w->scc = scc & 1;
    return S_NEXT;
}

static int saveexec(Wave *w, const Prog *p, const Op *o) {
    u64 old = o->bits == 32 ? w->s[EXEC] : w->s[EXEC] | (u64)w->s[EXEC + 1] << 32;
    u32 scc;
    u64 r = isa_scalars[o->kernel](isa_scalar_value(w, p, &o->src[0]), old, 0, &scc);
    if (o->bits == 32) r &= 0xFFFFFFFFu;
    put_scalar(w, o->dst.at, o->bits, o->flags ? old : r);
    put_scalar(w, EXEC, o->bits, r);
    w->scc = r != 0;
    return S_NEXT;
}

/* -- control -------------------------------------------------------------------------- */
static inline int taken(const Wave *w, int condition) {
    switch (condition) {
    case B_ALWAYS: return 1;
    case B_SCC0: return !w->scc;
    case B_SCC1: return w->scc != 0;
    case B_VCCZ: return lane_mask(w, VCC) == 0;
    case B_VCCNZ: return lane_mask(w, VCC) != 0;
    case B_EXECZ: return exec_of(w) == 0;
    case B_EXECNZ: return exec_of(w) != 0;
    }
    return 0;
}

static void complete_phase(Group *g) {
    if (g->live && g->signalled >= g->live) g->signalled = 0, g->phase++;
}

static inline int vector_fast(Wave *w, const Op *o, int n) {
    /* flags: a float operation, which may have to flush or to round otherwise */
    if (exec_of(w) != all_lanes(w) || (o->flags && (w->mode & 0xFF) != 0xF0)) return 0;
    Args x = {.d = row(w, o->dst.at), .a = row(w, o->src[0].at), .n = w->lanes, .mode = w->mode, .imm = o->imm,
              .fnuz = w->fnuz};
    if (n > 1) x.b = row(w, o->src[1].at);
    if (n > 2) x.c = row(w, o->src[2].at);
    isa_kernels[o->kernel](&x);
    return 1;
}

static int step(Wave *w, const Prog *p, Group *g, const Op *o, i64 *next) {
    switch (o->h) {
    case H_NOP: return S_NEXT;
    case H_END: w->done = 1; return S_END;
    case H_BARRIER: w->barrier = 1; g->signalled++; complete_phase(g); return S_BARRIER;
    case H_BARRIER_WAIT: w->barrier = 1; return S_BARRIER;
    case H_BARRIER_SIGNAL:
        if (o->flags) w->scc = g->signalled == 0;
        g->signalled++;
        complete_phase(g);
        return S_NEXT;
    case H_SLEEP: return S_YIELD;
    case H_BRANCH:
        if (taken(w, o->flags)) {
            *next = o->target;
            if (w->traced) w->line_flags[w->nlines - 1] |= 1;
        }
        return S_NEXT;
    case H_SALU: return salu(w, p, o);
    case H_SAVEEXEC: return saveexec(w, p, o);
    case H_TIME: put_scalar(w, o->dst.at, 64, (u64)w->clock); return S_NEXT;
    case H_GETPC: put_scalar(w, o->dst.at, 64, o->imm64); return S_NEXT;
    case H_MODE: w->mode = (w->mode & ~(15u << o->flags)) | o->imm << o->flags; return S_NEXT;
    case H_SMEM: return isa_smem(w, p, o);
    case H_FAST1: return vector_fast(w, o, 1) ? S_NEXT : isa_valu(w, p, o);
    case H_FAST2: return vector_fast(w, o, 2) ? S_NEXT : isa_valu(w, p, o);
    case H_FAST3: return vector_fast(w, o, 3) ? S_NEXT : isa_valu(w, p, o);
    case H_VALU: return isa_valu(w, p, o);
    case H_DUAL: return isa_dual(w, p, o);
    case H_READLANE: case H_READFIRST: case H_WRITELANE: case H_MBCNT: case H_PERMSWAP: case H_PERMLANE16:
    case H_SWAP: case H_BPERMUTE: case H_SWIZZLE: return isa_lanes(w, p, o);
    case H_MEM: return isa_mem(w, p, o);
    case H_MATRIX: return isa_matrix(w, p, o);
    }
    return S_FALLBACK;
}

/* instructions of a workgroup between two reports to the count that all share */
enum { REPORT = 8192 };
static void report(Group *g) {
    __atomic_add_fetch(g->executed, g->unreported, __ATOMIC_RELAXED);
    g->unreported = 0;
}

static int run_wave(Wave *w, const Prog *p, Group *g) {
    i64 start = g->left;
    int signal = S_QUANTUM;
    while (g->left > 0) {
        i64 at = w->pc, next = at + 1;
        if (at < 0 || at >= p->n) {
            signal = S_FALLBACK;
            break;
        }
        const Op *o = p->ops + at;
        if (o->h == H_FALLBACK || (w->mode & MODAL)) { /* relative registers, VSKIP: the text does not hold */
            signal = S_FALLBACK;
            break;
        }
        if (w->traced) {
            if (w->nlines >= w->lines_cap || w->nevents + EVENT_ROOM > w->events_cap ||
                w->naddresses + EVENT_ROOM * MAX_LANES > w->addresses_cap) {
                signal = S_DRAIN;
                break;
            }
            w->lines[w->nlines] = (i32)at;
            w->line_flags[w->nlines++] = exec_of(w) ? 0 : 2;
        }
        int s = step(w, p, g, o, &next);
        if (s == S_FALLBACK) {
            if (w->traced) w->nlines--;
            signal = s;
            break;
        }
        g->counts[at]++;
        g->left--;
        w->clock++;
        w->step++;
        w->pc = next;
        if (s != S_NEXT) {
            signal = s;
            break;
        }
    }
    g->unreported += start - g->left;
    if (g->unreported >= REPORT) report(g);
    return signal;
}

/* Python executed instructions of a wave itself: count them; report what the last one said. */
void isa_count(i64 *executed, i64 n) { __atomic_add_fetch(executed, n, __ATOMIC_RELAXED); }
void isa_signal(Group *g, int ended) {
    if (ended) g->live--, complete_phase(g);
    g->in_turn = 0;
    g->cur++;
}

static int run_group(Group *g, const Prog *p) {
    for (;;) {
        if (!g->in_turn) {
            if (g->cur >= g->n) {
                g->cur = 0;
                if (g->live == 0) return S_END;
                if (!g->progressed) return S_DEADLOCK;
                g->progressed = 0;
                if (g->budget <= 0) {
                    g->budget = g->slice;
                    return S_SLICE;
                }
            }
            Wave *w = g->waves[g->cur];
            if (w->done || (w->barrier && g->phase <= w->phase)) {
                g->cur++;
                continue;
            }
            if (w->barrier) w->phase++, w->barrier = 0;
            g->progressed = 1;
            i64 left = g->limit - g->unreported - __atomic_load_n(g->executed, __ATOMIC_RELAXED);
            if (left <= 0) return S_LIMIT;
            g->left = left < g->quantum ? left : g->quantum;
            g->in_turn = 1;
        }
        i64 before = g->left;
        int s = run_wave(g->waves[g->cur], p, g);
        g->budget -= before - g->left;
        if (s == S_FALLBACK || s == S_DRAIN) return s;
        if (s == S_END) g->live--, complete_phase(g);
        g->in_turn = 0;
        g->cur++;
    }
}

/* Run a workgroup until its slice is used up, all waves ended, or Python has to do something. */
int isa_run(Group *g, const Prog *p) {
    int signal = run_group(g, p);
    report(g);
    return signal;
}

/* -- operations of the scalar ALU; a and b arrive zero-extended from their width ------ */
#define SALU(name, expr)                                                                 \
    static u64 s_##name(u64 a, u64 b, u32 scc, u32 *out) {                               \
        (void)a, (void)b, (void)scc, (void)out;                                          \
        return expr;                                                                     \
    }                                                                                    \
    __attribute__((constructor)) static void regs_##name(void) { isa_add_scalar(#name, s_##name); }
#define X32 ((i32)(u32)a)
#define Y32 ((i32)(u32)b)
static inline u64 nz32(u64 r, u32 *out) { *out = (u32)r != 0; return (u32)r; }
static inline u64 nz64(u64 r, u32 *out) { *out = r != 0; return r; }
static inline u64 with(u64 r, u64 scc, u32 *out) { *out = (u32)scc; return r; }
static u64 bfe(u64 a, u64 b, int bits, int sign) {
    u64 offset = b & (u64)(bits - 1), width = b >> 16 & 0x7F;
    if (width > (u64)bits) width = (u64)bits;
    if (!width) return 0;
    u64 r = sign ? (u64)((i64)(bits == 32 ? (i64)(i32)(u32)a : (i64)a) >> offset) : a >> offset;
    if (width < 64) {
        r &= ((u64)1 << width) - 1;
        if (sign && r >> (width - 1)) r |= ~(u64)0 << width;
    }
    return r;
}
static u64 spread(u64 x, int bits, int quad) {
    u64 r = 0;
    for (int i = 0; i < bits; i += 4)
        if (x >> i & 15) r |= quad ? (u64)1 << i / 4 : (u64)15 << i;
    return r;
}
static u64 reverse64(u64 x) {
    u64 r = 0;
    for (int i = 0; i < 64; i++) r |= (x >> i & 1) << (63 - i);
    return r;
}
static u64 replicate(u64 x) {
    u64 r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) * (u64)3 << 2 * i;
    return r;
}
static inline i64 clz_of(u64 x, int bits) { return x ? __builtin_clzll(x) - (64 - bits) : -1; }
static inline i64 ctz_of(u64 x) { return x ? __builtin_ctzll(x) : -1; }
static inline u64 shl64(u64 a, u64 b) { return a << (b & 63); }

#define LOGIC(bits)                                                                      \
    SALU(and_b##bits, nz##bits(a & b, out)) SALU(or_b##bits, nz##bits(a | b, out))       \
    SALU(xor_b##bits, nz##bits(a ^ b, out)) SALU(nand_b##bits, nz##bits(~(a & b), out))  \
    SALU(nor_b##bits, nz##bits(~(a | b), out)) SALU(xnor_b##bits, nz##bits(~(a ^ b), out)) \
    SALU(andn2_b##bits, nz##bits(a & ~b, out)) SALU(orn2_b##bits, nz##bits(a | ~b, out)) \
    SALU(lshl_b##bits, nz##bits(a << (b & (bits - 1)), out))                             \
    SALU(lshr_b##bits, nz##bits(a >> (b & (bits - 1)), out))                             \
    SALU(ashr_i##bits, nz##bits((u64)((bits == 32 ? (i64)X32 : (i64)a) >> (b & (bits - 1))), out)) \
    SALU(bfe_u##bits, nz##bits(bfe(a, b, bits, 0), out)) SALU(bfe_i##bits, nz##bits(bfe(a, b, bits, 1), out)) \
    SALU(bfm_b##bits, (((u64)1 << (a & (bits - 1))) - 1) << (b & (bits - 1)))            \
    SALU(not_b##bits, nz##bits(~a, out)) SALU(mov_b##bits, a)                            \
    SALU(cmov_b##bits, scc ? a : b) SALU(cselect_b##bits, scc ? a : b)                   \
    SALU(brev_b##bits, reverse64(a) >> (64 - bits))                                      \
    SALU(wqm_b##bits, nz##bits(spread(a, bits, 0), out)) SALU(quadmask_b##bits, nz##bits(spread(a, bits, 1), out)) \
    SALU(bcnt0_b##bits, nz32((u64)(bits - __builtin_popcountll(a)), out))                \
    SALU(bcnt1_b##bits, nz32((u64)__builtin_popcountll(a), out))                         \
    SALU(ff0_b##bits, (u64)ctz_of(bits == 32 ? (u64)(u32)~a : ~a)) SALU(ff1_b##bits, (u64)ctz_of(a)) \
    SALU(clz_b##bits, (u64)clz_of(a, bits))                                              \
    SALU(cls_b##bits, (u64)clz_of(a >> (bits - 1) ? (bits == 32 ? (u64)(u32)~a : ~a) : a, bits)) \
    SALU(bitset0_b##bits, b & ~((u64)1 << (a & (bits - 1)))) SALU(bitset1_b##bits, b | (u64)1 << (a & (bits - 1))) \
    SALU(bitcmp0_b##bits, with(0, !(a >> (b & (bits - 1)) & 1), out))                    \
    SALU(bitcmp1_b##bits, with(0, a >> (b & (bits - 1)) & 1, out))
LOGIC(32)
LOGIC(64)

#define COMPARE(t, x, y)                                                                 \
    SALU(cmp_eq_##t, with(0, (x) == (y), out)) SALU(cmp_lg_##t, with(0, (x) != (y), out)) \
    SALU(cmp_gt_##t, with(0, (x) > (y), out)) SALU(cmp_ge_##t, with(0, (x) >= (y), out)) \
    SALU(cmp_lt_##t, with(0, (x) < (y), out)) SALU(cmp_le_##t, with(0, (x) <= (y), out))
COMPARE(i32, X32, Y32)
COMPARE(u32, (u32)a, (u32)b)
COMPARE(u64, a, b)

SALU(add_u32, with(a + b, (a + b) >> 32, out))
SALU(sub_u32, with(a - b, b > a, out))
SALU(addc_u32, with(a + b + scc, (a + b + scc) >> 32, out))
SALU(subb_u32, with(a - b - scc, b + scc > a, out))
SALU(add_i32, with(a + b, (i64)X32 + Y32 != (i32)(u32)(a + b), out))
SALU(sub_i32, with(a - b, (i64)X32 - Y32 != (i32)(u32)(a - b), out))
SALU(addk_i32, with(a + b, (i64)X32 + Y32 != (i32)(u32)(a + b), out))
SALU(mulk_i32, a *b)
SALU(movk_i32, a)
SALU(cmovk_i32, scc ? a : b)
SALU(add_u64, a + b)
SALU(sub_u64, a - b)
SALU(mul_u64, a *b)
SALU(mul_i32, a *b)
SALU(mul_hi_u32, a *b >> 32)
SALU(mul_hi_i32, (u64)(((i64)X32 * Y32) >> 32))
SALU(min_i32, with(X32 < Y32 ? a : b, X32 < Y32, out))
SALU(max_i32, with(X32 >= Y32 ? a : b, X32 >= Y32, out))
SALU(min_u32, with(a < b ? a : b, a < b, out))
SALU(max_u32, with(a >= b ? a : b, a >= b, out))
SALU(abs_i32, nz32(X32 < 0 ? 0 - a : a, out))
SALU(absdiff_i32, nz32((i32)(u32)(a - b) < 0 ? b - a : a - b, out))
SALU(sext_i32_i8, (u64)(i64)(i8)a)
SALU(sext_i32_i16, (u64)(i64)(i16)a)
SALU(lshl1_add_u32, with((a << 1) + b, (a << 1) + b > 0xFFFFFFFFu, out))
SALU(lshl2_add_u32, with((a << 2) + b, (a << 2) + b > 0xFFFFFFFFu, out))
SALU(lshl3_add_u32, with((a << 3) + b, (a << 3) + b > 0xFFFFFFFFu, out))
SALU(lshl4_add_u32, with((a << 4) + b, (a << 4) + b > 0xFFFFFFFFu, out))
SALU(pack_ll, (a & 0xFFFF) | (b & 0xFFFF) << 16)
SALU(pack_lh, (a & 0xFFFF) | (b & 0xFFFF0000u))
SALU(pack_hh, a >> 16 | (b & 0xFFFF0000u))
SALU(pack_hl, a >> 16 | (b & 0xFFFF) << 16)
SALU(bitreplicate, replicate(a))
/* s_*_saveexec: a is the source, b is EXEC; the names of isaprof.sim.semantics.salu.SAVEEXEC */
SALU(exec_and, a &b)
SALU(exec_or, a | b)
SALU(exec_xor, a ^ b)
SALU(exec_nand, ~(a & b))
SALU(exec_nor, ~(a | b))
SALU(exec_xnor, ~(a ^ b))
SALU(exec_andn1, ~a & b)
SALU(exec_and_not0, ~a & b)
SALU(exec_andn2, a & ~b)
SALU(exec_and_not1, a & ~b)
SALU(exec_orn1, ~a | b)
SALU(exec_or_not0, ~a | b)
SALU(exec_orn2, a | ~b)
SALU(exec_or_not1, a | ~b)
