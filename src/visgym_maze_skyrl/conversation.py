"""What does one conversation consist of, as the engine reads it and the trainer will see it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import torch

from visgym_maze.dialogue.episode import Message
from visgym_maze.dialogue.trajectory import StopReason
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import Picture

STANDIN = "!"
"""Stands for every answer where a history is compared with a full rendering."""


class RolloutFault(Exception):  # noqa: N818 - a fault of one rollout, never seen by the caller
    """Something that costs one rollout and nothing else."""

    def __init__(self, reason: StopReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass
class Conversation:
    """Tokens and pictures of one episode; grows with every turn.

    Attributes:
        codec: Turns messages into tokens and pictures.
        prompt: Tokens of the first messages.
        response: All tokens after them, sampled or not.
        loss_mask: 1 for each sampled token of the response, else 0.
        logprobs: Log-probability of each sampled token, else 0.
        rewards: Reward that falls due at each token of the response.
        pictures: In the order of their places.
        places: Where each picture's tokens begin, and how many they are.
        messages: What was said, with :data:`STANDIN` for every answer.
    """

    codec: ChatCodec
    prompt: list[int] = field(default_factory=list)
    response: list[int] = field(default_factory=list)
    loss_mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    places: list[dict[str, int]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The whole history."""
        return self.prompt + self.response

    def open(self, messages: Sequence[Message]) -> None:
        """Begin with the first messages."""
        self.prompt, pictures = self.codec.first(messages)
        self.messages += messages
        self._place(pictures, 0)

    def answer(self, ids: list[int], logprobs: list[float] | None) -> None:
        """Add what was sampled."""
        self._add(ids, 1, logprobs)

    def observe(self, messages: Sequence[Message]) -> None:
        """Add what follows an answer."""
        if self.response[-1] != self.codec.end_id:
            # Close an answer that ran into its token limit, as the chat template would.
            self._add([self.codec.end_id], 0)
        ids, pictures = self.codec.later(messages)
        offset = len(self.prompt) + len(self.response)
        self._add(ids, 0)
        self.messages += [{"role": "assistant", "content": STANDIN}, *messages]
        self._place(pictures, offset)

    def features(self, encode: Callable[[Picture], str] | None, known: set[str]) -> dict[str, Any] | None:
        """The pictures in the form that SkyRL's inference clients take; None without any.

        Args:
            encode: Puts a picture into the form in which it travels; None leaves it as it is.
            known: Keys of pictures that are only named, if pictures are encoded.
        """
        if not self.pictures:
            return None
        data: list[Any] = list(self.pictures)
        if encode is not None:
            data = [None if picture.key in known else encode(picture) for picture in self.pictures]
        return {
            "mm_hashes": {"image": [picture.key for picture in self.pictures]},
            "mm_placeholders": {"image": list(self.places)},
            "kwargs_data": {"image": data},
        }

    def tensors(self) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Pixel values ``[patches, dim]`` and grids ``[pictures, 3]``, for the trainer."""
        if not self.pictures:
            return None, None
        pixel_values = torch.cat([picture.pixel_values for picture in self.pictures])
        return pixel_values, torch.cat([picture.grid_thw for picture in self.pictures])

    def check_pictures(self) -> None:
        """Every image token of the history must belong to a picture, and the other way round."""
        shown, expected = self.ids.count(self.codec.image_id), sum(place["length"] for place in self.places)
        if shown != expected:
            raise RolloutFault(
                StopReason.ERROR, f"{shown} image tokens in the history, its pictures need {expected}"
            )

    def check_rendering(self, rendered: list[int]) -> None:
        """What was not sampled must be what a full rendering of :attr:`messages` puts around the answers.

        Answers are replaced by one fixed text on both sides: a sampled answer need not be how the
        tokenizer would have cut its text.
        """
        # The last answer, if it ended the episode, has no place in the messages.
        ours = self._with_standins()[: len(rendered)]
        if ours != rendered:
            at = next(i for i, pair in enumerate(zip_longest(ours, rendered)) if pair[0] != pair[1])
            raise RolloutFault(
                StopReason.ERROR,
                f"the history differs from the full rendering at token {at} of {len(rendered)}",
            )

    def _with_standins(self) -> list[int]:
        ids, standin, past = list(self.prompt), self.codec.answer(STANDIN)[:-1], False
        for token, sampled in zip(self.response, self.loss_mask, strict=True):
            if sampled and not past:
                ids += standin
            if not sampled or token == self.codec.end_id:
                ids.append(token)
            past = bool(sampled)
        return ids

    def _add(self, ids: list[int], sampled: int, logprobs: list[float] | None = None) -> None:
        self.response += ids
        self.loss_mask += [sampled] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)
        self.rewards += [0.0] * len(ids)

    def _place(self, pictures: list[Picture], offset: int) -> None:
        """Note new pictures, and where their image tokens stand from ``offset`` on."""
        ids = self.ids
        for picture in pictures:
            length = self.codec.reader.tokens(picture)
            offset = ids.index(self.codec.image_id, offset)
            self.pictures.append(picture)
            self.places.append({"offset": offset, "length": length})
            offset += length
