"""What does training look like? Curves with their intervals, and mazes walked before and after."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from visgym_maze import Trajectory, wilson_interval
from visgym_maze.replay import contact_sheet

MODES = (("greedy", "#d55e00"), ("sampled", "#0072b2"))
"""The two evaluations and their colours."""


def learning_curve(evaluations: Sequence[dict[str, Any]], title: str) -> bytes:
    """Success over optimisation steps with 95 % Wilson intervals, as a PNG file.

    Args:
        evaluations: Records of ``evaluations.jsonl``, at least one.
        title: What stands above.
    """
    figure, axes = _figure(1)
    for mode, colour in MODES:
        points = [(r["step"], r["report"]) for r in evaluations if r["mode"] == mode]
        if not points:
            continue
        steps = [step for step, _ in points]
        rates = [scores["successes"] / scores["episodes"] for _, scores in points]
        bounds = [wilson_interval(scores["successes"], scores["episodes"]) for _, scores in points]
        axes[0].plot(steps, rates, marker="o", color=colour, label=mode)
        axes[0].fill_between(steps, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
    last = evaluations[-1]["report"]
    axes[0].axhline(last["ceiling"] / last["episodes"], color="grey", linestyle=":", label="ceiling")
    axes[0].set(xlabel="optimisation step", ylabel="held-out mazes solved (share)")
    axes[0].set_title(f"{title}: {last['episodes']} held-out mazes, 95 % intervals")
    axes[0].legend(loc="lower right")
    return _png(figure)


def success_by_length(evaluations: Sequence[dict[str, Any]], title: str) -> bytes:
    """Success of the first and the last evaluation by length of the shortest path, as a PNG file.

    Args:
        evaluations: Records of ``evaluations.jsonl``, at least one.
        title: What stands above.
    """
    modes = [(mode, colour) for mode, colour in MODES if any(r["mode"] == mode for r in evaluations)]
    figure, panels = _figure(len(modes))
    for axes, (mode, colour) in zip(panels, modes, strict=True):
        records = [r for r in evaluations if r["mode"] == mode]
        _points(axes, records[-1], 0.12, color=colour)
        if len(records) > 1:
            _points(axes, records[0], -0.12, color=colour, alpha=0.4)
        lengths = _lengths(records[-1])
        axes.set_xticks([*lengths], [f"{length}\n({n})" for length, (_, n) in lengths.items()])
        axes.set_xlim(min(lengths) - 1, max(lengths) + 1)
        axes.set(xlabel="moves of the shortest path (mazes)", title=f"{title}, {mode}, 95 % intervals")
        axes.legend(loc="lower left")
    panels[0].set_ylabel("solved (share)")
    return _png(figure)


def _lengths(record: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Successes and episodes by path length. JSON has no integer keys: the lengths have become text."""
    return {int(length): counts for length, counts in record["report"]["by_path_length"].items()}


def _points(axes: Any, record: dict[str, Any], shift: float, **look: Any) -> None:
    """Success by path length of one evaluation, a little beside the lengths."""
    lengths = _lengths(record)
    rates = [won / n for won, n in lengths.values()]
    bounds = [wilson_interval(won, n) for won, n in lengths.values()]
    below = [rate - low for rate, (low, _) in zip(rates, bounds, strict=True)]
    above = [high - rate for rate, (_, high) in zip(rates, bounds, strict=True)]
    places = [length + shift for length in lengths]
    axes.errorbar(places, rates, [below, above], fmt="o", capsize=3, label=f"step {record['step']}", **look)


def before_and_after(before: Sequence[Trajectory], after: Sequence[Trajectory], count: int = 6) -> bytes:
    """The first mazes of an evaluation as they were walked before training, and below them after it.

    Args:
        before: Episodes of the first evaluation.
        after: Episodes of the last one; a maze that only one of the two played is left out.
        count: Most mazes shown. They are the first ones, whatever became of them.

    Returns:
        A PNG file.

    Raises:
        ValueError: If the two have no maze in common.
    """
    later = {t.layout.key: t for t in after}
    pairs = [(t, later[t.layout.key]) for t in before if t.layout.key in later][:count]
    rows = [t for t, _ in pairs] + [t for _, t in pairs]
    names = ["before"] * len(pairs) + ["after"] * len(pairs)
    captions = [f"{name}: {_ending(t)}" for name, t in zip(names, rows, strict=True)]
    return contact_sheet(rows, captions=captions, columns=len(pairs))


def _ending(trajectory: Trajectory) -> str:
    turns = f"{len(trajectory.turns)} turns"
    return f"solved in {turns}" if trajectory.success else f"not solved, {turns}"


def _figure(panels: int) -> tuple[Any, list[Any]]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, panels, figsize=(6.4 * panels, 4.0), layout="constrained", squeeze=False, sharey=True
    )
    axes[0][0].set_ylim(-0.02, 1.02)
    return figure, list(axes[0])


def _png(figure: Any) -> bytes:
    from matplotlib import pyplot as plt

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    plt.close(figure)
    return file.getvalue()
