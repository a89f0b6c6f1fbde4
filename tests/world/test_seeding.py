"""Seeds of any size and integer type count, and neighbours have nothing in common."""

import numpy as np
import pytest

from visgym_maze import generate
from visgym_maze.world.seeding import as_generator, child_generator

SEEDS = [0, 1, 2**31, 2**32, 2**32 + 1, 2**40, 2**40 + 1, 2**63, 2**64, 2**64 + 1, 10**30]


def test_all_seeds_count_large_ones_too():
    assert len({as_generator(seed).bytes(16) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64, np.int8])
def test_numpy_integers_are_seeds(kind):
    assert generate(9, rng=kind(5)) == generate(9, rng=5)


def test_zero_is_a_seed_and_none_is_not():
    assert generate(21, rng=0) == generate(21, rng=0)
    assert generate(21) != generate(21)


def test_a_generator_is_drawn_from_and_goes_on():
    rng = np.random.default_rng(3)
    assert generate(21, rng=rng) != generate(21, rng=rng)


@pytest.mark.parametrize("seed", [-1, np.int64(-5)])
def test_negative_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="0 or a positive"):
        generate(9, rng=seed)


@pytest.mark.parametrize("seed", [1.0, "1"])
def test_other_types_are_refused(seed):
    with pytest.raises(TypeError):
        generate(9, rng=seed)


def test_children_of_neighbouring_seeds_do_not_overlap():
    def family(seed):
        return {child_generator(seed, index).bytes(16) for index in range(200)}

    assert family(0).isdisjoint(family(1))
    assert len(family(7)) == 200
