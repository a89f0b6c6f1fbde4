"""How is a report kept and read? ``report.json`` for programs, ``report.md`` and a picture for people."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.files import write_bytes, write_text
from visgym_maze.report import Report
from visgym_maze.significance import wilson_interval

FORMAT = "visgym-maze/report/1"

_EXPLANATION = """\
A success is an episode that ends on the goal (rule `{}`). The ceiling counts the mazes that a perfect player
can finish within the turn cap."""


def write_report(folder: str | Path, report: Report, trajectories: Sequence[Trajectory]) -> list[Path]:
    """Write ``report.json``, ``report.md`` and, where matplotlib is installed, ``report.png``.

    Args:
        folder: Where to; made if missing. Files of these names are replaced.
        report: What to write.
        trajectories: What it was made from; the JSON gets the outcome of each.

    Returns:
        The files.
    """
    folder = Path(folder)
    outcomes = [{"maze": t.layout.key, "rollout": t.rollout, "success": t.success} for t in trajectories]
    document = {"format": FORMAT, **report.to_dict(), "outcomes": outcomes}
    files = [folder / "report.json", folder / "report.md"]
    drawn = find_spec("matplotlib") is not None
    write_text(files[0], json.dumps(document, indent=1) + "\n")
    write_text(files[1], to_markdown(report, picture="report.png" if drawn else None))
    if drawn:
        files.append(folder / "report.png")
        write_bytes(files[2], _picture(report))
    return files


def read_report(path: str | Path) -> dict[str, Any]:
    """Read a ``report.json``, or that of a folder.

    Raises:
        OSError: If there is none.
        ValueError: If the file is something else.
    """
    path = Path(path)
    path = path / "report.json" if path.is_dir() else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no report: it holds no JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"{path} is no report of format {FORMAT}; `visgym-maze eval --out FOLDER` writes one"
        )
    if (damage := _damage(document)) is not None:
        raise ValueError(f"{path} is a damaged report: {damage}")
    return document


def _damage(document: dict[str, Any]) -> str | None:
    """What a comparison needs and a document lacks."""
    for name, kind in (("outcomes", list), ("info", dict), ("split_key", str)):
        if not isinstance(document.get(name), kind):
            return f"its {name} is no {kind.__name__}"
    if not document["outcomes"]:
        return "it holds no outcome"
    for number, outcome in enumerate(document["outcomes"]):
        if not isinstance(outcome, dict) or not {"maze", "success"} <= outcome.keys():
            return f"outcome {number} names no maze and its success"
    return next((f"it has no {name}" for name in ("max_turns", "goal_rule") if name not in document), None)


def to_markdown(report: Report, picture: str | None = None) -> str:
    """A page of tables.

    Args:
        report: What to show.
        picture: File name of a picture to show with it.
    """
    n, (low, high) = report.episodes, report.interval
    rows: list[tuple[str, object]] = [
        ("solved", f"{report.successes}/{n}"),
        ("success rate, 95 % Wilson interval", f"{report.success_rate:.3f} ({low:.3f}-{high:.3f})"),
        (f"ceiling within {report.max_turns} turns", f"{report.ceiling}/{n}"),
        ("shortest path over cells walked, of the solved", _number(report.optimality, ".3f")),
        ("turns per episode", f"{report.mean_turns:.2f}"),
        ("reward per episode", f"{report.mean_reward:.3f}"),
        ("walks into a wall per episode", f"{report.bumps:.2f}"),
        ("answers that are well formed", f"{report.well_formed:.1%}"),
    ]
    if report.seconds is not None:
        median, p95 = report.seconds["median"], report.seconds["p95"]
        rows.append(("seconds per answer, median and 95th percentile", f"{median:.3g}, {p95:.3g}"))
    rows += [(f"tokens of all {what}", f"{count:,}") for what, count in report.tokens.items()]
    lengths = [
        (moves, f"{won}/{count}", "{:.3f}-{:.3f}".format(*wilson_interval(won, count)))
        for moves, (won, count) in report.by_path_length.items()
    ]
    parts = [
        "# Evaluation",
        _table(("", ""), rows),
        _EXPLANATION.format(report.goal_rule),
        "## By length of the shortest path",
        _table(("moves", "solved", "95 % interval"), lengths),
        "## Why episodes ended",
        _table(("reason", "episodes"), report.stop_reasons.items()),
    ]
    for title, counts in (
        ("Answers without an action", report.parse_failures),
        ("Lost episodes", report.errors),
    ):
        if counts:
            parts += [f"## {title}", _table(("reason", "number"), counts.items())]
    if picture is not None:
        parts.append(f"![solved by length of the shortest path]({picture})")
    settings = [("split key", report.split_key), *_flat(report.info)]
    parts += ["## Settings", _table(("", ""), [(name, f"`{value}`") for name, value in settings])]
    return "\n\n".join(parts) + "\n"


def _number(value: float | None, form: str) -> str:
    return "none" if value is None else format(value, form)


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def _flat(info: dict[str, Any], prefix: str = "") -> list[tuple[str, object]]:
    """Nested settings as lines of ``outer.inner`` and value."""
    lines: list[tuple[str, object]] = []
    for name, value in info.items():
        lines += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return lines


def _picture(report: Report) -> bytes:
    """Bars of success by path length with intervals, as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Without pyplot, so that no state of the caller's figures is touched.
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    names = [f"{moves}\n({count})" for moves, (_, count) in report.by_path_length.items()]
    rates = [won / count for won, count in report.by_path_length.values()]
    bounds = [wilson_interval(won, count) for won, count in report.by_path_length.values()]
    spread = [
        [rate - low for rate, (low, _) in zip(rates, bounds, strict=True)],
        [high - rate for rate, (_, high) in zip(rates, bounds, strict=True)],
    ]
    axes.bar(names, rates, yerr=spread, capsize=4, color="#56b4e9", width=0.6)
    axes.axhline(report.ceiling / report.episodes, color="grey", linestyle=":", label="ceiling")
    axes.set(xlabel="moves of the shortest path (mazes)", ylabel="solved (share)", ylim=(0.0, 1.05))
    axes.set_title(f"{report.successes}/{report.episodes} solved, with 95 % Wilson intervals", fontsize=10)
    axes.legend(loc="lower right")
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()
