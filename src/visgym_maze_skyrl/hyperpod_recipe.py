"""Which settings train an 8B model on three nodes of two GPUs, and where does each of them come from?

Published: the values of AWS' walk-through of SkyRL and VisGym on SageMaker HyperPod. Ours: what it leaves
open, with the reason. A plain table, so that the recipe, the documentation and its tests read one source.
"""

from __future__ import annotations

from typing import NamedTuple

HYPERPOD_NAME = "hyperpod-qwen3-vl-8b"


class Setting(NamedTuple):
    """One field of the recipe.

    Attributes:
        value: What it is set to.
        source: ``published``, ``SkyRL default`` or ``ours``, and why.
    """

    value: str | int | float | bool
    source: str


HYPERPOD: dict[str, Setting] = {
    "model": Setting(
        "Qwen/Qwen3-VL-8B-Instruct",
        "ours: can be had by its name; the published run starts from VisGym's fine-tuned checkpoint "
        "(model=FOLDER)",
    ),
    "trust_remote_code": Setting(False, "ours: SkyRL's default runs code that a model brings along"),
    "size": Setting(9, "ours: VisGym's easy size"),
    "maze_generator": Setting("wilson", "ours: uniform over all mazes of a size"),
    "endpoints": Setting("corners", "ours: no cell in sight of the goal by luck"),
    "train_levels": Setting(16384, "ours: no maze is played twice within 200 steps"),
    "eval_levels": Setting(64, "published"),
    "max_turns": Setting(15, "published"),
    "goal_rule": Setting("stop", "ours: VisGym's rule, the policy has to say that it has arrived"),
    "dialect": Setting("tag", "ours: the answer form of SkyRL's example for the instruct model"),
    "prompt": Setting("standard", "ours: explains the task to a model that has not seen it"),
    "observe": Setting("image", "ours: VisGym's observation"),
    "style": Setting("visgym", "ours: pixel for pixel VisGym's pictures"),
    "feedback": Setting(True, "ours: VisGym tells what the last answer did"),
    "reward_success": Setting(1.0, "ours: the reward is the metric"),
    "reward_format": Setting(0.0, "ours: the reward is the metric"),
    "reward_progress": Setting(0.0, "ours: the reward is the metric"),
    "reward_step": Setting(0.0, "ours: the reward is the metric"),
    "reward_bump": Setting(0.0, "ours: the reward is the metric"),
    "group_size": Setting(8, "published"),
    "mazes_per_step": Setting(24, "ours: 24 x 8 episodes are 32 for each of six GPUs"),
    "temperature": Setting(1.0, "SkyRL default"),
    "eval_temperature": Setting(0.7, "ours: as in the other recipes"),
    "max_new_tokens": Setting(256, "ours: room for a thought before each of 15 answers"),
    "max_context": Setting(8192, "ours: 15 answers at their longest, 16 pictures of 49 tokens, and texts"),
    "steps": Setting(200, "ours: beyond step 160, where the published run is best"),
    "learning_rate": Setting(1e-5, "ours: usual for LoRA on 8B; SkyRL's default, 1e-6, is for all weights"),
    "mini_batch_mazes": Setting(0, "ours: one update a step, so rollouts are on-policy"),
    "turn_credit": Setting(0.0, "published: GRPO, which gives all turns of a rollout one advantage"),
    "turn_discount": Setting(0.95, "ours; without effect while turn_credit is 0"),
    "micro_batch": Setting(1, "SkyRL default: logits of one conversation are 5 GB"),
    "gradient_checkpointing": Setting(True, "SkyRL default"),
    "kl": Setting(0.0, "ours: no second 8B model in memory; SkyRL's default has the term"),
    "clip_low": Setting(0.2, "SkyRL default"),
    "clip_high": Setting(0.2, "SkyRL default"),
    "lora_rank": Setting(32, "published"),
    "lora_alpha": Setting(32, "ours: scale 1"),
    "eval_every": Setting(10, "published"),
    "checkpoint_every": Setting(20, "published, for checkpoints and for adapter exports"),
    "keep_checkpoints": Setting(2, "ours: about 35 GB each; SkyRL keeps all"),
    "env_timeout": Setting(10.0, "ours: as in the other recipes"),
    "check_render": Setting(False, "ours: for debugging only"),
    "logger": Setting("tensorboard", "ours: SkyRL's default needs an account"),
    "seed": Setting(0, "ours"),
    "device": Setting("cuda", "ours: read by the local backend only"),
    "threads": Setting(0, "ours: read by the local backend only"),
    "gpus": Setting(2, "published: ml.g7e.12xlarge"),
    "nodes": Setting(3, "published"),
    "output": Setting(f"/shared/runs/{HYPERPOD_NAME}", "published layout: /shared/runs/RUN_ID"),
}

ENGINE_SOURCES: dict[str, str] = {
    "trainer.placement.colocate_all": "published: true",
    "generator.inference_engine.gpu_memory_utilization": "published: 0.45",
    "generator.inference_engine.num_engines": "published: 6, one for each GPU",
    "trainer.resume_mode": "published: latest, once there is a checkpoint",
    "trainer.policy.model.lora.target_modules": "ours: the language model alone; vLLM ignores adapters on "
    "the vision tower, so a policy that has them is not the one that samples",
}
"""Settings in SkyRL's own names that :mod:`visgym_maze_skyrl.config` derives, and their sources."""
