"""The compiled stitcher: records of many waves, or of a part of a long one, to lines of the code table.

The same walk as :mod:`~isaprof.parsers.sqtt.stitch`, which is the readable
reference and explains the rules; the names of the steps are the same.
"""

# numba functions have no types that mypy could check
# mypy: disable-error-code="call-overload"
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, import-untyped, misc"
from __future__ import annotations

from numba import njit

from isaprof.parsers.sqtt.kernel import cached

#: bits of a line
TRACED, BARRIER_PAIR, SCALED, TWO_CYCLE, OPTIONAL_WAIT, WAIT, STOP, ENDPGM = (1 << i for i in range(8))
#: bits of the rules
EXCLUDE, SWAP, EARLY, ENDPGM_TRACED = (1 << i for i in range(4))
#: line of a record without an address of its own; of one whose address is unknown or in no code
NO_PC, LOST_PC = -1, -2
#: places of ``state``: record reached, line, immediates seen early, misses in a row, last deleted record,
#: whether the walk has stopped, records without a line, end of the record and of the row before, whether
#: there is a row before
AT, LINE, EARLY_SEEN, MISSES, DELETED, STOPPED, MISSING, PREVIOUS, ROW_END, ROWS = range(10)
STATE = 10
_SMEM, _SALU, _VMEM, _FLAT, _VALU, _JUMP, _NEXT, _IMMED, _CONTEXT, _MESSAGE = 1, 2, 3, 4, 6, 7, 8, 9, 10, 11
_UNFINISHED = -1
#: the state of a timeline that stretches are set to
_WAITING = 3
_MAX_MISSES, _SLOT = 1000, 4
#: how far the look-ahead of an optional wait compares
LOOK = 64


@njit(nogil=True, _nrt=False)
def _fits(c, cat):
    return (
        c == cat
        or (cat == _JUMP and c == _NEXT)
        or (c == _MESSAGE and cat == _IMMED)
        or (c == _FLAT and cat == _VMEM)
    )


@njit(nogil=True, _nrt=False)
def _fits_from(category, i, hi, at, code):
    """Records from ``i`` on that fit the code from line ``at`` on (at most ``LOOK``)."""
    cats, following, targets, bits = code
    n = 0
    while i + n < hi and at >= 0 and n < LOOK:
        c = category[i + n]
        if not bits[at] & TRACED or (bits[at] & OPTIONAL_WAIT and c != _IMMED):
            at = following[at]
            continue
        if not _fits(c, cats[at]):
            break
        at = targets[at] if c == _JUMP else following[at]
        n += 1
    return n


@njit(nogil=True, _nrt=False)
def _join_barrier(time, duration, stall, category, pc, deleted, i, hi, begin, state, waits, n):
    if i + 1 >= hi or category[i + 1] != _IMMED or pc[i + 1] != NO_PC:
        return
    start, end, entry = time[i], time[i + 1] + duration[i + 1], time[i] + duration[i]
    state[DELETED] = i + 1
    deleted[i + 1] = 1
    category[i] = _IMMED
    duration[i] = stall[i] = end - start
    waits[n[1], 0], waits[n[1], 1] = start - begin, entry - start
    n[1] += 1


@njit(nogil=True, _nrt=False)
def _scale(time, duration, i, lo, hi, state):
    before = time[i - 1] + duration[i - 1] if i > lo else state[PREVIOUS]
    duration[i] += _SLOT
    if time[i] - before >= _SLOT:
        time[i] -= _SLOT
        if i + 1 >= hi or time[i] + duration[i] + _SLOT <= time[i + 1]:
            duration[i] += _SLOT
    elif i + 1 < hi and time[i] + duration[i] > time[i + 1]:
        duration[i] -= _SLOT


