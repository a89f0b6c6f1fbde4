"""Which options do several commands share? Their types, help and completion."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.dialogue.episode import GOAL_RULES, OBSERVE
from visgym_maze.dialogue.prompts import PROMPTS
from visgym_maze.view.named import VIEWS
from visgym_maze.view.style import STYLES
from visgym_maze.world.algorithms import GENERATORS
from visgym_maze.world.endpoints import ENDPOINTS


def names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion function for some names."""
    listed = sorted(known)

    def complete(incomplete: str) -> list[str]:
        return [name for name in listed if name.startswith(incomplete)]

    return complete


def one_of(help_text: str, known: Iterable[str], *flags: str, panel: str | None = None) -> Any:
    """An option that takes a name, with the names in its help and completion."""
    listed = list(known)
    return typer.Option(
        *flags,
        help=f"{help_text}: {', '.join(listed)}.",
        autocompletion=names(listed),
        show_default=True,
        rich_help_panel=panel,
    )


def whole(help_text: str, *flags: str, least: int = 1, panel: str | None = None, **more: Any) -> Any:
    """An option that takes an integer from ``least`` up."""
    return _number(int, "a whole number", least, help_text, flags, panel, more)


def real(help_text: str, *flags: str, least: float = 0.0, panel: str | None = None, **more: Any) -> Any:
    """An option that takes a finite number from ``least`` up."""
    return _number(float, "a number", least, help_text, flags, panel, more)


def _number(
    kind: type[int] | type[float],
    what: str,
    least: float,
    help_text: str,
    flags: Sequence[str],
    panel: str | None,
    more: dict[str, Any],
) -> Any:
    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise typer.BadParameter(f"{text!r} is not {what} from {least} up")
        return value

    return typer.Option(*flags, help=help_text, parser=parse, metavar="N", rich_help_panel=panel, **more)


_PLAY = "How it is shown and played"

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, whole("Seed of everything random.", "--seed", least=0)]
Size = Annotated[str, typer.Option("--size", help="Side in cells with the wall ring, odd; or HEIGHTxWIDTH.")]
Generator = Annotated[str, one_of("Algorithm", GENERATORS, "--generator")]
Endpoints = Annotated[str, one_of("Where start and goal are", ENDPOINTS, "--endpoints")]
MaxMoves = Annotated[int | None, whole("Only mazes with a shortest path of at most this.", "--max-moves")]

MaxTurns = Annotated[int | None, whole("Turn cap.", "--max-turns", panel=_PLAY)]
Prompt = Annotated[str | None, one_of("Prompt, or path of a .json file", PROMPTS, "--prompt", panel=_PLAY)]
Style = Annotated[str | None, one_of("Look", STYLES, "--style", panel=_PLAY)]
View = Annotated[str | None, one_of("View, in place of a style", VIEWS, "--view", panel=_PLAY)]
Observe = Annotated[str | None, one_of("What is shown", OBSERVE, "--observe", panel=_PLAY)]
Dialect = Annotated[str | None, one_of("How actions are spelled", DIALECTS, "--dialect", panel=_PLAY)]
GoalRule = Annotated[str | None, one_of("When it is won", GOAL_RULES, "--goal-rule", panel=_PLAY)]
MovesPerTurn = Annotated[int | None, whole("Actions in an answer, at most.", "--moves-per-turn", panel=_PLAY)]
Feedback = Annotated[
    bool | None,
    typer.Option(
        "--feedback/--no-feedback", help="Whether it is told what an answer did.", rich_help_panel=_PLAY
    ),
]


_LARGEST_SIDE = 301  # a picture of 7525 x 7525 pixels, 170 MB as an array


def size_of(text: str) -> tuple[int, int]:
    """``"9"`` or ``"7x11"`` as height and width.

    Raises:
        ValueError: If it is neither, or so large that its picture would fill the memory.
    """
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9}))?", text)
    if match is None:
        raise ValueError(f"--size is an odd number such as 9, or HEIGHTxWIDTH such as 7x11; got {text!r}")
    height, width = int(match[1]), int(match[2] or match[1])
    if max(height, width) > _LARGEST_SIDE:
        raise ValueError(
            f"--size {text}: at most {_LARGEST_SIDE} cells a side here; visgym_maze.generate has no limit"
        )
    return height, width


_PLAYED = (
    "max_turns", "prompt", "style", "view", "observe", "dialect", "goal_rule", "feedback", "moves_per_turn",
)  # fmt: skip


def play_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """How to play, out of the arguments of a command (its ``locals()``): what was given of it.

    Returns:
        Keyword arguments of :class:`~visgym_maze.dialogue.episode.MazeDialogue`.
    """
    play = {name: arguments[name] for name in _PLAYED if arguments.get(name) is not None}
    if "moves_per_turn" in play:
        play["max_moves_per_turn"] = play.pop("moves_per_turn")
    return play
