"""What would an expert have answered? ``visgym-maze demos``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from visgym_maze.cli import options
from visgym_maze.cli.console import answer, progress
from visgym_maze.demonstrations import FORMATS, demonstrate, write_demonstrations
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.world.splits import ROLE_SHARES, Split, moves_within

EXAMPLES = (
    "visgym-maze demos --n 256 --out demos",
    "visgym-maze demos --size 7 --prompt brief --style patch16 --format sharegpt --out demos",
    "visgym-maze demos --detours 0.2 --seed 1 --out detours",
)


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")],
    n: Annotated[int, options.whole("Number of mazes; one transcript each.", "--n")] = 64,
    role: Annotated[str, options.one_of("Role of the mazes", ROLE_SHARES, "--role")] = "train",
    size: options.Size = "9",
    file_format: Annotated[str, options.one_of("File format", FORMATS, "--format")] = "openai",
    detours: Annotated[
        float, options.real("Probability of a random move, to show the way back.", "--detours")
    ] = 0.0,
    seed: options.Seed = 0,
    max_turns: options.MaxTurns = 15,
    prompt: options.Prompt = None,
    style: options.Style = None,
    view: options.View = None,
    observe: options.Observe = None,
    dialect: options.Dialect = None,
    goal_rule: options.GoalRule = None,
    moves_per_turn: options.MovesPerTurn = None,
    as_json: options.Json = False,
) -> None:
    """Write transcripts of shortest paths, for supervised fine-tuning."""
    play = options.play_of(locals())
    most = moves_within((max_turns or 15) * (moves_per_turn or 1), goal_rule or "stop")
    split = Split.make(role, options.size_of(size), n, seed, most)
    with progress("transcripts", n) as tell:

        def counted() -> Iterator[MazeDialogue]:
            for number, episode in enumerate(demonstrate(split, detours=detours, rng=seed, **play), start=1):
                tell(number, n)
                yield episode

        path = write_demonstrations(counted(), out, format=file_format)
    record = {"file": str(path), "transcripts": n, "role": role, "split_key": split.key, "seed": seed}
    answer(record, as_json, f"{n} transcripts in {path}")
