"""What does a policy get to see of a maze? The interface of a view, and the blank one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.png import encode_png, to_data_uri
from visgym_maze.world.dynamics import DELTAS, MOVES, Action
from visgym_maze.world.layout import Cell, Layout


class Camera(Protocol):
    """A view of one maze.

    All methods take where the agent stands, the cells that it has stood on so far (in order, the
    present one included), and where it looks: the direction of its last move, which matters to first-person
    views alone. Pictures are pure functions of these.
    """

    def frame(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> NDArray[np.uint8]:
        """The picture as a fresh uint8 array of shape ``(height, width, 3)``, RGB."""
        ...

    def png(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> bytes:
        """The same picture as a PNG file."""
        ...

    def data_uri(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """The same picture as a data URI."""
        ...

    def text(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """What the picture shows, in words or characters: no more than it and, if possible, no less."""
        ...

    def caption(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """What has to be said beside the picture; empty for most views."""
        ...


class View(Protocol):
    """A way to look at mazes: a frozen, hashable, picklable value."""

    def camera(self, layout: Layout) -> Camera:
        """What the view shows of one maze. Cameras are shared between threads and pickle small."""
        ...

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` in pixels of the picture of a maze of ``height`` x ``width`` cells."""
        ...

    def legend(self, *, picture: bool) -> str:
        """Sentences for the prompt that explain the picture, or the text that stands for it."""
        ...


@lru_cache(maxsize=1024)
def first_heading(layout: Layout) -> Action:
    """Where an agent looks before its first move: the first free way of right, up, left, down."""
    row, column = layout.start
    free = (m for m in MOVES if not layout.is_wall((row + DELTAS[m][0], column + DELTAS[m][1])))
    return next(free, MOVES[0])


@dataclass(frozen=True)
class Blank:
    """An empty picture of the size that another view has: a control that can't be solved by sight.

    Attributes:
        view: The other view.
    """

    view: View

    def camera(self, layout: Layout) -> Camera:
        """The same picture whatever the maze."""
        return _BlankCamera(*self.view.picture_size(*layout.shape))

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """The size of the other view's pictures."""
        return self.view.picture_size(height, width)

    def legend(self, *, picture: bool) -> str:
        """The other view's, so that the prompt stays the same."""
        return self.view.legend(picture=picture)


@dataclass(frozen=True)
class _BlankCamera:
    height: int
    width: int

    def frame(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> NDArray[np.uint8]:
        return np.full((self.height, self.width, 3), 169, dtype=np.uint8)

    def png(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> bytes:
        return encode_png(self.frame(cell, visited, heading))

    def data_uri(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        return _blank_uri(self.height, self.width)

    def text(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        return ""

    def caption(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        return ""


@lru_cache(maxsize=64)
def _blank_uri(height: int, width: int) -> str:
    return to_data_uri(encode_png(np.full((height, width, 3), 169, dtype=np.uint8)))
