"""How does a model behind an OpenAI-compatible server play? Needs the package httpx (extra ``cli``)."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx

from visgym_maze.address import Address
from visgym_maze.completion import (
    LARGEST,
    AnswerTooLongError,
    BrokenResponseError,
    Completion,
    EndpointError,
    completion_of,
    read_bounded,
)
from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.dialogue.parsing import MAX_LENGTH
from visgym_maze.ledger import Ledger
from visgym_maze.patience import Patience, retry_after

__all__ = ["AnswerTooLongError", "EndpointError", "EndpointPolicy", "Sampling"]

_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_SHOWN = 300  # characters of a server's error message
_HINTS = {
    401: "; is the key right, and its variable named?",
    403: "; is the key right, and its variable named?",
    404: "; is the URL the one that /chat/completions follows (often it ends in /v1), and the model known?",
}


class _Setback(NamedTuple):
    """What may pass if the request is sent again, and the seconds that the server asks to wait."""

    problem: str
    wait: float | None = None


@dataclass(frozen=True)
class Sampling:
    """What is asked of the server beside the messages.

    Attributes:
        temperature: 0 for greedy answers.
        max_tokens: Longest answer.
        seed: Sent along; a server need not heed it.
        extra: Further fields of the request; one that is None removes the field of that name.
    """

    temperature: float = 0.0
    max_tokens: int = 512
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def request(self, model: str, messages: Sequence[Message]) -> dict[str, Any]:
        """The body of a request."""
        fields = {
            "model": model,
            "messages": list(messages),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            **self.extra,
        }
        return {name: value for name, value in fields.items() if value is not None}


class EndpointPolicy:
    """Asks ``POST {url}/chat/completions``, and again if the server is busy, gone or confused for a while.

    May be called by several threads; ``evaluate(policy, mazes, workers=8)`` asks for 8 answers at a time.

    Args:
        url: Base URL of the server, for example ``http://localhost:8000/v1``.
        model: Name of the model there.
        sampling: Temperature and the like.
        key_variable: Name of the environment variable that holds the key; None sends none. The key
            is in the requests' headers and nowhere else.
        timeout: Seconds after which a request without a complete answer is given up.
        retries: How often a request is sent again before its episode fails.
        backoff: Seconds before the first retry; they double from one to the next, up to 60, and are
            shortened at random by up to a half. A server's ``Retry-After`` takes their place.
        history: Turns of history that the model gets; None for all.
        images: How many of the newest pictures it gets; None for all.
        on_retry: Called, by the thread that asks, with a line of text before a request is sent again.

    Raises:
        ValueError: If the URL is no good, the variable isn't set, or a number is out of its range.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        sampling: Sampling | None = None,
        key_variable: str | None = None,
        timeout: float = 120.0,
        retries: int = 5,
        backoff: float = 1.0,
        history: int | None = None,
        images: int | None = None,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        self._address = Address.of(url, key_variable)
        self.url = self._address.url
        self.model = model
        self.sampling = sampling or Sampling()
        self._patience = Patience(timeout, retries, backoff, self.sampling.seed)
        # As many connections as there are threads that ask.
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.Client(headers=self._address.headers(), timeout=timeout, limits=limits)
        weakref.finalize(self, self._client.close)
        self._on_retry = on_retry
        self._history = history
        self._images = images
        self._ledger = Ledger()

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """Ask about one conversation after the other.

        Raises:
            EndpointError: If the server refuses a request, or fails once more than it may.
        """
        return [self._ask(dialogue) for dialogue in dialogues]

    def account(self, dialogue: MazeDialogue) -> dict[str, Any]:
        """Seconds, retries, and the tokens as far as the server tells."""
        return self._ledger.of(dialogue)

    def _ask(self, dialogue: MazeDialogue) -> str:
        body = self.sampling.request(self.model, dialogue.conversation(self._history, self._images))
        attempt = 0
        while True:
            begun = time.perf_counter()
            outcome = self._send(body)
            seconds = time.perf_counter() - begun
            if isinstance(outcome, Completion):
                break
            if attempt == self._patience.retries:
                raise self._error(f"failed {attempt + 1} times, at last with {outcome.problem}")
            wait = self._patience.pause(attempt, outcome.wait)
            attempt += 1
            self._tell(outcome.problem, wait, attempt)
            time.sleep(wait)
        self._ledger.add(
            dialogue,
            seconds=seconds,
            tokens=outcome.tokens,
            prompt_tokens=outcome.prompt_tokens,
            retries=attempt,
        )
        # One character more than is parsed, so that it counts as too long; records stay bounded.
        return self._address.hide(outcome.text)[: MAX_LENGTH + 1]

    def _send(self, body: dict[str, Any]) -> Completion | _Setback:
        """One request; an answer, or what may pass if it is sent again."""
        until = time.perf_counter() + self._patience.timeout
        try:
            with self._client.stream("POST", f"{self.url}/chat/completions", json=body) as response:
                content, whole = read_bounded(response, until)
        except httpx.TimeoutException as error:
            return _Setback(f"{type(error).__name__}: no complete answer within {self._patience.timeout:g} s")
        except httpx.RequestError as error:
            return _Setback(f"{type(error).__name__}: {error}")
        status = response.status_code
        if status == 200:
            return self._read(content, whole)
        problem = f"status {status}: {self._shown(content)}"
        if status not in _AGAIN:
            raise self._error(f"refuses the request with {problem}{_HINTS.get(status, '')}")
        return _Setback(problem, retry_after(response.headers))

    def _read(self, content: bytes, whole: bool) -> Completion | _Setback:
        if not whole:
            what = f"sent more than {LARGEST:,} bytes in place of an answer: {self._shown(content)!r}"
            raise self._error(what, AnswerTooLongError)
        try:
            return completion_of(content)
        except BrokenResponseError as error:
            return _Setback(f"status 200 and {error}: {self._shown(content)!r}")

    def _tell(self, problem: str, wait: float, attempt: int) -> None:
        if self._on_retry is not None:
            again = f"asked again in {wait:.1f} s ({attempt} of {self._patience.retries})"
            self._on_retry(self._address.hide(f"{self.url}: {problem}; {again}"))

    def _shown(self, content: bytes) -> str:
        # First the key, then the length: half a key is not to be recognised.
        return self._address.hide(content.decode("utf-8", "replace"))[:_SHOWN]

    def _error(self, what: str, kind: type[EndpointError] = EndpointError) -> EndpointError:
        return kind(self._address.hide(f"{self.url} {what}"))
