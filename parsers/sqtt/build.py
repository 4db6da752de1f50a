"""The compiled wave builder: packets to wave records, for all generations.

It does what :mod:`~isaprof.parsers.sqtt.waves_gfx9` and
:mod:`~isaprof.parsers.sqtt.waves_rdna` do, which are the readable reference;
the names of the functions are the same and the rules are explained there.
Here every running wave has a row in ``slots`` and in the buffers ``buf``;
finished rows go to the arrays ``out``, which the caller empties
(:mod:`isaprof.parsers.sqtt.stream`).

A wave's records are changed near their end only. So once a buffer is full,
all but its newest quarter is written out, and a wave may be as long as it
likes. What would reach further back (an XNACK replay whose instruction is
thousands of records ago) is left undone, which no real stream needs.
"""

# numba functions have no types that mypy could check
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, import-untyped, misc"
# mypy: disable-error-code="assignment, call-overload"
from __future__ import annotations  # noqa: I001

import numpy as np
from numba import njit

from isaprof.parsers.sqtt.kernel import cached
from isaprof.parsers.sqtt.slots import (
    BARRIER, BARRIER_EXTENDED, BASE, BEGIN, BIAS, CHANGE, CONTEXT, CONTEXTS, CONTEXT_AT, COUNT,
    COUNT_FIELD, CU, DISPATCHES, EARLY, EARLY_ACT, EMPTY, ENDS, END_SEEN, ENTRY, ERR, EXEC, EXTEND,
    FINISH, HEAD, IDLE, IGNORE, IMMED, IMMEDIATE, INST, ISSUE, JUMP_PC, KIND, LAST, LDS, LOST_PC, MASK,
    MAX_THREADS, ME, MESSAGE, MISC, NEW_PC, NEXT_WAVE, NOTHING, NO_PC, OP, OPEN, OTHER_SIMD, PARTS, PC,
    PC_TOP, PHASE, PIPE, READY, READY_OFFSET, RECORDS, RECORDS_BEFORE, REPLAY, RETURN, RUNS_BEFORE,
    RUN_ROWS, SA, SAVE_CONTEXT, SAVING, SA_SHIFT, SEEN, SH, SIMD, SIMD_MASK, SLOT_NUMBER, SMEM, STALL,
    STALLS, STALL_AT, START, STARTS, START_SEEN, STATE, STATES, STEP, TARGET, TARGET_CU, TARGET_SA, TOP,
    TRAP, TRAPPED, UNFINISHED, UNSTARTED, UNSTARTED_WAVE, VALU, VALU_CAT, VALU_PREDICTED, VMEM, WAITING,
    WANTS, WANT_AT, WAVE, WAVETM, WGP, add_record, add_run, delete_record, end_of, make_room, new_pc, set_pc,
    want_pc, write_out,
)  # fmt: skip


# -- begin and end ----------------------------------------------------------
@njit(nogil=True, _nrt=False)
def _begin(out, n, t, cu, simd, slot, flags, threads, entry, dispatch):
    """A row for a new wave; its number."""
    row = out[7][n[STARTS]]
    row[0], row[1], row[2], row[3] = t, cu, simd, slot
    row[4], row[5], row[6], row[7] = flags, threads, entry, dispatch
    n[STARTS] += 1
    n[NEXT_WAVE] += 1
    return n[NEXT_WAVE] - 1


@njit(nogil=True, _nrt=False)
def _seen(out, n, t, cu, simd, slot, start, entry):
    row = out[10][n[SEEN]]
    row[0], row[1], row[2], row[3] = t, cu << 16 | simd << 8 | slot, start, entry
    n[SEEN] += 1


@njit(nogil=True, _nrt=False)
def _open(slots, buf, n, s, wave, t, entry, pc):
    top = slots[s, PC_TOP]
    slots[s] = 0
    slots[s, PC_TOP] = top
    slots[s, OPEN], slots[s, WAVE], slots[s, STATE] = 1, wave, IDLE
    slots[s, LAST] = slots[s, BEGIN] = slots[s, TOP] = t
    slots[s, ENTRY] = entry
    set_pc(slots, buf, s, 0, pc)


