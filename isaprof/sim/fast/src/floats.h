/* Float building blocks with the NaN rules of the reference: the first NaN source, made quiet, is the result. */
#ifndef FLOATS_H
#define FLOATS_H
#include "isa.h"

static inline float f32(u32 x) { float f; memcpy(&f, &x, 4); return f; }
static inline u32 bits32(float f) { u32 x; memcpy(&x, &f, 4); return x; }
static inline double f64(u64 x) { double f; memcpy(&f, &x, 8); return f; }
static inline u64 bits64(double f) { u64 x; memcpy(&x, &f, 8); return x; }
static inline int nan32(u32 x) { return (x & 0x7FFFFFFFu) > 0x7F800000u; }
static inline int nan64(u64 x) { return (x << 1) > 0xFFE0000000000000u; }
static inline int snan32(u32 x) { return nan32(x) && !(x & 0x00400000u); }
#define QUIET32 0x00400000u
#define QUIET64 ((u64)1 << 51)
#define DEFAULT_NAN32 0xFFC00000u /* what x86 arithmetic makes of an invalid operation */
#define DEFAULT_NAN64 ((u64)0xFFF8 << 48)

static inline u32 pick2(u32 a, u32 b, u32 r) { return nan32(a) ? a | QUIET32 : nan32(b) ? b | QUIET32 : r; }
static inline u64 pick2d(u64 a, u64 b, u64 r) { return nan64(a) ? a | QUIET64 : nan64(b) ? b | QUIET64 : r; }
/* an invalid operation's NaN, whatever sign the compiler or the library gave it */
static inline u32 invalid32(float r) { return r != r ? DEFAULT_NAN32 : bits32(r); }

static inline u32 add32(u32 a, u32 b) { return pick2(a, b, invalid32(f32(a) + f32(b))); }
static inline u32 mul32(u32 a, u32 b) { return pick2(a, b, invalid32(f32(a) * f32(b))); }
static inline u32 fma32(u32 a, u32 b, u32 c) {
    u32 r = invalid32(fmaf(f32(a), f32(b), f32(c)));
    float t = f32(a) * f32(b);
    u32 with_c = nan32(c) ? (t != t ? DEFAULT_NAN32 : c | QUIET32) : r;
    return pick2(a, b, with_c);
}
static inline u64 add64(u64 a, u64 b) {
    double r = f64(a) + f64(b);
    return pick2d(a, b, r != r ? DEFAULT_NAN64 : bits64(r));
}
static inline u64 mul64(u64 a, u64 b) {
    double r = f64(a) * f64(b);
    return pick2d(a, b, r != r ? DEFAULT_NAN64 : bits64(r));
}
static inline u64 fma64(u64 a, u64 b, u64 c) {
    double r = fma(f64(a), f64(b), f64(c)), t = f64(a) * f64(b);
    u64 with_c = nan64(c) ? (t != t ? DEFAULT_NAN64 : c | QUIET64) : r != r ? DEFAULT_NAN64 : bits64(r);
    return pick2d(a, b, with_c);
}
/* v_max, v_min: the number when one source is NaN (the second when both are), +0 above -0; IEEE quiets */
static inline u32 extreme32(u32 a, u32 b, int largest, u32 mode) {
    float x = f32(a), y = f32(b);
    u32 r = (largest ? x > y : x < y) ? a : b;
    if (x == y) r = (a << 1) | (b << 1) ? a : largest ? a & b : a | b;
    r = nan32(a) ? b : nan32(b) ? a : r;
    if (mode >> 9 & 1) r = snan32(a) ? a | QUIET32 : snan32(b) ? b | QUIET32 : r;
    return r;
}
static inline u64 extreme64(u64 a, u64 b, int largest, u32 mode) {
    double x = f64(a), y = f64(b);
    u64 r = (largest ? x > y : x < y) ? a : b;
    if (x == y) r = (a << 1) | (b << 1) ? a : largest ? a & b : a | b;
    r = nan64(a) ? b : nan64(b) ? a : r;
    if (mode >> 9 & 1) {
        if (nan64(a) && !(a & QUIET64)) return a | QUIET64;
        if (nan64(b) && !(b & QUIET64)) return b | QUIET64;
    }
    return r;
}
/* gfx12 v_maximum, v_minimum: a NaN source is the result */
static inline u32 extreme_nan32(u32 a, u32 b, int largest) { return pick2(a, b, extreme32(a, b, largest, 0)); }

