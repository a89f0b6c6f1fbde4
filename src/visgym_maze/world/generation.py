"""How is a maze made from a seed?"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TypeVar

from visgym_maze.world.algorithms import GENERATORS, MazeGenerator
from visgym_maze.world.endpoints import ENDPOINTS, Endpoints
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import Seed, as_generator
from visgym_maze.world.solver import solve

Size = int | tuple[int, int]
"""Side of a square maze, or ``(height, width)``; odd numbers that count the wall ring."""

T = TypeVar("T")


def check_size(size: Size) -> tuple[int, int]:
    """Return ``(height, width)``.

    Raises:
        TypeError: If a side is no integer.
        ValueError: If a side is even or below 5, or there are not two of them.
    """
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2:
        raise ValueError(f"a size is one number or (height, width), got {size!r}")
    height, width = (operator.index(side) for side in sides)
    for name, side in (("height", height), ("width", width)):
        if side < 5 or side % 2 == 0:
            near = max(5, side + 1 - side % 2)
            raise ValueError(f"{name} must be an odd number from 5 up, got {side}; try {near}")
    return height, width


def resolve(name_or_object: str | T, table: Mapping[str, T], what: str) -> T:
    """Look a strategy up by name; anything but a string is returned as it is.

    Raises:
        ValueError: If the name is unknown.
    """
    if not isinstance(name_or_object, str):
        return name_or_object
    if name_or_object not in table:
        raise ValueError(f"unknown {what} {name_or_object!r}; known: {', '.join(sorted(table))}")
    return table[name_or_object]


def generate(
    size: Size = 9,
    generator: str | MazeGenerator = "wilson",
    rng: Seed = None,
    *,
    endpoints: str | Endpoints = "corners",
    max_moves: int | None = None,
    max_tries: int = 10_000,
) -> Layout:
    """Make one random maze.

    Args:
        size: Side, or ``(height, width)``, in cells with the wall ring; odd, at least 5.
        generator: ``"wilson"``, ``"wilson-visgym"``, ``"dfs"``, ``"prim"``, ``"kruskal"``,
            ``"braided"``, or a callable ``(height, width, rng) -> walls``.
        rng: Seed or ``numpy.random.Generator``. The same seed gives the same maze.
        endpoints: ``"corners"``, ``"random"``, ``"farthest"``, or a callable.
        max_moves: Draw again until the shortest path has at most this many moves.
        max_tries: How many mazes to draw for that before giving up.

    Returns:
        A layout whose goal can be reached from its start.

    Raises:
        ValueError: If the size, a name or the seed is no good, or ``max_moves`` is not met within
            ``max_tries`` mazes.
    """
    height, width = check_size(size)
    make = resolve(generator, GENERATORS, "maze generator")
    place = resolve(endpoints, ENDPOINTS, "endpoint policy")
    source = as_generator(rng)
    shortest: int | None = None
    for _ in range(max_tries if max_moves is not None else 1):
        walls = make(height, width, source)
        start, goal = place(walls, height, width, source)
        layout = Layout(height, width, walls, start, goal)
        if max_moves is None:
            return layout
        moves = solve(layout).moves
        if 0 <= moves <= max_moves:
            return layout
        shortest = moves if shortest is None else min(shortest, moves)
    raise ValueError(
        f"none of {max_tries} mazes of {height}x{width} can be solved in {max_moves} moves (the "
        f"shortest path seen has {shortest}); allow more moves, or take a smaller maze"
    )
