"""Which mazes does an evaluation ask for, and what if the policy fails on the way?"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from visgym_maze.cli.choosing import Player
from visgym_maze.cli.console import CommandError, note, progress
from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.evaluation import evaluate
from visgym_maze.playing import raised_by_policy
from visgym_maze.records import EpisodeFile, is_lost
from visgym_maze.report import Report
from visgym_maze.suites import suite_named
from visgym_maze.versions import versions
from visgym_maze.world.layout import Layout
from visgym_maze.world.splits import Split


def mazes_of(
    suite: str | None, split: Path | None, limit: int | None
) -> tuple[str, Sequence[Layout], dict[str, Any]]:
    """What the mazes are called, the mazes, and how they are played.

    Raises:
        ValueError: If the suite or manifest is none, or both are given.
    """
    if suite is not None and split is not None:
        raise ValueError(f"give either --suite {suite} or --split {split}")
    if split is not None:
        drawn = Split.load(split)
        # The role stands in the report: what is solved of training mazes is no held-out score.
        name, levels, play = f"{split.name} (role {drawn.spec.name})", drawn.levels, dict[str, Any]()
    else:
        name = suite or "paper-64"
        with progress("drawing mazes"):
            chosen = suite_named(name)
        levels, play = chosen.levels, dict(chosen.options)
    return name, levels[:limit], play


def unlike_training(folder: Path, levels: Sequence[Layout], play: dict[str, Any]) -> str | None:
    """What is asked of a model that says how it was trained, and was trained otherwise; None if nothing."""
    try:
        made = json.loads((folder / "warmstart.json").read_text(encoding="utf-8"))
        trained, size = dict(made["play"]), int(made["settings"]["maze_size"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    usual = {"prompt": "standard", "style": "visgym", "dialect": "tag", "goal_rule": "stop"}
    options = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in trained.items()
        if name in usual and play.get(name, usual[name]) != value
    ]
    sizes = {layout.shape for layout in levels} - {(size, size)}
    if sizes:
        options.append(f"mazes of {size}x{size}")
    return (
        f"{folder.name} was trained with {', '.join(options)}; without it may solve nothing"
        if options
        else None
    )


def play_all(
    player: Player, levels: Sequence[Layout], settings: dict[str, Any], record: Path | None, on_error: str
) -> tuple[Report, list[Trajectory]]:
    """Play all mazes that are not in the record yet.

    Args:
        player: Who plays.
        levels: All mazes.
        settings: What the evaluation is of; its ``play`` says how.
        record: The file of finished episodes, or None to keep none.
        on_error: As for :func:`~visgym_maze.evaluation.evaluate`.

    Raises:
        CommandError: If the policy fails.
    """
    there = [] if record is None else EpisodeFile(record).read()
    lost = sum(map(is_lost, there))
    before = len(there) - lost
    if before:
        note(f"{before} of {len(levels)} episodes are there already")
    if lost:
        note(f"{lost} that were lost are played again")
    kept = "" if record is None else f"; finished episodes are kept: the same command goes on ({record})"
    begun, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    info: dict[str, Any] = {**settings, "on_error": on_error, "versions": versions(), "date": date}
    info["episodes_before"] = before
    try:
        # A policy that prints must not stand between the lines of the result.
        with redirect_stdout(sys.stderr), progress("episodes", len(levels)) as tell:
            tell(before, len(levels))
            report, trajectories = evaluate(
                player.policy,
                levels,
                record=record,
                workers=player.workers,
                on_error=on_error,
                on_turn=tell,
                info=info,
                **settings["play"],
            )
    except KeyboardInterrupt:
        note(f"stopped{kept}")
        raise
    except Exception as error:
        if not raised_by_policy(error):
            raise
        reason = f"{player.name} failed with {type(error).__name__}: {error}"
        remedy = "" if on_error == "lose" else ", or add --on-error lose to count such an episode as failed"
        raise CommandError(f"{reason}{kept}{remedy}") from error
    report.info["wall_seconds"] = round(time.monotonic() - begun, 3)
    return report, trajectories


def refuse_lost(report: Report, trajectories: list[Trajectory]) -> None:
    """A score of a policy that never played to an end is none.

    Raises:
        CommandError: If every episode was lost.
    """
    if report.episodes == sum(report.errors.values()):
        raise CommandError(
            f"all {report.episodes} episodes were lost, so this says nothing of the policy; the first with "
            f"{trajectories[0].info['error']}"
        )
