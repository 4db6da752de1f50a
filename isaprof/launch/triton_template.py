"""What Triton's own metadata adds to a launch-file skeleton.

Argument order (triton ``third_party/amd/backend/driver.py``): the parameters that
are neither constexpr nor specialised to a constant, then pointers to scratch
buffers, null when their sizes are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.codeobj.bundle_triton import Parameter, TritonMetadata
    from isaprof.codeobj.metadata import KernelArg

_SCRATCH_NAMES = ("global_scratch", "profile_scratch")
#: MLIR element type -> launch-file type of an operand's elements
_ELEMENTS: Mapping[str, str] = {
    "f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16",
    "f8E4M3FN": "fp8_e4m3", "f8E5M2": "fp8_e5m2", "f8E4M3FNUZ": "fp8_e4m3fnuz", "f8E5M2FNUZ": "fp8_e5m2fnuz",
    "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8", "i1": "u8",
}  # fmt: skip
#: MLIR type -> (launch-file type of a scalar, bytes)
_SCALARS: Mapping[str, tuple[str, int]] = {
    "f64": ("f64", 8), "f32": ("f32", 4), "i64": ("i64", 8), "i32": ("i32", 4), "i16": ("i16", 2),
    "i8": ("i8", 1), "i1": ("u8", 1),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known of one argument; ``dtype`` None: not known (or not expressible)."""

    name: str
    dtype: str | None = None
    null: bool = False  #: a scratch pointer that is null
    scratch_bytes: int = 0


def arguments(explicit: Sequence[KernelArg], triton: TritonMetadata) -> dict[int, Argument]:
    """Kernarg offset -> what Triton's metadata says of that argument.

    The signature is used only where it fits the object's own argument list.
    """
    out: dict[int, Argument] = {}
    own = len(explicit) - _appended(explicit, triton)
    for a, size, name in zip(explicit[own:], (*triton.scratch, 0, 0), _SCRATCH_NAMES, strict=False):
        out[a.offset] = Argument(name, null=size == 0, scratch_bytes=size)
    if len(triton.parameters) == own and all(map(_fits, explicit, triton.parameters)):
        for a, p in zip(explicit, triton.parameters, strict=False):
            known = _ELEMENTS.get(p.pointee or "") if p.type == "ptr" else _SCALARS.get(p.type, (None, 0))[0]
            out[a.offset] = Argument(p.name, known)
    return out


def launch_lines(triton: TritonMetadata) -> list[str]:
    """The lines of [launch] after the workgroup."""
    lines = [f"dynamic_lds = {triton.shared}  # Triton: shared"]
    if triton.cooperative:
        lines.append("# Triton launches this kernel cooperatively (all workgroups at once)")
    return lines


def _appended(explicit: Sequence[KernelArg], triton: TritonMetadata) -> int:
    """How many trailing arguments are scratch pointers: by the signature, else by the metadata's keys."""
    most = 0
    while most < min(2, len(explicit)) and _pointer(explicit[-1 - most]):
        most += 1
    if triton.parameters and 0 <= (n := len(explicit) - len(triton.parameters)) <= most:
        return n
    return min(len(triton.scratch), most)


def _pointer(a: KernelArg) -> bool:
    return a.value_kind == "global_buffer" and a.size == 8


def _fits(a: KernelArg, p: Parameter) -> bool:
    if p.type == "ptr":
        return _pointer(a)
    return a.value_kind == "by_value" and p.type in _SCALARS and a.size == _SCALARS[p.type][1]
