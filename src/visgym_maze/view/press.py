"""Which rows of cells have been drawn before, as pixels and compressed?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.png import Strip, header, make_strip, scanlines
from visgym_maze.view.style import Style
from visgym_maze.view.tiles import WALL, row_pixels


class Press:
    """Draws the rows of cells of pictures of one style and width, each once.

    A row is given by the palette index of each of its cells, the agent's column (or -1), and its number if
    rows are numbered (or -1).

    Attributes:
        strip: From a row to its compressed scanlines; the last 16,384 are kept.
        lines: From a row to its RGB bytes, which take far more memory; the last 1,024 are kept.
    """

    def __init__(self, style: Style, width: int, bits: int) -> None:
        self._style = style
        self._width = width
        self._bits = bits
        self._colours = np.array(style.palette, dtype=np.uint8).view("V3")[:, 0]  # three bytes in one
        self.strip = lru_cache(maxsize=16_384)(self._strip)
        self.lines = lru_cache(maxsize=1024)(self._lines)
        self.padding = lru_cache(maxsize=64)(self._padding)

    def wall(self, rows: int) -> bytes:
        """Some scanlines of wall, as RGB bytes."""
        return bytes(self._style.wall) * (self._width * rows)

    def _strip(self, cells: bytes, agent_column: int, number: int) -> Strip:
        return self._pack(row_pixels(cells, self._style, self._width, agent_column, number))

    def _padding(self, rows: int) -> Strip:
        """Some compressed scanlines of wall."""
        return self._pack(np.full((rows, self._width), WALL, dtype=np.uint8))

    def _pack(self, pixels: NDArray[np.uint8]) -> Strip:
        return make_strip(scanlines(pixels, self._bits, self._style.palette))

    def _lines(self, cells: bytes, agent_column: int, number: int) -> bytes:
        return row_pixels(cells, self._style, self._width, agent_column, number, self._colours).tobytes()


@lru_cache(maxsize=16)
def press_for(style: Style, width: int, bits: int) -> Press:
    """The one press of a style, a picture width in pixels, and a number of bits per pixel."""
    return Press(style, width, bits)


@lru_cache(maxsize=256)
def picture_head(height: int, width: int, bits: int, style: Style) -> bytes:
    """What stands in front of the data of such pictures."""
    return header(height, width, bits, style.palette[: 2**bits])
