"""The Capture object: metadata plus lazily loaded pandas tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.capture.schema import TABLES
from isaprof.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd


class Provenance(StrEnum):
    """Where the cycles come from. Every view prints this label."""

    MEASURED = "measured"  #: a trace of real hardware
    MODELLED = "modelled"  #: isaprof's simulator


@dataclass(frozen=True, slots=True)
class Warning_:
    """Something the reader of the capture must know, with its amount.

    ``kind`` is a slug: data_lost, truncated, buffer_full, stitch_incomplete,
    wave_incomplete, unknown_packet, arch_mismatch, sampled, ...
    """

    kind: str
    message: str
    amount: int | None = None
    unit: str | None = None
    se: int | None = None


@dataclass(frozen=True, slots=True)
class CodeObjectRef:
    """A code object kept inside the capture."""

    id: int
    data: bytes = field(repr=False)
    name: str = ""
    sha256: str = ""
    load_base: int | None = None  #: address it was loaded at, bytes


class Capture:
    """One recorded or simulated execution.

    ``meta`` is the content of ``capture.json`` (see docs/capture.md). Tables
    are pandas frames with the columns of :data:`isaprof.capture.schema.TABLES`,
    read from disk on first use; an absent optional table is ``None``.
    """

    def __init__(
        self,
        meta: Mapping[str, Any],
        tables: Mapping[str, pd.DataFrame] | None = None,
        code_objects: tuple[CodeObjectRef, ...] = (),
        *,
        loader: Callable[[str], pd.DataFrame] | None = None,
        code_loader: Callable[[], tuple[CodeObjectRef, ...]] | None = None,
        path: Path | None = None,
    ) -> None:
        self.meta: dict[str, Any] = dict(meta)
        self._tables: dict[str, pd.DataFrame] = dict(tables or {})
        self._loader = loader
        self._code_objects = code_objects
        self._code_loader = code_loader
        self.path = path

    def __repr__(self) -> str:
        where = "" if self.path is None else f" at {str(self.path)!r}"
        return f"<Capture of {self.kernel!r}, {self.arch}, {self.provenance.value}{where}>"

    # -- metadata -----------------------------------------------------------
    @property
    def provenance(self) -> Provenance:
        return Provenance(self.meta["provenance"])

    @property
    def arch(self) -> str:
        return str(self.meta["arch"])

    @property
    def kernel(self) -> str:
        return str(self.meta["kernel"]["name"])

    @property
    def warnings(self) -> tuple[Warning_, ...]:
        return tuple(Warning_(**w) for w in self.meta.get("warnings", ()))

    @property
    def lossy(self) -> bool:
        """True when trace data is known to be missing."""
        return any(w.kind in LOSS_KINDS for w in self.warnings)

    # -- tables -------------------------------------------------------------
    def has(self, name: str) -> bool:
        """Whether the capture carries table ``name``."""
        return name in self._tables or name in self.meta.get("tables", {})

    def table(self, name: str) -> pd.DataFrame:
        """Table ``name``; raises KeyError for a table the schema does not know,
        BadInput where this capture does not carry it."""
        if name not in TABLES:
            raise KeyError(name)
        if name not in self._tables:
            if self._loader is None or name not in self.meta.get("tables", {}):
                raise BadInput(f"the capture has no table {name!r}", path=self.path, kind="no_table")
            self._tables[name] = self._loader(name)
        return self._tables[name]

    @property
    def code(self) -> pd.DataFrame:
        return self.table("code")

    @property
    def waves(self) -> pd.DataFrame:
        return self.table("waves")

    @property
    def insts(self) -> pd.DataFrame:
        return self.table("insts")

    @property
    def totals(self) -> pd.DataFrame | None:
        """Sums of each line as the source itself gives them (rocprofv3's code.json and stats CSV)."""
        return self.table("totals") if self.has("totals") else None

    @property
    def states(self) -> pd.DataFrame | None:
        return self.table("states") if self.has("states") else None

    @property
    def occupancy(self) -> pd.DataFrame | None:
        return self.table("occupancy") if self.has("occupancy") else None

    @property
    def memory(self) -> pd.DataFrame | None:
        return self.table("memory") if self.has("memory") else None

    @property
    def counters(self) -> pd.DataFrame | None:
        return self.table("counters") if self.has("counters") else None

    @property
    def events(self) -> pd.DataFrame | None:
        return self.table("events") if self.has("events") else None

    @property
    def code_objects(self) -> tuple[CodeObjectRef, ...]:
        if self._code_loader is not None and not self._code_objects:
            self._code_objects = self._code_loader()
        return self._code_objects


#: warning kinds that mean trace data is missing or not as recorded (``--strict`` turns them into exit 7)
LOSS_KINDS = frozenset(
    {
        "data_lost",
        "truncated",
        "changed",
        "missing_file",
        "buffer_full",
        "stitch_incomplete",
        "wave_incomplete",
        "undecodable",
    }
)
