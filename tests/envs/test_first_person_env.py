"""The first-person environments turn, walk and count as documented."""

import gymnasium
import numpy as np
import pytest

from visgym_maze import Action, Layout, RewardSpec, Split, generate, render_first_person
from visgym_maze.envs.first_person import FirstPersonMazeEnv
from visgym_maze.world.heading import HeadedAction, headed_distances, headed_transition

CORNER = Layout.from_ascii("#####\n#S..#\n###.#\n#G..#\n#####")
LEFT, RIGHT, FORWARD, STOP = HeadedAction


def test_turning_and_walking():
    env = FirstPersonMazeEnv(5)
    env.reset(options={"layout": CORNER})
    seen = []
    for action in (LEFT, FORWARD, RIGHT, FORWARD, FORWARD, FORWARD):
        info = env.step(action)[4]
        seen.append((info["cell"], Action(info["heading"]).word, info["bumped"]))
    assert seen == [
        ((1, 1), "up", False),
        ((1, 1), "up", True),
        ((1, 1), "right", False),
        ((1, 2), "right", False),
        ((1, 3), "right", False),
        ((1, 3), "right", True),
    ]


def test_distances_count_turns():
    distances = headed_distances(CORNER)
    # Two ahead, turn right, two ahead, turn right, two ahead.
    assert distances[CORNER.start, Action.RIGHT] == 8
    assert distances[CORNER.start, Action.UP] == 9
    assert distances[CORNER.start, Action.LEFT] == 10
    assert {distances[CORNER.goal, heading] for heading in (0, 1, 2, 3)} == {0}


@pytest.mark.parametrize("size", [5, (7, 13), (13, 7)])
def test_some_action_improves_every_distance_and_none_spoils_it_by_more_than_three(size):
    layout = generate(size, "braided", 3)
    distances = headed_distances(layout)
    assert len(distances) == 4 * (~layout.grid).sum()
    for (cell, heading), distance in distances.items():
        after = [distances[headed_transition(layout, cell, heading, a)[:2]] for a in (LEFT, RIGHT, FORWARD)]
        # Two turns and a step undo a step.
        assert max(after) <= distance + 3
        assert distance == 0 or min(after) == distance - 1


@pytest.mark.parametrize("name", ["VisGymMaze/Maze3D-Easy-v0", "VisGymMaze/Maze3D-Hard-v0"])
def test_a_perfect_player_wins_within_the_cap(name):
    env = gymnasium.make(name, picture=(16, 16)).unwrapped
    for seed in range(30):
        env.reset(seed=seed)
        distances = headed_distances(env.layout)
        while env.cell != env.layout.goal:
            here = env.cell, env.heading
            best = min(
                (LEFT, RIGHT, FORWARD), key=lambda a: distances[headed_transition(env.layout, *here, a)[:2]]
            )
            env.step(best)
        _, reward, terminated, truncated, _ = env.step(STOP)
        assert (reward, terminated, truncated) == (1.0, True, False)


def test_the_observation_is_the_picture_of_cell_and_heading():
    env = FirstPersonMazeEnv((7, 13), picture=(64, 48), fov=70.0, render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (64, 48, 3)
    expected = render_first_person(env.layout, env.cell, env.heading, height=64, width=48, fov=70.0)
    np.testing.assert_array_equal(observation, expected)
    np.testing.assert_array_equal(env.render(), expected)


def test_progress_is_measured_in_actions():
    env = FirstPersonMazeEnv(5, reward=RewardSpec(progress=0.8), picture=(8, 8))
    env.reset(options={"layout": CORNER})
    assert env.step(FORWARD)[1] == pytest.approx(0.1)
    assert env.step(LEFT)[1] == pytest.approx(-0.1)
    assert env.step(RIGHT)[1] == pytest.approx(0.1)


def test_a_cap_that_only_the_turns_break_is_noticed():
    assert FirstPersonMazeEnv(5, levels=[CORNER], max_turns=9).levels == (CORNER,)
    with pytest.raises(ValueError, match="1 of 1 mazes cannot be solved within 8 turns"):
        FirstPersonMazeEnv(5, levels=[CORNER], max_turns=8)
    for seed in range(20):
        env = FirstPersonMazeEnv(9, max_turns=16, picture=(8, 8))
        env.reset(seed=seed)
        assert headed_distances(env.layout)[env.cell, env.heading] <= 15


def test_levels_and_text():
    split = Split.make("train", 7, 4)
    env = FirstPersonMazeEnv(7, levels=split, render_mode="ansi", picture=(8, 8))
    env.reset(seed=0)
    assert env.layout in split
    assert env.render().endswith(f"facing {env.heading.word}")


def test_bad_arguments_say_what_is_wrong():
    with pytest.raises(ValueError, match="takes no observe"):
        FirstPersonMazeEnv(observe="grid")
    with pytest.raises(ValueError, match="fov"):
        FirstPersonMazeEnv(fov=180.0)
    with pytest.raises(ValueError, match="8x8 pixels"):
        FirstPersonMazeEnv(picture=(4, 100))
    env = FirstPersonMazeEnv(picture=(8, 8))
    with pytest.raises(RuntimeError, match="before render"):
        env.render()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="integer from 0 to 3"):
        env.step(4)
