"""How does a conversation become tokens, without ever tokenising an answer again?

The history is token in, token out: the first messages are encoded once, an answer's tokens stay as
they were sampled, and each observation adds only what the chat template puts between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase

from visgym_maze import Message, picture_urls
from visgym_maze_skyrl.local.pictures import Picture, PictureReader

IMAGE_TOKEN = "<|image_pad|>"
_PROBE: list[Message] = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]


def token_id(tokenizer: PreTrainedTokenizerBase, token: str) -> int:
    """The id of a token.

    Raises:
        ValueError: If the tokenizer doesn't have it.
    """
    vocabulary = tokenizer.get_vocab()
    if token not in vocabulary:
        raise ValueError(f"this tokenizer has no token {token!r}; a Qwen3-VL model's own is needed")
    return vocabulary[token]


class ChatCodec:
    """Encodes conversations for one model.

    Args:
        tokenizer: Its tokenizer, with a chat template whose turns end with the end token.
        reader: Its picture reader.

    Raises:
        ValueError: If the chat template ends its turns differently.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, reader: PictureReader) -> None:
        self.tokenizer = tokenizer
        self.reader = reader
        self.end_id = token_id(tokenizer, str(tokenizer.eos_token))
        self.image_id = token_id(tokenizer, IMAGE_TOKEN)
        self._past = self._render(_PROBE, answer_next=False)
        answered, end, _ = self._past.rpartition(str(tokenizer.eos_token))
        if not end or not answered.endswith("!"):
            raise ValueError(f"the chat template does not end an answer with {tokenizer.eos_token!r}")
        self._answered = len(answered) + len(end)

    def first(self, messages: Sequence[Message]) -> tuple[list[int], list[Picture]]:
        """Tokens and pictures of the first messages, up to where the answer begins."""
        return self._encode(self._render(messages, answer_next=True), messages)

    def later(self, messages: Sequence[Message]) -> tuple[list[int], list[Picture]]:
        """Tokens and pictures of messages that follow an answer and its end token.

        Raises:
            ValueError: If the chat template writes earlier turns differently once more follow.
        """
        text = self._render([*_PROBE, *messages], answer_next=True)
        if not text.startswith(self._past):
            raise ValueError("the chat template rewrites earlier turns, so a history cannot grow")
        return self._encode(text[self._answered :], messages)

    def answer(self, text: str) -> list[int]:
        """Tokens of an answer that was written rather than sampled, its end token included."""
        return [*self.tokenizer.encode(text, add_special_tokens=False), self.end_id]

    def text(self, ids: Sequence[int]) -> str:
        """The text of sampled tokens, without special ones."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _render(self, messages: Sequence[Message], *, answer_next: bool) -> str:
        options: dict[str, Any] = {"tokenize": False, "add_generation_prompt": answer_next}
        return str(self.tokenizer.apply_chat_template(list(messages), **options))

    def _encode(self, text: str, messages: Sequence[Message]) -> tuple[list[int], list[Picture]]:
        pictures = [self.reader(url) for url in picture_urls(messages)]
        ids: list[int] = []
        waiting = iter(pictures)
        for token in self.tokenizer.encode(text, add_special_tokens=False):
            repeats = self.reader.tokens(next(waiting)) if token == self.image_id else 1
            ids.extend([token] * repeats)
        return ids, pictures
