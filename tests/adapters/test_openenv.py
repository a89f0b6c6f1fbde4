"""A real OpenEnv server on the loopback interface, and real clients."""

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack, contextmanager

import pytest

pytest.importorskip("openenv", reason="needs openenv-core: run tests/adapters/run openenv")
import uvicorn
from websockets.exceptions import ConnectionClosed

from visgym_maze import Split, solve
from visgym_maze.adapters.openenv import MAX_REQUEST, MazeAction, MazeClient, make_app

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]

LEVELS = Split.make("train", size=7, n=4)


@contextmanager
def served(sessions):
    app = make_app(LEVELS, sessions=sessions)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def address():
    with served(sessions=16) as address:
        yield address


def connect(address):
    return MazeClient(base_url=f"http://{address}")


async def solved(address, seed):
    """All observations of an episode that goes to the goal."""
    observations = []
    async with connect(address) as client:
        observations.append((await client.reset(seed=seed)).observation)
        for word in [*(a.word for a in solve(LEVELS[seed]).path()), "stop"]:
            result = await client.step(MazeAction(text=f"<action>{word}</action>"))
            observations.append(result.observation)
        state = await client.state()
    return observations, state


def test_sessions_side_by_side_play_their_own_mazes_and_the_same_seed_the_same_frames(address):
    async def play():
        return await asyncio.gather(*(solved(address, seed) for seed in (0, 0, 1, 2)))

    (first, state), (twin, _), (other, _), _ = asyncio.run(play())
    assert first == twin
    assert first[0].messages != other[0].messages
    assert first[-1].done
    assert (first[-1].reward, first[-1].stop_reason) == (1.0, "goal")
    assert (state.layout_key, state.stop_reason) == (LEVELS[0].key, "goal")
    assert state.step_count == len(first) - 1


def test_one_session_more_than_allowed_is_refused():
    async def play(address):
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connect(address)) for _ in range(3)]
            for client in clients[:2]:
                await client.reset(seed=0)
            # The server says why and hangs up; which of the two the client notices first is up to timing.
            with pytest.raises((RuntimeError, ConnectionClosed)):
                await clients[2].reset(seed=0)
            return await clients[0].step(MazeAction(text="<action>stop</action>"))

    with served(sessions=2) as address:
        assert asyncio.run(play(address)).done


@pytest.mark.parametrize(("seed", "message"), [(None, "needs a seed"), (4, "seeds go up to 3")])
def test_a_reset_without_a_maze_says_so_and_the_session_goes_on(address, seed, message):
    async def play():
        async with connect(address) as client:
            with pytest.raises(RuntimeError, match=message):
                await client.reset(seed=seed)
            return (await client.reset(seed=3)).observation

    assert asyncio.run(play()).messages


def test_an_answer_that_is_too_long_costs_a_turn(address):
    async def play():
        async with connect(address) as client:
            await client.reset(seed=0)
            return (await client.step(MazeAction(text="x" * 300_000))).observation

    assert "No action was taken (too long)" in asyncio.run(play()).messages[0]["content"][0]["text"]


def test_requests_that_are_too_large_are_refused(address):
    body = json.dumps({"seed": 0, "padding": "x" * MAX_REQUEST}).encode()
    header = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{address}/reset", data=body, headers=header)
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 413
    error.value.close()

    async def play():
        async with connect(address) as client:
            await client.reset(seed=0)
            with pytest.raises(RuntimeError, match="a request may hold"):
                await client.step(MazeAction(text="x" * MAX_REQUEST))

    asyncio.run(play())
