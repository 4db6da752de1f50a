/* MFMA and WMMA: elements to double, gathered into matrices by index tables, summed over K in order. */
#include "floats.h"

enum { ELEMENTS = 64 * 64, RESULTS = 2048, FACTORS = 4096 };

static void decode(const Wave *w, double *out, int kind, i32 first, i32 regs, const float *table) {
    const i64 n = w->lanes;
    for (i32 r = 0; r < regs; r++) {
        const u32 *v = row(w, first + r);
        switch (kind) {
        case E_F32: for (i64 l = 0; l < n; l++) out[r * 64 + l] = f32(v[l]); break;
        case E_F16:
            for (i64 l = 0; l < n; l++) out[(2 * r) * 64 + l] = f32(widen16(v[l] & 0xFFFFu));
            for (i64 l = 0; l < n; l++) out[(2 * r + 1) * 64 + l] = f32(widen16(v[l] >> 16));
            break;
        case E_BF16:
            for (i64 l = 0; l < n; l++) out[(2 * r) * 64 + l] = f32(v[l] << 16);
            for (i64 l = 0; l < n; l++) out[(2 * r + 1) * 64 + l] = f32(v[l] & 0xFFFF0000u);
            break;
        case E_I8: case E_U8: case E_BYTE:
            for (int b = 0; b < 4; b++)
                for (i64 l = 0; l < n; l++) {
                    u32 x = v[l] >> 8 * b & 255;
                    out[(4 * r + b) * 64 + l] = kind == E_I8 ? (i8)x : kind == E_U8 ? (double)x : table[x];
                }
            break;
        case E_I4: case E_U4: case E_FP4:
            for (int b = 0; b < 8; b++)
                for (i64 l = 0; l < n; l++) {
                    u32 x = v[l] >> 4 * b & 15;
                    out[(8 * r + b) * 64 + l] =
                        kind == E_U4 ? (double)x : kind == E_I4 ? (double)((i32)(x << 28) >> 28) : table[x];
                }
            break;
        }
    }
    if (kind == E_SIX) /* 32 codes in 6 registers, low bits first */
        for (int e = 0; e < 16 * regs / 3; e++) {
            int at = 6 * (e % 32), r = 6 * (e / 32) + at / 32, s = at & 31;
            const u32 *lo = row(w, first + r), *hi = s > 26 ? row(w, first + r + 1) : lo;
            for (i64 l = 0; l < n; l++) {
                u64 x = lo[l] | (u64)(s > 26 ? hi[l] : 0) << 32;
                out[e * 64 + l] = table[x >> s & 63];
            }
        }
}

static int count_of(int kind, i32 regs) {
    switch (kind) {
    case E_F32: return regs;
    case E_F16: case E_BF16: return 2 * regs;
    case E_I4: case E_U4: case E_FP4: return 8 * regs;
    case E_SIX: return regs / 6 * 32;
    }
    return 4 * regs;
}

static void negate(double *x, int elements, i64 n, const u8 *neg) {
    for (int e = 0; e < elements; e++)
        if (neg[elements > 1 ? e & 1 : 0])
            for (i64 l = 0; l < n; l++) x[e * 64 + l] *= -1.0;
}

/* columns j0 .. j0 + width - 1 of the product, summed over K in order */
static inline __attribute__((always_inline)) void columns(double *restrict out, const double *restrict a,
                                                           const double *restrict b, int m, int k, int j0, int width) {
    for (int i = 0; i < m; i++) {
        double acc[16];
        for (int j = 0; j < width; j++) acc[j] = 0;
        for (int q = 0; q < k; q++) {
            double x = a[i * k + q];
            for (int j = 0; j < width; j++) acc[j] += x * b[q * m + j0 + j];
        }
        for (int j = 0; j < width; j++) out[i * m + j0 + j] = acc[j];
    }
}

static void product(double *out, const double *a, const double *b, int m, int k) {
    if (m == 4) {
        columns(out, a, b, 4, k, 0, 4);
        return;
    }
    for (int j = 0; j < m; j += 16) columns(out, a, b, m, k, j, 16);
}

static void scale_rows(const Wave *w, const Mat *t, double *a, double *b) {
    const u32 *sa = row(w, t->a_scale), *sb = row(w, t->b_scale);
    for (i32 i = 0; i < t->m; i++)
        for (i32 q = 0; q < t->k; q += 32) {
            double x = t->e8m0[sa[(i + t->m * (q / 32)) & 63] >> t->a_shift & 255];
            double y = t->e8m0[sb[(i + t->m * (q / 32)) & 63] >> t->b_shift & 255];
            for (i32 r = q; r < q + 32; r++) a[i * t->k + r] *= x;
            for (i32 r = q; r < q + 32; r++) b[r * t->m + i] *= y;
        }
}

