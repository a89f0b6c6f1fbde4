"""How does a maze look? ``visgym-maze render``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visgym_maze.cli import options
from visgym_maze.cli.blocks import blocks
from visgym_maze.cli.console import answer, results
from visgym_maze.files import write_bytes
from visgym_maze.view.named import view_named
from visgym_maze.view.style import style_named
from visgym_maze.view.top_down import TopDown
from visgym_maze.view.view import first_heading
from visgym_maze.world.generation import generate
from visgym_maze.world.solver import solve

EXAMPLES = (
    "visgym-maze render --seed 3",
    "visgym-maze render --size 21 --generator dfs --style dark --out maze.png",
    "visgym-maze render --view first-person --out view.png --json",
)


def command(
    size: options.Size = "9",
    generator: options.Generator = "wilson",
    endpoints: options.Endpoints = "corners",
    max_moves: options.MaxMoves = None,
    seed: options.Seed = 0,
    style: options.Style = None,
    view: options.View = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write a PNG file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Draw one maze, in the terminal or as a PNG file."""
    if style is not None and view is not None:
        raise ValueError(f"give either --style {style} or --view {view}: a view has a style of its own")
    layout = generate(options.size_of(size), generator, seed, endpoints=endpoints, max_moves=max_moves)
    look = TopDown(style_named(style or "visgym")) if view is None else view_named(view)
    camera, seen = look.camera(layout), (layout.start, [layout.start], first_heading(layout))
    if out is not None:
        write_bytes(out, camera.png(*seen))
    moves = solve(layout).moves
    record = {**layout.to_dict(), "moves": moves, "file": out and str(out)}
    words = f"{layout.height}x{layout.width}, shortest path {moves} moves, key {layout.key}"
    if out is not None:
        answer(record, as_json, f"{out}: {words}")
    else:
        coloured = results.color_system is not None
        drawn = blocks(camera.frame(*seen), 4 * layout.width) if coloured else camera.text(*seen)
        answer(record, as_json, drawn, words)
