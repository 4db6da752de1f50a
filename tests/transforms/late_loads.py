"""An oracle for wait counts: one lane of a tiny instruction set, with loads that return as late as they may.

The simulator completes loads at once and cannot see a missing wait. Here a
loaded register holds rubbish until a wait, or the counter's limit, forces the
load to be complete. Written from the rules of ``vmcnt`` alone; it shares no
code with the analyses it judges.
"""

from __future__ import annotations

from collections.abc import Sequence

from isaprof.isa.model import Instruction, Listing

RUBBISH = 0xDEAD0000
LIMIT = 63


def run(listing: Listing, inputs: Sequence[int], slots: int, *, steps: int = 20_000) -> list[int]:
    """The output slots after a run; slot i is at byte offset 256 i.

    Addresses are v1 or v2 (both 0 at first) plus the instruction's offset.
    """
    v: dict[str, int] = {}
    s: dict[str, int] = {}
    out = [0] * slots
    flight: list[tuple[str, int] | None] = []  # oldest first; None: a store
    scc = False
    at = 0
    for n in range(steps):
        ins = listing.instructions[at]
        at += 1
        ops = [o.text for o in ins.operands]
        match ins.base:
            case "s_endpgm":
                return out
            case "global_load_dword":
                flight.append((ops[0], inputs[_slot(ins, v)]))
                v[ops[0]] = RUBBISH + n
            case "global_store_dword":
                out[_slot(ins, v)] = v.get(ops[1], 0)
                flight.append(None)
            case "s_waitcnt":
                for counter, left in ins.waits:
                    if counter == "vmcnt":
                        _complete(flight, v, left)
            case "v_add_u32":
                v[ops[0]] = (_value(ops[1], v) + _value(ops[2], v)) & 0xFFFFFFFF
            case "v_mov_b32":
                v[ops[0]] = _value(ops[1], v)
            case "s_mov_b32":
                s[ops[0]] = int(ops[1], 0)
            case "s_sub_u32":
                s[ops[0]] -= int(ops[2], 0)
            case "s_cmp_lg_u32":
                scc = s[ops[0]] != int(ops[1], 0)
            case "s_cbranch_scc1":
                if scc:
                    at = listing.by_pc[ins.target or 0]
            case "s_cbranch_scc0":
                if not scc:
                    at = listing.by_pc[ins.target or 0]
            case "s_load_dwordx4" | "v_lshlrev_b32" | "s_nop":
                pass
            case other:
                raise NotImplementedError(other)
        _complete(flight, v, LIMIT)
    raise RuntimeError("does not end")


def _complete(flight: list[tuple[str, int] | None], v: dict[str, int], left: int) -> None:
    while len(flight) > left:
        op = flight.pop(0)
        if op is not None:
            v[op[0]] = op[1]


def _slot(ins: Instruction, v: dict[str, int]) -> int:
    address = next(o.text for o in ins.operands if o.text in ("v1", "v2"))
    return (v.get(address, 0) + int(ins.modifiers.get("offset", 0))) // 256  # type: ignore[call-overload, no-any-return]


def _value(text: str, v: dict[str, int]) -> int:
    return v.get(text, 0) if text.startswith("v") else int(text, 0)
