"""Is one policy better than another? ``visgym-maze compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from visgym_maze.cli import options
from visgym_maze.cli.console import answer
from visgym_maze.comparison import compare
from visgym_maze.report_files import read_report

EXAMPLES = (
    "visgym-maze compare results/before results/after",
    "visgym-maze compare results/before/report.json results/after/report.json --json",
)


def command(
    first: Annotated[Path, typer.Argument(help="Folder of an evaluation, or its report.json.")],
    second: Annotated[Path, typer.Argument(help="Another one on the same mazes.")],
    as_json: options.Json = False,
) -> None:
    """Compare two evaluations on the same mazes, maze by maze, with McNemar's exact test."""
    found = compare(read_report(first), read_report(second))
    table = Table("", "second solved", "second failed", "all", title=f"{found.mazes} mazes")
    solved, failed = found.both + found.first_only, found.second_only + found.neither
    table.add_row("first solved", str(found.both), str(found.first_only), str(solved))
    table.add_row("first failed", str(found.second_only), str(found.neither), str(failed))
    table.add_row("all", str(found.both + found.second_only), str(found.first_only + found.neither), "")
    verdict = f"McNemar's exact test: p = {found.p_value:.3g}"
    lines = [f"{name}: first {a}, second {b}" for name, (a, b) in found.differences.items()]
    answer(found.to_dict(), as_json, table, verdict, *lines)
