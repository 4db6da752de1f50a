/* Vector ALU: sources fetched with their modifiers, one kernel, results stored under EXEC. */
#include "floats.h"

enum { ROWS = 2 * MAX_LANES };

static inline int flushes(u32 mode, int f, int output) {
    u32 denorm = f == F_32 ? mode >> 4 & 3 : mode >> 6 & 3;
    return f != F_NONE && f != F_BF16 && !(denorm >> output & 1);
}

static void flush_rows(u32 *t, i64 n, int f) {
    if (f == F_32) {
        for (i64 l = 0; l < n; l++) t[l] = t[l] & 0x7F800000u ? t[l] : t[l] & 0x80000000u;
    } else if (f == F_16) {
        for (i64 l = 0; l < n; l++) {
            u32 lo = t[l] & 0x7C00u ? t[l] & 0xFFFFu : t[l] & 0x8000u;
            u32 hi = t[l] & 0x7C000000u ? t[l] & 0xFFFF0000u : t[l] & 0x80000000u;
            t[l] = lo | hi;
        }
    } else if (f == F_64) {
        for (i64 l = 0; l < n; l++)
            if (!(t[l + n] & 0x7FF00000u)) t[l] = 0, t[l + n] &= 0x80000000u;
    }
}

static void sign_rows(u32 *t, i64 n, int f, int mods) {
    if (f == F_64) t += n;
    u32 bit = f == F_16 || f == F_BF16 ? 0x8000u : 0x80000000u;
    u32 keep = mods & MOD_ABS ? ~bit : ~0u, flip = mods & MOD_NEG ? bit : 0;
    for (i64 l = 0; l < n; l++) t[l] = (t[l] & keep) ^ flip;
}

static inline void fill(u32 *t, i64 n, u32 x) {
    for (i64 l = 0; l < n; l++) t[l] = x;
}

/* The rows that a kernel reads for one source: the register itself where nothing has to be done. */
static const u32 *fetch(Wave *w, const Prog *p, const Op *o, int i, u32 *t) {
    const Src *s = &o->src[i];
    const i64 n = w->lanes;
    const u32 *raw;
    int wide = s->type == T_64 || s->type == T_PAIR32;
    switch (s->kind) {
    case SRC_ROW: raw = row(w, s->at); break;
    case SRC_CONST: raw = p->consts + 2 * s->at * n; break;
    case SRC_MASK: isa_expand_mask(t, lane_mask(w, s->at), n); return t;
    default: {
        u64 x = isa_scalar_value(w, p, s);
        fill(t, n, (u32)x);
        if (wide) fill(t + n, n, (u32)(x >> 32));
        raw = t;
    }
    }
    if (i == 0 && o->dpp >= 0) {
        const Dpp *c = &p->dpps[o->dpp];
        u64 exec = exec_of(w), ok = c->valid;
        if (exec != all_lanes(w) && !c->fetch_inactive) {
            u64 on = 0;
            for (i64 l = 0; l < n; l++) on |= (exec >> c->source[l] & 1) << l;
            ok &= on;
        }
        for (i64 l = 0; l < n; l++) t[l] = ok >> l & 1 ? raw[c->source[l]] : 0;
        if (wide)
            for (i64 l = 0; l < n; l++) t[l + n] = ok >> l & 1 ? raw[c->source[l] + n] : 0;
        raw = t;
    }
    int flush = s->flush && flushes(w->mode, s->flush, 0);
    switch (s->type) {
    case T_16:
        if (!s->half && !s->mods && !flush) return raw;
        for (i64 l = 0; l < n; l++) t[l] = raw[l] >> 16 * s->half & 0xFFFFu;
        raw = t;
        break;
    case T_HALVES: {
        u32 lo = s->half & 1 ? 16 : 0, hi = s->half & 2 ? 16 : 0, keep = s->and_, flip = s->xor_;
        if (lo || !hi || keep != ~0u || flip)
            for (i64 l = 0; l < n; l++) t[l] = (((raw[l] >> lo & 0xFFFFu) | (raw[l] >> hi) << 16) & keep) ^ flip;
        else if (!flush) return raw;
        else if (raw != t) memcpy(t, raw, 4 * (size_t)n);
        if (flush) flush_rows(t, n, F_16);
        return t;
    }
    case T_PAIR32: {
        u32 low_row = s->half & 1, high_row = s->half >> 1 & 1;
        if (!low_row && high_row && !s->and_ && !s->xor_ && !flush) return raw;
        u32 copy[ROWS];
        memcpy(copy, raw, 8 * (size_t)n);
        for (i64 l = 0; l < n; l++) t[l] = copy[l + n * low_row] ^ s->and_;
        for (i64 l = 0; l < n; l++) t[l + n] = copy[l + n * high_row] ^ s->xor_;
        if (flush) flush_rows(t, 2 * n, F_32);
        return t;
    }
    case T_WIDEN: /* one half as f32 */
        for (i64 l = 0; l < n; l++) t[l] = widen16(raw[l] >> 16 * s->half & 0xFFFFu);
        raw = t;
        break;
    case T_BITS: {
        u32 left = 32u - s->low - s->width, right = 32u - s->width;
        if (s->sext)
            for (i64 l = 0; l < n; l++) t[l] = (u32)((i32)(raw[l] << left) >> right);
        else
            for (i64 l = 0; l < n; l++) t[l] = raw[l] << left >> right;
        if (s->half) /* seen as a 16-bit type */
            for (i64 l = 0; l < n; l++) t[l] &= 0xFFFFu;
        raw = t;
        break;
    }
    }
    if (!s->mods && !flush) return raw;
    if (raw != t) memcpy(t, raw, (wide ? 8 : 4) * (size_t)n), raw = t;
    if (s->mods) sign_rows(t, n, s->sign, s->mods);
    if (flush) flush_rows(t, n, s->flush);
    return t;
}

