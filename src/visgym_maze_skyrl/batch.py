"""What must hold for the rollouts of a batch, and what becomes of those that were lost?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skyrl.train.generators.base import GeneratorOutput, TrajectoryID

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze_skyrl.conversation import RolloutFault

Place = tuple[str, int]
"""Group and number of a rollout."""

_TOKEN_COLUMNS = ("prompt_token_ids", "response_ids", "rollout_logprobs", "pixel_values", "image_grid_thw")


class GroupMismatchError(RuntimeError):
    """The rollouts of a group did not all play the same maze, or two groups played one."""


def check_groups(played: Mapping[str, set[str]], *, training: bool) -> None:
    """All members of a group share one maze; in training no two groups of a step do.

    Args:
        played: Keys of the mazes that each group's members played.
        training: Whether this is a training step.

    Raises:
        GroupMismatchError: If it is not so.
    """
    mixed = {group: keys for group, keys in played.items() if len(keys) > 1}
    if mixed:
        raise GroupMismatchError(f"rollouts of one group played different mazes: {mixed}")
    if training:
        keys = [key for group in played.values() for key in group]
        if len(set(keys)) != len(keys):
            raise GroupMismatchError(f"two groups of one step played the same maze: {sorted(keys)}")


def replace_lost(
    output: GeneratorOutput, ids: list[TrajectoryID], faults: Mapping[Place, RolloutFault]
) -> None:
    """Give each lost rollout a healthy sibling's tokens without loss, and its group's mean reward.

    Shapes then fit, no gradient comes from it, and the baseline of its group stays what the healthy
    members make it.

    Raises:
        RuntimeError: If every rollout was lost.
    """
    lost = {i for i, t in enumerate(ids) if (t.instance_id, t.repetition_id) in faults}
    if not lost:
        return
    healthy = [i for i in range(len(ids)) if i not in lost]
    if not healthy:
        reasons = sorted({str(fault) for fault in faults.values()})
        raise RuntimeError(f"all {len(ids)} rollouts were lost: {'; '.join(reasons[:3])}")
    rewards: Any = output["rewards"]
    for i in lost:
        group = [j for j in healthy if ids[j].instance_id == ids[i].instance_id]
        donor = (group or healthy)[0]
        mean = sum(sum(rewards[j]) for j in group) / len(group) if group else 0.0
        for key in _TOKEN_COLUMNS:
            column: Any = output.get(key)
            if column is not None:
                column[i] = column[donor]
        length = len(output["response_ids"][i])
        output["loss_masks"][i] = [0] * length
        rewards[i] = [0.0] * (length - 1) + [mean]


def batch_metrics(finished: Mapping[Place, Trajectory], lost: int, seconds: float) -> dict[str, float]:
    """Speed and health of a batch of rollouts."""
    rewards: dict[str, list[float]] = {}
    for (group, _), trajectory in finished.items():
        rewards.setdefault(group, []).append(trajectory.total_reward)
    return {
        "rollouts/turns_per_second": sum(len(t.turns) for t in finished.values()) / seconds,
        "rollouts/tokens_per_second": sum(t.info["tokens"] for t in finished.values()) / seconds,
        "rollouts/lost": float(lost),
        "rollouts/zero_variance_groups": float(sum(max(r) - min(r) < 1e-9 for r in rewards.values())),
    }
