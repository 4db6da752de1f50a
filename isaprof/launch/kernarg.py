"""The kernarg segment, byte by byte, hidden arguments included.

Hidden arguments and their meaning: LLVM AMDGPU usage guide, "Code Object V5
Metadata". Pointers to runtime services (hostcall, heap, queues, ...) are null:
a kernel that uses them faults in the simulator instead of reading nonsense.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence

from isaprof.errors import BadInput, UsageError
from isaprof.launch.expr import Expr, ExprError
from isaprof.launch.file import SCALARS, Argument

Dim3 = tuple[int, int, int]

_NULL = frozenset(
    {
        "hidden_none", "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_default_queue",
        "hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_heap_v1", "hidden_queue_ptr",
        "hidden_private_base", "hidden_shared_base",
    }
)  # fmt: skip


def hidden_value(kind: str, grid: Dim3, workgroup: Dim3, dynamic_lds: int) -> int:
    """Value of a hidden argument. Raises BadInput for a kind nobody documents.

    Workgroups are always whole here, so the remainders are zero.
    """
    for prefix, source in (("hidden_block_count_", grid), ("hidden_group_size_", workgroup)):
        if kind.startswith(prefix) and kind[-1] in "xyz":
            return source["xyz".index(kind[-1])]
    if kind.startswith(("hidden_remainder_", "hidden_global_offset_")):
        return 0
    if kind == "hidden_grid_dims":
        return 3 if grid[2] * workgroup[2] > 1 else 2 if grid[1] * workgroup[1] > 1 else 1
    if kind == "hidden_dynamic_lds_size":
        return dynamic_lds
    if kind in _NULL:
        return 0
    raise BadInput(f"hidden kernel argument of unknown kind {kind!r}", kind="unknown_argument")


def pack(
    size: int,
    arguments: Sequence[Argument],
    hidden: Sequence[tuple[int, int, str]],
    env: Mapping[str, int],
    addresses: Mapping[str, int],
    geometry: tuple[Dim3, Dim3, int],
) -> bytes:
    """The kernarg segment. ``addresses``: operand name -> device address; pointers to others are null."""
    out = bytearray(size)
    for offset, width, kind in hidden:
        value = hidden_value(kind, *geometry)
        out[offset : offset + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    for a in arguments:
        if a.when is not None and not a.when(env):
            continue
        if a.pointer is not None:
            if a.pointer not in addresses:
                continue  # a buffer this launch does without: null
            shift = 0 if a.byte_offset is None else a.byte_offset(env)
            struct.pack_into("<Q", out, a.offset, addresses[a.pointer] + shift)
        else:
            struct.pack_into("<" + SCALARS[a.type or "i32"][0], out, a.offset, scalar(a, env))
    return bytes(out)


def scalar(a: Argument, env: Mapping[str, int]) -> int | float:
    """Value of a scalar argument; raises UsageError where the type cannot hold it."""
    kind = a.type or "i32"
    try:
        value: int | float = a.value(env) if isinstance(a.value, Expr) else (a.value or 0.0)
        if a.rsqrt:
            if value <= 0:
                raise UsageError(f"argument {a.name}: 1 / sqrt({value})", kind="shape")
            return float(1.0 / math.sqrt(value))
        if kind[0] == "f":
            return float(value)
        struct.pack("<" + SCALARS[kind][0], value)
    except ExprError as e:
        raise UsageError(f"argument {a.name}: {e}", kind="shape") from None
    except struct.error:
        raise UsageError(f"argument {a.name}: {value} does not fit {kind}", kind="shape") from None
    return value
