"""What does a server's response hold? A chat completion of bounded size, or what is wrong with it."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import httpx

LARGEST = 4 * 2**20
"""Bytes of a response that are read; the longest answer that is parsed takes less, however it is escaped."""

_MOST_TOKENS = 2**31


class EndpointError(RuntimeError):
    """A server that can't be used, or went on failing. The message holds no key."""


class AnswerTooLongError(EndpointError):
    """A server that sends more than an answer can be."""


class BrokenResponseError(ValueError):
    """A response of status 200 that holds no chat completion."""


class Completion(NamedTuple):
    """An answer and what it cost.

    Attributes:
        text: The answer.
        tokens: Tokens of the answer, or None if the server doesn't say.
        prompt_tokens: Tokens that were read for it, or None.
    """

    text: str
    tokens: int | None
    prompt_tokens: int | None


def read_bounded(response: httpx.Response, until: float) -> tuple[bytes, bool]:
    """The body of a response that is being streamed, as far as :data:`LARGEST` bytes.

    Args:
        response: Its status and headers are there.
        until: Time of ``time.perf_counter()`` at which a body that still drips in is given up.

    Returns:
        The body, and whether that is all of it.

    Raises:
        httpx.ReadTimeout: If it isn't there by then.
    """
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > LARGEST:
            return bytes(body[:LARGEST]), False
        if time.perf_counter() > until:
            raise httpx.ReadTimeout("the answer is still not complete")
    return bytes(body), True


def completion_of(body: bytes) -> Completion:
    """Read a chat completion.

    Raises:
        BrokenResponseError: If there is none.
    """
    try:
        document = json.loads(body)
        text = document["choices"][0]["message"].get("content") or ""
        usage = document.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenResponseError(f"no chat completion ({type(error).__name__})") from error
    if not isinstance(text, str):
        raise BrokenResponseError(f"a {type(text).__name__} in place of text")
    # Half of a surrogate pair is no character: it could be neither kept nor sent back.
    text = text.encode("utf-8", "replace").decode("utf-8")
    counts: dict[str, Any] = usage if isinstance(usage, dict) else {}
    return Completion(text, _count(counts.get("completion_tokens")), _count(counts.get("prompt_tokens")))


def _count(value: Any) -> int | None:
    """A number of tokens; whatever can't be one is not known."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None
