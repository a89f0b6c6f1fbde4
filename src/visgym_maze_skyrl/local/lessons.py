"""How do demonstrations become batches for supervised fine-tuning?

The tokens are those of the sampling loop: the first prompt, each answer with its end token, and
between them what the chat template puts there. Only answers are learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np
import torch

from visgym_maze import MazeDialogue, Message
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import Picture
from visgym_maze_skyrl.local.positions import rope_positions


@dataclass(frozen=True)
class LessonTurn:
    """What is seen before an answer, and the answer.

    Attributes:
        opening: Tokens of the observation if the transcript begins here.
        following: Tokens of the observation if it follows an answer.
        pictures: The pictures in it.
        answer: Tokens of the answer, its end token included.
    """

    opening: list[int]
    following: list[int]
    pictures: list[Picture]
    answer: list[int]


Lesson = list[LessonTurn]


def lesson_of(dialogue: MazeDialogue, codec: ChatCodec) -> Lesson:
    """Encode a finished episode.

    Every turn can also open a transcript: then the task text stands in front of its picture, as if
    the episode had begun in that cell.
    """
    first = next(i for i, m in enumerate(dialogue.messages) if m["role"] == "user")
    head, task = dialogue.messages[:first], dialogue.messages[first]
    lesson: Lesson = []
    for i in range(first, len(dialogue.messages) - 1, 2):
        seen, answer = dialogue.messages[i : i + 2]
        opening, pictures = codec.first([*head, _with_task(task, seen)])
        following = codec.later([seen])[0] if i > first else opening
        lesson.append(LessonTurn(opening, following, pictures, codec.answer(answer["content"])))
    return lesson


def _with_task(task: Message, seen: Message) -> Message:
    texts = [part for part in task["content"] if part["type"] == "text"]
    others = [part for part in seen["content"] if part["type"] != "text"]
    return {"role": "user", "content": [*texts, *others]}


@dataclass(frozen=True)
class Batch:
    """Some transcripts, padded on the right.

    Attributes:
        ids: int64 ``(n, length)``.
        positions: int64 ``(3, n, length)``.
        learned: Bool ``(n, length)``: tokens that belong to an answer.
        pixel_values: Of all pictures, in order.
        grid_thw: Of all pictures, in order.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    learned: torch.Tensor
    pixel_values: torch.Tensor
    grid_thw: torch.Tensor

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on a device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def collate(lessons: Sequence[Lesson], image_id: int, merge: int, pad_id: int) -> Batch:
    """Join the turns of each lesson into one sequence, and the sequences into a batch."""
    rows: list[list[int]] = []
    marks: list[list[bool]] = []
    for lesson in lessons:
        row: list[int] = []
        mark: list[bool] = []
        for number, turn in enumerate(lesson):
            seen = turn.following if number else turn.opening
            row += seen + turn.answer
            mark += [False] * len(seen) + [True] * len(turn.answer)
        rows.append(row)
        marks.append(mark)
    pictures = [[picture for turn in lesson for picture in turn.pictures] for lesson in lessons]
    length = max(map(len, rows))
    ids = np.full((len(rows), length), pad_id, dtype=np.int64)
    learned = np.zeros((len(rows), length), dtype=np.bool_)
    positions = np.zeros((3, len(rows), length), dtype=np.int64)
    for i, (row, mark) in enumerate(zip(rows, marks, strict=True)):
        grids = iter([picture.grid for picture in pictures[i]])
        ids[i, : len(row)], learned[i, : len(row)] = row, mark
        positions[:, i, : len(row)] = rope_positions(row, grids, 0, image_id, merge)[0]
    shown = list(chain.from_iterable(pictures))
    return Batch(
        torch.from_numpy(ids),
        torch.from_numpy(positions),
        torch.from_numpy(learned),
        torch.cat([picture.pixel_values for picture in shown]),
        torch.cat([picture.grid_thw for picture in shown]),
    )
