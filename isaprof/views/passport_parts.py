"""The sections of a passport: what is said, independent of text or Markdown. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.inspect.model import Passport
    from isaprof.inspect.occupancy import Limit

    Part = str | tuple[tuple[str, ...], list[tuple[str, ...]]]


def _hex(n: int | None) -> str:
    return "-" if n is None else f"{n:#x}"


def _places(pcs: tuple[int, ...], most: int = 3) -> str:
    shown = ", ".join(f"{pc:#x}" for pc in pcs[:most])
    return shown + (", ..." if len(pcs) > most else "")


def _number(x: float) -> str:
    return str(int(x)) if x == int(x) else f"{x:.2f}"


def _plural(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Part:
    return header, list(rows)


def heading(p: Passport) -> list[Part]:
    """Identity and size."""
    version = "unknown" if p.code_object_version is None else str(p.code_object_version)
    d = p.descriptor
    code = p.code
    start = "" if code.start == code.entry else f", waves start at {code.start:#x} (arguments are preloaded)"
    ids = ", ".join(f"{name} ({_places(at, 2)})" for name, at in p.inputs.items()) or "none"
    return [
        f"Target {p.target_id}, wave{d['wave_size']}, code object version {version}, sha256 {p.sha256[:16]}",
        f"Code {code.size} bytes at {code.entry:#x}{start}; {code.instructions} instructions, "
        f"{code.unreachable} of them not reachable",
        f"Inputs besides arguments that it has a use for: {ids}",
    ]


def arguments(p: Passport) -> list[Part]:
    """The kernarg table."""
    t = p.kernargs
    rows = [
        (
            f"{a.offset:#05x}",
            str(a.size),
            a.name or "(not in the metadata)",
            a.kind or "-",
            a.state,
            "; ".join(f"{x.registers}{'' if x.pc is None else f' at {x.pc:#x}'}" for x in a.landings[:3]),
            _places(a.used_at, 2),
        )
        for a in t.arguments
    ]
    out: list[Part] = [f"Segment {t.segment_size} bytes; the last byte read is {t.read_bytes - 1:#x}"]
    if not t.read_bytes:
        out = [f"Segment {t.segment_size} bytes; no read of it is seen"]
    if rows:
        out.append(_table(("offset", "size", "name", "kind", "state", "lands in", "first uses"), rows))
    return out + [f"- dead is not provable: {n}" for n in t.notes]


def registers(p: Passport) -> list[Part]:
    """Granted, used and live registers."""
    rows = [
        (r.name, str(r.granted), str(r.highest), str(r.distinct), str(r.live), _hex(r.live_at))
        for r in p.registers
        if r.granted or r.highest
    ]
    out: list[Part] = [_table(("file", "granted", "highest + 1", "distinct", "most live", "at"), rows)]
    vgpr = p.registers[0]
    if vgpr.highest > vgpr.granted:
        out.append(f"- v{vgpr.granted} and above are used, beyond the VGPRs that the descriptor grants")
    return out


def occupancy(p: Passport) -> list[Part]:
    """Waves per SIMD, the limiter and the next step."""
    o = p.occupancy
    if isinstance(o, str):
        return [f"Occupancy: not known ({o})"]
    rows = [(x.resource, f"{x.amount} {x.unit}", _number(x.waves_per_simd), _next(x)) for x in o.limits]
    table = _table(("resource", "used", "allows waves per SIMD", "next step"), rows)
    if not o.workgroups:
        # the metadata's maximum is no promise: such a kernel is launched with fewer waves than it allows
        waves = min(x.waves_per_simd for x in o.limits)
        return [
            f"Occupancy: at most {_plural(int(waves), 'wave')} per SIMD by {' and '.join(o.limiters)}; "
            f"a workgroup of {_plural(o.waves_per_workgroup, 'wave')} does not fit on a {o.unit} "
            f"(workgroup size {o.assumption}; dynamic LDS not counted)",
            table,
        ]
    return [
        f"Occupancy {_number(o.waves_per_simd)} waves per SIMD: {_plural(o.workgroups, 'workgroup')} of "
        f"{_plural(o.waves_per_workgroup, 'wave')} on a {o.unit}, limited by {' and '.join(o.limiters)} "
        f"(workgroup size {o.assumption}; dynamic LDS not counted)",
        table,
    ]


def _next(x: Limit) -> str:
    if x.next_amount is None or x.next_waves_per_simd is None:
        return "-"
    return f"{x.amount - x.next_amount} fewer ({x.next_amount}) allow {_number(x.next_waves_per_simd)}"


def lds(p: Passport) -> list[Part]:
    """LDS size against provable use."""
    m = p.lds
    flat: list[Part] = (
        [f"- {m.flat} flat instructions can address LDS too, and are not evaluated"] if m.flat else []
    )
    if not m.accesses:
        return [f"Static size {p.lds_static} bytes; no LDS instruction", *flat]
    shape = "x".join(map(str, m.shape))
    proven = len(m.accesses) - m.unproven
    if m.highest is None:
        return [
            f"Static size {p.lds_static} bytes; highest address: not provable "
            f"(for none of {len(m.accesses)} accesses)",
            *flat,
        ]
    out: list[Part] = [
        f"Static size {p.lds_static} bytes; the {proven} of {len(m.accesses)} accesses whose addresses are "
        f"provable stay below {m.highest:#x} ({m.highest} bytes), in a workgroup of {shape} "
        f"({m.shape_source})"
    ]
    if m.unproven:
        out.append(f"{m.unproven} accesses: address not provable, so the highest address in all is not")
    if m.highest > p.lds_static:
        out.append("Beyond the static size: LDS is dynamic here, or workgroups are smaller than assumed")
    rows = [(f"{a:#x}", f"{b:#x}", str(b - a), kinds, str(n)) for a, b, kinds, n in m.regions]
    out.append(_table(("from", "to", "bytes", "accessed by", "instructions"), rows[:40]))
    return out + flat


def loops(p: Passport) -> list[Part]:
    """Loops, their counters and what they contain."""
    if not p.loops:
        return ["No loop"]
    out: list[Part] = []
    for x in p.loops:
        inside = "" if x.parent is None else f", inside loop {p.loops[x.parent].head:#x}"
        out.append(
            f"Loop {x.head:#x}, depth {x.depth}{inside}: {x.instructions} instructions in {x.blocks} blocks"
        )
        if x.counter and x.step:
            unrolled = "" if x.steps == 1 else f", {x.steps} steps in a pass"
            out.append(f"- counter {x.counter} from {x.start} by {x.step} while {x.bound}{unrolled}")
        out.append(f"- steps: {x.trips}")
        out.append(f"- contains {', '.join(f'{n} {c}' for c, n in x.census.items())}")
        for e in x.exits[:6]:
            why = "" if e.stays is None else f", stays while {e.stays}"
            out.append(f"- exit {e.pc:#x} {e.text}{why}")
    return out


def census(p: Passport) -> list[Part]:
    """Counts by class, for the kernel and each loop."""
    classes = list(p.code.census)
    header = ("class", "kernel", *(f"loop {x.head:#x}" for x in p.loops))
    rows = [(c, str(p.code.census[c]), *(str(x.census.get(c, 0)) for x in p.loops)) for c in classes]
    rows += [
        (f"of which {a}", str(n), *(str(x.attributes.get(a, 0)) for x in p.loops))
        for a, n in p.code.attributes.items()
    ]
    return [_table(header, rows)]


def buffers(p: Passport) -> list[Part]:
    """Buffer descriptors as built."""
    if not p.buffers:
        return ["No buffer descriptor"]
    rows = [
        (
            b.registers,
            b.pointer or "-",
            b.base,
            " | ".join(b.limits),
            b.bound,
            "not provable" if b.stride is None else str(b.stride),
            _hex(b.word3) if b.word3 is not None else _partly(b.word3_known),
            f"{len(b.uses)} from {b.uses[0]:#x}",
        )
        for b in p.buffers
    ]
    return [
        _table(("registers", "argument", "base", "num_records", "limit", "stride", "word 3", "uses"), rows)
    ]


def _partly(known: tuple[int, int]) -> str:
    mask, bits = known
    return "not provable" if not mask else f"bits {mask:#x} are {bits:#x}"


def sync(p: Passport) -> list[Part]:
    """Barriers and waits."""
    s = p.sync
    looped = sum(1 for _, _, depth in s.barriers if depth)
    drains = ", ".join(f"{c} {n}" for c, n in s.drains.items()) or "none"
    inside = ", ".join(f"{c} {n}" for c, n in s.drains_in_loops.items()) or "none"
    out: list[Part] = [
        f"{len(s.barriers)} barrier instructions ({looped} in loops), {len(s.waits)} waits; waits that drain "
        f"a counter: {drains}; in loops: {inside}"
    ]
    rows = [(f"{w.pc:#x}", w.text, ", ".join(w.drains) or "-", str(w.loop_depth)) for w in s.waits]
    if rows:
        out.append(_table(("at", "wait", "drains", "loop depth"), rows[:60]))
    if len(rows) > 60:
        out.append(f"{len(rows) - 60} more waits: --json has all")
    return out


def techniques(p: Passport) -> list[Part]:
    """What the kernel already does."""
    if not p.techniques:
        return ["None of the known ones is shown by the code"]
    return [f"- {t.title}: {t.statement} [{t.count}: {_places(t.lines, 4)}]" for t in p.techniques]


def pressure(p: Passport) -> list[Part]:
    """Where most registers are live."""
    return [
        f"- {r.name}: at most {r.live} live, at {_hex(r.live_at)} {p.texts.get(r.live_at or -1, '')}".rstrip()
        for r in p.registers
        if r.live
    ]


def blocks(p: Passport) -> list[Part]:
    """The control-flow graph."""
    rows = [
        (
            str(b.number),
            f"{b.start:#x}",
            f"{b.end:#x}",
            str(b.instructions),
            " ".join(map(str, b.successors)) or "-",
        )
        for b in p.blocks
    ]
    return [_table(("block", "from", "to", "instructions", "goes to"), rows)]


def descriptor(p: Passport) -> list[Part]:
    """Every field of the descriptor."""
    rows = []
    for key, value in p.descriptor.items():
        if key == "user_sgprs":
            shown = ", ".join(
                f"{u['name']} s{u['index']}" + (f"-{u['index'] + u['count'] - 1}" if u["count"] > 1 else "")
                for u in value
            )
        elif key.startswith("rsrc"):
            shown = f"{value:#010x}"
        elif isinstance(value, list):
            shown = " ".join(map(str, value))
        else:
            shown = str(value).lower() if isinstance(value, bool) else str(value)
        rows.append((key, shown))
    return [_table(("field", "value"), rows)]
