"""What does a maze look like from above? Plain, or with numbers, a trail, or fog."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import index

from visgym_maze.view.colours import colour_names
from visgym_maze.view.style import STYLES, Style, style_named
from visgym_maze.view.text import TEXTS
from visgym_maze.view.tiles import label_mask
from visgym_maze.view.top_down_camera import TopDownCamera, camera_of
from visgym_maze.world.layout import Cell, Layout

MODES = ("palette", "rgb")


@dataclass(frozen=True)
class TopDown:
    """A maze seen from above.

    Attributes:
        style: Colours and sizes.
        mode: ``"palette"`` PNGs (2 bits a pixel, or 4 with any of the extras: small and fast) or
            ``"rgb"`` (8 bits a channel, for readers that take pixel values without converting).
            Both decode to the same RGB picture.
        coordinates: Whether rows and columns are numbered, in the first column and row.
        trail: Whether floor that the agent has stood on has a colour of its own.
        fog: Cells further than this from the agent, in rows or in columns, are hidden. None: no fog.
        text: What stands for the picture in words: ``"ascii"``, the maze drawn in characters, or
            ``"position"``, the cells of agent and goal and the ways that are free.

    Raises:
        ValueError: If a name is unknown, ``fog`` is below 1, or the cells are too small for numbers.
    """

    style: Style = STYLES["visgym"]
    mode: str = "palette"
    coordinates: bool = False
    trail: bool = False
    fog: int | None = None
    text: str = "ascii"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"unknown PNG mode {self.mode!r}; known: {', '.join(MODES)}")
        if self.text not in TEXTS:
            raise ValueError(f"unknown text {self.text!r}; known: {', '.join(TEXTS)}")
        if self.fog is not None:
            self.__dict__["fog"] = index(self.fog)
            if self.fog < 1:
                raise ValueError(f"fog must leave at least 1 cell around the agent in sight, got {self.fog}")
        if self.coordinates:
            label_mask(0, self.style.cell)

    @cached_property
    def _hash(self) -> int:
        return hash((self.style, self.coordinates, self.trail, self.fog or 0))

    def __hash__(self) -> int:
        # Worked out once, like that of a style; without the strings, whose hash differs between processes.
        return self._hash

    def camera(self, layout: Layout) -> TopDownCamera:
        """The view of one maze; the last 256 are kept."""
        return camera_of(self, layout)

    def picture_size(self, height: int, width: int) -> tuple[int, int]:
        """``(height, width)`` in pixels of the picture of a maze of ``height`` x ``width`` cells."""
        return self.style.picture_size(height, width)

    def legend(self, *, picture: bool) -> str:
        """Sentences that explain the picture, with the style's colours, or the text."""
        return _legend(self) if picture else TEXTS[self.text]


@lru_cache(maxsize=64)
def _legend(view: TopDown) -> str:
    wall, floor, goal, agent, trail, fog, _ = colour_names(view.style.palette)
    extras = ""
    if view.trail:
        extras += f" Cells that you have stood on are {trail}."
    if view.fog is not None:
        extras += f" You see {view.fog} cells far; what lies further away is {fog}."
    if view.coordinates:
        extras += " The numbers count rows and columns."
    return (
        f"The picture shows a maze from above. {wall.capitalize()} cells are walls, {floor} cells are "
        f"free, the {agent} disc is you and the {goal} cell is the goal.{extras}"
    )


@lru_cache(maxsize=64)
def plain_view(style: str | Style, mode: str = "palette") -> TopDown:
    """``TopDown(style, mode)``, or with the style of that name; made once."""
    return TopDown(style_named(style), mode)


def png_bytes(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> bytes:
    """Encode the picture that :func:`visgym_maze.view.frames.render` draws.

    Args:
        layout: The maze.
        agent: Where the agent stands; None leaves it out.
        style: Name of a style, or a :class:`~visgym_maze.view.style.Style`.
        mode: ``"palette"`` or ``"rgb"``; see :class:`TopDown`.

    Returns:
        A complete PNG file.

    Raises:
        ValueError: If the mode or the style is unknown.
    """
    return plain_view(style, mode).camera(layout).png(agent)


def data_uri(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> str:
    """The picture as ``data:image/png;base64,...``; arguments as for :func:`png_bytes`."""
    return plain_view(style, mode).camera(layout).data_uri(agent)
