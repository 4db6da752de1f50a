/* Integer and bit operations of isaprof.sim.semantics (valu_int, packed, compare), by their names there.
 *
 * a, b, c are one lane of each source; a 16-bit source is in the low half (the upper half is
 * whatever the register holds). Wide values are two rows: pair64 joins them.
 */
#include "isa.h"

#define HEAD(name)                                                                       \
    static void k_##name(const Args *x) {                                                \
        const i64 n = x->n;                                                              \
        u32 *d = x->d, *m = x->m;                                                        \
        const u32 *pa = x->a, *pb = x->b, *pc = x->c;                                    \
        const u32 imm = x->imm;                                                          \
        (void)d, (void)m, (void)pa, (void)pb, (void)pc, (void)imm;                       \
        if (n & 31 || n <= 0) return;                                                    \
        SAME_LANE for (i64 l = 0; l < n; l++) {
#define TAIL(name) }} REGISTER(name)

#define K1(name, expr) HEAD(name) u32 a = pa[l]; d[l] = (u32)(expr); TAIL(name)
#define K2(name, expr) HEAD(name) u32 a = pa[l], b = pb[l]; d[l] = (u32)(expr); TAIL(name)
#define K3(name, expr) HEAD(name) u32 a = pa[l], b = pb[l], c = pc[l]; d[l] = (u32)(expr); TAIL(name)
#define S(x) ((i32)(x))
#define H(x) ((u16)(x))
#define I(x) ((i16)(x))

static inline u32 umin(u32 a, u32 b) { return a < b ? a : b; }
static inline u32 umax(u32 a, u32 b) { return a > b ? a : b; }
static inline i32 smin(i32 a, i32 b) { return a < b ? a : b; }
static inline i32 smax(i32 a, i32 b) { return a > b ? a : b; }
static inline u32 ones(u32 n) { return (1u << (n & 31)) - 1; }

K1(mov_b32, a)
K1(not_b32, ~a)
K2(and_b32, a & b)
K2(or_b32, a | b)
K2(xor_b32, a ^ b)
K2(xnor_b32, ~(a ^ b))
K3(and_or_b32, (a & b) | c)
K3(or3_b32, a | b | c)
K3(xor3_b32, a ^ b ^ c)
K3(xad_u32, (a ^ b) + c)
static inline u32 truth(u32 t, u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int i = 0; i < 8; i++)
        r |= (t >> i & 1 ? ~0u : 0) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return r;
}
K3(bitop3_b32, truth(imm, a, b, c))
K3(bitop3_b16, truth(imm, a, b, c))
static inline u32 reverse(u32 a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0F0F0F0Fu) | (a & 0x0F0F0F0Fu) << 4;
    a = (a >> 8 & 0x00FF00FFu) | (a & 0x00FF00FFu) << 8;
    return a >> 16 | a << 16;
}
K1(bfrev_b32, reverse(a))
K2(bcnt_u32_b32, (u32)__builtin_popcount(a) + b)
static inline u32 clz(u32 a) { return a ? (u32)__builtin_clz(a) : ~0u; }
K1(clz_u32, clz(a))
K1(cls_i32, clz(a >> 31 ? ~a : a))
K1(ctz_b32, a ? (u32)__builtin_ctz(a) : ~0u)
K3(bfe_u32, a >> (b & 31) & ones(c))
static inline u32 bfe_i(u32 a, u32 b, u32 c) {
    u32 width = c & 31, x = (u32)(S(a) >> (b & 31)) & ones(width);
    return width && x >> ((width - 1) & 31) & 1 ? x | ~ones(width) : x;
}
K3(bfe_i32, bfe_i(a, b, c))
K3(bfi_b32, (a & b) | (~a & c))
K2(bfm_b32, ones(a) << (b & 31))
K3(alignbit_b32, (((u64)a << 32 | b) >> (c & 31)))
K3(alignbyte_b32, (((u64)a << 32 | b) >> 8 * (c & 3)))
static inline u32 perm_byte(u64 data, u32 s) {
    u32 byte = (u32)(data >> 8 * (s & 7)) & 0xFF;
    u32 sign = data >> (8 * ((s & 3) * 2 + 1) + 7) & 1 ? 0xFF : 0;
    return s < 8 ? byte : s < 12 ? sign : s == 12 ? 0 : 0xFF;
}
static inline u32 perm(u32 a, u32 b, u32 sel) {
    u64 data = (u64)a << 32 | b;
    return perm_byte(data, sel & 0xFF) | perm_byte(data, sel >> 8 & 0xFF) << 8 |
           perm_byte(data, sel >> 16 & 0xFF) << 16 | perm_byte(data, sel >> 24) << 24;
}
K3(perm_b32, perm(a, b, c))
K2(lshlrev_b32, b << (a & 31))
K2(lshrrev_b32, b >> (a & 31))
K2(ashrrev_i32, S(b) >> (a & 31))
K3(lshl_add_u32, (a << (b & 31)) + c)
K3(add_lshl_u32, (a + b) << (c & 31))
K3(lshl_or_b32, (a << (b & 31)) | c)
K3(add3_u32, a + b + c)
K2(add_u32, a + b)
K2(sub_u32, a - b)
K2(subrev_u32, b - a)
K2(add_i32, a + b)
K2(sub_i32, a - b)
K2(mul_lo_u32, a *b)
K2(mul_hi_u32, (u64)a *b >> 32)
K2(mul_hi_i32, (u64)((i64)S(a) * S(b)) >> 32)
#define U24(x) ((x) & 0xFFFFFFu)
#define I24(x) (S((x) << 8) >> 8)
K2(mul_u32_u24, U24(a) * U24(b))
K2(mul_hi_u32_u24, (u64)U24(a) * U24(b) >> 32)
K2(mul_i32_i24, (u32)I24(a) * (u32)I24(b))
K2(mul_hi_i32_i24, (u64)((i64)I24(a) * I24(b)) >> 32)
K3(mad_u32_u24, U24(a) * U24(b) + c)
K3(mad_i32_i24, (u32)I24(a) * (u32)I24(b) + c)
K3(mad_u32_u16, (u32)H(a) * H(b) + c)
K3(mad_i32_i16, (u32)((i32)I(a) * I(b)) + c)

