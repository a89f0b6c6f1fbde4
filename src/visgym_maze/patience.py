"""How long is waited before a request is sent again?"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

from visgym_maze.world.seeding import child_generator

_LONGEST_WAIT = 60.0


class Patience:
    """Growing pauses, shortened at random so that many askers don't come back at once.

    Args:
        timeout: Seconds that an answer may take.
        retries: How often a request is sent again.
        backoff: Seconds before the first retry; they double from one to the next, up to 60.
        seed: Of the random part.

    Raises:
        ValueError: If a number is out of its range.
    """

    def __init__(self, timeout: float, retries: int, backoff: float, seed: int) -> None:
        if not timeout > 0 or retries < 0 or not backoff >= 0:
            raise ValueError(
                f"timeout must be above 0, retries and backoff 0 or more; got {timeout}, {retries}, {backoff}"
            )
        self.timeout = timeout
        self.retries = retries
        self._backoff = backoff
        self._jitter = child_generator(seed)
        self._lock = threading.Lock()

    def pause(self, attempt: int, asked_for: float | None = None) -> float:
        """Seconds to wait after an attempt, counted from 0; those that the server asked for, if it did."""
        if asked_for is not None:
            return asked_for
        with self._lock:
            share = self._jitter.uniform(0.5, 1.0)
        return share * min(_LONGEST_WAIT, self._backoff * 2**attempt)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, at most 60, if it says so in seconds."""
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _LONGEST_WAIT)
