"""Runs AMD's trace decoder on buffers, in a process of its own.

``python -m isaprof.backends.amd_child DIRECTORY``: ``job.json`` there names
the library, the buffers and the code; for every engine an ``.npz`` of plain
arrays comes back, and ``result.json`` last. The library is C++ and the buffers
come from anyone: a crash, a hang or a runaway allocation ends this process
only.

The interface is that of ``rocprof_trace_decoder.h`` (ROCm/rocm-systems,
projects/rocprof-trace-decoder): the handle API where the library has it, else
``rocprof_trace_decoder_parse_data``. Where only AMD's Python package is
installed, its ``Decoder`` is used.
"""

from __future__ import annotations

import ctypes
import json
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: bytes of address space that decoding may take
_MEMORY = 16 << 30
_OK, _ERROR, _TOO_SMALL, _BAD_ARGUMENT = 0, 1, 2, 3

PC = [("address", "<u8"), ("object", "<u8")]
INST = np.dtype([("category_stall", "<u4"), ("duration", "<i4"), ("time", "<i8"), *PC])
STATE = np.dtype([("state", "<i4"), ("duration", "<i4")])
WAVE = np.dtype(
    [
        ("cu", "u1"), ("simd", "u1"), ("slot", "u1"), ("contexts", "u1"), ("more", "<u4"), ("size", "<u8"),
        ("begin", "<i8"), ("end", "<i8"), ("states", "<u8"), ("insts", "<u8"), ("state_at", "<u8"),
        ("inst_at", "<u8"),
    ]
)  # fmt: skip
OCCUPANCY = np.dtype(
    [*PC, ("time", "<u8"), ("reserved", "u1"), ("cu", "u1"), ("simd", "u1"), ("slot", "u1"), ("bits", "<u4")]
)
COUNTER = np.dtype(
    [("time", "<i8"), *((f"c{i}", "<u2") for i in range(4)), ("cu", "u1"), ("bank", "u1"), ("pad", "V6")]
)
REALTIME = np.dtype([("clock", "<i8"), ("realtime", "<u8"), ("reserved", "<u8")])
SHADERDATA = np.dtype([("time", "<i8"), ("value", "<u8"), ("more", "<u8")])
OTHER = np.dtype(
    [("size", "<u8"), ("time", "<i8"), ("cycles", "<u2"), ("unit", "u1"), ("category", "u1"), ("pad", "V4")]
)
INFO = np.dtype("<i4")
#: record type of the trace callback -> name of the array and layout of one record
RECORDS = {1: ("occupancy", OCCUPANCY), 2: ("counters", COUNTER), 4: ("info", INFO),
           6: ("shaderdata", SHADERDATA), 7: ("realtime", REALTIME), 9: ("other_simd", OTHER)}  # fmt: skip
_GFXIP, _WAVES, _FREQUENCY = 0, 3, 8
#: columns of the ``waves`` array: then the number of instructions and of states
WAVE_COLUMNS = ("cu", "simd", "slot", "begin", "end", "insts", "states")


class Pc(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("object", ctypes.c_uint64))


class Handle(ctypes.Structure):
    _fields_ = (("handle", ctypes.c_uint64),)


class Version(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint64), ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("patch", ctypes.c_uint32))  # fmt: skip


_U64 = ctypes.POINTER(ctypes.c_uint64)
TRACE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
ISA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _U64, _U64, Pc, ctypes.c_void_p)
DATA = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p), _U64, ctypes.c_void_p)


class Code:
    """Instruction texts by address."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.at: dict[tuple[int, int], tuple[bytes, int]] = {}
        for o in objects:
            for vaddr, size, text in o["instructions"]:
                self.at[o["id"], vaddr] = text.encode(), size
                if o["base"] is not None:  # an address without an object is an absolute one
                    self.at[0, vaddr + o["base"]] = text.encode(), size

    def isa_for_pc(self, pc: Any) -> tuple[str, int] | None:
        """The interface of AMD's Python package."""
        found = self.at.get((pc.code_object_id, pc.address))
        return None if found is None else (found[0].decode(), found[1])


