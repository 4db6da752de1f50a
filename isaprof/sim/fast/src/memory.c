/* Memory instructions: every lane's address is checked before anything is read or written. */
#include "floats.h"

/* -- bounds ------------------------------------------------------------------------------ */
static int inside(const Memory *m, i64 i, u64 a, u64 nbytes, int store) {
    return a >= m->starts[i] && a < m->ends[i] && nbytes <= m->ends[i] - a && (m->writable[i] || !store);
}

static int find(Wave *w, u64 a, u64 nbytes, int store) {
    const Memory *m = w->memory;
    i64 lo = 0, hi = m->segments;
    while (lo < hi) {
        i64 mid = (lo + hi) / 2;
        if (m->starts[mid] <= a) lo = mid + 1;
        else hi = mid;
    }
    if (lo == 0 || !inside(m, lo - 1, a, nbytes, store)) return 0;
    w->hit = lo - 1;
    return 1;
}

static int checked(Wave *w, const u64 *a, int n, u64 nbytes, int store) {
    const Memory *m = w->memory;
    if (m->segments <= 0) return n == 0;
    for (int i = 0; i < n; i++)
        if (!inside(m, w->hit, a[i], nbytes, store) && !find(w, a[i], nbytes, store)) return 0;
    return 1;
}

/* -- scalar loads ------------------------------------------------------------------------ */
int isa_smem(Wave *w, const Prog *p, const Op *o) {
    const Mem *k = &p->mems[o->extra];
    i64 offset = k->imm;
    for (int i = 0; i < o->nsrc; i++) offset += (i64)(u32)isa_scalar_value(w, p, &o->src[i]);
    i64 align = k->nbytes >= 4 ? ~(i64)3 : ~(i64)(k->nbytes - 1);
    u32 t[16];
    u64 start = w->s[k->saddr] | (u64)w->s[k->saddr + 1] << 32, a;
    if (k->space == SP_BUFFER) {
        i64 at = offset & align;
        u64 base = w->s[k->rsrc] | (u64)(w->s[k->rsrc + 1] & 0xFFFF) << 32;
        u64 stride = w->s[k->rsrc + 1] >> 16 & 0x3FFF, size = w->s[k->rsrc + 2] * (stride ? stride : 1);
        a = base + (u64)at;
        for (int i = 0; i < k->nbytes / 4; i++) {
            int in = at + 4 * i >= 0 && (u64)(at + 4 * i + 4) <= size;
            u64 x = a + 4u * (u32)i;
            if (in && !checked(w, &x, 1, 4, 0)) return S_FALLBACK;
            t[i] = 0;
            if (in) memcpy(&t[i], w->memory->bytes + (x - w->memory->base), 4);
        }
    } else {
        a = (start + (u64)offset) & (u64)align;
        if (!checked(w, &a, 1, k->nbytes, 0)) return S_FALLBACK;
        memcpy(t, w->memory->bytes + (a - w->memory->base), k->nbytes);
    }
    isa_event(w, SP_SCALAR, 1, 0, k->nbytes, &a, 0, 1);
    if (k->dst == NUL) return S_NEXT;
    if (k->nbytes < 4) {
        u32 x = k->nbytes == 1 ? (u8)t[0] : (u16)t[0];
        if (k->is_signed) x = k->nbytes == 1 ? (u32)(i8)x : (u32)(i16)x;
        w->s[k->dst] = x;
    } else {
        memcpy(w->s + k->dst, t, k->nbytes);
    }
    return S_NEXT;
}

/* -- vector addresses -------------------------------------------------------------------- */
typedef struct {
    int n;
    u8 lane[MAX_LANES];
    u64 a[MAX_LANES];
    u32 in[MAX_LANES]; /* per dword: in range (buffers) */
    int all_in;
} Access;

static int active(const Wave *w, Access *x) {
    u64 exec = exec_of(w);
    x->n = 0;
    x->all_in = 1;
    while (exec) {
        x->lane[x->n++] = (u8)__builtin_ctzll(exec);
        exec &= exec - 1;
    }
    return x->n;
}

