"""What happened in an episode? The record that rewards, reports and replays are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from visgym_maze.dialogue.content import Message
from visgym_maze.world.layout import Cell, Layout


class StopReason(StrEnum):
    """Why an episode ended."""

    GOAL = "goal"
    """The goal was reached under the episode's goal rule: the one success."""
    WRONG_STOP = "wrong_stop"
    """The agent stopped on another cell."""
    TURN_LIMIT = "turn_limit"
    """The turn cap was reached."""
    CONTEXT_LIMIT = "context_limit"
    """The conversation outgrew the model's context."""
    ERROR = "error"
    """The environment or the policy raised."""
    TIMEOUT = "timeout"
    """The environment took too long."""


class Turn(NamedTuple):
    """One answer and what came of it.

    Attributes:
        text: The answer as the policy gave it.
        action: The action's word (several are joined by commas), or None if the answer named none.
        failure: Why it named none, or None.
        well_formed: Whether the answer held nothing but what the format asks for.
        cell: Where the agent stands after the turn.
        bumped: Whether it walked into a wall.
        reward: What the turn earned.
        feedback: What the policy is told about it.
        path: The cells that the agent entered, in order.
    """

    text: str
    action: str | None
    failure: str | None
    well_formed: bool
    cell: Cell
    bumped: bool
    reward: float
    feedback: str
    path: tuple[Cell, ...] = ()


class TurnResult(NamedTuple):
    """What :meth:`~visgym_maze.dialogue.episode.MazeDialogue.step` returns.

    Attributes:
        messages: Messages that follow the answer, empty once the episode is over. They are the
            caller's own.
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


@dataclass(frozen=True)
class Trajectory:
    """A whole episode.

    Attributes:
        layout: The maze.
        turns: Its turns, in order.
        stop_reason: Why it ended, or None if it goes on.
        max_turns: The turn cap that it was played under.
        group: Number of its group, or None.
        rollout: Its number within the group, or None.
        info: Anything else worth keeping (policy, temperature, tokens, seconds).
    """

    layout: Layout
    turns: tuple[Turn, ...]
    stop_reason: StopReason | None
    max_turns: int
    group: int | None = None
    rollout: int | None = None
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """Whether the agent reached the goal. Never derived from the reward."""
        return self.stop_reason is StopReason.GOAL

    @property
    def total_reward(self) -> float:
        """Sum of the rewards of all turns."""
        return sum(turn.reward for turn in self.turns)

    @property
    def moves(self) -> int:
        """Cells walked."""
        return sum(len(turn.path) for turn in self.turns)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary that :meth:`from_dict` reads back."""
        return {
            "layout": self.layout.to_dict(),
            "turns": [_turn_to_dict(turn) for turn in self.turns],
            "stop_reason": None if self.stop_reason is None else str(self.stop_reason),
            "success": self.success,
            "max_turns": self.max_turns,
            "group": self.group,
            "rollout": self.rollout,
            "info": self.info,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trajectory:
        """Read what :meth:`to_dict` wrote."""
        reason = data["stop_reason"]
        return cls(
            layout=Layout.from_dict(data["layout"]),
            turns=tuple(_turn_from_dict(turn) for turn in data["turns"]),
            stop_reason=None if reason is None else StopReason(reason),
            max_turns=data["max_turns"],
            group=data["group"],
            rollout=data["rollout"],
            info=data["info"],
        )


def _turn_to_dict(turn: Turn) -> dict[str, Any]:
    return {**turn._asdict(), "cell": list(turn.cell), "path": [list(cell) for cell in turn.path]}


def _turn_from_dict(data: dict[str, Any]) -> Turn:
    cells: dict[str, Any] = {
        "cell": tuple(data["cell"]),
        "path": tuple((row, column) for row, column in data["path"]),
    }
    return Turn(**{**data, **cells})
