"""What is a chat message made of? Text, and a picture as a data URI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Message = dict[str, Any]
"""A chat message in OpenAI's form: ``role``, and ``content`` as a string or a list of parts."""


new_record = tuple.__new__
"""Makes a NamedTuple of a class and all its values. The class's own constructor, which calls this one, takes
twice as long, and some records are made at every step."""


class Shown(NamedTuple):
    """What one user message shows; immutable, so messages can be made from it again and again.

    Attributes:
        text: The prompt's text.
        scene: What the view says in words; may be empty.
        url: The picture as a data URI, or None.
    """

    text: str
    scene: str
    url: str | None


def user_message(shown: Shown) -> Message:
    """A fresh message: text first, then the picture."""
    text, scene, url = shown
    if scene:
        text = f"{text}\n{scene}" if text else scene
    if url is None:
        return {"role": "user", "content": [{"type": "text", "text": text}]}
    picture = {"type": "image_url", "image_url": {"url": url}}
    if not text:
        return {"role": "user", "content": [picture]}
    return {"role": "user", "content": [{"type": "text", "text": text}, picture]}


def picture_urls(messages: Sequence[Message]) -> list[str]:
    """The image URLs in some messages, in order."""
    return [
        part["image_url"]["url"]
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "image_url"
    ]
