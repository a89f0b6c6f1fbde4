"""What is a training run made of? One typed recipe, named presets, and ``key=value`` overrides."""

from __future__ import annotations

import dataclasses
import difflib
import math
import typing
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from visgym_maze.dialogue.episode import GOAL_RULES, OBSERVE
from visgym_maze.dialogue.parsing import DIALECTS
from visgym_maze.dialogue.prompts import prompt_named
from visgym_maze.rewards import RewardSpec
from visgym_maze.view.style import style_named
from visgym_maze.world.algorithms import GENERATORS
from visgym_maze.world.endpoints import ENDPOINTS
from visgym_maze.world.generation import check_size
from visgym_maze.world.splits import Split, moves_within
from visgym_maze_skyrl.hyperpod_recipe import HYPERPOD, HYPERPOD_NAME

TINY_MODEL = "tiny"
"""Model name that stands for the small checkpoint that ships with the package."""

PASS_THROUGH = ("trainer.", "generator.", "data.", "environment.")
"""Overrides that begin so go to SkyRL's own configuration as they are."""


class RecipeError(ValueError):
    """A recipe, an override or a run folder that can't be used; the message says what to do."""


@dataclass(frozen=True)
class Recipe:
    """All settings of a run. Every field can be overridden as ``name=value``.

    Attributes:
        model: Folder or Hub id of a Qwen3-VL checkpoint; ``tiny`` for the one that ships.
        trust_remote_code: Whether code that the model brings along may run.
        size: Side of the mazes in cells, odd.
        maze_generator: Generation algorithm of the mazes.
        endpoints: Policy that places start and goal.
        train_levels: Number of distinct training mazes; as many as there are, at most this.
        eval_levels: Number of held-out mazes that every evaluation plays.
        max_turns: Turn cap of an episode.
        goal_rule: ``stop`` or ``reach``.
        dialect: ``tag``, ``tuple`` or ``json``.
        prompt: Name of a prompt or path of a ``.json`` file.
        observe: ``image``, ``text``, ``both`` or ``blank``.
        style: Look of the pictures.
        feedback: Whether the policy is told what its last answer did.
        reward_success: Reward for reaching the goal.
        reward_format: Reward for well-formed answers of an episode that made progress.
        reward_progress: Weight of the potential-based progress reward.
        reward_step: Reward added every turn.
        reward_bump: Reward added for walking into a wall.
        group_size: Rollouts per maze, the GRPO group.
        mazes_per_step: Mazes per optimisation step.
        temperature: Sampling temperature of training rollouts.
        eval_temperature: Sampling temperature of the sampled evaluation; greedy is always run too.
        max_new_tokens: Most tokens of one answer.
        max_context: Most tokens of one conversation.
        steps: Optimisation steps.
        learning_rate: Learning rate of AdamW.
        mini_batch_mazes: Mazes per optimiser update; 0 for all of a step (one update).
        micro_batch: Most sequences per forward and backward pass; a divisor of an update is used.
        gradient_checkpointing: Compute activations again in the backward pass; slower, for large models.
        turn_credit: Weight of the advantages of single turns beside the group's; 0 for GRPO as it is.
        turn_discount: Discount per turn of the returns that those compare.
        kl: Weight of the KL term against the initial policy; 0 for none.
        clip_low: Lower PPO clip range.
        clip_high: Upper PPO clip range.
        lora_rank: Rank of the LoRA adapter on the language model; 0 trains all weights.
        lora_alpha: Scale of the LoRA adapter.
        eval_every: Steps between evaluations.
        checkpoint_every: Steps between checkpoints and LoRA exports.
        keep_checkpoints: Checkpoints kept; -1 keeps all.
        env_timeout: Seconds that one environment step may take.
        check_render: Compare every conversation with the engine's own rendering of it; slow, for debugging.
        logger: ``console``, ``tensorboard`` or ``wandb``.
        seed: Seed of everything random.
        device: ``cpu`` or ``cuda``, for the local backend.
        threads: CPU threads for the local backend; 0 for as many as the machine has cores.
        gpus: GPUs per node for the skyrl backend; 0 for as many as the machine has.
        nodes: Nodes for the skyrl backend.
        output: Folder of the run.
        name: Name of the recipe.
    """

    model: str = TINY_MODEL
    trust_remote_code: bool = False
    size: int = 7
    maze_generator: str = "wilson"
    endpoints: str = "corners"
    train_levels: int = 4096
    eval_levels: int = 64
    max_turns: int = 15
    goal_rule: str = "stop"
    dialect: str = "tag"
    prompt: str = "brief"
    observe: str = "image"
    style: str = "patch16"
    feedback: bool = True
    reward_success: float = 1.0
    reward_format: float = 0.0
    reward_progress: float = 0.0
    reward_step: float = 0.0
    reward_bump: float = 0.0
    group_size: int = 8
    mazes_per_step: int = 16
    temperature: float = 1.0
    eval_temperature: float = 0.7
    max_new_tokens: int = 12
    max_context: int = 1024
    steps: int = 60
    learning_rate: float = 2e-4
    mini_batch_mazes: int = 0
    micro_batch: int = 32
    gradient_checkpointing: bool = False
    turn_credit: float = 0.0
    turn_discount: float = 0.95
    kl: float = 0.0
    clip_low: float = 0.2
    clip_high: float = 0.2
    lora_rank: int = 32
    lora_alpha: int = 32
    eval_every: int = 10
    checkpoint_every: int = 20
    keep_checkpoints: int = 2
    env_timeout: float = 10.0
    check_render: bool = False
    logger: str = "console"
    seed: int = 0
    device: str = "cpu"
    threads: int = 0
    gpus: int = 0
    nodes: int = 1
    output: str = ""
    name: str = "tiny"

    def __post_init__(self) -> None:
        try:
            check_size(self.size)
            prompt_named(self.prompt)
            style_named(self.style)
            self.reward()
        except (ValueError, OSError) as error:
            raise RecipeError(str(error)) from error
        self._check_choices()
        self._check_ranges()

    def _check_choices(self) -> None:
        for name, known in (
            ("maze_generator", tuple(GENERATORS)),
            ("endpoints", tuple(ENDPOINTS)),
            ("goal_rule", GOAL_RULES),
            ("dialect", DIALECTS),
            ("observe", OBSERVE),
            ("logger", ("console", "tensorboard", "wandb")),
            ("device", ("cpu", "cuda")),
        ):
            value = getattr(self, name)
            if value not in known:
                raise RecipeError(f"unknown {name} {value!r}; known: {', '.join(known)}")

    def _check_ranges(self) -> None:
        for name in [
            "train_levels",
            "eval_levels",
            "max_turns",
            "mazes_per_step",
            "max_new_tokens",
            "max_context",
            "steps",
            "micro_batch",
            "eval_every",
            "checkpoint_every",
            "nodes",
        ]:
            if getattr(self, name) < 1:
                raise RecipeError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.group_size < 2:
            raise RecipeError(f"group_size must be at least 2: GRPO compares rollouts; got {self.group_size}")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise RecipeError(f"{field.name} must be a finite number, got {value}")
        for name in ("temperature", "eval_temperature", "learning_rate", "env_timeout", "lora_alpha"):
            if not getattr(self, name) > 0:
                raise RecipeError(f"{name} must be above 0, got {getattr(self, name)}")
        if not self.model:
            raise RecipeError(f"model is empty; give a model folder, a Hub id, or {TINY_MODEL!r}")
        not_negative = (
            "seed",
            "lora_rank",
            "mini_batch_mazes",
            "threads",
            "gpus",
            "turn_credit",
            "kl",
            "clip_low",
            "clip_high",
        )
        for name in not_negative:
            if getattr(self, name) < 0:
                raise RecipeError(f"{name} must be 0 or more, got {getattr(self, name)}")
        if not 0 < self.turn_discount <= 1:
            raise RecipeError(f"turn_discount must be above 0 and at most 1, got {self.turn_discount}")
        if self.mini_batch_mazes and self.mazes_per_step % self.mini_batch_mazes:
            raise RecipeError(
                f"mini_batch_mazes={self.mini_batch_mazes} must divide mazes_per_step={self.mazes_per_step}"
            )
        if self.keep_checkpoints < -1 or self.keep_checkpoints == 0:
            raise RecipeError("keep_checkpoints must be at least 1, or -1 to keep all")

    @property
    def max_moves(self) -> int:
        """Longest shortest path of a maze that can be solved within the turn cap."""
        return moves_within(self.max_turns, self.goal_rule)

    def reward(self) -> RewardSpec:
        """The reward that training and evaluation share."""
        return RewardSpec(
            success=self.reward_success,
            format=self.reward_format,
            progress=self.reward_progress,
            step=self.reward_step,
            bump=self.reward_bump,
        )

    def dialogue_options(self) -> dict[str, Any]:
        """Keyword arguments of every episode, JSON-ready except for the reward's own object."""
        return {
            "max_turns": self.max_turns,
            "dialect": self.dialect,
            "prompt": self.prompt,
            "observe": self.observe,
            "style": self.style,
            "goal_rule": self.goal_rule,
            "feedback": self.feedback,
        }

    def split(self, role: str) -> Split:
        """The mazes of ``role``, every one solvable within the turn cap.

        The train split of a small size holds fewer mazes than ``train_levels``; it is then as large
        as it can be.
        """
        training = role == "train"
        n = self.train_levels if training else self.eval_levels
        # Held-out mazes are the same for every seed, so that runs can be compared maze by maze.
        seed = self.seed if training else 0
        try:
            return _make_split(
                role,
                self.size,
                n,
                seed,
                self.max_moves,
                self.maze_generator,
                self.endpoints,
                at_most=training,
            )
        except ValueError as error:
            raise RecipeError(str(error)) from error


