"""How does a maze look from above? As an RGB array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import Style
from visgym_maze.view.top_down import plain_view
from visgym_maze.world.layout import Cell, Layout


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
    return plain_view(style).camera(layout).frame(agent)
