"""A short run of the fuzzer, and a check that it would notice what it looks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from visgym_maze.dialogue import parsing

sys.path.insert(0, str(Path(__file__).parent))
import fuzz


def test_hostile_answers_break_nothing():
    result = fuzz.Fuzz(seed=1, longest=50_000).run(3_000)
    assert result["answers"] >= 3_000
    assert result["outcomes"]["action"] > 100
    assert len(result["outcomes"]) > 7, "the answers fail in too few ways to test much"


def test_the_same_seed_gives_the_same_answers():
    first, second = (fuzz.Fuzz(seed=3, longest=5_000).run(500) for _ in range(2))
    assert first["outcomes"] == second["outcomes"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda text: text.index("no such text"), id="crash"),
        pytest.param(lambda text: parsing.ParsedAction((fuzz.Action.LEFT,)), id="reads what is not there"),
    ],
)
def test_a_fault_of_the_parser_is_noticed(monkeypatch, fault):
    monkeypatch.setattr(fuzz, "parse", lambda text, dialect, most: fault(text))
    with pytest.raises((AssertionError, ValueError)):
        fuzz.Fuzz(seed=1, longest=5_000).run(1_000)


def test_pay_for_nonsense_is_noticed(monkeypatch):
    generous = type("Generous", (fuzz.RewardSpec,), {"__call__": lambda self, outcome: 0.01})
    monkeypatch.setattr(fuzz, "PAYS", generous())
    with pytest.raises(AssertionError, match="was paid"):
        fuzz.Fuzz(seed=1, longest=5_000).run(1_000)
