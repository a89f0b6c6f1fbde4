"""What exactly was published? The manifest of an adapter: its name, its facts, and its files' SHA-256."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from visgym_maze_skyrl.adapter_folder import CONFIG, WEIGHTS, AdapterError, check_adapter

MANIFEST = "manifest.json"
_CHUNK = 1 << 20


def manifest_of(folder: Path, name: str) -> dict[str, Any]:
    """Check a PEFT folder and describe what publishing it would put where.

    Args:
        folder: The adapter; its step is taken from a parent folder ``global_step_N`` if there is one.
        name: Beginning of the published name.

    Returns:
        ``name`` (``NAME[-stepN]-`` and 8 digits of the content's hash), ``step``, ``adapter`` (what
        ``AdapterFacts`` holds) and ``files`` (``sha256`` and ``bytes`` of each).

    Raises:
        AdapterError: If the folder must not be served.
    """
    facts = check_adapter(folder)
    files = {file: hash_file(folder / file) for file in (WEIGHTS, CONFIG)}
    content = hashlib.sha256("".join(files[file]["sha256"] for file in (WEIGHTS, CONFIG)).encode())
    step = _step_of(folder)
    full = "-".join([name, *([] if step is None else [f"step{step}"]), content.hexdigest()[:8]])
    return {"name": full, "step": step, "adapter": asdict(facts), "files": files}


def check_copy(folder: Path) -> None:
    """Compare a downloaded adapter with the manifest that came with it.

    Args:
        folder: Holds the adapter's files and ``manifest.json``.

    Raises:
        AdapterError: If the manifest is missing or damaged, or a file isn't the one that was published.
    """
    try:
        expected: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())["files"]
        found = {file: hash_file(folder / file) for file in expected if (folder / file).is_file()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AdapterError(
            f"it has no sound {MANIFEST} ({error!r}); publish it with visgym-maze-train publish"
        ) from error
    for file in (WEIGHTS, CONFIG):
        if file not in expected or found.get(file) != expected[file]:
            raise AdapterError(f"its {file} is not the one that was published")


def hash_file(path: Path) -> dict[str, Any]:
    """``sha256`` and ``bytes`` of a file."""
    with path.open("rb") as file:
        return hash_stream(file)


def hash_stream(stream: IO[bytes]) -> dict[str, Any]:
    """``sha256`` and ``bytes`` of what is left of a stream."""
    digest, size = hashlib.sha256(), 0
    while block := stream.read(_CHUNK):
        digest.update(block)
        size += len(block)
    return {"sha256": digest.hexdigest(), "bytes": size}


def _step_of(folder: Path) -> int | None:
    for part in reversed(folder.absolute().parts):
        digits = part.removeprefix("global_step_")
        if digits != part and digits.isdigit():
            return int(digits)
    return None
