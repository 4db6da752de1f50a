"""The compiled decoder: packet starts, times and fields in two passes over each block of a buffer.

All functions that call each other are in this one file, because numba's cache
on disk notices changes of a function's own file only. The kernels know no
generation: what differs is in the tables of :mod:`isaprof.parsers.sqtt.layout`.

First pass, the walk: the start of a packet follows from the length of the one
before, so its speed is bound by latency (load, look-up, add). A block is cut
into four lanes that are walked at the same time; lanes 1 to 3 begin at a guess.
Streams of this kind fall into step by themselves after some packets: the true
walk of lane k-1 is continued into lane k until it meets a start found there
with the same state, and from there on lane k is right. If they never meet, the
lane is walked again: the result does not depend on the guess.

Second pass, the columns: each packet on its own, but for the running time.
Positions are counted in nibbles from the begin of the block.
"""

# numba functions have no types that mypy could check
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, untyped-decorator, misc"
# mypy: disable-error-code="import-untyped, call-arg, var-annotated, unreachable"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

#: nibbles of one lane; four lanes make a block. 4 * 2^17 nibbles = 256 KiB
LANE = 1 << 17
#: packets one block can have (a packet is a nibble at least, the last may begin at the very end)
BLOCK_ROWS = 4 * LANE + 4
#: bytes that may be read beyond the last nibble that a packet begins at
SLACK = 16
#: scratch words: starts found by the four lanes, and corrected begins of lanes 1 to 3
SCRATCH = 7 * (LANE + 4)

#: marks a start at which extension bytes may follow (state "pending" of the walk)
_PENDING = np.uint64(1 << 31)
_POSITION = np.uint64((1 << 31) - 1)
#: a start is kept as one word: position and mark, and above them what ``head`` says of the packet
_START = np.uint64((1 << 32) - 1)
_HEAD = np.uint64(32)

#: places of ``state``: nibble reached, pending, time, gfx9 clock base, nibble of the
#: TIMESTAMP that the last time reset has used, 1 when times left the range, nibble of the last packet
POSITION, PENDING, TIME, BASE, ANCHORED, DAMAGED, LAST = range(7)
STATE = 7
#: times from here on are damage
MAX_TIME = np.int64(1 << 62)

#: places of ``rule``: packet number of TIMESTAMP, whether it moves the clock by its value, on which
#: condition (shift, mask, value), and its value (shift, mask)
STAMP, ADVANCES, WHEN_LOW, WHEN_MASK, WHEN, VALUE_LOW, VALUE_MASK = range(7)
RULES = 7

#: bits of ``head`` above the packet number: 8 names a wave, SIMD or operation, 9 its step depends on more,
#: 10 resets the clock (then bit 9 is set too). From bit 11 on: the time step in cycles
_RESET, _STEP = 1 << 10, 11
#: zero nibbles that are looked for at once, in a window of 60 bits
_RUN = 15
#: packets whose columns are filled in one go
_STRETCH = 1 << 9


