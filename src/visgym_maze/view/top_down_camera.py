"""What does one maze look like from above? As an array, a PNG file, a data URI, or in characters.

A picture is put together from its rows of cells, each of which has been drawn once; see
:mod:`visgym_maze.view.press`. Where the agent stands, its row takes the place of the empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.png import RGB_BITS, Sheet, to_data_uri
from visgym_maze.view.press import picture_head, press_for
from visgym_maze.view.text import grid_text, position_text
from visgym_maze.view.tiles import FLOOR, FOG, TRAIL, cell_indices, label_mask
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Cell, Layout

if TYPE_CHECKING:
    from visgym_maze.view.top_down import TopDown

_MOST_URIS = 256  # data URIs that one camera keeps
_BYTE = np.dtype(np.uint8)

Rows = list[bytes]
"""Palette index of every cell, one row after another, the agent not among them."""


class TopDownCamera:
    """What :class:`~visgym_maze.view.top_down.TopDown` shows of one maze.

    See :class:`visgym_maze.view.view.Camera`. All methods may be called without the agent, or without what
    it did before.
    """

    def __init__(self, view: TopDown, layout: Layout) -> None:
        self._view = view
        self._layout = layout
        height, width = view.picture_size(*layout.shape)
        self._shape = height, width, 3
        self._padding = height - layout.height * view.style.cell  # scanlines below the last row
        self._numbers = range(layout.height) if view.coordinates else [-1] * layout.height
        if view.coordinates:
            label_mask(max(layout.shape) - 1, view.style.cell)  # refuses cells too small for it
        cells = cell_indices(layout).tobytes()
        self._plain = [cells[i : i + layout.width] for i in range(0, len(cells), layout.width)]
        self._changes = view.trail or view.fog is not None
        bits = RGB_BITS if view.mode == "rgb" else 4 if self._changes or view.coordinates else 2
        self._press = press_for(view.style, width, bits)
        self._head = picture_head(height, width, bits, view.style)
        self._uris: dict[Cell | None, str] = {}

    def __reduce__(self) -> tuple[object, ...]:
        # Copies and pickles hold no pictures; equal views of equal mazes share one camera.
        return camera_of, (self._view, self._layout)

    def frame(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> NDArray[np.uint8]:
        """The picture as a fresh uint8 array of shape ``(height, width, 3)``, RGB."""
        rows = self._rows(cell, visited) if self._changes else self._plain
        lines = self._lines(rows) if self._changes else self._plain_lines.copy()
        if cell is not None:
            row, column = cell
            lines[row] = self._press.lines(rows[row], column, self._numbers[row])
        return np.ndarray(self._shape, _BYTE, bytearray().join(lines))

    def png(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> bytes:
        """The same picture as a PNG file."""
        rows = self._rows(cell, visited) if self._changes else self._plain
        sheet = self._sheet(rows) if self._changes else self._plain_sheet
        if cell is None:
            return sheet.png()
        row, column = cell
        return sheet.png(row, self._press.strip(rows[row], column, self._numbers[row]))

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
        return grid_text(b"".join(self._rows(cell, visited)), self._layout.width, cell)

    def caption(
        self, cell: Cell | None = None, visited: Sequence[Cell] = (), heading: Action = Action.UP
    ) -> str:
        """Nothing: the picture speaks for itself."""
        return ""

    @cached_property
    def _plain_lines(self) -> Rows:
        return self._lines(self._plain)

    @cached_property
    def _plain_sheet(self) -> Sheet:
        return self._sheet(self._plain)

    def _lines(self, rows: Rows) -> Rows:
        lines = [self._press.lines(row, -1, n) for row, n in zip(rows, self._numbers, strict=True)]
        return [*lines, self._press.wall(self._padding)]

    def _sheet(self, rows: Rows) -> Sheet:
        strips = [self._press.strip(row, -1, n) for row, n in zip(rows, self._numbers, strict=True)]
        if self._padding:
            strips.append(self._press.padding(self._padding))
        return Sheet(self._head, strips)

    def _rows(self, cell: Cell | None, visited: Sequence[Cell]) -> Rows:
        """What is seen from a cell, with the trail and the fog."""
        rows, view, width = self._plain, self._view, self._layout.width
        if view.trail and visited:
            trodden = [bytearray(row) for row in rows]
            for row, column in visited:
                if trodden[row][column] == FLOOR:
                    trodden[row][column] = TRAIL
            rows = [bytes(row) for row in trodden]
        if view.fog is not None and cell is not None:
            (row, column), far = cell, view.fog
            left, right = max(column - far, 0), min(column + far + 1, width)
            top, bottom = max(row - far, 0), row + far + 1
            before, after = bytes([FOG]) * left, bytes([FOG]) * (width - right)
            seen = [before + line[left:right] + after for line in rows[top:bottom]]
            hidden = [bytes([FOG]) * width]
            rows = hidden * top + seen + hidden * (len(rows) - top - len(seen))
        return rows


@lru_cache(maxsize=256)
def camera_of(view: TopDown, layout: Layout) -> TopDownCamera:
    """The one camera of a view and a maze."""
    return TopDownCamera(view, layout)
