"""A shared library of our own that speaks the interface of AMD's trace decoder.

It decodes nothing: it hands out the records that a table says, for whichever
buffer it gets. The table is C source made from what AMD's real decoder wrote
for the same buffers (ui_output), so that the whole way from the buffers to the
Capture is walked with real figures.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

#: V1: only the older interface; EXTRA: words that a later release appends to a wave
_DEFINES = {"V1": 0, "EXTRA": 0, "CRASH": 0, "HANG": 0, "GFXIP": 9}
_TYPES = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { uint64_t address, object; } pc_t;
typedef struct { uint32_t category : 8, stall : 24; int32_t duration; int64_t time; pc_t pc; } inst_t;
typedef struct { int32_t type, duration; } state_t;
typedef struct {
    uint8_t cu, simd, wave_id, contexts, dispatcher, workgroup_id, cluster_id, reserved;
    uint64_t size; int64_t begin, end; uint64_t timeline_size, instructions_size;
    state_t* timeline; inst_t* instructions;
#if EXTRA
    uint64_t later[EXTRA];
#endif
} wave_t;
typedef struct { pc_t pc; uint64_t time; uint8_t reserved, cu, simd, wave_id;
    uint32_t start : 1, me : 3, pipe : 4, ext : 1, wg : 7, cluster : 5, rest : 11; } occupancy_t;
typedef struct { int64_t time; uint16_t c0, c1, c2, c3; uint8_t cu, bank; } counter_t;
typedef int (*trace_cb)(int, void*, uint64_t, void*);
typedef int (*isa_cb)(char*, uint64_t*, uint64_t*, pc_t, void*);
typedef uint64_t (*data_cb)(uint8_t**, uint64_t*, void*);
typedef struct { uint64_t hash, waves_at, waves, occ_at, occ, count_at, counts; } engine_t;
"""

_BODY = r"""
static uint64_t hash_of(const uint8_t* p, uint64_t n) {
    uint64_t h = 1469598103934665603ull;
    for (uint64_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211ull;
    return h;
}
static int parse(const uint8_t* data, uint64_t n, trace_cb cb, isa_cb isa, void* isa_ud, void* ud) {
    if (CRASH) abort();
    while (HANG) {}
    if (n < 8) return 4;
    uint64_t h = hash_of(data, n);
    for (unsigned k = 0; k < sizeof engines / sizeof *engines; k++) {
        if (engines[k].hash != h) continue;
        cb(0, (void*)GFXIP, 1, ud);
        wave_t* w = calloc(engines[k].waves + 1, sizeof *w);
        for (uint64_t i = 0; i < engines[k].waves; i++) {
            w[i] = waves[engines[k].waves_at + i];
            w[i].size = sizeof *w;
            /* as the real one does: the text of every instruction is asked for, with a short buffer first */
            for (uint64_t j = 0; j < w[i].instructions_size; j++) {
                char text[256]; uint64_t size = 0, length = 3; pc_t pc = w[i].instructions[j].pc;
                int status = isa(text, &size, &length, pc, isa_ud);
                if (status == 2) status = isa(text, &size, &length, pc, isa_ud);
                if (status || !size || length < 4) w[i].instructions[j].pc = (pc_t){0, 0};
            }
        }
        cb(1, occupancy + engines[k].occ_at, engines[k].occ, ud);
        cb(2, counters + engines[k].count_at, engines[k].counts, ud);
        if (engines[k].waves) cb(3, w, engines[k].waves, ud);
        cb(77, w, 1, ud); /* a record type of a later release */
        memset(w, 0x5a, engines[k].waves * sizeof *w);
        free(w);
        return 0;
    }
    return 4;
}
#if V1
int rocprof_trace_decoder_parse_data(data_cb more, trace_cb cb, isa_cb isa, void* ud) {
    uint8_t* data = 0; uint64_t n = 0;
    if (!more(&data, &n, ud)) return 4;
    int status = parse(data, n, cb, isa, ud, ud);
    if (more(&data, &n, ud)) return 1;
    return status;
}
#else
static isa_cb the_isa; static void* the_ud;
typedef struct { uint64_t handle; } handle_t;
int rocprof_trace_decoder_create_handle(handle_t* h) { h->handle = 7; return 0; }
int rocprof_trace_decoder_destroy_handle(handle_t h) { return h.handle == 7 ? 0 : 3; }
int rocprof_trace_decoder_set_isa_callback(handle_t h, isa_cb cb, void* ud) {
    the_isa = cb; the_ud = ud; return h.handle == 7 ? 0 : 3;
}
int rocprof_trace_decoder_parse(handle_t h, const void* data, uint64_t n, trace_cb cb, void* ud) {
    return h.handle == 7 ? parse(data, n, cb, the_isa, the_ud, ud) : 3;
}
typedef struct { uint64_t size; uint32_t major, minor, patch; } version_t;
int rocprof_trace_decoder_get_version(version_t* v) { v->major = 0; v->minor = 2; v->patch = 3; return 0; }
#endif
"""


