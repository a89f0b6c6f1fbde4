"""Which token comes next? Masked, reproducible sampling."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

FORBIDDEN = (
    "<|im_start|>",
    "<|endoftext|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
)
"""Tokens that a policy must not write: one more image token than there are pictures, for example,
makes a history that no model can read."""


def forbidden_tokens(tokenizer: PreTrainedTokenizerBase, vocab_size: int) -> torch.Tensor:
    """Which ids can never be sampled; a trainer has to mask the same ones.

    Args:
        tokenizer: Tells the ids of the :data:`FORBIDDEN` tokens.
        vocab_size: Width of the logits. Ids beyond the tokenizer's own are forbidden too.

    Returns:
        Bool tensor of shape ``(vocab_size,)``.
    """
    vocabulary = tokenizer.get_vocab()
    mask = torch.zeros(vocab_size, dtype=torch.bool)
    mask[max(vocabulary.values()) + 1 :] = True
    for token in FORBIDDEN:
        if token in vocabulary:
            mask[vocabulary[token]] = True
    return mask


def uniforms(seed: int, round_: int, session: str, position: int, count: int) -> NDArray[np.float64]:
    """The random numbers of one sample: they depend on the arguments alone.

    So a sample does not depend on which others are drawn beside it or before it.
    """
    name = int.from_bytes(hashlib.blake2b(session.encode(), digest_size=8).digest(), "big")
    sequence = np.random.SeedSequence(seed, spawn_key=(round_, name, position))
    return np.random.Generator(np.random.PCG64(sequence)).random(count)


def draw(
    logits: torch.Tensor,
    forbidden: torch.Tensor,
    u: torch.Tensor,
    temperature: torch.Tensor,
    top_p: torch.Tensor,
    top_k: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample one token per row by inverting the cumulative distribution.

    Args:
        logits: Of shape ``(n, vocabulary)``.
        forbidden: Bool of shape ``(vocabulary,)``; see :func:`forbidden_tokens`.
        u: One number in [0, 1) per row, float64.
        temperature: One per row; 0 takes the likeliest token.
        top_p: One per row; 1 keeps all.
        top_k: One per row; below 1 keeps all.

    Returns:
        Ids, int64 of shape ``(n,)``, and their log-probabilities, float32: at the row's temperature
        (1 for greedy rows), without the forbidden tokens, before ``top_p`` and ``top_k``.
    """
    greedy = temperature == 0
    scaled = logits.float() / torch.where(greedy, 1.0, temperature)[:, None]
    log_probs = scaled.masked_fill_(forbidden, -torch.inf).log_softmax(-1)
    probs = _truncate(log_probs.double().exp(), top_p, top_k)
    cumulative = probs.cumsum(-1)
    # Rounding may leave the total below 1; scaling u by it keeps the choice inside the support.
    chosen = (cumulative <= (u * cumulative[:, -1])[:, None]).sum(-1)
    ids = torch.where(greedy, log_probs.argmax(-1), chosen)
    return ids, log_probs.gather(-1, ids[:, None]).squeeze(-1)


def _truncate(probs: torch.Tensor, top_p: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    """Drop what lies outside of each row's ``top_k`` likeliest tokens and its nucleus ``top_p``."""
    if bool((top_p >= 1).all() and (top_k < 1).all()):
        return probs
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(probs.shape[-1], device=probs.device)
    beyond_k = (top_k[:, None] >= 1) & (rank >= top_k[:, None])
    # The token that crosses top_p stays, so at least one does.
    beyond_p = ordered.cumsum(-1) - ordered >= top_p[:, None]
    return torch.zeros_like(probs).scatter(-1, order, ordered.masked_fill(beyond_k | beyond_p, 0.0))
