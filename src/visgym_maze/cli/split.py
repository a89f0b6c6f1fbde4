"""Which mazes are for what? ``visgym-maze split``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visgym_maze.cli import options
from visgym_maze.cli.console import answer, progress
from visgym_maze.world.splits import ROLE_SHARES, Split, moves_within

EXAMPLES = (
    "visgym-maze split eval --size 7 --out eval.json",
    "visgym-maze split train --n 4096 --at-most --out train.json",
    "visgym-maze split dev --size 7x11 --max-turns 20 --seed 1 --json",
)


def command(
    role: Annotated[
        str,
        typer.Argument(help=f"One of {', '.join(ROLE_SHARES)}.", autocompletion=options.names(ROLE_SHARES)),
    ],
    size: options.Size = "9",
    n: Annotated[int, options.whole("Number of mazes.", "--n")] = 64,
    at_most: Annotated[bool, typer.Option("--at-most", help="Take fewer where there are fewer.")] = False,
    max_turns: Annotated[int, options.whole("Turns that must do.", "--max-turns", least=2)] = 15,
    generator: options.Generator = "wilson",
    endpoints: options.Endpoints = "corners",
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Write the manifest to this file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Draw distinct mazes of a role, each solvable within the turn cap.

    No maze of one role is ever in another, whatever seed, size or number.
    """
    with progress("drawing mazes"):
        split = Split.make(
            role,
            options.size_of(size),
            n,
            seed,
            moves_within(max_turns),
            generator=generator,
            endpoints=endpoints,
            at_most=at_most,
        )
    if out is not None:
        split.save(out)
    where = f", written to {out}" if out is not None else ""
    answer(split.to_manifest(), as_json, f"{len(split)} {role} mazes of {size}, key {split.key}{where}")
