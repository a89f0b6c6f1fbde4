"""How does a picture of a maze look? Colours and sizes, with named presets."""

from __future__ import annotations

from dataclasses import dataclass

RGB = tuple[int, int, int]


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
    """

    cell: int = 25
    pad_to: int = 1
    wall: RGB = (169, 169, 169)
    floor: RGB = (255, 255, 255)
    goal: RGB = (255, 0, 0)
    agent: RGB = (0, 0, 255)

    def __post_init__(self) -> None:
        if self.cell < 4:
            raise ValueError(f"a cell needs at least 4 pixels to show the agent, got {self.cell}")
        if self.pad_to < 1:
            raise ValueError(f"pad_to must be at least 1, got {self.pad_to}")
        for name in ("wall", "floor", "goal", "agent"):
            colour = getattr(self, name)
            if len(colour) != 3 or not all(isinstance(v, int) and 0 <= v <= 255 for v in colour):
                raise ValueError(f"{name} must be three integers from 0 to 255, got {colour!r}")

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` in pixels of the picture of a maze of ``height`` x ``width`` cells."""
        return self._side(height), self._side(width)

    def _side(self, cells: int) -> int:
        return -(-cells * self.cell // self.pad_to) * self.pad_to

    @property
    def palette(self) -> tuple[RGB, RGB, RGB, RGB]:
        """Colours by palette index: wall, floor, goal, agent."""
        return self.wall, self.floor, self.goal, self.agent


STYLES: dict[str, Style] = {
    "visgym": Style(),
    "patch16": Style(cell=16, pad_to=32),
    "patch28": Style(cell=28, pad_to=28),
    "patch32": Style(cell=32, pad_to=32),
    "dark": Style(wall=(38, 41, 48), floor=(92, 98, 112), goal=(235, 188, 66), agent=(88, 214, 196)),
    "contrast": Style(wall=(0, 0, 0), floor=(255, 255, 255), goal=(0, 158, 115), agent=(213, 94, 0)),
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
