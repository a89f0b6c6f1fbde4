"""In which file formats can transcripts be written?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from visgym_maze.demonstrations import datasets_folder, openai, sharegpt
from visgym_maze.dialogue.episode import MazeDialogue

FORMATS: dict[str, Callable[[Iterable[MazeDialogue], Path], Path]] = {
    "openai": openai.write,
    "sharegpt": sharegpt.write,
    "datasets": datasets_folder.write,
}
"""Writers by name: ``(dialogues, folder) -> path of the main file``."""


def write_demonstrations(
    dialogues: Iterable[MazeDialogue],
    folder: str | Path,
    *,
    format: str = "openai",  # noqa: A002 (the word that users look for)
) -> Path:
    """Write transcripts for a trainer.

    Args:
        dialogues: Episodes, for example from :func:`~visgym_maze.demonstrations.oracle.demonstrate`.
        folder: Where to; made if missing. Files of the same names are replaced.
        format: ``"openai"``: ``messages.jsonl`` with pictures as data URIs. ``"sharegpt"``: a
            LLaMA-Factory data set with ``dataset_info.json``. ``"datasets"``: a folder for Hugging
            Face's ``load_dataset``.

    Returns:
        Path of the main file.

    Raises:
        ValueError: If the format is unknown, there are no transcripts, or one of them does not
            end with an answer.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    return FORMATS[format](_checked(dialogues), Path(folder))


def _checked(dialogues: Iterable[MazeDialogue]) -> Iterator[MazeDialogue]:
    number = -1
    for number, dialogue in enumerate(dialogues):
        if not dialogue.done or dialogue.messages[-1]["role"] != "assistant":
            raise ValueError(f"transcript {number} does not end with an answer: play it to its end first")
        yield dialogue
    if number < 0:
        raise ValueError("there are no transcripts to write")
