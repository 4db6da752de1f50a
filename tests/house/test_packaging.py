"""Wheel and source archive hold the package as it is imported, with its data files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import isaprof

ROOT = Path(__file__).resolve().parents[2]
DATA = {".toml", ".tcss", ".html", ".css", ".js"}

pytestmark = pytest.mark.slow


def python(*arguments: str | Path, cwd: Path | None = None, path: Path | None = None) -> str:
    """Output of this Python, with ``path`` as its PYTHONPATH."""
    command = [sys.executable, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(path)} if path else None
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*arguments: str | Path) -> None:
    python("-m", "pip", *arguments, "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is needed to build, with the symbolic links as they are."""
    target = tmp_path_factory.mktemp("build") / "source"
    target.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)
    for name in ("isaprof", "parsers", "tui"):
        no_bytecode = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=no_bytecode)
    return target


@pytest.fixture(scope="module")
def built(source: Path) -> Path:
    """Directory with the wheel and the source archive, by the build backend itself."""
    target = source.parent / "dist"
    target.mkdir()
    pip("wheel", "--no-deps", "-w", target, source)
    hook = "from setuptools.build_meta import build_sdist; build_sdist(__import__('sys').argv[1])"
    tools = source.parent / "tools"
    pip("install", "--target", tools, "setuptools>=77")
    python("-c", hook, target, cwd=source, path=tools)
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def expected_files(source: Path) -> set[str]:
    """Every module and data file, by its path in the package."""
    files = set()
    for directory, _, names in os.walk(source / "isaprof", followlinks=True):
        relative = Path(directory).relative_to(source)
        files |= {str(relative / n) for n in names if Path(n).suffix in {".py", *DATA} or n == "py.typed"}
    return files


def test_the_wheel_holds_every_module_and_data_file(source: Path, wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected_files(source) - names == set()
    assert {"isaprof/parsers/__init__.py", "isaprof/tui/__init__.py", "isaprof/py.typed"} <= names


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    tops = {n.split("/")[0] for n in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"isaprof", f"isaprof-{isaprof.__version__}.dist-info"}


def test_no_bytecode_and_no_tests_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [n for n in names if "__pycache__" in n or "/tests/" in n] == []


def test_the_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    pip("install", "--no-deps", "--target", installed, wheel)
    where = python("-c", "import isaprof.parsers as p; print(p.__file__)", cwd=tmp_path, path=installed)
    assert Path(where.strip()).is_relative_to(installed)
    version = python("-m", "isaprof", "--version", cwd=tmp_path, path=installed)
    assert version == f"isaprof {isaprof.__version__}\n"


def test_the_source_archive_builds_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    pip("wheel", "--no-deps", "-w", tmp_path / "w", source)
    (again,) = (tmp_path / "w").glob("*.whl")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())