/* 4:2 sparse A: element e of a lane stands at 4 * (e / 2) + two bits of the lane's index */
static void expand(const Wave *w, const Mat *t, double *x, int elements) {
    double dense[ELEMENTS];
    const u32 *index = row(w, t->sparse - 1);
    memset(dense, 0, sizeof(double) * 128 * (size_t)elements);
    for (int e = 0; e < elements; e++)
        for (i64 l = 0; l < w->lanes; l++) dense[(4 * (e / 2) + (index[l] >> t->a_shift >> 2 * e & 3)) * 64 + l] += x[e * 64 + l];
    memcpy(x, dense, sizeof(double) * 128 * (size_t)elements);
}

static u32 encode_i32(double x, int clamp) {
    if (clamp) x = x < -2147483648.0 ? -2147483648.0 : x > 2147483647.0 ? 2147483647.0 : x;
    return (u32)(u64)(i64)x;
}

/* row e of C as doubles, in D's layout */
static void accumulator(const Wave *w, const Mat *t, int e, double *c) {
    const i64 n = w->lanes;
    if (t->c_is_const) {
        for (i64 l = 0; l < n; l++) c[l] = t->c_const;
    } else if (t->result == R_F32) {
        const u32 *v = row(w, t->c_row + e);
        for (i64 l = 0; l < n; l++) c[l] = f32(v[l]);
    } else if (t->result == R_I32) {
        const u32 *v = row(w, t->c_row + e);
        for (i64 l = 0; l < n; l++) c[l] = (i32)v[l];
    } else {
        const u32 *v = row(w, t->c_row + (t->packed16 ? e / 2 : e));
        int shift = t->packed16 ? 16 * (e & 1) : 16 * t->high;
        for (i64 l = 0; l < n; l++) {
            u32 x = v[l] >> shift & 0xFFFFu;
            c[l] = f32(t->result == R_F16 ? widen16(x) : x << 16);
        }
    }
    if (t->c_abs)
        for (i64 l = 0; l < n; l++) c[l] = fabs(c[l]);
    if (t->c_neg)
        for (i64 l = 0; l < n; l++) c[l] = -c[l];
}

int isa_matrix(Wave *w, const Prog *p, const Op *o) {
    const Mat *t = &p->mats[o->extra];
    const i64 n = w->lanes;
    double raw[ELEMENTS], a[FACTORS], b[FACTORS], full[RESULTS];
    const int m = t->m, k = t->k, size = t->blocks * m * k;
    decode(w, raw, t->a_kind, t->a_row, t->a_regs, t->a_table);
    if (t->a_neg[0] | t->a_neg[1]) negate(raw, count_of(t->a_kind, t->a_regs), n, t->a_neg);
    if (t->sparse) expand(w, t, raw, count_of(t->a_kind, t->a_regs));
    for (int i = 0; i < size; i++) a[i] = raw[t->a_index[i]];
    decode(w, raw, t->b_kind, t->b_row, t->b_regs, t->b_table);
    if (t->b_neg[0] | t->b_neg[1]) negate(raw, count_of(t->b_kind, t->b_regs), n, t->b_neg);
    for (int i = 0; i < size; i++) b[i] = raw[t->b_index[i]];
    if (t->scaled) scale_rows(w, t, a, b);
    for (int g = 0; g < t->blocks; g++) product(full + g * m * m, a + g * m * k, b + g * m * k, m, k);
    u32 result[RESULTS];
    for (int e = 0; e < t->d_elements; e++) {
        double c[MAX_LANES];
        accumulator(w, t, e, c);
        for (i64 l = 0; l < n; l++) c[l] = full[t->d_index[e * n + l]] + c[l];
        u32 *r = result + e * n;
        if (t->result == R_F32)
            for (i64 l = 0; l < n; l++) r[l] = bits32((float)c[l]);
        else if (t->result == R_I32)
            for (i64 l = 0; l < n; l++) r[l] = encode_i32(c[l], t->clamp);
        else if (t->result == R_F16)
            for (i64 l = 0; l < n; l++) r[l] = narrow16(c[l]);
        else
            for (i64 l = 0; l < n; l++) r[l] = bf16_of(bits32((float)c[l]));
    }
    if (t->result <= R_I32) {
        memcpy(row(w, t->d_row), result, 4 * (size_t)(t->d_elements * n));
        return S_NEXT;
    }
    for (int e = 0; e < t->d_elements; e++) {
        u32 *d = row(w, t->d_row + (t->packed16 ? e / 2 : e)), *r = result + e * n;
        int shift = t->packed16 ? 16 * (e & 1) : 16 * t->high;
        for (i64 l = 0; l < n; l++) d[l] = (d[l] & ~(0xFFFFu << shift)) | r[l] << shift;
    }
    return S_NEXT;
}
