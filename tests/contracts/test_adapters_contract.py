"""Whatever plays a maze, and through whatever adapter: the same maze, rewards, pictures and end."""

import importlib.util

import pytest
from contract_drivers import DRIVERS, LEVELS, OPTIONS, Played, dialogue

from visgym_maze import Action, solve

NEEDS = {
    "skyrl": ("skyrl_gym", "install the extra 'train'"),
    "verifiers": ("verifiers", "run tests/adapters/run verifiers"),
    "openenv": ("openenv", "run tests/adapters/run openenv"),
}
"""The package without which an adapter cannot be imported, and how to test it all the same."""


def adapter(name):
    if name not in NEEDS:
        return pytest.param(DRIVERS[name], id=name)
    package, remedy = NEEDS[name]
    missing = importlib.util.find_spec(package) is None
    skip = pytest.mark.skipif(missing, reason=f"needs {package}: {remedy}")
    return pytest.param(DRIVERS[name], id=name, marks=skip)


ADAPTERS = [adapter(name) for name in DRIVERS]

WAYS = {
    "goal": lambda maze: (*solve(maze).path(), Action.STOP),
    "wrong_stop": lambda maze: (solve(maze).path()[0], Action.STOP),
    # The last turn bumps or moves but never stops.
    "turn_limit": lambda maze: (Action.UP,) * OPTIONS["max_turns"],
}


def reference(played: Played, way: str) -> Played:
    """What the dialogue alone shows of the maze that was played."""
    seed = [level.key for level in LEVELS].index(played.layout)
    return dialogue(seed, WAYS[way](LEVELS[seed]))


def maze_of(driver, seed):
    return next(maze for maze in LEVELS if maze.key == driver(seed, (Action.STOP,)).layout)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("driver", ADAPTERS)
def test_an_episode_goes_as_in_the_dialogue(driver, way):
    for seed in range(3):
        played = driver(seed, WAYS[way](maze_of(driver, seed)))
        expected = reference(played, way)
        assert played.stop_reason == expected.stop_reason == way
        assert sum(played.rewards) == pytest.approx(sum(expected.rewards))
        if len(played.rewards) > 1:
            assert played.rewards == pytest.approx(expected.rewards)
        # One picture with the task, one after every answer that leaves something to decide.
        turns = len(expected.pictures) - 1
        assert played.pictures == expected.pictures == [1] * turns + [0]
        assert played.refused


@pytest.mark.parametrize("driver", ADAPTERS)
def test_a_seed_names_one_maze(driver):
    stop = (Action.STOP,)
    assert [driver(seed, stop) for seed in range(4)] == [driver(seed, stop) for seed in range(4)]
    assert len({driver(seed, stop).layout for seed in range(4)}) > 1
