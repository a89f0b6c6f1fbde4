"""What does a run leave behind at every step? Metrics, the mazes it played, and episodes to look at."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

from loguru import logger
from skyrl.train.utils.callbacks import CallbackInput, TrainingCallback, TrainingControl

from visgym_maze import Trajectory
from visgym_maze.replay import write_trajectories
from visgym_maze_skyrl.runlog import StepLog
from visgym_maze_skyrl.tracking import log_evaluation


class Recorder(TrainingCallback):
    """Writes ``metrics.jsonl``, ``groups.jsonl``, ``evaluations.jsonl`` and, at evaluations, episodes.

    The held-out episodes go to ``trajectories/``, the groups of the training step before them to
    ``rollouts/``.

    Args:
        folder: The folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics = StepLog(folder / "metrics.jsonl")
        self.groups = StepLog(folder / "groups.jsonl")
        self.evaluations = StepLog(folder / "evaluations.jsonl")
        self._rollouts: list[Trajectory] = []
        self._started = time.monotonic()
        self._before = 0.0

    def on_train_start(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Open the log file; forget what a crashed run wrote after the checkpoint it is resumed from."""
        logger.add(self.folder / "run.log", level="INFO")
        step = callback_input.global_step
        self.metrics.keep_up_to(step)
        self.groups.keep_up_to(step)
        # An evaluation that is made again may have been logged in part.
        self.evaluations.keep_up_to(step - 1 if trainer.cfg.trainer.eval_before_train else step)
        past = self.metrics.read()
        self._before = past[-1]["wall_seconds"] if past else 0.0
        self._started = time.monotonic()

    def on_eval_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Keep scores and episodes of both evaluations, and the groups of the step before."""
        step = callback_input.global_step
        if self._rollouts:
            write_trajectories(self.folder / "rollouts" / f"step_{step:06d}.jsonl", self._rollouts)
        for evaluation in trainer.evaluations[-2:]:
            name = f"step_{evaluation.step:06d}_{evaluation.mode}.jsonl"
            write_trajectories(self.folder / "trajectories" / name, evaluation.trajectories)
            log_evaluation(trainer.tracker, evaluation)
            self.evaluations.append(
                {
                    "step": evaluation.step,
                    "mode": evaluation.mode,
                    "wall_seconds": self._wall(),
                    "pass_at_1": evaluation.pass_at_1,
                    "report": evaluation.report.to_dict(),
                }
            )

    def on_step_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Note which mazes were really played, group by group, from the episodes themselves."""
        self._rollouts = [t for t in trainer.generator.trajectories if t is not None]
        played: dict[int, list[str]] = {}
        for trajectory in self._rollouts:
            played.setdefault(cast("int", trajectory.group), []).append(trajectory.layout.key)
        groups = [{"group": group, "keys": sorted(set(keys))} for group, keys in sorted(played.items())]
        self.groups.append({"step": callback_input.global_step, "groups": groups})

    def on_log(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Keep all numbers of the step."""
        logs = callback_input.logs or {}
        if "timing/step" in logs:
            numbers = {k: v for k, v in logs.items() if isinstance(v, (int, float))}
            self.metrics.append({"step": callback_input.global_step, "wall_seconds": self._wall(), **numbers})

    def _wall(self) -> float:
        return self._before + time.monotonic() - self._started
