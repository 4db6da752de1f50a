"""Builds the Typer application from the verb table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Annotated, Any

import typer

from isaprof import __version__


def _version(value: bool) -> None:
    # at module level: typer evaluates the annotations below in the module's namespace
    if value:
        print(f"isaprof {__version__}")
        raise typer.Exit()


def build(verbs: Mapping[str, str], load: Callable[[str], ModuleType]) -> Any:
    """The click command group; every verb module is light to import."""
    app = typer.Typer(
        name="isaprof",
        help="ISA-level profiling and optimisation of AMD GPU kernels.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def top(
        version: Annotated[
            bool,
            typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
        ] = False,
    ) -> None:
        """ISA-level profiling and optimisation of AMD GPU kernels."""

    for verb, module in verbs.items():
        app.command(verb)(load(module).command)
    return typer.main.get_command(app)
