"""How is a Qwen3-VL made that is small enough for one CPU, yet real in every interface?

The result is a folder in Hugging Face form that stock ``AutoProcessor``, ``AutoTokenizer`` and
``AutoModelForImageTextToText`` load: the architecture, the special tokens and the form of the chat
template are those of Qwen3-VL, only the sizes and the vocabulary are not.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

from visgym_maze import Action
from visgym_maze.dialogue.parsing import DIALECTS, FailureReason
from visgym_maze.dialogue.prompts import PROMPTS

END, PAD = "<|im_end|>", "<|endoftext|>"
SPECIAL_TOKENS = (
    PAD,
    "<|im_start|>",
    END,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
ANSWER_TAGS = ("<action>", "</action>")
CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{- message.content }}
{%- else %}
{%- for part in message.content %}
{%- if part.type in ('image', 'image_url') %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}
{%- else %}{{- part.text }}
{%- endif %}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
PATCH, MERGE = 16, 2


class Size(NamedTuple):
    """Widths and depths of a tiny model; ``heads`` divides both hidden sizes."""

    hidden: int
    layers: int
    mlp: int
    vision_hidden: int
    vision_depth: int
    heads: int = 4


SIZES: dict[str, Size] = {
    "xxs": Size(hidden=32, layers=2, mlp=64, vision_hidden=16, vision_depth=1, heads=2),
    "xs": Size(hidden=64, layers=3, mlp=192, vision_hidden=32, vision_depth=1),
    "s": Size(hidden=96, layers=4, mlp=288, vision_hidden=32, vision_depth=1),
    "m": Size(hidden=128, layers=4, mlp=384, vision_hidden=64, vision_depth=2),
    "l": Size(hidden=128, layers=6, mlp=384, vision_hidden=64, vision_depth=2),
}
"""Named sizes: 0.1, 0.3, 0.6, 1.2 and 1.7 million parameters; ``xxs`` is for tests of the plumbing."""


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer on the texts of this task; the same one every time.

    It can spell any text. Roles, feedback words and the five action words are one token each, and so
    are the tags around an action.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        min_frequency=2,
        show_progress=False,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    core.train_from_iterator(_corpus(), trainer)
    core.add_tokens([AddedToken(tag, normalized=False) for tag in ANSWER_TAGS])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        pad_token=PAD,
        extra_special_tokens=[t for t in SPECIAL_TOKENS if t not in (END, PAD)],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def build_config(size: str, tokenizer: PreTrainedTokenizerFast, init_std: float = 0.08) -> Qwen3VLConfig:
    """The configuration of a named size.

    Args:
        size: A key of :data:`SIZES`.
        tokenizer: Gives the vocabulary and the ids of the special tokens.
        init_std: Standard deviation of fresh weights. The usual 0.02 is for wide models; ones this
            narrow hardly learn from there.

    Raises:
        ValueError: If the size is unknown.
    """
    if size not in SIZES:
        raise ValueError(f"unknown size {size!r}; known: {', '.join(SIZES)}")
    shape = SIZES[size]
    head = shape.hidden // shape.heads
    plane = head // 2 // 3
    text: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.mlp,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": head,
        "max_position_embeddings": 8192,
        "initializer_range": init_std,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            # Time gets what height and width leave of the head's rotation planes.
            "mrope_section": [head // 2 - 2 * plane, plane, plane],
            "mrope_interleaved": True,
        },
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision: dict[str, Any] = {
        "depth": shape.vision_depth,
        "hidden_size": shape.vision_hidden,
        "intermediate_size": 4 * shape.vision_hidden,
        "num_heads": shape.heads,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "out_hidden_size": shape.hidden,
        "num_position_embeddings": 64,  # one per patch of a 128-pixel picture; others interpolate
        "deepstack_visual_indexes": [0],
        "initializer_range": init_std,
    }
    ids: dict[str, int] = tokenizer.get_vocab()
    return Qwen3VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=True,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )


def build_tiny(
    folder: str | Path, size: str = "xs", seed: int = 0, *, init_std: float = 0.08
) -> Qwen3VLForConditionalGeneration:
    """Make a tiny Qwen3-VL with random weights and save it with its tokenizer and processor.

    Args:
        folder: Where to write; made if missing.
        size: A key of :data:`SIZES`.
        seed: Decides the weights.
        init_std: Standard deviation of the weights.

    Returns:
        The model, in float32 and evaluation mode.

    Raises:
        ValueError: If the size is unknown.
    """
    tokenizer = build_tokenizer()
    config = build_config(size, tokenizer, init_std)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(config).float().eval()
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    build_processor(tokenizer).save_pretrained(folder)
    model.save_pretrained(folder)
    return model


def build_processor(tokenizer: PreTrainedTokenizerFast) -> Qwen3VLProcessor:
    """The processor: pictures whose sides are multiples of 32 pixels are taken as they are."""
    half = [0.5, 0.5, 0.5]
    shared: dict[str, Any] = {
        "patch_size": PATCH,
        "merge_size": MERGE,
        "image_mean": half,
        "image_std": half,
        "size": {"shortest_edge": (PATCH * MERGE) ** 2, "longest_edge": 1024**2},
    }
    return Qwen3VLProcessor(
        Qwen2VLImageProcessorPil(**shared),
        tokenizer,
        Qwen3VLVideoProcessor(**shared),
        chat_template=CHAT_TEMPLATE,
    )


def _corpus() -> list[str]:
    """What is said in this task. Repeated words get merged into one token each."""
    words = [action.word for action in Action] + ["system", "user", "assistant", "ok", "wall", "invalid"]
    texts = [
        prompt.first_text(max_turns=turns, dialect=dialect, goal_rule=rule)
        for prompt in PROMPTS.values()
        for turns in (15, 25)
        for dialect in DIALECTS
        for rule in ("stop", "reach")
    ]
    texts += [str(getattr(prompt, f.name)) for prompt in PROMPTS.values() for f in fields(prompt)]
    texts += [str(reason).replace("_", " ") for reason in FailureReason]
    return [*words * 1000, *PROMPTS["brief"].first.split() * 100, *texts]
