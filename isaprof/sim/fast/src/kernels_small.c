/* Conversions to fp8 and bf8: OCP (e4m3fn, e5m2) and FNUZ, as isaprof.sim.semantics.formats has them. */
#include "floats.h"

/* Code of an f32 in a format of ``mant`` mantissa bits and exponent bias ``bias``; nearest even.
 * top: largest finite code. Beyond it: ``over``, or ``top`` when saturating. */
static inline u32 encode8(u32 x, int mant, int bias, u32 top, u32 over, u32 nan, int fnuz, int saturate) {
    u32 sign = x >> 24 & 0x80u, mag = x & 0x7FFFFFFFu, code;
    if (mag > 0x7F800000u) return fnuz ? 0x80u : sign | nan;
    int drop = 23 - mant, e = (int)(mag >> 23) - 127 + bias;
    if (mag == 0x7F800000u) {
        code = top + 1;
    } else if (e >= 1) {
        u32 r = mag - ((u32)(127 - bias) << 23);
        code = (r + (1u << (drop - 1)) - 1 + (r >> drop & 1)) >> drop;
    } else { /* denormal: a multiple of 2^(1 - bias - mant) */
        code = (u32)rint(ldexp((double)f32(mag), bias + mant - 1));
    }
    if (code > top) code = saturate ? top : over;
    else if (fnuz && !code) return 0;
    return code == 0x80u ? 0x80u : sign | code;
}
static u32 fp8_of(u32 x, u32 mode, u64 fnuz) {
    int saturate = mode >> 23 & 1;
    return fnuz ? encode8(x, 3, 8, 0x7F, 0x80, 0x80, 1, saturate) : encode8(x, 3, 7, 0x7E, 0x7F, 0x7F, 0, saturate);
}
static u32 bf8_of(u32 x, u32 mode, u64 fnuz) {
    int saturate = mode >> 23 & 1;
    return fnuz ? encode8(x, 2, 16, 0x7F, 0x80, 0x80, 1, saturate) : encode8(x, 2, 15, 0x7B, 0x7C, 0x7E, 0, saturate);
}

#define PACK(name, fn)                                                                   \
    static void k_##name(const Args *x) {                                                \
        for (i64 l = 0; l < x->n; l++)                                                   \
            x->d[l] = fn(x->a[l], x->mode, x->fnuz) | fn(x->b[l], x->mode, x->fnuz) << 8; \
    }                                                                                    \
    REGISTER(name)
PACK(cvt_pk_fp8_f32, fp8_of)
PACK(cvt_pk_bf8_f32, bf8_of)

/* fp4 (e2m1): 0 0.5 1 1.5 2 3 4 6, ties to the even code, saturating; NaN is the largest magnitude */
static inline u32 fp4_of(float x) {
    u32 sign = bits32(x) >> 28 & 8u;
    float m = fabsf(x);
    if (m != m) return sign | 7u;
    return sign | (u32)((m > 0.25f) + (m >= 0.75f) + (m > 1.25f) + (m >= 1.75f) + (m > 2.5f) + (m >= 3.5f) + (m > 5.0f));
}
/* v_cvt_scalef32_pk_fp4_*: two values (in two registers or in one), scale, old destination; imm is the byte */
static inline u32 fp4_pair(u32 low, u32 high, u32 scale, u32 old, u32 byte) {
    double factor = ldexp(1.0, 127 - (int)(scale >> 23 & 255u));
    u32 pair = fp4_of((float)(f32(low) * factor)) | fp4_of((float)(f32(high) * factor)) << 4;
    return (old & ~(255u << 8 * byte)) | pair << 8 * byte;
}
static void k_cvt_scalef32_pk_fp4_f32(const Args *x) {
    for (i64 l = 0; l < x->n; l++) x->d[l] = fp4_pair(x->a[l], x->b[l], x->c[l], x->e[l], x->imm);
}
static void k_cvt_scalef32_pk_fp4_bf16(const Args *x) {
    for (i64 l = 0; l < x->n; l++)
        x->d[l] = fp4_pair(x->a[l] << 16, x->a[l] & 0xFFFF0000u, x->b[l], x->c[l], x->imm);
}
static void k_cvt_scalef32_pk_fp4_f16(const Args *x) {
    for (i64 l = 0; l < x->n; l++)
        x->d[l] = fp4_pair(widen16(x->a[l] & 0xFFFFu), widen16(x->a[l] >> 16), x->b[l], x->c[l], x->imm);
}
REGISTER(cvt_scalef32_pk_fp4_f32)
REGISTER(cvt_scalef32_pk_fp4_bf16)
REGISTER(cvt_scalef32_pk_fp4_f16)
