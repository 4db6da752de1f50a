"""Options and arguments that several verbs take, each declared once.

A verb that gives one of them another meaning declares its own. Imports only
typer and the standard library: ``isaprof --help`` loads this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_KERNEL_OBJECT = typer.Argument(
    metavar="KERNEL.co", help="Code object, or a file that holds some (isaprof extract)."
)

# what a verb works on
KernelObject = Annotated[Path, _KERNEL_OBJECT]
OptionalKernelObject = Annotated[Path | None, _KERNEL_OBJECT]
KernelFile = Annotated[
    Path, typer.Argument(metavar="KERNEL.co", help="Code object, or a file that holds some.")
]
KernelObjects = Annotated[
    list[Path],
    typer.Argument(metavar="KERNEL.co...|DIR", help="Code objects, files with some inside, folders."),
]
CaptureDirectory = Annotated[Path, typer.Argument(metavar="CAPTURE", help="Capture directory (*.isaprof).")]
Traces = Annotated[
    list[Path],
    typer.Argument(metavar="TRACE...", help="Captures, trace folders, or directories that hold some."),
]

# which kernel, of which object
Kernel = Annotated[str | None, typer.Option(help="Kernel, where the object has several.")]
Target = Annotated[
    str | None,
    typer.Option(
        help="GPU (gfx1151, ...), where the file holds objects for several, or its header names none."
    ),
]
SourceTarget = Annotated[
    str | None, typer.Option(help="Architecture, where the file holds objects for several.")
]
TargetOfMany = Annotated[
    str | None,
    typer.Option("--target", help="GPU of minimal ELF files; of containers only the objects for it."),
]

# how it is launched
Shape = Annotated[
    str | None, typer.Option(help="Sizes of the launch file's axes: 32,32,32 or M=32,N=32,K=32.")
]
Launch = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Launch file (default: beside the object, else built in).")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the operands' contents.")]
FirstSeed = Annotated[int | None, typer.Option(help="The first seed (default: the launch file's).")]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE.py", help="Python file that registers references, fills or layouts."),
]
MaxInstructions = Annotated[
    int | None, typer.Option(min=1, help="Stop after so many executed wave instructions.")
]
MaxInstructionsOfRun = Annotated[
    int | None, typer.Option(min=1, help="Stop a run after so many executed wave instructions.")
]
ExecuteForAddresses = Annotated[
    bool,
    typer.Option(
        "--addresses",
        help="Execute a known kernel of a hardware trace for its LDS addresses (bank conflicts).",
    ),
]

# what is printed and written
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsJsonResult = Annotated[bool, typer.Option("--json", help="Print one JSON object about the result.")]
ChangedLines = Annotated[
    int, typer.Option("--hottest", metavar="N", min=0, help="How many changed lines to list.")
]
CaptureOutput = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="PATH", help="Default: ./<kernel>-<arch>-<n>.isaprof"),
]
ReplaceCapture = Annotated[bool, typer.Option("--force", help="Replace an existing capture.")]
ReplaceOutput = Annotated[bool, typer.Option("--force", help="Replace the output file.")]
AllowLossy = Annotated[
    bool, typer.Option("--allow-lossy", help="Compare captures although trace data is missing.")
]
