"""Where does a maze start and where is its goal? One function per policy.

Every function takes ``(walls, height, width, rng)`` and returns ``(start, goal)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visgym_maze.world.layout import Cell, Layout
from visgym_maze.world.solver import solve

Endpoints = Callable[[bytes, int, int, np.random.Generator], tuple[Cell, Cell]]
"""``(walls, height, width, rng) -> (start, goal)``; any picklable object with this call will do."""


def corners(walls: bytes, height: int, width: int, rng: np.random.Generator) -> tuple[Cell, Cell]:
    """Two opposite interior corners, one of four ordered pairs by a single draw (as in VisGym)."""
    top_left, bottom_right = (1, 1), (height - 2, width - 2)
    bottom_left, top_right = (height - 2, 1), (1, width - 2)
    pairs = (
        (top_left, bottom_right),
        (bottom_right, top_left),
        (bottom_left, top_right),
        (top_right, bottom_left),
    )
    return pairs[int(rng.integers(0, 4))]


def uniform(walls: bytes, height: int, width: int, rng: np.random.Generator) -> tuple[Cell, Cell]:
    """Two different floor cells, uniformly at random."""
    floor = [index for index, wall in enumerate(walls) if not wall]
    start, goal = rng.choice(len(floor), size=2, replace=False)
    return divmod(floor[start], width), divmod(floor[goal], width)


def farthest(walls: bytes, height: int, width: int, rng: np.random.Generator) -> tuple[Cell, Cell]:
    """A random floor cell as goal, and as start one of the cells that lie farthest from it."""
    floor = [divmod(index, width) for index, wall in enumerate(walls) if not wall]
    goal = floor[int(rng.integers(len(floor)))]
    other = next(cell for cell in floor if cell != goal)
    table = solve(Layout(height, width, walls, other, goal)).table
    limit = max(table)
    ends = [divmod(index, width) for index, distance in enumerate(table) if distance == limit]
    return ends[int(rng.integers(len(ends)))], goal


ENDPOINTS: dict[str, Endpoints] = {"corners": corners, "random": uniform, "farthest": farthest}
"""The policies that can be asked for by name."""
