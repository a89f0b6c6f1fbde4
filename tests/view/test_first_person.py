import numpy as np
import pytest

from visgym_maze import STYLES, Action, Layout, generate, render_first_person
from visgym_maze.world.dynamics import MOVES

CROSS = Layout.from_ascii("#######\n###S###\n###.###\n#.....#\n###.###\n###G###\n#######")


def turned(layout: Layout, turns: int) -> Layout:
    """The same maze, turned by quarters counter-clockwise."""
    n = layout.height
    grid = np.rot90(layout.grid, turns)

    def turn(cell: tuple[int, int]) -> tuple[int, int]:
        for _ in range(turns):
            cell = (n - 1 - cell[1], cell[0])
        return cell

    return Layout.from_grid(grid, turn(layout.start), turn(layout.goal))


def reds(frame: np.ndarray) -> int:
    return int(((frame[..., 0] > 60) & (frame[..., 1] == 0) & (frame[..., 2] == 0)).sum())


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_turning_the_maze_with_the_agent_changes_nothing(turns: int) -> None:
    layout = generate(9, rng=5)
    other = turned(layout, turns)
    for heading in MOVES:
        # A quarter turn counter-clockwise takes right to up, up to left, and so on.
        seen = render_first_person(layout, layout.start, heading)
        assert np.array_equal(render_first_person(other, other.start, Action((heading + turns) % 4)), seen)


def test_the_goal_grows_as_it_comes_nearer() -> None:
    seen = [reds(render_first_person(CROSS, (row, 3), Action.DOWN)) for row in range(1, 6)]
    assert seen == sorted(seen)
    assert len(set(seen)) == 5
    assert seen[0] > 0


def test_the_goal_is_not_seen_through_walls_or_behind_the_back() -> None:
    assert reds(render_first_person(CROSS, (3, 1), Action.RIGHT)) == 0
    assert reds(render_first_person(CROSS, (1, 3), Action.UP)) == 0
    assert reds(render_first_person(CROSS, (4, 3), Action.UP)) == 0


def test_a_symmetric_room_gives_a_symmetric_picture() -> None:
    frame = render_first_person(CROSS, (2, 3), Action.DOWN)
    assert np.array_equal(frame, frame[:, ::-1])


def test_an_opening_to_the_left_shows_on_the_left() -> None:
    layout = Layout.from_ascii("#####\n#..G#\n#.###\n#S###\n#####")
    left = render_first_person(layout, (1, 1), Action.UP)
    assert not np.array_equal(left, left[:, ::-1])
    # Turned round at (1, 1), the way to the goal is on the right: its floor is red and lies there.
    ahead = render_first_person(layout, (1, 2), Action.UP)
    assert reds(ahead[:, 112:]) > 0 == reds(ahead[:, :112])


def test_walls_fill_the_middle_and_shrink_with_distance() -> None:
    def wall_rows(cell: tuple[int, int]) -> int:
        column = render_first_person(CROSS, cell, Action.RIGHT, height=225, width=225)[:, 112]
        middle = column[112]
        return int((column == middle).all(axis=-1).sum())

    heights = [wall_rows((3, column)) for column in range(1, 6)]
    assert heights == sorted(heights)
    assert len(set(heights)) == 5


def test_shape_type_and_ownership() -> None:
    layout = generate((7, 13), rng=0)
    for height, width, fov in ((224, 224, 90.0), (61, 97, 60.0), (8, 8, 120.0)):
        frame = render_first_person(layout, layout.start, Action.UP, height=height, width=width, fov=fov)
        assert (frame.shape, frame.dtype, frame.flags.c_contiguous) == ((height, width, 3), np.uint8, True)
        before = frame.copy()
        frame[:] = 0
        again = render_first_person(layout, layout.start, Action.UP, height=height, width=width, fov=fov)
        assert np.array_equal(again, before)


def test_every_place_of_every_kind_of_maze_can_be_drawn() -> None:
    for size, style in (((5, 5), "dark"), ((13, 7), "contrast"), ((7, 13), "visgym")):
        layout = generate(size, "braided", 1)
        frames = {
            render_first_person(layout, (r, c), heading, height=48, width=48, style=STYLES[style]).tobytes()
            for r in range(size[0])
            for c in range(size[1])
            if not layout.is_wall((r, c))
            for heading in MOVES
        }
        assert len(frames) > 4


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="heading must be one of the moves"):
        render_first_person(CROSS, CROSS.start, Action.STOP)
    with pytest.raises(ValueError, match="it is a wall"):
        render_first_person(CROSS, (0, 0), Action.UP)
    with pytest.raises(ValueError, match="at least 8x8 pixels, got 4x9"):
        render_first_person(CROSS, CROSS.start, Action.UP, height=4, width=9)
    with pytest.raises(ValueError, match="fov must lie between"):
        render_first_person(CROSS, CROSS.start, Action.UP, fov=180)
