"""``--shape``: axes in order (``32,32,32``) or by name (``M=32,N=32,K=32``)."""

from __future__ import annotations

from isaprof.errors import UsageError
from isaprof.launch.expr import ExprError
from isaprof.launch.file import LaunchFile

#: largest size of an axis
MAX_AXIS = 1 << 31


def parse_shape(file: LaunchFile, text: str | None, *, driver: bool = False) -> dict[str, int]:
    """Axis sizes, and those options that ``text`` names. Raises UsageError naming axis and rule broken.

    The axes come in order or by name, options by name after them. ``driver``:
    an option may be -1, which leaves it to the rule of the driver.
    """
    axes = file.axes
    options = [name for name, _ in file.options]
    hint = f"--shape {','.join(axes)} in this order, or by name: --shape {','.join(f'{a}=..' for a in axes)}"
    if options:
        hint += f"; then, where wanted, {','.join(f'{o}=..' for o in options)}"
    if text is not None and not text.strip() and axes:
        raise UsageError(f"--shape is empty: the axes are {', '.join(axes)}", kind="shape", hint=hint)
    if not axes and text and text.strip() and not options:
        raise UsageError("this kernel's launch file has no axes: --shape must be empty", kind="shape")
    if text is None or not text.strip():
        if file.default is not None or not axes:
            return dict(zip(axes, file.default or (), strict=True))
        raise UsageError(f"--shape is missing: the axes are {', '.join(axes)}", kind="shape", hint=hint)
    parts = [p.strip() for p in text.split(",")]
    by_name: dict[str, int] = {}
    in_order: list[str] = []
    for part in parts:
        name, equals, value = (s.strip() for s in part.partition("="))
        if not equals:
            if by_name.keys() & set(axes):
                raise UsageError("give all axes by name or none", kind="shape", hint=hint)
            if by_name:
                raise UsageError("sizes without a name come first", kind="shape", hint=hint)
            in_order.append(part)
            continue
        if name not in axes and name not in options:
            known = f"the axes are {', '.join(axes)}" + (f", options {', '.join(options)}" if options else "")
            raise UsageError(f"unknown axis {name!r}: {known}", kind="shape", hint=hint)
        if name in by_name:
            raise UsageError(f"axis {name} is given twice", kind="shape", hint=hint)
        by_name[name] = _size(name, value, least=-driver if name in options else 1)
    if in_order and by_name.keys() & set(axes):
        raise UsageError("give all axes by name or none", kind="shape", hint=hint)
    if in_order and len(in_order) != len(axes):
        raise UsageError(
            f"{len(in_order)} sizes for {len(axes)} axes ({', '.join(axes)})", kind="shape", hint=hint
        )
    for axis, size in zip(axes, in_order, strict=False):
        by_name[axis] = _size(axis, size)
    missing = [a for a in axes if a not in by_name]
    if missing and not by_name.keys() & set(axes) and file.default is not None:
        by_name.update(zip(axes, file.default, strict=True))  # options only
    elif missing:
        raise UsageError(f"no size for axis {', '.join(missing)}", kind="shape", hint=hint)
    return {n: by_name[n] for n in (*axes, *options) if n in by_name}


def environment(file: LaunchFile, text: str | None) -> tuple[dict[str, int], dict[str, int]]:
    """(shape: axes and options; names for expressions: those, the symbol's numbers, [let])."""
    shape = parse_shape(file, text)
    placed = [*(n for s in file.match.symbols for n in s.names), *file.by_arch]
    if missing := [n for n in placed if n not in file.bound]:
        raise UsageError(
            f"this launch file describes a family of kernels: {', '.join(missing)} come from one's symbol "
            "and architecture",
            path=file.origin,
            kind="unbound",
        )
    env: dict[str, int] = {**file.bound, **shape}
    for name, e in (*file.options, *file.let):
        if name in shape:
            continue
        try:
            env[name] = e(env)
        except ExprError as error:
            what = f"{name} = {e.text!r} at this shape: {error}"
            raise UsageError(what, path=file.origin, kind="shape") from None
    return {**shape, **{n: env[n] for n, _ in file.options}}, env


def _size(axis: str, text: str, least: int = 1) -> int:
    if not (text.isascii() and text.lstrip("+-").isdigit()):
        raise UsageError(f"axis {axis}: {text!r} is not an integer", kind="shape")
    value = int(text[:20])
    if len(text) > 12 or value > MAX_AXIS:
        raise UsageError(f"axis {axis}: {text} is too large (at most {MAX_AXIS})", kind="shape")
    if value < least:
        raise UsageError(
            f"axis {axis}: {value} is {'not positive' if least == 1 else 'too small'}", kind="shape"
        )
    return value


def check_constraints(file: LaunchFile, env: dict[str, int]) -> None:
    """Raises UsageError for the first constraint of the launch file that ``env`` breaks."""
    for c in file.constraints:
        try:
            ok = bool(c.require(env))
        except ExprError as e:
            raise UsageError(f"constraint {c.require.text!r} cannot be computed: {e}", kind="shape") from None
        if not ok:
            names = (*file.axes, *(n for n, _ in file.options), *file.bound)
            used = ", ".join(f"{a} = {env[a]}" for a in names if a in c.require.names) or "this shape"
            raise UsageError(
                f"{used} is forbidden by the launch file: {c.message} (rule: {c.require.text})",
                kind="shape",
                hint=f"the rule is in {file.origin}",
            )
