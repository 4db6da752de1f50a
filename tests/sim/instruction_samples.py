"""One instruction of each mnemonic that real kernels use, by architecture; registers are made up."""

from __future__ import annotations

from pathlib import Path


def _read() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            instructions = found.setdefault(line.strip("[]"), [])
        else:
            instructions.append(line)
    return found


#: architecture -> instructions
SAMPLES = _read()
