"""GRPO with TRL: the tiny model of this package walks 7x7 mazes that it sees, on a CPU.

    pip install 'visgym-maze[trl]'
    python examples/trl_grpo.py --steps 20

For a Qwen3-VL of your own, drop ``TinyModelTools``, ``CHAT_TEMPLATE`` and ``RESPONSE_TEMPLATE`` and hand
``MazeTools`` to TRL: such models know tool calls.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import GRPOConfig, GRPOTrainer

import visgym_maze_skyrl
from visgym_maze import RewardSpec, Split, moves_within
from visgym_maze.adapters.trl import MazeTools, seed_rows

MODEL = Path(visgym_maze_skyrl.__file__).parent / "assets" / "tiny-maze-7x7"
TURNS = 15

# The tiny model says <action>left</action> and reads what follows as a user's message. These two tell
# TRL that this is a call of the tool "act", and how to write the tool's result.
RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<action>",
            "close": "</action>",
            "repeats": True,
            "content": "text",
            "transform": {
                "type": "function",
                "function": {"name": "act", "arguments": {"action": "{content}"}},
            },
        },
        "content": {"close": "<|im_end|>", "content": "text"},
    },
}
CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' }}
{%- for part in message.content if message.content is not string %}
{{- '<|vision_start|><|image_pad|><|vision_end|>' if part.type == 'image' else part.text }}
{%- endfor %}
{%- if message.content is string %}{{- message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{{- call.function | tojson }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""


class TinyModelTools(MazeTools):
    """One tool in place of two."""

    def act(self, action: str) -> list[dict[str, Any]]:
        """Act.

        Args:
            action: One of "left", "right", "up", "down" and "stop".
        """
        return self.stop() if action == "stop" else self.move(action)


def make_trainer(output: str, steps: int, **overrides: Any) -> GRPOTrainer:
    """A trainer whose groups of four play one maze each, two mazes a step."""
    levels = Split.make("train", size=7, n=256, max_moves=moves_within(TURNS))
    tools = partial(
        TinyModelTools,
        levels,
        max_turns=TURNS,
        prompt="brief",
        style="patch16",
        reward=RewardSpec(progress=0.3),
    )
    processor = AutoProcessor.from_pretrained(MODEL, chat_template=CHAT_TEMPLATE, padding_side="left")
    processor.tokenizer.response_template = RESPONSE_TEMPLATE
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
        model=AutoModelForImageTextToText.from_pretrained(MODEL, dtype=torch.float32),
        args=GRPOConfig(output_dir=output, **{**settings, **overrides}),
        train_dataset=Dataset.from_list(seed_rows(levels)),
        processing_class=processor,
        environment_factory=tools,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--output", default="runs/trl")
    arguments = parser.parse_args()
    make_trainer(arguments.output, arguments.steps).train()
