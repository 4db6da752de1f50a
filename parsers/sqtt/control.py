"""Register writes in the trace: kernel entries, dispatches, loaded code objects, realtime.

Register numbers: compute registers are offsets from the compute-register base;
0xC342/0xC343 are SQ_THREAD_TRACE_USERDATA_2/3. The user-data protocol is that
of ROCm's aqlprofile and rocprofiler-sdk; the word "\0ROC" that announces it is
missing in real traces of 2025, so the protocol is followed without it.
"""

from __future__ import annotations

from isaprof.parsers.sqtt.records import EngineTrace, Event, LoadedObject

DISPATCH_INITIATOR = 0
NUM_THREAD = {7: 0, 8: 1, 9: 2}
PGM_LO, PGM_HI = 0x0C, 0x0D
CS_FLUSH = 0x7F

USERDATA_2, USERDATA_3 = 0xC342, 0xC343
#: the registers whose writes mean something here
COMPUTE = (DISPATCH_INITIATOR, *NUM_THREAD, PGM_LO, PGM_HI, CS_FLUSH)
CONFIG = (USERDATA_2, USERDATA_3)
_MAGIC = 0x434F5200  # "\0ROC"
_VERSION_WORD = 524801
_OP_CODEOBJ, _OP_REALTIME, _OP_AGENT, _OP_REALTIME_LOW = 4, 5, 6, 7
_TAIL, _SIZE_LO, _ADDR_LO, _ADDR_HI, _SIZE_HI, _ID_LO, _ID_HI = range(7)
_ADDRESS_MASK = (1 << 48) - 1


class Control:
    """Follows the register writes of one engine and fills its trace."""

    def __init__(self, out: EngineTrace) -> None:
        self.out = out
        self._pgm: dict[tuple[int, int], list[int | None]] = {}
        self._written: tuple[int, int] | None = None
        self._threads = [0, 0, 0]
        self._payload: int | None = None  # type of the CODEOBJ word that comes next
        self._parts: dict[int, int] = {}
        self._clock: list[int] = []
        self._clock_left = 0
        self._clock_full = False
        self._clock_high = 0
        self._clock_last = 0

    def entry(self, me: int, pipe: int) -> int | None:
        """Absolute address of the kernel that this queue runs now, if it was written."""
        lo, hi = self._pgm.get((me & 1, pipe), (None, None))
        if lo is None:
            return None
        return (((hi or 0) << 32 | lo) << 8) & _ADDRESS_MASK

    def new_entry(self) -> tuple[int, int, int | None] | None:
        """Queue (me, pipe) whose kernel entry was written since the last call, and the entry."""
        written, self._written = self._written, None
        return None if written is None else (*written, self.entry(*written))

    def compute(self, time: int, me: int, pipe: int, register: int, value: int) -> None:
        """A write of a compute register."""
        if register == DISPATCH_INITIATOR:
            if value & 1:
                self.dispatch(time, value)
        elif register in NUM_THREAD:
            self._threads[NUM_THREAD[register]] = value & 0xFFFF
            if all(self._threads):
                self.out.workgroup = (self._threads[0], self._threads[1], self._threads[2])
        elif register in (PGM_LO, PGM_HI):
            self._pgm.setdefault((me & 1, pipe), [None, None])[register - PGM_LO] = value
            self._written = me & 1, pipe
        elif register == CS_FLUSH and value == 7:
            self.out.events.append(Event(time, "cs_partial_flush"))

    def dispatch(self, time: int, value: int) -> None:
        self.out.dispatches += 1
        self.out.events.append(Event(time, "dispatch", value))

    def config(self, time: int, register: int, value: int) -> None:
        """A write of a configuration register: user data."""
        if register in (USERDATA_2, USERDATA_3):
            self.out.events.append(Event(time, "userdata", value))
        if register == USERDATA_2:
            self._userdata(time, value)
        elif register == USERDATA_3:
            self._realtime(time, value)

    def _userdata(self, time: int, value: int) -> None:
        if self._payload is not None:
            self._codeobj(time, self._payload, value)
            self._payload = None
            return
        if value in (_MAGIC, _VERSION_WORD):
            return
        opcode, kind, data = value & 0xFF, value >> 8 & 0xF, value >> 12
        if opcode == _OP_CODEOBJ and data == 0 and kind <= _ID_HI:
            self._payload = kind
        elif opcode == _OP_AGENT and kind == 0:
            self.out.realtime_hz = data * 1000

    def _codeobj(self, time: int, kind: int, value: int) -> None:
        if kind != _TAIL:
            self._parts[kind] = value
            return
        p, self._parts = self._parts, {}
        legacy = value >> 2
        ident = legacy or p.get(_ID_HI, 0) << 32 | p.get(_ID_LO, 0)
        address = p.get(_ADDR_HI, 0) << 32 | p.get(_ADDR_LO, 0)
        size = p.get(_SIZE_HI, 0) << 32 | p.get(_SIZE_LO, 0)
        unload = bool(value & 1)
        if not unload:
            self.out.objects.append(LoadedObject(ident, address, size, bool(value & 2)))
        self.out.events.append(Event(time, "code_object_unload" if unload else "code_object_load", ident))

    def _realtime(self, time: int, value: int) -> None:
        if self._clock_left == 0:
            opcode, data = value & 0xFF, value >> 12
            if opcode in (_OP_REALTIME, _OP_REALTIME_LOW):
                self._clock_full = opcode == _OP_REALTIME
                self._clock_left = data or (3 if self._clock_full else 1)
                self._clock = []
            return
        self._clock.append(value)
        self._clock_left -= 1
        if self._clock_left:
            return
        low = self._clock[0]
        if self._clock_full and len(self._clock) >= 3:
            high, sync = self._clock[1], self._clock[2]
            if sync < low:
                high += 1
        else:
            sync = low
            high = self._clock_high + (low < self._clock_last)
        self._clock_high, self._clock_last = high, sync
        self.out.events.append(Event(time, "realtime", high << 32 | sync))
