"""One kernel's passport: every section, from the object alone."""

from __future__ import annotations

from typing import Any

from isaprof.analysis import cfg as flow_graph
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import BadInput
from isaprof.inspect import buffers as descriptors
from isaprof.inspect import census, kernargs, lds, loops, occupancy, sync
from isaprof.inspect import pressure as liveness
from isaprof.inspect.evaluate import Evaluator
from isaprof.inspect.flow import trace
from isaprof.inspect.model import Block, CodeFacts, Passport, Registers
from isaprof.inspect.render import Names
from isaprof.inspect.technique import KernelFacts, techniques_of
from isaprof.isa.model import Instruction, Listing, RegClass


def inspect_object(co: CodeObject, listing: Listing, kernel: str | None = None) -> tuple[Passport, ...]:
    """Passports of all kernels of ``co`` (or of the one called ``kernel``), in the object's order.

    ``listing`` is the object's disassembly. Raises BadInput for an unknown
    kernel and for one whose entry is no instruction.
    """
    chosen = co.kernels if kernel is None else (co.kernel(kernel),)
    if not chosen:
        raise BadInput("no kernel in this code object", path=co.path, kind="no_kernel")
    return tuple(inspect_kernel(co, k, listing) for k in chosen)


def inspect_kernel(co: CodeObject, kernel: Kernel, listing: Listing) -> Passport:
    """The passport of one kernel."""
    start = kernel.start if kernel.start in listing.by_pc else kernel.entry
    if start not in listing.by_pc:
        raise BadInput(
            f"{kernel.name}: its entry {kernel.entry:#x} is not the start of an instruction",
            path=co.path, offset=kernel.entry, kind="bad_entry",
        )  # fmt: skip
    graph = flow_graph.build(listing, start)
    flow = trace(graph, kernel, co.arch)
    names = Names(
        kernargs.argument_names(kernel),
        {i.index: i.pc for i in graph.lines},
        {b.index: graph.lines[b.first].pc for b in graph.blocks},
        {loop.header for loop in graph.loops},
    )
    pointers = frozenset(a.offset for a in kernel.args if a.size == 8)
    memory = lds.lds_map(flow, kernel)
    shape = lds.workgroup_shape(kernel)
    found = loops.find_loops(flow, names)
    built = descriptors.buffers(flow, names, pointers)
    live = liveness.pressure(flow)
    facts = KernelFacts(
        kernel, flow, names, memory, Evaluator(shape[0], kernel.wave_size) if shape else None, found, built
    )
    return Passport(
        kernel=kernel.name,
        symbol=kernel.symbol,
        arch=co.arch,
        target_id=co.target_id,
        code_object_version=co.code_object_version,
        sha256=co.sha256,
        descriptor=descriptor_fields(kernel),
        metadata={k.lstrip("."): v for k, v in kernel.metadata.items() if k != ".args"},
        code=_code(kernel, listing, graph.lines, start),
        kernargs=kernargs.kernarg_table(flow, kernel),
        inputs=kernargs.system_inputs(flow),
        lds_static=kernel.descriptor.group_segment_fixed_size,
        lds=memory,
        registers=_registers(kernel, graph.lines, live),
        occupancy=occupancy.occupancy(kernel, co.arch, *(shape or (None, ""))),
        pressure=live,
        blocks=tuple(
            Block(
                b.index, graph.lines[b.first].pc, graph.lines[b.last].end, b.last - b.first + 1,
                tuple(b.succ), tuple(b.pred),
            )
            for b in graph.blocks
        ),
        loops=found,
        buffers=built,
        sync=sync.synchronisation(graph),
        techniques=techniques_of(facts),
        limits=_limits(co, graph, listing.unknown_vgprs),
        pcs={i.index: i.pc for i in graph.lines},
        texts={i.pc: i.text for i in graph.lines},
    )  # fmt: skip


