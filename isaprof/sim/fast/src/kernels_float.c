/* Float operations of isaprof.sim.semantics (valu_float, convert, packed, compare), by their names there. */
#include "floats.h"

#define HEAD(name)                                                                       \
    static void k_##name(const Args *x) {                                                \
        const i64 n = x->n;                                                              \
        u32 *d = x->d, *m = x->m;                                                        \
        const u32 *pa = x->a, *pb = x->b, *pc = x->c, *pe = x->e;                        \
        const u32 mode = x->mode;                                                        \
        const u64 fnuz = x->fnuz;                                                        \
        (void)d, (void)m, (void)pa, (void)pb, (void)pc, (void)pe, (void)mode, (void)fnuz; \
        if (n & 31 || n <= 0) return;                                                    \
        SAME_LANE for (i64 l = 0; l < n; l++) {
#define TAIL(name) }} REGISTER(name)
#define K1(name, expr) HEAD(name) u32 a = pa[l]; d[l] = (u32)(expr); TAIL(name)
#define K2(name, expr) HEAD(name) u32 a = pa[l], b = pb[l]; d[l] = (u32)(expr); TAIL(name)
#define K3(name, expr) HEAD(name) u32 a = pa[l], b = pb[l], c = pc[l]; d[l] = (u32)(expr); TAIL(name)
#define NEG(x) ((x) ^ 0x80000000u)
#define A64 pair64(pa, n, l)
#define B64 pair64(pb, n, l)
#define C64 pair64(pc, n, l)
#define PUT64(expr) do { u64 r = (u64)(expr); d[l] = (u32)r; d[l + n] = (u32)(r >> 32); } while (0)
#define W(name, expr) HEAD(name) PUT64(expr); TAIL(name)

/* -- f32 --------------------------------------------------------------------------------- */
K2(add_f32, add32(a, b))
/* a - b: a NaN b keeps its sign in the plain mode; in the others the reference adds -b */
#define FLIP ((mode & 0xFF) == 0xF0 ? 0 : 0x80000000u)
K2(sub_f32, pick2(a, b ^ FLIP, invalid32(f32(a) - f32(b))))
K2(subrev_f32, pick2(b, a ^ FLIP, invalid32(f32(b) - f32(a))))
K2(mul_f32, mul32(a, b))
K3(fma_f32, fma32(a, b, c))
K3(fmac_f32, fma32(a, b, c))
K3(fmak_f32, fma32(a, b, c))
K3(mad_f32, add32(mul32(a, b), c))
K3(mac_f32, add32(mul32(a, b), c))
K2(pk_add_f32, add32(a, b))
K2(pk_mul_f32, mul32(a, b))
K3(pk_fma_f32, fma32(a, b, c))
#define ZERO(x) (!((x) << 1))
K2(mul_dx9_zero_f32, ZERO(a) || ZERO(b) ? 0 : mul32(a, b))
K3(fma_dx9_zero_f32, ZERO(a) || ZERO(b) ? c : fma32(a, b, c))
K3(fmac_dx9_zero_f32, ZERO(a) || ZERO(b) ? c : fma32(a, b, c))
K2(min_f32, extreme32(a, b, 0, mode))
K2(max_f32, extreme32(a, b, 1, mode))
K2(minimum_f32, extreme_nan32(a, b, 0))
K2(maximum_f32, extreme_nan32(a, b, 1))
#define MIN(a, b) extreme32(a, b, 0, mode)
#define MAX(a, b) extreme32(a, b, 1, mode)
K3(min3_f32, MIN(MIN(a, b), c))
K3(max3_f32, MAX(MAX(a, b), c))
K3(minmax_f32, MAX(MIN(a, b), c))
K3(maxmin_f32, MIN(MAX(a, b), c))
static inline u32 med32(u32 a, u32 b, u32 c, u32 mode) {
    u32 low = MIN(MIN(a, b), c), mid = MAX(MIN(a, b), MIN(MAX(a, b), c));
    return nan32(a) || nan32(b) || nan32(c) ? low : mid;
}
K3(med3_f32, med32(a, b, c, mode))
K3(minimum3_f32, extreme_nan32(extreme_nan32(a, b, 0), c, 0))
K3(maximum3_f32, extreme_nan32(extreme_nan32(a, b, 1), c, 1))
K3(minimummaximum_f32, extreme_nan32(extreme_nan32(a, b, 0), c, 1))
K3(maximumminimum_f32, extreme_nan32(extreme_nan32(a, b, 1), c, 0))
#define ROUND(name, fn) K1(name, nan32(a) ? a | QUIET32 : bits32(fn(f32(a))))
ROUND(floor_f32, floorf)
ROUND(ceil_f32, ceilf)
ROUND(trunc_f32, truncf)
ROUND(rndne_f32, rintf)
K1(fract_f32, nan32(a) ? a | QUIET32 : add32(a, NEG(bits32(floorf(f32(a))))))
#define VIA64(name, expr)                                                                \
    HEAD(name) u32 a = pa[l]; double v = f32(a); float r = (float)(expr);                \
    d[l] = nan32(a) ? a | QUIET32 : invalid32(r); TAIL(name)
VIA64(rcp_f32, 1.0 / v)
VIA64(rsq_f32, 1.0 / sqrt(v))
VIA64(sqrt_f32, sqrt(v))
VIA64(exp_f32, exp2(v))
VIA64(log_f32, log2(v))
#define TURN(v) (2 * M_PI * (v - floor(v)))
VIA64(sin_f32, sin(TURN(v)))
VIA64(cos_f32, cos(TURN(v)))
static inline double scale2(double x, i32 e) { return ldexp(x, e < -800 ? -800 : e > 800 ? 800 : e); }
static inline u32 ldexp32(u32 a, i32 e) { return nan32(a) ? a | QUIET32 : bits32((float)scale2(f32(a), e)); }
K2(ldexp_f32, ldexp32(a, (i32)b))
static inline int finite32(u32 a) { return (a & 0x7F800000u) != 0x7F800000u; }
static inline i32 exponent_of(double x) { int e; frexp(x, &e); return e; }
static inline double mantissa_of(double x) { int e; return frexp(x, &e); }
K1(frexp_exp_i32_f32, finite32(a) ? exponent_of(f32(a)) : 0)
K1(frexp_mant_f32, finite32(a) ? bits32((float)mantissa_of(f32(a))) : a)

/* division: isaprof.sim.semantics.valu_float.div_scale, div_fmas, div_fixup */
#define EXPONENT(x) ((i32)((x) >> 23 & 255))
static inline int denormal32(u32 x) { return !(x & 0x7F800000u) && x << 1; }
static inline int below32(double x) { return x != 0 && fabs(x) < 0x1p-126; }
static inline u32 div_scale(u32 a, u32 den, u32 num, u32 *flag) {
    int same_den = a == den, same_num = a == num;
    int recip = below32(1.0 / f32(den)), quotient = below32((double)f32(num) / f32(den));
    *flag = 0;
    if (ZERO(num) || ZERO(den)) return *flag = ~0u, 0x7FC00000u;
    if (EXPONENT(num) - EXPONENT(den) >= 96) return *flag = ~0u, same_den ? ldexp32(a, 64) : a;
    if (denormal32(den)) return ldexp32(a, 64);
    if (recip && quotient) return *flag = ~0u, same_den ? ldexp32(a, 64) : a;
    if (recip) return ldexp32(a, -64);
    if (quotient) return *flag = ~0u, same_num ? ldexp32(a, 64) : a;
    return EXPONENT(num) <= 23 ? ldexp32(a, 64) : a;
}
HEAD(div_scale_f32) u32 flag; d[l] = div_scale(pa[l], pb[l], pc[l], &flag); m[l] = flag; TAIL(div_scale_f32)
HEAD(div_fmas_f32) u32 c = pc[l], r = fma32(pa[l], pb[l], c);
d[l] = pe[l] ? ldexp32(r, EXPONENT(c) > 127 ? 64 : -64) : r; TAIL(div_fmas_f32)
static inline u32 div_fixup(u32 a, u32 den, u32 num) {
    u32 sign = (den ^ num) & 0x80000000u, nd = den << 1, nn = num << 1;
    if (nan32(num) || nan32(den) || (!nd && !nn) || (nd == 0xFF000000u && nn == 0xFF000000u)) return 0x7FC00000u;
    if (!nd || nn == 0xFF000000u) return sign | 0x7F800000u;
    if (nd == 0xFF000000u || !nn || EXPONENT(num) - EXPONENT(den) < -150) return sign;
    if (nan32(a)) return sign | 0x7F800000u;
    return sign | (a & 0x7FFFFFFFu);
}
K3(div_fixup_f32, div_fixup(a, b, c))

/* -- f16 --------------------------------------------------------------------------------- */
#define HW(x) widen16((x) & 0xFFFFu)
#define H2(name, op) K2(name##_f16, half_of32(op(HW(a), HW(b))))                         \
    K2(pk_##name##_f16, half_of32(op(HW(a), HW(b))) | half_of32(op(widen16(a >> 16), widen16(b >> 16))) << 16)
H2(add, add32)
H2(mul, mul32)
K2(sub_f16, half_of32(pick2(HW(a), HW(b) ^ FLIP, invalid32(f32(HW(a)) - f32(HW(b))))))
K2(subrev_f16, half_of32(pick2(HW(b), HW(a) ^ FLIP, invalid32(f32(HW(b)) - f32(HW(a))))))
K3(fma_f16, fma16(a, b, c))
K3(fmac_f16, fma16(a, b, c))
K3(fmak_f16, fma16(a, b, c))
K3(fma_legacy_f16, fma16(a, b, c))
K3(pk_fma_f16, fma16(a, b, c) | fma16(a >> 16, b >> 16, c >> 16) << 16)
K3(pk_fmac_f16, fma16(a, b, c) | fma16(a >> 16, b >> 16, c >> 16) << 16)
K3(mad_f16, half_of32(add32(widen16(half_of32(mul32(HW(a), HW(b)))), HW(c))))
static inline u32 extreme16(u32 a, u32 b, int largest, u32 mode) {
    a &= 0xFFFFu, b &= 0xFFFFu;
    u32 x = widen16(a), y = widen16(b), r;
    int less = f32(x) < f32(y), equal = f32(x) == f32(y);
    r = less == largest ? b : a;
    if (equal) r = (a & 0x7FFF) | (b & 0x7FFF) ? a : largest ? a & b : a | b;
    r = nan32(x) ? b : nan32(y) ? a : r;
    if (mode >> 9 & 1) r = nan32(x) && !(a & 0x200) ? a | 0x200 : nan32(y) && !(b & 0x200) ? b | 0x200 : r;
    return r;
}
#define MIN16(a, b) extreme16(a, b, 0, mode)
#define MAX16(a, b) extreme16(a, b, 1, mode)
K2(min_f16, MIN16(a, b))
K2(max_f16, MAX16(a, b))
K2(pk_min_f16, MIN16(a, b) | MIN16(a >> 16, b >> 16) << 16)
K2(pk_max_f16, MAX16(a, b) | MAX16(a >> 16, b >> 16) << 16)
K3(min3_f16, MIN16(MIN16(a, b), c))
K3(max3_f16, MAX16(MAX16(a, b), c))
K1(cvt_f32_f16, HW(a))
K1(cvt_f16_u16, half_of32(bits32((float)(a & 0xFFFFu))))
K1(cvt_f16_i16, half_of32(bits32((float)(i16)a)))
#define VIA16(name, expr)                                                                \
    HEAD(name) u32 a = HW(pa[l]); double v = f32(a), r = (expr);                         \
    d[l] = nan32(a) ? half_of32(a | QUIET32) : r != r ? half_of32(DEFAULT_NAN32) : narrow16(r); TAIL(name)
VIA16(rcp_f16, 1.0 / v)
VIA16(rsq_f16, 1.0 / sqrt(v))
VIA16(sqrt_f16, sqrt(v))
VIA16(exp_f16, exp2(v))
VIA16(log_f16, log2(v))
VIA16(floor_f16, floor(v))
VIA16(ceil_f16, ceil(v))
VIA16(trunc_f16, trunc(v))
VIA16(rndne_f16, rint(v))

/* -- f64 --------------------------------------------------------------------------------- */
W(add_f64, add64(A64, B64))
W(mul_f64, mul64(A64, B64))
W(fma_f64, fma64(A64, B64, C64))
W(fmac_f64, fma64(A64, B64, C64))
W(min_f64, extreme64(A64, B64, 0, mode))
W(max_f64, extreme64(A64, B64, 1, mode))
#define ROUND64(name, fn) HEAD(name) u64 a = A64; PUT64(nan64(a) ? a | QUIET64 : bits64(fn(f64(a)))); TAIL(name)
ROUND64(floor_f64, floor)
ROUND64(ceil_f64, ceil)
ROUND64(trunc_f64, trunc)
ROUND64(rndne_f64, rint)

/* -- conversions ------------------------------------------------------------------------- */
K1(cvt_f32_i32, bits32((float)(i32)a))
K1(cvt_f32_u32, bits32((float)a))
W(cvt_f64_i32, bits64((double)(i32)pa[l]))
W(cvt_f64_u32, bits64((double)pa[l]))
W(cvt_f64_f32, nan32(pa[l]) ? (u64)(pa[l] & 0x80000000u) << 32 | (u64)0x7FF8 << 48 | (u64)(pa[l] & 0x7FFFFFu) << 29
                            : bits64((double)f32(pa[l])))
HEAD(cvt_f32_f64) u64 a = A64;
d[l] = nan64(a) ? ((u32)(a >> 32) & 0x80000000u) | 0x7FC00000u | (u32)(a >> 29 & 0x7FFFFFu) : bits32((float)f64(a));
TAIL(cvt_f32_f64)
static inline i64 clip_of(double v, double lo, double hi) { return v != v ? 0 : (i64)(v < lo ? lo : v > hi ? hi : v); }
#define LO32 -2147483648.0
#define HI32 2147483647.0
#define HIU32 4294967295.0
K1(cvt_i32_f32, clip_of(trunc((double)f32(a)), LO32, HI32))
K1(cvt_u32_f32, clip_of(trunc((double)f32(a)), 0, HIU32))
K1(cvt_nearest_i32_f32, clip_of(floor((double)f32(a) + 0.5), LO32, HI32))
K1(cvt_floor_i32_f32, clip_of(floor((double)f32(a)), LO32, HI32))
HEAD(cvt_i32_f64) d[l] = (u32)clip_of(trunc(f64(A64)), LO32, HI32); TAIL(cvt_i32_f64)
HEAD(cvt_u32_f64) d[l] = (u32)clip_of(trunc(f64(A64)), 0, HIU32); TAIL(cvt_u32_f64)
K1(cvt_i16_f16, clip_of(trunc((double)f32(HW(a))), -32768, 32767))
K1(cvt_u16_f16, clip_of(trunc((double)f32(HW(a))), 0, 65535))
K1(cvt_i32_i16, (i32)(i16)a)
K1(cvt_u32_u16, a & 0xFFFFu)
static inline u32 to_half(u32 a, u32 mode) {
    u32 r = half_of32(a);
    return mode >> 23 & 1 && (r & 0x7FFFu) == 0x7C00u && finite32(a) ? (r & 0x8000u) | 0x7BFFu : r;
}
K1(cvt_f16_f32, to_half(a, mode))
K2(cvt_pk_f16_f32, to_half(a, mode) | to_half(b, mode) << 16)
static inline u32 half_rtz(u32 a) {
    u32 r = half_of32(a), back = widen16(r);
    if (nan32(a)) return half_of32(a | QUIET32);
    if (!finite32(a)) return r;
    return fabsf(f32(back)) > fabsf(f32(a)) ? r - 1 : r;
}
K2(cvt_pk_rtz_f16_f32, half_rtz(a) | half_rtz(b) << 16)
K1(cvt_f32_bf16, a << 16)
K2(cvt_pk_bf16_f32, bf16_of(a) | bf16_of(b) << 16)
K1(cvt_f32_ubyte0, bits32((float)(i32)(a & 255)))
K1(cvt_f32_ubyte1, bits32((float)(i32)(a >> 8 & 255)))
K1(cvt_f32_ubyte2, bits32((float)(i32)(a >> 16 & 255)))
K1(cvt_f32_ubyte3, bits32((float)(i32)(a >> 24)))
K1(cvt_off_f32_i4, bits32((float)((i32)(a << 28) >> 28) / 16.0f))
K2(cvt_pk_i16_i32, (u32)((i32)a < -32768 ? -32768 : (i32)a > 32767 ? 32767 : (i32)a) % 65536u |
                       (u32)((i32)b < -32768 ? -32768 : (i32)b > 32767 ? 32767 : (i32)b) << 16)
K2(cvt_pk_u16_u32, (a > 65535 ? 65535 : a) | (b > 65535 ? 65535 : b) << 16)
K2(cvt_pk_i16_f32, ((u32)clip_of(trunc((double)f32(a)), -32768, 32767) & 0xFFFFu) |
                       (u32)clip_of(trunc((double)f32(b)), -32768, 32767) << 16)
K2(cvt_pk_u16_f32, (u32)clip_of(trunc((double)f32(a)), 0, 65535) | (u32)clip_of(trunc((double)f32(b)), 0, 65535) << 16)

/* -- dot products of halves (low, high in one word), and the mixed fma -------------------- */
static inline float dot2(float a0, float b0, float a1, float b1, float c) {
    return (float)((double)a0 * b0 + (double)a1 * b1 + c);
}
#define BLO(x) f32((x) << 16)
#define BHI(x) f32((x) & 0xFFFF0000u)
#define FLO(x) f32(HW(x))
#define FHI(x) f32(widen16((x) >> 16))
K3(dot2_f32_f16, bits32(dot2(FLO(a), FLO(b), FHI(a), FHI(b), f32(c))))
K3(dot2c_f32_f16, bits32(dot2(FLO(a), FLO(b), FHI(a), FHI(b), f32(c))))
K3(dot2_f32_bf16, bits32(dot2(BLO(a), BLO(b), BHI(a), BHI(b), f32(c))))
K3(dot2c_f32_bf16, bits32(dot2(BLO(a), BLO(b), BHI(a), BHI(b), f32(c))))
K3(dot2_f16_f16, half_of32(bits32(dot2(FLO(a), FLO(b), FHI(a), FHI(b), FLO(c)))))
K3(dot2_bf16_bf16, bf16_of(bits32(dot2(BLO(a), BLO(b), BHI(a), BHI(b), BLO(c)))))
K3(fma_mix_f32, fma32(a, b, c))
K3(fma_mixlo_f16, to_half(fma32(a, b, c), mode))
K3(fma_mixhi_f16, to_half(fma32(a, b, c), mode))
#define PKBF(name, lo, hi) K3(name, bf16_of(lo) | bf16_of(hi) << 16)
K2(pk_add_bf16, bf16_of(add32(a << 16, b << 16)) | bf16_of(add32(a & 0xFFFF0000u, b & 0xFFFF0000u)) << 16)
K2(pk_mul_bf16, bf16_of(mul32(a << 16, b << 16)) | bf16_of(mul32(a & 0xFFFF0000u, b & 0xFFFF0000u)) << 16)
PKBF(pk_fma_bf16, fma32(a << 16, b << 16, c << 16), fma32(a & 0xFFFF0000u, b & 0xFFFF0000u, c & 0xFFFF0000u))

/* -- compares ------------------------------------------------------------------------------ */
#define CMP(name, T, expr) HEAD(name) T(pa, pb); d[l] = (expr) ? ~0u : 0; TAIL(name)
#define F32S(pa, pb) float p = f32(pa[l]), q = f32(pb[l])
#define F16S(pa, pb) float p = f32(HW(pa[l])), q = f32(HW(pb[l]))
#define F64S(pa, pb) double p = f64(A64), q = f64(B64)
#define CONDITIONS(t, T)                                                                 \
    CMP(cmp_lt_##t, T, p < q) CMP(cmp_eq_##t, T, p == q) CMP(cmp_le_##t, T, p <= q) CMP(cmp_gt_##t, T, p > q) \
    CMP(cmp_ge_##t, T, p >= q) CMP(cmp_lg_##t, T, p < q || p > q) CMP(cmp_o_##t, T, p == p && q == q) \
    CMP(cmp_u_##t, T, p != p || q != q) CMP(cmp_nge_##t, T, !(p >= q)) CMP(cmp_nlg_##t, T, !(p < q || p > q)) \
    CMP(cmp_ngt_##t, T, !(p > q)) CMP(cmp_nle_##t, T, !(p <= q)) CMP(cmp_neq_##t, T, p != q) \
    CMP(cmp_nlt_##t, T, !(p < q))                                                        \
    HEAD(cmp_f_##t) d[l] = 0; TAIL(cmp_f_##t) HEAD(cmp_t_##t) d[l] = ~0u; TAIL(cmp_t_##t)  \
    HEAD(cmp_tru_##t) d[l] = ~0u; TAIL(cmp_tru_##t)
CONDITIONS(f32, F32S)
CONDITIONS(f16, F16S)
CONDITIONS(f64, F64S)
static inline u32 class_bit(u32 a) {
    u32 neg = a >> 31, mag = a & 0x7FFFFFFFu;
    if (mag > 0x7F800000u) return a & QUIET32 ? 1 : 0;
    u32 rank = mag == 0x7F800000u ? 0 : !mag ? 3 : mag < 0x800000u ? 2 : 1;
    return neg ? 2 + rank : 9 - rank;
}
K2(cmp_class_f32, b >> class_bit(a) & 1 ? ~0u : 0)
