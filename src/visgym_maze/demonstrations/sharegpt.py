"""Transcripts in ShareGPT's form, as LLaMA-Factory reads them: pictures as files, and a catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from visgym_maze.demonstrations.pictures import PictureFolder, flat_text
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.files import write_text

NAME = "visgym_maze"
"""Name of the data set in the catalogue, for LLaMA-Factory's option ``dataset``."""

_SPEAKERS = {"user": "human", "assistant": "gpt"}
_CATALOGUE = {
    NAME: {
        "file_name": f"{NAME}.json",
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "images": "images", "system": "system"},
    }
}


def write(dialogues: Iterable[MazeDialogue], folder: Path) -> Path:
    """Write ``visgym_maze.json``, ``dataset_info.json`` and ``images/``.

    The folder is LLaMA-Factory's ``dataset_dir`` and ``media_dir`` at once.
    """
    pictures = PictureFolder(folder)
    records = [_record(dialogue, pictures) for dialogue in dialogues]
    path = folder / f"{NAME}.json"
    write_text(path, json.dumps(records, ensure_ascii=False, indent=1) + "\n")
    write_text(folder / "dataset_info.json", json.dumps(_CATALOGUE, indent=1) + "\n")
    return path


def _record(dialogue: MazeDialogue, pictures: PictureFolder) -> dict[str, Any]:
    messages = dialogue.messages
    turns = [message for message in messages if message["role"] != "system"]
    return {
        "conversations": [{"from": _SPEAKERS[m["role"]], "value": flat_text(m)} for m in turns],
        "system": dialogue.prompt.system,
        "images": pictures.add(messages),
    }
