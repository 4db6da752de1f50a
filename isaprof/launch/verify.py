"""The verdict on a kernel's output, by the launch file's reference and tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput
from isaprof.launch.expr import ExprError
from isaprof.launch.references import Case, ReferenceError_, load_all

if TYPE_CHECKING:
    from isaprof.launch.resolve import OperandBuffer, ResolvedLaunch

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Verification:
    """Output against reference.

    ``max_rel_err`` divides by max(|ref|, ``rel_floor``). Errors and cosine are
    over the elements where both sides are finite; an element that is finite on
    one side only fails the verdict. ``verified`` is None where the launch file
    names no reference, or verification was not asked for. ``checked`` of
    ``total`` output elements were judged: those of the workgroups that ran.
    """

    verified: bool | None
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    cosine: float | None = None
    checked: int = 0
    total: int = 0
    message: str = ""
    rel_floor: float | None = None
    failed: int = 0  #: elements outside the tolerance
    unwritten: int = 0  #: elements that still hold the poison
    nonfinite: int = 0  #: elements that are finite on one side only
    padding_written: int = 0  #: padding bytes that changed
    worst: str = ""  #: where the largest violation is: "C[3, 7]"
    tolerance: str = ""  #: the rule that was applied, in words

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; non-finite figures become None."""
        return {
            k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in asdict(self).items()
        }


NOT_ASKED = Verification(None, message="not verified: --no-verify")


