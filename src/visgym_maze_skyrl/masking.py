"""How do trainer and engine agree on tokens that may never be sampled?

A sampled image token would make a history that no model can read, so engines exclude it and its like. The
trainer then has to give them no probability either; otherwise its log-probabilities differ from the
engine's by the mass that was taken from those tokens.
"""

from __future__ import annotations

from typing import Any

import torch

from visgym_maze_skyrl.local.sampling import forbidden_tokens


def forbid(model: Any, tokenizer: Any) -> None:
    """Give the forbidden tokens no probability in the model's logits from now on.

    Args:
        model: A Hugging Face model, with or without an adapter.
        tokenizer: Its tokenizer.
    """
    tokens = forbidden_tokens(tokenizer, model.config.get_text_config().vocab_size)

    def mask(module: Any, inputs: Any, logits: torch.Tensor) -> torch.Tensor:
        # Finite, so that probability times log-probability is zero in an entropy and not NaN.
        return logits.masked_fill(tokens.to(logits.device), -1e4)

    model.get_output_embeddings().register_forward_hook(mask)


def sampling_arguments(tokenizer: Any) -> dict[str, Any]:
    """Sampling parameters for vLLM that exclude the forbidden tokens, and leave out texts: ids are enough.

    A bias of -100 on each of them, which leaves less than 1e-20 of probability even at temperature 2: a
    list of the allowed ids would be exact, but travels with every request and is checked there.
    """
    tokens = forbidden_tokens(tokenizer, max(tokenizer.get_vocab().values()) + 1)
    bias = {str(i): -100.0 for i in torch.nonzero(tokens).flatten().tolist()}
    return {"logit_bias": bias, "detokenize": False}
