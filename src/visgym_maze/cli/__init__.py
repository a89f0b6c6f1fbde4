"""What can be done from a shell? The command ``visgym-maze``, which needs the extra ``cli``."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    try:
        from visgym_maze.cli.app import build
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(
            f"error: the command line needs the package {error.name}; pip install 'visgym-maze[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    build()(prog_name="visgym-maze")
