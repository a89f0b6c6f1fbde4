"""Who plays? The interface of a policy, and the two that need no model: oracle and random."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from visgym_maze.dialogue.dialects import spell
from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.ledger import Ledger
from visgym_maze.world.dynamics import Action, transition
from visgym_maze.world.seeding import Seed, as_generator
from visgym_maze.world.solver import solve


class Policy(Protocol):
    """Anything that answers a batch of episodes that wait for an answer."""

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """One answer per episode, in order. A model reads ``dialogue.conversation()`` only."""
        ...


@runtime_checkable
class Accountable(Protocol):
    """A policy that knows what its answers cost."""

    def account(self, dialogue: MazeDialogue) -> dict[str, Any]:
        """Goes into the ``info`` of the episode's trajectory.

        Reports add up ``seconds`` (a list, one number per answer), ``tokens`` (of the answers) and
        ``prompt_tokens`` (of all that was read for them).
        """
        ...


def _first(best: tuple[Action, ...]) -> Action:
    return best[0]


def best_actions(
    dialogue: MazeDialogue, pick: Callable[[tuple[Action, ...]], Action] = _first
) -> tuple[Action, ...]:
    """The next actions of a shortest path, as many as fit into one turn of the episode.

    Args:
        dialogue: The episode.
        pick: Chooses among equally good actions.
    """
    solution, cell = solve(dialogue.layout), dialogue.cell
    actions: list[Action] = []
    while len(actions) < dialogue.max_moves_per_turn:
        action = pick(solution.optimal_actions(cell))
        actions.append(action)
        if action is Action.STOP:
            break
        cell, _ = transition(dialogue.layout, cell, action)
        if cell == dialogue.layout.goal and dialogue.goal_rule == "reach":
            break
    return tuple(actions)


class OraclePolicy:
    """Walks a shortest path and stops on the goal: the upper bound of every score."""

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """The best actions of each episode, spelled in its dialect."""
        return [spell(best_actions(d), d.dialect) for d in dialogues]


class RandomPolicy:
    """Picks one of the five actions uniformly: the chance level of every score.

    Args:
        seed: Seed or generator.
    """

    def __init__(self, seed: Seed = 0) -> None:
        self._rng = as_generator(seed)

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """A random action for each episode, spelled in its dialect."""
        draws = self._rng.integers(len(Action), size=len(dialogues))
        return [spell(Action(int(a)), d.dialect) for a, d in zip(draws, dialogues, strict=True)]


class ChatPolicy:
    """Wraps a function from one conversation to one answer.

    Args:
        answer: Called with the messages so far; returns the answer's text.
        history: Turns of history that the function gets; None for all.
        images: How many of the newest pictures it gets; None for all.
    """

    def __init__(
        self, answer: Callable[[list[Message]], str], history: int | None = None, images: int | None = None
    ) -> None:
        self._answer = answer
        self._history = history
        self._images = images
        self._ledger = Ledger()

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """Ask the function about each conversation in turn."""
        return [self._ask(dialogue) for dialogue in dialogues]

    def account(self, dialogue: MazeDialogue) -> dict[str, Any]:
        """How long each answer took."""
        return self._ledger.of(dialogue)

    def _ask(self, dialogue: MazeDialogue) -> str:
        messages = dialogue.conversation(self._history, self._images)
        begun = time.perf_counter()
        answer = self._answer(messages)
        self._ledger.add(dialogue, seconds=time.perf_counter() - begun)
        return answer
