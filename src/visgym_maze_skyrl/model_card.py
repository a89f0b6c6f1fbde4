"""What does an exported adapter say of itself? PEFT's own template is empty."""

from __future__ import annotations

from pathlib import Path

import visgym_maze
from visgym_maze.files import write_text
from visgym_maze_skyrl.recipe import TINY_MODEL, Recipe


def write_model_card(folder: Path, recipe: Recipe, step: int) -> None:
    """Put ``README.md`` into an exported adapter.

    Args:
        folder: The adapter; one without ``adapter_config.json`` is left as it is.
        recipe: The run that it comes from.
        step: Optimisation steps done.
    """
    if not (folder / "adapter_config.json").is_file():
        return
    is_path = (
        recipe.model == TINY_MODEL or recipe.model.startswith((".", "/", "~")) or Path(recipe.model).exists()
    )
    hub = "" if is_path else f"base_model: {recipe.model}\n"
    named = (
        "the tiny model that ships with visgym-maze"
        if recipe.model == TINY_MODEL
        else Path(recipe.model).name
    )
    rewards = {
        name.removeprefix("reward_"): value
        for name, value in vars(recipe).items()
        if name.startswith("reward_") and value
    }
    text = f"""---
library_name: peft
tags: [lora, grpo, visgym-maze]
{hub}---
# LoRA adapter for {recipe.model if hub else named}

Trained with visgym-maze {visgym_maze.__version__} on pictures of {recipe.size}x{recipe.size} mazes:
{step} steps of GRPO, {recipe.mazes_per_step} mazes x {recipe.group_size} rollouts a step,
at most {recipe.max_turns} turns an episode, rewards {rewards}.

```python
from peft import PeftModel
from transformers import AutoModelForImageTextToText

base = AutoModelForImageTextToText.from_pretrained(BASE)  # the model that it was trained on
model = PeftModel.from_pretrained(base, ADAPTER)  # this folder
```

The report of the run says what it scores, on which mazes and with which prompt and picture style: keep them.
"""
    write_text(folder / "README.md", text)
