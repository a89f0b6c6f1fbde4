"""What do some episodes amount to? Success with its interval, beside the ceiling that the turn cap allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from visgym_maze.dialogue.episode import GOAL_RULES
from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.significance import wilson_interval
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import levels_key, moves_within


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
        split_key: Names the mazes and their order; equals :attr:`Split.key` if they are a split's.
        errors: Lost episodes by what was raised.
        seconds: Mean, median, 95th percentile and number of the times that an answer took; None
            where no policy tells.
        tokens: Tokens of all answers (``answers``) and of all that was read for them (``prompts``),
            as far as the policy tells.
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
    split_key: str
    errors: dict[str, int]
    seconds: dict[str, float] | None
    tokens: dict[str, int]
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
    def of(
        cls,
        trajectories: Sequence[Trajectory],
        *,
        goal_rule: str = "stop",
        max_moves_per_turn: int = 1,
        **info: Any,
    ) -> Report:
        """Summarise finished episodes that were all played under one turn cap.

        Args:
            trajectories: The episodes.
            goal_rule: The goal rule that they were played under.
            max_moves_per_turn: How many actions an answer could hold; raises the ceiling.
            info: Anything else worth keeping; JSON-ready.

        Raises:
            ValueError: If there are none, their turn caps differ, or the goal rule is unknown.
        """
        if not trajectories:
            raise ValueError("a report needs at least one episode")
        if goal_rule not in GOAL_RULES:
            raise ValueError(f"unknown goal_rule {goal_rule!r}; known: {', '.join(GOAL_RULES)}")
        caps = {trajectory.max_turns for trajectory in trajectories}
        if len(caps) != 1:
            raise ValueError(f"these episodes have different turn caps: {sorted(caps)}")
        max_turns = caps.pop()
        n = len(trajectories)
        turns = [turn for trajectory in trajectories for turn in trajectory.turns]
        shortest = [solve(trajectory.layout).moves for trajectory in trajectories]
        wins = [(t, moves) for t, moves in zip(trajectories, shortest, strict=True) if t.success]
        within = moves_within(max_turns * max_moves_per_turn, goal_rule)
        return cls(
            episodes=n,
            successes=len(wins),
            interval=wilson_interval(len(wins), n),
            ceiling=sum(0 <= moves <= within for moves in shortest),
            max_turns=max_turns,
            goal_rule=goal_rule,
            mean_turns=len(turns) / n,
            mean_reward=sum(trajectory.total_reward for trajectory in trajectories) / n,
            optimality=sum(moves / t.moves for t, moves in wins) / len(wins) if wins else None,
            bumps=sum(turn.bumped for turn in turns) / n,
            well_formed=sum(turn.well_formed for turn in turns) / max(len(turns), 1),
            stop_reasons=dict(Counter(str(t.stop_reason) for t in trajectories)),
            parse_failures=dict(Counter(turn.failure for turn in turns if turn.failure is not None)),
            by_path_length=_by_path_length(shortest, [moves for _, moves in wins]),
            split_key=levels_key(dict.fromkeys(t.layout for t in trajectories)),
            errors=dict(Counter(t.info["error"].split(":")[0] for t in trajectories if "error" in t.info)),
            seconds=_distribution([s for t in trajectories for s in t.info.get("seconds", ())]),
            tokens={
                name: sum(t.info.get(key, 0) for t in trajectories)
                for name, key in (("answers", "tokens"), ("prompts", "prompt_tokens"))
                if any(key in t.info for t in trajectories)
            },
            info=info,
        )


def _by_path_length(shortest: Sequence[int], won: Sequence[int]) -> dict[int, tuple[int, int]]:
    episodes, successes = Counter(shortest), Counter(won)
    return {length: (successes[length], episodes[length]) for length in sorted(episodes)}


def _distribution(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    return {
        "mean": float(np.mean(seconds)),
        "median": float(np.median(seconds)),
        "p95": float(np.percentile(seconds, 95)),
        "answers": len(seconds),
    }
