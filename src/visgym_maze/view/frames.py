"""How does a maze look from above? As an RGB array."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import RGB, Style, style_named
from visgym_maze.world.layout import Cell, Layout

WALL, FLOOR, GOAL, AGENT = range(4)
"""Palette indices."""

# The disc of VisGym at 25 pixels per cell: widths of its 12 rows, without anti-aliasing.
_VISGYM_DISC = (4, 6, 8, 10, 12, 12, 12, 12, 10, 8, 6, 4)


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


def cell_indices(layout: Layout) -> NDArray[np.uint8]:
    """Palette index of every cell without the agent, uint8 of shape ``(height, width)``."""
    cells = (~layout.grid).astype(np.uint8)
    cells[layout.goal] = GOAL
    return cells


@lru_cache(maxsize=512)
def _background(layout: Layout, style: Style) -> NDArray[np.uint8]:
    """The picture without the agent, a read-only array."""
    height, width = style.picture_size(*layout.shape)
    # One scanline per row of cells, padding included; all others repeat it.
    cells = np.full((layout.height, -(-width // style.cell)), WALL, dtype=np.uint8)
    cells[:, : layout.width] = cell_indices(layout)
    lines = np.array(style.palette, dtype=np.uint8)[cells].repeat(style.cell, axis=1)[:, :width]
    below = height - layout.height * style.cell
    picture = b"".join(line.tobytes() * style.cell for line in lines) + bytes(style.wall) * (width * below)
    return np.frombuffer(picture, dtype=np.uint8).reshape(height, width, 3)


@lru_cache(maxsize=128)
def _agent_tile(style: Style, under: RGB) -> NDArray[np.uint8]:
    """A tile of colour ``under`` with the agent's disc, uint8 of shape ``(cell, cell, 3)``."""
    tile = np.full((style.cell, style.cell, 3), under, dtype=np.uint8)
    tile[agent_mask(style.cell)] = style.agent
    return tile


def render(layout: Layout, agent: Cell | None = None, style: str | Style = "visgym") -> NDArray[np.uint8]:
    """Draw a maze from above.

    Args:
        layout: The maze.
        agent: Where the agent stands; None leaves it out.
        style: Name of a style, or a :class:`Style`.

    Returns:
        A fresh C-contiguous uint8 array of shape ``(picture height, picture width, 3)``, RGB. It
        is the caller's own: no later call changes it, and writing to it changes no later picture.
    """
    style = style_named(style)
    frame = _background(layout, style).copy()
    if agent is not None:
        cell = style.cell
        top, left = agent[0] * cell, agent[1] * cell
        tile = frame[top : top + cell, left : left + cell]
        tile[:] = _agent_tile(style, tuple(tile[0, 0].tolist()))
    return frame
