"""What does each action do in each of many mazes? Looked up, so that a batch of steps is one gather."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.tiles import AGENT, cell_indices
from visgym_maze.world.dynamics import DELTAS, MOVES, Action
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import solve

RESET = len(Action)
"""An action of its own that does nothing, for steps that only begin an episode."""

_COLUMNS = RESET + 1
_ROW = np.array(_COLUMNS)  # an array, since numpy would convert a plain number anew at every use

OUTCOME = np.dtype([("bumped", np.bool_), ("wins", np.bool_), ("change", np.int16)])
"""What an action does: whether the agent bumps, whether the episode ends on the goal, and by how much the
cell changes. Four bytes: a batch looks up random places, so what counts is that they stay in the cache."""


class LevelTables:
    """Tables of a fixed number of mazes of one size.

    A *state* is one cell of one maze: ``slot * cells + row * width + column``.

    Attributes:
        cells: Number of cells of a maze.
        layouts: The maze in each slot, None while it is empty.
        keys: By slot: the key of the maze.
        start: By slot, int64: the state in which an episode begins.
        distance: By state, int32: moves to the goal, -1 where it can't be reached.
    """

    def __init__(self, slots: int, size: tuple[int, int], goal_rule: str) -> None:
        height, width = size
        self.cells = height * width
        self.layouts: list[Layout | None] = [None] * slots
        self.keys = np.full(slots, "", dtype=object)
        self.start = np.zeros(slots, dtype=np.int64)
        self.distance = np.zeros(slots * self.cells, dtype=np.int32)
        self._size = size
        self._goal_rule = goal_rule
        self._changes = [row * width + column for row, column in DELTAS]
        self._positions = np.array(list(np.ndindex(height, width)))
        self._grid = np.zeros((slots, self.cells), dtype=np.uint8)
        self._outcomes = np.zeros(slots * self.cells * _COLUMNS, dtype=OUTCOME)

    def put(self, slot: int, layout: Layout) -> None:
        """Fill one slot."""
        first = slot * self.cells
        walls = np.frombuffer(layout.walls, dtype=np.bool_)
        goal = layout.goal[0] * layout.width + layout.goal[1]
        outcomes = self._outcomes.reshape(-1, self.cells, _COLUMNS)[slot]
        for move in MOVES:
            # Nobody stands on the wall ring, so it does not matter that np.roll wraps round.
            change = self._changes[move]
            blocked = np.roll(walls, -change)
            outcomes["bumped"][:, move] = blocked
            outcomes["change"][:, move] = np.where(blocked, 0, change)
            if self._goal_rule == "reach":
                outcomes["wins"][:, move] = False
                outcomes["wins"][(goal - change) % self.cells, move] = True
        outcomes["wins"][:, Action.STOP] = False
        outcomes["wins"][goal, Action.STOP] = True
        self.layouts[slot], self.keys[slot] = layout, layout.key
        self._grid[slot] = cell_indices(layout).ravel()
        self.start[slot] = first + layout.start[0] * layout.width + layout.start[1]
        self.distance[first : first + self.cells] = solve(layout).table

    def outcomes(self, states: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.void]:
        """What the actions do in the states: a fresh array of dtype :data:`OUTCOME`."""
        rows = states * _ROW
        rows += actions
        # numpy gathers plain numbers faster than records, and by an index faster than by take().
        return self._outcomes.view(np.uint32)[rows].view(OUTCOME)

    def layout(self, state: int) -> Layout:
        """The maze of a state."""
        layout = self.layouts[state // self.cells]
        assert layout is not None
        return layout

    def positions(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row and column of some cells, a fresh array of shape ``(len(cells), 2)``."""
        return self._positions.take(cells, axis=0)

    def grids(self, first: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Palette index of every cell, agent included.

        Args:
            first: State of cell 0 of each maze.
            cells: Where the agent stands in each.

        Returns:
            A fresh array of shape ``(number of mazes, height, width)``.
        """
        grids = self._grid.take(first // self.cells, axis=0)
        grids[np.arange(len(cells)), cells] = AGENT
        return grids.reshape(-1, *self._size)