@njit(nogil=True, _nrt=False)
def _end_row(out, n, wave, end, flags, first, count, first_run, runs):
    row = out[8][n[ENDS]]
    row[0], row[1], row[2], row[3] = wave, end, flags, first
    row[4], row[5], row[6] = count, first_run, runs
    n[ENDS] += 1


@njit(nogil=True, _nrt=False)
def _close(slots, buf, out, n, s, end, flags):
    """The wave of a slot is over: all of its rows are written."""
    first, first_run = n[RECORDS_BEFORE] + n[RECORDS], n[RUNS_BEFORE] + n[RUN_ROWS]
    count, runs = write_out(slots, buf, out, n, s, 0, 0)
    for i in range(slots[s, PC_TOP] + 1):
        buf[4][s, i] = NO_PC
    slots[s, PC_TOP] = -1
    _end_row(out, n, slots[s, WAVE], end, flags, first, count, first_run, runs)
    slots[s, OPEN] = 0


@njit(nogil=True, _nrt=False)
def _start(slots, buf, others, out, n, rule, entries, gfx9, t, sa, simd, unit, slot, me, pipe, count):
    """WAVE_START without a context code."""
    cu = unit if gfx9 else unit | sa << SA_SHIFT
    target = unit == rule[TARGET_CU] and sa == rule[TARGET_SA] and (rule[SIMD_MASK] >> simd & 1) != 0
    s = simd * 16 + slot if gfx9 else slot
    entry = entries[(me & 1) * 4 + pipe]
    threads = count if gfx9 else count - rule[BIAS]
    if not 1 <= threads <= rule[MAX_THREADS]:
        threads = -1
    key = (cu << 2 | simd) << 5 | slot
    early = STEP if gfx9 else 1
    if target and slots[s, OPEN]:
        stale = max(t - early, slots[s, BEGIN])
        if not gfx9:
            _set(slots, buf, s, EMPTY, stale)
            _seen(out, n, stale, cu, simd, slot, 0, slots[s, ENTRY])
        _close(slots, buf, out, n, s, stale, 0)
    elif not target and others[key, 0] >= 0:
        stale = max(t - early, others[key, 1])
        if not gfx9:
            _seen(out, n, stale, cu, simd, slot, 0, others[key, 2])
        _end_row(out, n, others[key, 0], stale, 0, 0, 0, 0, 0)
        others[key, 0] = -1
    flags = START_SEEN | (TARGET if target else 0)
    wave = _begin(out, n, t, cu, simd, slot, flags, threads, entry, n[DISPATCHES] - 1)
    _seen(out, n, t, cu, simd, slot, 1, entry)
    if target:
        _open(slots, buf, n, s, wave, t, entry, entry if entry >= 0 else LOST_PC)
    else:
        others[key, 0], others[key, 1], others[key, 2] = wave, t, entry


@njit(nogil=True, _nrt=False)
def _finish(slots, buf, others, out, n, rule, gfx9, t, sa, simd, unit, slot):
    cu = unit if gfx9 else unit | sa << SA_SHIFT
    target = unit == rule[TARGET_CU] and sa == rule[TARGET_SA] and (rule[SIMD_MASK] >> simd & 1) != 0
    s = simd * 16 + slot if gfx9 else slot
    key = (cu << 2 | simd) << 5 | slot
    entry = np.int64(-1)
    if target and slots[s, OPEN]:
        entry = slots[s, ENTRY]
        if gfx9:
            add_run(slots, buf, s, slots[s, STATE], t - slots[s, LAST])
        else:
            make_room(slots, buf, out, n, s)
            _packet(slots, buf, s, t, 0)
            _set(slots, buf, s, EMPTY, t)
            count = slots[s, COUNT]
            if count and end_of(buf, s, count - 1) < t:
                end = end_of(buf, s, count - 1)
                add_record(slots, buf, s, MESSAGE, end, t - end, 0)
        _close(slots, buf, out, n, s, t, END_SEEN)
    elif not target and others[key, 0] >= 0:
        entry = others[key, 2]
        _end_row(out, n, others[key, 0], t, END_SEEN, 0, 0, 0, 0)
        others[key, 0] = -1
    else:
        wave = _begin(out, n, 0, cu, simd, slot, UNSTARTED_WAVE, -1, -1, -1)
        out[11][n[UNSTARTED]] = cu << 16 | simd << 8 | slot
        n[UNSTARTED] += 1
        _end_row(out, n, wave, t, END_SEEN, 0, 0, 0, 0)
    _seen(out, n, t, cu, simd, slot, 0, entry)


