"""Is a PEFT folder an adapter that a vLLM server plays as it was trained? Checked before it is published."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM can be started for."""

_UNSUPPORTED = (
    "use_dora", "use_qalora", "lora_bias", "modules_to_save", "rank_pattern", "alpha_pattern",
    "fan_in_fan_out", "target_parameters", "trainable_token_indices", "alora_invocation_tokens",
    "layer_replication",
)  # fmt: skip
_CHANGES_BASE = ("pissa", "olora", "corda", "loftq")
_KEY = re.compile(
    r"base_model\.model\.(?:model\.)?language_model\.(?:model\.)?layers\.\d+\.[a-z_.]+\.lora_([AB])\.weight"
)


class AdapterError(ValueError):
    """An adapter that must not be served; the message says why and what to do."""


@dataclass(frozen=True)
class AdapterFacts:
    """What a checked folder holds.

    Attributes:
        rank: LoRA rank.
        alpha: LoRA alpha.
        base_model: Folder or Hub id of the model it was trained on.
        pairs: Number of adapted layers.
        dtype: Of the weights, for example ``float32``.
        largest: Largest absolute value of any ``lora_B``, above zero.
    """

    rank: int
    alpha: float
    base_model: str
    pairs: int
    dtype: str
    largest: float


def check_adapter(folder: Path) -> AdapterFacts:
    """Read and check ``adapter_config.json`` and ``adapter_model.safetensors``.

    Args:
        folder: A PEFT folder, for example ``exports/global_step_160/policy`` of a run.

    Raises:
        AdapterError: If a server would refuse the adapter, or play another policy than the trained one.
    """
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise AdapterError(
                f"{folder} has no {name}; give a PEFT folder, such as RUN/exports/global_step_N/policy"
            )
    config = _config(folder / CONFIG)
    rank = int(config["r"])
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            kinds, largest = _check_weights(file, rank, folder)
    except SafetensorError as error:
        raise AdapterError(f"{folder / WEIGHTS} can't be read ({error}); export the adapter again") from error
    return AdapterFacts(
        rank=rank,
        alpha=float(config["lora_alpha"]),
        base_model=config["base_model_name_or_path"],
        pairs=len(kinds),
        dtype="+".join(sorted({str(kind).removeprefix("torch.") for kind in kinds.values()})),
        largest=largest,
    )


def _config(path: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kind, rank, targets = config.get("peft_type"), config["r"], config["target_modules"]
        float(config["lora_alpha"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AdapterError(f"{path} is damaged ({error!r}); export the adapter again") from error
    if kind != "LORA":
        raise AdapterError(f"{path}: peft_type is {kind!r}; only LORA can be served")
    if rank not in RANKS:
        raise AdapterError(f"{path}: rank {rank!r} is none that vLLM serves: {', '.join(map(str, RANKS))}")
    for name in _UNSUPPORTED:
        if config.get(name):
            raise AdapterError(f"{path}: {name}={config[name]!r} can't be served; train a plain LoRA")
    if config.get("bias", "none") != "none":
        raise AdapterError(f"{path}: bias={config['bias']!r} can't be served; train with bias none")
    if str(config.get("init_lora_weights")).lower().startswith(_CHANGES_BASE):
        raise AdapterError(
            f"{path}: init_lora_weights={config['init_lora_weights']!r} has changed the base model too; "
            "train with SkyRL's default"
        )
    if isinstance(targets, list) and targets and all(len(name) == 1 for name in targets):
        raise AdapterError(
            f"{path}: target_modules is a list of single letters, a pattern written letter by letter; "
            "train with a list of module names"
        )
    if not config.get("base_model_name_or_path"):
        raise AdapterError(f"{path} names no base model; set base_model_name_or_path to what was trained")
    return config


def _check_weights(file: Any, rank: int, folder: Path) -> tuple[dict[str, torch.dtype], float]:
    """The dtype of each adapted layer, and the largest absolute ``lora_B``."""
    keys = set(file.keys())
    kinds: dict[str, torch.dtype] = {}
    largest = 0.0
    for key in sorted(keys):
        found = _KEY.fullmatch(key)
        if found is None:
            raise AdapterError(f"{folder}: {_stranger(key)}")
        side = found[1]
        layer, other = key.rsplit(".lora_", 1)[0], "B" if side == "A" else "A"
        if f"{layer}.lora_{other}.weight" not in keys:
            raise AdapterError(f"{folder}: {key} has no lora_{other}; export the adapter again")
        tensor: torch.Tensor = file.get_tensor(key)
        if tensor.ndim != 2 or tensor.shape[0 if side == "A" else 1] != rank:
            raise AdapterError(f"{folder}: {key} has shape {tuple(tensor.shape)}, but the rank is {rank}")
        if not torch.isfinite(tensor).all():
            raise AdapterError(f"{folder}: {key} holds NaN or infinity; publish an earlier step")
        if side == "B":
            largest = max(largest, float(tensor.abs().max()))
        kinds[layer] = tensor.dtype
    if not largest > 0:
        raise AdapterError(f"{folder}: every lora_B is zero, so this adapter changes nothing; train it first")
    return kinds, largest


def _stranger(key: str) -> str:
    if ".visual." in key:
        return (
            f"{key} belongs to the vision tower, which vLLM would silently leave out; train with LoRA on "
            "the language model alone (the recipes do)"
        )
    return f"{key} is no LoRA weight of a language model's layer"
