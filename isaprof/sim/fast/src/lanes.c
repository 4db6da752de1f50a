/* Vector instructions that move data between lanes or between lanes and scalars. */
#include "isa.h"

static u32 scalar32(const Wave *w, const Prog *p, const Src *s) { return (u32)isa_scalar_value(w, p, s); }

static void store(Wave *w, u32 *d, const u32 *t, u64 write) {
    const i64 n = w->lanes;
    if (write == all_lanes(w)) {
        memcpy(d, t, 4 * (size_t)n);
        return;
    }
    for (i64 l = 0; l < n; l++)
        if (write >> l & 1) d[l] = t[l];
}

static void put_slot(Wave *w, int slot, u32 x) {
    if (slot != NUL) w->s[slot] = x;
}

/* value[l] from lane source[l]; lanes that EXEC switches off read 0 or are not written */
static void permute(Wave *w, const Op *o, const u8 *source, int fi, int bound) {
    const i64 n = w->lanes;
    const u32 *v = row(w, o->src[0].at);
    u64 exec = exec_of(w), write = exec, all = all_lanes(w);
    u32 t[MAX_LANES];
    for (i64 l = 0; l < n; l++) {
        t[l] = v[source[l]];
        if (!fi && exec != all && !(exec >> source[l] & 1)) {
            t[l] = 0;
            if (!bound) write &= ~((u64)1 << l);
        }
    }
    store(w, row(w, o->dst.at), t, write);
}

static void permswap(Wave *w, const Op *o) {
    const i64 n = w->lanes, width = o->imm;
    u32 *d = row(w, o->dst.at), *s = row(w, o->src[0].at);
    u64 exec = exec_of(w), all = all_lanes(w);
    int fi = o->flags & 1, bound = o->flags >> 1 & 1;
    u32 up[MAX_LANES], low[MAX_LANES];
    for (i64 u = 0; u < n; u++) up[u] = d[u], low[u] = s[u];
    /* the reference gathers both sides first, then writes d, then s */
    for (int pass = 0; pass < 2; pass++)
        for (i64 u = 0; u < n; u++) {
            if (!(u & width)) continue;
            i64 l = u - width;
            u32 on_up = exec >> u & 1, on_low = exec >> l & 1, x = up[u], y = low[l];
            if (exec != all && !fi) {
                if (bound) x = on_up ? x : 0, y = on_low ? y : 0;
                else on_up = on_low = on_up & on_low;
            }
            if (!pass && on_up) d[u] = y;
            if (pass && on_low) s[l] = x;
        }
}

int isa_lanes(Wave *w, const Prog *p, const Op *o) {
    const i64 n = w->lanes;
    u64 exec = exec_of(w);
    u32 t[MAX_LANES];
    u8 source[MAX_LANES];
    switch (o->h) {
    case H_READLANE: put_slot(w, o->dst.at, row(w, o->src[0].at)[scalar32(w, p, &o->src[1]) & (u32)(n - 1)]); break;
    case H_READFIRST: {
        i64 lane = exec ? __builtin_ctzll(exec) : 0;
        if (o->src[0].kind != SRC_ROW) put_slot(w, o->dst.at, scalar32(w, p, &o->src[0]));
        else put_slot(w, o->dst.at, row(w, o->src[0].at)[lane < n ? lane : 0]);
        break;
    }
    case H_WRITELANE: {
        u32 x = scalar32(w, p, &o->src[0]);
        row(w, o->dst.at)[scalar32(w, p, &o->src[1]) & (u32)(n - 1)] = x;
        break;
    }
    case H_MBCNT:
        for (i64 l = 0; l < n; l++) {
            i64 k = o->flags ? l - 32 : l; /* flags: the high half of the mask */
            u32 below = k <= 0 ? 0 : k >= 32 ? ~0u : (1u << k) - 1;
            u32 m = o->src[0].kind == SRC_ROW ? row(w, o->src[0].at)[l] : scalar32(w, p, &o->src[0]);
            u32 c = o->src[1].kind == SRC_ROW ? row(w, o->src[1].at)[l] : scalar32(w, p, &o->src[1]);
            t[l] = (u32)__builtin_popcount(m & below) + c;
        }
        store(w, row(w, o->dst.at), t, exec);
        break;
    case H_PERMSWAP: permswap(w, o); break;
    case H_PERMLANE16: {
        u64 sel = scalar32(w, p, &o->src[1]) | (u64)scalar32(w, p, &o->src[2]) << 32;
        for (i64 l = 0; l < n; l++) source[l] = (u8)(((l & ~15) ^ o->imm) + (i64)(sel >> 4 * (l & 15) & 15));
        permute(w, o, source, o->flags & 1, o->flags >> 1 & 1);
        break;
    }
    case H_SWAP: {
        u32 *a = row(w, o->dst.at), *b = row(w, o->src[0].at);
        for (i64 l = 0; l < n; l++)
            if (exec >> l & 1) {
                u32 x = a[l];
                a[l] = b[l], b[l] = x;
            }
        break;
    }
    case H_BPERMUTE: {
        const u32 *a = row(w, o->src[0].at), *v = row(w, o->src[1].at);
        int on = exec == all_lanes(w) || o->flags & 1;
        if (o->flags & 2) { /* ds_permute: pushes; the last lane that names a target wins */
            memset(t, 0, 4 * (size_t)n);
            for (i64 l = 0; l < n; l++)
                if (exec >> l & 1) t[((a[l] + o->imm) >> 2) % (u32)n] = v[l];
        } else for (i64 l = 0; l < n; l++) {
            u32 lane = ((a[l] + o->imm) >> 2) % (u32)n;
            t[l] = on || exec >> lane & 1 ? v[lane] : 0;
        }
        store(w, row(w, o->dst.at), t, exec);
        break;
    }
    case H_SWIZZLE: {
        const Dpp *c = &p->dpps[o->dpp];
        const u32 *v = row(w, o->src[0].at);
        for (i64 l = 0; l < n; l++) {
            u32 lane = c->source[l];
            t[l] = exec == all_lanes(w) || exec >> lane & 1 ? v[lane] : 0;
        }
        store(w, row(w, o->dst.at), t, exec);
        break;
    }
    }
    return S_NEXT;
}
