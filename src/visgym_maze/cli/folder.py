"""Whose is an evaluation's folder? It holds one evaluation, which is continued or left alone."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from visgym_maze.files import locked, write_text

SETTINGS = "evaluation.json"
EPISODES = "trajectories.jsonl"


@contextmanager
def claimed(folder: Path, settings: dict[str, Any]) -> Generator[Path]:
    """Hold a folder for one evaluation.

    Args:
        folder: Made if missing.
        settings: What an evaluation must share with the one in the folder to continue it; JSON-ready.

    Yields:
        The file of its episodes.

    Raises:
        ValueError: If the folder holds another evaluation, or another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    refusal = ValueError(f"another evaluation is writing to {folder}; wait for it, or take another --out")
    with locked(folder, refusal):
        _check(folder, json.loads(json.dumps(settings)))
        yield folder / EPISODES


def _check(folder: Path, settings: dict[str, Any]) -> None:
    path = folder / SETTINGS
    if not path.exists():
        if (folder / EPISODES).exists():
            raise ValueError(f"{folder} holds episodes of something else; take another --out")
        write_text(path, json.dumps(settings, indent=1) + "\n")
        return
    try:
        before: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged, so what {folder} holds is unknown; take another --out"
        ) from error
    for name in {**settings, **before}:
        if before.get(name) != settings.get(name):
            raise ValueError(
                f"the evaluation in {folder} has {name} {_short(before.get(name))}, this one "
                f"{_short(settings.get(name))}; take another --out, or the settings that it began with"
            )


def _short(value: Any) -> str:
    return json.dumps(value)[:200]
