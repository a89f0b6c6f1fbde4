"""How long does a call take? The fastest of many short batches, in processor time of this thread.

On a machine that does other work too, neither the fastest batch nor processor time alone is enough: a long
call never runs undisturbed, and a disturbed one finds its caches cold.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_FEWEST = 6  # batches, however long one takes: the minimum of one or two is no minimum


def microseconds(call: Callable[[], object], seconds: float) -> float:
    """Time of one call.

    Args:
        call: What to time.
        seconds: How long to go on measuring.

    Returns:
        Microseconds of processor time per call in the fastest batch; a batch takes about a fiftieth of
        ``seconds``.
    """
    count, elapsed = 1, _batch(call, 1)
    while elapsed < seconds / 50:
        count *= 2
        elapsed = _batch(call, count)
    best = elapsed / count
    until, batches = time.perf_counter() + seconds, 0
    while batches < _FEWEST or time.perf_counter() < until:
        best = min(best, _batch(call, count) / count)
        batches += 1
    return best * 1e6


def _batch(call: Callable[[], object], count: int) -> float:
    begun = time.thread_time()
    for _ in range(count):
        call()
    return time.thread_time() - begun
