"""Faults that pictures of such environments have had in public; each test is named by what it guards."""

import hashlib

import numpy as np
import pytest

from visgym_maze import VIEWS, Layout, MazeDialogue, Style, TopDown, generate, render, solve, transition
from visgym_maze.view.view import first_heading

CORRIDOR = Layout.from_ascii("######\n#S..G#\n#..###\n######")


def test_no_frame_changes_after_it_was_returned() -> None:
    layout = generate(9, rng=0)
    for view in VIEWS.values():
        camera, cell = view.camera(layout), layout.start
        frames, hashes, path = [], [], [cell]
        for action in (*solve(layout).path(), *solve(layout).path())[:15]:
            cell, _ = transition(layout, cell, action)
            path.append(cell)
            frames.append(camera.frame(cell, path, action))
            hashes.append(hashlib.sha256(frames[-1]).digest())
            camera.data_uri(cell, path, action)
        assert [hashlib.sha256(frame).digest() for frame in frames] == hashes
        assert not any(np.shares_memory(a, b) for a in frames for b in frames if a is not b)


def test_writing_to_a_frame_changes_no_later_one() -> None:
    layout = generate(9, rng=0)
    for view in VIEWS.values():
        camera = view.camera(layout)
        where = layout.start, [layout.start], first_heading(layout)
        frame = camera.frame(*where)
        before = frame.copy()
        frame[:] = 7
        assert np.array_equal(camera.frame(*where), before)


def test_walking_over_the_goal_leaves_it_whole() -> None:
    for view in (TopDown(), TopDown(trail=True), TopDown(fog=2), TopDown(coordinates=True)):
        camera = view.camera(CORRIDOR)
        path = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 3)]
        on_goal, after = camera.frame((1, 4), path[:4]), camera.frame((1, 3), path)
        tile = slice(25, 50), slice(100, 125)
        assert (after[tile] == Style().goal).all()
        colours = {tuple(pixel) for pixel in on_goal[tile].reshape(-1, 3).tolist()}
        assert colours == {Style().goal, Style().agent}


def test_the_picture_of_one_maze_is_never_that_of_another() -> None:
    pictures: dict[bytes, Layout] = {}
    for seed in range(400):
        layout = generate(7, rng=seed)
        picture = render(layout, layout.start).tobytes()
        assert pictures.setdefault(picture, layout) == layout


@pytest.mark.parametrize("size", [(7, 13), (13, 7)])
def test_rows_and_columns_are_not_swapped_where_a_maze_is_not_square(size: tuple[int, int]) -> None:
    height, width = size
    layout = generate(size, rng=1)
    for view in (TopDown(), TopDown(coordinates=True, trail=True, fog=20)):
        frame = view.camera(layout).frame(layout.start, [layout.start])
        assert frame.shape == (height * 25, width * 25, 3)
        goal_row, goal_column = layout.goal
        assert tuple(frame[goal_row * 25 + 12, goal_column * 25 + 12]) == Style().goal
        start_row, start_column = layout.start
        assert tuple(frame[start_row * 25 + 12, start_column * 25 + 12]) == Style().agent
    text = TopDown().camera(layout).text(layout.start).split("\n")
    assert (len(text), len(text[0])) == size
    assert text[layout.goal[0]][layout.goal[1]] == "G"
    assert text[layout.start[0]][layout.start[1]] == "A"


def test_text_and_picture_of_a_view_hide_the_same() -> None:
    """Where fog hides the maze from the eye, neither the text nor the message may give it away."""
    layout = generate(11, rng=0)
    for observe in ("text", "both"):
        dialogue = MazeDialogue(layout, view=TopDown(fog=1), observe=observe)
        task = dialogue.reset()[0]["content"][0]["text"]
        drawn = task.split("\n", 1)[1]
        assert drawn.count("?") == 121 - 9
        assert "G" not in drawn
