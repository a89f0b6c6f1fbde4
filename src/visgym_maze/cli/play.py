"""How hard is it? A person plays in the terminal: ``visgym-maze play``."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from visgym_maze.cli import options
from visgym_maze.cli.blocks import blocks
from visgym_maze.cli.console import answer, errors
from visgym_maze.cli.keys import keyboard
from visgym_maze.dialogue.content import Message
from visgym_maze.dialogue.dialects import spell
from visgym_maze.dialogue.episode import MazeDialogue, picture_urls
from visgym_maze.records import EpisodeFile
from visgym_maze.world.dynamics import Action
from visgym_maze.world.generation import generate
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import moves_within

EXAMPLES = (
    "visgym-maze play",
    "visgym-maze play --size 11 --max-turns 30 --view first-person --seed 5",
    "visgym-maze play --observe text --out mine.jsonl",
)

# What terminals send: arrows in normal and application mode, and by Windows.
_ARROWS = {"A": Action.UP, "B": Action.DOWN, "C": Action.RIGHT, "D": Action.LEFT}
_WINDOWS = {"H": Action.UP, "P": Action.DOWN, "M": Action.RIGHT, "K": Action.LEFT}
KEYS: dict[str, Action] = (
    {f"\x1b{bracket}{end}": action for bracket in "[O" for end, action in _ARROWS.items()}
    | {f"{first}{end}": action for first in ("\xe0", "\x00") for end, action in _WINDOWS.items()}
    | dict(zip("wasd", (Action.UP, Action.LEFT, Action.DOWN, Action.RIGHT), strict=True))
    | dict.fromkeys((" ", "\r", "\n"), Action.STOP)
)
_QUIT = ("q", "Q", "\x1b", "")
_HELP = "arrow keys or WASD move, space or return stops, q gives up"


def command(
    size: options.Size = "9",
    generator: options.Generator = "wilson",
    endpoints: options.Endpoints = "corners",
    seed: options.Seed = 0,
    max_turns: options.MaxTurns = 15,
    prompt: options.Prompt = None,
    style: options.Style = None,
    view: options.View = None,
    observe: options.Observe = None,
    dialect: options.Dialect = None,
    goal_rule: options.GoalRule = None,
    feedback: options.Feedback = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Append the episode to this JSON-lines file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Play one maze, see what a model sees, and how it is scored."""
    play = options.play_of(locals())
    most = moves_within(max_turns or 15, goal_rule or "stop")
    layout = generate(options.size_of(size), generator, seed, endpoints=endpoints, max_moves=most)
    dialogue = MazeDialogue(layout, **play)
    if not (errors.is_terminal and sys.stdin.isatty()):
        raise ValueError("play needs a terminal; use `visgym-maze eval` for policies that are no people")
    with keyboard() as key, Live(console=errors, auto_refresh=False, screen=True) as screen:
        _play(dialogue, key, lambda shown: screen.update(shown, refresh=True))
    trajectory = dialogue.trajectory(policy="person", seed=seed)
    if out is not None and dialogue.done:
        EpisodeFile(out).append(trajectory)
    answer(
        trajectory.to_dict(),
        as_json,
        f"{dialogue.stop_reason or 'given up'}: {len(dialogue.turns)} turns, {trajectory.moves} cells walked "
        f"(shortest path {solve(layout).moves}), reward {trajectory.total_reward:g}",
    )


def _play(dialogue: MazeDialogue, key: Callable[[], str], show: Callable[[RenderableType], None]) -> None:
    """Ask for keys until the episode is over, or given up."""
    seen = _seen(dialogue.reset()[-1])
    while not dialogue.done:
        show(Group(seen, _score(dialogue)))
        pressed = key()
        if pressed in _QUIT:
            return
        action = KEYS.get(pressed.lower() if len(pressed) == 1 else pressed)
        if action is not None:
            result = dialogue.step(spell(action, dialogue.dialect))
            if result.messages:
                seen = _seen(result.messages[-1])


def _seen(message: Message) -> RenderableType:
    """A message as the model gets it: its text, and its picture read back from the PNG."""
    parts: list[Any] = message["content"]
    pictures = [_picture(url) for url in picture_urls([message])]
    words = [Text(part["text"]) for part in parts if part["type"] == "text"]
    return Panel(Group(*words, *pictures), title="what the model sees")


def _picture(url: str) -> Text:
    data = base64.b64decode(url.partition(",")[2])
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    # Half a line per pixel; the texts around it take about 14 lines.
    tallest = 2 * max(errors.height - 14, 8)
    return blocks(picture, min(errors.width - 4, tallest * picture.shape[1] // picture.shape[0]))


def _score(dialogue: MazeDialogue) -> RenderableType:
    turns = dialogue.turns
    total = sum(turn.reward for turn in turns)
    lines = [f"turn {len(turns)} of {dialogue.max_turns}, reward so far {total:g}"]
    if turns:
        last = turns[-1]
        lines.append(f"last answer {last.text!r}: {last.feedback} reward {last.reward:g}")
    return Panel(Text("\n".join([*lines, _HELP])), title="how it is scored")
