"""What the registers of a wave hold when it starts, as symbolic values.

Sources: LLVM's AMDGPU user guide, "Initial Kernel Execution State"; the kernel
descriptor says which of it is enabled.
"""

from __future__ import annotations

from isaprof.codeobj.elf import Kernel
from isaprof.inspect.values import Graph, Node
from isaprof.isa.model import RegClass
from isaprof.sim.archdata import facts

#: registers are numbered through all files: class base + index
_STRIDE = 4096
BASES: dict[RegClass, int] = {cls: i * _STRIDE for i, cls in enumerate(RegClass)}
_CLASSES = tuple(RegClass)

S, V, A = BASES[RegClass.SGPR], BASES[RegClass.VGPR], BASES[RegClass.AGPR]
EXEC, VCC, SCC, M0, TTMP = (
    BASES[RegClass.EXEC],
    BASES[RegClass.VCC],
    BASES[RegClass.SCC],
    BASES[RegClass.M0],
    BASES[RegClass.TTMP],
)
VECTOR = (RegClass.VGPR, RegClass.AGPR)


def register_class(code: int) -> RegClass:
    """The register file of a register number."""
    return _CLASSES[code // _STRIDE]


def is_vector(code: int) -> bool:
    """Whether the register has one value a lane."""
    return V <= code < V + _STRIDE or A <= code < A + _STRIDE


def register_name(code: int) -> str:
    """``s4``, ``v12``, ``vcc_lo``, ..."""
    cls, index = _CLASSES[code // _STRIDE], code % _STRIDE
    if cls in (RegClass.VCC, RegClass.EXEC):
        return f"{cls}_{'hi' if index else 'lo'}"
    if cls in (RegClass.M0, RegClass.SCC, RegClass.MODE, RegClass.NULL):
        return str(cls)
    return f"{cls}{index}"


def entry_state(graph: Graph, kernel: Kernel, arch: str) -> dict[int, Node]:
    """Register number -> value at the kernel's first instruction; others hold nothing defined."""
    d = kernel.descriptor
    know = facts(arch)
    state: dict[int, Node] = {}
    at = 0
    for group in d.user_sgprs:
        for i in range(group.count):
            if group.name == "kernarg_preload":
                node = graph.leaf("kernarg", 4 * (d.kernarg_preload_offset + i))
            else:
                node = graph.leaf("leaf", group_dword(group.name, group.count, i))
            state[S + group.index + i] = node
        at = group.index + group.count
    at = max(at, d.user_sgpr_count)
    if know.id_source == "ttmp":
        state[TTMP + 9] = graph.leaf("leaf", "wg.x")
        yz = graph.leaf("leaf", "ttmp7")
        state[TTMP + 7] = yz
    else:
        for name, enabled in zip("xyz", d.workgroup_id_enabled, strict=True):
            if enabled:
                state[S + at] = graph.leaf("leaf", f"wg.{name}")
                at += 1
        if d.workgroup_info:
            state[S + at] = graph.leaf("leaf", "workgroup_info")
            at += 1
        if d.private_segment_enabled and not know.architected_scratch:
            state[S + at] = graph.leaf("leaf", "scratch_wave_offset")
    _work_items(graph, state, d.workitem_id_dims, packed=know.packed_workitem_id)
    for i in range(kernel.wave_size // 32):
        state[EXEC + i] = graph.leaf("leaf", "exec.hi" if i else "exec.lo")
    return state


def group_dword(name: str, count: int, i: int) -> str:
    """Name of dword ``i`` of a user SGPR group: pointers have .lo and .hi."""
    short = {"kernarg_segment_ptr": "kernarg_ptr"}.get(name, name)
    return short if count == 1 else f"{short}.{('lo', 'hi')[i]}" if count == 2 else f"{short}.{i}"


def _work_items(graph: Graph, state: dict[int, Node], dims: int, *, packed: bool) -> None:
    ids = [graph.leaf("leaf", f"tid.{n}", varies=True) for n in "xyz"[:dims]]
    if not packed:
        for i, node in enumerate(ids):
            state[V + i] = node
        return
    word = ids[0]
    for i, node in enumerate(ids[1:], 1):
        word = graph.op("or", word, graph.op("shl", node, graph.const(10 * i)))
    state[V] = word
