"""Intervals, tests and reports against known values."""

import dataclasses
import json
import threading

import pytest

from visgym_maze import (
    ChatPolicy,
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

MAZES = Split.make("eval", 7, 6, max_moves=14)


class Unreliable:
    """The oracle, but for one maze in the second turn, where ``fault`` is what becomes of it."""

    def __init__(self, fault):
        self.fault = fault

    def act(self, dialogues):
        answers = OraclePolicy().act(dialogues)
        return [
            self.fault() if d.layout == MAZES[2] and d.turns else a
            for d, a in zip(dialogues, answers, strict=True)
        ]


def raises():
    raise ZeroDivisionError("no answer: 1/0")


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


def test_the_key_of_the_report_is_that_of_the_split():
    report, trajectories = evaluate(OraclePolicy(), MAZES, rollouts=2)
    assert report.split_key == MAZES.key
    assert Report.of(trajectories[2:]).split_key != MAZES.key


def test_several_moves_in_a_turn_raise_the_ceiling():
    levels = Split.make("eval", 9, 40)
    report, _ = evaluate(OraclePolicy(), levels, max_turns=8, max_moves_per_turn=3)
    assert report.successes == report.ceiling == sum(solve(level).moves <= 23 for level in levels)
    assert report.ceiling > evaluate(OraclePolicy(), levels, max_turns=8)[0].ceiling


def test_an_unknown_goal_rule_is_refused():
    trajectories = evaluate(OraclePolicy(), MAZES)[1]
    with pytest.raises(ValueError, match="unknown goal_rule 'touch'; known: stop, reach"):
        Report.of(trajectories, goal_rule="touch")


@pytest.mark.parametrize("workers", [None, 1, 3])
@pytest.mark.parametrize(("fault", "error"), [(raises, ZeroDivisionError), (lambda: None, TypeError)])
def test_a_failing_answer_ends_the_evaluation_unless_asked_otherwise(workers, fault, error):
    with pytest.raises(error):
        evaluate(Unreliable(fault), MAZES, workers=workers)
    report, trajectories = evaluate(Unreliable(fault), MAZES, workers=workers, on_error="lose")
    assert [t.success for t in trajectories] == [True, True, False, True, True, True]
    assert trajectories[2].stop_reason is StopReason.ERROR
    assert trajectories[2].info["error"].startswith(f"{error.__name__}: ")
    assert len(trajectories[2].turns) == 1
    assert report.errors == {error.__name__: 1}
    assert (report.successes, report.episodes) == (5, 6)


def test_the_number_of_answers_is_never_forgiven():
    class Short:
        def act(self, dialogues):
            return ["<action>stop</action>"]

    with pytest.raises(ValueError, match="asked for 6 answers, the policy gave 1"):
        evaluate(Short(), MAZES, on_error="lose")


@pytest.mark.parametrize(
    ("option", "message"),
    [({"on_error": "ignore"}, "unknown on_error 'ignore'"), ({"workers": 0}, "at least 1")],
)
def test_bad_ways_to_play_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        evaluate(OraclePolicy(), MAZES, **option)


@pytest.mark.parametrize("workers", [None, 2])
def test_an_evaluation_that_was_stopped_asks_for_the_rest_alone(tmp_path, workers):
    record = tmp_path / "episodes.jsonl"
    expected, full = evaluate(OraclePolicy(), MAZES)
    with pytest.raises(ZeroDivisionError):
        evaluate(Unreliable(raises), MAZES, record=record, workers=workers or 1)
    lines = record.read_text().splitlines()
    assert 0 < len(lines) < 6
    with record.open("a") as file:
        file.write('{"layout": {"maze": ["##')  # as a killed process leaves it
    seen = []
    policy = CountingOracle()
    report, trajectories = evaluate(
        policy, MAZES, record=record, workers=workers, on_turn=lambda done, count: seen.append((done, count))
    )
    assert trajectories == full
    assert report == expected
    kept = {json.loads(line)["group"] for line in lines}
    assert policy.asked == sum(len(t.turns) for t in full if t.group not in kept)
    assert seen[-1] == (6, 6)
    assert record.read_text().splitlines()[: len(lines)] == lines
    again = CountingOracle()
    assert evaluate(again, MAZES, record=record)[0] == expected
    assert again.asked == 0


class CountingOracle(OraclePolicy):
    def __init__(self):
        self.asked = 0
        self._lock = threading.Lock()

    def act(self, dialogues):
        with self._lock:
            self.asked += len(dialogues)
        return super().act(dialogues)


def test_a_record_of_another_evaluation_is_refused(tmp_path):
    record = tmp_path / "episodes.jsonl"
    evaluate(OraclePolicy(), MAZES, record=record)
    with pytest.raises(ValueError, match="another maze in place 0"):
        evaluate(OraclePolicy(), Split.make("dev", 7, 6, max_moves=14), record=record)
    with pytest.raises(ValueError, match="more than these 3 mazes"):
        evaluate(OraclePolicy(), MAZES[:3], record=record)
    with pytest.raises(ValueError, match="at most 15 turns instead of 20"):
        evaluate(OraclePolicy(), MAZES, record=record, max_turns=20)
    with record.open("a") as file:
        file.write("{}\n")
    with pytest.raises(ValueError, match="line 7 holds no episode"):
        evaluate(OraclePolicy(), MAZES, record=record)


def test_an_interrupted_evaluation_does_not_wait_for_a_silent_policy():
    held = threading.Event()

    class SilentAfterOneMaze(CountingOracle):
        def act(self, dialogues):
            answers = super().act(dialogues)
            if dialogues[0].layout != MAZES[0]:
                held.wait()
            return answers

    def interrupt(done, count):
        raise KeyboardInterrupt

    policy = SilentAfterOneMaze()
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        evaluate(policy, MAZES, workers=1, on_turn=interrupt)
    held.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert policy.asked <= solve(MAZES[0]).moves + 1 + 1  # the turn under way, and none after it


@pytest.mark.parametrize("workers", [None, 2])
def test_a_policy_that_wants_to_end_the_program_has_failed_to_answer(workers):
    def leave(messages):
        raise SystemExit(3)

    report, _ = evaluate(ChatPolicy(leave), MAZES, workers=workers, on_error="lose")
    assert report.errors == {"SystemExit": 6}
    with pytest.raises(RuntimeError, match="the policy raised SystemExit: 3"):
        evaluate(ChatPolicy(leave), MAZES, workers=workers)


def test_lost_episodes_are_played_again_and_others_are_not(tmp_path):
    record = tmp_path / "episodes.jsonl"
    evaluate(Unreliable(raises), MAZES, record=record, on_error="lose")
    kept = [line for line in record.read_text().splitlines() if '"error"' not in line]
    assert len(kept) == 5

    class Counting(OraclePolicy):
        asked = 0

        def act(self, dialogues):
            self.asked += len(dialogues)
            return super().act(dialogues)

    policy = Counting()
    report, _ = evaluate(policy, MAZES, record=record)
    assert report.successes == 6
    assert report.errors == {}
    assert policy.asked == solve(MAZES[2]).moves + 1
    assert record.read_text().splitlines()[:5] == kept


def test_a_function_is_timed():
    report, trajectories = evaluate(ChatPolicy(lambda messages: "<action>stop</action>"), MAZES)
    assert [len(t.info["seconds"]) for t in trajectories] == [1] * 6
    assert report.seconds is not None
    assert report.seconds["answers"] == 6
    assert report.tokens == {}