class Collected:
    """What the decoder says about one engine, as lists of arrays."""

    def __init__(self) -> None:
        self.parts: dict[str, list[NDArray[Any]]] = {}
        self.waves: list[tuple[int, ...]] = []
        self.gfxip: int | None = None
        self.frequency: int | None = None

    def add(self, kind: int, at: int | None, count: int) -> None:
        """One call of the trace callback."""
        if kind == _GFXIP:
            self.gfxip = at or 0
        elif not at or not count:
            return
        elif kind == _FREQUENCY:
            self.frequency = int(_copy(at, np.dtype("<u8"), 1)[0])
        elif kind == _WAVES:
            self._waves(at, count)
        elif kind in RECORDS:
            name, layout = RECORDS[kind]
            self.parts.setdefault(name, []).append(_copy(at, layout, count))

    def _waves(self, at: int, count: int) -> None:
        # later releases may append fields; a wave says its own size
        stride = int(_copy(at, WAVE, 1)["size"][0])
        stride = stride if WAVE.itemsize <= stride <= 4096 else WAVE.itemsize
        for n in range(count):
            w = _copy(at + n * stride, WAVE, 1)[0]
            insts = _copy(int(w["inst_at"]), INST, int(w["insts"]))
            states = _copy(int(w["state_at"]), STATE, int(w["states"]))
            self.waves.append(
                (*(int(w[c]) for c in ("cu", "simd", "slot", "begin", "end")), len(insts), len(states))
            )
            self.parts.setdefault("insts", []).append(insts)
            self.parts.setdefault("states", []).append(states)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays without structure: what the parent process checks and reads."""
        joined = {k: np.concatenate(v) for k, v in self.parts.items()}
        out: dict[str, NDArray[Any]] = {
            "waves": np.array(self.waves, np.int64).reshape(-1, len(WAVE_COLUMNS))
        }
        if (r := joined.get("insts")) is not None:
            out["insts"] = _columns(
                r["time"], r["category_stall"] & 0xFF, r["category_stall"] >> 8, r["duration"], r["address"],
                r["object"],
            )  # fmt: skip
        if (r := joined.get("states")) is not None:
            out["states"] = _columns(r["state"], r["duration"])
        if (r := joined.get("occupancy")) is not None:
            out["occupancy"] = _columns(
                r["time"], r["cu"], r["simd"], r["slot"], r["bits"] & 1, r["address"], r["object"]
            )
        if (r := joined.get("counters")) is not None:
            out["counters"] = _columns(r["time"], *(r[f"c{i}"] for i in range(4)), r["cu"], r["bank"])
        if (r := joined.get("realtime")) is not None:
            out["realtime"] = _columns(r["clock"], r["realtime"])
        if (r := joined.get("shaderdata")) is not None:
            out["shaderdata"] = _columns(r["time"], r["value"])
        if (r := joined.get("other_simd")) is not None:
            out["other_simd"] = _columns(r["time"], r["cycles"], r["category"])
        if (r := joined.get("info")) is not None:
            out["info"] = r.astype(np.int64)
        return out


def _columns(*columns: NDArray[Any]) -> NDArray[np.int64]:
    return np.stack([c.astype(np.int64) for c in columns], axis=1)


def _copy(at: int, layout: np.dtype[Any], count: int) -> NDArray[Any]:
    """Records at an address, copied: they are the library's only during the call."""
    if not at or not count:
        return np.zeros(0, layout)
    return np.frombuffer(ctypes.string_at(at, layout.itemsize * count), layout)


