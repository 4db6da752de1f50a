"""Tables of a Capture: their columns, types and meaning.

This module is the single definition; ``docs/capture.md`` is checked against
it. A column marked nullable is null where the source does not carry the fact:
what a format lacks is absent, never zero. Times and durations are shader-clock
cycles of the capture's own clock (one clock per shader engine); addresses are
ELF virtual addresses in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_NAME = "isaprof-capture"
SCHEMA_VERSION = 1
#: what to do about a capture that is not as it was written
DAMAGED = "make the capture again: isaprof run or isaprof import"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    #: "int32", "int64", "bool", "string", "category" (dictionary-coded string), "binary" or "float64"
    type: str
    nullable: bool
    doc: str


def _c(name: str, type_: str, doc: str, *, null: bool = False) -> Column:
    return Column(name, type_, null, doc)


TABLES: dict[str, tuple[Column, ...]] = {
    "code": (
        _c("line", "int32", "row number, 0-based; the key used by every other table"),
        _c("codeobj", "int32", "id of the code object in capture.json"),
        _c("pc", "int64", "ELF virtual address of the instruction, bytes"),
        _c("size", "int32", "encoded size, bytes"),
        _c("text", "string", "disassembly"),
        _c("mnemonic", "string", "first word of the text"),
        _c("category", "category", "static trace category (isaprof.isa.model.Category; JUMP for any branch)"),
        _c("pipe", "category", "execution pipe (isaprof.isa.model.Pipe)"),
        _c("label", "string", "symbol that starts here", null=True),
        _c("source", "string", "file:line from DWARF line tables", null=True),
        _c("target", "int64", "branch destination, bytes", null=True),
        _c("encoding", "binary", "machine code", null=True),
    ),
    "waves": (
        _c("wave", "int32", "row number, 0-based; the key used by every other table"),
        _c("se", "int32", "shader engine, numbered over all XCCs"),
        _c("cu", "int32", "gfx9: CU in the engine; gfx10+: WGP + 128 * shader array"),
        _c("simd", "int32", "SIMD within the CU (gfx9) or WGP"),
        _c("slot", "int32", "wave slot of the SIMD"),
        _c("dispatch", "int32", "dispatch number within the capture", null=True),
        _c("wg_x", "int32", "workgroup id, x", null=True),
        _c("wg_y", "int32", "workgroup id, y", null=True),
        _c("wg_z", "int32", "workgroup id, z", null=True),
        _c("wave_in_wg", "int32", "wave number within the workgroup", null=True),
        _c("threads", "int32", "active threads at launch", null=True),
        _c("begin", "int64", "cycle the wave was launched"),
        _c("end", "int64", "cycle the wave's slot was freed"),
        _c("traced", "bool", "instruction records exist for this wave"),
        _c("complete", "bool", "both the begin and the end were seen, and every record has a line"),
    ),
    "insts": (
        _c("wave", "int32", "wave key"),
        _c("seq", "int32", "0-based position in the wave, program order"),
        _c("line", "int32", "code line", null=True),
        _c("time", "int64", "cycle the wave first tried to issue it"),
        _c("stall", "int64", "cycles from time until it issued"),
        _c("duration", "int64", "cycles from time until it issued (gfx9) or executed (gfx10+); >= stall"),
        _c("category", "category", "dynamic trace category (JUMP taken, NEXT not taken)"),
    ),
    "totals": (
        _c("line", "int32", "code line"),
        _c("hits", "int64", "executions, over all traced waves"),
        _c("latency", "int64", "sum of the durations, cycles; includes stall"),
        _c("stall", "int64", "sum of the stalls, cycles; issue time is latency - stall"),
        _c("idle", "int64", "sum of the idle cycles before it, outside latency"),
    ),
    "states": (
        _c("wave", "int32", "wave key"),
        _c("begin", "int64", "cycle the state began"),
        _c("duration", "int64", "cycles"),
        _c("state", "category", "EMPTY, IDLE, EXEC, WAIT or STALL"),
    ),
    "occupancy": (
        _c("se", "int32", "shader engine"),
        _c("time", "int64", "cycle"),
        _c("cu", "int32", "as in waves"),
        _c("simd", "int32", "as in waves"),
        _c("slot", "int32", "as in waves"),
        _c("start", "bool", "True: a wave began; False: it ended"),
        _c("kernel", "int32", "kernel number of capture.json's kernels list", null=True),
    ),
    "memory": (
        _c("wave", "int32", "wave key"),
        _c("seq", "int32", "instruction of the wave"),
        _c("space", "category", "global, buffer, flat, scratch, lds or scalar"),
        _c("store", "bool", "True for stores and atomics"),
        _c("lanes", "int32", "active lanes"),
        _c("bytes", "int32", "bytes per lane"),
        _c("lines", "int32", "distinct cache lines touched (global)", null=True),
        _c("passes", "int32", "LDS data passes, bank conflicts included", null=True),
        _c("min_passes", "int32", "LDS data passes without conflicts", null=True),
        _c("stride", "int32", "LDS, where banks conflict: usual distance of lanes, bytes", null=True),
        _c("clash", "string", "LDS, where banks conflict: lanes that want one bank, 0,4,8", null=True),
        _c("address_min", "int64", "lowest byte address", null=True),
        _c("address_max", "int64", "highest byte address", null=True),
    ),
    "counters": (
        _c("se", "int32", "shader engine"),
        _c("cu", "int32", "CU the sample is for"),
        _c("time", "int64", "cycle"),
        _c("name", "category", "counter name, or counter<i> where the source has no names"),
        _c("value", "int64", "count in the sample interval"),
    ),
    "events": (
        _c("se", "int32", "shader engine"),
        _c("time", "int64", "cycle"),
        _c("kind", "category", "realtime, userdata, shaderdata, data_lost, stall_begin, ..."),
        _c("value", "int64", "payload", null=True),
    ),
}

#: every capture has these; the others are absent where their source carries nothing
REQUIRED_TABLES = ("code", "waves", "insts")
