"""The 64-byte kernel descriptor as assembler data, field by field.

``.amdhsa_kernel`` cannot express every descriptor found in real objects (it
rounds SGPR counts, refuses reserved bits and unknown properties), so the words
are written as data whose fields are spelled out: any value re-encodes to the
same bytes, and an editor still sees which number to change.

Layout: LLVM AMDHSAKernelDescriptor.h.
"""

from __future__ import annotations

import struct

#: (low bit, width, name) of the words, common to all generations; the rest of a word is one raw field
_RSRC1 = (
    (0, 6, "vgpr_blocks"), (6, 4, "sgpr_blocks"), (10, 2, "priority"), (12, 8, "float_mode"),
    (20, 1, "priv"), (21, 11, "mode_bits"),
)  # fmt: skip
_RSRC2 = (
    (0, 1, "private_segment"), (1, 5, "user_sgprs"), (6, 1, "trap_or_dynamic_vgpr"), (7, 1, "wg_id_x"),
    (8, 1, "wg_id_y"), (9, 1, "wg_id_z"), (10, 1, "wg_info"), (11, 2, "workitem_id"), (13, 2, "traps"),
    (15, 9, "lds_blocks"), (24, 8, "exceptions"),
)  # fmt: skip
_PROPERTIES = (
    (0, 1, "private_segment_buffer"), (1, 1, "dispatch_ptr"), (2, 1, "queue_ptr"),
    (3, 1, "kernarg_segment_ptr"), (4, 1, "dispatch_id"), (5, 1, "flat_scratch_init"),
    (6, 1, "private_segment_size"), (7, 3, "reserved"), (10, 1, "wavefront_size32"),
    (11, 1, "dynamic_stack"), (12, 4, "reserved2"),
)  # fmt: skip
_PRELOAD = ((0, 7, "length"), (7, 9, "offset"))


def _fields(
    word: int, layout: tuple[tuple[int, int, str], ...], always: tuple[str, ...] = ()
) -> tuple[str, str]:
    """(expression, comment) of ``word``; zero fields are left out unless named in ``always``."""
    terms, names = [], []
    for low, width, name in layout:
        value = word >> low & ((1 << width) - 1)
        if value or name in always:
            terms.append(f"({value:#x}<<{low})" if value > 9 else f"({value}<<{low})")
            names.append(f"{name}={value}")
    return " | ".join(terms) or "0", " ".join(names)


def descriptor_lines(raw: bytes, entry: str) -> list[str]:
    """Assembler lines for the 64 bytes ``raw``; ``entry`` is the expression for the code's distance."""
    lds, private, kernarg, res0 = struct.unpack_from("<IIII", raw)
    reserved1 = raw[24:44]
    rsrc3, rsrc1, rsrc2 = struct.unpack_from("<III", raw, 44)
    properties, preload, res3 = struct.unpack_from("<HHI", raw, 56)
    e1, c1 = _fields(rsrc1, _RSRC1, ("vgpr_blocks",))
    e2, c2 = _fields(rsrc2, _RSRC2, ("user_sgprs",))
    ep, cp = _fields(properties, _PROPERTIES)
    eq, cq = _fields(preload, _PRELOAD)
    lines = [
        f"\t.long\t{lds}\t\t; group_segment_fixed_size: static LDS, bytes",
        f"\t.long\t{private}\t\t; private_segment_fixed_size: scratch per work-item, bytes",
        f"\t.long\t{kernarg}\t\t; kernarg_size, bytes",
        f"\t.long\t{res0:#x}\t\t; reserved",
        f"\t.quad\t{entry}\t; kernel_code_entry_byte_offset",
    ]
    if any(reserved1):
        lines.append("\t.byte\t" + ",".join(str(b) for b in reserved1) + "\t; reserved")
    else:
        lines.append("\t.zero\t20\t\t; reserved")
    lines += [
        f"\t.long\t{rsrc3:#x}\t\t; compute_pgm_rsrc3",
        f"\t.long\t{e1}\t; compute_pgm_rsrc1: {c1}",
        f"\t.long\t{e2}\t; compute_pgm_rsrc2: {c2}",
        f"\t.short\t{ep}\t; kernel_code_properties: {cp}",
        f"\t.short\t{eq}\t\t; kernarg_preload: {cq or 'none'}",
        f"\t.long\t{res3:#x}\t\t; reserved",
    ]
    return lines
