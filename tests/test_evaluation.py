"""Intervals, tests and reports against known values."""

import dataclasses

import pytest

from visgym_maze import (
    OraclePolicy,
    RandomPolicy,
    Report,
    Split,
    StopReason,
    evaluate,
    generate,
    mcnemar,
    solve,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (28, 64, 0.323, 0.559),
        (50, 64, 0.666, 0.865),
        (62, 64, 0.893, 0.991),
        (64, 64, 0.943, 1.0),
        (0, 10, 0.0, 0.278),
    ],
)
def test_wilson_intervals_are_those_of_the_literature(successes, n, low, high):
    interval = wilson_interval(successes, n)
    assert interval == pytest.approx((low, high), abs=6e-4)
    assert 0.0 <= interval[0] <= successes / n <= interval[1] <= 1.0


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 4), (5, 4)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match=f"got {successes} of {n}"):
        wilson_interval(successes, n)


def test_mcnemar_is_exact():
    assert mcnemar([True] * 5, [True] * 5) == 1.0
    # 34 mazes gained and none lost: two-sided 2 * 0.5**34.
    assert mcnemar([True] * 28 + [False] * 36, [True] * 62 + [False] * 2) == pytest.approx(2 * 0.5**34)
    assert mcnemar([True, False, False], [False, True, True]) == 1.0
    with pytest.raises(ValueError, match="argument"):
        mcnemar([True], [True, False])


def test_the_oracle_reaches_the_ceiling_and_walks_shortest_paths():
    levels = Split.make("eval", 9, 40)
    report, trajectories = evaluate(OraclePolicy(), levels, max_turns=15)
    solvable = sum(solve(level).moves <= 14 for level in levels)
    assert report.successes == report.ceiling == solvable < 40
    assert report.optimality == 1.0
    assert sum(n for _, n in report.by_path_length.values()) == 40
    assert report.stop_reasons == {
        str(StopReason.GOAL): solvable,
        str(StopReason.TURN_LIMIT): 40 - solvable,
    }
    assert Report.of(trajectories) == dataclasses.replace(report, info={})


def test_success_is_counted_by_the_goal_and_not_by_the_reward():
    class Nonsense:
        def act(self, dialogues):
            return ["<action>left</action>" for _ in dialogues]

    levels = [generate(9, rng=seed) for seed in range(8)]
    report, _ = evaluate(Nonsense(), levels, reward=lambda outcome: 1.0)
    assert report.mean_reward == 15.0
    assert report.successes == 0


def test_a_report_needs_episodes_under_one_cap():
    with pytest.raises(ValueError, match="at least one"):
        Report.of([])
    level = generate(7, rng=0)
    short, long = (evaluate(RandomPolicy(0), [level], max_turns=cap)[1] for cap in (3, 4))
    with pytest.raises(ValueError, match=r"\[3, 4\]"):
        Report.of([*short, *long])


def test_the_same_seed_gives_the_same_report():
    levels = Split.make("dev", 7, 16)
    first, second = (evaluate(RandomPolicy(5), levels)[0] for _ in range(2))
    assert first == second
    assert "/16 solved" in first.headline()
