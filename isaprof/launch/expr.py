"""Integer expressions of launch files, without ``eval``.

An expression is parsed with :mod:`ast` and interpreted over Python integers
from a white list: literals, names, ``+ - * // % **``, unary minus, comparisons
(chains too), ``and or not``, ``a if c else b`` and the functions in
:data:`FUNCTIONS`. Length, depth, node count and the size of every value are
bounded, so that no launch file can hang or exhaust the process.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MAX_LENGTH = 1000  #: characters
MAX_DEPTH = 40
MAX_NODES = 400
MAX_VALUE = 1 << 64  #: no intermediate value may reach this magnitude


class ExprError(ValueError):
    """The expression is not allowed, or cannot be computed."""


def _floordiv(a: int, b: int) -> int:
    if b == 0:
        raise ExprError("division by zero")
    return a // b


def _mod(a: int, b: int) -> int:
    if b == 0:
        raise ExprError("modulo by zero")
    return a % b


def _pow(a: int, b: int) -> int:
    if b < 0:
        raise ExprError("negative exponent")
    if abs(a) > 1 and b * (abs(a).bit_length() - 1) > 64:
        raise ExprError("value out of range (more than 64 bits)")
    return int(a**b)


def _ceil_div(a: int, b: int) -> int:
    return -_floordiv(-a, b)


def _log2(a: int) -> int:
    if a <= 0 or a & (a - 1):
        raise ExprError(f"log2({a}): not a power of two")
    return a.bit_length() - 1


#: name -> (function, least and greatest number of arguments)
FUNCTIONS: Mapping[str, tuple[Callable[..., int], int, int]] = {
    "ceil_div": (_ceil_div, 2, 2),
    "round_up": (lambda a, b: _ceil_div(a, b) * b, 2, 2),
    "min": (lambda *a: min(a), 1, 16),
    "max": (lambda *a: max(a), 1, 16),
    "log2": (_log2, 1, 1),
    "abs": (abs, 1, 1),
}

_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _floordiv,
    ast.Mod: _mod,
    ast.Pow: _pow,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Expr:
    """A checked expression; ``names`` are the variables it uses."""

    text: str
    tree: ast.expr
    names: frozenset[str]

    def __call__(self, env: Mapping[str, int]) -> int:
        """Value under ``env``. Raises ExprError (unknown name, range, division)."""
        return int(_eval(self.tree, env))

    def __str__(self) -> str:
        return self.text


def parse(source: str | int) -> Expr:
    """Check an expression (an int stands for itself). Raises ExprError."""
    if isinstance(source, bool) or not isinstance(source, str | int):
        raise ExprError(f"expected an integer or an expression text, not {source!r}")
    text = str(source).strip()
    if not text or len(text) > MAX_LENGTH:
        raise ExprError(f"an expression has 1 to {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        reason = e.msg if isinstance(e, SyntaxError) else type(e).__name__
        raise ExprError(f"not an expression: {reason}") from None
    names: set[str] = set()
    budget = [MAX_NODES]
    _check(tree, names, budget, 0)
    return Expr(text, tree, frozenset(names))


def _check(node: ast.expr, names: set[str], budget: list[int], depth: int) -> None:
    budget[0] -= 1
    if depth > MAX_DEPTH or budget[0] < 0:
        raise ExprError("the expression is too large")
    children: list[ast.expr] = []
    match node:
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ExprError(f"{value!r}: only integers")
            if value >= MAX_VALUE:
                raise ExprError("value out of range (more than 64 bits)")
        case ast.Name(id=name):
            names.add(name)
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) not in _BINARY:
                raise ExprError(f"operator {type(op).__name__} is not allowed (+ - * // % ** are)")
            children = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            children = [operand]
        case ast.BoolOp(values=values):
            children = values
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            if any(type(op) not in _COMPARE for op in ops):
                raise ExprError("only == != < <= > >= compare")
            children = [left, *comparators]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            children = [test, body, orelse]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                raise ExprError(f"unknown function {name!r} (known: {', '.join(sorted(FUNCTIONS))})")
            _, least, most = FUNCTIONS[name]
            if not least <= len(args) <= most:
                raise ExprError(f"{name} takes {least if least == most else f'{least} to {most}'} arguments")
            children = args
        case _:
            raise ExprError(f"{type(node).__name__} is not allowed here")
    for child in children:
        _check(child, names, budget, depth + 1)


def _eval(node: ast.expr, env: Mapping[str, int]) -> int:
    value: int
    match node:
        case ast.Constant(value=int(value)):
            pass
        case ast.Name(id=name):
            if name not in env:
                raise ExprError(f"unknown name {name!r} (known: {', '.join(sorted(env))})")
            value = env[name]
        case ast.BinOp(left=left, op=op, right=right):
            value = _BINARY[type(op)](_eval(left, env), _eval(right, env))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_eval(operand, env)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            value = _eval(operand, env)
        case ast.UnaryOp(operand=operand):
            value = not _eval(operand, env)
        case ast.BoolOp(op=ast.And(), values=values):
            value = all(_eval(v, env) for v in values)
        case ast.BoolOp(values=values):
            value = any(_eval(v, env) for v in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            a, value = _eval(left, env), True
            for test_op, comparator in zip(ops, comparators, strict=True):
                b = _eval(comparator, env)
                if not _COMPARE[type(test_op)](a, b):
                    value = False
                    break
                a = b
        case ast.IfExp(test=test, body=body, orelse=orelse):
            value = _eval(body if _eval(test, env) else orelse, env)
        case ast.Call(func=ast.Name(id=name), args=args):
            value = FUNCTIONS[name][0](*(_eval(a, env) for a in args))
        case _:  # pragma: no cover - _check refuses everything else
            raise ExprError(f"{type(node).__name__} is not allowed here")
    if abs(value) >= MAX_VALUE:
        raise ExprError("value out of range (more than 64 bits)")
    return value
