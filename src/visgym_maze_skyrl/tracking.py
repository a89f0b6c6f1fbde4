"""What does a dashboard get to see of an evaluation? Pictures of ways walked, and a table of episodes.

SkyRL's tracker sends the numbers to TensorBoard or Weights & Biases; these go the same way.
"""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from visgym_maze import Trajectory
from visgym_maze.replay import contact_sheet
from visgym_maze_skyrl.recipe import RecipeError
from visgym_maze_skyrl.trainer import Evaluation

SHOWN = 8
"""Episodes of each evaluation that are shown: those of the first mazes, whatever became of them."""

COLUMNS = ("step", "maze", "outcome", "turns", "reward", "answers")
_LONGEST = 2000  # characters of an episode's answers in the table


def check_logger(logger: str) -> None:
    """See that the package of a logger is there.

    Raises:
        RecipeError: If it isn't.
    """
    if logger == "wandb" and importlib.util.find_spec("wandb") is None:
        raise RecipeError("logger=wandb needs the package wandb: pip install 'visgym-maze[wandb]'")


@contextmanager
def kept_in(folder: Path) -> Generator[None]:
    """A tracker that is made meanwhile writes into the folder of the run and sends nothing anywhere.

    What the environment says already (``WANDB_MODE=online``, say) is left as it is.
    """
    wanted = {
        "TENSORBOARD_DIR": str(folder / "tensorboard"),
        "WANDB_DIR": str(folder),
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
    }
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def log_evaluation(tracker: Any, evaluation: Evaluation) -> None:
    """Hand pictures and episodes of an evaluation to a tracker that can show them.

    Args:
        tracker: SkyRL's ``Tracking``; only its backends ``tensorboard`` and ``wandb`` show pictures.
        evaluation: What was played.
    """
    episodes, step = evaluation.trajectories[:SHOWN], evaluation.step
    rows = [
        (
            step,
            t.layout.key[:8],
            str(t.stop_reason),
            len(t.turns),
            t.total_reward,
            "\n".join(turn.text for turn in t.turns)[:_LONGEST],
        )
        for t in episodes
    ]
    name = f"episodes/{evaluation.mode}"
    if tracker.backend == "tensorboard":
        writer = tracker.logger.writer
        writer.add_image(f"{name}/ways", np.asarray(_sheet(episodes)), step, dataformats="HWC")
        writer.add_text(f"{name}/table", _markdown([COLUMNS, *rows]), step)
    elif tracker.backend == "wandb":
        import wandb

        # The trainer closes the step with the numbers that it logs next.
        tracker.log({f"{name}/ways": wandb.Image(_sheet(episodes))}, step=step, commit=False)
        tracker.log_samples_to_table(f"{name}/table", [*COLUMNS], rows, step)


def _sheet(episodes: list[Trajectory]) -> Image.Image:
    return Image.open(io.BytesIO(contact_sheet(episodes)))


def _markdown(rows: list[tuple[Any, ...]]) -> str:
    """A table that shows every text as it is: a model's answer may hold Markdown, HTML, or a table's bars."""
    lines = ["| " + " | ".join(_literal(str(value)) for value in row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


def _literal(text: str) -> str:
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text.replace("\n", " ⏎ "))
