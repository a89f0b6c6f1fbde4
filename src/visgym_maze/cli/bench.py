"""How fast is the environment on this machine? ``visgym-maze bench``."""

from __future__ import annotations

import itertools
import os
import platform
import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
from rich.table import Table

from visgym_maze.cli import options
from visgym_maze.cli.console import answer, progress
from visgym_maze.dialogue.dialects import spell
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.envs.maze import MazeEnv
from visgym_maze.envs.vector import MazeVectorEnv
from visgym_maze.versions import versions
from visgym_maze.view.top_down import data_uri
from visgym_maze.world.dynamics import MOVES
from visgym_maze.world.generation import generate

EXAMPLES = ("visgym-maze bench", "visgym-maze bench --size 21 --seconds 2 --json")

_VECTOR, _TURNS, _ENDLESS = 1024, 15, 2**62


def command(
    size: options.Size = "9",
    seconds: Annotated[float, options.real("Time for each measurement.", "--seconds", least=0.01)] = 0.5,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure mazes, steps, pictures and conversations: the fastest of many batches, in one thread."""
    works = _works(options.size_of(size), seed)
    rates: dict[str, float] = {}
    with progress("measurements", len(works)) as tell:
        for name, (work, count) in works.items():
            rates[name] = count * _per_second(work, seconds)
            tell(len(rates), len(works))
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    table = Table("what", "per second", title=f"mazes of {size}")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}")
    record = {"size": size, "seed": seed, "per_second": rates, "machine": machine, "versions": versions()}
    answer(record, as_json, table)


def _works(size: tuple[int, int], seed: int) -> dict[str, tuple[Callable[[], object], int]]:
    """What is measured, and how many of its kind one call does."""
    rng = np.random.default_rng(seed)
    levels = [generate(size, rng=rng) for _ in range(64)]
    layout = levels[0]
    env = MazeEnv(size, max_turns=_ENDLESS, render_mode="rgb_array")
    env.reset(seed=seed)
    vector = MazeVectorEnv(_VECTOR, size=size, levels=levels, observe="cell", solvable=False)
    vector.reset(seed=seed)
    dialogue = MazeDialogue(layout, max_turns=_TURNS + 1)
    moves = itertools.cycle(rng.integers(len(MOVES), size=256).tolist())
    many = itertools.cycle(rng.integers(len(MOVES), size=(16, _VECTOR)))
    answers = itertools.cycle([spell(move) for move in MOVES])
    floor = [divmod(index, layout.width) for index, wall in enumerate(layout.walls) if not wall]
    cells = itertools.cycle(floor)

    def converse() -> None:
        dialogue.reset()
        for _ in range(_TURNS):
            dialogue.step(next(answers))

    return {
        "mazes made": (lambda: generate(size, rng=rng), 1),
        "steps of the environment, with a picture": (lambda: env.step(next(moves)), 1),
        "pictures as data URIs": (lambda: data_uri(layout, next(cells)), 1),
        "turns of a conversation": (converse, _TURNS),
        f"steps of {_VECTOR} mazes at once": (lambda: vector.step(next(many)), _VECTOR),
    }


def _per_second(work: Callable[[], object], seconds: float) -> float:
    """Calls per second in the fastest of many short batches, which other programs disturb least."""
    count, elapsed = 1, _batch(work, 1)
    while elapsed < seconds / 50:
        count *= 2
        elapsed = _batch(work, count)
    best = elapsed / count
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        best = min(best, _batch(work, count) / count)
    return 1.0 / best


def _batch(work: Callable[[], object], count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - begun
