"""What does a maze look like from above? Plain, or with numbers, a trail, or fog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.colours import colour_names
from visgym_maze.view.frames import FLOOR, agent_mask, cell_indices, render
from visgym_maze.view.png import RGB_BITS, Strip, join_strips, to_data_uri
from visgym_maze.view.press import picture_head, press_for
from visgym_maze.view.style import STYLES, Style, style_named
from visgym_maze.view.text import TEXTS, grid_text, position_text
from visgym_maze.view.tiles import FOG, TRAIL, label_mask
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Cell, Layout

MODES = ("palette", "rgb")
_MOST_URIS = 256  # data URIs that one camera keeps


@dataclass(frozen=True)
class TopDown:
    """A maze seen from above.

    Attributes:
        style: Colours and sizes.
        mode: ``"palette"`` PNGs (2 bits a pixel, or 4 with any of the extras: small and fast) or
            ``"rgb"`` (8 bits a channel, for readers that take pixel values without converting).
            Both decode to the same RGB picture.
        coordinates: Whether rows and columns are numbered, in the first column and row.
        trail: Whether floor that the agent has stood on has a colour of its own.
        fog: Cells further than this from the agent, in rows or in columns, are hidden. None: no fog.
        text: What stands for the picture in words: ``"ascii"``, the maze drawn in characters, or
            ``"position"``, the cells of agent and goal and the ways that are free.

    Raises:
        ValueError: If a name is unknown, ``fog`` is below 1, or the cells are too small for numbers.
    """

    style: Style = STYLES["visgym"]
    mode: str = "palette"
    coordinates: bool = False
    trail: bool = False
    fog: int | None = None
    text: str = "ascii"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"unknown PNG mode {self.mode!r}; known: {', '.join(MODES)}")
        if self.text not in TEXTS:
            raise ValueError(f"unknown text {self.text!r}; known: {', '.join(TEXTS)}")
        if self.fog is not None:
            self.__dict__["fog"] = index(self.fog)
            if self.fog < 1:
                raise ValueError(f"fog must leave at least 1 cell around the agent in sight, got {self.fog}")
        if self.coordinates:
            label_mask(0, self.style.cell)

    def camera(self, layout: Layout) -> TopDownCamera:
        """The view of one maze; the last 256 are kept."""
        return _camera(self, layout)

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` in pixels of the picture of a maze of ``height`` x ``width`` cells."""
        return self.style.picture_size(height, width)

    def legend(self, *, picture: bool) -> str:
        """Sentences that explain the picture, with the style's colours, or the text."""
        return _legend(self) if picture else TEXTS[self.text]


@lru_cache(maxsize=64)
def _legend(view: TopDown) -> str:
    wall, floor, goal, agent, trail, fog, _ = colour_names(view.style.palette)
    extras = ""
    if view.trail:
        extras += f" Cells that you have stood on are {trail}."
    if view.fog is not None:
        extras += f" You see {view.fog} cells far; what lies further away is {fog}."
    if view.coordinates:
        extras += " The numbers count rows and columns."
    return (
        f"The picture shows a maze from above. {wall.capitalize()} cells are walls, {floor} cells are "
        f"free, the {agent} disc is you and the {goal} cell is the goal.{extras}"
    )