class Library:
    """AMD's C library."""

    def __init__(self, name: str, code: Code) -> None:
        self.lib = ctypes.CDLL(name)
        self.code = code
        self.handle: Handle | None = None
        self.isa = ISA(self._isa)
        if hasattr(self.lib, "rocprof_trace_decoder_create_handle"):
            self.handle = Handle()
            self.lib.rocprof_trace_decoder_create_handle.argtypes = [ctypes.POINTER(Handle)]
            self.lib.rocprof_trace_decoder_set_isa_callback.argtypes = [Handle, ISA, ctypes.c_void_p]
            self.lib.rocprof_trace_decoder_parse.argtypes = [
                Handle, ctypes.c_void_p, ctypes.c_uint64, TRACE, ctypes.c_void_p,
            ]  # fmt: skip
            status = self.lib.rocprof_trace_decoder_create_handle(ctypes.byref(self.handle))
            status = status or self.lib.rocprof_trace_decoder_set_isa_callback(self.handle, self.isa, None)
            if status:
                raise OSError(f"the decoder could not be started: status {status}")
        else:
            self.lib.rocprof_trace_decoder_parse_data.argtypes = [DATA, TRACE, ISA, ctypes.c_void_p]

    def version(self, name: str) -> str | None:
        """From the library itself (0.2.2 and later), else from its file name."""
        if hasattr(self.lib, "rocprof_trace_decoder_get_version"):
            v = Version(size=ctypes.sizeof(Version))
            if self.lib.rocprof_trace_decoder_get_version(ctypes.byref(v)) == _OK:
                return f"{v.major}.{v.minor}.{v.patch}"
        m = re.search(r"\.so\.(\d+(?:\.\d+)+)$", str(Path(name).resolve()))
        return m[1] if m else None

    def _isa(self, buffer: int, size: Any, length: Any, pc: Pc, _: int | None) -> int:
        found = self.code.at.get((pc.object, pc.address))
        if found is None:
            return _BAD_ARGUMENT
        text, size[0] = found
        room, length[0] = length[0], len(text)
        if len(text) > room:
            return _TOO_SMALL
        ctypes.memmove(buffer, text, len(text))
        return _OK

    def decode(self, data: bytes, out: Collected) -> int:
        """Decode one buffer; the decoder's status."""

        def trace(kind: int, at: int | None, count: int, _: int | None) -> int:
            try:
                out.add(kind, at, count)
            except Exception:
                return _ERROR
            return _OK

        callback = TRACE(trace)
        kept = ctypes.create_string_buffer(data, len(data))
        at = ctypes.addressof(kept)
        if self.handle is not None:
            return int(self.lib.rocprof_trace_decoder_parse(self.handle, at, len(data), callback, None))
        left = [len(data)]

        def more(buffer: Any, size: Any, _: int | None) -> int:
            n, left[0] = left[0], 0
            buffer[0], size[0] = (at if n else None), n
            return n

        return int(self.lib.rocprof_trace_decoder_parse_data(DATA(more), callback, self.isa, None))


class Package:
    """AMD's Python package, where the library is found by it alone."""

    def __init__(self, code: Code) -> None:
        import rocprof_trace_decoder

        self.package = rocprof_trace_decoder
        self.code = code
        self.decoder = rocprof_trace_decoder.Decoder()

    def version(self, _: str) -> str | None:
        version = getattr(self.package, "__version__", None)
        return version if isinstance(version, str) else None

    def decode(self, data: bytes, out: Collected) -> int:
        try:
            r = self.decoder.parse(data, isa=self.code)
        except self.package.DecoderError as e:
            return int(getattr(e, "status", _ERROR)) or _ERROR
        out.gfxip, out.frequency = r.gfxip, r.realtime_frequency
        for w in r.waves:
            insts = [(i.category | i.stall << 8, i.duration, i.time, *_pair(i.pc)) for i in w.instructions]
            states = [(s.type, s.duration) for s in w.timeline]
            where = (w.cu, w.simd, w.wave_id, w.begin_time, w.end_time)
            out.waves.append((*where, len(insts), len(states)))
            out.parts.setdefault("insts", []).append(np.array(insts, INST))
            out.parts.setdefault("states", []).append(np.array(states, STATE))
        for name, layout, rows in (
            ("occupancy", OCCUPANCY, [(*_pair(o.pc), o.time, 0, o.cu, o.simd, o.wave_id, o.start)
                                      for o in r.occupancy]),
            ("counters", COUNTER, [(p.time, p.events0, p.events1, p.events2, p.events3, p.cu, p.bank, b"")
                                   for p in r.perf_events]),
            ("realtime", REALTIME, [(t.shader_clock, t.realtime_clock, 0) for t in r.realtime]),
            ("shaderdata", SHADERDATA, [(s.time, s.value, 0) for s in r.shaderdata]),
            ("other_simd", OTHER, [(0, o.time, o.cycles, o.wgp, o.category, b"") for o in r.other_simd]),
            ("info", INFO, [int(i) for i in r.info]),
        ):  # fmt: skip
            if rows:
                out.parts[name] = [np.array(rows, layout)]
        return _OK


def _pair(pc: Any) -> tuple[int, int]:
    return pc.address, pc.code_object_id


def main(directory: Path) -> None:
    """Decode every buffer of the job."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    job = json.loads((directory / "job.json").read_bytes())
    code = Code(job["objects"])
    name = job["library"]
    decoder: Library | Package = Library(name, code) if name else Package(code)
    result: dict[str, Any] = {"version": decoder.version(name or ""), "engines": {}}
    write: Callable[..., None] = np.savez
    for se, path in job["buffers"]:
        out = Collected()
        status = decoder.decode(Path(path).read_bytes(), out)
        write(directory / f"engine_{se}.npz", **out.arrays())
        result["engines"][str(se)] = {"status": status, "gfxip": out.gfxip, "frequency": out.frequency}
    (directory / "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
