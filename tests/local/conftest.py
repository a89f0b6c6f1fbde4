"""A random model, small enough to build in each test run, and short conversations to feed it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, Qwen3VLForConditionalGeneration

from visgym_maze import MazeDialogue, Split
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.engine import Engine
from visgym_maze_skyrl.local.pictures import Picture, PictureReader
from visgym_maze_skyrl.local.tiny import build_tiny

OPTIONS: dict[str, Any] = {"prompt": "brief", "style": "patch16"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    # Weights this wide give a random model opinions, so that a difference in what it sees shows.
    build_tiny(path, "xxs", seed=1, init_std=0.3)
    return path


@pytest.fixture(scope="session")
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="session")
def codec(folder: Path, tokenizer: Any) -> ChatCodec:
    return ChatCodec(tokenizer, PictureReader(folder))


@pytest.fixture
def load(folder: Path) -> Callable[[], Qwen3VLForConditionalGeneration]:
    def load_model() -> Qwen3VLForConditionalGeneration:
        return Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()

    return load_model


@pytest.fixture
def model(load: Callable[[], Qwen3VLForConditionalGeneration]) -> Qwen3VLForConditionalGeneration:
    return load()


@pytest.fixture
def engine(model: Qwen3VLForConditionalGeneration, tokenizer: Any) -> Engine:
    return Engine(model, tokenizer, seed=3)


@pytest.fixture(scope="session")
def openings(codec: ChatCodec) -> list[tuple[list[int], list[Picture]]]:
    """First prompts of five mazes of two sizes, so of two lengths."""
    levels = [*Split.make("train", 7, 3), *Split.make("train", 9, 2)]
    return [codec.first(MazeDialogue(level, **OPTIONS).reset()) for level in levels]


@pytest.fixture(scope="session")
def observation(codec: ChatCodec) -> tuple[list[int], list[Picture]]:
    """What follows an answer."""
    dialogue = MazeDialogue(Split.make("train", 7, 1)[0], **OPTIONS)
    dialogue.reset()
    return codec.later(dialogue.step("<action>left</action>").messages)


def stock_inputs(
    model: Qwen3VLForConditionalGeneration, ids: Sequence[int], pictures: Sequence[Picture]
) -> dict[str, torch.Tensor]:
    tokens = torch.tensor([ids])
    return {
        "input_ids": tokens,
        "mm_token_type_ids": (tokens == model.config.image_token_id).int(),
        "pixel_values": torch.cat([p.pixel_values for p in pictures]),
        "image_grid_thw": torch.cat([p.grid_thw for p in pictures]),
    }


@pytest.fixture(scope="session")
def stock_logits() -> Callable[..., torch.Tensor]:
    """What the stock model says of each token, without a cache and without our own positions."""

    def logits(
        model: Qwen3VLForConditionalGeneration, ids: Sequence[int], pictures: Sequence[Picture]
    ) -> torch.Tensor:
        model.model.rope_deltas = None
        with torch.no_grad():
            return model(**stock_inputs(model, ids, pictures)).logits[0]

    return logits
