"""The compiled wave builder's rows of running waves: how they are kept, changed and written out.

Used by :mod:`~isaprof.parsers.sqtt.build` only, which says what for. numba's
cache on disk does not notice a change of this file: touch build.py with it.
Without ``_nrt=False``, each access to an array of a tuple counts references,
which takes ten times as long as the work; nothing here makes an array.
"""

# numba functions have no types that mypy could check
# mypy: disable-error-code="call-overload"
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, import-untyped, misc"
from __future__ import annotations

from numba import njit

#: places of a row of ``slots``
(
    OPEN, WAVE, STATE, LAST, COUNT, BASE, RUNS, EXTEND, TRAPPED, EARLY, HEAD, STALL_AT, STALLS,
    WANT_AT, WANTS, BEGIN, ENTRY, TOP, PC_TOP,
) = range(19)  # fmt: skip
SLOT = 19
#: places of ``n``: rows written to each array of ``out``, rows handed over before, and what the waves share
(RECORDS, RUN_ROWS, STARTS, ENDS, PARTS, SEEN, UNSTARTED, RECORDS_BEFORE, RUNS_BEFORE, NEXT_WAVE, PHASE,
 SAVING, DISPATCHES, CHANGE) = range(14)  # fmt: skip
NUMBERS = 14
#: columns of ``out``'s tables
START_FIELDS, END_FIELDS, PART_FIELDS, SEEN_FIELDS = 8, 8, 5, 4
#: packet roles
(
    NOTHING, START, FINISH, NEW_PC, INST, VALU, VALU_PREDICTED, IMMEDIATE, IMMEDIATES, READY, ISSUE, MISC,
) = range(12)  # fmt: skip
#: fields of packets that the builder reads, in the order of ``shift`` and ``mask``
FIELDS = (
    "sa", "sh", "simd", "wgp", "cu", "wave", "me", "pipe", "count", "op", "mask", "wavetm", "err", "pc",
    "states", "misc",
)  # fmt: skip
(
    SA, SH, SIMD, WGP, CU, SLOT_NUMBER, ME, PIPE, COUNT_FIELD, OP, MASK, WAVETM, ERR, PC, STATES, KIND,
) = range(16)  # fmt: skip
#: places of ``rule``
(TARGET_CU, TARGET_SA, SIMD_MASK, BIAS, MAX_THREADS, CONTEXT_AT, CONTEXTS, READY_OFFSET,
 SAVE_CONTEXT) = range(9)  # fmt: skip
RULES = 9
#: what an operation does (model.Act, numbered)
(RECORD, IGNORE, JUMP_PC, BARRIER, BARRIER_EXTENDED, TRAP, RETURN, OTHER_SIMD, REPLAY, EARLY_ACT) = range(10)
#: categories and states (model.Cat, model.State)
SMEM, VMEM, LDS, VALU_CAT, IMMED, CONTEXT, MESSAGE = 1, 3, 5, 6, 9, 10, 11
EMPTY, IDLE, EXEC, WAITING, STALL = range(5)
#: category of a record that was issued and not completed
UNFINISHED = -1
#: address of a record: none known of its own; should be known, but its packet never came
NO_PC, LOST_PC = -1, -2
#: flags of a wave
TARGET, START_SEEN, END_SEEN, UNSTARTED_WAVE = 1, 2, 4, 8
#: gfx9: cycles of one issue slot
STEP = 4
#: shader array in the cu number
SA_SHIFT = 7


# -- rows of a wave ---------------------------------------------------------
@njit(nogil=True, _nrt=False)
def end_of(buf, s, i):
    return buf[0][s, i] + buf[1][s, i]


@njit(nogil=True, _nrt=False)
def add_record(slots, buf, s, category, time, duration, stall):
    i = slots[s, COUNT]
    buf[0][s, i] = time
    buf[1][s, i] = duration
    buf[2][s, i] = stall
    buf[3][s, i] = category
    slots[s, COUNT] = i + 1


@njit(nogil=True, _nrt=False)
def delete_record(slots, buf, s, i):
    """Remove record ``i``; known addresses of later ones move with them."""
    for k in range(i, slots[s, COUNT] - 1):
        buf[0][s, k], buf[1][s, k] = buf[0][s, k + 1], buf[1][s, k + 1]
        buf[2][s, k], buf[3][s, k] = buf[2][s, k + 1], buf[3][s, k + 1]
    top = max(slots[s, PC_TOP], i)
    for k in range(i, top):
        buf[4][s, k] = buf[4][s, k + 1]
    buf[4][s, top] = NO_PC
    slots[s, COUNT] -= 1


