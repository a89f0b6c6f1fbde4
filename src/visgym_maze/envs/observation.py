"""What does an agent get to see at each step? A picture, a grid of cells, or its own cell alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from visgym_maze.view.style import Style
from visgym_maze.view.tiles import AGENT, cell_indices
from visgym_maze.world.layout import Cell, Layout

OBSERVE = ("image", "grid", "cell")
"""The kinds of observation."""


def observation_space(kind: str, size: tuple[int, int], style: Style) -> spaces.Space[Any]:
    """The space of one observation of a maze of ``size`` = ``(height, width)`` cells.

    Args:
        kind: ``"image"``: RGB, uint8 of shape ``(picture height, picture width, 3)``. ``"grid"``:
            uint8 of shape ``(height, width)``; 0 wall, 1 floor, 2 goal, 3 agent. ``"cell"``: the agent's
            cell, ``row * width + column``; without the maze, so for one fixed maze only.
        size: ``(height, width)`` in cells.
        style: Look of the pictures.

    Raises:
        ValueError: If the kind is unknown.
    """
    height, width = size
    if kind == "image":
        return spaces.Box(0, 255, (*style.picture_size(height, width), 3), np.uint8)
    if kind == "grid":
        return spaces.Box(0, AGENT, size, np.uint8)
    if kind == "cell":
        return spaces.Discrete(height * width)
    raise ValueError(f"unknown observe {kind!r}; known: {', '.join(OBSERVE)}")


def observe(kind: str, layout: Layout, cell: Cell) -> Any:
    """A fresh observation of the kind ``"grid"`` or, as a numpy integer, ``"cell"``."""
    if kind == "grid":
        grid = cell_indices(layout)
        grid[cell] = AGENT
        return grid
    return np.int64(cell[0] * layout.width + cell[1])
