"""Tiny rocprofv3 output of our own making, in every layout that its releases write.

No byte of it comes from a GPU: the figures are invented, the layouts are those
of AMD's public sources. ``python -m tests.backends.own_recordings DIR`` writes
all of them.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: rocprofv3 of ROCm 7.0; its 2026 line; the decoder's own Python writer
LAYOUTS = ("3.0.0", "3.1.0", "decoder-0.1.7")
KERNEL = "tiny"
#: text, address, and of each execution: category, stall, duration
CODE: tuple[tuple[str, int, int], ...] = (
    ("s_load_dwordx2 s[0:1], s[2:3], 0x0", 0x1000, 1),
    ("s_waitcnt lgkmcnt(0)", 0x1008, 9),
    ("v_add_f32_e32 v0, v1, v2", 0x100C, 6),
    ("s_nop 0", 0x1010, 9),
    ("s_endpgm", 0x1014, 11),
)
#: engine, SIMD, slot, begin
WAVES = ((0, 0, 0, 100), (0, 1, 0, 104), (3, 0, 0, 200))
CU = 1
#: time after the begin, category, stall, duration, line
ROWS = ((8, 1, 0, 4, 1), (12, 9, 40, 40, 2), (60, 6, 4, 8, 3), (80, 11, 0, 4, 5))
STATES = ((1, 8), (2, 4), (3, 40), (1, 8), (4, 4), (2, 4), (1, 12), (2, 4))
LIFE = 84
COLUMNS = ("CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source")


def totals() -> dict[int, tuple[int, int, int, int]]:
    """Line -> hits, latency, stall, idle by AMD's definitions."""
    out: dict[int, tuple[int, int, int, int]] = dict.fromkeys(range(1, len(CODE) + 1), (0,) * 4)
    for _ in WAVES:
        previous = 0
        for time, _, stall, duration, line in ROWS:
            old = out[line]
            new = (1, duration, stall, max(0, time - previous))
            out[line] = tuple(a + b for a, b in zip(old, new, strict=True))  # type: ignore[assignment]
            previous = max(previous, time + duration)
    return out


def _dump(path: Path, body: Any, layout: str) -> None:
    # nlohmann's compact form; the decoder's Python writer puts blanks and its own order
    compact: dict[str, Any] = {"separators": (",", ":"), "sort_keys": True}
    path.write_text(json.dumps(body, **({} if layout.startswith("decoder") else compact)))


