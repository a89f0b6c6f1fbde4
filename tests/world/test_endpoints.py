"""Start and goal follow the policy that was asked for."""

from collections import Counter

import numpy as np
import pytest

from visgym_maze import generate, solve

SIZES = [(7, 13), (13, 7), (9, 9)]


@pytest.mark.parametrize("size", SIZES)
def test_corners_are_opposite_and_all_four_pairs_occur(size):
    height, width = size
    ends = Counter((m.start, m.goal) for m in (generate(size, rng=s) for s in range(200)))
    assert len(ends) == 4
    for (row, column), goal in ends:
        assert goal == (height - 1 - row, width - 1 - column)
        assert row in (1, height - 2)
        assert column in (1, width - 2)
    assert min(ends.values()) > 25


@pytest.mark.parametrize("size", SIZES)
def test_random_ends_are_different_floor_cells_all_over(size):
    rng = np.random.default_rng(0)
    mazes = [generate(size, rng=rng, endpoints="random") for _ in range(400)]
    assert all(m.start != m.goal for m in mazes)
    rooms = {(r, c) for r in range(1, size[0], 2) for c in range(1, size[1], 2)}
    assert rooms <= {m.start for m in mazes}
    assert rooms <= {m.goal for m in mazes}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("generator", ["wilson", "braided"])
def test_farthest_starts_as_far_from_the_goal_as_possible(size, generator):
    for seed in range(30):
        layout = generate(size, generator, seed, endpoints="farthest")
        assert solve(layout).moves == max(solve(layout).table)
