"""Transcripts as OpenAI chat messages: one JSON object a line, pictures as data URIs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.files import write_text


def write(dialogues: Iterable[MazeDialogue], folder: Path) -> Path:
    """Write ``messages.jsonl``: ``{"messages": [...]}`` for each transcript."""
    path = folder / "messages.jsonl"
    lines = [json.dumps({"messages": dialogue.messages}, ensure_ascii=False) for dialogue in dialogues]
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path