@njit(nogil=True, _nrt=False)
def _insert_wait(time, duration, stall, i, lo, line, inserts, n, state):
    k = n[0]
    if k and inserts[k - 1, 0] == i:
        start = inserts[k - 1, 1] + inserts[k - 1, 2]
    else:
        start = time[i - 1] + duration[i - 1] if i > lo else state[PREVIOUS]
    cycles = time[i] - start
    if cycles <= 0:
        time[i] += 1
        duration[i] = max(duration[i] - 1, 0)
        stall[i] = min(stall[i], duration[i])
        cycles = max(time[i] - start, 0)
    inserts[k, 0], inserts[k, 1], inserts[k, 2], inserts[k, 3] = i, start, cycles, line
    n[0] += 1


@njit(nogil=True, _nrt=False)
def _walk(
    time, duration, stall, category, pc, lines, deleted, lo, hi, stop, begin, code, rules, state,
    inserts, waits, n,
):  # fmt: skip
    """Records from ``state[AT]`` to ``stop`` (of those up to ``hi`` that may be looked at).

    Returns False where ``inserts`` is full; otherwise ``state`` says how far it came, and ``STOPPED`` where
    it cannot go on.
    """
    cats, following, targets, bits = code
    while state[AT] < stop and not state[STOPPED]:
        if n[0] >= len(inserts) or n[1] >= len(waits):
            return False
        i = state[AT]
        c = category[i]
        if c == _CONTEXT and pc[i] == NO_PC:
            state[AT] += 1
            continue
        line = state[LINE]
        if c == _UNFINISHED or (pc[i] == NO_PC and line < 0):
            state[STOPPED] = 1
            break
        known = pc[i] != NO_PC
        if known:
            line = pc[i]
            while line >= 0 and not bits[line] & TRACED:
                line = following[line]
            state[LINE] = line
            if line < 0:
                state[STOPPED] = 1
                break
        what, cat = bits[line], cats[line]
        taken, to = known, following[line]
        if known:
            if what & BARRIER_PAIR and c == _MESSAGE:
                _join_barrier(time, duration, stall, category, pc, deleted, i, hi, begin, state, waits, n)
            if cat == _JUMP and c == _JUMP:
                to = targets[line]
        elif not what & TRACED:
            state[LINE] = to
            continue
        elif (
            what & OPTIONAL_WAIT
            and rules & EXCLUDE
            and (
                c != _IMMED
                or _fits_from(category, i, hi, to, code) > _fits_from(category, i + 1, hi, to, code)
            )
        ):
            _insert_wait(time, duration, stall, i, lo, line, inserts, n, state)
            state[LINE] = to
            continue
        else:
            fit = _fits(c, cat)
            if what & BARRIER_PAIR:
                if c == _MESSAGE:
                    _join_barrier(time, duration, stall, category, pc, deleted, i, hi, begin, state, waits, n)
                taken = c in (_MESSAGE, _IMMED)
            elif fit:
                if c == _VALU and what & TWO_CYCLE:
                    duration[i] = max(duration[i], stall[i] + 2)
                if c == _VALU and what & SCALED:
                    _scale(time, duration, i, lo, hi, state)
                taken = True
                if cat == _JUMP and c == _JUMP:
                    to = targets[line]
            elif cat == _JUMP:
                state[STOPPED] = 1
                break
            if not taken:
                if (
                    rules & SWAP and i + 1 < hi and to >= 0
                    and category[i + 1] == cat and c == cats[to]
                ):  # fmt: skip
                    time[i], time[i + 1] = time[i + 1], time[i]
                    duration[i], duration[i + 1] = duration[i + 1], duration[i]
                    stall[i], stall[i + 1] = stall[i + 1], stall[i]
                    category[i], category[i + 1] = category[i + 1], category[i]
                    to = line
                elif rules & EARLY and c == _IMMED and cat != _SALU:
                    state[EARLY_SEEN] += 1
                    taken = True
                elif what & WAIT and state[EARLY_SEEN]:
                    state[EARLY_SEEN] -= 1
                    taken = True
                elif what & STOP:
                    state[STOPPED] = 1
                    break
            state[MISSES] = 0 if taken else state[MISSES] + 1
        if taken:
            lines[i] = line
            state[AT] = i + 2 if state[DELETED] == i + 1 else i + 1
        state[LINE] = to
        if state[MISSES] > _MAX_MISSES:
            state[STOPPED] = 1
    return True


