/* The fast executor: records that Python fills in, and what the C files share.
 *
 * Layouts here are mirrored by isaprof/sim/fast/records.py; isa_sizes() lets the
 * loader refuse a library whose layouts differ.
 *
 * Rule of the whole library: what it does not do exactly as the NumPy reference,
 * it does not begin. A handler returns S_FALLBACK before it has changed any state,
 * and the reference executes the instruction (and names the fault, if it is one).
 */
#ifndef ISA_H
#define ISA_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#ifdef __clang__
#define SAME_LANE _Pragma("clang loop vectorize(assume_safety)")
#else
#define SAME_LANE _Pragma("GCC ivdep")
#endif

enum { MAX_LANES = 64, SLOTS = 128 };
/* slots of the scalar file: isaprof.sim.state */
enum { VCC = 106, M0 = 124, NUL = 125, EXEC = 126 };
/* bits of MODE under which only the reference executes (isaprof.sim.lower.modal) */
enum { MODAL = 3 << 27 };

/* what a handler or the run loop reports */
enum { S_NEXT, S_END, S_BARRIER, S_YIELD, S_FALLBACK, S_QUANTUM, S_DRAIN, S_DEADLOCK, S_LIMIT, S_SLICE };

/* -- vector and scalar operands ------------------------------------------------------- */
enum { SRC_NONE, SRC_ROW, SRC_CONST, SRC_SLOT, SRC_SLOT64, SRC_MASK, SRC_SCC, SRC_VCCZ, SRC_EXECZ };
/* how the bits of a source are prepared for the kernel */
enum { T_32, T_16, T_64, T_MASK, T_HALVES, T_PAIR32, T_BITS, T_WIDEN };
/* float types, for sign modifiers, denormal flush, output modifiers */
enum { F_NONE, F_32, F_16, F_64, F_BF16 };
enum { MOD_NEG = 1, MOD_ABS = 2 };

typedef struct {
    u8 kind, type, half, mods; /* half: T_16 which one; T_HALVES bits 0, 1: source of low and high */
    u8 low, width, sext, flush; /* T_BITS: field of the register (SDWA, bytes); flush: as this float type */
    i32 at;                     /* row, slot, or index of a constant row pair */
    u32 and_, xor_;             /* T_HALVES: sign bits; T_PAIR32: xor of low (and_) and high (xor_) */
    u8 sign, pad[3];            /* float type that mods apply to */
} Src;

enum { D_NONE, D_32, D_64, D_LO, D_LO_CLEAR, D_HI, D_MASK, D_PAIR32, D_SDWA };

typedef struct {
    u8 kind, low, width, unused; /* D_SDWA; unused: 0 pad, 1 sign-extend, 2 preserve */
    i32 at;                      /* row, or slot of a mask */
} Dst;

typedef struct {
    u64 valid, enabled;
    u32 zero_invalid, fetch_inactive;
    u8 source[MAX_LANES];
} Dpp;

/* -- handlers ------------------------------------------------------------------------- */
enum {
    H_FALLBACK, H_NOP, H_END, H_BARRIER, H_BARRIER_SIGNAL, H_BARRIER_WAIT, H_SLEEP, H_BRANCH,
    H_SALU, H_SAVEEXEC, H_TIME, H_SMEM, H_GETPC, H_MODE,
    H_FAST1, H_FAST2, H_FAST3, H_VALU, H_DUAL,
    H_READLANE, H_READFIRST, H_WRITELANE, H_MBCNT, H_PERMSWAP, H_PERMLANE16, H_SWAP, H_BPERMUTE, H_SWIZZLE,
    H_MEM, H_MATRIX
};

enum { B_ALWAYS, B_SCC0, B_SCC1, B_VCCZ, B_VCCNZ, B_EXECZ, B_EXECNZ, B_NEVER };

typedef struct {
    u16 h;
    u8 nsrc, n2; /* n2: the kernel works on two rows as one (packed f32) */
    i32 kernel;
    Src src[4];
    Dst dst, dst2; /* dst2: mask of a carry or compare */
    u8 fdst, clamp, uses_mode, writes_exec;
    u8 temp, bits, flags, pad; /* temp: result through a temporary; flags by handler */
    float omod;                /* 0: none */
    i32 dpp, dual, extra, target;
    u32 imm, pad2;
    u64 imm64;
} Op;

/* -- memory access -------------------------------------------------------------------- */
enum { SP_GLOBAL, SP_LDS, SP_SCRATCH, SP_BUFFER, SP_SCALAR, SP_FLAT };
enum { ACC_LOAD, ACC_STORE, ACC_ATOMIC, ACC_DMA };

typedef struct {
    u8 space, access, nbytes, is_signed;
    i8 half;    /* -1: whole dwords */
    u8 pieces;  /* 2: ds_read2 and its like */
    u8 returns, sources;
    u8 wide, offen, idxen, gfx9;
    i32 addr, data, data2, dst; /* rows; -1 none */
    i32 saddr, saddr_bits;      /* slot or -1 */
    i32 rsrc, soffset;          /* slots; soffset -1: so_const */
    i32 atomic, use_m0;
    u32 so_const, transpose; /* bits of an element, 0: none */
    i64 imm, imm2;
} Mem;