def fnv(data: bytes) -> int:
    """The hash by which the library knows a buffer."""
    h = 1469598103934665603
    for b in data:
        h = (h ^ b) * 1099511628211 & (1 << 64) - 1
    return h


def tables(ui: Path, buffers: dict[int, Path], entry: tuple[int, int]) -> str:
    """C tables of what ``ui`` says about the engines. ``entry``: address and object of the kernel."""
    rows = [r for r in json.loads((ui / "code.json").read_text())["code"] if not r[0].startswith(";")]
    place = {r[2]: (r[5], r[4]) for r in rows}
    occupancy = json.loads((ui / "occupancy.json").read_text())

    def counters(se: int) -> list[Any]:
        return list(json.loads((ui / f"se{se}_perfcounter.json").read_text())["data"])

    engines = [
        (path, [json.loads(f.read_text())["wave"] for f in sorted(ui.glob(f"se{se}_sm*_wv*.json"))],
         occupancy.get(str(se), []), counters(se))
        for se, path in sorted(buffers.items())
    ]  # fmt: skip
    return source(engines, place, entry)


def source(
    given: list[tuple[Path, list[dict[str, Any]], list[Any], list[Any]]],
    place: dict[int, tuple[int, int]],
    entry: tuple[int, int],
) -> str:
    """C tables of engines: buffer, waves as in wave files, occupancy and counter rows as in ui_output.

    ``place``: line -> address and object.
    """
    insts, states, waves, occ, counts, engines = [], [], [], [], [], []
    for path, found, occupied, counted in given:
        first = (len(waves), len(occ), len(counts))
        for w in found:
            at = (len(states), len(insts))
            states += [f"{{{a}, {b}}}" for a, b in w["timeline"]]
            insts += [
                f"{{{c}, {s}, {d}, {t}, {{{place[line][0]}, {place[line][1]}}}}}"
                for t, c, s, d, line in w["instructions"]
            ]
            waves.append(
                f"{{{w['cu']}, {w['simd']}, {w['slot']}, 0, 0, 0, 0, 0, 0, {w['begin']}, {w['end']}, "
                f"{len(w['timeline'])}, {len(w['instructions'])}, states + {at[0]}, insts + {at[1]}}}"
            )
        for t, cu, simd, slot, start, kernel in occupied:
            pc = f"{{{entry[0]}, {entry[1]}}}" if kernel else "{0, 0}"
            occ.append(f"{{{pc}, {t}, 0, {cu}, {simd}, {slot}, {start}, 0, 0, 0, 0, 0, 0}}")
        for t, *c, cu, bank in counted:
            counts.append(f"{{{t}, {', '.join(map(str, c))}, {cu}, {bank}}}")
        sizes = [b - a for a, b in zip(first, (len(waves), len(occ), len(counts)), strict=True)]
        spans = ", ".join(f"{a}, {n}" for a, n in zip(first, sizes, strict=True))
        engines.append(f"{{{fnv(path.read_bytes())}ull, {spans}}}")
    return "\n".join(
        f"static {kind} {name}[] = {{{', '.join(found) or '{0}'}}};"
        for kind, name, found in (
            ("state_t", "states", states),
            ("inst_t", "insts", insts),
            ("wave_t", "waves", waves),
            ("occupancy_t", "occupancy", occ),
            ("counter_t", "counters", counts),
            ("engine_t", "engines", engines),
        )
    )


def build(folder: Path, body: str, name: str = "librocprof-trace-decoder.so", **defines: int) -> Path:
    """Compile the library. ``defines``: see :data:`_DEFINES`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) for a decoder library of our own")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "fake.c"
    source.write_text(_TYPES + body + _BODY)
    flags = [f"-D{k}={v}" for k, v in {**_DEFINES, **defines}.items()]
    out = folder / name
    subprocess.run([compiler, "-O0", "-w", "-shared", "-fPIC", *flags, "-o", out, source], check=True)
    return out
