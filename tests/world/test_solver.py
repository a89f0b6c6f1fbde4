"""The oracle's distances and actions are right on any maze, loops and odd shapes included."""

import numpy as np
import pytest

from visgym_maze import Action, Layout, generate, solve, transition

RING = Layout.from_ascii("#####\n#S..#\n#.#.#\n#..G#\n#####")
SPLIT_ROOMS = Layout.from_ascii("#######\n#S#.G.#\n#######")


def brute_force(layout):
    """Bellman-Ford over the whole grid."""
    height, width = layout.shape
    far = height * width
    table = np.full(layout.shape, far)
    table[layout.goal] = 0
    for _ in range(far):
        padded = np.pad(table, 1, constant_values=far)
        near = np.minimum.reduce([padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]])
        updated = np.where(layout.grid, far, np.minimum(table, near + 1))
        if (updated == table).all():
            break
        table = updated
    return np.where(table >= far, -1, table)


@pytest.mark.parametrize("size", [(7, 13), (13, 7), 9])
@pytest.mark.parametrize("generator", ["wilson", "braided"])
def test_distances_are_those_of_brute_force(size, generator):
    for seed in range(10):
        layout = generate(size, generator, seed)
        np.testing.assert_array_equal(solve(layout).distances, brute_force(layout))


@pytest.mark.parametrize("size", [(7, 13), (13, 7)])
def test_the_path_leads_to_the_goal_in_as_many_moves_as_promised(size):
    for seed in range(20):
        layout = generate(size, "braided", seed)
        path = solve(layout).path()
        assert len(path) == solve(layout).moves
        cell = layout.start
        for move in path:
            assert move in solve(layout).optimal_actions(cell)
            cell, bumped = transition(layout, cell, move)
            assert not bumped
        assert cell == layout.goal
        assert solve(layout).optimal_actions(cell) == (Action.STOP,)


def test_all_equally_good_moves_are_optimal():
    assert set(solve(RING).optimal_actions(RING.start)) == {Action.RIGHT, Action.DOWN}


def test_a_goal_out_of_reach_is_said_so():
    solution = solve(SPLIT_ROOMS)
    assert solution.moves == -1
    assert solution.optimal_actions(SPLIT_ROOMS.start) == ()
    with pytest.raises(ValueError, match=r"cannot be reached from \(1, 1\)"):
        solution.path()
    assert solution.path((1, 5)) == (Action.LEFT,)


def test_moves_and_walls():
    assert transition(RING, (1, 1), Action.RIGHT) == ((1, 2), False)
    assert transition(RING, (1, 1), Action.DOWN) == ((2, 1), False)
    assert transition(RING, (1, 1), Action.UP) == ((1, 1), True)
    assert transition(RING, (1, 1), Action.LEFT) == ((1, 1), True)
    assert transition(RING, (1, 1), Action.STOP) == ((1, 1), False)
