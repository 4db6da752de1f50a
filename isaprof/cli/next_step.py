"""The next command for an error whose place of origin knows none.

An error has a hint of its own where it was raised with one; what several
places raise alike (a damaged object, a shape that is no number) is answered
here, by its kind, so that no error ends without something to try.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from isaprof.errors import (
    BadInput,
    EnvironmentProblem,
    IsaprofError,
    KernelFault,
    UsageError,
    VerificationFailed,
)

_OBJECT = "build or copy the file again; isaprof extract FILE --list   says what other files hold"
_LAUNCH = "docs/launch-files.md describes the fields; isaprof launch-template KERNEL.co   writes a skeleton"
_SMALLER = "a smaller --shape or fewer --workgroups, or a machine with more memory"
CHECK = "isaprof check KERNEL.co --shape ...   looks for the cause"

#: kind -> what to try; {path} and {folder} are the error's, {verb} is the command
_BY_KIND: dict[str, str] = {
    "arch_mismatch": "isaprof inspect {path}   names its GPU; give two objects for the same one",
    "assembler": "mend the lines that are named, then the same command again",
    "bad_launch_file": _LAUNCH,
    "bad_manifest": "isaprof {verb} KERNEL.co   takes one object and needs no manifest",
    "cannot_write": "df {folder}; ls -ld {folder}; or another place with -o",
    "damaged": _OBJECT,
    "linker": "mend what is named, then the same command again",
    "no_code": _OBJECT,
    "no_gpu_code": "give the code object itself: isaprof extract FILE --list   says what a file holds",
    "no_kernel": "isaprof disasm {path} -o KERNEL.s   shows what the object has",
    "no_sections": _OBJECT,
    "not_a_code_object": _OBJECT,
    "not_found": "ls {folder}",
    "other_architecture": "isaprof inspect {path}   names its GPU; leave --target out",
    "other_code": "isaprof run {path}   makes one of this code",
    "other_machine": "isaprof extract FILE --list   says what GPU code a host program or library holds",
    "out_of_memory": _SMALLER,
    "shape": "sizes are whole numbers, in the order of the launch file's axes, or named: --shape M=128,N=64",
    "tool_memory": "look for a .fill, .rept or macro that runs away",
    "tool_output": "look for a .fill, .rept or macro that runs away",
    "tool_timeout": "look for a .fill, .rept or macro that runs away",
    "too_large": _SMALLER,
    "truncated": _OBJECT,
    "unimplemented": "isaprof sim coverage KERNEL.co   lists what the simulator lacks",
    "unknown_architecture": "isaprof doctor   says which architectures this installation knows",
    "unknown_kernel": "isaprof inspect {path}   lists the kernels",
    "unreadable": "ls -l {path}",
    "unsupported_architecture": "isaprof doctor   says which architectures this installation knows",
    "enospc": "free room on that disk, or another place with -o",
    "erofs": "another place with -o",
}
#: for the other kinds of a class of errors
_BY_CLASS: tuple[tuple[type[IsaprofError], str], ...] = (
    (KernelFault, CHECK),
    (VerificationFailed, CHECK),
    (EnvironmentProblem, "isaprof doctor"),
    (UsageError, "isaprof {verb} --help"),
)


def next_step(e: IsaprofError, args: list[str]) -> str | None:
    """The error's own hint, else the one of its kind or class; None where nothing general helps.

    ``args``: the command line, verb first.
    """
    if e.hint:
        return e.hint
    verb = next((a for a in args if not a.startswith("-")), "")
    text = _BY_KIND.get(e.kind)
    if e.kind == "too_large" and e.path is not None:  # a file, not the operands
        text = _OBJECT
    if text is None or ("{path}" in text and e.path is None):
        text = next((hint for kind, hint in _BY_CLASS if isinstance(e, kind)), None)
    if text is None:
        return None
    if text == CHECK and verb == "check":
        return "isaprof check --help   limits what runs: --workgroups, --max-instructions"
    if "{folder}" in text and e.path is None:
        return "isaprof doctor" if not isinstance(e, BadInput) else None
    path = Path(e.path or "KERNEL.co")
    return text.format(path=quote(str(path)), folder=quote(str(path.parent)), verb=verb)
