"""How does a picture of a maze look? Colours and sizes, with named presets."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property

RGB = tuple[int, int, int]

_COLOURS = ("wall", "floor", "goal", "agent", "trail", "fog", "label")


@dataclass(frozen=True)
class Style:
    """Colours and geometry of a top-down picture.

    Attributes:
        cell: Pixels per cell.
        pad_to: Picture sides are padded with ``wall`` colour, right and below, to a multiple of
            this many pixels. Vision transformers cut pictures into patches; a multiple of theirs
            (32 for Qwen3-VL, whose visual token covers 32x32 pixels) avoids a resize.
        wall: Colour of walls, three numbers from 0 to 255.
        floor: Colour of floor.
        goal: Colour of the goal tile.
        agent: Colour of the agent's disc.
        trail: Colour of floor that the agent has stood on, in views that show it.
        fog: Colour of cells that the agent can't see, in views that have fog.
        label: Colour of row and column numbers, in views that have them.

    Raises:
        TypeError: If a size or a colour is made of anything but integers.
        ValueError: If a size is too small, a colour is out of range, or wall, floor, goal and agent
            are not four different colours.
    """

    cell: int = 25
    pad_to: int = 1
    wall: RGB = (169, 169, 169)
    floor: RGB = (255, 255, 255)
    goal: RGB = (255, 0, 0)
    agent: RGB = (0, 0, 255)
    trail: RGB = (186, 212, 255)
    fog: RGB = (226, 208, 240)
    label: RGB = (0, 0, 0)

    def __post_init__(self) -> None:
        # Plain ints and tuples, whatever integers came in (numpy's, or lists out of a JSON file).
        fields: dict[str, object] = {name: operator.index(getattr(self, name)) for name in ("cell", "pad_to")}
        fields |= {name: tuple(operator.index(v) for v in getattr(self, name)) for name in _COLOURS}
        self.__dict__.update(fields)
        if self.cell < 4:
            raise ValueError(f"a cell needs at least 4 pixels to show the agent, got {self.cell}")
        if self.pad_to < 1:
            raise ValueError(f"pad_to must be at least 1, got {self.pad_to}")
        for name in _COLOURS:
            colour: RGB = getattr(self, name)
            if len(colour) != 3 or not all(0 <= value <= 255 for value in colour):
                raise ValueError(f"{name} must be three integers from 0 to 255, got {colour!r}")
        if len({self.wall, self.floor, self.goal, self.agent}) < 4:
            raise ValueError("wall, floor, goal and agent must have four different colours")

    @cached_property
    def _hash(self) -> int:
        return hash((self.cell, self.pad_to, self.palette))

    def __hash__(self) -> int:
        # Styles are part of the keys of the picture caches, so the hash is worked out once.
        return self._hash

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` in pixels of the picture of a maze of ``height`` x ``width`` cells."""
        return self._side(height), self._side(width)

    def _side(self, cells: int) -> int:
        return -(-cells * self.cell // self.pad_to) * self.pad_to

    @cached_property
    def palette(self) -> tuple[RGB, ...]:
        """Colours by palette index: wall, floor, goal, agent, trail, fog, label."""
        return self.wall, self.floor, self.goal, self.agent, self.trail, self.fog, self.label


STYLES: dict[str, Style] = {
    "visgym": Style(),
    "patch16": Style(cell=16, pad_to=32),
    "patch28": Style(cell=28, pad_to=28),
    "patch32": Style(cell=32, pad_to=32),
    "dark": Style(
        wall=(38, 41, 48),
        floor=(92, 98, 112),
        goal=(235, 188, 66),
        agent=(88, 214, 196),
        trail=(62, 84, 128),
        fog=(12, 13, 16),
        label=(240, 240, 240),
    ),
    "contrast": Style(
        wall=(0, 0, 0),
        floor=(255, 255, 255),
        goal=(0, 158, 115),
        agent=(213, 94, 0),
        trail=(240, 228, 66),
        fog=(86, 100, 160),
        label=(255, 255, 255),
    ),
}
"""Named styles; ``visgym`` is pixel for pixel VisGym's, ``contrast`` is safe for colour blindness."""


def style_named(style: str | Style) -> Style:
    """Look a style up by name; a :class:`Style` is returned as it is.

    Raises:
        ValueError: If the name is unknown.
    """
    if isinstance(style, Style):
        return style
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}; known: {', '.join(STYLES)}")
    return STYLES[style]
