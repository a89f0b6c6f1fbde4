"""Is one policy better than another? Both reports maze by maze, with McNemar's exact test."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from visgym_maze.significance import mcnemar

_TOLD_ANYWAY = {"versions", "wall_seconds", "date", "episodes_before", "on_error"}


@dataclass(frozen=True)
class Comparison:
    """Two evaluations on the same mazes.

    Attributes:
        mazes: Number of mazes.
        both: How many both solved.
        first_only: How many only the first solved.
        second_only: How many only the second solved.
        neither: How many neither solved.
        p_value: Of the exact two-sided McNemar test: how often policies that do not differ would
            differ this much.
        differences: Settings in which the evaluations differ, ``{name: [first, second]}``.
    """

    mazes: int
    both: int
    first_only: int
    second_only: int
    neither: int
    p_value: float
    differences: dict[str, list[Any]]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return asdict(self)


def compare(first: dict[str, Any], second: dict[str, Any]) -> Comparison:
    """Compare two reports.

    Args:
        first: As :func:`~visgym_maze.report_files.read_report` gives it.
        second: The same.

    Raises:
        ValueError: If they are of other mazes, or of several episodes per maze.
    """
    outcomes = _outcomes(first), _outcomes(second)
    if outcomes[0].keys() != outcomes[1].keys():
        shared = len(outcomes[0].keys() & outcomes[1].keys())
        raise ValueError(
            f"these reports are of different mazes: {len(outcomes[0])} (split key {first['split_key']}) and "
            f"{len(outcomes[1])} ({second['split_key']}), {shared} of them shared; evaluate both on one suite"
        )
    pairs = [(outcomes[0][maze], outcomes[1][maze]) for maze in outcomes[0]]
    return Comparison(
        mazes=len(pairs),
        both=pairs.count((True, True)),
        first_only=pairs.count((True, False)),
        second_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
        p_value=mcnemar([a for a, _ in pairs], [b for _, b in pairs]),
        differences=_differences(_settings(first), _settings(second)),
    )


def _outcomes(report: dict[str, Any]) -> dict[str, bool]:
    """Success by maze."""
    outcomes = {outcome["maze"]: bool(outcome["success"]) for outcome in report["outcomes"]}
    if len(outcomes) != len(report["outcomes"]):
        raise ValueError(
            "a report of several episodes per maze can't be compared: McNemar's test takes one outcome of "
            "each maze; evaluate with one episode per maze"
        )
    return outcomes


def _settings(report: dict[str, Any]) -> dict[str, Any]:
    rules = {name: report[name] for name in ("max_turns", "goal_rule")}
    return rules | {name: value for name, value in report["info"].items() if name not in _TOLD_ANYWAY}


def _differences(first: dict[str, Any], second: dict[str, Any]) -> dict[str, list[Any]]:
    names = [*first, *(name for name in second if name not in first)]
    return {
        name: [first.get(name), second.get(name)] for name in names if first.get(name) != second.get(name)
    }
