"""The curriculum begins with the easiest mazes, climbs on success, and resumes where it stopped."""

import json
from itertools import pairwise

import pytest

from visgym_maze import Group, Layout, Split, generate
from visgym_maze.curriculum import CurriculumSampler, Difficulty, difficulty_bins

LEVELS = Split.make("train", 9, 40)
CROSS = Layout.from_ascii(
    """
    #######
    #S...##
    ###.#.#
    #.....#
    ###.#.#
    ###.#G#
    #######
    """
)


def test_difficulty_counts_moves_and_junctions():
    assert Difficulty.of(CROSS) == (8, 3)
    assert Difficulty(4, 9) < Difficulty(8, 1) < Difficulty(8, 2)
    corridor = Layout.from_ascii("#####\n#S.G#\n#####")
    assert Difficulty.of(corridor) == Difficulty(moves=2, junctions=0)


def test_bins_are_even_and_sorted():
    bins = difficulty_bins(LEVELS, 3)
    assert sorted(map(len, bins)) == [13, 13, 14]
    assert set().union(*bins) == set(LEVELS)
    for easier, harder in pairwise(bins):
        assert max(map(Difficulty.of, easier)) <= min(map(Difficulty.of, harder))
    assert difficulty_bins(LEVELS[::-1], 3) == bins


@pytest.mark.parametrize("count", [0, 41])
def test_no_empty_bins(count):
    with pytest.raises(ValueError, match="1 to 40 bins"):
        difficulty_bins(LEVELS, count)


def sampler(**options):
    return CurriculumSampler(LEVELS, 4, **{"bins": 4, "window": 3, "threshold": 0.5, **options})


def test_groups_come_from_the_open_bins_only_and_success_opens_the_next():
    source = sampler()
    for opened in range(1, 5):
        assert source.opened == opened
        reachable = set().union(*source.bins[:opened])
        groups = source.take(60)
        assert all(type(g) is Group and g.size == 4 for g in groups)
        assert {g.layout for g in groups} <= reachable
        assert {g.layout for g in groups} & set(source.bins[opened - 1])
        hardest = [g for g in groups if g.layout in source.bins[opened - 1]][:3]
        for group in hardest:
            source.record(group, 2)
    assert source.opened == 4


def test_failures_and_easier_groups_open_nothing():
    source = sampler()
    easy = source.take(9)
    for group in easy:
        source.record(group, 1)
    assert source.opened == 1
    for group in easy[:3]:
        source.record(group, 4)
    assert source.opened == 2
    for group in easy:
        source.record(group, 4)
    assert source.opened == 2


def test_a_restored_sampler_goes_on_as_the_other_would_have():
    def play(source, n):
        layouts = []
        for _ in range(n):
            group = next(source)
            layouts.append(group.layout)
            source.record(group, group.index % 5)
        return layouts

    whole, first, second = sampler(), sampler(), sampler()
    expected = play(whole, 50)
    assert whole.opened > 1
    begun = play(first, 20)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + play(second, 30) == expected
    assert second.state_dict() == whole.state_dict()


def test_another_seed_gives_other_groups():
    assert sampler(seed=1).take(20) != sampler(seed=2).take(20)


def test_bad_input_is_refused():
    source = sampler()
    group = next(source)
    with pytest.raises(ValueError, match="5 successes in a group of 4"):
        source.record(group, 5)
    with pytest.raises(ValueError, match="none of this sampler's"):
        source.record(Group(0, generate(11, rng=0), 4), 1)
    with pytest.raises(ValueError, match=r"seed 0.*has 1"):
        sampler(seed=1).load_state_dict(source.state_dict())
    with pytest.raises(ValueError, match="bins"):
        sampler(bins=5).load_state_dict(source.state_dict())
    for options, message in (
        ({"threshold": 0.0}, "threshold"),
        ({"window": 0}, "window"),
    ):
        with pytest.raises(ValueError, match=message):
            sampler(**options)
