"""Memory access and wait counters of an instruction."""

from __future__ import annotations

import re
from functools import lru_cache

from isaprof.arch.table import ArchTable
from isaprof.isa.model import Category, MemAccess, OperandKind, Space
from isaprof.isa.rules import RETURN_FLAGS
from isaprof.isa.text import ParsedText

_SIZES = (
    (re.compile(r"(?:load|store|read|write)_(?:lds_)?dwordx(\d+)|_dwordx(\d+)$"), 4),
    (re.compile(r"_dword$"), 0),
)
_BITS = re.compile(r"_(?:[bui]|bf|f)(8|16|32|64|96|128|192|256|512|1024)(?=_|$)")
_NAMED_BYTES = (
    (re.compile(r"_[us]?byte(_|$)|_[us]?8(_|$)"), 1),
    (re.compile(r"_[us]?short(_|$)"), 2),
    (re.compile(r"(?:_d16_format|_format_d16(?:_hi)?)_(xy?z?w?)$"), -2),  # negative: bytes per component
    (re.compile(r"_format_(xy?z?w?)$"), -4),
)
#: two accesses an instruction: ds_read2_b32, ds_load_2addr_b32, ds_wrxchg2_rtn_b32, ...
_DOUBLE = re.compile(r"ds_(?:read2|write2|wrxchg2|\w*_2addr)")
_SWAP_PAIR = re.compile(r"_x2$|_x2_")
#: LDS-crossbar operations that touch no memory
_NO_MEMORY = re.compile(r"ds_(swizzle|permute|bpermute|nop|gws)\w*")
_CACHE = re.compile(r"(buffer|global|s)_(wbinv|wb|inv|gl\d_inv|wbl2|nop|dcache|gl1)\w*|s_dcache\w*|s_gl1_inv")
_ATOMIC = re.compile(
    r"\w*atomic\w*|ds_(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst|cmpstore|wrxchg\d*|wrxchg2st64"
    r"|storexchg|wrap|condxchg\w*|cond_sub|sub_clamp|append|consume|pk_add|ordered_count)(_|$)\w*"
)
_SCALAR_MEM = re.compile(r"s_(buffer_|scratch_)?(load|store|atomic)\w*")


@lru_cache(maxsize=4096)
def access_bytes(base: str) -> int:
    """Bytes per lane (per wave for scalar memory) that a memory mnemonic moves; 0 when unknown."""
    double = 2 if _DOUBLE.match(base) else 1
    if m := _SIZES[0][0].search(base):
        return 4 * int(m[1] or m[2])
    if _SIZES[1][0].search(base):
        return 4
    for pattern, size in _NAMED_BYTES:
        if m := pattern.search(base):
            return size if size > 0 else -size * len(m[m.lastindex or 0])
    if "atomic" in base and "_pk_" in base:
        return 4
    if m := _BITS.search(base):
        return double * int(m[1]) // 8
    if "atomic" in base:  # gfx9 names: global_atomic_add, buffer_atomic_swap_x2
        return 8 if _SWAP_PAIR.search(base) else 4
    return 4 if base in ("ds_append", "ds_consume", "s_load", "s_store") else 0


def returns_value(parsed: ParsedText) -> bool:
    """True when an atomic gives back the value from before it."""
    if parsed.base.startswith("ds_"):
        return "_rtn" in parsed.base or parsed.base in ("ds_append", "ds_consume", "ds_ordered_count")
    m = parsed.modifiers
    return any(m.get(f) is True for f in RETURN_FLAGS) or "RETURN" in str(m.get("th", ""))


def is_atomic(base: str) -> bool:
    return bool(_ATOMIC.fullmatch(base))


def memory_access(parsed: ParsedText, category: Category) -> MemAccess | None:
    """What ``parsed`` does to memory; None for cache maintenance and for non-memory instructions."""
    base, m = parsed.base, parsed.modifiers
    if _CACHE.fullmatch(base) or _NO_MEMORY.fullmatch(base) or "prefetch" in base:
        return None
    if category is Category.SMEM:
        if not _SCALAR_MEM.fullmatch(base):
            return None
        atomic = "atomic" in base
        store = atomic or "store" in base
        return MemAccess(
            Space.SCALAR, not store or (atomic and returns_value(parsed)), store, atomic, access_bytes(base)
        )
    if category is Category.LDS:
        if base.startswith("lds_"):
            return MemAccess(Space.LDS, True, False, False, 4)
        atomic = is_atomic(base)
        load = returns_value(parsed) if atomic else base.startswith(("ds_read", "ds_load", "ds_bvh"))
        space = Space.GDS if m.get("gds") else Space.LDS
        return MemAccess(space, load, atomic or not load, atomic, access_bytes(base))
    if category not in (Category.VMEM, Category.FLAT, Category.BVH):
        return None
    atomic = is_atomic(base)
    to_lds = bool(m.get("lds")) or "_load_lds_" in base or "_to_lds" in base
    from_lds = "from_lds" in base
    store = atomic or "store" in base or from_lds
    load = returns_value(parsed) if atomic else not store
    return MemAccess(_space(base), load, store, atomic, _bytes(parsed), to_lds or from_lds)