def ui_output(
    parent: Path,
    layout: str = "3.0.0",
    *,
    dispatch: int = 1,
    agent: int = 7,
    gfxip: int = 9,
    kernel: str = KERNEL,
    occupied: Sequence[tuple[int, int]] | None = None,
    traced: bool = True,
) -> Path:
    """A ``ui_output_*`` directory. ``occupied``: (engine, CU) that waves ran on; ``traced``: with records."""
    out = parent / f"ui_output_agent_{agent}_dispatch_{dispatch}"
    out.mkdir(parents=True)
    new = layout != "3.0.0"
    sums = totals()
    code: list[list[Any]] = [[f"; {kernel}", 0, 0, f"{kernel}()" if new else "", 1, CODE[0][1], 0, 0, 0, 0]]
    for line, (text, vaddr, _) in enumerate(CODE, 1):
        code.append([text, 0, line, "tiny.hip:5" if new else "", 1, vaddr, *sums[line]])
    if new:
        code = [[*row, 0, 0, 0, []] for row in code]
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    version = "3.1.0" if new else "3.0.0"
    index: dict[str, Any] = {"code": code if traced else None, "header": header, "version": version}
    if new:
        index["header"] = header + ", ServiceType, Issued, Stalled, NotIssuedReasons"
        index["sqtt_funcmap"] = []
    _dump(out / "code.json", index, layout)
    tree: dict[str, Any] = {}
    occupancy: dict[str, list[list[int]]] = {}
    if traced:
        for se, simd, slot, begin in WAVES:
            name = f"se{se}_sm{simd}_sl{slot}_wv0.json"
            span = [name, begin, begin + LIFE]
            tree.setdefault(str(se), {}).setdefault(str(simd), {})[str(slot)] = {"0": span}
            _dump(out / name, _wave(se, simd, slot, begin, layout), layout)
            for time, start in ((begin, 1), (begin + LIFE, 0)):
                occupancy.setdefault(str(se), []).append([time, CU, simd, slot, start, 4])
    for n, (se, cu) in enumerate(occupied or ()):
        rows = occupancy.setdefault(str(se), [])
        rows += [[500 + n, cu, 0, 0, 1, 4], [600 + n, cu, 0, 0, 0, 4]]
    for rows in occupancy.values():
        rows.sort()
    if new:
        occupancy = {se: [[*r, 1, 0, 0, 0, 0] for r in rows] for se, rows in occupancy.items()}
    more: dict[str, Any] = {"dispatches": {"0": "0 / 0x0", "4": kernel if new else "1 / 0x1000"}}
    if new:
        event = {
            "kind": "dispatch",
            "time": 90,
            "me_id": 1,
            "pipe_id": 0,
            "kernel_id": 4,
            "kernel_name": kernel,
        }
        event |= {"thread_dim_x": 64, "thread_dim_y": 1, "thread_dim_z": 1}
        more |= {"occupancy_fields": ["time"], "events": {se: [event] for se in occupancy}}
    _dump(out / "occupancy.json", {**occupancy, **more, "version": version}, layout)
    names: dict[str, Any] = {
        "wave_filenames": tree or None, "gfxip": gfxip, "gfxv": "vega" if gfxip <= 9 else "navi",
        "counter_names": None, "global_begin_time": 0, "version": version,
    }  # fmt: skip
    if new:
        names |= {"other_simd_filenames": None, "shaderdata_filenames": None, "thread_trace": True,
                  "pc_sampling": False}  # fmt: skip
        _dump(
            out / "realtime.json",
            {"metadata": {"frequency": 100_000_000}, "SE0": [[6, 305], [226, 405]]},
            layout,
        )
    if new and gfxip > 10:
        names["other_simd_filenames"] = {"0": [["other_simd_se0_0.json", 0, 900]]}
        body = {"type": "OTHER_SIMD_INSTRUCTIONS", "instructions_schema": ["time", "duration", "category"],
                "instructions_count": 1, "instructions": [[130, 4, 3]]}  # fmt: skip
        _dump(out / "other_simd_se0_0.json", body, layout)
    if layout != "3.1.0":  # the newest tool drops them
        _dump(out / "wstates1.json", {"name": "wstates1.json", "time": [100, 184], "state": [1, 0]}, layout)
    _dump(out / "filenames.json", names, layout)
    return out


def _wave(se: int, simd: int, slot: int, begin: int, layout: str) -> dict[str, Any]:
    wave: dict[str, Any] = {
        "cu": CU, "simd": simd, "slot": slot, "id": 0, "begin": begin, "end": begin + LIFE,
        "instructions": [[begin + t, *rest] for t, *rest in ROWS],
        "timeline": [list(s) for s in STATES], "waitcnt": [[2, [[1, 0]]]],
    }  # fmt: skip
    if layout == "3.1.0":
        wave |= {"me_id": 1, "pipe_id": 0, "workgroup_id": 0, "cluster_id": 0}
    if layout.startswith("decoder"):
        wave |= {"dispatcher": 16, "info": {"s_waitcnt": 1, "s_waitcnt_stall": 40}}
    return {
        "name": f"SE{se}",
        "duration": LIFE,
        "num_insts": len(ROWS),
        "num_stitched": len(ROWS),
        "wave": wave,
    }


def stats(
    parent: Path, layout: str = "3.0.0", *, dispatch: int = 1, agent: int = 7, rows: bool = True
) -> Path:
    """The stats CSV. ``rows=False``: the header alone."""
    path = parent / f"stats_ui_output_agent_{agent}_dispatch_{dispatch}.csv"
    new = layout != "3.0.0"
    columns = [*COLUMNS[:7], *(("ServiceType", "Issued", "Stalled") if new else ()), "Source"]
    sums = totals()
    with path.open("w", newline="") as f:
        out = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writerow(columns)
        found: list[tuple[Any, ...]] = [(1, CODE[0][1], f"; {KERNEL}", 0, 0, 0, 0)]
        found += [(1, vaddr, text, *sums[line]) for line, (text, vaddr, _) in enumerate(CODE, 1)]
        for row in found if rows else ():
            out.writerow([*row, *((0, 0, 0) if new else ()), "tiny.hip:5" if new else ""])
    return path