@njit(nogil=True, _nrt=False)
def _wave(slots, buf, out, n, rule, gfx9, t, simd, slot):
    """The running wave of a slot; opened here where its start was lost."""
    s = simd * 16 + slot if gfx9 else slot
    if slots[s, OPEN]:
        make_room(slots, buf, out, n, s)
        return s
    cu = rule[TARGET_CU] if gfx9 else rule[TARGET_CU] | rule[TARGET_SA] << SA_SHIFT
    if not gfx9:
        simd = 0
        while rule[SIMD_MASK] >> simd + 1:
            simd += 1
    wave = _begin(out, n, t, cu, simd, slot, TARGET, -1, -1, -1)
    _open(slots, buf, n, s, wave, t, np.int64(-1), np.int64(LOST_PC))
    return s


# -- gfx10 and later --------------------------------------------------------
@njit(nogil=True, _nrt=False)
def _set(slots, buf, s, state, t):
    if t > slots[s, LAST]:
        add_run(slots, buf, s, slots[s, STATE], t - slots[s, LAST])
        slots[s, LAST] = t
    slots[s, STATE] = state


@njit(nogil=True, _nrt=False)
def _packet(slots, buf, s, t, offset):
    if not slots[s, EXTEND]:
        return
    slots[s, EXTEND] = 0
    i = slots[s, COUNT] - 1
    buf[3][s, i] = MESSAGE
    end = t + offset
    buf[1][s, i] = max(0, end - buf[0][s, i])
    slots[s, STATE] = WAITING
    _set(slots, buf, s, WAITING, end + 1)


@njit(nogil=True, _nrt=False)
def _record(slots, buf, s, t, category, cycles):
    last = slots[s, LAST]
    stall = t - last if slots[s, STATE] == STALL and last < t else 0
    early = slots[s, EARLY]
    add_record(slots, buf, s, category, t - stall - early, cycles + stall + early, stall)
    slots[s, EARLY] = 0
    _set(slots, buf, s, EXEC, t)


@njit(nogil=True, _nrt=False)
def _immediate(slots, buf, s, t):
    i = slots[s, COUNT]
    first = min(t, end_of(buf, s, i - 1)) if i else t
    add_record(slots, buf, s, IMMED, first, t - first + 1, t - first)
    _set(slots, buf, s, WAITING, first)
    _set(slots, buf, s, EXEC, t + 1)


@njit(nogil=True, _nrt=False)
def _to_front(recent, slot):
    k = 0
    while k < len(recent) - 1 and recent[k] != slot:
        k += 1
    while k > 0:
        recent[k] = recent[k - 1]
        k -= 1
    recent[0] = slot


