"""Faults that maze environments and their kin have had in public, each guarded by one test."""

import copy
import gc
import hashlib
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest

from visgym_maze import (
    Layout,
    MazeDialogue,
    MazeEnv,
    OraclePolicy,
    Split,
    Style,
    evaluate,
    generate,
    render,
    role_of,
    solve,
)

EASY = "VisGymMaze/Maze2D-Easy-v0"


def digest(frame):
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()


def test_the_second_reset_shows_the_second_maze():
    env = gymnasium.make(EASY)
    env.reset(seed=0)
    for _ in range(5):
        picture, _ = env.reset()
        inner = env.unwrapped
        assert digest(picture) == digest(render(inner.layout, inner.cell))


def test_walking_over_the_goal_leaves_no_hole():
    layout = Layout.from_ascii("#####\n#S.G#\n#.#.#\n#...#\n#####")
    env = MazeEnv(5)
    env.reset(options={"layout": layout})
    for action in (0, 0, 3):
        picture, *_ = env.step(action)
    assert digest(picture) == digest(render(layout, (2, 3)))


def test_what_info_hands_out_is_the_callers_own():
    env = gymnasium.make(EASY)
    _, info = env.reset(seed=1)
    before = copy.deepcopy({k: v for k, v in vars(env.unwrapped).items() if k in ("cell", "turns", "layout")})
    for key in list(info):
        info[key] = None
    assert all(vars(env.unwrapped)[key] == value for key, value in before.items())


def test_nobody_walks_off_the_edge_of_the_grid():
    env = MazeEnv(5, max_turns=100)
    for seed in range(20):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(50):
            env.step(int(rng.integers(4)))
            assert not env.layout.is_wall(env.cell)


def test_the_oracle_draws_nothing_from_the_environment():
    played, untouched = gymnasium.make(EASY), gymnasium.make(EASY)
    for env in (played, untouched):
        env.reset(seed=3)
    layout = played.unwrapped.layout
    for action in solve(layout).path():
        played.step(int(action))
    assert played.step(4)[2]
    assert digest(played.reset()[0]) == digest(untouched.reset()[0])


def test_the_smallest_sizes_never_start_on_the_goal():
    for seed in range(200):
        layout = generate(5, rng=seed)
        assert layout.start != layout.goal
    for size in (3, (5, 3)):
        with pytest.raises(ValueError, match="odd number from 5 up"):
            generate(size)


def test_every_one_of_ten_thousand_levels_can_be_solved():
    rng = np.random.default_rng(0)
    for _ in range(10_000):
        assert 0 < solve(generate(7, rng=rng, max_moves=14)).moves <= 14


@pytest.mark.parametrize("size", [(7, 13), (13, 7)])
def test_rows_and_columns_are_not_mixed_up_when_the_maze_is_not_square(size):
    env = MazeEnv(size, max_turns=200)
    picture, _ = env.reset(seed=0)
    assert picture.shape == (size[0] * 25, size[1] * 25, 3)
    for action in [*solve(env.layout).path(), 4]:
        _, reward, terminated, _, info = env.step(int(action))
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    report, _ = evaluate(OraclePolicy(), [env.layout], max_turns=200)
    assert report.successes == 1


def test_frames_that_were_returned_never_change():
    env = gymnasium.make(EASY)
    frames = [env.reset(seed=5)[0]]
    while len(frames) < 15:
        result = env.step(env.action_space.sample())
        frames.append(result[0])
        if result[2] or result[3]:
            frames.append(env.reset()[0])
    seen = [digest(frame) for frame in frames]
    for _ in range(100):
        env.reset()
    assert [digest(frame) for frame in frames] == seen
    assert not any(np.shares_memory(a, b) for a in frames for b in frames if a is not b)


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63, 1 + 2**40])
def test_every_seed_has_a_maze_of_its_own_and_keeps_it(seed):
    assert generate(9, rng=seed) == generate(9, rng=seed)
    others = [other for other in (0, 1, 2**32, 2**63, 1 + 2**40) if other != seed]
    assert all(generate(21, rng=seed) != generate(21, rng=other) for other in others)
    assert generate(9, rng=np.int64(7)) == generate(9, rng=7)


def test_neighbouring_split_seeds_do_not_share_their_levels():
    one, two = (set(Split.make("train", 11, 200, seed=seed)) for seed in (0, 1))
    assert len(one & two) < 10


def test_no_seed_brings_a_training_maze_into_the_evaluation():
    held_out = {level.symmetry_key for level in Split.make("eval", 7, 64, seed=0)}
    for seed in (1, 2**40):
        train = Split.make("train", 7, 300, seed=seed)
        assert not held_out & {level.symmetry_key for level in train}
        assert {role_of(level) for level in train} == {"train"}


def test_wrappers_pass_the_seed_on():
    keys = set()
    for wrap in (lambda e: e, gymnasium.wrappers.TimeLimit, gymnasium.wrappers.FlattenObservation):
        env = gymnasium.make(EASY)
        env = wrap(env, 10) if wrap is gymnasium.wrappers.TimeLimit else wrap(env)
        keys.add(env.reset(seed=42)[1]["layout_key"])
    assert len(keys) == 1


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_copied_episode_has_the_same_future_and_none_in_common(clone):
    dialogue = MazeDialogue(generate(9, rng=0, max_moves=14))
    dialogue.reset()
    dialogue.step("<action>left</action>")
    twin = clone(dialogue)
    for action in solve(dialogue.layout).path(dialogue.cell):
        answer = f"<action>{action.word}</action>"
        assert dialogue.step(answer) == twin.step(answer)
    dialogue.step("<action>stop</action>")
    assert dialogue.done
    assert not twin.done


def _episodes(count, seed):
    rng = np.random.default_rng(seed)
    style = Style(cell=8)
    for _ in range(count):
        dialogue = MazeDialogue(generate(5, rng=rng), style=style, max_turns=6)
        dialogue.reset()
        while not dialogue.done:
            dialogue.step(f"<action>{('left', 'right', 'up', 'down')[int(rng.integers(4))]}</action>")


def test_memory_stays_flat_over_ten_thousand_episodes_in_32_threads():
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(_episodes, [60] * 32, range(32)))  # fills the caches
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        list(pool.map(_episodes, [320] * 32, range(32, 64)))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # 10,240 episodes; a leak of one message of 300 bytes in each would be 3 MB.
    assert after - before < 2_000_000
