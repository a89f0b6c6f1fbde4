"""The vector environment behaves, step for step, as the scalar one."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from visgym_maze import CONFIGURATIONS, MazeEnv, RewardSpec, Split, generate
from visgym_maze.envs.vector import MazeVectorEnv

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
SHAPED = RewardSpec(format=0.1, progress=0.3, step=-0.01, bump=-0.05, efficiency=0.2)


def pair(mode, n=5, **rules):
    sync = SyncVectorEnv([lambda: MazeEnv(**rules)] * n, autoreset_mode=mode)
    return MazeVectorEnv(n, autoreset_mode=mode, **rules), sync


def assert_same_infos(native, sync, n):
    assert set(native) == set(sync)
    for key in ("distance", "layout_key", "turns", "bumped", "success"):
        mask = native[f"_{key}"]
        np.testing.assert_array_equal(mask, sync[f"_{key}"])
        np.testing.assert_array_equal(native[key][mask], sync[key][mask])
    if "cell" in native:
        assert [tuple(c) for c in native["cell"][mask]] == list(sync["cell"][mask])
    if "final_obs" in native:
        np.testing.assert_array_equal(native["_final_obs"], sync["_final_obs"])
        for i in range(n):
            np.testing.assert_array_equal(native["final_obs"][i], sync["final_obs"][i])
        assert_same_infos(native["final_info"], sync["final_info"], n)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "rules",
    [
        {"size": (7, 13), "max_turns": 20},
        {"size": (13, 7), "observe": "grid", "goal_rule": "reach", "solvable": False},
        {"size": 5, "observe": "grid", "max_turns": 6, "reward": SHAPED},
        {"size": 5, "observe": "image", "goal_rule": "reach", "endpoints": "random", "reward": SHAPED},
        {"size": 5, "observe": "grid", "max_turns": 8, "reward": RewardSpec(step=-0.1, per_turn=False)},
        {"size": 7, "observe": "image", "style": "patch16", "generator": "braided"},
    ],
)
def test_equals_the_scalar_environment_step_for_step(mode, rules):
    n = 5
    native, sync = pair(mode, n, **rules)
    first, second = native.reset(seed=3), sync.reset(seed=3)
    np.testing.assert_array_equal(first[0], second[0])
    assert_same_infos(first[1], second[1], n)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(120):
        actions = rng.choice(5, size=n, p=[0.24, 0.24, 0.24, 0.24, 0.04])
        a, b = native.step(actions), sync.step(actions)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
        assert_same_infos(a[4], b[4], n)
        ends += int((a[2] | a[3]).sum())
    assert ends > 10


def test_the_cell_is_the_whole_observation_on_request():
    native, sync = pair(AutoresetMode.NEXT_STEP, 3, size=5, observe="cell")
    native.reset(seed=0)
    sync.reset(seed=0)
    for action in (0, 1, 2, 3, 0, 0, 3):
        a, b = native.step(np.full(3, action)), sync.step(np.full(3, action))
        np.testing.assert_array_equal(a[0], b[0])
        assert a[0] in native.observation_space
        assert not {"cell", "layout_key"} & set(a[4])


def test_make_vec_names_the_maze_of_each_environment():
    envs = gymnasium.make_vec("VisGymMaze/Maze2D-Easy-v0", num_envs=3, observe="grid")
    _, infos = envs.reset(seed=0)
    assert infos["layout_key"].tolist() == [layout.key for layout in envs.unwrapped.layouts]
    assert infos["_layout_key"].all()
    for _ in range(40):
        *_, later = envs.step(envs.action_space.sample())
        assert later["layout_key"].tolist() == [layout.key for layout in envs.unwrapped.layouts]
    assert later["layout_key"].tolist() != infos["layout_key"].tolist()


@pytest.mark.parametrize("mode", MODES)
def test_given_levels_are_played_as_the_scalar_environment_plays_them(mode):
    levels = [generate(7, rng=i) for i in range(4)]
    native = MazeVectorEnv(6, levels=levels, size=7, solvable=False, observe="grid", autoreset_mode=mode)
    scalars = [MazeEnv(7, observe="grid", solvable=False) for _ in range(6)]

    def restart(i):
        return scalars[i].reset(options={"layout": native.layouts[i]})

    native.reset(seed=1)
    for i in range(6):
        restart(i)
    rng, seen, over = np.random.default_rng(2), set(), np.zeros(6, dtype=bool)
    for _ in range(200):
        actions = rng.integers(5, size=6)
        previous, (observations, rewards, ended, cut, _) = over, native.step(actions)
        for i in range(6):
            if previous[i] and mode is AutoresetMode.NEXT_STEP:
                expected = (restart(i)[0], 0.0, False, False)
            else:
                expected = scalars[i].step(actions[i])
            if (expected[2] or expected[3]) and mode is AutoresetMode.SAME_STEP:
                expected = (restart(i)[0], *expected[1:])
            np.testing.assert_array_equal(observations[i], expected[0])
            assert (rewards[i], ended[i], cut[i]) == tuple(expected[1:4])
        over = ended | cut
        seen.update(native.layouts)
    assert seen == set(levels)


def test_without_autoreset_a_finished_episode_waits_for_its_reset():
    native = MazeVectorEnv(3, size=5, observe="grid", autoreset_mode="Disabled")
    native.reset(seed=0)
    _, _, ended, _, _ = native.step([4, 0, 4])
    assert ended.tolist() == [True, False, True]
    with pytest.raises(RuntimeError, match="call reset"):
        native.step([0, 0, 0])
    before = native.layouts
    _, infos = native.reset(options={"reset_mask": ended})
    assert infos["_turns"].tolist() == [True, False, True]
    assert native.layouts[1] == before[1]
    assert native.step([0, 0, 0])[4]["turns"].tolist() == [1, 2, 1]


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if "2D" in name])
@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point", None])
def test_make_vec_in_every_mode_gives_the_same_pictures(name, mode):
    envs = gymnasium.make_vec(name, num_envs=2, vectorization_mode=mode)
    try:
        assert isinstance(envs.metadata["autoreset_mode"], AutoresetMode)
        observations, _ = envs.reset(seed=11)
        assert observations in envs.observation_space
        for i in range(2):
            alone, _ = gymnasium.make(name).reset(seed=11 + i)
            np.testing.assert_array_equal(observations[i], alone)
        assert envs.step(envs.action_space.sample())[0].shape == observations.shape
    finally:
        envs.close()


def test_the_same_seed_gives_the_same_levels_and_no_seed_goes_on():
    split = Split.make("train", 7, 32)
    a = MazeVectorEnv(8, size=7, levels=split, solvable=False, observe="cell")
    b = MazeVectorEnv(8, size=7, levels=split, solvable=False, observe="cell")
    a.reset(seed=5)
    b.reset(seed=5)
    assert a.layouts == b.layouts
    a.reset()
    b.reset()
    assert a.layouts == b.layouts
    a.reset(seed=5)
    first = a.layouts
    a.reset(seed=6)
    assert a.layouts != first


@pytest.mark.parametrize("levels", [None, [generate(5, rng=i) for i in range(3)]])
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_episode_has_the_same_future(levels, clone):
    env = MazeVectorEnv(4, size=5, levels=levels, observe="grid", reward=SHAPED)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(7):
        env.step(rng.integers(5, size=4))
    twin = clone(env)
    for _ in range(30):
        actions = rng.integers(5, size=4)
        for x, y in zip(env.step(actions)[:4], twin.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(x, y)


def test_results_belong_to_the_caller():
    env = MazeVectorEnv(3, size=5, observe="grid")
    results = [env.reset(seed=0), *(env.step([0, 1, 3]) for _ in range(20))]
    arrays = [a for r in results for a in (*r[:-1], *(v for k, v in r[-1].items() if not k.startswith("_")))]
    copies = [a.copy() for a in arrays]
    for _ in range(20):
        env.step([2, 1, 3])
    for kept, copied in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(kept, copied)
    observation = results[-1][0]
    observation[:] = 7
    results[-1][-1]["turns"][:] = 99
    assert env.step([0, 0, 0])[4]["turns"].max() < 50


def test_renders_every_maze():
    env = MazeVectorEnv(2, size=(7, 13), render_mode="rgb_array", solvable=False)
    observations, _ = env.reset(seed=0)
    np.testing.assert_array_equal(np.stack(env.render()), observations)
    assert MazeVectorEnv(2, size=5).render() is None
    text = MazeVectorEnv(1, size=5, render_mode="ansi")
    text.reset(seed=0)
    assert "A" in text.render()[0]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 5], "from 0 to 4"),
        ([0, -1], "from 0 to 4"),
        ([0], "shape"),
        ([[0, 1]], "shape"),
        ([0.0, 1.0], "integers"),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(actions, message):
    env = MazeVectorEnv(2, size=5, observe="cell")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert env.step([0, 0])[4]["turns"].tolist() == [1, 1]


def test_bad_arguments_say_what_is_wrong():
    with pytest.raises(ValueError, match="num_envs"):
        MazeVectorEnv(0)
    env = MazeVectorEnv(2, size=5)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step([0, 0])
    with pytest.raises(RuntimeError, match="first reset"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=[1, 2])
    for options, message in (
        ({"maze": 1}, "unknown options"),
        ({"reset_mask": [True, False]}, "reset_mask"),
        ({"layouts": [generate(5, rng=0)]}, "as many layouts"),
        ({"layout": generate(7, rng=0)}, "size"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)
    with pytest.raises(ValueError, match="as many seeds"):
        env.reset(seed=[1])
    with pytest.raises(ValueError, match="one random stream"):
        MazeVectorEnv(2, size=5, levels=[generate(5, rng=0)]).reset(seed=[1, 2])


def test_one_layout_can_be_given_to_all():
    layout = generate((7, 13), rng=4)
    env = MazeVectorEnv(3, size=(7, 13), solvable=False)
    env.reset(seed=0, options={"layout": layout})
    assert env.layouts == (layout,) * 3
