"""The Gymnasium environments keep to the interface, on every registered id."""

import copy
import hashlib
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from visgym_maze import CONFIGURATIONS, Action, MazeEnv, RewardSpec, Split, generate, moves_within, solve

IDS = sorted(CONFIGURATIONS)
FLAT = [name for name in IDS if "2D" in name]


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_has_nothing_to_complain_about(name, render_mode):
    check_env(gymnasium.make(name, render_mode=render_mode).unwrapped)


@pytest.mark.parametrize("observe", ["image", "grid", "cell"])
def test_every_kind_of_observation_lies_in_its_space(observe):
    env = gymnasium.make(FLAT[0], size=(7, 13), observe=observe, max_turns=25).unwrapped
    check_env(env)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    if observe == "grid":
        assert observation[env.layout.start] == 3
        assert observation[env.layout.goal] == 2
        assert ((observation == 0) == env.layout.grid).all()
    if observe == "cell":
        assert divmod(int(observation), 13) == env.layout.start


def test_the_registry_knows_the_environments_without_an_import():
    program = "import gymnasium; gymnasium.make('visgym_maze:VisGymMaze/Maze2D-Easy-v0').reset(seed=0)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("seed", [0, 2**32, 2**63])
def test_the_same_seed_gives_the_same_episodes(name, seed):
    def pictures():
        env = gymnasium.make(name)
        frames = [env.reset(seed=seed)[0], *(env.step(a)[0] for a in (0, 1, 2)), env.reset()[0]]
        return [hashlib.sha256(frame.tobytes()).hexdigest() for frame in frames]

    assert pictures() == pictures()


@pytest.mark.parametrize(
    ("name", "turns"), [("VisGymMaze/Maze2D-Easy-v0", 15), ("VisGymMaze/Maze2D-Hard-v0", 25)]
)
def test_the_oracle_solves_every_maze_of_the_presets_within_the_cap(name, turns):
    env = gymnasium.make(name, observe="cell").unwrapped
    assert env.max_turns == turns
    for seed in range(200):
        env.reset(seed=seed)
        for move in (*solve(env.layout).path(), Action.STOP):
            _, reward, terminated, truncated, info = env.step(move)
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_the_share_of_mazes_that_a_cap_leaves():
    """The figures that the documentation of the presets gives."""
    for size, turns, share in ((9, 15, 0.724), (9, 18, 0.942), (11, 15, 0.0), (11, 25, 0.956)):
        mazes = [solve(generate(size, rng=np.random.default_rng(seed))).moves for seed in range(3000)]
        assert abs(np.mean(np.array(mazes) <= moves_within(turns)) - share) < 0.025


def test_success_on_the_last_turn_counts_and_one_turn_more_is_refused():
    layout = generate(5, rng=0)
    env = MazeEnv(5, max_turns=5)
    env.reset(options={"layout": layout})
    for move in solve(layout).path():
        result = env.step(move)
        assert result[2:4] == (False, False)
    _, reward, terminated, truncated, _ = env.step(Action.STOP)
    assert (reward, terminated, truncated) == (1.0, True, False)
    with pytest.raises(RuntimeError, match="over"):
        env.step(Action.STOP)


def test_standing_on_the_goal_at_the_cap_is_truncation():
    env = MazeEnv(5, max_turns=4, solvable=False)
    env.reset(seed=0)
    for move in solve(env.layout).path():
        _, reward, terminated, truncated, info = env.step(move)
    assert env.cell == env.layout.goal
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)


def test_with_the_goal_rule_reach_standing_there_is_enough():
    env = MazeEnv(5, max_turns=4, goal_rule="reach")
    env.reset(seed=0)
    for move in solve(env.layout).path():
        _, reward, terminated, truncated, info = env.step(move)
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_stopping_elsewhere_ends_without_success():
    env = MazeEnv(5)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(4)
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)


def test_a_reward_that_is_paid_at_the_end_adds_up():
    env = MazeEnv(5, reward=RewardSpec(success=1.0, step=-0.1, per_turn=False))
    env.reset(seed=0)
    rewards = [env.step(move)[1] for move in (*solve(env.layout).path(), Action.STOP)]
    assert rewards[:-1] == [0.0] * 4
    assert rewards[-1] == pytest.approx(0.5)
    env.reset(seed=0)
    assert env.step(4)[1] == pytest.approx(-0.1)


def test_given_levels_are_played_and_all_of_them():
    split = Split.make("train", 7, 6, max_moves=14)
    env = MazeEnv(7, levels=split, observe="cell")
    played = set()
    for seed in range(60):
        env.reset(seed=seed)
        played.add(env.layout)
    assert played == set(split)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"levels": []}, "no mazes"),
        ({"size": 9, "levels": [generate(7, rng=0)]}, r"size \(9, 9\).*pass size=\(7, 7\)"),
        (
            {"size": 11, "levels": [generate(11, rng=0)], "max_turns": 15},
            "1 of 1 mazes cannot be solved within 15",
        ),
        ({"max_turns": 0}, "max_turns must be at least 1, got 0"),
        ({"goal_rule": "touch"}, "unknown goal_rule 'touch'; known: stop, reach"),
        ({"observe": "sound"}, "unknown observe 'sound'; known: image"),
        ({"render_mode": "human"}, "unknown render_mode 'human'; known: rgb_array, ansi"),
        ({"size": 8}, "try 9"),
    ],
)
def test_bad_arguments_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        MazeEnv(**arguments)


def test_a_cap_that_no_maze_meets_is_an_error_at_reset():
    with pytest.raises(ValueError, match="allow more moves"):
        MazeEnv(11, max_turns=5).reset(seed=0)


def test_options():
    env = MazeEnv((7, 13), max_turns=25)
    layout = generate((7, 13), rng=8)
    env.reset(seed=0, options={"layout": layout})
    assert env.layout == layout
    with pytest.raises(ValueError, match=r"one option is 'layout', got \['maze'\]"):
        env.reset(options={"maze": layout})
    with pytest.raises(ValueError, match="pass size="):
        env.reset(options={"layout": generate((13, 7), rng=8)})


@pytest.mark.parametrize("action", [5, -1, 2**40, 1.5, "left", None, [0]])
def test_bad_actions_are_refused_and_change_nothing(action):
    env = MazeEnv(5)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="integer from 0 to 4"):
        env.step(action)
    assert env.turns == 0


@pytest.mark.parametrize("action", [np.int64(0), np.uint8(0), np.array(0), Action.RIGHT, 0])
def test_any_integer_is_an_action(action):
    env = MazeEnv(5)
    env.reset(seed=0)
    assert env.step(action)[4]["turns"] == 1


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_episode_has_the_same_future(name, clone):
    env = gymnasium.make(name).unwrapped
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(5):
        env.step(rng.integers(3))
    twin = clone(env)
    for _ in range(3):
        for action in rng.integers(3, size=8):
            ours, theirs = env.step(action), twin.step(action)
            np.testing.assert_array_equal(ours[0], theirs[0])
            assert ours[1:] == theirs[1:]
        np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])


def test_the_text_and_the_picture_show_the_same_agent():
    env = MazeEnv((7, 13), render_mode="ansi", max_turns=25)
    env.reset(seed=0)
    lines = env.render().split("\n")
    assert lines[env.cell[0]][env.cell[1]] == "A"
    with pytest.raises(RuntimeError, match="before render"):
        MazeEnv().render()
