"""How sure is a count of successes, and do two policies really differ?"""

from __future__ import annotations

import math
from collections.abc import Sequence

_Z95 = 1.959963984540054


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """95 % score interval of a binomial share (E. B. Wilson, JASA 1927).

    Args:
        successes: Number of successes, 0 to ``n``.
        n: Number of trials, at least 1.

    Returns:
        Lower and upper bound, between 0 and 1.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got {successes} of {n}")
    share, square = successes / n, _Z95**2
    centre = share + square / (2 * n)
    spread = _Z95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low, high = (centre - spread) / (1 + square / n), (centre + spread) / (1 + square / n)
    # At the ends the bound is exact; rounding would leave 1e-17 or 0.9999999.
    return (0.0 if successes == 0 else low), (1.0 if successes == n else high)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided p-value that two policies differ on the same mazes (McNemar 1947).

    Args:
        first: Outcome of one policy on each maze.
        second: Outcome of the other on the same mazes, in the same order.
    """
    gained = sum(b and not a for a, b in zip(first, second, strict=True))
    lost = sum(a and not b for a, b in zip(first, second, strict=True))
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)