# -- files beside the traces ------------------------------------------------------
AGENT = {"name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304, "simd_count": 1216,
         "num_xcc": 8, "max_waves_per_simd": 8, "wave_front_size": 64}  # fmt: skip
GRID, WORKGROUP = (8, 2, 1), (64, 1, 1)
BEGIN, END = 1_000_000, 1_012_345


def tables(parent: Path, dispatches: Sequence[int] = (1,)) -> None:
    """``*_kernel_trace.csv`` and ``*_agent_info.csv``."""
    threads = [g * w for g, w in zip(GRID, WORKGROUP, strict=True)]
    with (parent / "9_kernel_trace.csv").open("w", newline="") as f:
        out = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
        sizes = [f"{what}_Size_{a}" for what in ("Workgroup", "Grid") for a in "XYZ"]
        out.writerow(["Dispatch_Id", "Kernel_Name", "Start_Timestamp", "End_Timestamp", *sizes])
        for n in dispatches:
            out.writerow([n, KERNEL, BEGIN, END, *WORKGROUP, *threads])
    with (parent / "9_agent_info.csv").open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["Agent_Type", *(k.title() for k in AGENT)])
        out.writerow(["GPU", *AGENT.values()])


#: what rocprofv3 --pmc counted, as the values of the units that it sums
COUNTED = {"SQ_LDS_BANK_CONFLICT": (1200, 34), "SQ_LDS_IDX_ACTIVE": (4000, 936)}


def counter_table(
    parent: Path, dispatches: Sequence[int] = (1,), name: str = "9", kernel: str = KERNEL
) -> Path:
    """``*_counter_collection.csv``, as ROCm 6.4 and later write it."""
    path = parent / f"{name}_counter_collection.csv"
    with path.open("w", newline="") as f:
        out = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
        out.writerow(["Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id",
                      "Grid_Size", "Kernel_Id", "Kernel_Name", "Workgroup_Size", "LDS_Block_Size",
                      "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name",
                      "Counter_Value", "Start_Timestamp", "End_Timestamp"])  # fmt: skip
        for n in dispatches:
            for counter, units in COUNTED.items():
                out.writerow([n, n, "Agent 1", 1, 9, 9, 1024, 3, kernel, 64, 512, 0, 8, 0, 16, counter,
                              float(sum(units)), BEGIN, END])  # fmt: skip
    return path


LOADED_AT = 0x7F0000000000


def results(
    parent: Path, dispatches: Sequence[int] = (1,), base: int = LOADED_AT, *, counted: bool = False
) -> Path:
    """``*_results.json``. ``base``: where the code object was loaded; ``counted``: with --pmc."""
    threads = [g * w for g, w in zip(GRID, WORKGROUP, strict=True)]

    def xyz(values: Sequence[int]) -> dict[str, int]:
        return dict(zip("xyz", values, strict=True))

    tool = {
        "metadata": {"pid": 9},
        "agents": [{"id": {"handle": 1}, "name": "AMD EPYC", "cu_count": 0},
                   {"id": {"handle": 7}, "type": 2, **AGENT}],
        "strings": {"att_filenames": [{"key": n, "value": [7, [f"9_7_shader_engine_0_{n}.att"]]}
                                      for n in dispatches],
                    "code_object_snapshot_filenames": ["", "9_gfx942_code_object_id_1.out"]},
        "code_objects": [{"code_object_id": 1, "load_base": base, "load_delta": base}],
        "kernel_symbols": [{"kernel_id": 3, "code_object_id": 1, "kernel_name": "_Z4tinyv.kd",
                            "formatted_kernel_name": KERNEL}],
        "buffer_records": {"kernel_dispatch": [
            {"start_timestamp": BEGIN, "end_timestamp": END,
             "dispatch_info": {"agent_id": {"handle": 7}, "kernel_id": 3, "dispatch_id": n,
                               "workgroup_size": xyz(WORKGROUP), "grid_size": xyz(threads)}}
            for n in dispatches]},
        "counters": [{"id": {"handle": 40 + i}, "name": name} for i, name in enumerate(COUNTED)],
        "callback_records": {"counter_collection": [
            {"dispatch_data": {"dispatch_info": {"dispatch_id": n, "kernel_id": 3}},
             "records": [{"counter_id": {"handle": 40 + i}, "value": float(v)}
                         for i, units in enumerate(COUNTED.values()) for v in units]}
            for n in dispatches if counted]},
    }  # fmt: skip
    path = parent / "9_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


