"""Where do environments run? In threads, so many at a time; one that hangs takes no other's place."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class EnvThreads:
    """Calls functions in threads.

    The time limit of a call begins when it does, not while it waits for its turn. A thread that outlives its
    limit is given up and replaced; it is a daemon, so it cannot keep the program from ending either.

    Args:
        count: Most calls at a time; at least one is made.
    """

    def __init__(self, count: int) -> None:
        self._count = max(count, 1)
        self._idle: list[SimpleQueue[_Job | None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, function: Callable[[], Any], seconds: float) -> Any:
        """What ``function`` returns or raises.

        Raises:
            TimeoutError: If it takes longer than ``seconds``.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._turn = loop, asyncio.Semaphore(self._count)
        async with self._turn:
            thread = self._idle.pop() if self._idle else _start()
            future: asyncio.Future[Any] = loop.create_future()
            thread.put((function, loop, future))
            try:
                result, error = await asyncio.wait_for(asyncio.shield(future), seconds)
            finally:
                if future.done():
                    self._idle.append(thread)
                else:
                    thread.put(None)  # it ends if it ever comes back
        if error is not None:
            raise error
        return result


def _start() -> SimpleQueue[_Job | None]:
    queue: SimpleQueue[_Job | None] = SimpleQueue()
    threading.Thread(target=_work, args=(queue,), daemon=True, name="environment").start()
    return queue


def _work(queue: SimpleQueue[_Job | None]) -> None:
    while (job := queue.get()) is not None:
        function, loop, future = job
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = function(), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop may have ended while this call hung
            loop.call_soon_threadsafe(_settle, future, outcome)


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if not future.done():
        future.set_result(outcome)
