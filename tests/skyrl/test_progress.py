"""What a person sees while training runs, on a terminal and in a log file."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console
from skyrl.train.utils.callbacks import CallbackInput, TrainingControl

from visgym_maze import RandomPolicy, Split, evaluate
from visgym_maze_skyrl.progress import ProgressDisplay

pytestmark = pytest.mark.train


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log file"])
def test_every_event_of_a_run_is_shown(terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, soft_wrap=True)
    display = ProgressDisplay(console)
    report, trajectories = evaluate(RandomPolicy(0), Split.make("eval", 7, 4))
    evaluation = SimpleNamespace(step=0, mode="greedy", report=report, trajectories=trajectories)
    trainer, control = SimpleNamespace(evaluations=[evaluation]), TrainingControl()
    logs = {"timing/step": 1.5, "environment/avg_success": 0.25, "environment/avg_turns": 9.0}
    for event, step, values in (
        ("on_train_start", 0, None),
        ("on_eval_start", 0, None),
        ("on_eval_end", 0, None),
        ("on_log", 0, {"eval/greedy/successes": 0}),
        ("on_log", 1, logs),
        ("on_log", 2, logs),
    ):
        state = CallbackInput(global_step=step, epoch=0, total_steps=2, steps_per_epoch=2, logs=values)
        getattr(display, event)(trainer, state, control)
    display.close()
    shown = console.file.getvalue()
    assert "greedy" in shown
    assert "4 solved" in shown
    assert "success 0.25" in shown
    assert "min left" in shown
    assert ("2/2" in shown) if terminal else ("step    2/2" in shown)