/* -- results -------------------------------------------------------------------------- */
static int output_modifiers(Wave *w, const Op *o, u32 *t, i64 n) {
    int flush = flushes(w->mode, o->fdst, 1);
    if (o->omod != 0 && flush && !(w->mode >> 9 & 1)) {
        flush_rows(t, n, F_32);
        float *f = (float *)t;
        for (i64 l = 0; l < n; l++) f[l] = f[l] * o->omod + 0.0f;
    }
    if (o->clamp) {
        int keep_nan = !(w->mode >> 8 & 1);
        if (o->fdst == F_32) {
            float *f = (float *)t;
            for (i64 l = 0; l < n; l++) {
                float r = f[l] > 0 ? (f[l] < 1 ? f[l] : 1.0f) : 0.0f;
                if (keep_nan && f[l] != f[l]) t[l] = 0x7FC00000u;
                else f[l] = r;
            }
        } else {
            for (i64 l = 0; l < n; l++)
                for (int h = 0; h < (o->dst.kind == D_32 ? 32 : 16); h += 16) {
                    float x = f32(widen16(t[l] >> h & 0xFFFFu));
                    u32 r = x > 0 ? (x < 1 ? t[l] >> h & 0xFFFFu : 0x3C00u) : 0;
                    if (keep_nan && x != x) r = 0x7E00u;
                    t[l] = (t[l] & ~(0xFFFFu << h)) | r << h;
                }
        }
    }
    if (flush) flush_rows(t, n, o->fdst);
    return 0;
}

static inline void blend(u32 *d, const u32 *t, const u32 *mask, i64 n) {
    for (i64 l = 0; l < n; l++) d[l] = (d[l] & ~mask[l]) | (t[l] & mask[l]);
}

