"""How are episodes played? A policy and some groups in, trajectories out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.groups import Group
from visgym_maze.policies import Policy


def rollout(
    policy: Policy,
    groups: Iterable[Group],
    *,
    on_turn: Callable[[int, int], None] | None = None,
    **options: Any,
) -> list[Trajectory]:
    """Play all rollouts of some groups, all episodes side by side.

    Args:
        policy: Answers all waiting episodes of a turn in one call.
        groups: What to play; every member of a group plays the group's maze.
        on_turn: Called after each turn with the number of finished episodes and of all episodes.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Returns:
        One trajectory per rollout, group by group.

    Raises:
        TypeError: If the policy is none.
        ValueError: If the policy returns another number of answers than it was asked for.
    """
    if not hasattr(policy, "act"):
        raise TypeError(
            f"a policy has a method act(dialogues), got {policy!r}; wrap a function from messages "
            "to an answer as ChatPolicy(function)"
        )
    episodes = [
        (group.index, member, dialogue)
        for group in groups
        for member, dialogue in enumerate(group.dialogues(**options))
    ]
    waiting = [dialogue for _, _, dialogue in episodes]
    for dialogue in waiting:
        dialogue.reset()
    while waiting:
        answers = policy.act(waiting)
        if len(answers) != len(waiting):
            raise ValueError(f"asked for {len(waiting)} answers, the policy gave {len(answers)}")
        for dialogue, answer in zip(waiting, answers, strict=True):
            dialogue.step(answer)
        waiting = [dialogue for dialogue in waiting if not dialogue.done]
        if on_turn is not None:
            on_turn(len(episodes) - len(waiting), len(episodes))
    return [dialogue.trajectory(group=index, rollout=member) for index, member, dialogue in episodes]
