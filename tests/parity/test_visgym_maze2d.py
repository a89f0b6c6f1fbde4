"""The parity preset draws VisGym's mazes and pictures, for the same seed, bit for bit."""

import hashlib
import json
from pathlib import Path

import gymnasium
import pytest

from visgym_maze import Layout, solve

SIZES = json.loads(Path(__file__).with_name("visgym_maze2d.json").read_text())["sizes"]
RECORDS = [
    pytest.param(size, record, id=f"{size}-{record['seed']}") for size in SIZES for record in SIZES[size]
]


def sha(frame):
    return hashlib.sha256(frame.tobytes()).hexdigest()


@pytest.mark.parametrize(("size", "record"), RECORDS)
def test_same_seed_same_maze_and_pictures(size, record):
    height, width = len(record["walls"]), len(record["walls"][0])
    env = gymnasium.make("VisGymMaze/Maze2D-Easy-VisGym-v0", size=(height, width)).unwrapped
    frame, _ = env.reset(seed=record["seed"])
    walls = bytes(int(char) for row in record["walls"] for char in row)
    assert env.layout == Layout(height, width, walls, tuple(record["start"]), tuple(record["goal"]))
    assert list(frame.shape) == record["shape"]
    assert sha(frame) == record["frame"]
    path = solve(env.layout).path()
    assert "".join(str(int(move)) for move in path) == record["oracle"]
    for move in path[:3]:
        frame, *_ = env.step(move)
    assert sha(frame) == record["frame3"]


def test_the_record_covers_every_size():
    assert {size: len(records) for size, records in SIZES.items()} == dict.fromkeys(
        ("9x9", "11x11", "21x21", "7x13"), 32
    )


@pytest.mark.parametrize(
    ("name", "size"),
    [("VisGymMaze/Maze2D-Easy-VisGym-v0", "9x9"), ("VisGymMaze/Maze2D-Hard-VisGym-v0", "11x11")],
)
def test_the_presets_have_the_size_that_they_are_named_after(name, size):
    for record in SIZES[size]:
        frame, _ = gymnasium.make(name).reset(seed=record["seed"])
        assert sha(frame) == record["frame"]
