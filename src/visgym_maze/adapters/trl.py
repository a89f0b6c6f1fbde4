"""How does TRL's ``GRPOTrainer`` play a maze? With tools, through its ``environment_factory``."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

from PIL import Image

from visgym_maze.adapters.numbering import numbered
from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.world.layout import Layout

Part = dict[str, Any]
"""A part of a message in TRL's form: ``{"type": "text", "text": str}`` or ``{"type": "image", "image":
PIL.Image.Image}``."""


def seed_rows(levels: Sequence[Layout], system: str = "") -> list[dict[str, Any]]:
    """Rows for ``datasets.Dataset.from_list``: one per maze, with the columns ``prompt`` and ``seed``.

    TRL repeats a row for every member of its group, so the group shares the maze. The environment
    writes the task and the first picture into the prompt's empty user message.

    Args:
        levels: The mazes, the same as in the environment.
        system: Text of a system message; empty for none.
    """
    prompt = [{"role": "system", "content": system}] if system else []
    return [{"prompt": [*prompt, {"role": "user", "content": ""}], "seed": n} for n in range(len(levels))]


class MazeTools:
    """One episode at a time, whose public methods are the model's tools.

    TRL cannot be told that an episode is over: a call after the end gets an error as its result, moves
    nothing and earns nothing. Set ``max_tool_calling_iterations`` to the turn cap, so that few happen.
    An answer without a tool call ends the rollout on TRL's side.

    Args:
        levels: The mazes; ``seed`` of a row is a number in this sequence.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`, except that
            the dialect is ``"json"``, the form of tool calls.
    """

    def __init__(self, levels: Sequence[Layout], **options: Any) -> None:
        self._levels = levels
        self._options = options
        self._dialogue: MazeDialogue | None = None

    def reset(self, *, seed: int | None = None, **row: Any) -> list[Part]:
        """Start the maze of a row.

        Args:
            seed: The row's column of that name.
            row: Its other columns; not used.

        Returns:
            The task and the first picture, for the prompt's last message.

        Raises:
            ValueError: If the row has no seed: then each member of a group would play another maze.
        """
        if seed is None:
            raise ValueError("the data set needs a column 'seed'; make its rows with seed_rows(levels)")
        self._dialogue = MazeDialogue(numbered(self._levels, seed), dialect="json", **self._options)
        return _parts(self._dialogue.reset())

    def move(self, direction: str) -> list[Part]:
        """Move one cell.

        Args:
            direction: One of "left", "right", "up" and "down".

        Returns:
            What happened, and the picture afterwards.
        """
        return self._call("move", direction=direction)

    def stop(self) -> list[Part]:
        """End the episode. It is a success if you stand on the goal.

        Returns:
            That the episode is over.
        """
        return self._call("stop")

    def get_reward(self) -> float:
        """What the episode has earned, all turns together."""
        return self._trajectory().total_reward

    def _trajectory(self) -> Trajectory:
        return self._playing().trajectory()

    def _playing(self) -> MazeDialogue:
        if self._dialogue is None:
            raise RuntimeError("call reset() before anything else")
        return self._dialogue

    def _call(self, name: str, **arguments: Any) -> list[Part]:
        # Back into text: so a direction that does not exist costs a turn, as it does everywhere else.
        result = self._playing().step(json.dumps({"name": name, "arguments": arguments}))
        if result.done:
            return [{"type": "text", "text": f"{result.turn.feedback} The episode is over.".strip()}]
        return _parts(result.messages)


def _parts(messages: Sequence[Message]) -> list[Part]:
    contents = [message["content"] for message in messages]
    lists = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in contents]
    return [_decode(part) if part["type"] == "image_url" else part for parts in lists for part in parts]


def _decode(part: Part) -> Part:
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    return {"type": "image", "image": Image.open(io.BytesIO(data)).convert("RGB")}
