"""How is a maze looked at from inside? The ray-caster as a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.colours import colour_names
from visgym_maze.view.first_person import check_picture, render_first_person
from visgym_maze.view.png import encode_png, to_data_uri
from visgym_maze.view.style import STYLES, Style
from visgym_maze.world.dynamics import DELTAS, Action
from visgym_maze.world.layout import Cell, Layout

_MOST_URIS = 256  # data URIs that one camera keeps


@dataclass(frozen=True)
class FirstPerson:
    """A maze seen through the eyes of the agent, which looks where it last moved.

    Attributes:
        height: Of the picture, in pixels.
        width: Of the picture, in pixels.
        fov: Horizontal field of view in degrees.
        style: Colours.
    """

    height: int = 224
    width: int = 224
    fov: float = 90.0
    style: Style = STYLES["visgym"]

    def __post_init__(self) -> None:
        check_picture(self.height, self.width, self.fov)

    def camera(self, layout: Layout) -> FirstPersonCamera:
        """The view of one maze; the last 256 are kept."""
        return _camera(self, layout)

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` of the picture in pixels, whatever the size of the maze."""
        return self.height, self.width

    def legend(self, *, picture: bool) -> str:
        """Sentences that explain the picture, or the text that stands for it."""
        wall, goal = colour_names((self.style.wall, self.style.goal))
        shown = (
            f"The picture shows what you see inside a maze. Walls are {wall}; the goal is a cell with {goal} "
            "floor and ceiling."
            if picture
            else "You are told what you see inside a maze."
        )
        return f"{shown} Moves are directions on a map, and you face where you last moved."


class FirstPersonCamera:
    """What :class:`FirstPerson` shows of one maze; see :class:`visgym_maze.view.view.Camera`."""

    def __init__(self, view: FirstPerson, layout: Layout) -> None:
        self._view = view
        self._layout = layout
        self._uris: dict[tuple[Cell, Action], str] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return _camera, (self._view, self._layout)

    def frame(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> NDArray[np.uint8]:
        """The picture as a fresh uint8 array of shape ``(height, width, 3)``, RGB."""
        view = self._view
        return render_first_person(
            self._layout, cell, heading, height=view.height, width=view.width, fov=view.fov, style=view.style
        )

    def png(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> bytes:
        """The same picture as a PNG file."""
        return encode_png(self.frame(cell, visited, heading))

    def data_uri(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """The same picture as a data URI; kept."""
        uri = self._uris.get((cell, heading))
        if uri is None:
            uri = to_data_uri(self.png(cell, visited, heading))
            if len(self._uris) >= _MOST_URIS:
                self._uris.clear()
            self._uris[cell, heading] = uri
        return uri

    def text(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """How far the way is free, what is to the left and right, and whether the goal is in sight."""
        free, goal_at = 0, 0 if cell == self._layout.goal else None
        here = cell
        while not self._layout.is_wall(here := _step(here, heading)):
            free += 1
            if here == self._layout.goal:
                goal_at = free
        ahead = f"{free} free cell{'s' if free != 1 else ''}, then a wall" if free else "a wall"
        left, right = (
            "a wall" if self._layout.is_wall(_step(cell, Action((heading + turn) % 4))) else "free"
            for turn in (1, -1)
        )
        seen = "" if goal_at is None else f" The goal is {f'{goal_at} ahead' if goal_at else 'right here'}."
        return f"You face {heading.word}. Ahead: {ahead}. To your left: {left}. To your right: {right}.{seen}"

    def caption(self, cell: Cell, visited: Sequence[Cell], heading: Action) -> str:
        """Where the agent looks, which the picture can't tell."""
        return f"You face {heading.word}."


def _step(cell: Cell, heading: Action) -> Cell:
    return cell[0] + DELTAS[heading][0], cell[1] + DELTAS[heading][1]


@lru_cache(maxsize=256)
def _camera(view: FirstPerson, layout: Layout) -> FirstPersonCamera:
    return FirstPersonCamera(view, layout)