static void commit(Wave *w, const Prog *p, const Op *o, u32 *t, const u32 *m) {
    const i64 n = w->lanes;
    u64 exec = exec_of(w), write = exec;
    u32 lanes[MAX_LANES];
    const u32 *mask;
    if (o->dpp >= 0) {
        const Dpp *c = &p->dpps[o->dpp];
        write &= c->enabled;
        if (!c->zero_invalid) {
            u64 ok = c->valid;
            if (exec != all_lanes(w) && !c->fetch_inactive) {
                u64 on = 0;
                for (i64 l = 0; l < n; l++) on |= (exec >> c->source[l] & 1) << l;
                ok &= on;
            }
            write &= ok;
        }
        isa_expand_mask(lanes, write, n);
        mask = lanes;
    } else {
        mask = isa_exec_row(w, exec);
    }
    u32 *d = row(w, o->dst.at);
    switch (o->dst.kind) {
    case D_32: blend(d, t, mask, n); break;
    case D_64: case D_PAIR32: blend(d, t, mask, n); blend(d + n, t + n, mask, n); break;
    case D_LO: for (i64 l = 0; l < n; l++) d[l] = mask[l] ? (d[l] & 0xFFFF0000u) | (t[l] & 0xFFFFu) : d[l]; break;
    case D_LO_CLEAR: for (i64 l = 0; l < n; l++) d[l] = mask[l] ? t[l] & 0xFFFFu : d[l]; break;
    case D_HI: for (i64 l = 0; l < n; l++) d[l] = mask[l] ? (d[l] & 0xFFFFu) | t[l] << 16 : d[l]; break;
    case D_SDWA: {
        u32 low = o->dst.low, width = o->dst.width, keep = width == 32 ? ~0u : (1u << width) - 1, up = 32 - low - width;
        for (i64 l = 0; l < n; l++) {
            u32 x = (t[l] & keep) << low;
            if (o->dst.unused == 2) x |= d[l] & ~(keep << low);
            else if (o->dst.unused == 1) x = ((u32)((i32)(x << up) >> up) & ~((1u << low) - 1)) | x;
            d[l] = mask[l] ? x : d[l];
        }
        break;
    }
    case D_MASK: set_lane_mask(w, o->dst.at, isa_pack_mask(t, n) & write); break;
    }
    if (o->dst2.kind == D_MASK) {
        u64 bits = isa_pack_mask(m, n) & write;
        if (o->dst2.at >= 0) set_lane_mask(w, o->dst2.at, bits);
    }
    if (o->writes_exec) set_lane_mask(w, EXEC, isa_pack_mask(t, n) & write);
}

/* -- one instruction ------------------------------------------------------------------ */
static int refuses(const Wave *w, const Op *o) { return o->uses_mode && (w->mode & 15); }

static int compute(Wave *w, const Prog *p, const Op *o, u32 *d, u32 *m) {
    u32 t[4][ROWS];
    const u32 *s[4] = {0, 0, 0, 0};
    for (int i = 0; i < o->nsrc; i++) s[i] = fetch(w, p, o, i, t[i]);
    Args x = {.d = d, .m = m, .a = s[0], .b = s[1], .c = s[2], .e = s[3], .n = o->n2 ? 2 * w->lanes : w->lanes,
              .mode = w->mode, .imm = o->imm, .fnuz = w->fnuz};
    isa_kernels[o->kernel](&x);
    return 0;
}

int isa_valu(Wave *w, const Prog *p, const Op *o) {
    if (refuses(w, o)) return S_FALLBACK;
    u32 t[ROWS], m[ROWS];
    int post = o->clamp || o->omod != 0 || (o->fdst && flushes(w->mode, o->fdst, 1));
    int whole = o->dst.kind == D_32 || o->dst.kind == D_64 || o->dst.kind == D_PAIR32;
    if (whole && !post && !o->temp && o->dpp < 0 && exec_of(w) == all_lanes(w)) {
        compute(w, p, o, row(w, o->dst.at), m);
        if (o->dst2.kind == D_MASK && o->dst2.at >= 0) set_lane_mask(w, o->dst2.at, isa_pack_mask(m, w->lanes));
        return S_NEXT;
    }
    compute(w, p, o, t, m);
    if (post) output_modifiers(w, o, t, o->n2 ? 2 * w->lanes : w->lanes);
    commit(w, p, o, t, m);
    return S_NEXT;
}

/* VOPD: both halves read before either writes. */
int isa_dual(Wave *w, const Prog *p, const Op *o) {
    const Op *x = p->ops + o->target, *y = p->ops + o->dual;
    u32 tx[ROWS], mx[ROWS], ty[ROWS], my[ROWS];
    if (refuses(w, x) || refuses(w, y)) return S_FALLBACK;
    compute(w, p, x, tx, mx);
    compute(w, p, y, ty, my);
    if (x->clamp || x->omod != 0 || x->fdst) output_modifiers(w, x, tx, w->lanes);
    if (y->clamp || y->omod != 0 || y->fdst) output_modifiers(w, y, ty, w->lanes);
    commit(w, p, x, tx, mx);
    commit(w, p, y, ty, my);
    return S_NEXT;
}
