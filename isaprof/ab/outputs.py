"""B's outputs against A's: equal bits, largest differences, cosine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isaprof.ab.model import OutputDifference
from isaprof.errors import BadInput

if TYPE_CHECKING:
    from isaprof.launch.file import Tolerance
    from isaprof.launch.resolve import OperandBuffer, ResolvedLaunch


def require_same_outputs(a: ResolvedLaunch, b: ResolvedLaunch) -> tuple[str, ...]:
    """Notes on launches that differ; BadInput where their outputs cannot be compared."""
    if a.file.operands is b.file.operands:  # B is launched by the file of A
        return ()
    shapes_a, shapes_b = ({o.name: o.shape for o in _outputs(x)} for x in (a, b))
    if shapes_a != shapes_b:
        raise BadInput(
            f"the launch files describe different outputs: A {_named(shapes_a)}, B {_named(shapes_b)}",
            path=b.file.origin,
            kind="launch_mismatch",
            hint="name B's outputs as A's launch file does",
        )
    notes = []
    mine = {o.name: o for o in a.operands if o.role in ("input", "inout")}
    for o in b.operands:
        if o.role not in ("input", "inout"):
            continue
        other = mine.get(o.name)
        if other is None or other.shape != o.shape:
            notes.append(f"input {o.name} of B is none of A's: the outputs may rightly differ")
        elif not np.array_equal(other.values(), o.values(), equal_nan=True):
            notes.append(f"input {o.name} holds other values in B ({other.dtype} and {o.dtype})")
    if a.grid != b.grid or a.workgroup != b.workgroup:
        notes.append(f"A runs {a.grid} workgroups of {a.workgroup} threads, B {b.grid} of {b.workgroup}")
    return tuple(notes)


def difference(
    seed: int,
    launch_a: ResolvedLaunch,
    a: Mapping[str, bytes],
    launch_b: ResolvedLaunch,
    b: Mapping[str, bytes],
    *,
    sampled: bool,
) -> OutputDifference:
    """Compare two runs with the same seed, by the tolerance of A's launch file.

    ``sampled``: not all workgroups ran; elements that neither run touched are
    left out.
    """
    tol = launch_a.tolerance
    parts: list[tuple[OperandBuffer, NDArray[Any], NDArray[Any], NDArray[np.int64]]] = []
    equal = total = 0
    bitwise = True
    for buffer in _outputs(launch_a):
        other = launch_b.operand(buffer.name)
        x, y = buffer.values(a[buffer.name]).reshape(-1), other.values(b[buffer.name]).reshape(-1)
        total += x.size
        mask = np.ones(x.size, np.bool_)
        if sampled and buffer.type.bits >= 8 and other.type.bits >= 8:
            mask = _touched(buffer, a[buffer.name]) | _touched(other, b[buffer.name])
        if buffer.dtype == other.dtype and buffer.type.bits >= 8:
            same = (buffer.codes(a[buffer.name]) == other.codes(b[buffer.name])).all(axis=1)
        else:
            bitwise = False
            same = (x == y) | (np.isnan(x) & np.isnan(y))
        equal += int((same & mask).sum())
        at = np.flatnonzero(mask)
        parts.append((buffer, x[at].astype(np.float64), y[at].astype(np.float64), at))
    all_a = np.concatenate([p[1] for p in parts]) if parts else np.zeros(0)
    all_b = np.concatenate([p[2] for p in parts]) if parts else np.zeros(0)
    finite = np.isfinite(all_a) & np.isfinite(all_b)
    fa, fb = all_a[finite], all_b[finite]
    floor = tol.rel_floor
    if floor is None:
        floor = 0.01 * float(np.sqrt(np.mean(fa**2))) if fa.size else 0.0
    floor = max(floor, float(np.finfo(np.float32).tiny))
    gap = np.abs(fb - fa)
    beyond, worst = _beyond(parts, tol)
    return OutputDifference(
        seed,
        int(all_a.size),
        total,
        equal,
        bitwise,
        float(gap.max()) if fa.size else None,
        float((gap / np.maximum(np.abs(fa), floor)).max()) if fa.size else None,
        floor,
        _cosine(fa, fb),
        beyond,
        worst,
        tol.cosine,
    )


def _beyond(parts: list[Any], tol: Tolerance) -> tuple[int, str]:
    """(elements beyond the tolerance, the worst of them)."""
    count, most, worst = 0, 0.0, ""
    for buffer, x, y, at in parts:
        peak = float(np.abs(x[np.isfinite(x)]).max(initial=0.0))
        exact = buffer.name in tol.exact
        atol, rtol = (0.0, 0.0) if exact else (tol.absolute(peak), tol.rtol)
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            gap = np.where(np.isfinite(x) & np.isfinite(y), np.abs(y - x), np.inf)
            bad = ~same & ~(gap <= atol + rtol * np.abs(x))
        count += int(bad.sum())
        if bad.any():
            i = int(np.argmax(np.where(bad, gap, -1.0)))
            if gap[i] > most:
                most = float(gap[i])
                place = ", ".join(str(int(k)) for k in np.unravel_index(at[i], buffer.shape))
                worst = f"{buffer.name}[{place}]: A {x[i]:g}, B {y[i]:g}"
    return count, worst


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    if not a.size:
        return None
    aa, bb = float(a @ a), float(b @ b)
    if aa == 0 or bb == 0:
        return 1.0 if aa == bb else 0.0
    return min(1.0, float(a @ b / np.sqrt(aa) / np.sqrt(bb)))


def _touched(buffer: OperandBuffer, after: bytes) -> NDArray[np.bool_]:
    return np.asarray((buffer.codes(after) != buffer.codes()).any(axis=1), np.bool_)


def _outputs(launch: ResolvedLaunch) -> list[OperandBuffer]:
    return [o for o in launch.operands if o.role in ("output", "inout")]


def _named(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{n}{list(s)}" for n, s in shapes.items()) or "none"
