"""A launch-file skeleton from a kernel's metadata (``isaprof launch-template``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isaprof.launch import triton_template

if TYPE_CHECKING:
    from isaprof.codeobj.bundle_triton import TritonMetadata
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.codeobj.metadata import KernelArg

_SCALAR_BY_SIZE = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}
_POINTERS = ("global_buffer", "dynamic_shared_pointer")


def skeleton(kernel: Kernel, co: CodeObject, *, triton: TritonMetadata | None = None) -> str:
    """TOML text that parses as a launch file; what the metadata cannot tell is marked TODO.

    ``triton`` (the ``.json`` beside a Triton object) adds threads, LDS, the
    scratch pointers and, where its ``.ttir`` is there, names and types.
    """
    explicit = [a for a in kernel.args if not a.value_kind.startswith("hidden_")]
    hidden = len(kernel.args) - len(explicit)
    slot = _slot(explicit)
    if slot:
        explicit = [a for a in explicit if a.name != "pad"]
    rows = "".join(f"\n  [{a.offset}, {a.size}, {_toml(a.value_kind)}]," for a in explicit)
    end = max((a.offset + a.size for a in explicit), default=0)
    size = min(-(-end // 8) * 8, kernel.kernarg_size) if hidden else kernel.kernarg_size
    lines = [
        f"# Launch file of {_toml(kernel.name)} ({co.arch}), made from the code object's metadata.",
        "# Every TODO is a guess: the metadata does not say it. Format: docs/launch-files.md",
        *_remarks(kernel, co),
        "schema_version = 1",
        f"title = {_toml(kernel.name)}",
        "",
        "[kernel]  # what the file applies to; the path of the object does not matter",
        f"symbol = {_toml(kernel.name)}",
        f"kernarg_size = {size}"
        + (f"  # and {hidden} hidden arguments, filled in by isaprof" if hidden else ""),
        f"slot = {slot}  # each argument has {slot} bytes to itself"
        if slot
        else f"kernarg = [{rows}\n]"
        if rows
        else "kernarg = []  # the metadata lists no arguments",
        "",
        "[shape]",
        'axes = ["N"]  # TODO: the axes of --shape, in order',
        "",
        "[launch]",
        'grid = ["ceil_div(N, 256)"]  # TODO: workgroups in x, y, z',
    ]
    known = {} if triton is None else triton_template.arguments(explicit, triton)
    if triton is None or triton.workgroup is None:
        lines += [f"workgroup = {json.dumps(_workgroup(kernel))}  # TODO: threads in x, y, z"]
    else:
        lines += [f"workgroup = {json.dumps(triton.workgroup)}  # Triton: num_warps * warp_size"]
    lines += ["dynamic_lds = 0"] if triton is None else triton_template.launch_lines(triton)
    names = _names(explicit, {o: t.name for o, t in known.items()})
    for a in explicit:
        if a.value_kind in _POINTERS and not (a.offset in known and known[a.offset].null):
            lines += _operand(a, names[a.offset], known.get(a.offset))
    for a in explicit:
        lines += _argument(a, names[a.offset], known.get(a.offset))
    lines += [
        "",
        "# [[constraint]]",
        '# require = "N % 4 == 0"',
        '# message = "N must be a multiple of 4"',
        "",
        "# [work]",
        '# flop = "2*N"',
        '# bytes = "12*N"',
        "",
        "# [reference]  # without it the output is not verified",
        '# function = "matmul_nt"  # known: isaprof run --help, docs/launch-files.md',
        "",
        "# [tolerance]",
        "# rtol = 1e-5",
        "# atol = 1e-5",
        "",
    ]
    return "\n".join(lines)


def _slot(explicit: list[KernelArg]) -> int:
    """16 where arguments lie in slots of 16 bytes and padding fills them (hand-written kernels), else 0."""
    real = [a for a in explicit if a.name != "pad"]
    return 16 if 0 < len(real) < len(explicit) and all(a.offset % 16 == 0 for a in real) else 0


def _remarks(kernel: Kernel, co: CodeObject) -> list[str]:
    from isaprof.launch.match import builtins, mismatch, no_driver

    shipped = [f.origin for f in builtins() if mismatch(f, kernel, co) is None]
    out = [
        f"# isaprof ships a launch file for this kernel ({name}); this one would replace it."
        for name in shipped
    ]
    if why := no_driver(kernel):
        out.append(f"# What the arguments mean is not known: {why}.")
    return out


def _toml(text: str) -> str:
    """A TOML basic string (JSON's, but for DEL and surrogates)."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _workgroup(kernel: Kernel) -> list[int]:
    required = kernel.metadata.get(".reqd_workgroup_size")
    if isinstance(required, list | tuple) and 1 <= len(required) <= 3:
        return [int(n) for n in required]
    most = kernel.metadata.get(".max_flat_workgroup_size")
    return [int(most) if isinstance(most, int) and 0 < most <= 1024 else 256]


def _names(args: list[KernelArg], better: dict[int, str]) -> dict[int, str]:
    """A distinct identifier for each argument, by offset; ``better`` names go before the metadata's."""
    out: dict[int, str] = {}
    for a in args:
        raw = "".join(c if c.isalnum() or c == "_" else "_" for c in better.get(a.offset) or a.name or "")
        name = raw if raw.isidentifier() else f"arg{a.offset}"
        out[a.offset] = name if name not in out.values() else f"{name}_{a.offset}"
    return out


def _operand(a: KernelArg, name: str, known: triton_template.Argument | None) -> list[str]:
    if known is not None and known.scratch_bytes:
        return [
            "",
            "[[operand]]",
            f'name = "{name}"',
            'role = "scratch"',
            'dtype = "u8"',
            f"shape = [{known.scratch_bytes}]  # TODO: bytes; Triton takes so many for each workgroup",
        ]
    dtype = None if known is None else known.dtype
    role = {"read_only": "input", "write_only": "output"}.get(str(a.access or ""), "input")
    return [
        "",
        "[[operand]]",
        f'name = "{name}"',
        f'role = "{role}"  # TODO: input, output, inout or scratch',
        'dtype = "f32"  # TODO' if dtype is None else f'dtype = "{dtype}"',
        'shape = ["N"]  # TODO',
        *(['fill = "normal"'] if role == "input" else []),
    ]


def _argument(a: KernelArg, name: str, known: triton_template.Argument | None) -> list[str]:
    lines = ["", "[[argument]]", f"offset = {a.offset}", f'name = "{name}"']
    if known is not None and known.null:
        return [*lines, 'type = "u64"', "value = 0  # a scratch buffer that this kernel does not use"]
    if a.value_kind in _POINTERS:
        return [*lines, f'pointer = "{name}"']
    kind = _SCALAR_BY_SIZE.get(a.size)
    if known is not None and known.dtype is not None:
        return [*lines, f'type = "{known.dtype}"', 'value = "N"  # TODO']
    if kind is None:
        todo = f"# TODO: {name}, {a.size} bytes by value at offset {a.offset}: split it into scalars"
        return ["", todo, *lines[1:], 'type = "i32"' if a.size > 3 else 'type = "u8"', "value = 0"]
    return [*lines, f'type = "{kind}"  # TODO', 'value = "N"  # TODO']