class TopDownCamera:
    """What :class:`TopDown` shows of one maze; see :class:`visgym_maze.view.view.Camera`.

    All methods may be called without the agent, or without what it did before.
    """

    def __init__(self, view: TopDown, layout: Layout) -> None:
        self._view = view
        self._layout = layout
        self._size = view.picture_size(*layout.shape)
        self._plain_cells = cell_indices(layout).tobytes()
        extras = view.trail or view.fog is not None or view.coordinates
        bits = RGB_BITS if view.mode == "rgb" else 4 if extras else 2
        self._press = press_for(view.style, self._size[1], bits)
        self._head = picture_head(*self._size, bits, view.style)
        self._plain_strips = self._strips(self._plain_cells)
        self._uris: dict[Cell | None, str] = {}

    def __reduce__(self) -> tuple[object, ...]:
        # Copies and pickles hold no pictures; equal views of equal mazes share one camera.
        return _camera, (self._view, self._layout)

    def frame(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> NDArray[np.uint8]:
        """The picture as a fresh uint8 array of shape ``(height, width, 3)``, RGB."""
        view = self._view
        if not (view.trail or view.fog is not None or view.coordinates):
            return render(self._layout, cell, view.style)
        style, size, (height, width) = view.style, view.style.cell, self._layout.shape
        palette = np.array(style.palette, dtype=np.uint8)
        cells = np.frombuffer(self._cells(cell, visited), dtype=np.uint8).reshape(height, width)
        # The wall colour everywhere first: that is what lies outside the cells.
        everything = bytearray(bytes(style.wall) * (self._size[0] * self._size[1]))
        frame = np.frombuffer(everything, dtype=np.uint8).reshape(*self._size, 3)
        inside = frame[: height * size, : width * size]
        lines = palette[cells].repeat(size, axis=1)
        inside.reshape(height, size, width * size, 3)[:] = lines[:, None]
        tiles = inside.reshape(height, size, width, size, 3)
        if view.coordinates:
            for place, number in _numbers(height, width):
                tiles[place[0], :, place[1]][label_mask(number, size)] = style.label
        if cell is not None:
            tiles[cell[0], :, cell[1]][agent_mask(size)] = style.agent
        return frame

    def png(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> bytes:
        """The same picture as a PNG file."""
        cells = self._cells(cell, visited)
        strips = self._plain_strips.copy() if cells is self._plain_cells else self._strips(cells)
        if cell is not None:
            row, column = cell
            strips[row] = self._strip(cells, row, column)
        return join_strips(self._head, strips)

    def data_uri(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> str:
        """The same picture as a data URI; kept, unless it shows a trail."""
        if self._view.trail:
            return to_data_uri(self.png(cell, visited))
        uri = self._uris.get(cell)
        if uri is None:
            uri = to_data_uri(self.png(cell))
            if len(self._uris) >= _MOST_URIS:
                self._uris.clear()
            self._uris[cell] = uri
        return uri

    def text(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> str:
        """The maze in characters, trail and fog included, or the position in words."""
        if self._view.text == "position" and cell is not None:
            return position_text(self._layout, cell, self._view.fog)
        return grid_text(self._cells(cell, visited), self._layout.width, cell)

    def caption(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> str:
        """Nothing: the picture speaks for itself."""
        return ""

    def _cells(self, cell: Cell | None, visited: Sequence[Cell]) -> bytes:
        """Palette index of every cell, row by row, trail and fog included, the agent not."""
        view, width = self._view, self._layout.width
        cells = self._plain_cells
        if view.trail and visited:
            trodden = bytearray(cells)
            for row, column in visited:
                if trodden[row * width + column] == FLOOR:
                    trodden[row * width + column] = TRAIL
            cells = bytes(trodden)
        if view.fog is not None and cell is not None:
            (row, column), far = cell, view.fog
            left, right = max(column - far, 0), min(column + far + 1, width)
            top, bottom = max(row - far, 0), min(row + far + 1, self._layout.height)
            before, after = bytes([FOG]) * left, bytes([FOG]) * (width - right)
            lines = [before + cells[r * width + left : r * width + right] + after for r in range(top, bottom)]
            hidden = bytes([FOG]) * width
            cells = hidden * top + b"".join(lines) + hidden * (self._layout.height - bottom)
        return cells

    def _strip(self, cells: bytes, row: int, agent_column: int = -1) -> Strip:
        width = self._layout.width
        number = row if self._view.coordinates else -1
        return self._press.row(cells[row * width : (row + 1) * width], agent_column, number)

    def _strips(self, cells: bytes) -> list[Strip]:
        strips = [self._strip(cells, row) for row in range(self._layout.height)]
        padding = self._size[0] - self._layout.height * self._view.style.cell
        return [*strips, self._press.padding(padding)] if padding else strips


def _numbers(height: int, width: int) -> list[tuple[Cell, int]]:
    """Which cells carry a number: the first row that of their column, the first column of their row."""
    return [((0, c), c) for c in range(width)] + [((r, 0), r) for r in range(1, height)]


@lru_cache(maxsize=256)
def _camera(view: TopDown, layout: Layout) -> TopDownCamera:
    return TopDownCamera(view, layout)


@lru_cache(maxsize=64)
def plain_view(style: Style, mode: str) -> TopDown:
    """``TopDown(style, mode)``, made once."""
    return TopDown(style, mode)


def png_bytes(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> bytes:
    """Encode the picture that :func:`visgym_maze.view.frames.render` draws.

    Args:
        layout: The maze.
        agent: Where the agent stands; None leaves it out.
        style: Name of a style, or a :class:`~visgym_maze.view.style.Style`.
        mode: ``"palette"`` or ``"rgb"``; see :class:`TopDown`.

    Returns:
        A complete PNG file.

    Raises:
        ValueError: If the mode or the style is unknown.
    """
    return plain_view(style_named(style), mode).camera(layout).png(agent)


def data_uri(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> str:
    """The picture as ``data:image/png;base64,...``; arguments as for :func:`png_bytes`."""
    return plain_view(style_named(style), mode).camera(layout).data_uri(agent)
