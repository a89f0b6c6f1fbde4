"""What every suite promises, and what each says of itself."""

import numpy as np
import pytest

from visgym_maze import MazeDialogue, OraclePolicy, Split, evaluate, moves_within, role_of, solve
from visgym_maze.suites import SUITES, describe, suite_named

COUNTS = {name: 1024 if name == "test-1024" else 64 for name in SUITES}


@pytest.fixture(scope="module")
def trained_on():
    """Walls of the mazes that recipes train on, as far as they can be drawn."""
    splits = [Split.make("train", 7, 4096, max_moves=14, at_most=True), Split.make("train", 9, 2048)]
    return {layout.symmetry_key for split in splits for layout in split}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_distinct_held_out_and_solvable_within_its_cap(name, trained_on):
    suite = suite_named(name)
    assert len(set(suite.levels)) == len(suite.levels) == COUNTS[name]
    assert {role_of(layout) for layout in suite.levels} == {"eval"}
    assert not {layout.symmetry_key for layout in suite.levels} & trained_on
    assert max(solve(layout).moves for layout in suite.levels) <= moves_within(suite.options["max_turns"])


@pytest.mark.parametrize("name", [name for name in SUITES if name != "test-1024"])
def test_the_oracle_solves_all_of_it(name):
    suite = suite_named(name)
    report, _ = evaluate(OraclePolicy(), suite.levels, **suite.options)
    assert report.successes == report.ceiling == report.episodes
    assert report.split_key == suite.key


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_says_what_it_holds_fixed_and_what_it_varies(name):
    text = describe(name)
    assert "\nFixed: " in text
    assert "\nVaries: " in text


def test_an_unknown_suite_is_refused():
    with pytest.raises(ValueError, match=r"unknown suite 'paper'; known: blank-image, .*paper-64"):
        suite_named("paper")


def test_suites_that_vary_the_view_keep_the_mazes():
    paper = suite_named("paper-64")
    for name in ("unseen-style", "text-only", "blank-image"):
        assert suite_named(name).levels == paper.levels
    assert suite_named("test-1024").levels[:64] == paper.levels


def test_suites_that_vary_the_mazes_keep_the_rest():
    paper = suite_named("paper-64")
    for name in ("test-1024", "unseen-size", "unseen-generator"):
        suite = suite_named(name)
        assert suite.options == paper.options
        assert {solve(layout).moves for layout in suite.levels} == {12}
    shapes = [layout.shape for layout in suite_named("unseen-size").levels]
    assert [shapes.count(shape) for shape in ((5, 13), (7, 11), (11, 7), (13, 5))] == [16] * 4
    lengths = [solve(layout).moves for layout in suite_named("long-path").levels]
    assert (lengths.count(16), min(lengths[32:])) == (32, 20)


def test_braided_mazes_have_loops_and_the_others_none():
    levels = suite_named("unseen-generator").levels
    # A tree of n rooms has n - 1 doors; a 9x9 maze has 16 rooms.
    floors = np.array([(~layout.grid).sum() for layout in levels])
    assert (floors[:48] == 31).all()
    assert (floors[48:] > 31).all()


def test_what_is_shown_is_what_the_name_says():
    first = {}
    for name in ("paper-64", "unseen-style", "text-only", "blank-image"):
        suite = suite_named(name)
        (message,) = MazeDialogue(suite.levels[0], **suite.options).reset()
        first[name] = message["content"]
    text, picture = first["paper-64"]
    assert len(first["text-only"]) == 1
    assert "#########" in first["text-only"][0]["text"]
    assert first["blank-image"][0] == text
    assert first["blank-image"][1] != picture
    assert first["unseen-style"][1] != picture
    assert "turquoise disc is you" in first["unseen-style"][0]["text"]
