"""``isaprof run --co-dir``: the object that serves a shape, and the list of all that might."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.errors import BadInput, UsageError

if TYPE_CHECKING:
    from isaprof.launch.choose import Candidate, Pick


def pick_object(
    folder: Path, shape: str | None, where: list[str], cus: int | None, *, quiet: bool = False
) -> tuple[Pick, Path | None, dict[str, Any]]:
    """(what the rule says, the object to run, facts about the GPU). ``quiet``: no note on stderr."""
    from isaprof import arch as tables
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch import choose, manifest

    rows = manifest.read(folder)
    present = next((r.path for r in rows if r.path is not None), None)
    if present is None:
        raise BadInput(
            f"none of the {len(rows)} objects that its manifest names is there (the first: {rows[0].name})",
            path=folder,
            kind="no_object",
        )
    name = CodeObject.load(present).arch
    count = cus or int(tables.get(name).get("cu_count", 0))
    if not count:
        raise UsageError(f"the number of CUs of {name} is not known", kind="cus", hint="--cus N gives it")
    pick = choose.choose(rows, shape, count, name, manifest.where(where))
    facts = {"arch": name, "cus": count, "folder": str(folder)}
    path = None if pick.chosen is None else pick.chosen.row.path
    if not quiet:
        for note in _notes(pick, facts):
            print(f"isaprof: note: {note}", file=sys.stderr)
    return pick, path, facts


def require(pick: Pick, path: Path | None, folder: Path) -> Path:
    """The object, or BadInput saying why there is none."""
    if path is not None:
        return path
    if pick.driver is not None:
        raise BadInput(
            f"the driver takes {pick.driver.row.name}, which is not there", path=folder, kind="no_object"
        )
    reasons = dict.fromkeys(c.verdict for c in pick.candidates)
    raise BadInput(
        f"no kernel of the manifest serves this shape: {'; '.join(list(reasons)[:3])}",
        path=folder,
        kind="no_row",
        hint=f"isaprof run --co-dir {folder} --shape ... --list   shows every row and why",
    )


def _notes(pick: Pick, facts: dict[str, Any]) -> list[str]:
    chosen, driver = pick.chosen, pick.driver
    if chosen is None:
        return []
    if driver is not None and driver.row.path is None:
        return [
            f"the driver takes {_named(driver)}, which is not in {facts['folder']}; "
            f"of the objects there, {_named(chosen)}"
        ]
    return [f"{_named(chosen)} serves {pick.shape} on {facts['cus']} CUs"]


def _named(c: Candidate) -> str:
    return c.row.name + (f" with K split {c.split} times" if c.split > 1 else "")


def show(pick: Pick, facts: dict[str, Any], *, as_json: bool) -> None:
    """The candidates in the rule's order, and what it made of each."""
    from isaprof.launch.choose import describe

    if as_json:
        print(json.dumps({"schema_version": 1, **facts, **describe(pick)}))
        return
    header = ("object", "tile", "split", "workgroups", "rounds", "idle", "ratio", "there", "verdict")
    rows = [header]
    for c in pick.candidates:
        f = c.figures or {}
        tile = f"{f['tile_m']}x{f['tile_n']}" if f else "-"
        numbers = [str(f.get(k, "-")) for k in ("workgroups", "rounds", "empty")]
        ratio = f"{f['efficiency']:.1f}" if "efficiency" in f else "-"
        there = "yes" if c.row.path is not None else "no"
        marks = ("  <- driver" if c is pick.driver else "") + ("  <- runs" if _same(c, pick.chosen) else "")
        split = str(c.split) if c.fits else "-"
        rows.append((c.row.name, tile, split, *numbers, ratio, there, c.verdict + marks))  # type: ignore[arg-type]
    widths = [max(len(r[i]) for r in rows) for i in range(len(header) - 1)]
    print(f"shape {pick.shape} on {facts['arch']}, {facts['cus']} CUs; rule: {pick.rule}")
    for r in rows:
        print("  ".join([*(cell.ljust(w) for cell, w in zip(r[:-1], widths, strict=True)), r[-1]]))


def _same(a: Candidate, b: Candidate | None) -> bool:
    return b is not None and (a.row, a.split, a.fits) == (b.row, b.split, b.fits)
