"""Threads for environments: limits, order, errors, and what becomes of calls that hang."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from visgym_maze_skyrl.env_threads import EnvThreads


def fail():
    raise StopIteration("no more")


def test_results_and_errors_come_back():
    async def main():
        threads = EnvThreads(2)
        assert await asyncio.gather(*(threads.call(lambda i=i: i, 5) for i in range(50))) == list(range(50))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.call(fail, 5)
        with pytest.raises(SystemExit):
            await threads.call(lambda: (_ for _ in ()).throw(SystemExit(2)), 5)
        return await threads.call(threading.get_ident, 5), len(threads._idle)

    _, idle = asyncio.run(main())
    assert 1 <= idle <= 2, "threads are used again"


def test_no_more_than_so_many_run_at_a_time():
    running, most = [], []

    def work():
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    async def main():
        threads = EnvThreads(3)
        await asyncio.gather(*(threads.call(work, 5) for _ in range(20)))

    asyncio.run(main())
    assert max(most) == 3


def test_hanging_calls_take_no_place_and_waiting_is_not_counted():
    release = threading.Event()

    async def main():
        threads = EnvThreads(1)
        hanging = [threads.call(release.wait, 0.2) for _ in range(3)]
        healthy = [threads.call(lambda: time.sleep(0.05) or "done", 0.2) for _ in range(6)]
        return await asyncio.gather(*hanging, *healthy, return_exceptions=True)

    results = asyncio.run(main())
    assert [type(result) for result in results[:3]] == [TimeoutError] * 3
    assert results[3:] == ["done"] * 6
    release.set()


def test_one_object_serves_several_loops():
    threads = EnvThreads(1)

    async def main():
        return await asyncio.gather(*(threads.call(lambda: 1, 5) for _ in range(4)))

    assert [asyncio.run(main()) for _ in range(2)] == [[1] * 4] * 2