@njit(nogil=True, _nrt=False)
def add_run(slots, buf, s, state, cycles):
    if cycles <= 0:
        return
    i = slots[s, RUNS]
    if i and buf[6][s, i - 1] == state:
        buf[5][s, i - 1] += cycles
    else:
        buf[5][s, i] = cycles
        buf[6][s, i] = state
        slots[s, RUNS] = i + 1


@njit(nogil=True, _nrt=False)
def set_pc(slots, buf, s, i, pc):
    """Address of record ``i``, counted from the wave's begin."""
    k = i - slots[s, BASE]
    if 0 <= k < buf[4].shape[1] - 1:
        buf[4][s, k] = pc
        slots[s, PC_TOP] = max(slots[s, PC_TOP], k)


@njit(nogil=True, _nrt=False)
def want_pc(slots, buf, s, i):
    set_pc(slots, buf, s, i, LOST_PC)
    ring = buf[8].shape[1]
    if slots[s, WANTS] < ring:
        buf[8][s, (slots[s, WANT_AT] + slots[s, WANTS]) % ring] = i
        slots[s, WANTS] += 1


@njit(nogil=True, _nrt=False)
def new_pc(slots, buf, s, err, pc):
    i = slots[s, BASE] + slots[s, COUNT]
    if slots[s, WANTS]:
        i = buf[8][s, slots[s, WANT_AT]]
        slots[s, WANT_AT] = (slots[s, WANT_AT] + 1) % buf[8].shape[1]
        slots[s, WANTS] -= 1
    set_pc(slots, buf, s, i, LOST_PC if err else pc << 2)


@njit(nogil=True, _nrt=False)
def write_out(slots, buf, out, n, s, keep, keep_runs):
    """Write all records of a slot but the newest ``keep``, and all runs but ``keep_runs``."""
    count = max(slots[s, COUNT] - keep, 0)
    at = n[RECORDS]
    top = slots[s, TOP]
    for i in range(count):
        out[0][at + i] = buf[0][s, i]
        out[1][at + i] = buf[1][s, i]
        out[2][at + i] = buf[2][s, i]
        out[3][at + i] = buf[3][s, i]
        out[4][at + i] = buf[4][s, i]
        top = max(top, buf[0][s, i] + buf[1][s, i])
    slots[s, TOP] = top
    n[RECORDS] += count
    rest = slots[s, COUNT] - count
    for i in range(rest):
        buf[0][s, i], buf[1][s, i] = buf[0][s, i + count], buf[1][s, i + count]
        buf[2][s, i], buf[3][s, i] = buf[2][s, i + count], buf[3][s, i + count]
    for i in range(slots[s, PC_TOP] + 1):
        k = i + count
        buf[4][s, i] = buf[4][s, k] if k <= slots[s, PC_TOP] else NO_PC
    slots[s, PC_TOP] = max(slots[s, PC_TOP] - count, -1)
    runs = max(slots[s, RUNS] - keep_runs, 0)
    at = n[RUN_ROWS]
    for i in range(runs):
        out[5][at + i] = buf[5][s, i]
        out[6][at + i] = buf[6][s, i]
    n[RUN_ROWS] += runs
    for i in range(slots[s, RUNS] - runs):
        buf[5][s, i] = buf[5][s, i + runs]
        buf[6][s, i] = buf[6][s, i + runs]
    slots[s, COUNT], slots[s, RUNS] = rest, slots[s, RUNS] - runs
    slots[s, BASE] += count
    slots[s, HEAD] = max(slots[s, HEAD], slots[s, BASE])
    return count, runs


@njit(nogil=True, _nrt=False)
def make_room(slots, buf, out, n, s):
    """Before a packet: at least a few records and runs fit into the slot's buffers."""
    size, runs = buf[0].shape[1], buf[5].shape[1]
    if slots[s, COUNT] < size - 4 and slots[s, RUNS] < runs - 8:
        return
    first, first_run = n[RECORDS_BEFORE] + n[RECORDS], n[RUNS_BEFORE] + n[RUN_ROWS]
    count, length = write_out(slots, buf, out, n, s, size // 4, 1)
    row = out[9][n[PARTS]]
    row[0], row[1], row[2], row[3], row[4] = slots[s, WAVE], first, count, first_run, length
    n[PARTS] += 1
