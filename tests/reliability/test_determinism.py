"""The same seed on the same machine gives the same run, byte for byte but for times."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.train

EXACT = (
    "groups.jsonl",
    "trajectories/*.jsonl",
    "rollouts/*.jsonl",
    "exports/*/policy/adapter_model.safetensors",
)
TIMES = ("second", "timing", "_time", "wall")


def without_times(value: Any) -> Any:
    """The same without the entries that are durations or rates."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not any(t in k for t in TIMES)}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def train_in(folder: Path) -> Path:
    from visgym_maze_skyrl.recipe import RECIPES
    from visgym_maze_skyrl.train import train

    train(dataclasses.replace(RECIPES["smoke"], output=str(folder), threads=1))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return train_in(folder / "one"), train_in(folder / "other")


@pytest.mark.parametrize("pattern", EXACT)
def test_what_a_run_writes_is_the_same(runs, pattern):
    one, other = ({p.relative_to(run): p.read_bytes() for p in run.glob(pattern)} for run in runs)
    assert one
    assert one == other


@pytest.mark.parametrize("name", ["metrics.jsonl", "evaluations.jsonl"])
def test_logs_are_the_same_but_for_times(runs, name):
    one, other = (
        [without_times(json.loads(line)) for line in (run / name).read_text().splitlines()] for run in runs
    )
    assert any(isinstance(value, float) for record in one for value in record.values())
    for first, second in zip(one, other, strict=True):
        # Which answers are sampled in one batch depends on when they are asked for, and so do the last digits
        # of the engine's log-probabilities. Tokens do not: each conversation has random numbers of its own.
        rounded = {key for key in first if "rollout" in key and "logprobs_abs_diff" in key}
        assert {k: v for k, v in first.items() if k not in rounded} == {
            k: v for k, v in second.items() if k not in rounded
        }
        for key in rounded:
            assert first[key] == pytest.approx(second[key], abs=1e-5), key


def test_reports_are_the_same_but_for_times(runs):
    one, other = (without_times(json.loads((run / "report.json").read_text())) for run in runs)
    for report in (one, other):
        report.pop("command", None)
    assert one == other