static int buffer_addresses(Wave *w, const Mem *k, Access *x) {
    u32 w0 = w->s[k->rsrc], w1 = w->s[k->rsrc + 1], records = w->s[k->rsrc + 2], w3 = w->s[k->rsrc + 3];
    u64 base = w0 | (u64)(w1 & 0xFFFF) << 32;
    i64 stride = w1 >> 16 & 0x3FFF, swizzle = k->gfx9 ? w1 >> 31 : w1 >> 30 & 3;
    if ((w3 >> 23 & 1) || (swizzle && stride)) return 0;
    i64 so = k->soffset < 0 ? k->so_const : k->soffset == NUL ? 0 : w->s[k->soffset];
    const u32 *v = k->addr >= 0 ? row(w, k->addr) : 0;
    const u32 *vo = v && k->idxen ? v + w->lanes : v;
    int dwords = k->nbytes < 4 ? 1 : k->nbytes / 4, piece = k->nbytes < 4 ? k->nbytes : 4, select = w3 >> 28 & 3;
    u32 whole = (1u << dwords) - 1;
    for (int i = 0; i < x->n; i++) {
        int l = x->lane[i];
        i64 index = k->idxen ? v[l] : 0, offset = (k->offen ? (i64)vo[l] : 0) + k->imm;
        i64 linear = index * stride + offset;
        u32 in = 0;
        for (int j = 0; j < dwords; j++) {
            i64 end = 4 * j + piece;
            int ok;
            if (k->gfx9) ok = stride && k->idxen ? index < records : linear + so + end <= records;
            else if (select == 0) ok = index < records && offset + end <= stride;
            else if (select == 1) ok = index < records;
            else if (select == 2) ok = records != 0;
            else ok = linear + end <= records;
            in |= (u32)ok << j;
        }
        x->in[i] = in;
        if (in != whole) x->all_in = 0;
        x->a[i] = base + (u64)(linear + so);
    }
    return 1;
}

static int addresses(Wave *w, const Mem *k, Access *x) {
    switch (k->space) {
    case SP_BUFFER: return buffer_addresses(w, k, x);
    case SP_LDS: {
        u32 extra = k->use_m0 ? w->s[M0] & 0xFFFF : 0;
        const u32 *v = k->addr >= 0 ? row(w, k->addr) : 0;
        for (int i = 0; i < x->n; i++)
            x->a[i] = (u64)(k->use_m0 ? 4 * (i64)x->lane[i] + extra + k->imm : (i64)v[x->lane[i]] + k->imm);
        return 1;
    }
    case SP_SCRATCH: {
        i64 base = k->imm + (k->saddr >= 0 && k->saddr != NUL ? w->s[k->saddr] : 0);
        if (!w->scratch) return 0;
        for (int i = 0; i < x->n; i++) {
            u64 o = (u64)((k->addr >= 0 ? (i64)row(w, k->addr)[x->lane[i]] : 0) + base) & 0xFFFFFFFFu;
            if (o + k->nbytes > (u64)w->scratch_stride) return 0;
            x->a[i] = o;
        }
        return 1;
    }
    }
    const u32 *v = row(w, k->addr);
    if (k->wide) {
        for (int i = 0; i < x->n; i++) {
            x->a[i] = pair64(v, w->lanes, x->lane[i]) + (u64)k->imm;
            u64 high = x->a[i] >> 32;
            if (k->space == SP_FLAT && (high == 0x10000 || high == 0x20000)) return 0; /* LDS or scratch aperture */
        }
    } else {
        u64 start = (k->saddr == NUL ? 0 : w->s[k->saddr] | (u64)w->s[k->saddr + 1] << 32) + (u64)k->imm;
        for (int i = 0; i < x->n; i++) {
            x->a[i] = v[x->lane[i]] + start;
            u64 high = x->a[i] >> 32;
            if (k->space == SP_FLAT && (high == 0x10000 || high == 0x20000)) return 0;
        }
    }
    return 1;
}

/* -- moving data ------------------------------------------------------------------------- */
static inline u32 extend(u32 x, const Mem *k) {
    if (!k->is_signed) return x;
    return k->nbytes == 1 ? (u32)(i8)x : (u32)(i16)x;
}

/* where byte 0 of lane i is, NULL when that access must not touch memory */
static inline u8 *place(const Wave *w, const Mem *k, const Access *x, int i) {
    if (k->space == SP_LDS)
        return (i64)x->a[i] < 0 || (i64)x->a[i] + k->nbytes > w->lds_size ? 0 : w->lds + x->a[i];
    if (k->space == SP_SCRATCH) return w->scratch + x->lane[i] * w->scratch_stride + x->a[i];
    return w->memory->bytes + (x->a[i] - w->memory->base);
}

