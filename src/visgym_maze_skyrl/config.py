"""Which SkyRL settings does a recipe stand for?"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.utils import validate_cfg

from visgym_maze_skyrl.backend import gpu_count
from visgym_maze_skyrl.env import ENV_ID
from visgym_maze_skyrl.recipe import Recipe, RecipeError

TEXT_PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""LoRA targets: the language model only. vLLM ignores adapters on the vision tower, whose layers have
other names (``qkv``, ``proj``, ``linear_fc1``, ``linear_fc2``)."""


OWNED: dict[str, str] = {
    "generator.max_turns": "max_turns=...",
    "generator.n_samples_per_prompt": "group_size=...",
    "generator.max_input_length": "max_context=...",
    "generator.eval_n_samples_per_prompt": "nothing: each held-out maze is played once per evaluation",
    "generator.step_wise_trajectories": "nothing: a rollout is one sequence",
    "generator.vision_language_generator": "observe=...",
    "generator.sampling_params.temperature": "temperature=...",
    "generator.sampling_params.top_p": "temperature=...; rollouts come from the whole distribution",
    "generator.sampling_params.top_k": "temperature=...; rollouts come from the whole distribution",
    "generator.sampling_params.min_p": "temperature=...; rollouts come from the whole distribution",
    "generator.sampling_params.logprobs": "nothing: one log-probability per token is what the loss needs",
    "generator.sampling_params.additional_kwargs": "nothing: forbidden tokens are set there",
    "generator.inference_engine.engine_init_kwargs.logprobs_mode": "nothing: what was sampled from",
    "trainer.algorithm.temperature": "temperature=...",
    "trainer.algorithm.dynamic_sampling.type": "nothing: a run is a fixed sequence of groups",
    "trainer.policy.model.lora.rank": "lora_rank=...",
    "trainer.policy.model.lora.alpha": "lora_alpha=...",
    "trainer.strategy": "nothing: FSDP",
    "trainer.eval_batch_size": "eval_levels=...",
    "trainer.eval_before_train": "nothing: a missing evaluation is made",
    "generator.sampling_params.max_generate_length": "max_new_tokens=...",
    "trainer.train_batch_size": "mazes_per_step=...",
    "trainer.max_training_steps": "steps=...",
    "trainer.epochs": "steps=...; a run is one epoch",
    "trainer.seed": "seed=...",
    "trainer.policy.model.path": "model=...",
    "trainer.eval_interval": "eval_every=...",
    "trainer.ckpt_interval": "checkpoint_every=...",
    "trainer.hf_save_interval": "checkpoint_every=...",
    "trainer.ckpt_path": "output=...",
    "trainer.export_path": "output=...",
    "trainer.resume_mode": "--resume",
    "environment.env_class": "nothing: this package plays mazes",
}
"""SkyRL settings that the mazes, groups and logs of a run depend on, and what to set instead."""


def skyrl_config(
    recipe: Recipe, folder: Path, model_path: str, passed: list[str], *, local: bool, resume: bool
) -> SkyRLTrainConfig:
    """Build and validate SkyRL's configuration.

    Args:
        recipe: The run's settings.
        folder: The folder of the run.
        model_path: Folder or Hub id of the model.
        passed: Overrides in SkyRL's own names; they win over the recipe.
        local: Whether the policy trains in this process on a CPU.
        resume: Whether to continue from the newest checkpoint.

    Raises:
        RecipeError: If SkyRL refuses the settings.
    """
    for key in (item.split("=", 1)[0].lstrip("+") for item in passed):
        # A whole section would take its owned fields along.
        owned = next((name for name in OWNED if name == key or name.startswith(f"{key}.")), None)
        if owned is not None:
            raise RecipeError(f"{owned} belongs to the recipe; set {OWNED[owned]}")
    values = {
        **_common(recipe, folder, model_path, ranks=1 if local else _ranks(recipe), resume=resume),
        **(_local() if local else _cluster(recipe)),
    }
    arguments = {**values, **dict(item.split("=", 1) for item in passed)}
    try:
        cfg = SkyRLTrainConfig.from_cli_overrides([f"{k}={_text(v)}" for k, v in arguments.items()])
        validate_cfg(cfg)
    except Exception as error:
        raise RecipeError(f"SkyRL refuses these settings: {error}") from error
    # Set only now, because SkyRL asks for a key of Weights & Biases even where nothing is sent there.
    cfg.trainer.logger = recipe.logger
    return cfg


def _ranks(recipe: Recipe) -> int:
    return recipe.nodes * (recipe.gpus or max(gpu_count(), 1))


