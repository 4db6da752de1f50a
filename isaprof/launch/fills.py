"""Fill rules: what an operand holds before the kernel runs.

Each rule yields float64 or int64 values from a seeded generator; the operand's
dtype rounds them. The same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Fill = Callable[..., NDArray[Any]]

FILLS: dict[str, Fill] = {}


def fill(name: str) -> Callable[[Fill], Fill]:
    """Register a rule ``f(rng, shape, **parameters)`` under ``name``."""

    def add(f: Fill) -> Fill:
        FILLS[name] = f
        return f

    return add


def generator(seed: int, operand: str) -> np.random.Generator:
    """The generator of one operand: independent of the order of operands."""
    return np.random.Generator(np.random.PCG64([seed & 0xFFFF_FFFF_FFFF_FFFF, zlib.crc32(operand.encode())]))


def make(
    rule: str, parameters: Mapping[str, float], seed: int, operand: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Values of ``shape``. Raises KeyError (unknown rule), TypeError (unknown parameter)."""
    return FILLS[rule](generator(seed, operand), shape, **parameters)


@fill("normal")
def normal(
    rng: np.random.Generator, shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0
) -> NDArray[Any]:
    """Normal distribution."""
    return rng.normal(mean, std, shape)


@fill("uniform")
def uniform(
    rng: np.random.Generator, shape: tuple[int, ...], low: float = -1.0, high: float = 1.0
) -> NDArray[Any]:
    """Uniform in [low, high)."""
    return rng.uniform(low, high, shape)


@fill("integers")
def integers(rng: np.random.Generator, shape: tuple[int, ...], low: int = -4, high: int = 4) -> NDArray[Any]:
    """Integers from low to high, both included: small ones make float sums exact."""
    return rng.integers(int(low), int(high), shape, endpoint=True)


@fill("zeros")
def zeros(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """All zero (workspaces, locks, accumulated outputs)."""
    return np.zeros(shape)


@fill("constant")
def constant(rng: np.random.Generator, shape: tuple[int, ...], value: float = 1.0) -> NDArray[Any]:
    """One value everywhere."""
    return np.full(shape, value)


@fill("iota")
def iota(rng: np.random.Generator, shape: tuple[int, ...], start: int = 0, step: int = 1) -> NDArray[Any]:
    """start, start + step, ... in C order of the logical elements."""
    return (np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64) * int(step) + int(start)).reshape(
        shape
    )


@fill("e2m1")
def e2m1(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Every value of fp4 (e2m1) equally often: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives."""
    values = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    return np.concatenate([values, -values])[rng.integers(0, 16, shape)]


@fill("powers_of_two")
def powers_of_two(
    rng: np.random.Generator, shape: tuple[int, ...], low: int = -3, high: int = 3
) -> NDArray[Any]:
    """2^e, e from low to high, both included: block scales that keep products exact."""
    return np.exp2(rng.integers(int(low), int(high), shape, endpoint=True).astype(np.float64))


@fill("offsets")
def offsets(rng: np.random.Generator, shape: tuple[int, ...], length: int = 1, less: int = 0) -> NDArray[Any]:
    """Where sequences of a batch start: 0, length, then lengths that shrink by ``less`` each time."""
    i = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    return (i * int(length) - int(less) * (i * (i - 1) // 2)).reshape(shape)