/* the places of all lanes; 0 when some access must not touch memory */
static int all_places(const Wave *w, const Mem *k, const Access *x, u8 **at) {
    if (k->space == SP_LDS) {
        for (int i = 0; i < x->n; i++) {
            if ((i64)x->a[i] < 0 || (i64)x->a[i] + k->nbytes > w->lds_size) return 0;
            at[i] = w->lds + x->a[i];
        }
        return 1;
    }
    if (!x->all_in) return 0;
    for (int i = 0; i < x->n; i++) at[i] = place(w, k, x, i);
    return 1;
}

static void load_rows(Wave *w, const Mem *k, const Access *x, i32 dst) {
    int dwords = (k->nbytes + 3) / 4;
    u8 *all[MAX_LANES];
    if (k->nbytes >= 4 && all_places(w, k, x, all)) {
        for (int j = 0; j < dwords; j++) {
            u32 *d = row(w, dst + j);
            for (int i = 0; i < x->n; i++) memcpy(d + x->lane[i], all[i] + 4 * j, 4);
        }
        return;
    }
    for (int i = 0; i < x->n; i++) {
        const u8 *at = k->space == SP_BUFFER && !x->in[i] ? 0 : place(w, k, x, i);
        u32 *d = row(w, dst) + x->lane[i];
        if (k->nbytes < 4) {
            u32 v = 0;
            if (at) memcpy(&v, at, k->nbytes == 1 ? 1 : 2);
            v = extend(v, k);
            if (k->half < 0) *d = v;
            else *d = k->half ? (*d & 0xFFFFu) | v << 16 : (*d & 0xFFFF0000u) | (v & 0xFFFFu);
            continue;
        }
        for (int j = 0; j < dwords; j++) {
            u32 v = 0;
            if (at && (k->space != SP_BUFFER || x->in[i] >> j & 1)) memcpy(&v, at + 4 * j, 4);
            d[j * w->lanes] = v;
        }
    }
    if (k->space == SP_LDS)
        for (int i = 0; i < x->n; i++) w->lds_outside += place(w, k, x, i) == 0;
}

/* ds_read_b64_tr_*: 16 lanes read rows of 16 elements and receive columns; isaprof.sim.lower.lds.transpose */
static void load_transposed(Wave *w, const Mem *k, const Access *x) {
    const int bits = (int)k->transpose, per = 8 * k->nbytes / bits, dwords = k->nbytes / 4;
    const u32 mask = (1u << bits) - 1;
    u32 raw[MAX_LANES][4] = {{0}};
    for (int i = 0; i < x->n; i++) {
        const u8 *at = place(w, k, x, i);
        if (at) memcpy(raw[x->lane[i]], at, k->nbytes);
        else w->lds_outside++;
    }
    for (int i = 0; i < x->n; i++) {
        int l = x->lane[i], column = l % 16, e = column % per, first = l / 16 * 16 + column / per;
        u32 out[4] = {0};
        for (int q = 0; q < per; q++) {
            const u32 *from = raw[first + q * (16 / per)];
            int at = e * bits, to = q * bits;
            u64 two = from[at / 32] | (u64)from[at / 32 + 1] << 32;
            u64 v = two >> at % 32 & mask;
            out[to / 32] |= (u32)(v << to % 32);
            if (to % 32 + bits > 32) out[to / 32 + 1] |= (u32)(v >> (32 - to % 32));
        }
        for (int j = 0; j < dwords; j++) row(w, k->dst + j)[l] = out[j];
    }
}

static int aligned(const Access *x, u64 mask) {
    for (int i = 0; i < x->n; i++)
        if (x->a[i] & mask) return 0;
    return 1;
}

/* Dwords (bytes when misaligned) in the outer loop, lanes in the inner one: where lanes overlap, the
 * reference's order decides. */