def _common(recipe: Recipe, folder: Path, model_path: str, *, ranks: int, resume: bool) -> dict[str, Any]:
    mazes = recipe.mazes_per_step
    update = max((recipe.mini_batch_mazes or mazes) * recipe.group_size // ranks, 1)
    micro_batch = max(n for n in range(1, min(recipe.micro_batch, update) + 1) if update % n == 0)
    lora = recipe.lora_rank > 0
    values: dict[str, Any] = {
        "trainer.strategy": "fsdp",
        "trainer.policy.model.path": model_path,
        "trainer.policy.model.lora.rank": recipe.lora_rank,
        "trainer.policy.model.lora.alpha": recipe.lora_alpha,
        "trainer.policy.model.lora.lora_sync_path": folder / "lora_sync",
        "trainer.policy.optimizer_config.lr": recipe.learning_rate,
        "trainer.policy.optimizer_config.weight_decay": 0.0,
        "trainer.algorithm.advantage_estimator": "grpo",
        "trainer.algorithm.use_kl_loss": recipe.kl > 0,
        "trainer.algorithm.kl_loss_coef": recipe.kl,
        "trainer.algorithm.eps_clip_low": recipe.clip_low,
        "trainer.algorithm.eps_clip_high": recipe.clip_high,
        "trainer.algorithm.temperature": recipe.temperature,
        "trainer.train_batch_size": mazes,
        "trainer.policy_mini_batch_size": recipe.mini_batch_mazes or mazes,
        "trainer.micro_train_batch_size_per_gpu": micro_batch,
        "trainer.micro_forward_batch_size_per_gpu": micro_batch,
        "trainer.remove_microbatch_padding": False,
        "trainer.gradient_checkpointing": recipe.gradient_checkpointing,
        "trainer.max_prompt_length": recipe.max_context,
        "trainer.epochs": 1,
        "trainer.max_training_steps": recipe.steps,
        "trainer.eval_interval": recipe.eval_every,
        "trainer.eval_before_train": True,
        "trainer.eval_batch_size": recipe.eval_levels,
        "trainer.dump_eval_results": False,
        "trainer.ckpt_interval": recipe.checkpoint_every,
        "trainer.ckpt_path": folder / "checkpoints",
        "trainer.max_ckpts_to_keep": recipe.keep_checkpoints,
        "trainer.hf_save_interval": recipe.checkpoint_every,
        "trainer.export_path": folder / "exports",
        "trainer.log_path": folder / "logs",
        "trainer.resume_mode": "latest" if resume else "none",
        "trainer.logger": "console",
        "trainer.project_name": "visgym-maze",
        "trainer.run_name": recipe.name,
        "trainer.seed": recipe.seed,
        "trainer.print_example_interval": -1,
        "generator.vision_language_generator": True,
        "generator.batched": False,
        "generator.n_samples_per_prompt": recipe.group_size,
        "generator.max_turns": recipe.max_turns,
        "generator.max_input_length": recipe.max_context,
        "generator.sampling_params.max_generate_length": recipe.max_new_tokens,
        "generator.sampling_params.temperature": recipe.temperature,
        "environment.env_class": ENV_ID,
        "data.train_data": "[]",
        "data.val_data": "[]",
        "data.dataloader.num_workers": 0,
    }
    if lora:
        values["trainer.policy.model.lora.target_modules"] = "[" + ",".join(TEXT_PROJECTIONS) + "]"
    return values


def _local() -> dict[str, Any]:
    return {
        "trainer.flash_attn": False,
        "trainer.placement.colocate_all": False,
        "trainer.placement.colocate_policy_ref": False,
        "trainer.enable_ray_gpu_monitor": False,
        "trainer.bf16": False,
        "trainer.policy.fsdp_config.mixed_precision.param_dtype": "fp32",
        "trainer.ref.fsdp_config.mixed_precision.param_dtype": "fp32",
        "generator.inference_engine.enable_ray_prometheus_stats": False,
        "generator.inference_engine.num_engines": 1,
    }


def _cluster(recipe: Recipe) -> dict[str, Any]:
    ranks = _ranks(recipe)
    gpus = ranks // recipe.nodes
    engine = "generator.inference_engine"
    flash_attention = importlib.util.find_spec("flash_attn") is not None
    return {
        "trainer.flash_attn": flash_attention,
        "trainer.placement.colocate_all": True,
        "trainer.placement.policy_num_nodes": recipe.nodes,
        "trainer.placement.policy_num_gpus_per_node": gpus,
        "trainer.placement.ref_num_nodes": recipe.nodes,
        "trainer.placement.ref_num_gpus_per_node": gpus,
        f"{engine}.num_engines": ranks,
        f"{engine}.gpu_memory_utilization": 0.45,
        # Room for the prompt at its limit, one more observation and one more answer.
        f"{engine}.engine_init_kwargs.max_model_len": 2 * recipe.max_context,
        f"{engine}.engine_init_kwargs.limit_mm_per_prompt.image": recipe.max_turns + 1,
        f"{engine}.engine_init_kwargs.limit_mm_per_prompt.video": 0,
        # SkyRL switches this cache off; with it a picture is sent once per conversation.
        f"{engine}.engine_init_kwargs.mm_processor_cache_gb": 4,
        # Log-probabilities of the distribution that is really sampled from: after temperature and masks.
        f"{engine}.engine_init_kwargs.logprobs_mode": "processed_logprobs",
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
