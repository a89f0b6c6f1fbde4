"""Known faults of such environments at the Gymnasium interface, each guarded by a test named after it."""

import gymnasium
import numpy as np
import pytest

from visgym_maze import CONFIGURATIONS, GroupSampler, MazeEnv, MazeVectorEnv, Split, generate, solve
from visgym_maze.testing import check_groups

IDS = sorted(CONFIGURATIONS)


@pytest.mark.parametrize("name", IDS)
def test_observations_and_sampled_actions_lie_in_their_spaces(name):
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    env.action_space.seed(0)
    for _ in range(10):
        action = env.action_space.sample()
        assert action in env.action_space
        observation, _, terminated, truncated, _ = env.step(action)
        assert observation in env.observation_space
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize("name", IDS)
def test_make_takes_every_render_mode_that_it_declares(name):
    for render_mode in gymnasium.make(name).metadata["render_modes"]:
        env = gymnasium.make(name, render_mode=render_mode)
        env.reset(seed=0)
        assert env.render() is not None


@pytest.mark.parametrize("name", IDS)
def test_make_vec_works(name):
    envs = gymnasium.make_vec(name, num_envs=2)
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    envs.close()


@pytest.mark.parametrize("name", IDS)
def test_a_step_before_reset_and_after_the_end_is_refused_and_pays_nothing_twice(name):
    env = gymnasium.make(name).unwrapped
    stop = env.action_space.n - 1
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        env.step(stop)
    env.reset(seed=0)
    assert env.step(stop)[2]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
            env.step(stop)


def test_reaching_the_goal_on_the_last_turn_terminates_and_does_not_truncate():
    layout = generate(9, rng=0, max_moves=14)
    env = MazeEnv(max_turns=solve(layout).moves + 1)
    env.reset(options={"layout": layout})
    for move in (*solve(layout).path(), 4):
        _, reward, terminated, truncated, _ = env.step(move)
    assert (reward, terminated, truncated) == (1.0, True, False)


def test_the_cap_is_reported_as_truncation_even_on_the_goal():
    layout = generate(9, rng=0, max_moves=14)
    env = MazeEnv(max_turns=solve(layout).moves, solvable=False)
    env.reset(options={"layout": layout})
    for move in solve(layout).path():
        _, _, terminated, truncated, info = env.step(move)
    assert (terminated, truncated, info["success"]) == (False, True, False)


def test_a_group_plays_one_maze_and_groups_play_different_ones():
    groups = GroupSampler(Split.make("train", 9, 16), 8, seed=0).take(16)
    check_groups([group.dialogues() for group in groups])


def test_more_mazes_than_exist_are_refused_and_never_repeated():
    with pytest.raises(ValueError, match="ask for at most"):
        Split.make("dev", 7, 10_000)


def test_info_and_observation_are_new_objects_at_every_call():
    env = MazeEnv()
    results = [env.reset(seed=0), env.reset(seed=0), env.step(0), env.step(0)]
    assert len({id(result[-1]) for result in results}) == 4
    assert not any(np.shares_memory(a[0], b[0]) for i, a in enumerate(results) for b in results[i + 1 :])


def test_numpy_seeds_and_zero_are_seeds():
    keys = [MazeEnv(21, solvable=False).reset(seed=seed)[1]["layout_key"] for seed in (0, np.int64(0), 0)]
    assert len(set(keys)) == 1
    assert MazeEnv(21, solvable=False).reset()[1]["layout_key"] not in keys
    envs = MazeVectorEnv(2, size=21, solvable=False)
    envs.reset(seed=np.int64(0))
    assert envs.layouts[0].key == keys[0]
