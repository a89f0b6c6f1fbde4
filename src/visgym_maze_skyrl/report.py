"""What did a run achieve? ``report.json``, ``report.md`` and a curve, made from the run's logs alone."""

from __future__ import annotations

import io
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from visgym_maze.evaluation import wilson_interval
from visgym_maze.files import write_bytes, write_text
from visgym_maze_skyrl.recipe import Recipe, recipe_record
from visgym_maze_skyrl.runlog import StepLog

PACKAGES = ("visgym-maze", "skyrl", "skyrl-gym", "torch", "transformers", "peft", "gymnasium", "numpy")


def write_report(folder: Path, recipe: Recipe, *, backend: str) -> dict[str, Any]:
    """Write the three files into the folder of a run; a run that goes on may write them again.

    Returns:
        The content of ``report.json``.
    """
    evaluations = StepLog(folder / "evaluations.jsonl").read()
    metrics = StepLog(folder / "metrics.jsonl").read()
    report = {
        "recipe": recipe_record(recipe),
        "backend": backend,
        "steps_done": metrics[-1]["step"] if metrics else 0,
        "evaluations": evaluations,
        "wall_seconds": max([r["wall_seconds"] for r in metrics + evaluations], default=0.0),
        "seconds_per_step": _mean(metrics, "timing/step"),
        "seconds_by_part": {
            part: _mean(metrics, f"timing/{key}")
            for part, key in (
                ("generate", "generate"),
                ("forward", "fwd_logprobs_values_reward"),
                ("update", "train_critic_and_policy"),
                ("sync", "sync_weights"),
            )
        },
        "turns_per_second": _mean(metrics, "rollouts/turns_per_second"),
        "tokens_per_second": _mean(metrics, "rollouts/tokens_per_second"),
        "lost_rollouts": sum(r.get("rollouts/lost", 0.0) for r in metrics),
        "eval_split_key": recipe.split("eval").key,
        "versions": _versions(),
        "command": " ".join(["python", *sys.argv]),
    }
    write_text(folder / "report.json", json.dumps(report, indent=1) + "\n")
    write_text(folder / "report.md", _markdown(report))
    if evaluations:
        write_bytes(folder / "curve.png", _curve(report))
    return report


def _mean(records: list[dict[str, Any]], key: str) -> float | None:
    values = [record[key] for record in records if key in record]
    return sum(values) / len(values) if values else None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


_EXPLANATION = """\
A success is an episode that ends on the goal. The ceiling counts the mazes that a perfect player can finish
within the turn cap. pass@1 is SkyRL's own metric: episodes whose last reward is above zero.

| step | sampling | solved | 95 % interval | ceiling | pass@1 | turns | wall time |
|---|---|---|---|---|---|---|---|"""


def _markdown(report: dict[str, Any]) -> str:
    recipe = report["recipe"]
    setting = (
        f"{recipe['eval_levels']} held-out mazes of {recipe['size']}x{recipe['size']}, at most "
        f"{recipe['max_turns']} turns; {report['steps_done']} of {recipe['steps']} steps of "
        f"{recipe['mazes_per_step']} mazes x {recipe['group_size']} rollouts; backend {report['backend']}."
    )
    lines = [f"# Training report: {recipe['name']}", "", setting, "", _EXPLANATION]
    lines += [_evaluation_row(record) for record in report["evaluations"]]
    lines += [
        "",
        _speed(report),
        "",
        f"Made by `{report['command']}`.",
        "",
        "![learning curve](curve.png)",
        "",
    ]
    return "\n".join(lines)


def _evaluation_row(record: dict[str, Any]) -> str:
    scores = record["report"]
    low, high = scores["interval"]
    cells = (
        record["step"],
        record["mode"],
        f"{scores['successes']}/{scores['episodes']}",
        f"{low:.3f}-{high:.3f}",
        f"{scores['ceiling']}/{scores['episodes']}",
        f"{record['pass_at_1']:.3f}",
        f"{scores['mean_turns']:.1f}",
        f"{record['wall_seconds']:.0f} s",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _speed(report: dict[str, Any]) -> str:
    if report["seconds_per_step"] is None:
        return "No step was done."
    parts = ", ".join(f"{k} {v:.2f} s" for k, v in report["seconds_by_part"].items() if v is not None)
    return (
        f"Wall time {report['wall_seconds']:.0f} s; {report['seconds_per_step']:.2f} s a step ({parts}); "
        f"{report['turns_per_second']:.0f} turns/s and {report['tokens_per_second']:.0f} sampled tokens/s in "
        f"rollouts; {report['lost_rollouts']:.0f} rollouts lost."
    )


def _curve(report: dict[str, Any]) -> bytes:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for mode, colour in (("greedy", "#d55e00"), ("sampled", "#0072b2")):
        points = [(r["step"], r["report"]) for r in report["evaluations"] if r["mode"] == mode]
        if not points:
            continue
        steps = [step for step, _ in points]
        rates = [scores["successes"] / scores["episodes"] for _, scores in points]
        bounds = [wilson_interval(scores["successes"], scores["episodes"]) for _, scores in points]
        axes.plot(steps, rates, marker="o", color=colour, label=mode)
        axes.fill_between(steps, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
    last = report["evaluations"][-1]["report"]
    axes.axhline(last["ceiling"] / last["episodes"], color="grey", linestyle=":", label="ceiling")
    axes.set(xlabel="optimisation step", ylabel="held-out mazes solved (share)", ylim=(0.0, 1.02))
    axes.set_title(f"{report['recipe']['name']}: {last['episodes']} held-out mazes, 95 % intervals")
    axes.legend(loc="lower right")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    plt.close(figure)
    return buffer.getvalue()