def descriptor_fields(kernel: Kernel) -> dict[str, Any]:
    """Every field of the kernel descriptor, by name."""
    d = kernel.descriptor
    x, y, z = d.workgroup_id_enabled
    return {
        "group_segment_fixed_size": d.group_segment_fixed_size,
        "private_segment_fixed_size": d.private_segment_fixed_size,
        "kernarg_size": d.kernarg_size,
        "entry_offset": d.entry_offset,
        "rsrc1": d.rsrc1,
        "rsrc2": d.rsrc2,
        "rsrc3": d.rsrc3,
        "code_properties": d.code_properties,
        "kernarg_preload_length": d.kernarg_preload_length,
        "kernarg_preload_offset": d.kernarg_preload_offset,
        "wave_size": kernel.wave_size,
        "vgpr_count": d.vgpr_count,
        "accum_offset": d.accum_offset,
        "arch_vgpr_count": d.arch_vgpr_count,
        "agpr_count": d.agpr_count,
        "sgpr_count": d.sgpr_count,
        "user_sgpr_count": d.user_sgpr_count,
        "user_sgprs": [{"name": u.name, "index": u.index, "count": u.count} for u in d.user_sgprs],
        "workgroup_ids": [n for n, on in zip("xyz", (x, y, z), strict=True) if on],
        "workgroup_info": d.workgroup_info,
        "workitem_id_dims": d.workitem_id_dims,
        "private_segment_enabled": d.private_segment_enabled,
        "uses_dynamic_stack": d.uses_dynamic_stack,
        "round_mode_32": d.round_mode_32,
        "round_mode_16_64": d.round_mode_16_64,
        "denorm_mode_32": d.denorm_mode_32,
        "denorm_mode_16_64": d.denorm_mode_16_64,
        "dx10_clamp": d.dx10_clamp,
        "ieee_mode": d.ieee_mode,
        "fp16_overflow": d.fp16_overflow,
        "exceptions": d.exceptions,
        "granulated_lds_size": d.granulated_lds_size,
        "tg_split": d.tg_split,
        "wgp_mode": d.wgp_mode,
        "mem_ordered": d.mem_ordered,
        "forward_progress": d.forward_progress,
        "inst_pref_size": d.inst_pref_size,
        "dynamic_vgpr": d.dynamic_vgpr,
    }


def _code(kernel: Kernel, listing: Listing, reached: tuple[Instruction, ...], start: int) -> CodeFacts:
    own = [i for i in listing.instructions if kernel.entry <= i.pc < kernel.entry + kernel.size]
    inside = {i.index for i in reached}
    return CodeFacts(
        kernel.entry, start, kernel.size, len(own), len(reached), sum(i.index not in inside for i in own),
        census.count(own), census.count_attributes(own), census.count_mnemonics(own, "matrix"),
    )  # fmt: skip


def _registers(
    kernel: Kernel, lines: tuple[Instruction, ...], live: liveness.Pressure
) -> tuple[Registers, ...]:
    d = kernel.descriptor
    used = census.registers_used(lines)
    granted = {"vgpr": d.arch_vgpr_count, "agpr": d.agpr_count, "sgpr": d.sgpr_count}
    distinct = {"vgpr": RegClass.VGPR, "agpr": RegClass.AGPR, "sgpr": RegClass.SGPR}
    out = []
    for name, cls in distinct.items():
        named = {
            s.index + i
            for ins in lines
            for s in (*ins.reads, *ins.writes)
            if s.cls is cls
            for i in range(s.count)
        }
        peak, index = live.peak(name)
        out.append(
            Registers(name, granted[name], used[name], len(named), peak, _pc(lines, index) if peak else None)
        )
    return tuple(out)


def _pc(lines: tuple[Instruction, ...], index: int) -> int | None:
    return next((i.pc for i in lines if i.index == index), None)


def _limits(co: CodeObject, graph: flow_graph.Cfg, unknown_vgprs: frozenset[int]) -> tuple[str, ...]:
    """What the passport cannot speak about for this kernel, and why."""
    out = []
    if graph.indirect:
        first = graph.indirect[0]
        out.append(
            f"control flow through a register at {first.pc:#x} "
            f"({first.text}): code that is only reached there is not seen"
        )
    unknown = [i for i in graph.lines if i.base.startswith(".")]
    if unknown:
        out.append(
            f"{len(unknown)} reachable words that LLVM cannot decode, the first at {unknown[0].pc:#x}: what "
            "they do is not seen"
        )
    modes = ("s_set_gpr_idx", "v_movrel", "s_movrel", "v_swaprel")
    moving = next((i for i in graph.lines if i.base.startswith(modes)), None)
    if moving is not None:
        out.append(
            f"registers addressed through M0 at {moving.pc:#x}: register use and liveness may be larger"
        )
    if doubt := [i for i in graph.lines if i.index in unknown_vgprs]:
        out.append(
            f"paths disagree on s_set_vgpr_msb at {len(doubt)} instructions, the first at {doubt[0].pc:#x}: "
            "their VGPR numbers may be larger"
        )
    if co.metadata_note and not co.minimal:
        out.append(co.metadata_note)
    if co.minimal:
        out.append("a minimal object: no metadata, symbols or code object version")
    return tuple(out)