@lru_cache(maxsize=8)
def _make_split(
    role: str, size: int, n: int, seed: int, max_moves: int, generator: str, endpoints: str, *, at_most: bool
) -> Split:
    return Split.make(
        role, size, n, seed, max_moves, generator=generator, endpoints=endpoints, at_most=at_most
    )


_TINY = Recipe()
RECIPES: dict[str, Recipe] = {
    "tiny": _TINY,
    "smoke": dataclasses.replace(
        _TINY, name="smoke", steps=2, mazes_per_step=2, group_size=4, eval_levels=8, eval_every=1,
        checkpoint_every=1, train_levels=64,
    ),
    "single-gpu": dataclasses.replace(
        _TINY, name="single-gpu", size=9, train_levels=16384, mazes_per_step=32, steps=160, micro_batch=16,
        gpus=1,
    ),
    HYPERPOD_NAME: Recipe(
        name=HYPERPOD_NAME, **typing.cast("dict[str, Any]", {k: s.value for k, s in HYPERPOD.items()})
    ),
}  # fmt: skip
"""Recipes by name: ``tiny`` for one CPU, ``smoke`` to see that all parts work, ``single-gpu``, and
``hyperpod-qwen3-vl-8b`` for three nodes of two GPUs."""


def recipe_named(name: str) -> Recipe:
    """Look a recipe up.

    Raises:
        RecipeError: If the name is unknown.
    """
    if name not in RECIPES:
        raise RecipeError(_unknown("recipe", name, RECIPES))
    return RECIPES[name]