static void store_rows(Wave *w, const Mem *k, const Access *x, const u32 *data) {
    const i64 n = w->lanes;
    int shift = k->half == 1 ? 16 : 0;
    u8 *all[MAX_LANES];
    if (k->nbytes < 4 || ((k->space != SP_BUFFER || x->all_in) && !aligned(x, 3))) {
        for (int b = 0; b < k->nbytes; b++)
            for (int i = 0; i < x->n; i++) {
                u8 *at = k->space == SP_BUFFER && !x->in[i] ? 0 : place(w, k, x, i);
                if (at) at[b] = (u8)(data[(b / 4) * n + x->lane[i]] >> shift >> 8 * (b & 3));
            }
    } else if (all_places(w, k, x, all)) {
        for (int j = 0; j < k->nbytes / 4; j++)
            for (int i = 0; i < x->n; i++) memcpy(all[i] + 4 * j, &data[j * n + x->lane[i]], 4);
        return;
    } else {
        for (int j = 0; j < k->nbytes / 4; j++)
            for (int i = 0; i < x->n; i++) {
                if (k->space == SP_BUFFER && !(x->in[i] >> j & 1)) continue;
                u8 *at = place(w, k, x, i);
                if (at) memcpy(at + 4 * j, &data[j * n + x->lane[i]], 4);
            }
    }
    if (k->space == SP_LDS)
        for (int i = 0; i < x->n; i++) w->lds_outside += place(w, k, x, i) == 0;
}

/* the dwords of a buffer access that are in range, inside a segment */
static int buffer_checked(Wave *w, const Mem *k, const Access *x, int store) {
    if (x->all_in) return checked(w, x->a, x->n, k->nbytes, store);
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < (k->nbytes + 3) / 4; j++) {
            u64 a = x->a[i] + 4u * (u32)j;
            if (x->in[i] >> j & 1 && !checked(w, &a, 1, k->nbytes < 4 ? k->nbytes : 4, store)) return 0;
        }
    return 1;
}

static void trace_access(Wave *w, const Mem *k, const Access *x, int load, int store) {
    if (!w->traced) return;
    int space = k->space == SP_FLAT ? SP_GLOBAL : k->space;
    if (k->space != SP_BUFFER || x->all_in) {
        isa_event(w, space, load, store, k->nbytes, x->a, x->lane, x->n);
        return;
    }
    Access some;
    some.n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->in[i]) some.a[some.n] = x->a[i], some.lane[some.n++] = x->lane[i];
    if (some.n) isa_event(w, space, load, store, k->nbytes, some.a, some.lane, some.n);
}

/* -- atomics ------------------------------------------------------------------------------- */
enum {
    AT_ADD, AT_SUB, AT_RSUB, AT_INC, AT_DEC, AT_SMIN, AT_SMAX, AT_UMIN, AT_UMAX, AT_AND, AT_OR, AT_XOR, AT_SWAP,
    AT_CMPSWAP, AT_ADD_F32, AT_PK_ADD_F16, AT_PK_ADD_BF16, AT_MIN_F32, AT_MAX_F32, AT_ADD_F64
};

static u64 combine(int op, int wide, u64 old, u64 d, u64 cmp) {
    i64 so = wide ? (i64)old : (i64)(i32)old, sd = wide ? (i64)d : (i64)(i32)d;
    u32 a = (u32)old, b = (u32)d;
    switch (op) {
    case AT_ADD: return old + d;
    case AT_SUB: return old - d;
    case AT_RSUB: return d - old;
    case AT_INC: return old >= d ? 0 : old + 1;
    case AT_DEC: return old == 0 || old > d ? d : old - 1;
    case AT_SMIN: return so < sd ? old : d;
    case AT_SMAX: return so > sd ? old : d;
    case AT_UMIN: return old < d ? old : d;
    case AT_UMAX: return old > d ? old : d;
    case AT_AND: return old & d;
    case AT_OR: return old | d;
    case AT_XOR: return old ^ d;
    case AT_SWAP: return d;
    case AT_CMPSWAP: return old == cmp ? d : old;
    case AT_ADD_F32: return add32(a, b);
    case AT_PK_ADD_F16:
        return half_of32(add32(widen16(a & 0xFFFF), widen16(b & 0xFFFF))) |
               half_of32(add32(widen16(a >> 16), widen16(b >> 16))) << 16;
    case AT_PK_ADD_BF16:
        return bf16_of(add32(a << 16, b << 16)) | bf16_of(add32(a & 0xFFFF0000u, b & 0xFFFF0000u)) << 16;
    case AT_MIN_F32: return extreme32(a, b, 0, 1u << 9);
    case AT_MAX_F32: return extreme32(a, b, 1, 1u << 9);
    case AT_ADD_F64: return add64(old, d);
    }
    return old;
}