def _bytes(parsed: ParsedText) -> int:
    n = access_bytes(parsed.base)
    dmask = parsed.modifiers.get("dmask")
    if n == 0 and parsed.base.startswith("image_") and isinstance(dmask, int):
        return (2 if parsed.modifiers.get("d16") else 4) * bin(dmask).count("1")
    return n


def _space(base: str) -> Space:
    if base.startswith("flat_"):
        return Space.FLAT
    if base.startswith("scratch_"):
        return Space.SCRATCH
    if base.startswith(("buffer_", "tbuffer_")):
        return Space.BUFFER
    return Space.GLOBAL


def counted_events(parsed: ParsedText, category: Category, mem: MemAccess | None) -> str | None:
    """Name of the event (a key of the table's ``counter_model``) that the instruction is, or None."""
    base = parsed.base
    if base.startswith("s_sendmsg"):
        return "message"
    if base == "exp" or base.startswith("export"):
        return "export"
    if category is Category.SMEM:
        timed = base.startswith(("s_memtime", "s_memrealtime", "s_get_waveid", "s_atc_probe_rtn"))
        return "smem" if mem is not None or timed else None
    if category is Category.LDS:
        if base.startswith("lds_"):
            return "lds_direct"
        if base == "ds_nop":
            return None
        return "gds" if base.startswith("ds_gws") or parsed.modifiers.get("gds") else "lds"
    if category is Category.BVH:
        return "lds" if base.startswith("ds_") else "bvh"
    if category not in (Category.VMEM, Category.FLAT) or "prefetch" in base or base == "buffer_nop":
        return None
    if mem is None:
        return "cache_writeback" if "wb" in base else "cache"
    return _vector_event(base, mem)


def _vector_event(base: str, mem: MemAccess) -> str:
    if base.startswith("tensor_"):
        return "tensor"
    if "_async_" in base or base.startswith("cluster_"):
        return "async"
    if mem.lds_dma:
        return "lds_dma"
    kind = "flat" if mem.space is Space.FLAT else "vmem"
    if mem.atomic:
        return f"{kind}_atomic_return" if mem.load else f"{kind}_store"
    if base.startswith(("image_sample", "image_gather", "image_msaa_load", "image_get_lod")):
        return "sample"
    return f"{kind}_store" if mem.store else f"{kind}_load"


def counters_of(
    table: ArchTable, parsed: ParsedText, category: Category, mem: MemAccess | None
) -> tuple[str, ...]:
    """Wait counters that the instruction increments on this architecture."""
    event = counted_events(parsed, category, mem)
    if event is None:
        return ()
    model: dict[str, tuple[str, ...]] = table["counter_model"]
    if event == "cache_writeback" and event not in model:
        event = "cache"
    return model.get(event, ())


_FIELD = re.compile(r"(\w+)\((\d+)\)")


def waits_of(table: ArchTable, parsed: ParsedText) -> tuple[tuple[str, int], ...]:
    """(counter, largest count let pass) of a wait instruction.

    A field that holds its maximum waits for nothing and is left out;
    ``s_wait_idle`` waits for all counters to reach 0.
    """
    base = parsed.base
    if not base.startswith("s_wait"):
        return ()
    maxima: dict[str, int] = table["counter_max"]
    # gfx12 still has s_waitcnt, but its immediate means nothing there: it drains every counter
    if base == "s_wait_idle" or (base == "s_waitcnt" and table["waitcnt_layout"] is None):
        return tuple((c, 0) for c in maxima)
    if base == "s_waitcnt":
        return _combined(table, parsed, maxima)
    fields: tuple[tuple[str, int, int], ...] = table["separate_wait_counters"].get(base, ())
    value = next((o.value for o in reversed(parsed.operands) if o.kind is OperandKind.INT), None)
    if not isinstance(value, int):
        return ()
    return tuple(
        (c, n) for c, low, width in fields if (n := value >> low & (1 << width) - 1) < (1 << width) - 1
    )


def _combined(table: ArchTable, parsed: ParsedText, maxima: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """The fields of ``s_waitcnt``: printed one by one, or a raw immediate in the generation's layout."""
    out: list[tuple[str, int]] = []
    for o in parsed.operands:
        if o.kind is OperandKind.INT and isinstance(o.value, int):
            layout: dict[str, tuple[tuple[int, int], ...]] = table["waitcnt_layout"]
            for counter, pieces in layout.items():
                n = shift = 0
                for low, width in pieces:
                    n |= (o.value >> low & (1 << width) - 1) << shift
                    shift += width
                if n < maxima[counter]:
                    out.append((counter, n))
        elif (m := _FIELD.fullmatch(o.text)) and int(m[2]) < maxima.get(m[1], 1 << 16):
            out.append((m[1], int(m[2])))
    return tuple(out)