@njit(nogil=True, _nrt=False)
def _compose(time, duration, stall, category, lines, lo, hi, inserts, n, deleted, out, row, state):
    """Rows of the records ``lo`` to ``hi`` with those inserted and without those deleted; the next row."""
    k = 0
    for i in range(lo, hi):
        while k < n[0] and inserts[k, 0] == i:
            out[0][row], out[1][row], out[2][row] = inserts[k, 1], inserts[k, 2], 0
            out[3][row], out[4][row] = _IMMED, inserts[k, 3]
            row += 1
            k += 1
        if deleted[i]:
            continue
        out[0][row], out[1][row], out[2][row] = time[i], duration[i], stall[i]
        out[3][row] = max(category[i], 0)
        out[4][row] = lines[i]
        state[MISSING] += lines[i] < 0 and category[i] != _CONTEXT
        row += 1
    return row


@njit(nogil=True, _nrt=False)
def _finish(code, rules, before, row, state, begin, out, tail):
    """gfx9 s_endpgm: it begins where the record before it ends."""
    last = row - 1
    has_previous = last > before or state[ROWS] > 0
    at = out[4][last]
    if not (rules & ENDPGM_TRACED and has_previous and at >= 0 and code[3][at] & ENDPGM):
        return
    end = out[0][last] + _SLOT
    previous = out[0][last - 1] + out[1][last - 1] if last > before else state[ROW_END]
    out[0][last] = min(previous, out[0][last])
    out[1][last], out[2][last] = end - out[0][last], 0
    tail[0], tail[1], tail[2], tail[3] = out[0][last] - begin, out[1][last], end - begin, 1


@cached
def match(
    first, count, begin, records, code, rules, fresh, final, state, inserts, waits, tails, lines,
    deleted, out, result, start,
):  # fmt: skip
    """Waves ``start`` and later, each from ``first`` on with ``count`` records beginning at ``begin``.

    ``records``: time, duration, stall, category and line of the known address of each, which are changed.
    Unless ``fresh`` and ``final``, there is one wave, and these are the next or not the last of its records:
    ``state`` continues the walk. ``waits``: rows (begin, cycles) of the timeline that become WAIT; ``tails``:
    for each wave a last such stretch, the timeline's length after it, and whether there is one. ``result``:
    for each wave its rows in ``out``, whether it fits the code, its rows in ``waits``, and the records done.
    Returns the next wave, where the arrays could not hold another.
    """
    time, duration, stall, category, pc = records
    row = w_row = 0
    n = result[len(count)]
    for w in range(start, len(count)):
        lo, hi = first[w], first[w] + count[w]
        if row + count[w] + len(inserts) > len(out[0]) or w_row + count[w] >= len(waits):
            return w
        if fresh:
            state[:] = 0
            state[LINE], state[PREVIOUS] = -1, begin[w]
        state[AT], state[DELETED] = lo, -1
        n[0] = n[1] = 0
        lines[lo:hi] = -1
        deleted[lo:hi] = 0
        stop = hi if final else max(hi - LOOK - 2, lo)
        if not _walk(time, duration, stall, category, pc, lines, deleted, lo, hi, stop, begin[w], code, rules,
                     state, inserts, waits[w_row:], n):  # fmt: skip
            return w
        to = hi if state[STOPPED] else state[AT]
        before = row
        row = _compose(time, duration, stall, category, lines, lo, to, inserts, n, deleted, out, row, state)
        tails[w, 3] = 0
        if final and not state[STOPPED] and row > before:
            _finish(code, rules, before, row, state, begin[w], out, tails[w])
        if to > lo:
            state[PREVIOUS] = time[to - 1] + duration[to - 1]
        if row > before:
            state[ROW_END] = out[0][row - 1] + out[1][row - 1]
            state[ROWS] = 1
        result[w, 0], result[w, 1] = row - before, not state[STOPPED] and state[MISSING] == 0
        result[w, 2], result[w, 3] = n[1], to - lo
        w_row += n[1]
    return len(count)


