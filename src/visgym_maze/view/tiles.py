"""How does one row of cells look, pixel by pixel? Palette indices of tiles, agent and numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import Style
from visgym_maze.world.layout import Layout

WALL, FLOOR, GOAL, AGENT, TRAIL, FOG, LABEL = range(7)
"""Palette indices; plain pictures do without the last three."""

_INDICES = np.arange(7, dtype=np.uint8)

# The disc of VisGym at 25 pixels per cell: widths of its 12 rows, without anti-aliasing.
_VISGYM_DISC = (4, 6, 8, 10, 12, 12, 12, 12, 10, 8, 6, 4)

# Digits of 3 x 5 dots, one number of three bits per row.
_DIGITS = (
    (7, 5, 5, 5, 7),
    (2, 6, 2, 2, 7),
    (7, 1, 7, 4, 7),
    (7, 1, 3, 1, 7),
    (5, 5, 7, 1, 1),
    (7, 4, 7, 1, 7),
    (7, 4, 7, 5, 7),
    (7, 1, 2, 2, 2),
    (7, 5, 7, 5, 7),
    (7, 5, 7, 1, 7),
)


def cell_indices(layout: Layout) -> NDArray[np.uint8]:
    """Palette index of every cell without the agent, uint8 of shape ``(height, width)``."""
    cells = (~layout.grid).astype(np.uint8)
    cells[layout.goal] = GOAL
    return cells


@lru_cache(maxsize=64)
def agent_mask(cell: int) -> NDArray[np.bool_]:
    """The agent's disc in a tile, a read-only bool array of shape ``(cell, cell)``."""
    mask = np.zeros((cell, cell), dtype=np.bool_)
    if cell == 25:
        for row, width in enumerate(_VISGYM_DISC, start=6):
            mask[row, 12 - width // 2 : 12 + width // 2] = True
    else:
        centre = (cell - 1) / 2
        offsets = (np.arange(cell) - centre) ** 2
        mask = offsets[:, None] + offsets[None, :] <= (0.27 * cell) ** 2
    mask.flags.writeable = False
    return mask


@lru_cache(maxsize=1024)
def label_mask(number: int, cell: int) -> NDArray[np.bool_]:
    """A number in the middle of a tile, a read-only bool array of shape ``(cell, cell)``.

    Raises:
        ValueError: If the tile is too small for it.
    """
    digits = [int(digit) for digit in str(number)]
    # At least two digits set the size, so that 9 looks no bigger than 10.
    scale = (cell - 1) // max(4 * len(digits) - 1, 7)
    if scale < 1:
        need = max(4 * len(digits), 8)
        raise ValueError(f"a cell of {cell} pixels is too small for the number {number}; use {need}")
    dots = np.zeros((5, 4 * len(digits) - 1), dtype=np.bool_)
    for place, digit in enumerate(digits):
        for row, bits in enumerate(_DIGITS[digit]):
            dots[row, 4 * place : 4 * place + 3] = [bits & 4, bits & 2, bits & 1]
    glyph = dots.repeat(scale, axis=0).repeat(scale, axis=1)
    mask = np.zeros((cell, cell), dtype=np.bool_)
    top, left = (cell - glyph.shape[0]) // 2, (cell - glyph.shape[1]) // 2
    mask[top : top + glyph.shape[0], left : left + glyph.shape[1]] = glyph
    mask.flags.writeable = False
    return mask


def row_pixels(
    cells: bytes,
    style: Style,
    width: int,
    agent_column: int = -1,
    number: int = -1,
    colours: NDArray[Any] = _INDICES,
) -> NDArray[Any]:
    """Draw one row of cells.

    Args:
        cells: Palette index of each cell.
        style: Sizes.
        width: Pixels; what the cells don't fill is wall.
        agent_column: Column of the agent, or -1.
        number: Number of the row, written into its first cell (row 0: that of each column into each
            cell), or -1 for no numbers.
        colours: What to draw each palette index with; by default the index itself, uint8.

    Returns:
        Shape ``(style.cell, width)``, of the colours' dtype.
    """
    size = style.cell
    line = np.full(width, colours[WALL], dtype=colours.dtype)
    line[: len(cells) * size] = colours.take(np.frombuffer(cells, dtype=np.uint8)).repeat(size)
    # Without agent and numbers all scanlines are alike, and nothing copies them as fast as bytes.
    scanlines = bytearray(line.tobytes() * size)
    pixels = np.frombuffer(scanlines, dtype=colours.dtype).reshape(size, width)
    for column in range(len(cells) if number == 0 else number > 0):
        tile = pixels[:, column * size : (column + 1) * size]
        tile[label_mask(column if number == 0 else number, size)] = colours[LABEL]
    if agent_column >= 0:
        tile = pixels[:, agent_column * size : (agent_column + 1) * size]
        tile[agent_mask(size)] = colours[AGENT]
    return pixels