static int atomics(Wave *w, const Mem *k, const Access *x) {
    const i64 n = w->lanes;
    int wide = k->nbytes == 8;
    if (!aligned(x, k->nbytes - 1u)) return S_FALLBACK;
    if (k->space == SP_LDS)
        for (int i = 0; i < x->n; i++)
            if (!place(w, k, x, i)) return S_FALLBACK;
    trace_access(w, k, x, k->returns, 1);
    if (k->space != SP_LDS && k->space != SP_SCRATCH) isa_lock();
    for (int i = 0; i < x->n; i++) {
        i64 l = x->lane[i];
        u64 old = 0, d = row(w, k->data)[l], c = k->data2 >= 0 ? row(w, k->data2)[l] : 0;
        if (wide) d |= (u64)row(w, k->data + 1)[l] << 32, c |= k->data2 >= 0 ? (u64)row(w, k->data2 + 1)[l] << 32 : 0;
        if (k->space != SP_BUFFER || x->in[i]) {
            u8 *at = place(w, k, x, i);
            memcpy(&old, at, k->nbytes);
            u64 r = combine(k->atomic, wide, old, d, c);
            memcpy(at, &r, k->nbytes);
        }
        if (k->returns) {
            row(w, k->dst)[l] = (u32)old;
            if (wide) row(w, k->dst)[l + n] = (u32)(old >> 32);
        }
    }
    if (k->space != SP_LDS && k->space != SP_SCRATCH) isa_unlock();
    return S_NEXT;
}

/* Loaded dwords go to LDS at M0 + immediate + lane * size. */
static int to_lds(Wave *w, const Mem *k, const Access *x) {
    int size = k->nbytes < 4 ? 4 : k->nbytes;
    trace_access(w, k, x, 1, 0);
    for (int j = 0; j < size / 4; j++)
        for (int i = 0; i < x->n; i++) {
            i64 to = (i64)x->lane[i] * size + w->s[M0] + k->imm2;
            if (to < 0 || to + size > w->lds_size) {
                w->lds_outside += j == 0;
                continue;
            }
            u32 v = 0;
            const u8 *at = k->space == SP_BUFFER && !(x->in[i] >> j & 1) ? 0 : place(w, k, x, i);
            if (at) memcpy(&v, at + 4 * j, k->nbytes < 4 ? k->nbytes : 4);
            v = extend(v, k);
            memcpy(w->lds + to + 4 * j, &v, 4);
        }
    return S_NEXT;
}

int isa_mem(Wave *w, const Prog *p, const Op *o) {
    const Mem k = p->mems[o->extra];
    Access x, y;
    if (!active(w, &x)) return S_NEXT;
    if (!addresses(w, &k, &x)) return S_FALLBACK;
    int store = k.access == ACC_STORE || k.access == ACC_ATOMIC;
    if (k.space == SP_BUFFER) {
        if (!buffer_checked(w, &k, &x, store)) return S_FALLBACK;
    } else if (k.space == SP_GLOBAL || k.space == SP_FLAT) {
        if (!checked(w, x.a, x.n, k.nbytes, store)) return S_FALLBACK;
    }
    if (k.pieces == 2) {
        y = x;
        for (int i = 0; i < x.n; i++) y.a[i] += (u64)(k.imm2 - k.imm);
    }
    switch (k.access) {
    case ACC_ATOMIC: return atomics(w, &k, &x);
    case ACC_DMA: return to_lds(w, &k, &x);
    case ACC_LOAD:
        trace_access(w, &k, &x, 1, 0);
        if (k.transpose) {
            load_transposed(w, &k, &x);
            return S_NEXT;
        }
        if (k.pieces == 2) trace_access(w, &k, &y, 1, 0);
        load_rows(w, &k, &x, k.dst);
        if (k.pieces == 2) load_rows(w, &k, &y, k.dst + k.nbytes / 4);
        return S_NEXT;
    default:
        trace_access(w, &k, &x, 0, 1);
        if (k.pieces == 2) trace_access(w, &k, &y, 0, 1);
        store_rows(w, &k, &x, row(w, k.data));
        if (k.pieces == 2) store_rows(w, &k, &y, row(w, k.data2));
        return S_NEXT;
    }
}
