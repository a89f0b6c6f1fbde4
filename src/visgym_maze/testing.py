"""Does an environment keep its promises? Checks that any environment or adapter can run in its tests.

Each check takes a function that makes a fresh environment, plays it, and raises an AssertionError that says
what is broken::

    @pytest.mark.parametrize("check", ENV_CHECKS)
    def test_environment(check):
        check(lambda: gymnasium.make("MyMaze-v0").unwrapped)

:func:`check_groups` does the same for groups of dialogues.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.parsing import spell
from visgym_maze.world.dynamics import MOVES

Env = gymnasium.Env[Any, Any]
Result = tuple[Any, ...]
"""What ``reset`` or ``step`` returned."""

SEEDS = (0, 1, 2**31, 2**32, 2**32 + 1, 1 + 2**40, 2**63)
"""Seeds that collide or fail where seeds are cut to 32 bits, and the one that is taken for none."""

STEPS = 40


def content(value: Any) -> Any:
    """A copy of an observation, info or result that compares with ``==``, arrays included."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [content(item) for item in value]
    return copy.deepcopy(value)


def arrays(value: Any) -> list[NDArray[Any]]:
    """All arrays in an observation, info or result."""
    if isinstance(value, np.ndarray):
        return [value]
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    return [array for item in items for array in arrays(item)]


def sample_actions(env: Env, count: int = STEPS) -> list[Any]:
    """The same random actions at every call."""
    env.action_space.seed(0)
    return [env.action_space.sample() for _ in range(count)]


def play(env: Env, actions: Iterable[Any]) -> Iterable[Result]:
    """Step through the actions, with a reset wherever an episode ends; yields all that comes back."""
    for action in actions:
        result = env.step(action)
        yield result
        if result[2] or result[3]:
            yield env.reset()


def check_seeding(make: Callable[[], Env]) -> None:
    """One seed, one sequence of episodes: from reset to reset, whatever was played before."""
    starts: list[Any] = []
    for seed in SEEDS:
        first, second = make(), make()
        second.reset(seed=5)
        list(play(second, sample_actions(second)))  # a past that must not matter
        runs: list[Any] = []
        for env in (first, second):
            runs.append([content(env.reset(seed=seed))])
            runs[-1] += [content(result) for result in play(env, sample_actions(env))]
            runs[-1].append(content(env.reset()))
        assert runs[0] == runs[1], f"two runs with seed {seed} differ"
        starts.append(runs[0][0])
    different = sum(start not in starts[:number] for number, start in enumerate(starts))
    assert different > len(SEEDS) // 2, f"{len(SEEDS)} seeds begin only {different} different episodes"


def check_results_stay(make: Callable[[], Env]) -> None:
    """What was returned never changes afterwards and shares no memory with what is returned later."""
    env = make()
    results = [env.reset(seed=0)]
    receipts = [content(results[0])]
    for result in play(env, sample_actions(env)):
        results.append(result)
        receipts.append(content(result))
    for number, (result, receipt) in enumerate(zip(results, receipts, strict=True)):
        assert content(result) == receipt, f"result {number} changed after it was returned"
    owned = [array for result in results for array in arrays(result)]
    for number, array in enumerate(owned):
        shared = any(np.shares_memory(array, other) for other in owned[number + 1 :])
        assert not shared, "two results share memory"


def check_results_can_be_written_to(make: Callable[[], Env]) -> None:
    """Scribbling over observations and infos changes nothing that comes later."""
    careful, scribbler = make(), make()
    actions = sample_actions(careful)
    expected = [careful.reset(seed=0), *play(careful, actions)]
    results = chain([scribbler.reset(seed=0)], play(scribbler, actions))
    for number, (result, untouched) in enumerate(zip(results, expected, strict=True)):
        assert content(result) == content(untouched), f"writing to results changes result {number}"
        for array in arrays(result):
            array[...] = 0
        result[-1].clear()


def check_ends(make: Callable[[], Env]) -> None:
    """A step before the first reset or after the end of an episode is an error."""
    env = make()
    actions = sample_actions(env, 10_000)
    assert _refuses(env, actions[0]), "a step before the first reset() is accepted"
    env.reset(seed=0)
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    else:
        raise AssertionError(f"no episode of {len(actions)} random actions ends")
    assert _refuses(env, actions[0]), "a step after the end of the episode is accepted"
    env.reset()
    env.step(actions[0])


def _refuses(env: Env, action: Any) -> bool:
    try:
        env.step(action)
    except Exception:
        return True
    return False


def check_copies(make: Callable[[], Env]) -> None:
    """A deep copy and a pickle in mid-episode have the future that the original has."""
    env = make()
    actions = sample_actions(env)
    env.reset(seed=0)
    for _ in play(env, actions[:3]):
        pass
    twins = {"deepcopy": copy.deepcopy(env), "pickle": pickle.loads(pickle.dumps(env))}
    future = [content(result) for result in play(env, actions)]
    for how, twin in twins.items():
        got = [content(result) for result in play(twin, actions)]
        assert got == future, f"a copy by {how} has another future than its original"


ENV_CHECKS: tuple[Callable[[Callable[[], Env]], None], ...] = (
    check_seeding,
    check_results_stay,
    check_results_can_be_written_to,
    check_ends,
    check_copies,
)
"""All checks of an environment, for ``pytest.mark.parametrize``."""


def check_groups(groups: Sequence[Sequence[MazeDialogue]]) -> None:
    """All members of a group play one maze, groups play different ones, and members are independent.

    Args:
        groups: Fresh dialogues, group by group.
    """
    for number, group in enumerate(groups):
        keys = {dialogue.layout.key for dialogue in group}
        assert len(keys) == 1, f"group {number} plays {len(keys)} different mazes"
        beginnings = [content(dialogue.reset()) for dialogue in group]
        assert all(b == beginnings[0] for b in beginnings), f"the members of group {number} begin differently"
        for move in MOVES:
            if not group[0].done:
                group[0].step(spell(move, group[0].dialect))
        for dialogue, beginning in zip(group[1:], beginnings[1:], strict=True):
            assert dialogue.cell == dialogue.layout.start, "what one member does moves another"
            assert content(dialogue.reset()) == beginning, "what one member does changes what another sees"
    played = {group[0].layout.key for group in groups}
    assert len(played) == len(groups), f"{len(groups)} groups play only {len(played)} different mazes"
