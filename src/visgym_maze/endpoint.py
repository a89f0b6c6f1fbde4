"""How does a model behind an OpenAI-compatible server play? Needs the package httpx (extra ``cli``)."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx

from visgym_maze.address import Address
from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.ledger import Ledger
from visgym_maze.world.seeding import child_generator

_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_WAIT = 60.0
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


class EndpointError(RuntimeError):
    """A server that can't be used, or went on failing. The message holds no key."""


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
    """Asks ``POST {url}/chat/completions``, and again if the server is busy or gone for a while.

    May be called by several threads; ``evaluate(policy, mazes, workers=8)`` asks for 8 answers at a time.

    Args:
        url: Base URL of the server, for example ``http://localhost:8000/v1``.
        model: Name of the model there.
        sampling: Temperature and the like.
        key_variable: Name of the environment variable that holds the key; None sends none. The key
            is in the requests' headers and nowhere else.
        timeout: Seconds of silence after which a request is given up.
        retries: How often a request is sent again before its episode fails.
        backoff: Seconds before the first retry; they double from one to the next, up to 60, and are
            shortened at random by up to a half. A server's ``Retry-After`` takes their place.
        history: Turns of history that the model gets; None for all.
        images: How many of the newest pictures it gets; None for all.

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
    ) -> None:
        self._address = Address.of(url, key_variable)
        self.url = self._address.url
        self.model = model
        self.sampling = sampling or Sampling()
        if not timeout > 0 or retries < 0 or not backoff >= 0:
            raise ValueError(
                f"timeout must be above 0, retries and backoff 0 or more; got {timeout}, {retries}, {backoff}"
            )
        # As many connections as there are threads that ask.
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.Client(headers=self._address.headers(), timeout=timeout, limits=limits)
        weakref.finalize(self, self._client.close)
        self._retries = retries
        self._backoff = backoff
        self._jitter = child_generator(self.sampling.seed)
        self._lock = threading.Lock()
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
            if isinstance(outcome, httpx.Response):
                break
            if attempt == self._retries:
                raise self._error(f"failed {attempt + 1} times, at last with {outcome.problem}")
            time.sleep(self._pause(attempt) if outcome.wait is None else outcome.wait)
            attempt += 1
        text, usage = self._read(outcome)
        self._ledger.add(
            dialogue,
            seconds=seconds,
            tokens=usage.get("completion_tokens"),
            prompt_tokens=usage.get("prompt_tokens"),
            retries=attempt,
        )
        return text

    def _send(self, body: dict[str, Any]) -> httpx.Response | _Setback:
        """One request; a response with status 200, or what may pass if it is sent again."""
        try:
            response = self._client.post(f"{self.url}/chat/completions", json=body)
        except httpx.RequestError as error:
            return _Setback(f"{type(error).__name__}: {error}")
        if response.status_code == 200:
            return response
        problem = f"status {response.status_code}: {self._shown(response)}"
        if response.status_code not in _AGAIN:
            hint = _HINTS.get(response.status_code, "")
            raise self._error(f"refuses the request with {problem}{hint}")
        return _Setback(problem, _retry_after(response))

    def _pause(self, attempt: int) -> float:
        with self._lock:
            share = self._jitter.uniform(0.5, 1.0)
        return share * min(_LONGEST_WAIT, self._backoff * 2**attempt)

    def _read(self, response: httpx.Response) -> tuple[str, dict[str, int]]:
        """Text of the answer, and what the server counted."""
        try:
            body = response.json()
            text = body["choices"][0]["message"].get("content") or ""
            usage = body.get("usage") or {}
        except (ValueError, LookupError, TypeError, AttributeError):
            text, usage = None, None
        if not isinstance(text, str) or not isinstance(usage, dict):
            raise self._error(f"sent no chat completion: {self._shown(response)!r}")
        counts = {name: count for name, count in usage.items() if isinstance(count, int)}
        # Half of a surrogate pair is no character: it could be neither kept nor sent back.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return self._address.hide(text), counts

    def _shown(self, response: httpx.Response) -> str:
        # First the key, then the length: half a key is not to be recognised.
        return self._address.hide(response.text)[:_SHOWN]

    def _error(self, what: str) -> EndpointError:
        return EndpointError(self._address.hide(f"{self.url} {what}"))


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait, if it says so in seconds."""
    try:
        seconds = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _LONGEST_WAIT)
