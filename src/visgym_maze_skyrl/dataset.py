"""Which mazes does each training step play? Rows for SkyRL's data loader."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from visgym_maze.dialogue.episode import Message
from visgym_maze.dialogue.prompts import prompt_named
from visgym_maze.groups import Group, GroupSampler
from visgym_maze_skyrl.env import ENV_ID
from visgym_maze_skyrl.recipe import Recipe, RecipeError

Row = tuple[list[Message], str, dict[str, Any], str]
"""``(prompt, environment id, extras, uid)``, as SkyRL's own dataset returns it."""


class MazeDataset:
    """A list of groups in the form of SkyRL's ``PromptDataset``.

    Each row is one group: SkyRL repeats it for every member, so all of them play the row's maze. The rows
    of a whole run lie end to end, in order; a run is a single epoch, which leaves no epoch boundary at
    which a resumed run could skip or repeat mazes.

    Args:
        groups: The groups, in the order in which they are played.
        recipe: How they are played.
        source: Name under which SkyRL reports their scores.
    """

    def __init__(self, groups: list[Group], recipe: Recipe, source: str) -> None:
        self.groups = groups
        self.recipe = recipe
        self.source = source

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index: int) -> Row:
        group = self.groups[index]
        options = self.recipe.dialogue_options()
        extras = {
            "layout": group.layout.to_dict(),
            "layout_key": group.layout.key,
            "group": group.index,
            "seed": self.recipe.seed,
            "dialogue": options,
            "reward": asdict(self.recipe.reward()),
            "data_source": self.source,
        }
        return _text_prompt(options), ENV_ID, extras, str(group.index)

    @staticmethod
    def collate_fn(rows: list[Row]) -> list[dict[str, Any]]:
        """A batch in the form that SkyRL's trainer takes."""
        return [
            {"prompt": prompt, "env_class": env, "env_extras": extras, "uid": uid}
            for prompt, env, extras, uid in rows
        ]


def _text_prompt(options: dict[str, Any]) -> list[Message]:
    """The first messages without pictures: what a text-only tokenizer can measure."""
    text = prompt_named(options["prompt"]).first_text(
        max_turns=options["max_turns"], dialect=options["dialect"], goal_rule=options["goal_rule"]
    )
    return [{"role": "user", "content": text}]


def train_dataset(recipe: Recipe) -> MazeDataset:
    """The groups of all steps of a run, drawn from the train split."""
    levels = recipe.split("train")
    if len(levels) < recipe.mazes_per_step:
        raise RecipeError(
            f"mazes_per_step={recipe.mazes_per_step}, but there are only {len(levels)} training mazes; "
            "lower it, or raise train_levels or size"
        )
    sampler = GroupSampler(levels, recipe.group_size, seed=recipe.seed)
    groups = [group for _ in range(recipe.steps) for group in sampler.take_distinct(recipe.mazes_per_step)]
    return MazeDataset(groups, recipe, "train")


def eval_dataset(recipe: Recipe) -> MazeDataset:
    """The held-out mazes, one rollout each."""
    levels = recipe.split("eval")
    sampler = GroupSampler(levels, 1, shuffle=False)
    return MazeDataset(sampler.take(len(levels)), recipe, "eval")
