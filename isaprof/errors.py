"""The errors isaprof raises on purpose, each with its documented exit code.

Only :func:`isaprof.cli.main` prints them. A message names the file, the
offset where there is one, what was expected, and (``hint``) the next command
to try.
"""

from __future__ import annotations

from enum import IntEnum
from os import PathLike


class ExitCode(IntEnum):
    """Exit codes of every ``isaprof`` command (documented in docs/cli.md)."""

    OK = 0
    NO = 1  #: the answer is no: different, lint error, check finding, slower than allowed
    USAGE = 2
    BAD_INPUT = 3
    KERNEL_FAULT = 4
    VERIFICATION_FAILED = 5
    ENVIRONMENT = 6
    DATA_LOSS = 7  #: data was lost and ``--strict`` was given
    INTERRUPTED = 130
    TERMINATED = 143


class IsaprofError(Exception):
    """Base of all errors with a message for the user.

    ``kind`` is a stable slug for JSON output; ``hint`` is the next command or
    step to try; ``path`` and ``offset`` (bytes) locate the fault in a file.
    """

    exit_code: ExitCode = ExitCode.BAD_INPUT
    default_kind = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: str | PathLike[str] | None = None,
        offset: int | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = None if path is None else str(path)
        self.offset = offset
        self.kind = kind or self.default_kind

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            where = self.path
            if self.offset is not None:
                where += f" at byte {self.offset:#x}"
            where += ": "
        return where + self.message


class AnswerNo(IsaprofError):
    """The command ran and its answer is no (exit 1)."""

    exit_code = ExitCode.NO
    default_kind = "no"


class UsageError(IsaprofError):
    """The command line or a shape does not make sense (exit 2)."""

    exit_code = ExitCode.USAGE
    default_kind = "usage"


class BadInput(IsaprofError):
    """A file is not what the command needs (exit 3)."""

    exit_code = ExitCode.BAD_INPUT
    default_kind = "bad_input"


class KernelFault(IsaprofError):
    """The simulated kernel did something illegal or unsupported (exit 4)."""

    exit_code = ExitCode.KERNEL_FAULT
    default_kind = "kernel_fault"


class VerificationFailed(IsaprofError):
    """The kernel's output differs from the reference (exit 5)."""

    exit_code = ExitCode.VERIFICATION_FAILED
    default_kind = "verification_failed"


class EnvironmentProblem(IsaprofError):
    """A tool, library or device that is needed is missing (exit 6)."""

    exit_code = ExitCode.ENVIRONMENT
    default_kind = "environment"


class DataLoss(IsaprofError):
    """Data was lost and ``--strict`` was given (exit 7)."""

    exit_code = ExitCode.DATA_LOSS
    default_kind = "data_loss"
