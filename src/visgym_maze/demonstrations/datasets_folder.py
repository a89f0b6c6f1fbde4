"""Transcripts as a folder that ``datasets.load_dataset`` reads, with decoded pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from visgym_maze.demonstrations.pictures import PictureFolder
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.files import write_text


def write(dialogues: Iterable[MazeDialogue], folder: Path) -> Path:
    """Write ``metadata.jsonl`` and ``images/``: an ``imagefolder`` with several pictures a row.

    ``datasets.load_dataset(folder)`` gives the columns ``messages`` (contents are lists of parts, in
    which ``{"type": "image"}`` stands for the next picture) and ``images``.
    """
    pictures = PictureFolder(folder)
    path = folder / "metadata.jsonl"
    lines = [json.dumps(_row(dialogue, pictures), ensure_ascii=False) for dialogue in dialogues]
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path


def _row(dialogue: MazeDialogue, pictures: PictureFolder) -> dict[str, Any]:
    messages = dialogue.messages
    return {
        # The suffix makes `datasets` open these files as the column "images".
        "images_file_names": pictures.add(messages),
        "messages": [{"role": m["role"], "content": _parts(m["content"])} for m in messages],
    }


def _parts(content: str | list[dict[str, Any]]) -> list[dict[str, str]]:
    """Every content as a list of parts, because a column has one type."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part if part["type"] == "text" else {"type": "image"} for part in content]
