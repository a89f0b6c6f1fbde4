"""Does the cluster have what a run needs? A replaced node takes minutes to come back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable


def living(kind: str) -> float:
    """Units of ``GPU`` or ``CPU`` on the nodes that are alive, of the cluster that this process is in."""
    import logging

    import ray

    handler = signal.getsignal(signal.SIGTERM)
    ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
    try:
        return sum(node["Resources"].get(kind, 0.0) for node in ray.nodes() if node["Alive"])
    finally:
        ray.shutdown()
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own in its place


def wait_for(
    kind: str,
    count: float,
    *,
    seconds: float,
    say: Callable[[str], None],
    stopped: Callable[[], bool],
    pause: float = 10.0,
    look: Callable[[str], float] = living,
) -> bool:
    """Wait until living nodes have enough of a resource together.

    Args:
        kind: ``GPU`` or ``CPU``.
        count: How many.
        seconds: How long to wait at most.
        say: Told what is missing, whenever that changes.
        stopped: Whether to wait no longer.
        pause: Seconds between two looks.
        look: Counts the units.

    Returns:
        Whether they are there.
    """
    deadline = time.monotonic() + seconds
    before = -1.0
    while not stopped():
        found = look(kind)
        if found >= count:
            return True
        if found != before:
            say(f"waiting for {count:g} {kind}, {found:g} on living nodes")
        before = found
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
    return False
