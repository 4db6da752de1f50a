"""Decoding speed of raw SQTT against tinygrad's decoder, in one run on this machine.

    python benchmarks/decode.py [--data DIR] [--mb 64] [--repeat 5] [--json]

For each generation with recorded traces a buffer is put together from random
runs of 16 to 200 real packets (repeating one trace would flatter the branch
predictor). isaprof decodes all of it into the columns time, type, wave, SIMD
and op, their allocation included; the peer iterates over the packets of a cut
of the same buffer. Both are timed on one core, after a warm-up, best of
``--repeat``; the two take turns, so that load on the machine meets both.

The ratio comes first, because it depends least on the machine. "streamed" is
the same in pieces of a million packets, as an import reads it. Both use the
memory of dropped columns again (isaprof/parsers/sqtt/memory.py); "first use of
memory" is the whole buffer without that: most of the difference is the time
in which the operating system clears pages.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt import memory
from isaprof.parsers.sqtt.columns import decode_columns, iter_columns
from isaprof.parsers.sqtt.frame import decode
from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.header import read_header

FOLDERS = {"gfx9": "gfx950", "gfx11": "gfx1100", "gfx12": "gfx1200"}
RUN = (16, 200)  #: packets of one run


def nibbles(data: bytes) -> NDArray[np.uint8]:
    raw = np.frombuffer(data, np.uint8)
    out = np.empty(2 * len(raw), np.uint8)
    out[0::2], out[1::2] = raw & 15, raw >> 4
    return out


def pieces(folder: Path) -> tuple[bytes, list[tuple[NDArray[np.uint8], NDArray[np.int64]]]]:
    """Header bytes, and for each real trace its nibbles and the nibble every packet begins at."""
    found, head = [], b""
    for path in sorted(folder.glob("*/*.sqtt")):
        data = path.read_bytes()
        s = decode(data)
        width = np.array([p.bits for p in s.generation.packets], np.int64)
        keep = np.array([p.kind != "HEADER" for p in s.generation.packets])[s.type]
        edges = np.append(s.bit[keep], s.bit[-1] + width[s.type[-1]]) // 4
        if len(edges) > RUN[0] + 1:
            found.append((nibbles(data), edges))
            head = head or data[:8]
    return head, found


def buffer(folder: Path, size: int, seed: int) -> bytes:
    """``size`` bytes of random runs of real packets after a real header."""
    random = np.random.default_rng(seed)
    head, traces = pieces(folder)
    share = np.array([len(edges) for _, edges in traces], float)
    chosen = random.choice(len(traces), size=1 << 16, p=share / share.sum()).tolist()
    parts, n = [nibbles(head)], 16
    i = 0
    while n < 2 * size:
        stream, edges = traces[chosen[i % len(chosen)]]
        i += 1
        count = int(random.integers(RUN[0], RUN[1] + 1))
        first = int(random.integers(0, max(len(edges) - 1 - RUN[0], 1)))
        part = stream[edges[first] : edges[min(first + count, len(edges) - 1)]]
        parts.append(part)
        n += len(part)
    whole = np.concatenate(parts)[: 2 * size]
    return (whole[0::2] | whole[1::2] << 4).tobytes()


def seconds(work: Callable[[], Any]) -> float:
    gc.collect()
    begin = time.perf_counter()
    result = work()
    end = time.perf_counter()
    del result
    return end - begin


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time of all threads: what remains comparable where others use the machine."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def stream_all(data: bytes) -> int:
    return sum(len(c.time) for c in iter_columns(data))


def fresh(data: bytes) -> Any:
    """As in a process that has decoded nothing before: no memory is used again."""
    memory.release()
    return decode_columns(data)


def measure(name: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    from tinygrad.renderer.amd.sqtt import decode as peer_decode

    size = args.mb << 20
    data, second = buffer(folder, size, 1), buffer(folder, size, 2)
    cut = data[: args.peer_kb << 10]
    simd = read_header(data).simd_mask
    begin = time.perf_counter()
    packets = len(decode_columns(data).time)
    warm = time.perf_counter() - begin
    times: dict[str, list[float]] = {k: [] for k in ("columns", "fresh", "stream", "peer", "two")}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(decode_columns, (data[: 1 << 22], second[: 1 << 22])))
        for _ in range(args.repeat):
            times["columns"].append(seconds(lambda: decode_columns(data)))
            times["fresh"].append(seconds(lambda: fresh(data)))
            times["stream"].append(seconds(lambda: stream_all(data)))
            times["peer"].append(seconds(lambda: deque(peer_decode(cut), maxlen=0)))
            times["two"].append(seconds(lambda: list(pool.map(stream_all, (data, second)))))
        one = cpu_seconds(lambda: stream_all(data))
        both = cpu_seconds(lambda: list(pool.map(stream_all, (data, second))))
    best = {k: min(v) for k, v in times.items()}
    rate = {k: size / best[k] / 1e6 for k in ("columns", "fresh", "stream")}
    peer = len(cut) / best["peer"] / 1e6
    return {
        "generation": name,
        "ratio": rate["columns"] / peer,
        "ratio_fresh_memory": rate["fresh"] / peer,
        "ratio_streamed": rate["stream"] / peer,
        "MB_per_s": rate["columns"],
        "MB_per_s_fresh_memory": rate["fresh"],
        "MB_per_s_streamed": rate["stream"],
        "peer_MB_per_s": peer,
        "packets": packets,
        "packets_per_s": packets / best["columns"],
        "bytes_per_packet": size / packets,
        "two_cores": 2 * best["stream"] / best["two"],
        "two_cores_per_cpu_second": 2 * one / both,
        "first_call_s": warm,
        "traced_simd_mask": simd,
    }


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    here = Path(__file__).resolve().parent.parent
    default = os.environ.get("ISAPROF_DATA") or here.parent / "shared" / "data"
    p.add_argument("--data", type=Path, default=default, help="folder with sqtt/<arch>/ ($ISAPROF_DATA)")
    p.add_argument("--mb", type=int, default=64, help="buffer size, MiB")
    p.add_argument("--peer-kb", type=int, default=1024, help="cut that the peer decodes, KiB")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--generation", choices=sorted(FOLDERS), action="append")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    rows = []
    for name in args.generation or FOLDERS:
        assert name in GENERATIONS
        folder = Path(args.data) / "sqtt" / FOLDERS[name]
        if not folder.is_dir():
            print(f"{name}: no traces in {folder} (set ISAPROF_DATA)", file=sys.stderr)
            continue
        rows.append(measure(name, folder, args))
        if not args.json:
            r = rows[-1]
            print(
                f"{name:6} {r['ratio']:6.0f} x tinygrad   (streamed {r['ratio_streamed']:.0f} x, "
                f"first use of memory {r['ratio_fresh_memory']:.0f} x)   "
                f"{r['MB_per_s']:.0f} MB/s, streamed {r['MB_per_s_streamed']:.0f}   "
                f"peer {r['peer_MB_per_s']:.2f} MB/s   {r['packets_per_s'] / 1e6:.0f} M packets/s   "
                f"{r['bytes_per_packet']:.2f} bytes/packet   2 cores {r['two_cores']:.2f} x "
                f"({r['two_cores_per_cpu_second']:.2f} of the rate for each CPU second)"
            )
    if args.json:
        print(json.dumps({"schema_version": 1, "python": platform.python_version(), "results": rows}))
    return 0 if rows else 3


if __name__ == "__main__":
    sys.exit(main())
