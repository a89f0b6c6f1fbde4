"""What does a run leave behind at every step? Metrics, the mazes it played, and its evaluations."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from loguru import logger
from skyrl.train.utils.callbacks import CallbackInput, TrainingCallback, TrainingControl

from visgym_maze.files import write_text
from visgym_maze_skyrl.runlog import StepLog


class Recorder(TrainingCallback):
    """Writes ``metrics.jsonl``, ``groups.jsonl``, ``evaluations.jsonl`` and the evaluations' episodes.

    Args:
        folder: The folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics = StepLog(folder / "metrics.jsonl")
        self.groups = StepLog(folder / "groups.jsonl")
        self.evaluations = StepLog(folder / "evaluations.jsonl")
        self._started = time.monotonic()
        self._before = 0.0

    def on_train_start(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Open the log file; forget what a crashed run wrote after the checkpoint it is resumed from."""
        logger.add(self.folder / "run.log", level="INFO")
        for log in (self.metrics, self.groups, self.evaluations):
            log.keep_up_to(callback_input.global_step)
        past = self.metrics.read()
        self._before = past[-1]["wall_seconds"] if past else 0.0
        self._started = time.monotonic()

    def on_eval_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Keep scores and episodes of both evaluations."""
        for evaluation in trainer.evaluations[-2:]:
            name = f"step_{evaluation.step:06d}_{evaluation.mode}"
            lines = [json.dumps(t.to_dict()) + "\n" for t in evaluation.trajectories]
            write_text(self.folder / "trajectories" / f"{name}.jsonl", "".join(lines))
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
        played: dict[int, list[str]] = {}
        for trajectory in trainer.generator.trajectories:
            if trajectory is not None:
                played.setdefault(trajectory.group, []).append(trajectory.layout.key)
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
