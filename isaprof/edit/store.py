"""The directory of a ladder: ``K.edit/`` with step-NN.s, .co, .isaprof, .outputs.npz, ladder.json, ladder.md.

Sources of steps are only ever created, never written again. ladder.json and
ladder.md are replaced whole; in ladder.md only the part between the markers.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from isaprof.edit import markdown
from isaprof.edit.model import SCHEMA_NAME, SCHEMA_VERSION, Settings, Step, read, step_name
from isaprof.errors import BadInput, EnvironmentProblem, UsageError
from isaprof.files import cannot_write, write_new

JSON = "ladder.json"
MARKDOWN = "ladder.md"
_STEP = re.compile(r"step-(\d{2,6})\.")


class Store:
    """Reads and writes one ladder directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def file(self, number: int, suffix: str) -> Path:
        """``step-NN`` with ``suffix`` (".s", ".co", ".isaprof", ".outputs.npz")."""
        return self.directory / (step_name(number) + suffix)

    @property
    def exists(self) -> bool:
        return (self.directory / JSON).is_file()

    def next_number(self, steps: Sequence[Step]) -> int:
        """After every step that is listed and every file that is there."""
        used = {s.step for s in steps}
        for entry in self.directory.iterdir():
            if found := _STEP.match(entry.name):
                used.add(int(found[1]))
        return max(used, default=-1) + 1

    # -- the lists -------------------------------------------------------------
    def load(self) -> tuple[Settings, list[Step]]:
        """Settings and steps. Raises BadInput where ladder.json is damaged."""
        path = self.directory / JSON
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as e:
            raise BadInput(
                f"unreadable: {e}",
                path=path,
                kind="bad_ladder",
                hint="start another ladder with -o DIR; this one is left alone",
            ) from None
        return read(data, path)

    def save(self, settings: Settings, steps: Sequence[Step]) -> None:
        """Write ladder.json, then ladder.md."""
        body = {
            "schema": SCHEMA_NAME,
            "schema_version": SCHEMA_VERSION,
            "settings": asdict(settings),
            "steps": [s.to_dict() for s in steps],
        }
        self.write(self.directory / JSON, (json.dumps(body, indent=1) + "\n").encode(), force=True)
        path = self.directory / MARKDOWN
        try:
            old = path.read_text(encoding="utf-8") if path.exists() else ""
        except UnicodeDecodeError:
            old = path.read_bytes().decode("utf-8", "surrogateescape")
        text = markdown.update(old, settings, steps)
        self.write(path, text.encode("utf-8", "surrogateescape"), force=True)

    # -- files of steps ----------------------------------------------------------
    def write(self, path: Path, data: bytes, *, force: bool = False) -> None:
        """Whole or not at all; a full disk is an EnvironmentProblem and leaves what was there."""
        try:
            write_new(path, data, force=force)
        except OSError as e:
            raise EnvironmentProblem(
                f"cannot write: {e.strerror or e}; all steps so far are kept", path=path, kind="cannot_write"
            ) from None

    def text(self, number: int) -> str:
        """The source of a step. Raises BadInput where it cannot be read as text."""
        path = self.file(number, ".s")
        try:
            return path.read_text(encoding="utf-8")
        except IsADirectoryError:
            raise BadInput(
                "is a directory; expected the source of a step",
                path=path,
                kind="unreadable",
                hint="move it away, or start another ladder with -o DIR",
            ) from None
        except UnicodeDecodeError as e:
            raise BadInput(_no_text(e), path=path, offset=e.start, kind="unreadable") from None
        except OSError as e:
            raise BadInput(f"cannot read: {e.strerror or e}", path=path, kind="unreadable") from None

    def write_outputs(self, number: int, outputs: Mapping[str, bytes]) -> None:
        """Keep output bytes by "seed:operand", for comparisons with later steps."""
        import numpy as np

        packed = io.BytesIO()
        arrays: dict[str, Any] = {k: np.frombuffer(v, np.uint8) for k, v in outputs.items()}
        np.savez_compressed(packed, **arrays)
        self.write(self.file(number, ".outputs.npz"), packed.getvalue(), force=True)

    def read_outputs(self, number: int) -> dict[str, bytes] | None:
        """What :meth:`write_outputs` kept; None where it is gone or damaged."""
        import zipfile
        import zlib

        import numpy as np

        try:
            with np.load(self.file(number, ".outputs.npz"), allow_pickle=False) as kept:
                return {k: kept[k].tobytes() for k in kept.files}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One ``isaprof edit`` at a time in a directory; UsageError where another one runs."""
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    "another isaprof edit is at work here",
                    path=self.directory,
                    kind="locked",
                    hint="end it first, or use another directory with -o DIR",
                ) from None
            except OSError:
                pass  # a file system without locks: new files are still never written over
            yield
        finally:
            os.close(handle)


def _no_text(e: UnicodeDecodeError) -> str:
    return f"is no UTF-8 text: byte {e.object[e.start]:#04x} cannot stand there; expected assembly source"


@contextmanager
def new_directory(directory: Path) -> Iterator[Store]:
    """A store that appears as ``directory`` when the block ends well, and leaves nothing otherwise."""
    import shutil

    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(
            "exists and is no ladder of isaprof edit", path=directory, hint="choose another with -o DIR"
        )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    except OSError as e:
        raise cannot_write(directory, e) from None
    try:
        yield Store(made)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(made, 0o777 & ~mask)
        try:
            os.rename(made, directory)
        except OSError as e:
            if directory.is_dir() and Store(directory).exists:
                raise UsageError(
                    "another isaprof edit began this ladder meanwhile; nothing of it was touched",
                    path=directory,
                    kind="locked",
                    hint="run the command again to go on from its steps, or give another -o DIR",
                ) from None
            raise cannot_write(directory, e) from None
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
