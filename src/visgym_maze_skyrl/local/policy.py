"""How does a model folder play? The bridge from the sampling engine to ``visgym_maze.evaluate``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import AutoTokenizer, Qwen3VLForConditionalGeneration

from visgym_maze import Layout, MazeDialogue
from visgym_maze.ledger import Ledger
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.engine import Engine, Request
from visgym_maze_skyrl.local.pictures import Picture, PictureReader


@dataclass
class _History:
    session: str
    ids: list[int]
    pictures: list[Picture]
    messages: int


class ModelPolicy:
    """A Qwen3-VL that answers episodes; fits :func:`visgym_maze.evaluate`.

    What it samples depends on the seed, the maze and how often it has played it, not on which other
    episodes it plays; so an evaluation that goes on where it was stopped ends as it would have.

    Args:
        engine: Samples the answers.
        codec: Encodes the conversations.
        temperature: Above 0, or 0 for greedy answers.
        max_tokens: Longest answer.
        name: Part of the session names: policies that share an engine and a name also share
            random numbers.
    """

    def __init__(
        self,
        engine: Engine,
        codec: ChatCodec,
        *,
        temperature: float = 1.0,
        max_tokens: int = 16,
        name: str = "play",
    ) -> None:
        self.engine = engine
        self.codec = codec
        self.temperature = temperature
        self.max_tokens = max_tokens
        self._name = name
        self._played: Counter[Layout] = Counter()
        self._ledger = Ledger()
        self._histories: WeakKeyDictionary[MazeDialogue, _History] = WeakKeyDictionary()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        adapter: str | Path | None = None,
        *,
        temperature: float = 1.0,
        max_tokens: int = 16,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> ModelPolicy:
        """Load a model folder (or Hub id) and, if given, a PEFT LoRA adapter on top of it.

        Raises:
            ValueError: If a folder holds something else, or there is no such device.
        """
        _check_device(device)
        if Path(folder).is_dir():
            _check_model(Path(folder))
        if adapter is not None and not (Path(adapter) / "adapter_config.json").is_file():
            raise ValueError(
                f"{adapter} holds no adapter_config.json; give the folder of a PEFT LoRA adapter"
            )
        model: Any = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=dtype)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        engine = Engine(model.to(device), tokenizer, seed=seed)
        if adapter is not None:
            engine.load_adapter(adapter)
        codec = ChatCodec(tokenizer, PictureReader(folder))
        return cls(engine, codec, temperature=temperature, max_tokens=max_tokens)

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """Sample one answer per episode, all at once."""
        histories = [self._history(dialogue) for dialogue in dialogues]
        samples = self.engine.generate(
            [Request(h.session, h.ids, h.pictures, self.max_tokens, self.temperature) for h in histories]
        )
        for dialogue, history, sample in zip(dialogues, histories, samples, strict=True):
            closed = sample.ids[-1] == self.codec.end_id
            history.ids = history.ids + sample.ids + ([] if closed else [self.codec.end_id])
            history.messages = len(dialogue.messages) + 1
            self._ledger.add(dialogue, tokens=len(sample.ids))
        return [self.codec.text(sample.ids) for sample in samples]

    def account(self, dialogue: MazeDialogue) -> dict[str, Any]:
        """Tokens sampled. Answers are sampled together, so there is no time of a single one."""
        return self._ledger.of(dialogue)

    def _history(self, dialogue: MazeDialogue) -> _History:
        history = self._histories.get(dialogue)
        if history is None or len(dialogue.messages) <= history.messages:
            ids, pictures = self.codec.first(dialogue.messages)
            layout = dialogue.layout
            history = _History(f"{self._name}-{layout.key}-{self._played[layout]}", ids, pictures, 0)
            self._played[layout] += 1
            self._histories[dialogue] = history
        else:
            ids, pictures = self.codec.later(dialogue.messages[history.messages :])
            history.ids = history.ids + ids
            history.pictures = history.pictures + pictures
        return history


def _check_model(folder: Path) -> None:
    if (folder / "adapter_config.json").is_file():
        raise ValueError(
            f"{folder} holds a LoRA adapter; give the model that it was trained from, and the folder as its "
            "adapter (--adapter)"
        )
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} holds no config.json; give a Hugging Face model folder")
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "qwen3_vl":
        raise ValueError(
            f"{folder} holds a model of type {config.get('model_type')!r}, only qwen3_vl can be played here; "
            "serve it behind an OpenAI-compatible endpoint and play that"
        )


def _check_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"there is no device {device!r} ({reason}); take cpu, or cuda on a GPU") from error