/* 16 bits in one lane */
K1(mov_b16, a)
K1(not_b16, ~a)
K2(and_b16, a & b)
K2(or_b16, a | b)
K2(xor_b16, a ^ b)
K2(lshlrev_b16, H(b) << (a & 15))
K2(lshrrev_b16, H(b) >> (a & 15))
K2(ashrrev_i16, I(b) >> (a & 15))
K2(add_u16, a + b)
K2(sub_u16, a - b)
K2(subrev_u16, b - a)
K2(add_i16, a + b)
K2(sub_i16, a - b)
K2(mul_lo_u16, (u32)H(a) * H(b))
K3(mad_u16, (u32)H(a) * H(b) + c)
K3(mad_i16, (u32)H(a) * H(b) + c)
K2(min_u16, umin(H(a), H(b)))
K2(max_u16, umax(H(a), H(b)))
K2(min_i16, smin(I(a), I(b)))
K2(max_i16, smax(I(a), I(b)))
K2(pack_b32_f16, H(a) | b << 16)
K2(min_u32, umin(a, b))
K2(max_u32, umax(a, b))
K2(min_i32, smin(S(a), S(b)))
K2(max_i32, smax(S(a), S(b)))
#define ORDER3(t, lo, hi, v)                                                             \
    K3(min3_##t, lo(lo(v(a), v(b)), v(c))) K3(max3_##t, hi(hi(v(a), v(b)), v(c)))        \
    K3(med3_##t, hi(lo(v(a), v(b)), lo(hi(v(a), v(b)), v(c))))
#define MIXED(t, lo, hi, v)                                                              \
    K3(minmax_##t, hi(lo(v(a), v(b)), v(c))) K3(maxmin_##t, lo(hi(v(a), v(b)), v(c)))
ORDER3(u32, umin, umax, (u32))
ORDER3(i32, smin, smax, S)
ORDER3(u16, umin, umax, H)
ORDER3(i16, smin, smax, I)
MIXED(u32, umin, umax, (u32))
MIXED(i32, smin, smax, S)

/* packed 16 bits: the same operation on both halves */
#define PK2(name, expr)                                                                  \
    static inline u32 f_##name(u32 a, u32 b) { return (u32)(expr); }                     \
    K2(name, (f_##name(a & 0xFFFFu, b & 0xFFFFu) & 0xFFFFu) | f_##name(a >> 16, b >> 16) << 16)
#define PK3(name, expr)                                                                  \
    static inline u32 f_##name(u32 a, u32 b, u32 c) { return (u32)(expr); }              \
    K3(name, (f_##name(a & 0xFFFFu, b & 0xFFFFu, c & 0xFFFFu) & 0xFFFFu) | f_##name(a >> 16, b >> 16, c >> 16) << 16)
PK2(pk_add_u16, a + b)
PK2(pk_add_i16, a + b)
PK2(pk_sub_u16, a - b)
PK2(pk_sub_i16, a - b)
PK2(pk_mul_lo_u16, a *b)
PK3(pk_mad_u16, a *b + c)
PK3(pk_mad_i16, a *b + c)
PK2(pk_min_u16, umin(a, b))
PK2(pk_max_u16, umax(a, b))
PK2(pk_min_i16, smin(I(a), I(b)))
PK2(pk_max_i16, smax(I(a), I(b)))
PK2(pk_lshlrev_b16, b << (a & 15))
PK2(pk_lshrrev_b16, b >> (a & 15))
PK2(pk_ashrrev_i16, I(b) >> (a & 15))

/* carries: the mask row is all ones where there is one */
#define CARRY(name, value, carry)                                                        \
    HEAD(name) u32 a = pa[l], b = pb[l]; d[l] = (value); m[l] = (carry) ? ~0u : 0; TAIL(name)
#define CARRY_IN(name, value, carry)                                                     \
    HEAD(name) u32 a = pa[l], b = pb[l], c = pc[l] & 1; d[l] = (u32)(value); m[l] = (carry) ? ~0u : 0; TAIL(name)
CARRY(add_co_u32, a + b, a + b < a)
CARRY(sub_co_u32, a - b, b > a)
CARRY(subrev_co_u32, b - a, a > b)
CARRY_IN(addc_co_u32, a + b + c, ((u64)a + b + c) >> 32)
CARRY_IN(subb_co_u32, a - b - c, (u64)b + c > a)
CARRY_IN(subbrev_co_u32, b - a - c, (u64)a + c > b)

/* selection; the mask row is all ones or zero */
K3(cndmask_b32, (a & ~c) | (b & c))
K3(cndmask_b16, (a & ~c) | (b & c))

/* -- 64 bits --------------------------------------------------------------------------- */
#define PUT64(expr) do { u64 r = (u64)(expr); d[l] = (u32)r; d[l + n] = (u32)(r >> 32); } while (0)
#define A64 pair64(pa, n, l)
#define B64 pair64(pb, n, l)
#define C64 pair64(pc, n, l)
#define W(name, expr) HEAD(name) PUT64(expr); TAIL(name)
W(mov_b64, A64)
HEAD(pk_mov_b32) d[l] = pa[l]; d[l + n] = pb[l]; TAIL(pk_mov_b32)
W(lshlrev_b64, B64 << (pa[l] & 63))
W(lshrrev_b64, B64 >> (pa[l] & 63))
W(ashrrev_i64, (i64)B64 >> (pa[l] & 63))
W(lshl_add_u64, (A64 << (pb[l] & 7)) + C64)
W(add_u64, A64 + B64)
W(sub_u64, A64 - B64)
W(mul_u64, A64 *B64)
W(min_u64, A64 < B64 ? A64 : B64)
W(max_u64, A64 > B64 ? A64 : B64)
W(min_i64, (i64)A64 < (i64)B64 ? A64 : B64)
W(max_i64, (i64)A64 > (i64)B64 ? A64 : B64)
W(mad_nc_u64_u32, (u64)pa[l] * pb[l] + C64)
W(mad_nc_i64_i32, (u64)((i64)S(pa[l]) * S(pb[l])) + C64)
HEAD(mad_u64_u32) u64 q = (u64)pa[l] * pb[l], r = q + C64; d[l] = (u32)r; d[l + n] = (u32)(r >> 32);
m[l] = r < q ? ~0u : 0; TAIL(mad_u64_u32)
HEAD(mad_i64_i32) i64 q = (i64)S(pa[l]) * S(pb[l]), c = (i64)C64, r = (i64)((u64)q + (u64)c);
d[l] = (u32)r; d[l + n] = (u32)((u64)r >> 32); m[l] = (q >= 0) == (c >= 0) && (r >= 0) != (q >= 0) ? ~0u : 0;
TAIL(mad_i64_i32)

/* -- bytes ----------------------------------------------------------------------------- */
static inline u32 far(u32 a, u32 b) { return a > b ? a - b : b - a; }
static inline u32 sad8(u32 a, u32 b, int masked) {
    u32 r = 0;
    for (int i = 0; i < 32; i += 8) {
        u32 p = a >> i & 255, q = b >> i & 255;
        r += masked && !q ? 0 : far(p, q);
    }
    return r;
}
K3(sad_u8, sad8(a, b, 0) + c)
K3(sad_hi_u8, (sad8(a, b, 0) << 16) + c)
K3(sad_u16, far(a & 0xFFFFu, b & 0xFFFFu) + far(a >> 16, b >> 16) + c)
K3(sad_u32, far(a, b) + c)
K3(msad_u8, sad8(a, b, 1) + c)
static inline u32 lerp(u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int i = 0; i < 32; i += 8) r |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1) << i;
    return r;
}
K3(lerp_u8, lerp(a, b, c))
K1(prng_b32, (a << 1) ^ (a >> 31 ? 197u : 0u))
static inline u32 clip(i32 x, i32 lo, i32 hi) { return (u32)(x < lo ? lo : x > hi ? hi : x); }
K1(sat_pk_u8_i16, clip(I(a), 0, 255) | clip(S(a) >> 16, 0, 255) << 8)
K3(ashr_pk_u8_i32, clip(S(a) >> (c & 31), 0, 255) | clip(S(b) >> (c & 31), 0, 255) << 8)
K3(ashr_pk_i8_i32, (clip(S(a) >> (c & 31), -128, 127) & 255) | (clip(S(b) >> (c & 31), -128, 127) & 255) << 8)

/* -- dot products of integers; imm bits 0 and 1: a and b are signed -------------------- */
static inline u32 dot(u32 a, u32 b, u32 c, int bits, int sa, int sb) {
    u32 r = c;
    for (int i = 0; i < 32; i += bits) {
        i32 p = sa ? S(a << (32 - bits - i)) >> (32 - bits) : (i32)(a << (32 - bits - i) >> (32 - bits));
        i32 q = sb ? S(b << (32 - bits - i)) >> (32 - bits) : (i32)(b << (32 - bits - i) >> (32 - bits));
        r += (u32)p * (u32)q;
    }
    return r;
}
K3(dot4_i32_i8, dot(a, b, c, 8, 1, 1))
K3(dot4_u32_u8, dot(a, b, c, 8, 0, 0))
K3(dot4c_i32_i8, dot(a, b, c, 8, 1, 1))
K3(dot8_i32_i4, dot(a, b, c, 4, 1, 1))
K3(dot8_u32_u4, dot(a, b, c, 4, 0, 0))
K3(dot8c_i32_i4, dot(a, b, c, 4, 1, 1))
K3(dot2_i32_i16, dot(a, b, c, 16, 1, 1))
K3(dot2_u32_u16, dot(a, b, c, 16, 0, 0))
K3(dot2c_i32_i16, dot(a, b, c, 16, 1, 1))
K3(dot4_i32_iu8, dot(a, b, c, 8, (int)(imm & 1), (int)(imm >> 1 & 1)))
K3(dot8_i32_iu4, dot(a, b, c, 4, (int)(imm & 1), (int)(imm >> 1 & 1)))

/* -- compares: all ones where true ------------------------------------------------------ */
#define CMP(name, x, y, test) HEAD(name) d[l] = (x)test(y) ? ~0u : 0; TAIL(name)
#define CONDITIONS(t, x, y)                                                              \
    CMP(cmp_lt_##t, x, y, <) CMP(cmp_eq_##t, x, y, ==) CMP(cmp_le_##t, x, y, <=) CMP(cmp_gt_##t, x, y, >) \
    CMP(cmp_ge_##t, x, y, >=) CMP(cmp_ne_##t, x, y, !=) CMP(cmp_lg_##t, x, y, !=)        \
    HEAD(cmp_f_##t) d[l] = 0; TAIL(cmp_f_##t) HEAD(cmp_t_##t) d[l] = ~0u; TAIL(cmp_t_##t)
CONDITIONS(u32, pa[l], pb[l])
CONDITIONS(i32, S(pa[l]), S(pb[l]))
CONDITIONS(u16, H(pa[l]), H(pb[l]))
CONDITIONS(i16, I(pa[l]), I(pb[l]))
CONDITIONS(u64, A64, B64)
CONDITIONS(i64, (i64)A64, (i64)B64)
