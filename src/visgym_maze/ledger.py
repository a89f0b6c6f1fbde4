"""What did a policy's answers cost? Seconds and tokens, episode by episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from visgym_maze.dialogue.episode import MazeDialogue


@dataclass
class _Account:
    seconds: list[float] = field(default_factory=list[float])
    tokens: int | None = None
    prompt_tokens: int | None = None
    retries: int = 0


class Ledger:
    """Adds up costs; may be written to by several threads. Episodes that are gone are forgotten."""

    def __init__(self) -> None:
        self._accounts: WeakKeyDictionary[MazeDialogue, _Account] = WeakKeyDictionary()
        self._lock = Lock()

    def add(
        self,
        dialogue: MazeDialogue,
        *,
        seconds: float | None = None,
        tokens: int | None = None,
        prompt_tokens: int | None = None,
        retries: int = 0,
    ) -> None:
        """Note one answer.

        Args:
            dialogue: The episode; its first answer opens a new account.
            seconds: How long the answer took, where that can be told for it alone.
            tokens: Tokens of the answer, where they are known.
            prompt_tokens: Tokens of all that was read for it, where they are known.
            retries: How often it had to be asked for again.
        """
        with self._lock:
            if not dialogue.turns or dialogue not in self._accounts:
                self._accounts[dialogue] = _Account()
            account = self._accounts[dialogue]
            if seconds is not None:
                account.seconds.append(round(seconds, 4))
            if tokens is not None:
                account.tokens = (account.tokens or 0) + tokens
            if prompt_tokens is not None:
                account.prompt_tokens = (account.prompt_tokens or 0) + prompt_tokens
            account.retries += retries

    def of(self, dialogue: MazeDialogue) -> dict[str, Any]:
        """What is known about an episode, for :attr:`Trajectory.info`; empty if that is nothing."""
        with self._lock:
            account = self._accounts.get(dialogue)
        return {} if account is None else {name: value for name, value in vars(account).items() if value}
