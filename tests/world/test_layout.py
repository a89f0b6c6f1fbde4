"""A layout is a value that survives every round trip and refuses what is no maze."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visgym_maze import Layout, generate

TINY = Layout.from_ascii(
    """
    #######
    #S..#.#
    ###.#.#
    #....G#
    #######
    """
)


@pytest.mark.parametrize("size", [5, (7, 13), (13, 7), 9])
def test_ascii_json_and_pickle_round_trips(size):
    for seed in range(10):
        layout = generate(size, rng=seed)
        assert Layout.from_ascii(layout.to_ascii()) == layout
        assert Layout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout
        assert Layout.from_grid(layout.grid, layout.start, layout.goal) == layout
        assert pickle.loads(pickle.dumps(layout)) == layout
        assert copy.deepcopy(layout) == layout
        assert len({layout, Layout.from_ascii(layout.to_ascii())}) == 1


def test_keys_are_stable_across_releases():
    assert TINY.key == KEY
    assert TINY.split_key == SPLIT_KEY
    assert TINY.symmetry_key == SYMMETRY_KEY


KEY = "59adf361167799cf3a49821dd31d967b"
SPLIT_KEY = "b52a4b9fbd4b76672248661eb11d15bf"
SYMMETRY_KEY = "01e4f48e720c3a95d5da16dc450517a6"


def test_key_names_the_level_and_split_key_the_walls():
    swapped = dataclasses.replace(TINY, start=TINY.goal, goal=TINY.start)
    assert swapped.key != TINY.key
    assert swapped.split_key == TINY.split_key
    # Same bytes of walls, other shape.
    wide = Layout.from_grid([[1] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 1], [1] * 9], (1, 1), (1, 2))
    high = Layout.from_grid(np.transpose(wide.grid), (1, 1), (2, 1))
    assert wide.split_key != high.split_key
    assert wide.symmetry_key == high.symmetry_key


def test_all_eight_views_of_a_maze_share_their_symmetry_key():
    layout = generate((7, 13), rng=3)
    keys, splits = set(), set()
    for turns in range(4):
        for grid in (np.rot90(layout.grid, turns), np.rot90(layout.grid, turns)[:, ::-1]):
            start, goal = (1, 1), (grid.shape[0] - 2, grid.shape[1] - 2)
            view = Layout.from_grid(grid, start, goal)
            keys.add(view.symmetry_key)
            splits.add(view.split_key)
    assert len(keys) == 1
    assert len(splits) > 1


def test_nothing_in_a_layout_can_be_written_to():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TINY.goal = (1, 1)
    with pytest.raises(ValueError, match="read-only"):
        TINY.grid[0, 0] = 0


def test_other_integer_types_make_the_same_layout():
    same = Layout(np.int64(5), np.int32(7), bytearray(TINY.walls), np.array(TINY.start), list(TINY.goal))
    assert same == TINY
    assert hash(same) == hash(TINY)
    assert type(same.start[0]) is int


def test_cells_outside_count_as_wall():
    assert TINY.is_wall((-1, 3))
    assert TINY.is_wall((5, 0))
    assert not TINY.is_wall((1, 1))


RING = bytes([1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 9, b"\1" * 18, (1, 1), (1, 2)), "at least 3x3"),
        ((3, 5, RING, (1, 1), (1, 2)), "18 cells, 3x5 needs 15"),
        ((3, 6, RING.replace(b"\0", b"\2"), (1, 1), (1, 2)), "bytes 0"),
        ((3, 6, b"\0" + RING[1:], (1, 1), (1, 2)), "outer ring"),
        ((3, 6, RING[:-2] + b"\0\1", (1, 1), (1, 2)), "outer ring"),
        ((3, 6, RING[:6] + b"\0" + RING[7:], (1, 1), (1, 2)), "outer ring"),
        ((3, 6, RING[:11] + b"\0" + RING[12:], (1, 1), (1, 2)), "outer ring"),
        ((3, 6, RING, (0, 1), (1, 2)), r"start \(0, 1\) stands on a wall"),
        ((3, 6, RING, (1, 1), (1, 6)), r"goal \(1, 6\) lies outside"),
        ((3, 6, RING, (-1, 1), (1, 2)), r"start \(-1, 1\) lies outside"),
        ((3, 6, RING, (1, 2), (1, 2)), "same cell"),
    ],
)
def test_what_is_no_maze_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Layout(*arguments)


def test_fractions_are_no_coordinates():
    with pytest.raises(TypeError):
        Layout(3, 6, RING, (1.5, 1), (1, 2))
    with pytest.raises(TypeError):
        Layout(3.0, 6, RING, (1, 1), (1, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "same length"),
        ("   \n  ", "same length"),
        ("####\n#SG#\n###", "same length"),
        ("#####\n#S.G#\n####x", "unknown characters.*x"),
        ("#####\n#SSG#\n#####", "exactly one S and one G"),
        ("#####\n#S..#\n#####", "exactly one S and one G"),
        ("#####\n#S.G.\n#####", "outer ring"),
        ("#S#\n#G#\n###", "outer ring"),
    ],
)
def test_malformed_ascii_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Layout.from_ascii(text)


@given(st.text(alphabet="#.SG x\n\r\t\x00é", max_size=60))
def test_any_text_is_a_maze_or_a_value_error(text):
    try:
        layout = Layout.from_ascii(text)
    except ValueError:
        return
    assert Layout.from_ascii(layout.to_ascii()) == layout


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "record of a maze"),
        ([], "record of a maze"),
        ({}, "record of a maze"),
        ({"maze": 5}, "record of a maze"),
        ({"maze": [1, 2]}, "record of a maze"),
        ({"maze": TINY.to_ascii().split("\n"), "key": "0" * 32}, "its record says 000"),
    ],
)
def test_a_malformed_or_altered_record_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        Layout.from_dict(data)


def test_a_grid_has_two_dimensions():
    with pytest.raises(ValueError, match="two dimensions"):
        Layout.from_grid([1, 1, 1], (0, 0), (0, 1))
