"""Where does the tiny model's first skill come from? Supervised fine-tuning on oracle demonstrations.

The demonstrations are clean, of the train split alone, and a fixed set: what the model can learn from
them, it learns here, so that what it learns later by reinforcement is not merely more of the same.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch.nn import functional
from transformers import AutoTokenizer, Qwen3VLForConditionalGeneration

import visgym_maze
from visgym_maze import Layout, Split, demonstrate, evaluate, moves_within
from visgym_maze.files import write_text
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.engine import Engine
from visgym_maze_skyrl.local.lessons import Lesson, collate, lesson_of
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.local.policy import ModelPolicy
from visgym_maze_skyrl.local.tiny import SIZES, build_tiny

MAX_TURNS = 15
PLAY: dict[str, Any] = {
    "max_turns": MAX_TURNS,
    "prompt": "brief",
    "style": "patch16",
    "dialect": "tag",
    "goal_rule": "stop",
}
"""How the demonstrations are played, and the evaluations."""

RECORD = "warmstart.json"
_EPILOG = """\
examples:
  a checkpoint that a laptop makes in minutes:
    python -m visgym_maze_skyrl.warmstart --out runs/start
  more demonstrations, a larger model, longer:
    python -m visgym_maze_skyrl.warmstart --out runs/start-s --size s --demonstrations 256 --steps 900
"""


@dataclass(frozen=True)
class Settings:
    """How a checkpoint is made; the same settings on the same machine make the same one.

    Attributes:
        size: Named size of the model.
        maze_size: Side of the mazes in cells.
        demonstrations: Number of distinct train mazes that the oracle shows, each once.
        steps: Optimisation steps.
        learning_rate: Peak; reached after 30 steps, then falling on a cosine to a twentieth.
        tokens: Tokens per step, about.
        single: Share of the steps that learn single answers.
        short: Share of the steps, after those, that learn transcripts of up to four answers. The
            rest learns whole ones.
        evaluate_every: Steps between evaluations.
        held_out: Number of mazes of the eval split to measure on.
        seed: Decides weights, mazes and order.
    """

    size: str = "xs"
    maze_size: int = 7
    demonstrations: int = 32
    steps: int = 450
    learning_rate: float = 3e-3
    tokens: int = 4096
    single: float = 0.4
    short: float = 0.2
    evaluate_every: int = 75
    held_out: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("demonstrations", "steps", "tokens", "evaluate_every", "held_out"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.size not in SIZES:
            raise ValueError(f"unknown size {self.size!r}; known: {', '.join(SIZES)}")
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or a positive integer, got {self.seed}")

    def answers_at(self, step: int) -> int:
        """Most answers of a transcript in this step."""
        whole_from = round((self.single + self.short) * self.steps)
        return 1 if step < round(self.single * self.steps) else 4 if step < whole_from else MAX_TURNS

    def rate_at(self, step: int) -> float:
        """Learning rate of this step."""
        cosine = 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return self.learning_rate * min(1.0, (step + 1) / 30) * (0.05 + 0.95 * cosine)


class WarmStart:
    """One run of supervised fine-tuning.

    Args:
        folder: Where the model is written, first with random weights.
        settings: How it is made.
        device: Where it is trained, ``cpu`` or ``cuda``.

    Raises:
        ValueError: If the folder is not empty, or the train split has fewer mazes than asked for.
    """

    def __init__(self, folder: str | Path, settings: Settings, device: str = "cpu") -> None:
        self.folder, self.settings = Path(folder), settings
        if self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(f"{folder} is not empty; choose a new folder or empty it first")
        moves = moves_within(MAX_TURNS)
        size, seed = settings.maze_size, settings.seed
        self.shown = Split.make("train", size, settings.demonstrations, seed, max_moves=moves)
        self.held_out = Split.make("eval", size, settings.held_out, 0, max_moves=moves)
        self.model: Any = build_tiny(folder, settings.size, seed).to(device)  # type: ignore[arg-type]
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.codec = ChatCodec(self.tokenizer, PictureReader(folder))
        self.engine = Engine(self.model, self.tokenizer, seed=seed)
        self.lessons = [lesson_of(d, self.codec) for d in demonstrate(self.shown, rng=seed, **PLAY)]
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), settings.learning_rate, betas=(0.9, 0.98), weight_decay=0.05
        )
        self._rng = np.random.default_rng(np.random.SeedSequence(seed))

    def step(self, number: int) -> float:
        """One optimisation step; its loss per answer token."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate_at(number)
        self.optimizer.zero_grad()
        loss = answer_loss(self.model.train(), self._draw(number), self.codec.end_id)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def evaluate(self, levels: Sequence[Layout], temperature: float, rollouts: int = 1) -> float:
        """Share of the episodes that are solved."""
        self.model.eval()
        self.engine.clear()
        policy = ModelPolicy(self.engine, self.codec, temperature=temperature)
        report, _ = evaluate(policy, levels, rollouts=rollouts, **PLAY)
        return report.success_rate

    def measure(self) -> dict[str, float]:
        """Held-out mazes solved, greedy and sampled (mean of 4), and the share solved of those shown."""
        count = len(self.held_out)
        return {
            "greedy": count * self.evaluate(self.held_out, 0.0),
            "sampled_0.7": count * self.evaluate(self.held_out, 0.7, 4),
            "sampled_1.0": count * self.evaluate(self.held_out, 1.0, 4),
            "shown_greedy": self.evaluate(self.shown[:count], 0.0),
        }

    @torch.no_grad()
    def round_weights(self) -> None:
        """Round the weights to bfloat16, in which they are saved."""
        for weight in self.model.parameters():
            weight.copy_(weight.bfloat16())

    def save(self, record: dict[str, Any]) -> None:
        """Write the weights, and beside them how they were made. The model is bfloat16 from then on."""
        self.model.bfloat16().save_pretrained(self.folder)
        write_text(self.folder / RECORD, json.dumps(record, indent=1) + "\n")

    def _draw(self, number: int) -> list[Lesson]:
        """Parts of random lessons, about as many tokens as a step takes."""
        longest = self.settings.answers_at(number)
        batch: list[Lesson] = []
        left = self.settings.tokens
        while left > 0:
            lesson = self.lessons[self._rng.integers(len(self.lessons))]
            start = 0 if longest == MAX_TURNS else int(self._rng.integers(max(1, len(lesson) - longest + 1)))
            part = lesson[start : start + longest]
            left -= sum(len(turn.following) + len(turn.answer) for turn in part)
            batch.append(part)
        return batch


