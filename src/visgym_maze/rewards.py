"""What is a turn worth?

A reward is a small picklable object called once per turn with a :class:`TurnOutcome`; any callable
with that signature can be handed to a dialogue. :class:`RewardSpec` covers the usual terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import NamedTuple


class TurnOutcome(NamedTuple):
    """What a reward may look at.

    Attributes:
        turn: Number of this turn, from 1.
        max_turns: The turn cap of the episode.
        distance_before: Moves from the agent to the goal before the turn.
        distance_after: The same after it.
        start_distance: Moves from the start to the goal.
        moves: Cells walked so far, this turn included.
        acted: Whether the answer named an action.
        bumped: Whether the agent walked into a wall.
        well_formed: Turns so far whose answer was well formed, this one included.
        terminated: Whether the episode ended by what the agent did.
        truncated: Whether it ended at the turn cap.
        success: Whether the goal was reached under the episode's goal rule.
    """

    turn: int
    max_turns: int
    distance_before: int
    distance_after: int
    start_distance: int
    moves: int
    acted: bool
    bumped: bool
    well_formed: int
    terminated: bool
    truncated: bool
    success: bool


RewardFunction = Callable[[TurnOutcome], float]


@dataclass(frozen=True)
class RewardSpec:
    """A weighted sum of the usual terms; every default but ``success`` is zero (sparse reward).

    Attributes:
        success: Paid once, when the episode ends on the goal.
        format: Paid at the end, times the share of well-formed answers, times the share of the way
            that was covered: 1 on success, 0 for who ends no closer to the goal than the start. So
            fifteen turns of well-formed nonsense earn nothing, and neither does stopping at once.
        progress: Weight of potential-based shaping (Ng, Harada, Russell, ICML 1999) with potential
            ``progress * (1 - distance / start distance)`` and ``gamma`` 1. The potential of every
            terminal state is zero, so it cancels over an episode that ends by ``stop`` and leaves
            the order of policies as it was; an episode cut off at the turn cap keeps the potential
            it has reached, which is less than a success as long as ``progress`` is below ``success``.
        step: Added every turn; negative for a cost. Times the turn cap it should stay well below
            ``success``, or stopping at once becomes the best policy.
        bump: Added when the agent walks into a wall; negative for a cost.
        invalid: Added when an answer names no action; negative for a cost.
        efficiency: Paid on success, times the shortest path over the cells walked.
        per_turn: Whether each turn gets its own reward. False adds them up and pays the sum on the
            last turn.

    Raises:
        ValueError: If a weight is not finite, or ``progress`` is negative or not below ``success``.
    """

    success: float = 1.0
    format: float = 0.0
    progress: float = 0.0
    step: float = 0.0
    bump: float = 0.0
    invalid: float = 0.0
    efficiency: float = 0.0
    per_turn: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, Real) or not math.isfinite(value):
                raise ValueError(f"{field.name} must be a finite number, got {value!r}")
        if self.progress and not 0.0 < self.progress < self.success:
            raise ValueError(
                f"progress must lie between 0 and success ({self.success}), got {self.progress}: else "
                "walking up to the goal could pay more than reaching it"
            )

    def __call__(self, outcome: TurnOutcome) -> float:
        """The reward of one turn."""
        reward = self.step
        if outcome.success:
            reward += self.success
            if self.efficiency:
                reward += self.efficiency * outcome.start_distance / max(outcome.moves, 1)
        if self.progress:
            reward += self.progress * self._shaping(outcome)
        if self.bump and outcome.bumped:
            reward += self.bump
        if self.invalid and not outcome.acted:
            reward += self.invalid
        if self.format and (outcome.terminated or outcome.truncated):
            covered = 1.0 if outcome.success else 1.0 - outcome.distance_after / outcome.start_distance
            reward += self.format * max(covered, 0.0) * outcome.well_formed / outcome.turn
        return reward

    @staticmethod
    def _shaping(outcome: TurnOutcome) -> float:
        before = 1.0 - outcome.distance_before / outcome.start_distance
        if outcome.terminated:
            return -before
        return (outcome.distance_before - outcome.distance_after) / outcome.start_distance


def success_alone(reward: RewardFunction) -> float | None:
    """What success pays if nothing else pays, else None.

    Such a reward, the usual one, need not be called: it follows from whether the episode succeeded.
    """
    if not isinstance(reward, RewardSpec) or type(reward) is not RewardSpec:  # a subclass may pay otherwise
        return None
    others = (reward.format, reward.progress, reward.step, reward.bump, reward.invalid, reward.efficiency)
    return None if any(others) else float(reward.success)
