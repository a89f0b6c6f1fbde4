"""How good is a policy? It plays every maze once, or goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.groups import Group, GroupSampler
from visgym_maze.policies import Policy
from visgym_maze.records import EpisodeFile, is_lost
from visgym_maze.report import Report
from visgym_maze.rollouts import rollout
from visgym_maze.significance import mcnemar, wilson_interval
from visgym_maze.world.layout import Layout

__all__ = ["Report", "evaluate", "mcnemar", "wilson_interval"]


def evaluate(
    policy: Policy,
    levels: Sequence[Layout],
    *,
    rollouts: int = 1,
    record: str | Path | None = None,
    workers: int | None = None,
    on_error: str = "raise",
    on_turn: Callable[[int, int], None] | None = None,
    info: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Report, list[Trajectory]]:
    """Play every maze and summarise.

    Args:
        policy: Who plays.
        levels: The mazes, for example an eval split.
        rollouts: Episodes per maze.
        record: A file of JSON lines that gets every trajectory as soon as its episode is over.
            Episodes that stand in it already are not played again, so an evaluation that was
            stopped goes on where it was; those that were lost are. None keeps nothing.
        workers: Episodes played at a time, each in a thread of its own; None for all side by side.
        on_error: ``"raise"``: an answer that the policy fails to give ends the evaluation.
            ``"lose"``: it costs its own episode, which counts as a failure and stands in the report.
            Either way an episode that an earlier call has lost is played again.
        on_turn: Called after each turn with the number of finished episodes and of all episodes.
        info: Goes into the report as it is.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Returns:
        The report, and the trajectories that it was made from, maze by maze.

    Raises:
        ValueError: If ``record`` holds episodes of other mazes or under another turn cap.
    """
    groups = GroupSampler(levels, rollouts, shuffle=False).take(len(levels))
    file = None if record is None else EpisodeFile(record)
    known: dict[tuple[int, int], Trajectory] = {}
    if file is not None:
        known = _known(file, groups, MazeDialogue(levels[0], **options).max_turns)
        file.drop_lost()
        known = {place: episode for place, episode in known.items() if not is_lost(episode)}

    def tell(done: int, count: int) -> None:
        if on_turn is not None:
            on_turn(len(known) + done, len(known) + count)

    played = rollout(
        policy,
        groups,
        skip=known.keys(),
        workers=workers,
        on_error=on_error,
        on_turn=tell,
        on_episode=file and file.append,
        **options,
    )
    episodes = {**known, **{_place(trajectory): trajectory for trajectory in played}}
    trajectories = [episodes[group.index, member] for group in groups for member in range(group.size)]
    rules = {name: options[name] for name in ("goal_rule", "max_moves_per_turn") if name in options}
    return Report.of(trajectories, **rules, **(info or {})), trajectories


def _place(trajectory: Trajectory) -> tuple[int, int]:
    if trajectory.group is None or trajectory.rollout is None:
        raise ValueError("an episode of an evaluation carries its group and rollout, this one does not")
    return trajectory.group, trajectory.rollout


def _known(file: EpisodeFile, groups: Sequence[Group], max_turns: int) -> dict[tuple[int, int], Trajectory]:
    """The episodes in a file, by their place.

    Raises:
        ValueError: If they are not those of these groups.
    """
    known = {_place(trajectory): trajectory for trajectory in file.read()}
    for (index, member), trajectory in known.items():
        if not (0 <= index < len(groups) and 0 <= member < groups[index].size):
            what = f"more than these {len(groups)} mazes"
        elif trajectory.layout != groups[index].layout:
            what = f"another maze in place {index}"
        elif trajectory.max_turns != max_turns:
            what = f"episodes of at most {trajectory.max_turns} turns instead of {max_turns}"
        else:
            continue
        raise ValueError(f"{file.path} holds {what}, so it is of another evaluation; take another file")
    return known
