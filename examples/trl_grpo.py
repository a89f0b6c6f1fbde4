"""GRPO with TRL: the tiny model of this package walks 7x7 mazes that it sees, on a CPU.

    pip install 'visgym-maze[trl]'
    python examples/trl_grpo.py --steps 20

For a Qwen3-VL of your own, hand TRL its name or folder as ``model``, no ``processing_class``, and
``MazeTools`` in place of ``TinyModelTools``: such models know tool calls.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from visgym_maze import RewardSpec, Split, moves_within
from visgym_maze.adapters.trl import seed_rows
from visgym_maze_skyrl.assets.trl import TinyModelTools, tiny_model_for_trl

TURNS = 15


def make_trainer(output: str, steps: int, **overrides: Any) -> GRPOTrainer:
    """A trainer whose groups of four play one maze each, two mazes a step."""
    levels = Split.make("train", size=7, n=256, max_moves=moves_within(TURNS))
    model, processor = tiny_model_for_trl()
    settings: dict[str, Any] = {
        "max_steps": steps,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "learning_rate": 2e-4,
        "max_completion_length": 1024,  # all turns of an episode together, pictures included
        "max_tool_calling_iterations": TURNS,
        "logging_steps": 1,
        "use_cpu": not torch.cuda.is_available(),
        "bf16": False,
        "report_to": "none",
        "seed": 0,
    }
    return GRPOTrainer(
        model=model,
        processing_class=processor,
        args=GRPOConfig(output_dir=output, **{**settings, **overrides}),
        train_dataset=Dataset.from_list(seed_rows(levels)),
        environment_factory=partial(TinyModelTools, levels, max_turns=TURNS, reward=RewardSpec(progress=0.3)),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--output", default="runs/trl")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # more are slower for a model this small, and far slower on a busy machine
    make_trainer(arguments.output, arguments.steps).train()
