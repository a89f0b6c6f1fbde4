"""Which strips of pictures have been drawn and compressed before?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.frames import WALL
from visgym_maze.view.png import Strip, header, make_strip, scanlines
from visgym_maze.view.style import Style
from visgym_maze.view.tiles import row_pixels


class Press:
    """Makes the strips of pictures of one style and width, each once (the last 16,384 are kept)."""

    def __init__(self, style: Style, width: int, bits: int) -> None:
        self._style = style
        self._width = width
        self._bits = bits
        self.row = lru_cache(maxsize=16_384)(self._draw)
        self.padding = lru_cache(maxsize=64)(self._draw_padding)

    def _draw(self, cells: bytes, agent_column: int, number: int) -> Strip:
        return self._pack(row_pixels(cells, self._style, self._width, agent_column, number))

    def _draw_padding(self, rows: int) -> Strip:
        return self._pack(np.full((rows, self._width), WALL, dtype=np.uint8))

    def _pack(self, pixels: NDArray[np.uint8]) -> Strip:
        return make_strip(scanlines(pixels, self._bits, self._style.palette))


@lru_cache(maxsize=16)
def press_for(style: Style, width: int, bits: int) -> Press:
    """The one press of a style, a picture width in pixels, and a number of bits per pixel."""
    return Press(style, width, bits)


@lru_cache(maxsize=256)
def picture_head(height: int, width: int, bits: int, style: Style) -> bytes:
    """What stands in front of the data of such pictures."""
    return header(height, width, bits, style.palette[: 2**bits])
