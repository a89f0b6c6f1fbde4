"""Which commands are there? One module each, put together here.

A command is a module of this package with a function ``command`` and a tuple ``EXAMPLES``; naming it in
:data:`COMMANDS` is all it takes to register it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from visgym_maze import __version__
from visgym_maze.cli.console import CommandError, errors, plain

COMMANDS = ("eval", "compare", "replay", "play", "render", "split", "demos", "bench")


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        help="Visual mazes for vision-language agents: look at them, play them, measure who plays them.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    for name in COMMANDS:
        module = import_module(f"visgym_maze.cli.{name}")
        app.command(name, epilog=_epilog(module.EXAMPLES))(_without_tracebacks(module.command))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _program(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version.")
    ] = False,
) -> None:
    """Takes what stands in front of the command."""


def _epilog(examples: Sequence[str]) -> str:
    # An empty line between them, or rich would run them together.
    return "\n\n".join(["Examples:", *(f"  {example}" for example in examples)])


def _in_words(error: OSError) -> str:
    """What the system says of a file, without its number."""
    name = error.filename2 or error.filename
    if name is None or error.strerror is None:
        return str(error)
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder, where a file is needed"
    if isinstance(error, NotADirectoryError | FileExistsError):
        return f"{name}: there is a file where a folder is needed"
    if isinstance(error, FileNotFoundError):
        return f"there is no {name}"
    return f"{name}: {error.strerror.lower()}"


def _without_tracebacks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Print what the library says of bad input as one line. Exit codes: 2 for bad input, 1 for a failure."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except CommandError as error:
            code, message = 1, str(error)
        except ValueError as error:
            code, message = 2, str(error)
        except OSError as error:
            code, message = 2, _in_words(error)
        except KeyboardInterrupt:
            code, message = 130, "interrupted"
        else:
            return
        errors.print(f"error: {plain(message)}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(code)

    return run
