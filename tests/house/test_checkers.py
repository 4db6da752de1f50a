"""Linter, type checker and import contracts really look at every module."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def tool(name: str) -> str:
    path = BIN / name
    if not path.exists():
        pytest.skip(f"{name} is not installed in this environment")
    return str(path)


def copy_of_the_project(target: Path) -> Path:
    """Configuration and a skeleton of the package, with its symbolic links."""
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, target)
    for package in ("isaprof", "parsers", "tui"):
        (target / package).mkdir()
        (target / package / "__init__.py").write_text('"""Test."""\n')
    for package in ("parsers", "tui"):
        assert (ROOT / "isaprof" / package).is_symlink()
        (target / "isaprof" / package).symlink_to(f"../{package}")
    return target


BAD = '"""Test."""\n\nimport os\n\nx: int = "a"\n'


@pytest.mark.parametrize("package", ["parsers", "tui", "isaprof"])
def test_ruff_checks_each_file_once(tmp_path: Path, package: str) -> None:
    project = copy_of_the_project(tmp_path)
    (project / package / "bad.py").write_text(BAD)
    command = [tool("ruff"), "check", "--no-cache", "--output-format=concise", "."]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.count("`os` imported but unused") == 1, done.stdout + done.stderr


@pytest.mark.parametrize("package", ["parsers", "tui"])
def test_mypy_checks_the_linked_packages_once(tmp_path: Path, package: str) -> None:
    project = copy_of_the_project(tmp_path)
    (project / package / "bad.py").write_text(BAD)
    command = [tool("mypy"), "--cache-dir=/dev/null"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.count("Incompatible types in assignment") == 1, done.stdout + done.stderr
    assert f"isaprof/{package}/bad.py" in done.stdout


def test_every_package_is_in_the_layers_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [c for c in contracts if c["type"] == "layers"]
    assert layers["exhaustive"] is True
    named = {part.strip() for layer in layers["layers"] for part in layer.replace(":", "|").split("|")}
    packages = {p.parent.name for p in (ROOT / "isaprof").glob("*/__init__.py")}
    assert packages <= named
