"""How does a conversation become tokens, without ever tokenising an answer again?

The history is token in, token out: the first messages are encoded once, an answer's tokens stay as
they were sampled, and each observation adds only what the chat template puts between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase

from visgym_maze import Message, picture_urls
from visgym_maze_skyrl.local.pictures import Picture, PictureReader

IMAGE_TOKEN = "<|image_pad|>"
_Skeleton = tuple[tuple[str, str | tuple[str | None, ...]], ...]
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
        # Observations repeat: the same few texts around a picture.
        self._plain = lru_cache(maxsize=4096)(self._tokenize)

    def first(self, messages: Sequence[Message]) -> tuple[list[int], list[Picture]]:
        """Tokens and pictures of the first messages, up to where the answer begins."""
        return self._encode(messages, later=False)

    def later(self, messages: Sequence[Message]) -> tuple[list[int], list[Picture]]:
        """Tokens and pictures of messages that follow an answer and its end token.

        Raises:
            ValueError: If the chat template writes earlier turns differently once more follow.
        """
        return self._encode(messages, later=True)

    def answer(self, text: str) -> list[int]:
        """Tokens of an answer that was written rather than sampled, its end token included."""
        return [*self.tokenizer.encode(text, add_special_tokens=False), self.end_id]

    def text(self, ids: Sequence[int]) -> str:
        """The text of sampled tokens, without special ones."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _encode(self, messages: Sequence[Message], *, later: bool) -> tuple[list[int], list[Picture]]:
        pictures = [self.reader(url) for url in picture_urls(messages)]
        waiting = iter(pictures)
        ids: list[int] = []
        for token in self._plain(_skeleton(messages), later):
            if token == self.image_id:
                ids += [token] * self.reader.tokens(next(waiting))
            else:
                ids.append(token)
        return ids, pictures

    def _tokenize(self, skeleton: _Skeleton, later: bool) -> tuple[int, ...]:
        """Tokens with one image token per picture."""
        messages = [{"role": role, "content": _parts(content)} for role, content in skeleton]
        text = self._render([*_PROBE, *messages] if later else messages, answer_next=True)
        if later:
            if not text.startswith(self._past):
                raise ValueError("the chat template rewrites earlier turns, so a history cannot grow")
            text = text[self._answered :]
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: Sequence[Message], *, answer_next: bool) -> str:
        options: dict[str, Any] = {"tokenize": False, "add_generation_prompt": answer_next}
        return str(self.tokenizer.apply_chat_template(list(messages), **options))


def _skeleton(messages: Sequence[Message]) -> _Skeleton:
    """What a chat template sees of messages: their texts, and where a picture stands (None)."""
    return tuple(
        (m["role"], m["content"] if isinstance(m["content"], str) else tuple(map(_text, m["content"])))
        for m in messages
    )


def _text(part: dict[str, Any]) -> str | None:
    return part["text"] if part["type"] == "text" else None


def _parts(content: str | tuple[str | None, ...]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [{"type": "image"} if text is None else {"type": "text", "text": text} for text in content]
