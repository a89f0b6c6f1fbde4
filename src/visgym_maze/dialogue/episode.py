"""How does a conversation about a maze go? The environment that a chat policy plays in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from string import Template
from typing import Any, NamedTuple

import numpy as np

from visgym_maze.dialogue.parsing import DIALECTS, ParseFailure, parse
from visgym_maze.dialogue.prompts import PromptTemplate, prompt_named
from visgym_maze.dialogue.trajectory import StopReason, Trajectory, Turn
from visgym_maze.rewards import RewardFunction, RewardSpec, TurnOutcome
from visgym_maze.view.frames import WALL
from visgym_maze.view.png import data_uri, encode_png, to_data_uri
from visgym_maze.view.style import Style, style_named
from visgym_maze.view.text import ascii_view
from visgym_maze.world.dynamics import Action, transition
from visgym_maze.world.layout import Cell, Layout
from visgym_maze.world.solver import solve

Message = dict[str, Any]
"""A chat message in OpenAI's form: ``role``, and ``content`` as a string or a list of parts."""

OBSERVE = ("image", "text", "both", "blank")
GOAL_RULES = ("stop", "reach")


class TurnResult(NamedTuple):
    """What :meth:`MazeDialogue.step` returns.

    Attributes:
        messages: Messages that follow the answer, empty once the episode is over.
        reward: What the turn earned.
        terminated: Whether the episode ended by what the agent did.
        truncated: Whether it ended at the turn cap.
        turn: The record of the turn.
    """

    messages: list[Message]
    reward: float
    terminated: bool
    truncated: bool
    turn: Turn

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class MazeDialogue:
    """One episode of a maze as a chat: text answers in, messages with pictures out.

    Description:
        The policy sees the maze and answers with one action per turn, until it stops, reaches the
        goal or has used up its turns.
    Action Space:
        Text; see :func:`visgym_maze.dialogue.parsing.parse` for the dialects. An answer without an
        action uses up a turn and moves nothing.
    Observation Space:
        User messages: text and, by default, one PNG picture as a data URI.
    Rewards:
        Those of the ``reward`` object; by default 1 on success and 0 else.
    Episode End:
        Terminated by ``stop`` (success only on the goal), or with ``goal_rule="reach"`` also by
        standing on the goal; truncated by turn ``max_turns``. Success on the last turn counts. A
        step after the end is an error.

    Args:
        layout: The maze.
        max_turns: Turn cap, at least 1.
        reward: Called once per turn.
        dialect: ``"tag"``, ``"tuple"`` or ``"json"``.
        prompt: Name of a prompt, path of a ``.json`` file, or a template.
        observe: ``"image"``; ``"text"`` (the maze in ASCII); ``"both"``; or ``"blank"``, an empty
            picture of the same size, as a control that no policy can solve by sight.
        style: Look of the pictures.
        image_mode: ``"palette"`` or ``"rgb"`` PNG.
        goal_rule: ``"stop"``: the agent has to stop on the goal. ``"reach"``: standing there ends it.
        feedback: Whether the policy is told what its last answer did.

    Raises:
        ValueError: If an argument is none of its choices, or the goal can't be reached.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        max_turns: int = 15,
        reward: RewardFunction | None = None,
        dialect: str = "tag",
        prompt: str | PromptTemplate = "standard",
        observe: str = "image",
        style: str | Style = "visgym",
        image_mode: str = "palette",
        goal_rule: str = "stop",
        feedback: bool = True,
    ) -> None:
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {max_turns}")
        for name, value, known in (
            ("dialect", dialect, DIALECTS),
            ("observe", observe, OBSERVE),
            ("goal_rule", goal_rule, GOAL_RULES),
        ):
            if value not in known:
                raise ValueError(f"unknown {name} {value!r}; known: {', '.join(known)}")
        self.layout = layout
        self.max_turns = max_turns
        self.reward: RewardFunction = RewardSpec() if reward is None else reward
        self.dialect = dialect
        self.prompt = prompt_named(prompt)
        self.observe = observe
        self.style = style_named(style)
        self.image_mode = image_mode
        self.goal_rule = goal_rule
        self.feedback = feedback
        self._distances = solve(layout).table
        self._start_distance = self._distance(layout.start)
        if self._start_distance < 0:
            raise ValueError(f"the goal of {layout!r} cannot be reached from its start")
        self._started = False
        self._clear()

    def _clear(self) -> None:
        self.cell: Cell = self.layout.start
        self.turns: list[Turn] = []
        self.messages: list[Message] = []
        self.stop_reason: StopReason | None = None
        self._moves = 0
        self._well_formed = 0
        self._unpaid = 0.0

    def reset(self) -> list[Message]:
        """Start over.

        Returns:
            The first messages: a system message if the prompt has one, and a user message.
        """
        self._clear()
        self._started = True
        if self.prompt.system:
            self.messages.append({"role": "system", "content": self.prompt.system})
        self.messages.append({"role": "user", "content": self._content(self._task_text())})
        return list(self.messages)

    def step(self, text: str) -> TurnResult:
        """Play one answer.

        Args:
            text: The policy's answer without special tokens.

        Returns:
            The messages that follow, the reward, and whether the episode is over.

        Raises:
            RuntimeError: If the episode has not begun or is over.
        """
        if not self._started:
            raise RuntimeError("call reset() before the first step()")
        if self.stop_reason is not None:
            raise RuntimeError(f"the episode is over ({self.stop_reason}); call reset() for another")
        parsed = parse(text, self.dialect)
        before, bumped, stopped = self.cell, False, False
        if isinstance(parsed, ParseFailure):
            action, failure, well_formed = None, str(parsed.reason), False
        else:
            action, failure, well_formed = parsed.action, None, parsed.well_formed
            stopped = action is Action.STOP
            self.cell, bumped = transition(self.layout, before, action)
        self._moves += self.cell != before
        self._well_formed += well_formed
        number = len(self.turns) + 1

        on_goal = self.cell == self.layout.goal
        success = on_goal and (stopped or self.goal_rule == "reach")
        terminated = success or stopped
        truncated = not terminated and number >= self.max_turns
        reward = self._pay(
            TurnOutcome(
                turn=number,
                max_turns=self.max_turns,
                distance_before=self._distance(before),
                distance_after=self._distance(self.cell),
                start_distance=self._start_distance,
                moves=self._moves,
                acted=failure is None,
                bumped=bumped,
                well_formed=self._well_formed,
                terminated=terminated,
                truncated=truncated,
                success=success,
            )
        )
        feedback = self._feedback_text(failure, bumped)
        word = None if action is None else action.word
        turn = Turn(text, word, failure, well_formed, self.cell, bumped, reward, feedback)
        self.turns.append(turn)
        self.messages.append({"role": "assistant", "content": text})
        if terminated or truncated:
            self.stop_reason = (
                StopReason.GOAL if success else StopReason.WRONG_STOP if terminated else StopReason.TURN_LIMIT
            )
            return TurnResult([], reward, terminated, truncated, turn)
        shown = feedback if self.feedback else ""
        later = self.prompt.later_text(feedback=shown, turn=number, max_turns=self.max_turns)
        message: Message = {"role": "user", "content": self._content(later)}
        self.messages.append(message)
        return TurnResult([message], reward, False, False, turn)

    def abort(self, reason: StopReason) -> None:
        """End the episode from outside, for example because the context is full.

        Rewards that are to be paid on the last turn are lost; those already paid stay.
        """
        if self.stop_reason is None:
            self.stop_reason = reason

    def conversation(self, history: int | None = None) -> list[Message]:
        """The messages so far, as a policy without memory of its own gets them.

        Args:
            history: Keep the first user message and the last ``history`` answers with what follows
                each; None keeps everything.
        """
        if history is None:
            return list(self.messages)
        if history < 0:
            raise ValueError(f"history must be at least 0, got {history}")
        head = 2 if self.prompt.system else 1
        cut = max(head, len(self.messages) - 2 * history) if history else len(self.messages)
        if cut == head:
            return list(self.messages)
        if history == 0:
            # Without any past, the newest picture goes with the task text itself.
            return [*self.messages[: head - 1], {"role": "user", "content": self._content(self._task_text())}]
        return [*self.messages[:head], *self.messages[cut:]]

    def trajectory(self, *, group: int | None = None, rollout: int | None = None, **info: Any) -> Trajectory:
        """The record of the episode so far."""
        return Trajectory(
            self.layout, tuple(self.turns), self.stop_reason, self.max_turns, group, rollout, info
        )

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.stop_reason is not None

    def _task_text(self) -> str:
        return self.prompt.first_text(
            max_turns=self.max_turns, dialect=self.dialect, goal_rule=self.goal_rule
        )

    def _distance(self, cell: Cell) -> int:
        return self._distances[cell[0] * self.layout.width + cell[1]]

    def _pay(self, outcome: TurnOutcome) -> float:
        reward = float(self.reward(outcome))
        if getattr(self.reward, "per_turn", True):
            return reward
        self._unpaid += reward
        return self._unpaid if outcome.terminated or outcome.truncated else 0.0

    def _feedback_text(self, failure: str | None, bumped: bool) -> str:
        if failure is not None:
            return Template(self.prompt.invalid).substitute(reason=failure.replace("_", " "))
        return self.prompt.blocked if bumped else self.prompt.moved

    def _content(self, text: str) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        if self.observe in ("text", "both"):
            text = f"{text}\n{ascii_view(self.layout, self.cell)}"
        if text:
            parts.append({"type": "text", "text": text})
        if self.observe != "text":
            parts.append({"type": "image_url", "image_url": {"url": self._picture()}})
        return parts

    def _picture(self) -> str:
        if self.observe == "blank":
            return _blank_uri(self.layout.height, self.layout.width, self.style)
        return data_uri(self.layout, self.cell, self.style, self.image_mode)


@lru_cache(maxsize=64)
def _blank_uri(height: int, width: int, style: Style) -> str:
    frame = np.empty((*style.picture_size(height, width), 3), dtype=np.uint8)
    frame[:] = style.palette[WALL]
    return to_data_uri(encode_png(frame))


def picture_urls(messages: Sequence[Message]) -> list[str]:
    """The image URLs in some messages, in order."""
    return [
        part["image_url"]["url"]
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "image_url"
    ]
