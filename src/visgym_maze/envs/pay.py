"""What do the steps of many episodes earn at once?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visgym_maze.rewards import RewardFunction, TurnOutcome, success_alone


class BatchPay:
    """Pays many episodes that are played in step, each as a :class:`~visgym_maze.envs.maze.MazeEnv` would be.

    A reward that pays success alone is worked out in numpy; any other is called once per maze and step.

    Attributes:
        success_alone: Whether nothing but success pays, so that :meth:`for_success` will do.

    Args:
        reward: The reward object.
        max_turns: Turn cap.
        count: Number of episodes.
    """

    def __init__(self, reward: RewardFunction, max_turns: int, count: int) -> None:
        prize = success_alone(reward)
        self.success_alone, self._prize = prize is not None, prize or 0.0
        self._reward = reward
        self._per_turn: bool = getattr(reward, "per_turn", True)
        self._max_turns = max_turns
        self._moves = np.zeros(count, dtype=np.int64)
        self._start_distance = np.zeros(count, dtype=np.int64)
        self._unpaid = np.zeros(count)

    def begin(self, chosen: NDArray[np.int64], start_distance: NDArray[np.int32]) -> None:
        """Forget the past of the episodes with these numbers."""
        self._moves[chosen] = 0
        self._unpaid[chosen] = 0.0
        self._start_distance[chosen] = start_distance

    def for_success(self, success: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The rewards if success alone pays."""
        rewards = success.astype(np.float64)
        return rewards if self._prize == 1.0 else rewards * self._prize

    def for_outcomes(
        self,
        playing: NDArray[np.bool_],
        turns: NDArray[np.int64],
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        moved: NDArray[np.bool_],
        bumped: NDArray[np.bool_],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        success: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """What the reward object says to each; nothing where not ``playing``. See :class:`TurnOutcome`."""
        self._moves += moved
        rows = (
            turns,
            before,
            after,
            self._start_distance,
            self._moves,
            bumped,
            terminated,
            truncated,
            success,
        )
        rewards = np.zeros(len(turns))
        table = zip(playing, *(row.tolist() for row in rows), strict=True)
        for i, (plays, turn, near, far, start, moves, bump, end, cut, win) in enumerate(table):
            if plays:
                outcome = TurnOutcome(
                    turn, self._max_turns, near, far, start, moves, True, bump, turn, end, cut, win
                )
                rewards[i] = self._reward(outcome)
        if self._per_turn:
            return rewards
        self._unpaid += rewards
        return np.where(terminated | truncated, self._unpaid, 0.0)
