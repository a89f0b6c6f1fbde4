"""What are some colours called?"""

from __future__ import annotations

from collections.abc import Iterable

from visgym_maze.view.style import RGB

_NAMED: dict[str, RGB] = {
    "black": (0, 0, 0),
    "dark grey": (50, 52, 58),
    "grey": (135, 135, 135),
    "light grey": (210, 210, 210),
    "white": (255, 255, 255),
    "red": (255, 0, 0),
    "brown": (120, 70, 20),
    "orange": (225, 110, 0),
    "yellow": (240, 215, 65),
    "green": (0, 150, 80),
    "turquoise": (70, 215, 200),
    "light blue": (175, 210, 255),
    "blue": (0, 0, 255),
    "dark blue": (30, 50, 130),
    "purple": (130, 0, 160),
    "lilac": (220, 200, 240),
    "pink": (255, 130, 180),
}


def colour_names(colours: Iterable[RGB]) -> list[str]:
    """An English word for each colour: that of the nearest of some common colours not yet named."""
    left = dict(_NAMED)
    names: list[str] = []
    for colour in colours:
        nearest = min(
            left, key=lambda name: sum((a - b) ** 2 for a, b in zip(colour, left[name], strict=True))
        )
        del left[nearest]
        names.append(nearest)
    return names