@dataclass(slots=True)
class _Sums:
    """What adds up over several outputs."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    dot: float = 0.0
    aa: float = 0.0
    bb: float = 0.0
    compared: int = 0
    worst_excess: float = 0.0


def verify(
    launch: ResolvedLaunch, outputs: Mapping[str, bytes], workgroups: tuple[Dim3, ...] | None
) -> Verification:
    """Compare ``outputs`` with the reference (see ResolvedLaunch.verify)."""
    buffers = [o for o in launch.operands if o.role in ("output", "inout")]
    total = sum(int(o.placement.positions.size) for o in buffers)
    if launch.file.reference is None:
        return Verification(None, total=total, message="not verified: the launch file names no reference")
    expected = _expected(launch, buffers)
    tol = launch.tolerance
    floor = tol.rel_floor
    if floor is None:
        refs = np.concatenate([e.reshape(-1).astype(np.float64) for e in expected.values()])
        refs = refs[np.isfinite(refs)]
        floor = 0.01 * float(np.sqrt(np.mean(refs**2))) if refs.size else 0.0
    floor = max(floor, float(np.finfo(np.float32).tiny))
    sums, counts = _Sums(), {"failed": 0, "unwritten": 0, "nonfinite": 0, "padding": 0, "checked": 0}
    worst, by_poison, largest = "", False, 0.0
    for buffer in buffers:
        after = outputs[buffer.name]
        counts["padding"] += _padding_written(buffer, after)
        mask, guessed = _ran(launch, buffer, after, workgroups)
        by_poison |= guessed
        peak = _peak(expected[buffer.name])
        largest = largest if buffer.name in tol.exact else max(largest, peak)
        limits = (0.0, 0.0) if buffer.name in tol.exact else (tol.absolute(peak), tol.rtol)
        apart = buffer.name in tol.exact and len(buffers) > 1  # numbers of things are no magnitudes
        into = _Sums() if apart else sums
        where = _compare(buffer, after, expected[buffer.name], mask, limits, floor, into, counts)
        worst = where or worst
    cosine = _cosine(sums)
    ok = counts["failed"] == 0 and counts["padding"] == 0 and counts["checked"] > 0
    reasons = []
    if counts["checked"] == 0:
        reasons.append("no output element was written")
    if counts["failed"]:
        reasons.append(
            f"{counts['failed']} of {counts['checked']} elements outside the tolerance, worst {worst}"
        )
    if counts["unwritten"]:
        reasons.append(f"{counts['unwritten']} never written")
    if counts["nonfinite"]:
        reasons.append(f"{counts['nonfinite']} not finite where the reference is, or the reverse")
    if counts["padding"]:
        reasons.append(f"{counts['padding']} bytes written outside the output's elements")
    if tol.cosine is not None and (cosine is None or cosine < tol.cosine):
        ok = False
        reasons.append(f"cosine {cosine if cosine is None else format(cosine, '.6f')} is below {tol.cosine}")
    message = "; ".join(reasons) or "within the tolerance"
    if by_poison:
        message += " (checked: the elements that were written; the launch file names no tile per workgroup)"
    have = sums.compared > 0
    return Verification(
        ok, sums.max_abs if have else None, sums.max_rel if have else None, cosine, counts["checked"], total,
        message, floor, counts["failed"], counts["unwritten"], counts["nonfinite"], counts["padding"], worst,
        tol.text(largest),
    )  # fmt: skip


def _expected(launch: ResolvedLaunch, buffers: list[OperandBuffer]) -> dict[str, NDArray[Any]]:
    file = launch.file
    known = load_all()
    function = known.get(str(file.reference))
    if function is None:
        raise BadInput(
            f"unknown reference {file.reference!r} (known: {', '.join(sorted(known))})",
            path=file.origin,
            kind="bad_launch_file",
            hint="--plugin FILE.py may register more",
        )
    inputs = {o.name: o.values() for o in launch.operands if o.role in ("input", "inout")}
    shapes = {o.name: o.shape for o in buffers}
    try:
        with np.errstate(all="ignore"):
            case = Case(inputs, dict(launch.shape), dict(file.reference_parameters), shapes, launch.scalars)
            expected = function(case)
    except (ReferenceError_, ValueError) as e:
        raise BadInput(f"[reference]: {e}", path=file.origin, kind="bad_launch_file") from None
    for name, shape in shapes.items():
        if name not in expected or expected[name].shape != shape:
            got = expected[name].shape if name in expected else "nothing"
            raise BadInput(
                f"[reference] {file.reference} gives {got} for output {name} of shape {shape}",
                path=file.origin,
                kind="bad_launch_file",
            )
    return expected


def _compare(
    buffer: OperandBuffer,
    after: bytes,
    expected: NDArray[Any],
    mask: NDArray[np.bool_],
    limits: tuple[float, float],
    floor: float,
    sums: _Sums,
    counts: dict[str, int],
) -> str:
    """Add one output to ``sums`` and ``counts``; returns the worst place if it is the worst so far."""
    got = buffer.values(after).reshape(-1)
    want = expected.reshape(-1)
    poisoned = _poisoned(buffer, after) if buffer.role == "output" else None
    worst = ""
    for start in range(0, got.size, _CHUNK):  # intermediate arrays of one part at a time
        part = slice(start, start + _CHUNK)
        index = np.flatnonzero(mask[part])
        g = got[part][index]
        w = want[part][index].astype(g.dtype if g.dtype == np.int64 else np.float64)
        unwritten = None if poisoned is None else poisoned[part][index]
        at = _compare_part(g, w, unwritten, limits, floor, sums, counts)
        if at is not None:
            place = ", ".join(str(int(i)) for i in np.unravel_index(start + index[at], buffer.shape))
            worst = f"{buffer.name}[{place}] = {g[at]:g}, expected {w[at]:g}"
    return worst


#: elements compared at a time
_CHUNK = 1 << 20


def _compare_part(
    g: NDArray[Any],
    w: NDArray[Any],
    unwritten: NDArray[np.bool_] | None,
    limits: tuple[float, float],
    floor: float,
    sums: _Sums,
    counts: dict[str, int],
) -> int | None:
    """Add elements to ``sums`` and ``counts``; the index of the worst violation so far, if it is here."""
    atol, rtol = limits
    counts["checked"] += int(g.size)
    with np.errstate(all="ignore"):
        finite = np.isfinite(g) & np.isfinite(w)
        same = (np.isnan(g) & np.isnan(w)) | (g == w)
        diff = np.where(finite, np.abs(g.astype(np.float64) - w.astype(np.float64)), np.inf)
        diff = np.where(same, 0.0, diff)
        limit = atol + rtol * np.abs(w.astype(np.float64))
        bad = ~same & ~(diff <= limit)
        excess = np.where(bad, diff - np.where(np.isfinite(limit), limit, 0.0), 0.0)
    counts["failed"] += int(bad.sum())
    counts["nonfinite"] += int((bad & ~finite).sum())
    if unwritten is not None:
        counts["unwritten"] += int((unwritten & bad).sum())
    if finite.any():
        gf, wf = g[finite].astype(np.float64), w[finite].astype(np.float64)
        sums.compared += int(finite.sum())
        sums.max_abs = max(sums.max_abs, float(diff[finite].max()))
        sums.max_rel = max(sums.max_rel, float((diff[finite] / np.maximum(np.abs(wf), floor)).max()))
        sums.dot += float(gf @ wf)
        sums.aa += float(gf @ gf)
        sums.bb += float(wf @ wf)
    if bad.any():
        at = int(np.argmax(excess))
        if excess[at] > sums.worst_excess:
            sums.worst_excess = float(excess[at])
            return at
    return None


def _peak(expected: NDArray[Any]) -> float:
    """max|ref| over what is finite."""
    values = np.abs(expected[np.isfinite(expected)])
    return float(values.max()) if values.size else 0.0


def _cosine(sums: _Sums) -> float | None:
    if not sums.compared:
        return None
    if sums.aa == 0 or sums.bb == 0:
        return 1.0 if sums.aa == sums.bb else 0.0
    return float(sums.dot / np.sqrt(sums.aa) / np.sqrt(sums.bb))


def _poisoned(buffer: OperandBuffer, after: bytes) -> NDArray[np.bool_]:
    """Logical elements whose bytes are still the poison (sub-byte types: none can be told)."""
    n = int(buffer.placement.positions.size)
    if buffer.type.bits < 8:
        return np.zeros(n, np.bool_)
    width = buffer.type.bits // 8
    pattern = buffer.type.poisoned(width)
    return np.asarray((buffer.codes(after) == pattern).all(axis=1), np.bool_)


def _padding_written(buffer: OperandBuffer, after: bytes) -> int:
    if buffer.spill or buffer.placement.dense or buffer.type.bits < 8:
        return 0
    width = buffer.type.bits // 8
    changed = (np.frombuffer(bytes(after), np.uint8) != buffer.data).reshape(-1, width)
    changed[buffer.placement.positions] = False
    return int(changed.sum())


def _ran(
    launch: ResolvedLaunch, buffer: OperandBuffer, after: bytes, workgroups: tuple[Dim3, ...] | None
) -> tuple[NDArray[np.bool_], bool]:
    """Mask of the elements to judge; True beside it where only the poison tells them apart."""
    n = int(buffer.placement.positions.size)
    if workgroups is None or len(workgroups) == launch.workgroups:
        return np.ones(n, np.bool_), False
    operand = launch.tiles.get(buffer.name)
    if operand is None or operand.tile is None:
        return ~_poisoned(buffer, after), True
    writers = np.zeros(buffer.shape, np.int32)
    tile = operand.tile
    for x, y, z in workgroups:
        env = {**launch.env, "wg_x": x, "wg_y": y, "wg_z": z}
        try:
            start = [e(env) for e in tile.start]
            size = [e(env) for e in tile.size]
        except ExprError as error:
            raise BadInput(
                f"operand {buffer.name}: the tile of workgroup {x},{y},{z}: {error}",
                path=launch.file.origin,
                kind="bad_launch_file",
            ) from None
        writers[tuple(slice(max(0, s), max(0, s + k)) for s, k in zip(start, size, strict=True))] += 1
    # where several workgroups add to a tile, it is finished when all of them ran
    needs = 1 if tile.needs is None else tile.needs(launch.env)
    return writers.reshape(-1) >= needs, False
