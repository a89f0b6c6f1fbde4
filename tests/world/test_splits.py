"""Splits are disjoint by construction, repeatable, verified on loading, and know their capacity."""

import json

import pytest

from visgym_maze import Split, generate, moves_within, role_of, solve
from visgym_maze.world.splits import ROLE_SHARES

ROLES = tuple(ROLE_SHARES)


@pytest.mark.parametrize("size", [7, (7, 13), (13, 7), 9])
@pytest.mark.parametrize("symmetry", [True, False])
def test_roles_share_no_walls_whatever_the_seed(size, symmetry):
    key = "symmetry_key" if symmetry else "split_key"
    seen = {}
    for name in ROLES:
        for seed in (0, 1, 2**40):
            for layout in Split.make(name, size, 6, seed, symmetry=symmetry):
                assert seen.setdefault(getattr(layout, key), name) == name
                assert role_of(layout, symmetry=symmetry) == name


def test_the_same_spec_gives_the_same_mazes_and_another_seed_others():
    assert Split.make("eval", 9, 40).key == Split.make("eval", 9, 40).key

    assert Split.make("eval", 9, 40).key != Split.make("eval", 9, 40, seed=1).key
    assert Split.make("eval", 9, 20).levels == Split.make("eval", 9, 40).levels[:20]


def test_roles_get_their_share_of_all_mazes():
    drawn = [generate(9, rng=seed) for seed in range(3000)]
    for name, share in ROLE_SHARES.items():
        found = sum(role_of(layout) == name for layout in drawn) / len(drawn)
        assert abs(found - share) < 0.04


def test_every_maze_is_different_and_within_max_moves():
    split = Split.make("train", 9, 200, max_moves=moves_within(15))
    assert len(set(split)) == 200
    assert split.solvable_within(14) == 200
    assert max(solve(layout).moves for layout in split) <= 14


def test_the_last_turn_is_needed_for_the_stop():
    assert moves_within(15) == 14
    assert moves_within(15, "reach") == 15


def test_asking_for_more_mazes_than_exist_is_an_error_that_says_how_many():
    # 192 walls with four corner pairs each, over all roles.
    with pytest.raises(ValueError, match=r"asked for 1000 mazes, but only (\d+) .*'dev'.*7x7.*at most \1"):
        Split.make("dev", 7, 1000)
    everything = [Split.make(name, 7, 1000, at_most=True) for name in ROLES]
    assert sum(map(len, everything)) == 192 * 4
    assert [split.spec.n for split in everything] == list(map(len, everything))


def test_a_role_without_any_maze_is_an_error_too():
    # All four 5x5 mazes are rotations of one.
    owner = role_of(generate(5, rng=0))
    assert len(Split.make(owner, 5, 100, at_most=True)) == 16
    other = next(name for name in ROLES if name != owner)
    with pytest.raises(ValueError, match=r"only 0 were found.*larger maze"):
        Split.make(other, 5, 100, at_most=True)
    with pytest.raises(ValueError, match=r"only 0 were found.*max_moves=3"):
        Split.make("train", 9, 1, max_moves=3)


def test_a_manifest_round_trip(tmp_path):
    split = Split.make("dev", (7, 13), 12, seed=3, generator="dfs", endpoints="random")
    split.save(tmp_path / "dev.json")
    loaded = Split.load(tmp_path / "dev.json")
    assert loaded == split
    assert loaded.key == split.key


def altered(manifest, **changes):
    return json.dumps({**manifest, **changes})


def test_altered_manifests_are_refused(tmp_path):
    path = tmp_path / "split.json"
    manifest = Split.make("dev", 9, 5).to_manifest()
    foreign = Split.make("train", 9, 5)
    spec, levels = manifest["spec"], manifest["levels"]
    cases = {
        "not a split manifest": [altered(manifest, format="other"), "[]", "3"],
        "malformed": [
            altered(manifest, spec=None),
            altered(manifest, spec={**spec, "colour": 1}),
            altered(manifest, levels=3),
            json.dumps({k: v for k, v in manifest.items() if k != "key"}),
        ],
        "its mazes have": [altered(manifest, levels=levels[::-1]), altered(manifest, levels=levels[:-1])],
        "says it holds": [altered(manifest, spec={**spec, "n": 6})],
        "does not belong to 'dev'": [json.dumps({**foreign.to_manifest(), "spec": spec})],
        "its record says": [altered(manifest, levels=[{**levels[0], "key": "00"}, *levels[1:]])],
        "but says that its mazes are 7x7": [altered(manifest, spec={**spec, "size": [7, 7]})],
        "of 12 moves, but says max_moves=11": [altered(manifest, spec={**spec, "max_moves": 11})],
        "unknown maze generator 'eller'": [altered(manifest, spec={**spec, "generator": "eller"})],
        "unknown endpoint policy 'middle'": [altered(manifest, spec={**spec, "endpoints": "middle"})],
        "Expecting value": ["", "{"][:1],
    }
    for message, texts in cases.items():
        for text in texts:
            path.write_text(text)
            with pytest.raises(ValueError, match=message):
                Split.load(path)


def test_a_manifest_that_names_the_wrong_kind_of_generator_is_refused(tmp_path):
    path = tmp_path / "split.json"
    manifest = Split.make("dev", 9, 5, generator="braided").to_manifest()
    path.write_text(json.dumps(manifest))
    assert len(Split.load(path)) == 5
    path.write_text(altered(manifest, spec={**manifest["spec"], "generator": "wilson"}))
    with pytest.raises(ValueError, match="says generator='wilson', which makes no such maze"):
        Split.load(path)


@pytest.mark.parametrize(
    "arguments", [{"n": 2.5}, {"n": "4"}, {"n": None}, {"max_moves": 14.0}, {"seed": 1.5}]
)
def test_numbers_that_are_no_integers_are_named(arguments):
    name, value = next(iter(arguments.items()))
    with pytest.raises(TypeError, match=f"{name} must be an integer, got {value!r}"):
        Split.make("train", 7, **arguments)


def test_a_shortage_gives_advice_that_can_be_followed():
    smaller, larger = r"of 7x7; ask for at most \d+", "take a larger maze or use symmetry=False"
    with pytest.raises(ValueError, match=f"{smaller}, {larger}"):
        Split.make("dev", 7, 1000)
    with pytest.raises(ValueError, match=rf"max_moves=8; ask for at most \d+, allow longer paths, {larger}"):
        Split.make("dev", 7, 1000, max_moves=8)
    with pytest.raises(ValueError, match=f"{smaller} or take a larger maze$"):
        Split.make("dev", 7, 1000, symmetry=False)


def test_bad_arguments():
    with pytest.raises(ValueError, match="known: train, dev, eval"):
        Split.make("test")
    with pytest.raises(ValueError, match="at least 1 maze, got n=0"):
        Split.make("train", n=0)


def test_a_split_is_a_sequence():
    split = Split.make("train", 7, 5)
    assert list(split) == [split[i] for i in range(5)]
    assert split[1:3] == split.levels[1:3]
    assert split[-1] in split
