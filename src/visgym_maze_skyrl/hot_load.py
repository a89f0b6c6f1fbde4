"""Does the engine use the adapter that it was told to load? Asked once, before training starts.

An engine that answers "ok" and goes on with what it had would sample every rollout from the first policy,
and nothing in a training curve says so.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from loguru import logger
from safetensors.torch import load_file, save_file
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInput
from skyrl.backends.skyrl_train.inference_servers.remote_inference_client import SKYRL_LORA_ADAPTER_NAME

from visgym_maze_skyrl.masking import sampling_arguments

_WEIGHTS = "adapter_model.safetensors"
_NOISE = 0.2
_PROBE = "left right up down"


class HotLoadError(RuntimeError):
    """The engine did not take an adapter, or did not let go of one."""


def newest_adapter(folder: Path) -> Path:
    """The adapter that was synced last: ``folder`` itself, or its newest ``sync_...``."""
    return max(folder.glob("sync_*"), default=folder)


async def check_hot_load(client: Any, tokenizer: Any, folder: Path, model: str) -> float:
    """Load a random adapter over the live one and the live one again; the answers have to follow.

    Args:
        client: SkyRL's inference client, awake, with the adapter of ``folder`` loaded.
        tokenizer: The model's tokenizer.
        folder: The adapter that was synced last, in PEFT's form.
        model: Name that requests carry.

    Returns:
        By how much the random adapter moved a log-probability.

    Raises:
        HotLoadError: If it moved none, or the live adapter did not come back.
    """
    before = await _logprob(client, tokenizer, model)
    other = folder.with_name("hot_load_probe")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    generator = torch.Generator().manual_seed(0)
    weights = load_file(other / _WEIGHTS)
    for name, tensor in weights.items():
        if ".lora_B." in name:
            noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
            weights[name] = (_NOISE * noise).to(tensor.dtype)
    save_file(weights, other / _WEIGHTS)
    try:
        await _load(client, other)
        moved = abs(await _logprob(client, tokenizer, model) - before)
        await _load(client, folder)
        back = abs(await _logprob(client, tokenizer, model) - before)
    finally:
        shutil.rmtree(other, ignore_errors=True)
    if moved < 1e-3:
        raise HotLoadError(
            f"the inference engine said that it had loaded an adapter, but its log-probabilities moved by "
            f"{moved:.1e} only: rollouts would not follow the policy. Check that LoRA is switched on in the "
            "engine and that it knows the adapter's layers"
        )
    if back > moved / 2:
        raise HotLoadError(
            f"the inference engine keeps an older adapter: after loading the first one again its "
            f"log-probabilities still differ by {back:.1e}"
        )
    logger.info(f"adapter hot-load works: a random adapter moves a log-probability by {moved:.2f}")
    return moved


async def _load(client: Any, folder: Path) -> None:
    await client.load_lora_adapter(SKYRL_LORA_ADAPTER_NAME, str(folder))
    await client.reset_prefix_cache()


async def _logprob(client: Any, tokenizer: Any, model: str) -> float:
    """Log-probability of the likeliest next token, which is not zero for any real model."""
    request = InferenceEngineInput(
        prompts=None,
        prompt_token_ids=[tokenizer.encode(_PROBE, add_special_tokens=False)],
        sampling_params={"max_tokens": 1, "temperature": 0.0, "logprobs": 1, **sampling_arguments(tokenizer)},
        session_ids=["hot-load-probe"],
        mm_features=None,
        cache_salt=None,
        routed_experts_prompt_starts=None,
        return_sample_support=None,
    )
    output = await client.generate(request, model=model)
    await client.finish_session("hot-load-probe")
    return float(output["response_logprobs"][0][0])
