"""The passport: plain frozen data, rendered by :mod:`isaprof.views.passport`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaprof.inspect.buffers import BufferDescriptor
    from isaprof.inspect.kernargs import KernargTable
    from isaprof.inspect.lds import LdsMap
    from isaprof.inspect.loops import LoopFacts
    from isaprof.inspect.occupancy import Occupancy
    from isaprof.inspect.pressure import Pressure
    from isaprof.inspect.sync import Sync
    from isaprof.inspect.technique import Technique


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The kernel's code. ``start`` differs from ``entry`` where arguments are preloaded.

    ``reachable`` counts what can be reached from ``start`` (functions included),
    ``unreachable`` what of the kernel's own ``instructions`` cannot.
    """

    entry: int
    start: int
    size: int  #: bytes
    instructions: int
    reachable: int
    unreachable: int
    census: dict[str, int]
    attributes: dict[str, int]
    matrix: dict[str, int]


@dataclass(frozen=True, slots=True)
class Registers:
    """One register file: granted by the descriptor, highest used + 1, distinct ones, live at once."""

    name: str
    granted: int
    highest: int
    distinct: int
    live: int
    live_at: int | None  #: address of the (first) instruction with most live registers


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: [start, end) in bytes."""

    number: int
    start: int
    end: int
    instructions: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Passport:
    """All that is derived from the object about one kernel."""

    kernel: str
    symbol: str
    arch: str
    target_id: str
    code_object_version: int | None
    sha256: str
    descriptor: dict[str, Any]
    metadata: dict[str, Any]
    code: CodeFacts
    kernargs: KernargTable
    inputs: Mapping[str, tuple[int, ...]]
    lds_static: int
    lds: LdsMap
    registers: tuple[Registers, ...]
    occupancy: Occupancy | str  #: str: why it is not known
    pressure: Pressure
    blocks: tuple[Block, ...]
    loops: tuple[LoopFacts, ...]
    buffers: tuple[BufferDescriptor, ...]
    sync: Sync
    techniques: tuple[Technique, ...]
    limits: tuple[str, ...]
    pcs: Mapping[int, int]  #: listing index -> address
    texts: Mapping[int, str]  #: address -> instruction

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; addresses and sizes are numbers (docs/inspect.md lists the keys)."""
        table = asdict(self.kernargs)
        loops = []
        for loop in self.loops:
            row = asdict(loop)
            del row["indices"]
            loops.append(row)
        return {
            "kernel": self.kernel,
            "symbol": self.symbol,
            "arch": self.arch,
            "target_id": self.target_id,
            "code_object_version": self.code_object_version,
            "sha256": self.sha256,
            "descriptor": self.descriptor,
            "metadata": self.metadata,
            "code": asdict(self.code),
            "kernargs": table,
            "inputs": {k: list(v) for k, v in self.inputs.items()},
            "lds": {"static_size": self.lds_static, **asdict(self.lds)},
            "registers": [asdict(r) for r in self.registers],
            "occupancy": None if isinstance(self.occupancy, str) else asdict(self.occupancy),
            "occupancy_unknown": self.occupancy if isinstance(self.occupancy, str) else None,
            "pressure": {
                "columns": ["pc", "vgpr", "agpr", "sgpr"],
                "rows": [
                    [self.pcs[i], v, a, s]
                    for i, v, a, s in zip(
                        self.pressure.indices,
                        self.pressure.vgpr,
                        self.pressure.agpr,
                        self.pressure.sgpr,
                        strict=True,
                    )
                ],
            },
            "blocks": [asdict(b) for b in self.blocks],
            "loops": loops,
            "buffers": [asdict(b) for b in self.buffers],
            "sync": asdict(self.sync),
            "techniques": [asdict(t) for t in self.techniques],
            "limits": list(self.limits),
        }
