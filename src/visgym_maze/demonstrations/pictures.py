"""How do the pictures of a transcript become files, each only once?"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from visgym_maze.dialogue.content import picture_urls
from visgym_maze.files import write_bytes

FOLDER = "images"
PLACEHOLDER = "<image>"
"""What stands for a picture in formats whose messages are plain strings."""


class PictureFolder:
    """Pictures beside a data set, named by their content: the same picture is written once.

    Args:
        root: Folder of the data set; the pictures go into its folder ``images``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: set[str] = set()

    def add(self, messages: Iterable[dict[str, Any]]) -> list[str]:
        """Write the pictures of some messages.

        Returns:
            Their paths relative to the root, in the order in which the messages show them.
        """
        names: list[str] = []
        for url in picture_urls(list(messages)):
            data = base64.b64decode(url.partition(",")[2])
            name = f"{FOLDER}/{hashlib.blake2b(data, digest_size=12).hexdigest()}.png"
            if name not in self._written:
                write_bytes(self._root / name, data)
                self._written.add(name)
            names.append(name)
        return names


def flat_text(message: dict[str, Any]) -> str:
    """A message as one string, with ``<image>`` where it shows a picture.

    Raises:
        ValueError: If its text holds the placeholder itself, which would count as a picture.
    """
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [part["text"] if part["type"] == "text" else None for part in parts]
    if any(text and PLACEHOLDER in text for text in texts):
        raise ValueError(
            f"a message of the {message['role']} holds the text {PLACEHOLDER}, a picture's place"
        )
    return "".join(PLACEHOLDER if text is None else text for text in texts)
