"""``--shape``: axes in order (``32,32,32``) or by name (``M=32,N=32,K=32``)."""

from __future__ import annotations

from isaprof.errors import UsageError
from isaprof.launch.expr import ExprError
from isaprof.launch.file import LaunchFile

#: largest size of an axis
MAX_AXIS = 1 << 31


def parse_shape(file: LaunchFile, text: str | None) -> dict[str, int]:
    """Axis sizes. Raises UsageError naming the axis and the rule broken."""
    axes = file.axes
    hint = f"--shape {','.join(axes)} in this order, or by name: --shape {','.join(f'{a}=..' for a in axes)}"
    if not axes:
        if text and text.strip():
            raise UsageError("this kernel's launch file has no axes: --shape must be empty", kind="shape")
        return {}
    if text is None or not text.strip():
        if file.default is not None:
            return dict(zip(axes, file.default, strict=True))
        raise UsageError(f"--shape is missing: the axes are {', '.join(axes)}", kind="shape", hint=hint)
    parts = [p.strip() for p in text.split(",")]
    named = ["=" in p for p in parts]
    shape: dict[str, int] = {}
    if all(named):
        for part in parts:
            name, _, value = (s.strip() for s in part.partition("="))
            if name not in axes:
                raise UsageError(
                    f"unknown axis {name!r}: the axes are {', '.join(axes)}", kind="shape", hint=hint
                )
            if name in shape:
                raise UsageError(f"axis {name} is given twice", kind="shape", hint=hint)
            shape[name] = _size(name, value)
        if missing := [a for a in axes if a not in shape]:
            raise UsageError(f"no size for axis {', '.join(missing)}", kind="shape", hint=hint)
        return {a: shape[a] for a in axes}
    if any(named):
        raise UsageError("give all axes by name or none", kind="shape", hint=hint)
    if len(parts) != len(axes):
        raise UsageError(
            f"{len(parts)} sizes for {len(axes)} axes ({', '.join(axes)})", kind="shape", hint=hint
        )
    return {a: _size(a, p) for a, p in zip(axes, parts, strict=True)}


def _size(axis: str, text: str) -> int:
    if not (text.isascii() and text.lstrip("+-").isdigit()):
        raise UsageError(f"axis {axis}: {text!r} is not an integer", kind="shape")
    value = int(text[:20])
    if len(text) > 12 or value > MAX_AXIS:
        raise UsageError(f"axis {axis}: {text} is too large (at most {MAX_AXIS})", kind="shape")
    if value <= 0:
        raise UsageError(f"axis {axis}: {value} is not positive", kind="shape")
    return value


def check_constraints(file: LaunchFile, env: dict[str, int]) -> None:
    """Raises UsageError for the first constraint of the launch file that ``env`` breaks."""
    for c in file.constraints:
        try:
            ok = bool(c.require(env))
        except ExprError as e:
            raise UsageError(f"constraint {c.require.text!r} cannot be computed: {e}", kind="shape") from None
        if not ok:
            used = ", ".join(f"{a} = {env[a]}" for a in file.axes if a in c.require.names) or "this shape"
            raise UsageError(
                f"{used} is forbidden by the launch file: {c.message} (rule: {c.require.text})",
                kind="shape",
                hint=f"the rule is in {file.origin}",
            )
