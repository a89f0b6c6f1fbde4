"""What did a run achieve? A report with plots, and a replay, made from the run's logs and episodes alone."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from visgym_maze import Trajectory
from visgym_maze.files import write_bytes, write_text
from visgym_maze.replay import read_trajectories, replay_page
from visgym_maze_skyrl.plots import before_and_after, learning_curve, success_by_length
from visgym_maze_skyrl.recipe import Recipe, recipe_record
from visgym_maze_skyrl.runlog import StepLog

PACKAGES = ("visgym-maze", "skyrl", "skyrl-gym", "torch", "transformers", "peft", "gymnasium", "numpy")


def write_report(folder: Path, recipe: Recipe, *, backend: str) -> dict[str, Any]:
    """Write everything into the folder of a run; a run that goes on may write it again.

    The files are ``report.json`` and ``report.md`` and, as far as the run has been evaluated,
    ``curve.png``, ``by_length.png``, ``before_after.png`` and ``replay.html``.

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
    pictures = _pictures(folder, report)
    write_text(folder / "report.md", _markdown(report, pictures))
    return report


_MOST_EPISODES = 256  # of one evaluation in the replay


def _pictures(folder: Path, report: dict[str, Any]) -> list[str]:
    """Draw what there is to draw; returns the Markdown that shows it."""
    evaluations, name = report["evaluations"], report["recipe"]["name"]
    if not evaluations:
        return []
    write_bytes(folder / "curve.png", learning_curve(evaluations, name))
    write_bytes(folder / "by_length.png", success_by_length(evaluations, name))
    shown = ["![learning curve](curve.png)", "", "![success by path length](by_length.png)", ""]
    steps = sorted({record["step"] for record in evaluations})
    played = _episodes(folder, steps)
    if played:
        write_text(folder / "replay.html", replay_page(played, f"{name}, step {steps[-1]}"))
        shown += ["[Episodes turn by turn](replay.html)", ""]
    before, after = (played.get(f"step {step}, greedy", []) for step in (steps[0], steps[-1]))
    if before and after and steps[0] != steps[-1]:
        write_bytes(folder / "before_after.png", before_and_after(before, after))
        what = f"The first held-out mazes, walked greedily at step {steps[0]} and at step {steps[-1]}:"
        shown += [what, "", "![mazes before and after training](before_after.png)", ""]
    return shown


def _episodes(folder: Path, steps: list[int]) -> dict[str, list[Trajectory]]:
    """Episodes of the first and the last evaluation, and the training groups just before the last."""
    files = {
        f"step {step}, {mode}": folder / "trajectories" / f"step_{step:06d}_{mode}.jsonl"
        for step in dict.fromkeys((steps[0], steps[-1]))
        for mode in ("greedy", "sampled")
    }
    files[f"step {steps[-1]}, training"] = folder / "rollouts" / f"step_{steps[-1]:06d}.jsonl"
    return {name: read_trajectories(path)[:_MOST_EPISODES] for name, path in files.items() if path.is_file()}


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


def _markdown(report: dict[str, Any], pictures: list[str]) -> str:
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
        *pictures,
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
