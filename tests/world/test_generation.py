"""Every generator makes a fair, connected maze of any size, and says so when it cannot."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visgym_maze import ENDPOINTS, GENERATORS, Braided, Layout, generate, solve

SIZES = [5, (5, 9), (7, 13), (13, 7), 21]


def doors(layout):
    """Open walls between rooms; a spanning tree has one less than there are rooms."""
    open_cells = int((~layout.grid).sum())
    return open_cells - rooms(layout)


def rooms(layout):
    return (layout.height // 2) * (layout.width // 2)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("generator", sorted(GENERATORS))
def test_every_floor_cell_is_connected(generator, size):
    for seed in range(8):
        layout = generate(size, generator, seed)
        distances = solve(layout).distances
        assert distances[~layout.grid].min() == 0
        assert (distances[layout.grid] == -1).all()
        assert not layout.grid[1::2, 1::2].any()
        assert layout.grid[0::2, 0::2].all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("generator", sorted(set(GENERATORS) - {"braided"}))
def test_trees_have_no_loops(generator, size):
    for seed in range(8):
        layout = generate(size, generator, seed)
        assert doors(layout) == rooms(layout) - 1


def test_braided_mazes_have_loops():
    for seed in range(20):
        layout = generate((7, 13), "braided", seed)
        assert doors(layout) >= rooms(layout)
    full = generate((7, 13), Braided(openness=1.0), 0)
    assert not full.grid[1:-1:2, 1:-1].any()
    tree = generate((7, 13), Braided(openness=0.0), 0)
    assert doors(tree) == rooms(tree) - 1
    with pytest.raises(ValueError, match=r"openness.*1\.5"):
        Braided(openness=1.5)


@pytest.mark.parametrize("generator", sorted(GENERATORS))
def test_a_seed_decides_everything(generator):
    assert generate(9, generator, 7) == generate(9, generator, 7)
    assert len({generate(9, generator, seed) for seed in range(30)}) == 30


def chi_square(counts, kinds):
    expected = counts.total() / kinds
    return sum((n - expected) ** 2 / expected for n in counts.values()) + (kinds - len(counts)) * expected


def trees(size, generator, n):
    rng = np.random.default_rng(2026)
    make = GENERATORS[generator]
    return Counter(make(size, size, rng) for _ in range(n))


# 4 spanning trees of the 2x2 grid of rooms, 192 of the 3x3 one. The bounds are the 99.9 % quantiles of the
# chi-square distribution with 3 and 191 degrees of freedom.
@pytest.mark.parametrize("generator", ["wilson", "wilson-visgym"])
@pytest.mark.parametrize(("size", "kinds", "draws", "bound"), [(5, 4, 4_000, 16.27), (7, 192, 19_200, 256.4)])
def test_wilson_is_uniform_over_all_spanning_trees(generator, size, kinds, draws, bound):
    counts = trees(size, generator, draws)
    assert len(counts) == kinds
    assert chi_square(counts, kinds) < bound


@pytest.mark.parametrize("generator", ["dfs", "prim", "kruskal"])
def test_the_other_generators_are_told_apart_from_uniform(generator):
    counts = trees(7, generator, 19_200)
    assert len(counts) <= 192
    assert chi_square(counts, 192) > 400


def test_generators_differ_in_the_way_their_mazes_look():
    def dead_ends(layout):
        walls = layout.grid.astype(int)
        closed = walls[:-2, 1:-1] + walls[2:, 1:-1] + walls[1:-1, :-2] + walls[1:-1, 2:]
        return int(((closed == 3) & ~layout.grid[1:-1, 1:-1]).sum())

    mean = {g: np.mean([dead_ends(generate(21, g, s)) for s in range(40)]) for g in ("dfs", "wilson", "prim")}
    assert mean["dfs"] < mean["wilson"] < mean["prim"]


@settings(max_examples=80, deadline=None)
@given(
    height=st.integers(2, 14).map(lambda n: 2 * n + 1),
    width=st.integers(2, 14).map(lambda n: 2 * n + 1),
    generator=st.sampled_from(sorted(GENERATORS)),
    endpoints=st.sampled_from(sorted(ENDPOINTS)),
    seed=st.integers(0, 2**70),
)
def test_any_odd_size_from_5_up(height, width, generator, endpoints, seed):
    layout = generate((height, width), generator, seed, endpoints=endpoints)
    assert layout.shape == (height, width)
    assert layout.start != layout.goal
    assert solve(layout).moves > 0
    assert Layout.from_ascii(layout.to_ascii()) == layout


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (8, "try 9"),
        (3, "try 5"),
        (-1, "try 5"),
        ((7, 10), "width.*try 11"),
        ((6, 7), "height.*try 7"),
        ((5, 5, 5), r"\(height, width\)"),
    ],
)
def test_a_bad_size_is_refused_with_one_that_works(size, message):
    with pytest.raises(ValueError, match=message):
        generate(size)


@pytest.mark.parametrize("size", [7.0, "9", None, (7, 9.0)])
def test_a_size_is_made_of_integers(size):
    with pytest.raises(TypeError):
        generate(size)


def test_numpy_integers_are_sizes():
    assert generate((np.int64(7), np.int32(13)), rng=0) == generate((7, 13), rng=0)
    assert generate([7, 13], rng=0) == generate((7, 13), rng=0)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"maze generator 'wilsn'; known: .*wilson"):
        generate(9, "wilsn")
    with pytest.raises(ValueError, match=r"endpoint policy 'middle'; known: corners"):
        generate(9, endpoints="middle")


def test_max_moves_holds():
    for seed in range(50):
        assert solve(generate(9, rng=seed, max_moves=14)).moves <= 14


def test_a_max_moves_that_cannot_be_met_is_an_error_with_the_remedy():
    with pytest.raises(
        ValueError, match=r"none of 100 mazes of 9x9 .* in 11 moves .*has 12.*allow more moves"
    ):
        generate(9, rng=0, max_moves=11, max_tries=100)


def test_a_callable_generator_and_endpoints():
    def open_room(height, width, rng):
        walls = np.ones((height, width), dtype=np.uint8)
        walls[1:-1, 1:-1] = 0
        return walls.tobytes()

    layout = generate(
        (7, 13), open_room, endpoints=lambda walls, height, width, rng: ((1, 1), (height - 2, 1))
    )
    assert solve(layout).moves == 4