def override(recipe: Recipe, assignments: list[str]) -> tuple[Recipe, list[str]]:
    """Apply ``key=value`` texts to a recipe.

    Args:
        recipe: What to start from.
        assignments: For example ``["steps=80", "trainer.algorithm.eps_clip_high=0.28"]``.

    Returns:
        The new recipe, and the assignments that belong to SkyRL's own configuration.

    Raises:
        RecipeError: If an assignment has no ``=``, its key is unknown, or its value has the wrong type.
    """
    types_by_name = typing.get_type_hints(Recipe)
    changes: dict[str, Any] = {}
    passed: list[str] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise RecipeError(f"{assignment!r} is no override; write it as key=value, for example steps=80")
        if key.startswith(PASS_THROUGH):
            passed.append(assignment)
        elif key not in types_by_name or key == "name":
            raise RecipeError(_unknown("recipe field", key, [f for f in types_by_name if f != "name"]))
        else:
            changes[key] = _convert(key, text, types_by_name[key])
    return dataclasses.replace(recipe, **changes), passed


def _convert(key: str, text: str, kind: type) -> Any:
    if kind is bool:
        table = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if text.lower() not in table:
            raise RecipeError(f"{key} is true or false, got {text!r}")
        return table[text.lower()]
    try:
        return kind(text)
    except ValueError as error:
        raise RecipeError(f"{key} needs a value of type {kind.__name__}, got {text!r}") from error


def _unknown(what: str, name: str, known: typing.Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {name!r}{hint} Known: {', '.join(sorted(names))}"


def recipe_record(recipe: Recipe) -> dict[str, Any]:
    """A JSON-ready record of a recipe, without the folder of the run."""
    return {f.name: getattr(recipe, f.name) for f in fields(recipe) if f.name != "output"}


def differences(recipe: Recipe, record: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Fields in which a recipe differs from a record, except those that a resumed run may change."""
    free = {"steps", "output", "logger", "threads", "keep_checkpoints", "eval_every", "checkpoint_every"}
    now = recipe_record(recipe)
    # A field that a record does not know came later; its default is what the run was made with.
    before = {**recipe_record(Recipe()), **record}
    return {name: (before[name], now[name]) for name in now if name not in free and before[name] != now[name]}


def output_folder(recipe: Recipe) -> Path:
    """The folder of the run: ``output``, or ``runs/NAME``."""
    return Path(recipe.output or f"runs/{recipe.name}")
