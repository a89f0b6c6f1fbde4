"""Which episodes were played together, and how did each do beside the others?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from visgym_maze.dialogue.trajectory import Trajectory

EPSILON = 1e-6
"""What GRPO adds to a group's standard deviation; the value of SkyRL's estimator."""


def group_of(trajectory: Trajectory) -> tuple[int | None, str]:
    """What the episodes of one group share: the group's number and the maze's key."""
    return trajectory.group, trajectory.layout.key


def advantages(trajectories: Sequence[Trajectory]) -> list[float | None]:
    """GRPO's advantage of every episode: its reward minus the group's mean, over the standard deviation.

    Args:
        trajectories: Episodes in any order; those that share :func:`group_of` are a group.

    Returns:
        One number per episode, in order; None where an episode has nobody to be compared with.
    """
    groups: dict[tuple[int | None, str], list[float]] = {}
    for trajectory in trajectories:
        groups.setdefault(group_of(trajectory), []).append(trajectory.total_reward)
    return [_advantage(t.total_reward, groups[group_of(t)]) for t in trajectories]


def _advantage(reward: float, group: list[float]) -> float | None:
    if len(group) < 2:
        return None
    mean = sum(group) / len(group)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in group) / (len(group) - 1))
    return (reward - mean) / (deviation + EPSILON)
