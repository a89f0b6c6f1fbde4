"""How does a conversation about a maze go? The environment that a chat policy plays in."""

from __future__ import annotations

from math import isfinite
from operator import index
from typing import Any

from visgym_maze.dialogue.content import Message, Shown, new_record, picture_urls, user_message
from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.dialogue.history import assemble
from visgym_maze.dialogue.prompts import PromptTemplate, later_text, prompt_named
from visgym_maze.dialogue.stage import Rules, stage_of
from visgym_maze.dialogue.trajectory import StopReason, Trajectory, Turn, TurnResult
from visgym_maze.rewards import RewardFunction, RewardSpec, TurnOutcome, success_alone
from visgym_maze.view.named import view_named
from visgym_maze.view.style import Style
from visgym_maze.view.top_down import plain_view
from visgym_maze.view.view import View
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Cell, Layout

__all__ = ["GOAL_RULES", "OBSERVE", "MazeDialogue", "Message", "TurnResult", "picture_urls"]

OBSERVE = ("image", "text", "both", "blank")
GOAL_RULES = ("stop", "reach")

_SPARSE = RewardSpec()


class MazeDialogue:
    """One episode of a maze as a chat: text answers in, messages with pictures out.

    Description:
        The policy sees the maze and answers with an action per turn, until it stops, reaches the
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
        observe: ``"image"``; ``"text"`` (what the picture shows, in characters or words); ``"both"``; or
            ``"blank"``, an empty picture of the same size, as a control that no policy can solve by
            sight.
        style: Look of the pictures, as the short form of ``view=TopDown(style)``.
        image_mode: ``"palette"`` or ``"rgb"`` PNG, as the short form of ``view=TopDown(mode=...)``.
        view: What the policy gets to see: a name (see :data:`visgym_maze.view.named.VIEWS`) or a
            view; takes the place of ``style`` and ``image_mode``.
        goal_rule: ``"stop"``: the agent has to stop on the goal. ``"reach"``: standing there ends it.
        feedback: Whether the policy is told what its last answer did.
        max_moves_per_turn: How many actions, stop included, one answer may hold. The first wall
            ends the turn.

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
        view: str | View | None = None,
        goal_rule: str = "stop",
        feedback: bool = True,
        max_moves_per_turn: int = 1,
    ) -> None:
        self.layout = layout
        self.max_turns = _at_least_one("max_turns", max_turns)
        self.max_moves_per_turn = _at_least_one("max_moves_per_turn", max_moves_per_turn)
        if reward is not None and (isinstance(reward, type) or not callable(reward)):
            raise TypeError(f"reward must be a RewardSpec or another callable of a turn, got {reward!r}")
        self.reward: RewardFunction = _SPARSE if reward is None else reward
        self.dialect = _one_of("dialect", dialect, DIALECTS)
        self.prompt = prompt_named(prompt)
        self.observe = _one_of("observe", observe, OBSERVE)
        self.goal_rule = _one_of("goal_rule", goal_rule, GOAL_RULES)
        self.feedback = feedback
        if view is None:
            view = plain_view(style, image_mode)
        elif style != "visgym" or image_mode != "palette":
            raise ValueError("give either view or style and image_mode, which a view has of its own")
        self.view = view_named(view)
        self._stage = stage_of(
            Rules(
                layout,
                self.view,
                self.observe,
                self.dialect,
                self.prompt,
                self.goal_rule,
                self.max_turns,
                self.max_moves_per_turn,
            )
        )
        self._success_alone = success_alone(self.reward)
        self._pays_per_turn: bool = getattr(self.reward, "per_turn", True)
        self._clear()

    def _clear(self) -> None:
        self.cell: Cell = self.layout.start
        self.turns: list[Turn] = []
        self.stop_reason: StopReason | None = None
        self._heading: Action = self._stage.first_heading
        self._visited: list[Cell] = [self.layout.start]
        self._shown: list[Shown] = []
        self._distance = self._stage.start_distance
        self._well_formed = 0
        self._unpaid = 0.0

    def reset(self) -> list[Message]:
        """Start over.

        Returns:
            The first messages: a system message if the prompt has one, and a user message.
        """
        self._clear()
        self._shown.append(self._stage.opening)
        return self.messages

    def step(self, text: str) -> TurnResult:
        """Play one answer.

        Args:
            text: The policy's answer without special tokens.

        Returns:
            The messages that follow, the reward, and whether the episode is over.

        Raises:
            RuntimeError: If the episode has not begun or is over.
            TypeError: If the answer is no string.
            ValueError: If the reward object returns infinity or no number.
        """
        if self.stop_reason is not None or not self._shown:
            raise RuntimeError(self._why_closed())
        turn, self._heading, stopped, after = self._stage.effect(self.cell, self._heading, text)
        if turn.path:
            self.cell = turn.cell
            self._visited += turn.path
        self._well_formed += turn.well_formed
        before, self._distance = self._distance, after
        number = len(self.turns) + 1
        success = after == 0 and (stopped or self.goal_rule == "reach")
        terminated = success or stopped
        truncated = not terminated and number >= self.max_turns
        if self._success_alone is None:
            reward = self._pay(
                TurnOutcome(
                    number,
                    self.max_turns,
                    before,
                    after,
                    self._stage.start_distance,
                    len(self._visited) - 1,
                    turn.failure is None,
                    turn.bumped,
                    self._well_formed,
                    terminated,
                    truncated,
                    success,
                )
            )
        else:
            reward = self._success_alone if success else 0.0
        if reward:
            turn = turn._replace(reward=reward)
        self.turns.append(turn)
        if terminated or truncated:
            self.stop_reason = (
                StopReason.GOAL if success else StopReason.WRONG_STOP if terminated else StopReason.TURN_LIMIT
            )
            return TurnResult([], reward, terminated, truncated, turn)
        told = turn.feedback if self.feedback else ""
        text = later_text(self.prompt.later, told, number, self.max_turns)
        shown = self._stage.look(text, self.cell, self._visited, self._heading)
        self._shown.append(shown)
        return new_record(TurnResult, ([user_message(shown)], reward, False, False, turn))

    def abort(self, reason: StopReason) -> None:
        """End the episode from outside, for example because the context is full.

        Rewards that are to be paid on the last turn are lost; those already paid stay.
        """
        if self.stop_reason is None:
            self.stop_reason = reason

    @property
    def messages(self) -> list[Message]:
        """The whole conversation so far, in fresh messages."""
        return self.conversation()

    def conversation(self, history: int | None = None, images: int | None = None) -> list[Message]:
        """The messages so far, as a policy without memory of its own gets them.

        Args:
            history: Keep the first user message and the last ``history`` answers with what follows
                each; None keeps everything.
            images: Keep the pictures of the last ``images`` user messages, and put the prompt's
                text ``omitted`` in place of the others; None keeps all.

        Returns:
            Fresh messages: changing them changes nothing here.
        """
        if not self._shown:
            return []
        answers = [turn.text for turn in self.turns]
        return assemble(
            self.prompt.system,
            self._shown,
            answers,
            history=history,
            images=images,
            omitted=self.prompt.omitted,
        )

    def trajectory(self, *, group: int | None = None, rollout: int | None = None, **info: Any) -> Trajectory:
        """The record of the episode so far."""
        return Trajectory(
            self.layout, tuple(self.turns), self.stop_reason, self.max_turns, group, rollout, info
        )

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.stop_reason is not None

    def _why_closed(self) -> str:
        if not self._shown:
            return "call reset() before the first step()"
        return f"the episode is over ({self.stop_reason}); call reset() for another"

    def _pay(self, outcome: TurnOutcome) -> float:
        reward = float(self.reward(outcome))
        if not isfinite(reward):
            raise ValueError(f"the reward of turn {outcome.turn} is {reward}; rewards must be finite")
        if self._pays_per_turn:
            return reward
        self._unpaid += reward
        return self._unpaid if outcome.terminated or outcome.truncated else 0.0


def _at_least_one(name: str, value: int) -> int:
    if index(value) < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return index(value)


def _one_of(name: str, value: str, known: Any) -> str:
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}; known: {', '.join(known)}")
    return value