def rocpd(
    parent: Path, schema: int = 3, dispatches: Sequence[int] = (1,), base: int = LOADED_AT,
    *, counted: bool = False,
) -> Path:  # fmt: skip
    """``*_results.db``: the tables that matter, as schema 3 or 4 has them; ``counted``: with --pmc."""
    path = parent / "9_results.db"
    threads = [g * w for g, w in zip(GRID, WORKGROUP, strict=True)]
    uuid = "_0000f00d_1234_7abc_8def_0123456789ab"
    sizes = ", ".join(f"{what}_size_{a} integer" for what in ("workgroup", "grid") for a in "xyz")
    where = "agent_id integer, " if schema == 3 else "track_id integer, "
    name = (
        "name text, product_name text" if schema == 3 else "name text, generic_name text, product_name text"
    )
    with sqlite3.connect(path) as db:
        db.execute(f'create table "rocpd_metadata{uuid}" (id integer primary key, tag text, value text)')
        db.execute(
            f'create table "rocpd_kernel_dispatch{uuid}" (id integer primary key, {where} kernel_id integer, '
            f'dispatch_id integer, start bigint, "end" bigint, {sizes}, event_id integer)'
        )
        db.execute(
            f'create table "rocpd_info_kernel_symbol{uuid}" (id integer primary key, kernel_name text, '
            "display_name text)"
        )
        db.execute(
            f'create table "rocpd_info_agent{uuid}" (id integer primary key, type text, {name}, extdata)'
        )
        db.execute(
            f'create table "rocpd_info_code_object{uuid}" (id integer primary key, load_base bigint, '
            "load_delta bigint)"
        )
        db.execute(f'insert into "rocpd_info_kernel_symbol{uuid}" values (3, ?, ?)', ("_Z4tinyv.kd", KERNEL))
        extra = json.dumps({k: v for k, v in AGENT.items() if k not in ("name", "product_name")})
        given = (AGENT["name"],) if schema == 3 else (None, AGENT["name"])
        marks = ", ".join("?" * (len(given) + 2))
        db.execute(
            f"insert into \"rocpd_info_agent{uuid}\" values (1, 'GPU', {marks})",
            (*given, AGENT["product_name"], extra),
        )
        db.execute(f'insert into "rocpd_info_code_object{uuid}" values (1, ?, ?)', (base,) * 2)
        for n in dispatches:
            db.execute(
                f'insert into "rocpd_kernel_dispatch{uuid}" values (?, 1, 3, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
                (n, n, BEGIN, END, *WORKGROUP, *threads, 100 + n),
            )
        db.execute(f'create table "rocpd_info_pmc{uuid}" (id integer primary key, name text)')
        db.execute(f'create table "rocpd_pmc_event{uuid}" (id integer primary key, event_id integer, '
                   "pmc_id integer, value real)")  # fmt: skip
        for i, (counter, units) in enumerate(COUNTED.items()):
            db.execute(f'insert into "rocpd_info_pmc{uuid}" values (?, ?)', (40 + i, counter))
            for n in dispatches if counted else ():
                rows = [(100 + n, 40 + i, float(v)) for v in units]
                db.executemany(
                    f'insert into "rocpd_pmc_event{uuid}" (event_id, pmc_id, value) values (?, ?, ?)', rows
                )
        db.execute(f'create view rocpd_kernel_dispatch as select * from "rocpd_kernel_dispatch{uuid}"')
    db.close()
    return path


def main(target: Path) -> None:
    """All of them, below ``target``."""
    for layout in LAYOUTS:
        folder = target / layout
        ui_output(folder, layout)
        stats(folder, layout)
        tables(folder)
        results(folder)
    rocpd(target / LAYOUTS[0], 3)
    rocpd(target / LAYOUTS[1], 4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
