"""The AMDGPU metadata note: kernels and their arguments.

Code object v3 and later: note ``AMDGPU`` type 32, MessagePack (LLVM's AMDGPU
user guide, "Code Object V3 Metadata"). Version 2 wrote YAML in a note of
type 10 of owner ``AMD``: its presence is reported, its content is not read.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

NT_AMDGPU_METADATA = 32
NT_AMD_HSA_METADATA_V2 = 10


class KernelArg(NamedTuple):
    """One kernel argument: ``offset`` and ``size`` in bytes of the kernarg segment.

    ``value_kind`` is LLVM's: ``global_buffer``, ``by_value``,
    ``hidden_block_count_x``, ...; the rest is None where the note is silent.
    """

    offset: int
    size: int
    value_kind: str
    name: str | None = None
    value_type: str | None = None
    address_space: str | None = None
    access: str | None = None

    @property
    def hidden(self) -> bool:
        """True for arguments that the runtime, not the caller, fills in."""
        return self.value_kind.startswith("hidden_")


def decode_note(payload: bytes) -> dict[str, Any] | None:
    """The metadata map of a note's MessagePack payload; None when it is damaged."""
    import msgpack

    limit = len(payload)
    try:
        value = msgpack.unpackb(
            payload,
            raw=False,
            strict_map_key=False,
            unicode_errors="replace",
            max_str_len=limit,
            max_bin_len=limit,
            max_array_len=limit,
            max_map_len=limit,
            max_ext_len=limit,
        )
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def kernel_entries(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The maps of ``amdhsa.kernels`` (entries of another type are dropped)."""
    entries = metadata.get("amdhsa.kernels")
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def kernel_args(entry: Mapping[str, Any]) -> tuple[KernelArg, ...]:
    """Arguments of one kernel entry, by offset; damaged ones are left out."""
    raw = entry.get(".args")
    args = []
    for a in raw if isinstance(raw, list) else ():
        if not isinstance(a, dict):
            continue
        offset, size = a.get(".offset"), a.get(".size")
        if (
            isinstance(offset, int)
            and isinstance(size, int)
            and 0 <= offset < 1 << 20
            and 0 <= size < 1 << 20
        ):
            args.append(
                KernelArg(
                    offset,
                    size,
                    _text(a, ".value_kind") or "unknown",
                    _text(a, ".name"),
                    _text(a, ".value_type") or _text(a, ".type_name"),
                    _text(a, ".address_space"),
                    _text(a, ".access") or _text(a, ".actual_access"),
                )
            )
    return tuple(sorted(args, key=lambda x: x.offset))


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) else None
