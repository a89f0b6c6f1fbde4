"""Is the checkpoint that ships what its record says?"""

from __future__ import annotations

import json

import pytest

from visgym_maze import Split, evaluate, role_of
from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.local.policy import ModelPolicy
from visgym_maze_skyrl.warmstart import PLAY, RECORD, Settings, words

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def record():
    return json.loads((tiny_model_folder() / RECORD).read_text(encoding="utf-8"))


def test_it_was_made_by_the_default_command_on_train_mazes(record):
    settings = Settings(**record["settings"])
    assert settings == Settings()
    assert record["command"].endswith(words(settings))
    assert record["play"] == PLAY
    shown = Split.make("train", settings.maze_size, settings.demonstrations, settings.seed, max_moves=14)
    assert record["train_split"] == shown.key
    assert {role_of(layout) for layout in shown} == {"train"}
    held_out = Split.make("eval", settings.maze_size, settings.held_out, 0, max_moves=14)
    assert record["eval_split"] == held_out.key
    assert not {layout.symmetry_key for layout in shown} & {layout.symmetry_key for layout in held_out}


def test_it_is_small(record):
    size = sum(path.stat().st_size for path in tiny_model_folder().iterdir() if path.is_file())
    assert size <= 2 * 1024**2
    assert record["parameters"] < 400_000


def test_it_plays_as_well_as_recorded(record):
    levels = Split.make("eval", 7, 64, 0, max_moves=14)
    report, _ = evaluate(ModelPolicy.load(tiny_model_folder(), temperature=0.0), levels, **PLAY)
    # Another processor rounds differently, which can turn a tie between two moves.
    assert abs(report.successes - record["curve"][-1]["greedy"]) <= 3
    assert report.well_formed == 1.0
