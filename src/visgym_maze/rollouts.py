"""How are episodes played? A policy and some groups in, trajectories out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.groups import Group
from visgym_maze.playing import Episode, play_in_threads, play_side_by_side
from visgym_maze.policies import Policy

ON_ERROR = ("raise", "lose")


def rollout(
    policy: Policy,
    groups: Iterable[Group],
    *,
    skip: Collection[tuple[int, int]] = (),
    workers: int | None = None,
    on_error: str = "raise",
    on_turn: Callable[[int, int], None] | None = None,
    on_episode: Callable[[Trajectory], None] | None = None,
    **options: Any,
) -> list[Trajectory]:
    """Play all rollouts of some groups.

    Args:
        policy: Answers the waiting episodes.
        groups: What to play; every member of a group plays the group's maze.
        skip: Episodes to leave out, as numbers of group and member.
        workers: None plays all episodes side by side and asks for all answers of a turn in one call.
            A number plays that many episodes at a time, each in a thread of its own, for policies
            that may be asked by several threads and wait for somebody else.
        on_error: What an answer that the policy fails to give (it raises, or returns no string)
            does. ``"raise"`` ends the rollout with that error, after the episodes under way in other
            threads (``SystemExit`` and its like as the cause of a RuntimeError); ``"lose"`` ends the
            episode alone, with ``StopReason.ERROR`` and the error in the trajectory's ``info``. If a
            call for several answers raises, they are asked for again one by one.
        on_turn: Called after each turn (with workers: each episode) with the number of finished
            episodes and of all episodes.
        on_episode: Called with each trajectory as soon as its episode is over, always from the
            calling thread.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Returns:
        One trajectory per rollout, group by group.

    Raises:
        TypeError: If the policy is none.
        ValueError: If ``workers`` or ``on_error`` is no good, or the policy returns another number of
            answers than it was asked for.
    """
    if not hasattr(policy, "act"):
        raise TypeError(
            f"a policy has a method act(dialogues), got {policy!r}; wrap a function from messages "
            "to an answer as ChatPolicy(function)"
        )
    if on_error not in ON_ERROR:
        raise ValueError(f"unknown on_error {on_error!r}; known: {', '.join(ON_ERROR)}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, or None for all side by side; got {workers}")
    skipped = set(skip)
    episodes = [
        Episode(policy, group.index, member, dialogue, on_error == "lose")
        for group in groups
        for member, dialogue in enumerate(group.dialogues(**options))
        if (group.index, member) not in skipped
    ]
    for episode in episodes:
        episode.dialogue.reset()
    finished: dict[int, Trajectory] = {}

    def finish(number: int) -> None:
        finished[number] = episodes[number].trajectory()
        if on_episode is not None:
            on_episode(finished[number])

    def tell() -> None:
        if on_turn is not None:
            on_turn(len(finished), len(episodes))

    if workers is None:
        play_side_by_side(policy, episodes, finish, tell)
    else:
        play_in_threads(episodes, workers, finish, tell)
    return [finished[number] for number in range(len(episodes))]
