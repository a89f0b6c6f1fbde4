"""How do episodes go on to their ends, side by side or in threads, when a policy may fail?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.policies import Accountable, Policy

_LONGEST = 2000  # characters of an error that are kept
_BLAME = "It was raised by the policy"


def raised_by_policy(error: BaseException) -> bool:
    """Whether an error of a rollout came out of its policy; a note on the error says so too."""
    return any(note.startswith(_BLAME) for note in getattr(error, "__notes__", ()))


@dataclass
class Episode:
    """One rollout, and what is done when its policy fails.

    Attributes:
        policy: Who plays.
        group: Number of its group.
        member: Its number within the group.
        dialogue: The episode itself, begun.
        may_lose: Whether a failing answer ends this episode instead of everything.
        info: What is to be told of it.
    """

    policy: Policy
    group: int
    member: int
    dialogue: MazeDialogue
    may_lose: bool
    info: dict[str, Any] = field(default_factory=dict[str, Any])

    def step(self, answer: str | BaseException) -> None:
        """Play an answer, or end the episode for want of one."""
        if isinstance(answer, BaseException):
            self.info["error"] = f"{type(answer).__name__}: {answer}"[:_LONGEST]
            self.dialogue.abort(StopReason.ERROR)
        else:
            self.dialogue.step(answer)

    def play(self, stop: Event) -> None:
        """Play alone, to the end or until ``stop`` is set."""
        while not self.dialogue.done and not stop.is_set():
            (answer,) = _answers(self.policy, [self])
            self.step(answer)

    def trajectory(self) -> Trajectory:
        """The record of the episode, with what its policy knows about it."""
        costs = self.policy.account(self.dialogue) if isinstance(self.policy, Accountable) else {}
        return self.dialogue.trajectory(group=self.group, rollout=self.member, **costs, **self.info)


def _answers(policy: Policy, episodes: Sequence[Episode]) -> list[str | BaseException]:
    """One answer per episode; an exception in its place if the episode may be lost for it."""
    try:
        answers: list[Any] = policy.act([episode.dialogue for episode in episodes])
    except KeyboardInterrupt:  # whoever sits at the terminal
        raise
    except BaseException as error:  # a policy that wants to end the program has failed to answer, too
        if not episodes[0].may_lose:
            if isinstance(error, Exception):
                _blamed(error, episodes)
                raise
            # As an error that a caller expects: SystemExit would end it without a word.
            name = type(error).__name__
            raise _blamed(RuntimeError(f"the policy raised {name}: {error}"), episodes) from error
        if len(episodes) == 1:
            return [error]
        return [_answers(policy, [episode])[0] for episode in episodes]
    given = f"a {type(answers).__name__}" if _is_one(answers) else len(answers)
    if given != len(episodes):
        raise _blamed(ValueError(f"asked for {len(episodes)} answers, the policy gave {given}"), episodes)
    return [_checked(answer, episode) for answer, episode in zip(answers, episodes, strict=True)]


def _is_one(answers: Any) -> bool:
    return isinstance(answers, str | bytes | dict) or not hasattr(answers, "__len__")


def _checked(answer: Any, episode: Episode) -> str | BaseException:
    if isinstance(answer, str):
        return answer
    error = TypeError(f"an answer is a string, the policy gave {type(answer).__name__}")
    if not episode.may_lose:
        raise _blamed(error, [episode])
    return error


def _blamed(error: Exception, episodes: Sequence[Episode]) -> Exception:
    """The error, with a note of where it was raised."""
    where = f"turn {len(episodes[0].dialogue.turns) + 1} of maze {episodes[0].dialogue.layout.key}"
    more = f" and {len(episodes) - 1} more" if len(episodes) > 1 else ""
    error.add_note(f"{_BLAME}, asked for {where}{more}.")
    return error


def play_side_by_side(
    policy: Policy, episodes: Sequence[Episode], finish: Callable[[int], None], tell: Callable[[], None]
) -> None:
    """Ask for all answers of a turn in one call.

    Args:
        policy: Who plays.
        episodes: Episodes that have begun.
        finish: Called with the number of an episode as soon as it is over.
        tell: Called after each turn.
    """
    waiting = list(range(len(episodes)))
    while waiting:
        answers = _answers(policy, [episodes[number] for number in waiting])
        for number, answer in zip(waiting, answers, strict=True):
            episodes[number].step(answer)
            if episodes[number].dialogue.done:
                finish(number)
        waiting = [number for number in waiting if not episodes[number].dialogue.done]
        tell()


def play_in_threads(
    episodes: Sequence[Episode], workers: int, finish: Callable[[int], None], tell: Callable[[], None]
) -> None:
    """Play ``workers`` episodes at a time. After a failure no further one is begun.

    Args:
        episodes: Episodes that have begun.
        workers: Number of threads.
        finish: Called with the number of an episode as soon as it is over, from the calling thread.
        tell: Called after each ``finish``.
    """
    stop, waiting, ended = Event(), SimpleQueue[int](), SimpleQueue[tuple[int, BaseException | None]]()

    def work() -> None:
        while (number := _next(waiting)) is not None and not stop.is_set():
            try:
                episodes[number].play(stop)
            except BaseException as error:  # the caller's to judge, even if it is a SystemExit
                ended.put((number, error))
            else:
                ended.put((number, None))

    for number in range(len(episodes)):
        waiting.put(number)
    # Daemons, so that Ctrl-C need not wait for a server that keeps silent.
    for _ in range(min(workers, len(episodes))):
        Thread(target=work, daemon=True).start()
    left, failure = len(episodes), None
    try:
        while left:
            number, error = ended.get()
            left -= 1
            if error is None:
                finish(number)
                tell()
            else:
                failure = failure or error
                while _next(waiting) is not None:
                    left -= 1
    finally:
        stop.set()
    if failure is not None:
        raise failure


def _next(waiting: SimpleQueue[int]) -> int | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None
