"""On which mazes, and shown how, is a policy measured? Test suites by name.

All suites are made of mazes whose walls belong to the role ``eval``, rotated and mirrored twins included, so
none of their layouts is in any train split; and each maze can be solved within the suite's turn cap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import cleandoc
from typing import Any

from visgym_maze.world.generation import Size, resolve
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import Split, levels_key, moves_within

SIZE, TURNS = 9, 15
LONG_TURNS = 30


@dataclass(frozen=True)
class Suite:
    """Mazes and the way to play them.

    Attributes:
        levels: The mazes.
        options: How they are shown and played; as for
            :class:`~visgym_maze.dialogue.episode.MazeDialogue`.
    """

    levels: tuple[Layout, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def key(self) -> str:
        """32 hex digits that name the mazes and their order."""
        return levels_key(self.levels)


def _held_out(size: Size, n: int, max_turns: int = TURNS, generator: str = "wilson") -> tuple[Layout, ...]:
    return Split.make("eval", size, n, max_moves=moves_within(max_turns), generator=generator).levels


def paper_64() -> Suite:
    """64 held-out mazes of 9x9: the number of mazes and of turns of the published runs.

    Fixed: size 9x9, Wilson's algorithm, opposite corners, 15 turns, pictures in VisGym's style. As the mazes
    can be solved within the cap, all have a shortest path of 12 moves.
    Varies: the walls alone.
    """
    return Suite(_held_out(SIZE, 64), {"max_turns": TURNS})


def test_1024() -> Suite:
    """1024 mazes of the same kind, the first 64 being those of paper-64: an interval four times as narrow.

    Fixed: as paper-64.
    Varies: the walls alone.
    """
    return Suite(_held_out(SIZE, 1024), {"max_turns": TURNS})


def unseen_size() -> Suite:
    """64 mazes whose sides no recipe trains on: 16 each of 5x13, 7x11, 11x7 and 13x5.

    Fixed: as paper-64, the path of 12 moves included.
    Varies: height and width, and with them the size of the picture.
    """
    shapes = ((5, 13), (7, 11), (11, 7), (13, 5))
    levels = [layout for shape in shapes for layout in _held_out(shape, 16)]
    return Suite(tuple(levels), {"max_turns": TURNS})


def unseen_generator() -> Suite:
    """64 mazes by other algorithms: 16 each by depth-first search, Prim, Kruskal, and with loops (braided).

    Fixed: as paper-64, the path of 12 moves included.
    Varies: the algorithm, so how long, winding and branched corridors are.
    """
    names = ("dfs", "prim", "kruskal", "braided")
    levels = [layout for name in names for layout in _held_out(SIZE, 16, generator=name)]
    return Suite(tuple(levels), {"max_turns": TURNS})


def unseen_style() -> Suite:
    """The mazes of paper-64 in the style ``dark``, in which every colour is another.

    Fixed: as paper-64, the mazes included. The prompt names the colours that the picture has.
    Varies: the colours.
    """
    return Suite(_held_out(SIZE, 64), {"max_turns": TURNS, "style": "dark"})


def long_path() -> Suite:
    """64 mazes with longer ways, played in up to 30 turns: 32 of 16 moves and 32 of 20 or more.

    Fixed: as paper-64, except for the turn cap.
    Varies: the length of the shortest path, and with it the length of the conversation.
    """
    levels = _held_out(SIZE, 1024, LONG_TURNS)
    longer = [layout for layout in levels if solve(layout).moves == 16][:32]
    longest = [layout for layout in levels if solve(layout).moves >= 20][:32]
    return Suite((*longer, *longest), {"max_turns": LONG_TURNS})


def text_only() -> Suite:
    """The mazes of paper-64 drawn in characters, without a picture.

    Fixed: as paper-64, the mazes included.
    Varies: what is shown. The difference to paper-64 is what seeing costs.
    """
    return Suite(_held_out(SIZE, 64), {"max_turns": TURNS, "observe": "text"})


def blank_image() -> Suite:
    """The mazes of paper-64 behind empty pictures of the same size: a control.

    Fixed: as paper-64, the mazes and the prompt included.
    Varies: what is shown, which is nothing. What is solved here is solved by feedback and luck.
    """
    return Suite(_held_out(SIZE, 64), {"max_turns": TURNS, "observe": "blank"})


SUITES: dict[str, Callable[[], Suite]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        paper_64,
        test_1024,
        unseen_size,
        unseen_generator,
        unseen_style,
        long_path,
        text_only,
        blank_image,
    )
}
"""Suites by name; what each holds fixed and what it varies stands in its docstring."""


@lru_cache(maxsize=len(SUITES))
def suite_named(name: str) -> Suite:
    """Make a suite; the same mazes every time.

    Raises:
        ValueError: If there is none of that name.
    """
    return resolve(name, SUITES, "suite")()


def describe(name: str) -> str:
    """What a suite holds, holds fixed and varies."""
    return cleandoc(resolve(name, SUITES, "suite").__doc__ or "")
