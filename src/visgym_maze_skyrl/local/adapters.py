"""How does a LoRA adapter on disk become part of a model's weights?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

_PREFIX = "base_model.model."
_UNSUPPORTED = ("use_dora", "fan_in_fan_out", "rank_pattern", "alpha_pattern", "modules_to_save")


def adapter_deltas(folder: str | Path) -> dict[str, torch.Tensor]:
    """Read a PEFT LoRA folder as what it adds to the base weights.

    Args:
        folder: Holds ``adapter_config.json`` and ``adapter_model.safetensors``.

    Returns:
        ``scale * B @ A`` in float32, by the name of the weight in the base model.

    Raises:
        ValueError: If the adapter is of a kind whose effect is not such a sum.
    """
    config: dict[str, Any] = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8"))
    unsupported = [name for name in _UNSUPPORTED if config.get(name)]
    if config.get("peft_type") != "LORA" or unsupported or config.get("bias", "none") != "none":
        what = unsupported[0] if unsupported else f"{config.get('peft_type')} with bias {config.get('bias')}"
        raise ValueError(f"{folder}: only plain LoRA adapters can be merged, this one uses {what}")
    rank = config["r"]
    scale = config["lora_alpha"] / (math.sqrt(rank) if config.get("use_rslora") else rank)
    weights = load_file(Path(folder) / "adapter_model.safetensors")
    deltas: dict[str, torch.Tensor] = {}
    for name, down in weights.items():
        module, found, _ = name.partition(".lora_A.weight")
        if found:
            up = weights[f"{module}.lora_B.weight"]
            deltas[f"{module.removeprefix(_PREFIX)}.weight"] = scale * (up.float() @ down.float())
    if 2 * len(deltas) != len(weights):
        raise ValueError(
            f"{folder}: expected pairs of lora_A and lora_B weights only, got {sorted(weights)[:4]}"
        )
    return deltas


class AdapterSlot:
    """Merges one adapter at a time into a model, always on top of its pristine weights.

    Args:
        model: The base model.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._parameters = dict(model.named_parameters())
        self._pristine: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def load(self, folder: str | Path) -> None:
        """Replace the current adapter by the one in ``folder``.

        Raises:
            ValueError: If the adapter can't be merged or belongs to another model.
        """
        deltas = adapter_deltas(folder)
        for name, delta in deltas.items():
            if name not in self._parameters or self._parameters[name].shape != delta.shape:
                raise ValueError(f"{folder}: its weight {name} {tuple(delta.shape)} fits none of this model")
        self.unload()
        for name, delta in deltas.items():
            weight = self._parameters[name]
            self._pristine[name] = weight.detach().clone()
            weight.copy_(weight.float() + delta.to(weight.device))

    @torch.no_grad()
    def unload(self) -> None:
        """Back to the pristine weights."""
        for name, weight in self._pristine.items():
            self._parameters[name].copy_(weight)
        self._pristine.clear()
