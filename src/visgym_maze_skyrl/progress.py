"""What does a person see while training runs? A live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from skyrl.train.utils.callbacks import CallbackInput, TrainingCallback, TrainingControl


class ProgressDisplay(TrainingCallback):
    """Shows step, success, reward, turns and the time that is left.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._first = 0
        self._started = 0.0
        self._bar = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def on_train_start(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Start the clock."""
        self._first = callback_input.global_step
        self._started = time.monotonic()
        self._bar.start()
        self._bar.update(self._task, total=callback_input.total_steps, completed=self._first)

    def on_eval_start(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Say what takes the time."""
        self._bar.update(self._task, description="evaluating on held-out mazes")

    def on_eval_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Print the scores."""
        for evaluation in trainer.evaluations[-2:]:
            self.console.print(
                f"step {evaluation.step:>4}  {evaluation.mode:<8} {evaluation.report.headline()}",
                highlight=False,
            )

    def on_log(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Show the step."""
        logs = callback_input.logs or {}
        if "timing/step" not in logs:
            return
        step, total = callback_input.global_step, callback_input.total_steps
        spent = time.monotonic() - self._started
        left = spent / max(step - self._first, 1) * (total - step)
        text = (
            f"success {logs.get('environment/avg_success', 0):.2f}  "
            f"reward {logs.get('environment/avg_reward', 0):.2f}  "
            f"turns {logs.get('environment/avg_turns', 0):.1f}  "
            f"{logs['timing/step']:.1f} s/step  {left / 60:.1f} min left"
        )
        self._bar.update(self._task, completed=step, description=text)
        if not self.console.is_terminal:
            self.console.print(f"step {step:>4}/{total}  {text}", highlight=False)

    def close(self) -> None:
        """Take the live line away."""
        self._bar.stop()