# -- timelines --------------------------------------------------------------
@njit(nogil=True, _nrt=False)
def _add(states, cycles, n, state, length):
    if length <= 0:
        return n
    if n and states[n - 1] == state:
        cycles[n - 1] += length
        return n
    states[n], cycles[n] = state, length
    return n + 1


@njit(nogil=True, _nrt=False)
def _overwrite(states, cycles, n, begin, length, to_states, to_cycles):
    m = at = 0
    for i in range(n):
        s, k = states[i], cycles[i]
        before = min(max(begin - at, 0), k)
        after = min(max(at + k - (begin + length), 0), k)
        m = _add(to_states, to_cycles, m, s, before)
        m = _add(to_states, to_cycles, m, _WAITING, k - before - after)
        m = _add(to_states, to_cycles, m, s, after)
        at += k
    return m


@njit(nogil=True, _nrt=False)
def _overwrite_all(states, cycles, n, waits, to_states, to_cycles):
    """The same for many stretches that ascend, in one pass."""
    m = at = k = 0
    for i in range(n):
        s, here, end = states[i], at, at + cycles[i]
        while k < len(waits) and waits[k, 0] < end:
            begin, stop = waits[k, 0], waits[k, 0] + waits[k, 1]
            m = _add(to_states, to_cycles, m, s, min(begin, end) - here)
            here = max(here, begin)
            m = _add(to_states, to_cycles, m, _WAITING, min(stop, end) - here)
            here = max(here, min(stop, end))
            if stop > end:
                break
            k += 1
        m = _add(to_states, to_cycles, m, s, end - here)
        at = end
    return m


@cached
def timelines(first, count, states, cycles, waits, wait_count, tails, scratch, out, result, start):
    """Timelines of waves with the stretches that :func:`match` found; the next wave, where ``out`` is full.

    ``scratch``: two pairs of arrays (states, cycles), each with room for the longest timeline and two more
    runs for each stretch.
    """
    row = w_row = 0
    for w in range(start):
        w_row += wait_count[w]
    for w in range(start, len(count)):
        n = count[w]
        here = waits[w_row : w_row + wait_count[w]]
        if row + n + 2 * len(here) + 4 > len(out[0]):
            return w
        one_states, one_cycles, two_states, two_cycles = scratch
        for i in range(n):
            one_states[i], one_cycles[i] = states[first[w] + i], cycles[first[w] + i]
        plain = True
        for k in range(len(here)):
            plain = plain and here[k, 0] >= 0 and here[k, 1] >= 0
            plain = plain and (k == 0 or here[k - 1, 0] + here[k - 1, 1] <= here[k, 0])
        if plain and len(here):
            n = _overwrite_all(one_states, one_cycles, n, here, two_states, two_cycles)
            one_states, one_cycles, two_states, two_cycles = two_states, two_cycles, one_states, one_cycles
        elif not plain:
            for k in range(len(here)):
                n = _overwrite(one_states, one_cycles, n, here[k, 0], here[k, 1], two_states, two_cycles)
                one_states, one_cycles, two_states, two_cycles = (
                    two_states,
                    two_cycles,
                    one_states,
                    one_cycles,
                )
        if tails[w, 3]:
            n = _overwrite(one_states, one_cycles, n, tails[w, 0], tails[w, 1], two_states, two_cycles)
            one_states, one_cycles, two_states, two_cycles = two_states, two_cycles, one_states, one_cycles
            n = _add(one_states, one_cycles, n, _WAITING, tails[w, 2] - one_cycles[:n].sum())
        for i in range(n):
            out[0][row + i], out[1][row + i] = one_states[i], one_cycles[i]
        row += n
        w_row += len(here)
        result[w] = n
    return len(count)