@njit(nogil=True, _nrt=False)
def _inst_rdna(slots, buf, s, t, category, cycles, act):
    _packet(slots, buf, s, t, 0)
    if slots[s, TRAPPED]:
        if act == RETURN:
            i = slots[s, COUNT] - 1
            buf[1][s, i] = max(t + 1 - buf[0][s, i], buf[1][s, i])
            slots[s, TRAPPED] = 0
            _set(slots, buf, s, EXEC, t)
            want_pc(slots, buf, s, slots[s, BASE] + slots[s, COUNT])
    elif act == EARLY_ACT:
        slots[s, EARLY] += 1
    elif act == REPLAY:
        while slots[s, COUNT] and buf[3][s, slots[s, COUNT] - 1] == IMMED:
            delete_record(slots, buf, s, slots[s, COUNT] - 1)
        i = slots[s, COUNT] - 1
        if i >= 0:
            slots[s, LAST] = max(slots[s, LAST], buf[0][s, i] - 1)
            c = buf[3][s, i]
            if c in (VMEM, LDS, SMEM):
                delete_record(slots, buf, s, i)
        slots[s, STATE] = STALL
    elif act in (BARRIER, BARRIER_EXTENDED):
        _immediate(slots, buf, s, t)
        slots[s, EXTEND] = act == BARRIER_EXTENDED
    elif act == TRAP:
        add_record(slots, buf, s, CONTEXT, t, 1, 0)
        _set(slots, buf, s, EXEC, t)
        slots[s, TRAPPED] = 1
    else:
        _record(slots, buf, s, t, CONTEXT if act == RETURN else category, cycles)
        if act in (RETURN, JUMP_PC):
            want_pc(slots, buf, s, slots[s, BASE] + slots[s, COUNT])


# -- gfx9 -------------------------------------------------------------------
@njit(nogil=True, _nrt=False)
def _trim(buf, s, i, t):
    if t < end_of(buf, s, i):
        buf[1][s, i] = max(t - buf[0][s, i], STEP)
        buf[2][s, i] = min(buf[2][s, i], buf[1][s, i])


@njit(nogil=True, _nrt=False)
def _issue(slots, buf, s, t, what):
    before = slots[s, STATE]
    if what == 1:
        ring = buf[7].shape[1]
        if slots[s, STALLS] == ring:  # the newest that lies before the issue counts, so the oldest may go
            slots[s, STALL_AT] = (slots[s, STALL_AT] + 1) % ring
            slots[s, STALLS] -= 1
        buf[7][s, (slots[s, STALL_AT] + slots[s, STALLS]) % ring] = t
        slots[s, STALLS] += 1
        slots[s, STATE] = STALL
    elif what == 2:
        add_record(slots, buf, s, UNFINISHED, t, 0, 0)
        slots[s, STATE] = EXEC
    else:
        i, last = t, slots[s, COUNT] - 1
        if last >= 0 and buf[3][s, last] != UNFINISHED:
            _trim(buf, s, last, t)
            i = min(end_of(buf, s, last), t)
        cycles = STEP + max(0, t - i)
        add_record(slots, buf, s, IMMED, i, cycles, cycles)
        add_run(slots, buf, s, before, i - slots[s, LAST])
        add_run(slots, buf, s, WAITING, cycles)
        slots[s, LAST] = i + cycles
        slots[s, STATE] = EXEC
    add_run(slots, buf, s, before, t - slots[s, LAST])
    slots[s, LAST] = max(t, slots[s, LAST])


