"""How good is a policy? Success with its interval, beside the ceiling that the turn cap allows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.groups import GroupSampler
from visgym_maze.policies import Policy
from visgym_maze.rollouts import rollout
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import moves_within

_Z95 = 1.959963984540054


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """95 % score interval of a binomial share (E. B. Wilson, JASA 1927).

    Args:
        successes: Number of successes, 0 to ``n``.
        n: Number of trials, at least 1.

    Returns:
        Lower and upper bound, between 0 and 1.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got {successes} of {n}")
    share, square = successes / n, _Z95**2
    centre = share + square / (2 * n)
    spread = _Z95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low, high = (centre - spread) / (1 + square / n), (centre + spread) / (1 + square / n)
    # At the ends the bound is exact; rounding would leave 1e-17 or 0.9999999.
    return (0.0 if successes == 0 else low), (1.0 if successes == n else high)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided p-value that two policies differ on the same mazes (McNemar 1947).

    Args:
        first: Outcome of one policy on each maze.
        second: Outcome of the other on the same mazes, in the same order.
    """
    gained = sum(b and not a for a, b in zip(first, second, strict=True))
    lost = sum(a and not b for a, b in zip(first, second, strict=True))
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


@dataclass(frozen=True)
class Report:
    """What an evaluation found.

    Attributes:
        episodes: Number of episodes.
        successes: How many reached the goal under the goal rule.
        interval: 95 % Wilson interval of the success rate.
        ceiling: How many of the episodes a perfect player can finish within the turn cap.
        max_turns: The turn cap.
        goal_rule: ``"stop"`` or ``"reach"``.
        mean_turns: Turns per episode.
        mean_reward: Reward per episode.
        optimality: Shortest path over cells walked, mean over the successes; None without any.
        bumps: Walks into a wall, per episode.
        well_formed: Share of all answers that were well formed.
        stop_reasons: Episodes by the reason why they ended.
        parse_failures: Answers without an action, by reason.
        by_path_length: ``{moves: [successes, episodes]}`` by length of the shortest path.
        info: Policy, sampling, seeds, versions, time.
    """

    episodes: int
    successes: int
    interval: tuple[float, float]
    ceiling: int
    max_turns: int
    goal_rule: str
    mean_turns: float
    mean_reward: float
    optimality: float | None
    bumps: float
    well_formed: float
    stop_reasons: dict[str, int]
    parse_failures: dict[str, int]
    by_path_length: dict[int, tuple[int, int]]
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def success_rate(self) -> float:
        """Successes per episode."""
        return self.successes / self.episodes

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {**asdict(self), "success_rate": self.success_rate}

    def headline(self) -> str:
        """One line: successes, interval and ceiling."""
        low, high = self.interval
        return (
            f"{self.successes}/{self.episodes} solved (95 % interval {low:.3f}-{high:.3f}, "
            f"ceiling {self.ceiling}/{self.episodes} within {self.max_turns} turns)"
        )

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory], *, goal_rule: str = "stop", **info: Any) -> Report:
        """Summarise finished episodes that were all played under one turn cap.

        Raises:
            ValueError: If there are none, or their turn caps differ.
        """
        if not trajectories:
            raise ValueError("a report needs at least one episode")
        caps = {trajectory.max_turns for trajectory in trajectories}
        if len(caps) != 1:
            raise ValueError(f"these episodes have different turn caps: {sorted(caps)}")
        max_turns = caps.pop()
        n = len(trajectories)
        turns = [turn for trajectory in trajectories for turn in trajectory.turns]
        shortest = [solve(trajectory.layout).moves for trajectory in trajectories]
        wins = [(t, moves) for t, moves in zip(trajectories, shortest, strict=True) if t.success]
        lengths = {
            length: (
                sum(moves == length for _, moves in wins),
                sum(moves == length for moves in shortest),
            )
            for length in sorted(set(shortest))
        }
        return cls(
            episodes=n,
            successes=len(wins),
            interval=wilson_interval(len(wins), n),
            ceiling=sum(moves <= moves_within(max_turns, goal_rule) for moves in shortest),
            max_turns=max_turns,
            goal_rule=goal_rule,
            mean_turns=len(turns) / n,
            mean_reward=sum(trajectory.total_reward for trajectory in trajectories) / n,
            optimality=sum(moves / t.moves for t, moves in wins) / len(wins) if wins else None,
            bumps=sum(turn.bumped for turn in turns) / n,
            well_formed=sum(turn.well_formed for turn in turns) / max(len(turns), 1),
            stop_reasons=dict(Counter(str(t.stop_reason) for t in trajectories)),
            parse_failures=dict(Counter(turn.failure for turn in turns if turn.failure is not None)),
            by_path_length=lengths,
            info=info,
        )


def evaluate(
    policy: Policy,
    levels: Sequence[Layout],
    *,
    rollouts: int = 1,
    on_turn: Callable[[int, int], None] | None = None,
    info: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Report, list[Trajectory]]:
    """Play every maze and summarise.

    Args:
        policy: Who plays.
        levels: The mazes, for example an eval split.
        rollouts: Episodes per maze.
        on_turn: Called after each turn with the number of finished episodes and of all episodes.
        info: Goes into the report as it is.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Returns:
        The report, and the trajectories that it was made from.
    """
    sampler = GroupSampler(levels, rollouts, shuffle=False)
    trajectories = rollout(policy, sampler.take(len(levels)), on_turn=on_turn, **options)
    goal_rule = options.get("goal_rule", "stop")
    return Report.of(trajectories, goal_rule=goal_rule, **(info or {})), trajectories