def answer_loss(
    model: Qwen3VLForConditionalGeneration, lessons: Sequence[Lesson], pad_id: int
) -> torch.Tensor:
    """Mean cross-entropy of the tokens of all answers, their end tokens included."""
    merge = model.model.visual.spatial_merge_size
    batch = collate(lessons, model.config.image_token_id, merge, pad_id).to(model.device)
    hidden = model.model(
        input_ids=batch.ids,
        pixel_values=batch.pixel_values,
        image_grid_thw=batch.grid_thw,
        position_ids=batch.positions,
    ).last_hidden_state
    learned = batch.learned[:, 1:]
    return functional.cross_entropy(model.lm_head(hidden[:, :-1][learned]), batch.ids[:, 1:][learned])


def run(folder: str | Path, settings: Settings, device: str = "cpu") -> dict[str, Any]:
    """Make a checkpoint, showing progress; returns the record that lies beside it."""
    warm = WarmStart(folder, settings, device)
    began, curve, losses = time.monotonic(), list[dict[str, float]](), list[float]()
    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task("loss -", total=settings.steps)
        for number in range(settings.steps):
            losses.append(warm.step(number))
            progress.update(task, advance=1, description=f"loss {losses[-1]:.3f}")
            last = number + 1 == settings.steps
            if last:
                warm.round_weights()
            if last or (number + 1) % settings.evaluate_every == 0:
                entry = {"step": number + 1, "loss": round(float(np.mean(losses)), 4), **warm.measure()}
                curve.append(entry)
                losses.clear()
                progress.console.print(_line(entry, settings.held_out))
    record = {
        "command": f"python -m visgym_maze_skyrl.warmstart --out FOLDER {words(settings)}",
        "settings": asdict(settings),
        "play": PLAY,
        "parameters": sum(p.numel() for p in warm.model.parameters()),
        "demonstrated_answers": sum(map(len, warm.lessons)),
        "train_split": warm.shown.key,
        "eval_split": warm.held_out.key,
        "curve": curve,
        "seconds": round(time.monotonic() - began, 1),
        "device": device,
        "threads": torch.get_num_threads(),
        "versions": {
            "visgym_maze": visgym_maze.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
    }
    warm.save(record)
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m visgym_maze_skyrl.warmstart",
        description="Fine-tune a tiny Qwen3-VL on oracle demonstrations of mazes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Settings()
    parser.add_argument("--out", required=True, help="folder to write the model to")
    for name, value, text in (
        ("size", default.size, f"size of the model: {', '.join(SIZES)}"),
        ("maze-size", default.maze_size, "side of the mazes in cells"),
        ("demonstrations", default.demonstrations, "number of train mazes that the oracle shows"),
        ("steps", default.steps, "optimisation steps"),
        ("learning-rate", default.learning_rate, "peak learning rate"),
        ("tokens", default.tokens, "tokens per step"),
        ("evaluate-every", default.evaluate_every, "steps between evaluations"),
        ("held-out", default.held_out, "eval mazes to measure on"),
        ("seed", default.seed, "decides weights, mazes and order"),
    ):
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"{text} (default: {value})")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="default: cpu")
    options = vars(parser.parse_args(arguments))
    folder, device = options.pop("out"), options.pop("device")
    transformers.utils.logging.disable_progress_bar()
    try:
        settings = Settings(**options)
        record = run(folder, settings, device)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{folder}: {record['parameters']:,} parameters, made in {record['seconds']:.0f} s")
    return 0


def _line(entry: dict[str, float], count: int) -> str:
    return (
        f"step {entry['step']}: of {count} held-out mazes greedy {entry['greedy']:.0f}, at 0.7 "
        f"{entry['sampled_0.7']:.1f}, at 1.0 {entry['sampled_1.0']:.1f}; of shown {entry['shown_greedy']:.0%}"
    )


def words(settings: Settings) -> str:
    """The options of the command line that give these settings."""
    shown = {name: value for name, value in asdict(settings).items() if name not in ("single", "short")}
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in shown.items())


if __name__ == "__main__":
    raise SystemExit(main())