/* -- 16 bits ---------------------------------------------------------------------------- */
static inline u32 widen16(u32 h) {
    u32 sign = (h & 0x8000u) << 16, e = h & 0x7C00u, m = h & 0x3FFu;
    u32 normal = ((h & 0x7FFFu) << 13) + (112u << 23);
    u32 special = 0x7F800000u | m << 13;
    u32 small = bits32((float)(i32)m * 0x1p-24f);
    return sign | (e == 0x7C00u ? special : e ? normal : small);
}
/* round to nearest even from double, once */
static inline u32 narrow16(double x) {
    u64 b = bits64(x);
    u32 sign = (u32)(b >> 48) & 0x8000u;
    u64 mag = b & ~((u64)1 << 63);
    if (mag >= (u64)0x7FF << 52) {
        u32 m = (u32)(mag >> 42) & 0x3FFu;
        return sign | (mag > (u64)0x7FF << 52 ? 0x7C00u | (m ? m : 1u) : 0x7C00u);
    }
    if (mag >= bits64(65520.0)) return sign | 0x7C00u;
    if (mag < bits64(0x1p-14)) { /* denormal: a multiple of 2^-24 */
        double y = fabs(x) * 0x1p24;
        u32 r = (u32)y;
        double rest = y - r;
        if (rest > 0.5 || (rest == 0.5 && r & 1)) r++;
        return sign | r;
    }
    u64 r = mag - ((u64)1008 << 52); /* rebias: 1023 - 15 */
    u64 low = r & (((u64)1 << 42) - 1), half = (u64)1 << 41;
    u32 out = (u32)(r >> 42);
    if (low > half || (low == half && out & 1)) out++;
    return sign | out;
}
/* the same from f32 (NumPy keeps a NaN's upper bits) */
static inline u32 half_of32(u32 x) {
    u32 sign = x >> 16 & 0x8000u, mag = x & 0x7FFFFFFFu;
    u32 m = mag >> 13 & 0x3FFu;
    u32 special = mag > 0x7F800000u ? 0x7C00u | (m ? m : 1u) : 0x7C00u;
    u32 normal = (mag - (112u << 23) + 0xFFFu + (mag >> 13 & 1)) >> 13;
    /* below 2^-14: adding 0.5 lets the adder round to a multiple of 2^-24 */
    u32 small = bits32(f32(mag) + 0.5f) - bits32(0.5f);
    u32 r = mag >= 0x477FF000u ? (mag > 0x7F800000u ? special : 0x7C00u) : mag < 0x38800000u ? small : normal;
    return sign | r;
}
/* a * b + c with one rounding: the product is exact, the sum is rounded to odd first */
static inline u32 fma16(u32 ha, u32 hb, u32 hc) {
    u32 a = widen16(ha & 0xFFFFu), b = widen16(hb & 0xFFFFu), c = widen16(hc & 0xFFFFu);
    if (nan32(a) || nan32(b) || nan32(c)) return half_of32(fma32(a, b, c));
    double p = (double)f32(a) * f32(b), z = f32(c), s = p + z;
    if (s != s) return half_of32(DEFAULT_NAN32);
    double t = s - p, e = (p - (s - t)) + (z - t);
    u64 k = bits64(s);
    if (e != 0 && e == e && !(k & 1) && s != 0 && fabs(s) < INFINITY) k += (e > 0) == (s > 0) ? 1 : (u64)-1;
    return narrow16(f64(k));
}
static inline u32 bf16_of(u32 x) {
    return nan32(x) ? (x >> 16) | 0x40u : (x + 0x7FFFu + (x >> 16 & 1)) >> 16;
}
#endif