/* -- matrix instructions -------------------------------------------------------------- */
enum { E_F32, E_F16, E_BF16, E_I8, E_U8, E_I4, E_U4, E_BYTE, E_SIX, E_FP4 };
enum { R_F32, R_I32, R_F16, R_BF16 };

typedef struct {
    u8 a_kind, b_kind, result, scaled;
    u8 c_is_const, c_abs, c_neg, clamp;
    u8 packed16, high, a_shift, b_shift;
    u8 a_neg[2], b_neg[2];
    i32 blocks, m, k, d_elements;
    i32 a_row, a_regs, b_row, b_regs, c_row, d_row, d_regs, a_scale, b_scale;
    i32 sparse; /* 1 + row of the index register (field from bit a_shift on), 0: dense */
    double c_const;
    const float *a_table, *b_table; /* code to value: E_BYTE, E_SIX, E_FP4 */
    const u16 *a_index, *b_index;   /* [blocks][m][k], [blocks][k][m]: element * 64 + lane */
    const u16 *d_index;             /* [elements][lanes]: place in [blocks][m][m] */
    const float *e8m0;
} Mat;

/* -- state ---------------------------------------------------------------------------- */
typedef struct {
    u8 *bytes;
    u64 base;
    i64 segments;
    const u64 *starts, *ends;
    const u8 *writable;
} Memory;

typedef struct {
    u32 *v;
    i64 lanes, pc, clock, step;
    i64 done, barrier, phase;
    i64 hit; /* memory segment of the last access */
    u64 mask_of; /* exec that mask belongs to */
    u64 fnuz;
    u8 *scratch;
    i64 scratch_stride;
    u8 *lds;
    i64 lds_size, lds_outside;
    const Memory *memory;
    i32 *lines;
    u8 *line_flags;
    i64 traced, nlines, lines_cap;
    i64 *events; /* of each: step, kind, lanes */
    i64 nevents, events_cap;
    u64 *addresses; /* of the events' lanes, one behind the other */
    i8 *event_lanes;
    i64 naddresses, addresses_cap;
    u32 scc, mode;
    u32 s[SLOTS];
    u32 mask[MAX_LANES];
} Wave;

typedef struct {
    const Op *ops;
    i64 n;
    const u32 *consts; /* pairs of rows of `lanes` */
    const Dpp *dpps;
    const Mem *mems;
    const Mat *mats;
    u64 load_bias;
} Prog;

typedef struct {
    Wave **waves;
    i64 n, live, signalled, phase;
    i64 cur, in_turn, left, budget, slice, progressed, quantum;
    i64 limit;
    i64 *executed; /* shared by all groups */
    i64 *counts;   /* per instruction, of this thread */
    i64 unreported; /* executed and not in `executed` yet: turns are short, and cores would wait for its line */
} Group;

/* -- kernels: one operation of the table of semantics on n lanes ---------------------- */
typedef struct {
    u32 *d, *m;
    const u32 *a, *b, *c, *e;
    i64 n;
    u32 mode, imm;
    u64 fnuz;
} Args;
typedef void (*Kernel)(const Args *);
typedef u64 (*Scalar)(u64 a, u64 b, u32 scc, u32 *out);

enum { MAX_KERNELS = 1024 };
extern Kernel isa_kernels[MAX_KERNELS];
extern Scalar isa_scalars[MAX_KERNELS];
void isa_add_kernel(const char *name, Kernel k);
void isa_add_scalar(const char *name, Scalar k);
#define REGISTER(name) \
    __attribute__((constructor)) static void reg_##name(void) { isa_add_kernel(#name, k_##name); }

static inline u64 exec_of(const Wave *w) {
    return w->lanes == 32 ? w->s[EXEC] : w->s[EXEC] | (u64)w->s[EXEC + 1] << 32;
}
static inline u64 all_lanes(const Wave *w) { return w->lanes == 32 ? 0xFFFFFFFFu : ~(u64)0; }
static inline u64 lane_mask(const Wave *w, int slot) {
    return w->lanes == 32 ? w->s[slot] : w->s[slot] | (u64)w->s[slot + 1] << 32;
}
static inline void set_lane_mask(Wave *w, int slot, u64 m) {
    if (slot == NUL) return;
    w->s[slot] = (u32)m;
    if (w->lanes == 64) w->s[slot + 1] = (u32)(m >> 32);
}
static inline u32 *row(const Wave *w, i64 i) { return w->v + i * w->lanes; }
static inline u64 pair64(const u32 *p, i64 n, i64 l) { return p[l] | (u64)p[l + n] << 32; }

void isa_expand_mask(u32 *out, u64 m, i64 lanes);
u64 isa_pack_mask(const u32 *rows, i64 lanes);
const u32 *isa_exec_row(Wave *w, u64 exec);
int isa_event(Wave *w, int space, int load, int store, int nbytes, const u64 *a, const u8 *lane, int n);

int isa_valu(Wave *w, const Prog *p, const Op *o);
int isa_dual(Wave *w, const Prog *p, const Op *o);
int isa_lanes(Wave *w, const Prog *p, const Op *o);
int isa_mem(Wave *w, const Prog *p, const Op *o);
int isa_smem(Wave *w, const Prog *p, const Op *o);
int isa_matrix(Wave *w, const Prog *p, const Op *o);
u64 isa_scalar_value(const Wave *w, const Prog *p, const Src *s);
void isa_lock(void);
void isa_unlock(void);
#endif
