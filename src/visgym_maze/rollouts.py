"""How are episodes played? A policy and some groups in, trajectories out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.groups import Group
from visgym_maze.policies import Accountable, Policy

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
            does. ``"raise"`` ends the rollout with that error, after episodes under way in other
            threads; ``"lose"`` ends the episode alone, with ``StopReason.ERROR`` and the error in
            the trajectory's ``info``. If a call for several answers raises, they are asked for
            again one by one.
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
        _Episode(policy, group.index, member, dialogue, on_error == "lose")
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
        _play_side_by_side(policy, episodes, finish, tell)
    else:
        _play_in_threads(episodes, workers, finish, tell)
    return [finished[number] for number in range(len(episodes))]


@dataclass
class _Episode:
    """One rollout, and what is done when its policy fails."""

    policy: Policy
    group: int
    member: int
    dialogue: MazeDialogue
    may_lose: bool
    info: dict[str, Any] = field(default_factory=dict[str, Any])

    def step(self, answer: str | Exception) -> None:
        """Play an answer, or end the episode for want of one."""
        if isinstance(answer, Exception):
            self.info["error"] = f"{type(answer).__name__}: {answer}"
            self.dialogue.abort(StopReason.ERROR)
        else:
            self.dialogue.step(answer)

    def play(self, stop: Event) -> bool:
        """Play alone; whether the episode came to its end before ``stop`` was set."""
        while not self.dialogue.done and not stop.is_set():
            (answer,) = _answers(self.policy, [self])
            self.step(answer)
        return self.dialogue.done

    def trajectory(self) -> Trajectory:
        """The record of the episode, with what its policy knows about it."""
        costs = self.policy.account(self.dialogue) if isinstance(self.policy, Accountable) else {}
        return self.dialogue.trajectory(group=self.group, rollout=self.member, **costs, **self.info)


def _answers(policy: Policy, episodes: Sequence[_Episode]) -> list[str | Exception]:
    """One answer per episode; an exception in its place if the episode may be lost for it."""
    try:
        answers: list[Any] = policy.act([episode.dialogue for episode in episodes])
    except Exception as error:
        if not episodes[0].may_lose:
            raise
        if len(episodes) == 1:
            return [error]
        return [_answers(policy, [episode])[0] for episode in episodes]
    if len(answers) != len(episodes):
        raise ValueError(f"asked for {len(episodes)} answers, the policy gave {len(answers)}")
    return [_checked(answer, episode) for answer, episode in zip(answers, episodes, strict=True)]


def _checked(answer: Any, episode: _Episode) -> str | Exception:
    if isinstance(answer, str):
        return answer
    error = TypeError(f"an answer is a string, the policy gave {type(answer).__name__}")
    if not episode.may_lose:
        raise error
    return error


def _play_side_by_side(
    policy: Policy, episodes: Sequence[_Episode], finish: Callable[[int], None], tell: Callable[[], None]
) -> None:
    waiting = list(range(len(episodes)))
    while waiting:
        answers = _answers(policy, [episodes[number] for number in waiting])
        for number, answer in zip(waiting, answers, strict=True):
            episodes[number].step(answer)
            if episodes[number].dialogue.done:
                finish(number)
        waiting = [number for number in waiting if not episodes[number].dialogue.done]
        tell()


def _play_in_threads(
    episodes: Sequence[_Episode], workers: int, finish: Callable[[int], None], tell: Callable[[], None]
) -> None:
    """Play ``workers`` episodes at a time. After a failure no further one is begun."""
    stop = Event()
    failure: Exception | None = None
    with ThreadPoolExecutor(workers) as pool:
        numbers: dict[Future[bool], int] = {
            pool.submit(episode.play, stop): number for number, episode in enumerate(episodes)
        }
        try:
            for future in as_completed(numbers):
                try:
                    future.result()
                except CancelledError:
                    continue
                except Exception as error:
                    failure = failure or error
                    _cancel(numbers)
                    continue
                finish(numbers[future])
                tell()
        except BaseException:  # Ctrl-C, or no room for the record: end after the turns under way
            stop.set()
            _cancel(numbers)
            raise
    if failure is not None:
        raise failure


def _cancel(futures: Iterable[Future[bool]]) -> None:
    # Not by the pool's shutdown, which drops what waits without telling as_completed() about it.
    for future in futures:
        future.cancel()
