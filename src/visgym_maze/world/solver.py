"""How far is the goal from every cell, and which moves lead there? The oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.world.dynamics import DELTAS, MOVES, Action
from visgym_maze.world.layout import Cell, Layout

UNREACHABLE = -1


@dataclass(frozen=True)
class Solution:
    """Shortest distances to the goal from every cell of one layout.

    Attributes:
        layout: The maze that was solved.
        table: ``height * width`` distances in moves, row-major; -1 where the goal can't be reached
            and on walls.
    """

    layout: Layout
    table: tuple[int, ...]

    @property
    def distances(self) -> NDArray[np.int32]:
        """A fresh int32 array of shape ``(height, width)``; -1 where the goal can't be reached."""
        return np.array(self.table, dtype=np.int32).reshape(self.layout.shape)

    def distance(self, cell: Cell) -> int:
        """Moves from ``cell`` to the goal, or -1 if there is no way."""
        return self.table[cell[0] * self.layout.width + cell[1]]

    @property
    def moves(self) -> int:
        """Moves from start to goal (``stop`` not counted), or -1 if there is no way."""
        return self.distance(self.layout.start)

    def optimal_actions(self, cell: Cell) -> tuple[Action, ...]:
        """All actions that are optimal at ``cell``: ``(STOP,)`` on the goal, else the best moves."""
        here = self.distance(cell)
        if here == 0:
            return (Action.STOP,)
        return tuple(
            move
            for move in MOVES
            if here > 0 and self.distance((cell[0] + DELTAS[move][0], cell[1] + DELTAS[move][1])) == here - 1
        )

    def path(self, cell: Cell | None = None) -> tuple[Action, ...]:
        """One shortest sequence of moves from ``cell`` (default: the start) to the goal.

        Raises:
            ValueError: If the goal can't be reached from there.
        """
        cell = self.layout.start if cell is None else cell
        if self.distance(cell) < 0:
            raise ValueError(f"the goal cannot be reached from {cell}")
        actions: list[Action] = []
        while self.distance(cell):
            action = self.optimal_actions(cell)[0]
            actions.append(action)
            cell = (cell[0] + DELTAS[action][0], cell[1] + DELTAS[action][1])
        return tuple(actions)


@lru_cache(maxsize=4096)
def solve(layout: Layout) -> Solution:
    """Breadth-first search from the goal. Results are cached (4096 layouts, least recent go).

    Args:
        layout: Any maze, loops allowed.

    Returns:
        The distances from every cell.
    """
    width, closed = layout.width, bytearray(layout.walls)
    offsets = (1, -width, -1, width)
    table = [UNREACHABLE] * len(closed)
    goal = layout.goal[0] * width + layout.goal[1]
    table[goal], closed[goal] = 0, 1
    queue = [goal]
    for here in queue:  # grows while it is walked through
        further = table[here] + 1
        for offset in offsets:
            there = here + offset
            if not closed[there]:
                closed[there] = 1
                table[there] = further
                queue.append(there)
    return Solution(layout, tuple(table))
