"""What makes a Qwen3-VL slow on a CPU, and how is the same computed faster?

The vision tower embeds patches by a 3-D convolution whose kernel covers each patch exactly once, and
attends within each picture in a Python loop. A matrix product over the same weight, and one batched
attention over pictures of equal size, give the same numbers up to rounding.

The language model gets a mask as soon as a batch is padded, and then computes the half of the attention that
causality forbids. Padding at the end needs none: what comes later is not attended to anyway.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers.models.qwen3_vl.modeling_qwen3_vl import (
    Qwen3VLTextModel,
    Qwen3VLVisionAttention,
    Qwen3VLVisionPatchEmbed,
    apply_rotary_pos_emb_vision,
)


class LinearPatchEmbed(Qwen3VLVisionPatchEmbed):
    """Embeds flat patches by a matrix product."""

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """``(patches, channels * frames * patch * patch)`` to ``(patches, hidden)``."""
        if type(self.proj) is not nn.Conv3d:  # wrapped, for example by an adapter
            return super().forward(hidden_states)
        weight = self.proj.weight
        return functional.linear(hidden_states.to(weight.dtype), weight.flatten(1), self.proj.bias)


class BatchedVisionAttention(Qwen3VLVisionAttention):
    """Attends within all pictures at once if they have the same number of patches."""

    def forward(
        self,
        hidden_states: torch.Tensor,
        cu_seqlens: torch.Tensor,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        max_seqlen: int | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """As the original: ``(patches, hidden)`` to the same shape."""
        bounds = cu_seqlens.tolist()
        count, length = len(bounds) - 1, bounds[1]
        if (
            self.config._attn_implementation != "sdpa"
            or position_embeddings is None
            or bounds != list(range(0, length * count + 1, length))
        ):
            return super().forward(hidden_states, cu_seqlens, position_embeddings, max_seqlen, **kwargs)
        total = hidden_states.shape[0]
        qkv = self.qkv(hidden_states).view(total, 3, self.num_heads, self.head_dim)
        query, key = apply_rotary_pos_emb_vision(qkv[:, 0], qkv[:, 1], *position_embeddings)
        query, key, value = (x.unflatten(0, (count, length)).transpose(1, 2) for x in (query, key, qkv[:, 2]))
        mixed = functional.scaled_dot_product_attention(query, key, value, scale=self.scaling)
        return self.proj(mixed.transpose(1, 2).reshape(total, -1))


class UnmaskedTextModel(Qwen3VLTextModel):
    """Leaves the mask out where all padding is at the end; outputs at the padding then differ."""

    def forward(self, *args: Any, attention_mask: torch.Tensor | None = None, **kwargs: Any) -> Any:
        """As the original, which see."""
        if (
            attention_mask is not None
            and attention_mask.dim() == 2
            and kwargs.get("past_key_values") is None
            and bool((attention_mask.diff(dim=1) <= 0).all())
        ):
            attention_mask = None
        return super().forward(*args, attention_mask=attention_mask, **kwargs)


_FASTER: dict[type[nn.Module], type[nn.Module]] = {
    Qwen3VLVisionPatchEmbed: LinearPatchEmbed,
    Qwen3VLVisionAttention: BatchedVisionAttention,
    Qwen3VLTextModel: UnmaskedTextModel,
}


def speed_up(model: nn.Module) -> int:
    """Let a Qwen3-VL inside ``model`` compute the same faster, in place.

    Only the class of some modules changes: parameters, their names, hooks and wrappers stay. Call it
    before sharding, which changes classes itself.

    Returns:
        How many modules were changed; 0 the second time.
    """
    changed = 0
    for module in model.modules():
        faster = _FASTER.get(type(module))
        if faster is not None:
            module.__class__ = faster
            changed += 1
    return changed
