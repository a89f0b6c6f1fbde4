"""How does a run show itself while it trains? A callback that publishes its numbers through Ray's metrics.

Every node of a Ray cluster offers what its processes publish at a port, where Prometheus collects it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ray.util.metrics import Counter, Gauge, Histogram
from skyrl.train.utils.callbacks import CallbackInput, TrainingCallback, TrainingControl

from visgym_maze_skyrl.run_metrics import EVALUATIONS, MEASURES, PHASES, PREFIX, STARTS, TURNS, gauges

_EXTRA_TAGS = {"eval_success_rate": ("mode",), "phase_seconds": ("phase",)}
_TURN_BOUNDARIES = [1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5, 20.5, 30.5]


class RunMetrics(TrainingCallback):
    """Publishes the numbers of every step, tagged with the run's id.

    Args:
        run_id: Tells runs apart; the name of the run's folder.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._gauges = {
            name: Gauge(f"{PREFIX}{name}", about, tag_keys=("run_id", *_EXTRA_TAGS.get(name, ())))
            for name, about in gauges().items()
        }
        self._starts = Counter(f"{PREFIX}{STARTS}", "Times that training began or resumed", ("run_id",))
        self._turns = Histogram(f"{PREFIX}{TURNS}", "Answers of an episode", _TURN_BOUNDARIES, ("run_id",))

    def on_train_start(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Count the start; nothing is lost yet, so the clocks of steps and checkpoints begin now."""
        self._starts.inc(1, {"run_id": self.run_id})
        self._set("checkpoint_timestamp_seconds", time.time())
        self._progress(callback_input)

    def on_step_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Count the turns of the step's episodes."""
        for trajectory in trainer.generator.trajectories:
            if trajectory is not None:
                self._turns.observe(len(trajectory.turns), {"run_id": self.run_id})

    def on_save(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Note when the checkpoint was complete."""
        self._set("checkpoint_timestamp_seconds", time.time())

    def on_log(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Publish the numbers of a step, or of the evaluation before the first."""
        logs: Mapping[str, Any] = callback_input.logs or {}
        for mode, key in EVALUATIONS.items():
            if key in logs:
                self._set("eval_success_rate", logs[key], mode=mode)
        if "timing/step" not in logs:
            return
        for measure in MEASURES:
            if measure.key in logs:
                self._set(measure.name, logs[measure.key])
        for phase, key in PHASES.items():
            # A phase that this step did not have took no time; else its last value would stand on.
            self._set("phase_seconds", logs.get(key, 0.0), phase=phase)
        flat = logs.get("rollouts/zero_variance_groups")
        if flat is not None:
            self._set("zero_variance_share", flat / trainer.recipe.mazes_per_step)
        self._progress(callback_input)

    def _progress(self, callback_input: CallbackInput) -> None:
        step = callback_input.global_step
        self._set("step", step)
        self._set("steps_left", max((callback_input.total_steps or step) - step, 0))
        self._set("step_timestamp_seconds", time.time())

    def _set(self, name: str, value: float, **tags: str) -> None:
        self._gauges[name].set(float(value), {"run_id": self.run_id, **tags})
