"""What is a maze? An immutable, hashable, serialisable value."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
"""A ``(row, column)`` pair, counted from the top-left corner of the wall ring."""

WALL_CHAR, FLOOR_CHAR, START_CHAR, GOAL_CHAR = "#", ".", "S", "G"


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"|".join(parts), digest_size=16).hexdigest()


@dataclass(frozen=True, init=False)
class Layout:
    """A maze: its walls, where the agent starts, and where it has to go.

    A layout is a value: two with the same content are equal, hash alike, and share ``key``.
    Nothing in it can be written to, so one object serves all rollouts of a group, in all threads.

    Attributes:
        height: Rows of the grid, the wall ring included.
        width: Columns of the grid, the wall ring included.
        walls: ``height * width`` bytes in row-major order, 1 for a wall and 0 for floor.
        start: Cell where the agent begins.
        goal: Cell that the agent has to reach.

    Raises:
        TypeError: If a size or coordinate is no integer.
        ValueError: If sizes and walls disagree, the outer ring has a gap, start or goal stand on
            a wall, or start equals goal.
    """

    height: int
    width: int
    walls: bytes
    start: Cell
    goal: Cell

    def __init__(self, height: int, width: int, walls: bytes, start: Cell, goal: Cell) -> None:
        height, width, walls = index(height), index(width), bytes(walls)
        if height < 3 or width < 3:
            raise ValueError(f"a maze needs at least 3x3 cells, got {height}x{width}")
        if len(walls) != height * width:
            raise ValueError(f"walls hold {len(walls)} cells, {height}x{width} needs {height * width}")
        if walls.strip(b"\x00\x01"):
            raise ValueError("walls may hold the bytes 0 (floor) and 1 (wall) only")
        if 0 in walls[:width] + walls[-width:] + walls[::width] + walls[width - 1 :: width]:
            raise ValueError("the outer ring of a maze must be wall all round")
        start, goal = (index(start[0]), index(start[1])), (index(goal[0]), index(goal[1]))
        for name, (row, column) in (("start", start), ("goal", goal)):
            if not (0 <= row < height and 0 <= column < width):
                raise ValueError(f"{name} {row, column} lies outside {height}x{width}")
            if walls[row * width + column]:
                raise ValueError(f"{name} {row, column} stands on a wall")
        if start == goal:
            raise ValueError(f"start and goal are the same cell {start}")
        # The one place that sets the fields, and not through the frozen class's __setattr__.
        self.__dict__.update(height=height, width=width, walls=walls, start=start, goal=goal)

    @property
    def shape(self) -> tuple[int, int]:
        """``(height, width)`` in cells."""
        return self.height, self.width

    @property
    def grid(self) -> NDArray[np.bool_]:
        """Walls as a read-only bool array of shape ``(height, width)``, True for a wall."""
        return np.frombuffer(self.walls, dtype=np.bool_).reshape(self.height, self.width)

    def is_wall(self, cell: Cell) -> bool:
        """Whether ``cell`` is wall. Cells outside the grid count as wall."""
        row, column = cell
        if not (0 <= row < self.height and 0 <= column < self.width):
            return True
        return bool(self.walls[row * self.width + column])

    @cached_property
    def key(self) -> str:
        """32 hex digits that name the level: walls, start and goal. Stable across releases."""
        ends = f"{self.start[0]},{self.start[1]},{self.goal[0]},{self.goal[1]}"
        return _digest(self._shape_bytes, self.walls, ends.encode())

    @cached_property
    def split_key(self) -> str:
        """32 hex digits that name the walls alone: levels that share them stay in one split."""
        return _digest(self._shape_bytes, self.walls)

    @cached_property
    def symmetry_key(self) -> str:
        """The same for all rotations and reflections of the walls (dihedral group of order 8)."""
        views = []
        for turns in range(4):
            turned = np.rot90(self.grid, turns)
            views += [turned, turned[:, ::-1]]
        return min(_digest(f"{v.shape[0]}x{v.shape[1]}".encode(), v.tobytes()) for v in views)

    @property
    def _shape_bytes(self) -> bytes:
        return f"{self.height}x{self.width}".encode()

    def to_ascii(self) -> str:
        """The maze as lines of ``#`` (wall), ``.`` (floor), ``S`` (start) and ``G`` (goal)."""
        chars = [WALL_CHAR if wall else FLOOR_CHAR for wall in self.walls]
        chars[self.start[0] * self.width + self.start[1]] = START_CHAR
        chars[self.goal[0] * self.width + self.goal[1]] = GOAL_CHAR
        rows = range(self.height)
        return "\n".join("".join(chars[r * self.width : (r + 1) * self.width]) for r in rows)

    @classmethod
    def from_ascii(cls, text: str) -> Layout:
        """Read what :meth:`to_ascii` wrote. Blank space around the lines is ignored.

        Raises:
            ValueError: If lines differ in length, a character is unknown, or there is not exactly
                one ``S`` and one ``G``.
        """
        lines = [line.strip() for line in text.strip().splitlines()]
        if not lines or len({len(line) for line in lines}) != 1:
            raise ValueError("all lines of an ASCII maze must have the same length")
        joined = "".join(lines)
        unknown = set(joined) - {WALL_CHAR, FLOOR_CHAR, START_CHAR, GOAL_CHAR}
        if unknown:
            raise ValueError(f"unknown characters in an ASCII maze: {sorted(unknown)[:8]}")
        if joined.count(START_CHAR) != 1 or joined.count(GOAL_CHAR) != 1:
            raise ValueError("an ASCII maze needs exactly one S and one G")
        width = len(lines[0])
        return cls(
            height=len(lines),
            width=width,
            walls=bytes(char == WALL_CHAR for char in joined),
            start=divmod(joined.index(START_CHAR), width),
            goal=divmod(joined.index(GOAL_CHAR), width),
        )

    @classmethod
    def from_grid(cls, grid: NDArray[Any] | Sequence[Sequence[int]], start: Cell, goal: Cell) -> Layout:
        """Build a layout from a 2-D array in which non-zero means wall."""
        array = np.asarray(grid, dtype=np.bool_)
        if array.ndim != 2:
            raise ValueError(f"a grid has two dimensions, got shape {array.shape}")
        return cls(array.shape[0], array.shape[1], array.tobytes(), start, goal)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary that :meth:`from_dict` reads back, ``key`` included."""
        return {"maze": self.to_ascii().split("\n"), "key": self.key}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """Read what :meth:`to_dict` wrote and check it against its key, if it carries one.

        Raises:
            ValueError: If the maze is malformed or its content does not match ``key``.
        """
        try:
            text = "\n".join(data["maze"])
        except (TypeError, KeyError):
            raise ValueError(
                f'the record of a maze is {{"maze": [lines], "key": ...}}, got {str(data)[:80]!r}'
            ) from None
        layout = cls.from_ascii(text)
        if data.get("key", layout.key) != layout.key:
            raise ValueError(f"this maze has key {layout.key}, its record says {data['key']}")
        return layout

    def __repr__(self) -> str:
        return f"Layout({self.height}x{self.width}, {self.start}->{self.goal}, key={self.key[:8]})"