def cached(function: Callable[..., Any]) -> Any:
    """Compile with the cache on disk; without one where no place for it can be written to."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


@intrinsic
def _load64(typingctx: Any, array: Any, index: Any) -> Any:
    """Eight bytes from byte ``index`` on, little-endian, at any alignment."""
    signature = types.uint64(array, index)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        view = context.make_array(sig.args[0])(context, builder, args[0])
        place = builder.gep(view.data, [args[1]])
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return signature, generate


@njit(inline="always")
def _window(data, position):
    """60 or 64 bits from nibble ``position`` on."""
    return _load64(data, position >> np.uint64(1)) >> ((position & np.uint64(1)) << np.uint64(2))


@njit(nogil=True)
def _walk(data, step, head, position, end, pending, stop_clear, out, n):
    """One lane alone from ``position`` to ``end`` (see chain.chain).

    ``stop_clear``: return as soon as no extension bytes can follow.
    """
    while position < end:
        w = _window(data, position)
        s = np.uint64(step[w & np.uint64(0xFF)])
        start = position | np.uint64(head[w & np.uint64(0xFFFF)]) << _HEAD
        if pending:
            if w & np.uint64(1):
                position += np.uint64(2)
                continue
            start |= _PENDING
        out[n] = start
        n += np.uint64(1)
        position += s & np.uint64(0x3F)
        if s & np.uint64(0x80):
            pending = True
        elif not s & np.uint64(0x40):
            pending = False
        if stop_clear and not pending:
            break
    return position, pending, n


@njit(nogil=True)
def _walk4(data, step, head, position, lane, size, pending, out, counts, ends):
    """The four lanes of one block; lane k writes its starts to ``out[k]``."""
    one, low, mask = np.uint64(1), np.uint64(0x3F), np.uint64(0xFF)
    e0, e1, e2, e3 = lane, lane * np.uint64(2), lane * np.uint64(3), size
    p0, p1, p2, p3 = position, e0, e1, e2
    n0 = n1 = n2 = n3 = np.uint64(0)
    q0, q1, q2, q3 = pending, False, False, False
    zero, run, two = np.uint64(0), np.uint64(_RUN), np.uint64(0xFFFF)
    idle = np.uint64(head[0]) << _HEAD
    zero_run = step[0] & np.uint8(0x3F) == 1
    o0, o1, o2, o3 = out[0], out[1], out[2], out[3]
    if q0:
        p0, q0, n0 = _walk(data, step, head, p0, e0, q0, True, o0, n0)
    while p0 < e0 and p1 < e1 and p2 < e2 and p3 < e3:
        w0 = _window(data, p0)
        w1 = _window(data, p1)
        w2 = _window(data, p2)
        w3 = _window(data, p3)
        if zero_run and (w0 == zero or w1 == zero or w2 == zero or w3 == zero):
            if w0 == zero and p0 + run <= e0:
                for k in range(_RUN):
                    o0[n0 + np.uint64(k)] = idle + p0 + np.uint64(k)
                n0 += run
                p0 += run
                continue
            if w1 == zero and p1 + run <= e1:
                for k in range(_RUN):
                    o1[n1 + np.uint64(k)] = idle + p1 + np.uint64(k)
                n1 += run
                p1 += run
                continue
            if w2 == zero and p2 + run <= e2:
                for k in range(_RUN):
                    o2[n2 + np.uint64(k)] = idle + p2 + np.uint64(k)
                n2 += run
                p2 += run
                continue
            if w3 == zero and p3 + run <= e3:
                for k in range(_RUN):
                    o3[n3 + np.uint64(k)] = idle + p3 + np.uint64(k)
                n3 += run
                p3 += run
                continue
        s0 = np.uint64(step[w0 & mask])
        s1 = np.uint64(step[w1 & mask])
        s2 = np.uint64(step[w2 & mask])
        s3 = np.uint64(step[w3 & mask])
        o0[n0] = p0 | np.uint64(head[w0 & two]) << _HEAD
        o1[n1] = p1 | np.uint64(head[w1 & two]) << _HEAD
        o2[n2] = p2 | np.uint64(head[w2 & two]) << _HEAD
        o3[n3] = p3 | np.uint64(head[w3 & two]) << _HEAD
        n0 += one
        n1 += one
        n2 += one
        n3 += one
        p0 += s0 & low
        p1 += s1 & low
        p2 += s2 & low
        p3 += s3 & low
        if (s0 | s1 | s2 | s3) & np.uint64(0x80):
            if s0 & np.uint64(0x80):
                p0, q0, n0 = _walk(data, step, head, p0, e0, True, True, o0, n0)
            if s1 & np.uint64(0x80):
                p1, q1, n1 = _walk(data, step, head, p1, e1, True, True, o1, n1)
            if s2 & np.uint64(0x80):
                p2, q2, n2 = _walk(data, step, head, p2, e2, True, True, o2, n2)
            if s3 & np.uint64(0x80):
                p3, q3, n3 = _walk(data, step, head, p3, e3, True, True, o3, n3)
    p0, q0, n0 = _walk(data, step, head, p0, e0, q0, False, o0, n0)
    p1, q1, n1 = _walk(data, step, head, p1, e1, q1, False, o1, n1)
    p2, q2, n2 = _walk(data, step, head, p2, e2, q2, False, o2, n2)
    p3, q3, n3 = _walk(data, step, head, p3, e3, q3, False, o3, n3)
    counts[0], counts[1], counts[2], counts[3] = n0, n1, n2, n3
    ends[0], ends[1], ends[2], ends[3] = p0, p1, p2, p3
    ends[4], ends[5], ends[6], ends[7] = q0, q1, q2, q3


@njit(nogil=True)
def _join(data, step, head, position, end, pending, found, count, out):
    """Continue the true walk into a lane until it meets a start ``found`` there.

    Returns (packets written to ``out``, first valid place of ``found``, position and pending state);
    where they never meet, the place is ``count`` and the lane has been walked to ``end``.
    """
    n = j = np.uint64(0)
    while position < end:
        here = position | (_PENDING if pending else np.uint64(0))
        while j < count and (found[j] & _POSITION) < position:
            j += np.uint64(1)
        if j < count and found[j] & _START == here:
            return n, j, position, pending, True
        w = _window(data, position)
        if pending and w & np.uint64(1):
            position += np.uint64(2)
            continue
        out[n] = here | np.uint64(head[w & np.uint64(0xFFFF)]) << _HEAD
        n += np.uint64(1)
        s = np.uint64(step[w & np.uint64(0xFF)])
        position += s & np.uint64(0x3F)
        if s & np.uint64(0x80):
            pending = True
        elif not s & np.uint64(0x40):
            pending = False
    return n, count, position, pending, False


@njit(nogil=True)
def _heads(starts, count, time, kind, listed, special):
    """Type of the packets that begin at ``starts[:count]``, and in ``time`` the step of each.

    Lists those that name a wave, SIMD or operation, and those whose step depends on more than their
    first bits (no branch here tests for either: it would be mispredicted). Returns how many each.
    """
    one = np.uint64(1)
    for i in range(count):
        kind[i] = np.int8(starts[i] >> _HEAD & np.uint64(0xFF))
    for i in range(count):
        time[i] = np.int64(starts[i] >> (_HEAD + np.uint64(_STEP)))
    m = q = np.uint64(0)
    for i in range(count):
        e = starts[i] >> _HEAD
        listed[m] = np.uint32(i)
        m += e >> np.uint64(8) & one
        special[q] = np.uint32(i)
        q += e >> np.uint64(9) & one
    return m, q


@njit(nogil=True)
def _stamps(data, starts, special, q, rule, time):
    """Steps of the TIMESTAMPs ``special[:q]`` that move the clock by their value."""
    for k in range(q):
        i = special[k]
        position = np.uint64(starts[i] & _POSITION)
        w = _window(data, position)
        odd = position & np.uint64(1)
        w |= np.uint64(data[(position >> np.uint64(1)) + np.uint64(8)]) * odd << np.uint64(60)
        moves = ((w >> rule[WHEN_LOW]) & rule[WHEN_MASK]) == rule[WHEN]
        time[i] = np.int64((w >> rule[VALUE_LOW]) & rule[VALUE_MASK]) * np.int64(moves)


@njit(nogil=True)
def _resets(begin, starts, count, special, q, tables, rule, whole, end, state, time, kind):
    """gfx9: steps become times, up to the last of ``special[:q]``; returns the place after it.

    A packet that resets the clock sets it to the TIMESTAMP that follows; where another reset or the end
    of the buffer (nibble ``end``) comes first, it is an ordinary packet. The TIMESTAMP that a reset used
    has no step of its own.
    """
    step, head, _, _ = tables
    low = np.uint64(0x3F)
    t, base, anchored = state[TIME], state[BASE], state[ANCHORED]
    r = np.uint64(0)
    for k in range(q):
        i = np.uint64(special[k])
        while r < i:
            t += time[r]
            time[r] = t
            r += np.uint64(1)
        place = begin + np.uint64(starts[i] & _POSITION)
        if np.uint64(np.uint8(kind[i])) == rule[STAMP]:
            t += np.int64(0) if np.int64(place) == anchored else time[i]
        else:
            t += time[i]
            place += np.uint64(step[whole[place >> np.uint64(1)]]) & low
            while place + np.uint64(4) <= end:
                byte = place >> np.uint64(1)
                bits = np.uint64(whole[byte]) | np.uint64(whole[byte + np.uint64(1)]) << np.uint64(8)
                e = head[bits]
                length = np.uint64(step[bits & np.uint64(0xFF)]) & low
                stamp = np.uint64(e & np.uint32(0xFF)) == rule[STAMP]
                if e & np.uint32(_RESET) or (stamp and place + length > end):
                    break
                if stamp:
                    word = _load64(whole, byte)
                    value = np.int64((word >> rule[VALUE_LOW]) & rule[VALUE_MASK])
                    anchored = np.int64(place)
                    if base == 0:
                        base = value - t + 4
                    if value > base:
                        t = (value - base) & np.int64(~3)
                    break
                place += length
        time[i] = t
        r = i + np.uint64(1)
    state[TIME], state[BASE], state[ANCHORED] = t, base, anchored
    return r


@njit(nogil=True)
def _times(
    data, begin, starts, count, tables, rule, whole, end, state, time, kind, listed, special
):  # fmt: skip
    """Time and type of the packets that begin at ``starts[:count]``.

    Lists those that name a wave, SIMD or operation. Returns (how many are listed, packets handled): fewer
    than asked for where a time leaves the range, the last one being the first beyond it.
    """
    m, q = _heads(starts, count, time, kind, listed, special)
    r = np.uint64(0)
    if rule[ADVANCES]:
        _stamps(data, starts, special, q, rule, time)
    elif q:
        r = _resets(begin, starts, count, special, q, tables, rule, whole, end, state, time, kind)
    t = state[TIME]
    one = np.uint64(1)
    while r + np.uint64(4) <= count:
        # four at a time: one addition of each four waits for the one before
        r1, r2, r3 = r + one, r + np.uint64(2), r + np.uint64(3)
        a = time[r]
        b = a + time[r1]
        c = time[r2]
        d = b + (c + time[r3])
        time[r] = t + a
        time[r1] = t + b
        time[r2] = t + (b + c)
        t += d
        time[r3] = t
        r += np.uint64(4)
    while r < count:
        t += time[r]
        time[r] = t
        r += np.uint64(1)
    state[TIME] = t
    if t >= MAX_TIME:
        # the first time out of range has not wrapped: a stretch of the longest steps is below the range
        r = np.uint64(0)
        while time[r] < MAX_TIME:
            r += np.uint64(1)
        state[DAMAGED] = 1
        state[LAST] = np.int64(begin + np.uint64(starts[r] & _POSITION))
        return m, r + np.uint64(1)
    return m, count


@njit(nogil=True)
def _fields(data, starts, count, listed, m, tables, wave, simd, op):
    """Wave, SIMD and operation of the packets that begin at ``starts[:count]``, ``listed[:m]`` having any."""
    _, _, field, _ = tables
    byte = np.uint64(0xFF)
    for i in range(count):
        wave[i] = np.uint8(0xFF)
    for i in range(count):
        simd[i] = np.uint8(0xFF)
    for i in range(count):
        op[i] = np.uint16(0xFFFF)
    for k in range(m):
        i = np.uint64(listed[k])
        if i >= count:
            break
        w = _window(data, np.uint64(starts[i] & _POSITION))
        f = field[w & byte]
        w |= np.uint64(0xFFFF000000000000)
        wave[i] = np.uint8((w >> (f & byte)) & (f >> np.uint64(24)))
        simd[i] = np.uint8((w >> (f >> np.uint64(8) & byte)) & (f >> np.uint64(32)))
        op[i] = np.uint16((w >> (f >> np.uint64(16) & byte)) & (f >> np.uint64(40)))


@njit(nogil=True)
def _payloads(data, begin, starts, count, tables, bit, payload):
    """First bit and bits of the packets that begin at ``starts[:count]``."""
    _, _, _, width = tables
    one, byte = np.uint64(1), np.uint64(0xFF)
    for i in range(count):
        position = np.uint64(starts[i] & _POSITION)
        w = _window(data, position)
        bit[i] = np.int64((begin + position) << np.uint64(2))
        n = np.uint64(width[w & byte])
        if position & one:
            w |= np.uint64(data[(position >> one) + np.uint64(8)]) << np.uint64(60)
        if n > np.uint64(64):
            w = (w >> np.uint64(8)) | ((_window(data, position + np.uint64(16)) & byte) << np.uint64(56))
        elif n < np.uint64(64):
            w &= (one << n) - one
        payload[i] = w


@njit(nogil=True)
def _fill(
    data, begin, starts, tables, rule, whole, end, state,
    listed, special, time, kind, wave, simd, op, bit, payload, row,
):  # fmt: skip
    """All columns of the packets that begin at ``starts``, from ``row`` on; the next free row.

    Either ``wave``, ``simd`` and ``op`` or ``bit`` and ``payload`` are None: numba compiles one
    function without the branches for each case. Stretch by stretch, so that the second look at the
    same packets finds them in the first-level cache.
    """
    first, last = np.uint64(0), np.uint64(len(starts))
    while first < last:
        count = min(np.uint64(_STRETCH), last - first)
        here = starts[first:]
        m, n = _times(
            data, begin, here, count, tables, rule, whole, end, state, time[row:], kind[row:], listed, special
        )
        if wave is not None:
            _fields(data, here, n, listed, m, tables, wave[row:], simd[row:], op[row:])
        if payload is not None:
            _payloads(data, begin, here, n, tables, bit[row:], payload[row:])
        row += n
        first += n
        if state[DAMAGED]:
            break
    return row


@cached
def decode(
    data, offset, stop, tables, rule, whole, end, state, scratch,
    time, kind, wave, simd, op, bit, payload,
):  # fmt: skip
    """Packets from ``state`` on into the columns, until they are full or ``stop`` is reached.

    ``data``: bytes from byte ``offset`` of the buffer on, readable ``SLACK`` beyond nibble ``stop``.
    ``whole``: the buffer, for the look-ahead at time resets; it ends at nibble ``end``.
    Returns (rows written, whether ``stop`` or damage was reached).
    """
    step, head = tables[0], tables[1]
    room = np.uint64(len(time))
    row = np.uint64(0)
    found = scratch[: 4 * (LANE + 4)].reshape(4, LANE + 4)
    fixed = scratch[4 * (LANE + 4) :].reshape(3, LANE + 4)
    counts = np.zeros(4, np.uint64)
    ends = np.zeros(8, np.uint64)
    first = np.zeros(4, np.uint64)
    fixes = np.zeros(4, np.uint64)
    listed = np.empty(_STRETCH, np.uint32)
    special = np.empty(_STRETCH, np.uint32)
    while state[POSITION] < stop:
        begin = np.uint64(state[POSITION]) & np.uint64(0xFFFFFFFFFFFFFFFE)
        size = min(np.uint64(4 * LANE), np.uint64(stop) - begin)
        block = data[(begin >> np.uint64(1)) - np.uint64(offset) :]
        position = np.uint64(state[POSITION]) - begin
        lane = size >> np.uint64(2)
        # lanes must begin where a packet can: 16-bit words on gfx9
        lane &= np.uint64(0xFFFFFFFFFFFFFFFC)
        _walk4(block, step, head, position, lane, size, state[PENDING] != 0, found, counts, ends)
        position, pending = ends[0], ends[4] != 0
        total = counts[0]
        for k in range(1, 4):
            edge = size if k == 3 else lane * np.uint64(k + 1)
            n, j, position, pending, met = _join(
                block, step, head, position, edge, pending, found[k], counts[k], fixed[k - 1]
            )
            fixes[k], first[k] = n, j
            total += n + counts[k] - j
            if met:
                position, pending = ends[k], ends[4 + k] != 0
        if row + total > room:
            return row, False
        if total:
            k = np.uint64(3)
            while k > 0 and not fixes[k] and first[k] == counts[k]:
                k -= np.uint64(1)
            tail = found[k][counts[k] - np.uint64(1)] if first[k] < counts[k] else np.uint64(0)
            if k > 0 and first[k] == counts[k]:
                tail = fixed[k - np.uint64(1)][fixes[k] - np.uint64(1)]
            state[LAST] = np.int64(begin + np.uint64(tail & _POSITION))
        for k in range(4):
            if k and fixes[k]:
                row = _fill(block, begin, fixed[k - 1][: fixes[k]], tables, rule, whole, end, state,
                            listed, special, time, kind, wave, simd, op, bit, payload, row)  # fmt: skip
                if state[DAMAGED]:
                    return row, True
            row = _fill(block, begin, found[k][first[k] : counts[k]], tables, rule, whole, end, state,
                        listed, special, time, kind, wave, simd, op, bit, payload, row)  # fmt: skip
            if state[DAMAGED]:
                return row, True
        state[POSITION] = np.int64(begin + position)
        state[PENDING] = np.int64(pending)
    return row, True


def cache_path() -> str | None:
    """Folder of the compiled functions; None where they are not kept."""
    return getattr(decode.stats, "cache_path", None)