@njit(nogil=True, _nrt=False)
def _inst_gfx9(slots, buf, n, s, simd, t, category, act, offset):
    k = slots[s, HEAD] - slots[s, BASE]
    count = slots[s, COUNT]
    while k < count and buf[3][s, k] != UNFINISHED:
        k += 1
    slots[s, HEAD] = slots[s, BASE] + k
    if k == count:
        return
    if act == REPLAY:
        for j in range(k - 1, -1, -1):
            if buf[3][s, j] == category:
                grow = t + STEP - end_of(buf, s, j)
                if grow > 0:
                    buf[1][s, j] += grow
                    buf[2][s, j] += grow
                break
        delete_record(slots, buf, s, k)
        ring = buf[8].shape[1]
        for w in range(slots[s, WANTS]):
            at = (slots[s, WANT_AT] + w) % ring
            buf[8][s, at] -= buf[8][s, at] > slots[s, BASE] + k
        return
    issued = buf[0][s, k]
    # the record before the newest: completed later than this one was issued
    if count >= 2 and issued < end_of(buf, s, count - 2):
        n[PHASE] += 1
    if k > 0:
        _trim(buf, s, k - 1, issued)
    phase = (n[PHASE] + simd) % 4 + offset
    buf[3][s, k] = category
    buf[1][s, k] = STEP + max(t - issued - 4 * (phase // 4), 0)
    ring = buf[7].shape[1]
    if slots[s, STALLS] and buf[7][s, slots[s, STALL_AT]] < issued:
        previous = end_of(buf, s, k - 1) if k else 0
        start = issued
        while slots[s, STALLS] and buf[7][s, slots[s, STALL_AT]] < issued:
            start = max(buf[7][s, slots[s, STALL_AT]], previous)
            slots[s, STALL_AT] = (slots[s, STALL_AT] + 1) % ring
            slots[s, STALLS] -= 1
        buf[2][s, k] = max(issued - start, 0)
        buf[1][s, k] = max(issued + buf[1][s, k] - start, STEP)
        buf[0][s, k] = start
    if act == JUMP_PC:
        want_pc(slots, buf, s, slots[s, BASE] + k + 1)


# -- the stream -------------------------------------------------------------
@cached
def build(
    gfx9, types, times, payload, first, roles, shift, mask, ops, index, rule, changes, entries, recent,
    slots, buf, others, out, n,
):  # fmt: skip
    """Packets from row ``first`` on, until the rows of ``out`` could run out; the next row.

    ``types``, ``times``, ``payload``: columns of a piece of the stream. ``roles``: role of each packet
    number; ``shift``, ``mask``: of each packet number and field. ``ops``: category, cycles, act, gfx9's
    phase offset and whether the wave moves to the front, by operation code. ``index``: gfx1250's places
    by prediction code. ``changes``: rows (packet row, place of ``entries`` or 8 for dispatches, value),
    ascending. A row beyond the last means all are done.
    """
    most = buf[0].shape[1]
    size = len(out[0]) - 17 * most
    runs = len(out[5]) - 17 * buf[5].shape[1]
    rows = min(len(out[7]), len(out[8]), len(out[9]), len(out[10]) // 2, len(out[11])) - 24
    r = first
    while r < len(types):
        kind = types[r]
        role = roles[kind]
        if role == NOTHING:
            r += 1
            continue
        if n[RECORDS] > size or n[RUN_ROWS] > runs:
            break
        if max(n[STARTS], n[ENDS], n[PARTS], n[UNSTARTED], n[SEEN] // 2) > rows:
            break
        while n[CHANGE] < len(changes) and changes[n[CHANGE], 0] < r:
            change = changes[n[CHANGE]]
            if change[1] < 8:
                entries[change[1]] = change[2]
            else:
                n[DISPATCHES] = change[2]
            n[CHANGE] += 1
        t, w = times[r], payload[r]
        lo, m = shift[kind], mask[kind]
        simd = np.int64(w >> lo[SIMD] & m[SIMD])
        slot = np.int64(w >> lo[SLOT_NUMBER] & m[SLOT_NUMBER])
        if role in (START, FINISH):
            sa = np.int64(w >> lo[SH] & m[SH]) if gfx9 else np.int64(w >> lo[SA] & m[SA])
            unit = np.int64(w >> lo[CU] & m[CU]) if gfx9 else np.int64(w >> lo[WGP] & m[WGP])
            if gfx9 and sa:
                r += 1
                continue
            if role == FINISH:
                _finish(slots, buf, others, out, n, rule, gfx9, t, sa, simd, unit, slot)
                r += 1
                continue
            count = np.int64(w >> lo[COUNT_FIELD] & m[COUNT_FIELD])
            i = count - rule[CONTEXT_AT]
            context = count > rule[MAX_THREADS] if gfx9 else 0 <= i < rule[CONTEXTS]
            if not context:
                me, pipe = np.int64(w >> lo[ME] & m[ME]), np.int64(w >> lo[PIPE] & m[PIPE])
                _start(
                    slots, buf, others, out, n, rule, entries, gfx9, t, sa, simd, unit, slot, me, pipe, count
                )
                r += 1
                continue
            s = simd * 16 + slot if gfx9 else slot
            target = unit == rule[TARGET_CU] and sa == rule[TARGET_SA] and (rule[SIMD_MASK] >> simd & 1) != 0
            if target and slots[s, OPEN]:
                make_room(slots, buf, out, n, s)
                if (n[SAVING] != 0) if gfx9 else (i == 0 or i == 1 or i == 4 or i == 5):
                    add_record(slots, buf, s, CONTEXT, t, STEP if gfx9 else 1, 0)
                    n[SAVING] = 0
                else:
                    want_pc(slots, buf, s, slots[s, BASE] + slots[s, COUNT])
        elif role == ISSUE:
            states = np.int64(w >> lo[STATES] & m[STATES])
            slot = 0
            while states:
                s = simd * 16 + slot
                if states & 3 and slots[s, OPEN]:
                    make_room(slots, buf, out, n, s)
                    _issue(slots, buf, s, t, states & 3)
                states >>= 2
                slot += 1
        elif role == MISC:
            if np.int64(w >> lo[KIND] & m[KIND]) == rule[SAVE_CONTEXT]:
                n[SAVING] = 1
        elif role == NEW_PC:
            s = _wave(slots, buf, out, n, rule, gfx9, t, simd, slot)
            new_pc(slots, buf, s, w >> lo[ERR] & m[ERR], np.int64(w >> lo[PC] & m[PC]))
        elif role == INST:
            op = ops[np.int64(w >> lo[OP] & m[OP])]
            act = op[2]
            if gfx9:
                if act != IGNORE:
                    s = _wave(slots, buf, out, n, rule, gfx9, t, simd, slot)
                    _inst_gfx9(slots, buf, n, s, simd, t, op[0], act, op[3])
            elif act != OTHER_SIMD:
                if op[4]:
                    _to_front(recent, slot)
                if act != IGNORE:
                    s = _wave(slots, buf, out, n, rule, gfx9, t, simd, slot)
                    _inst_rdna(slots, buf, s, t, op[0], op[1], act)
        elif role in (VALU, VALU_PREDICTED):
            if role == VALU_PREDICTED:
                slot = recent[index[np.int64(w >> lo[WAVETM] & m[WAVETM])]]
                if slot < 0:
                    r += 1
                    continue
                _to_front(recent, slot)
            s = _wave(slots, buf, out, n, rule, gfx9, t, simd, slot)
            if not slots[s, TRAPPED]:
                _packet(slots, buf, s, t, 0)
                _record(slots, buf, s, t, VALU_CAT, 1)
        else:
            waves = np.int64(1) << slot if role == IMMEDIATE else np.int64(w >> lo[MASK] & m[MASK])
            slot = 0
            while waves:
                if waves & 1 and role == READY:
                    if slots[slot, OPEN]:
                        make_room(slots, buf, out, n, slot)
                        _packet(slots, buf, slot, t, rule[READY_OFFSET])
                        _set(slots, buf, slot, STALL, t)
                elif waves & 1:
                    s = _wave(slots, buf, out, n, rule, gfx9, t, simd, slot)
                    if not slots[s, TRAPPED]:
                        _packet(slots, buf, s, t, 0)
                        _immediate(slots, buf, s, t)
                waves >>= 1
                slot += 1
        r += 1
    return r


@cached
def close(gfx9, slots, buf, others, out, n, end_time):
    """End of the stream: the waves that still run, in no order; the caller has made room for their rows.

    Those with records end after their last record, others at ``end_time``.
    """
    for s in range(len(slots)):
        if slots[s, OPEN]:
            top = slots[s, TOP]
            for i in range(slots[s, COUNT]):
                top = max(top, end_of(buf, s, i))
            _close(slots, buf, out, n, s, top + 4, 0)
    for key in range(len(others)):
        if others[key, 0] >= 0:
            _end_row(out, n, others[key, 0], max(end_time, others[key, 1]), 0, 0, 0, 0, 0)
            others[key, 0] = -1
