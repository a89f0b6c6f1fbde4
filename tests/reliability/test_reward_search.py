"""A short search: it finds the rewards that can be hacked, and no hack of the documented ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from visgym_maze import RewardSpec, Split

sys.path.insert(0, str(Path(__file__).parent))
import reward_search

UNSAFE = {"step -0.1", "bump -0.2", "progress 0.9, format 0.9"}


def test_only_the_known_rewards_can_be_hacked():
    rows = reward_search.search(mazes=2, size=120, generations=6)
    assert {row["reward"] for row in rows if not row["safe"]} == UNSAFE
    for row in rows:
        assert np.isfinite([row["best_failure"], row["worst_success"]]).all()


def test_the_search_finds_the_best_failure_that_there_is():
    # Standing on the goal without stopping keeps the whole potential; nothing pays more.
    maze = Split.make("train", 7, 1, max_moves=8)[0]
    rng = np.random.default_rng(0)
    found, _ = reward_search.best_failure(maze, RewardSpec(progress=0.5), rng, size=300, generations=25)
    assert found == pytest.approx(0.5)
