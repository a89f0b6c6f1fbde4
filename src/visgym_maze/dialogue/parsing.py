"""Which action does an answer name? Strict, linear in the length of the text, and it says why not.

An answer must name exactly one action, in the place that the dialect reserves for it. Whatever could
be read in two ways is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from visgym_maze.world.dynamics import ACTION_BY_WORD, MOVES, Action

MAX_LENGTH = 65_536
"""Characters; longer answers are refused unread."""

_MAX_CONTENT = 512
_OPEN, _CLOSE = "<action>", "</action>"
_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"
_TOOL_OPEN, _TOOL_CLOSE = "<tool_call>", "</tool_call>"
_PREAMBLE_TAGS = ("observation", "justification", "reasoning")

# Tuples are matched against at most _MAX_CONTENT characters, and no part of the pattern can match the
# same text in two ways, so the match is linear.
_TUPLE = re.compile(
    r"\(\s*(?:'([a-z]{1,16})'|\"([a-z]{1,16})\")\s*,\s*(?:'([a-z]{1,16})'|\"([a-z]{1,16})\"|(-?\d{1,9}))\s*,?\s*\)"
)
_PAIR_LIKE = re.compile(r"\(.*\)", re.DOTALL)


class FailureReason(StrEnum):
    """Why an answer names no action."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    NO_ACTION = "no_action"
    UNCLOSED_TAG = "unclosed_tag"
    SEVERAL_ACTIONS = "several_actions"
    UNKNOWN_ACTION = "unknown_action"
    NOT_A_PAIR = "not_a_pair"
    OUT_OF_RANGE = "out_of_range"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action that an answer names.

    Attributes:
        action: The action.
        well_formed: Whether the answer consists of nothing but what the format asks for: an
            optional thought or the named preamble tags, then the action, then nothing.
    """

    action: Action
    well_formed: bool = True


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """An answer that names no action, and why."""

    reason: FailureReason


Parsed = ParsedAction | ParseFailure


def parse(text: str, dialect: str = "tag") -> Parsed:
    """Read the action from a model's answer.

    Args:
        text: The answer, without special tokens.
        dialect: ``"tag"``: ``<action>left</action>``. ``"tuple"``: ``('move', 2)`` or
            ``('stop', 'stop')``, alone or between action tags, with the numbers 0 right, 1 up,
            2 left, 3 down. ``"json"``: ``{"name": "move", "arguments": {"direction": "left"}}``,
            alone or between ``<tool_call>`` tags.

    Returns:
        The action, or the reason why there is none. Text inside ``<think>...</think>`` is never
        read as an action.

    Raises:
        ValueError: If the dialect is unknown.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    if len(text) > MAX_LENGTH:
        return ParseFailure(FailureReason.TOO_LONG)
    answer = _without_thought(text)
    if answer is None:
        return ParseFailure(FailureReason.UNCLOSED_TAG)
    if not answer or answer.isspace():
        return ParseFailure(FailureReason.EMPTY)
    open_tag, close_tag, bare_allowed, read = _DIALECTS[dialect]
    content = _only_tagged(answer, open_tag, close_tag)
    if content is None:
        if not bare_allowed:
            return ParseFailure(FailureReason.NO_ACTION)
        content, well_formed = answer, True
    elif isinstance(content, FailureReason):
        return ParseFailure(content)
    else:
        well_formed = _nothing_else(answer, open_tag, close_tag)
    content = content.strip()
    if len(content) > _MAX_CONTENT:
        return ParseFailure(FailureReason.TOO_LONG if not bare_allowed else FailureReason.NO_ACTION)
    action = read(content)
    return action if isinstance(action, ParseFailure) else ParsedAction(action, well_formed)


def _without_thought(text: str) -> str | None:
    """Drop one leading ``<think>...</think>``; None if the thought doesn't end or there is another."""
    if _THINK_OPEN not in text and _THINK_CLOSE not in text:
        return text
    if text.count(_THINK_OPEN) > 1 or text.count(_THINK_CLOSE) != 1:
        return None
    before, answer = text.split(_THINK_CLOSE)
    # Chat templates that open the thought themselves leave a lone closing tag in the answer.
    if _THINK_OPEN in answer or (_THINK_OPEN in before and before.lstrip().find(_THINK_OPEN) != 0):
        return None
    return answer


def _only_tagged(answer: str, open_tag: str, close_tag: str) -> str | FailureReason | None:
    """What stands between the tags; a reason if that is ambiguous; None if there is no tag at all."""
    opened, closed = answer.count(open_tag), answer.count(close_tag)
    if not opened and not closed:
        return None
    if opened > 1 or closed > 1:
        return FailureReason.SEVERAL_ACTIONS
    start, end = answer.find(open_tag), answer.find(close_tag)
    if start < 0 or end < start:
        return FailureReason.UNCLOSED_TAG
    return answer[start + len(open_tag) : end]


def _nothing_else(answer: str, open_tag: str, close_tag: str) -> bool:
    """Whether only the named preamble tags stand before the action, and nothing after it."""
    before, after = answer.split(open_tag)[0], answer.split(close_tag)[1]
    if after.strip():
        return False
    rest = before.strip()
    for tag in _PREAMBLE_TAGS:
        start, end = f"<{tag}>", f"</{tag}>"
        if rest.startswith(start) and rest.count(start) == 1 and rest.count(end) == 1:
            inner, rest = rest[len(start) :].split(end)
            if not inner.strip() or "<" in inner:
                return False
            rest = rest.strip()
    return not rest


def _read_word(content: str) -> Action | ParseFailure:
    if not content:
        return ParseFailure(FailureReason.NO_ACTION)
    action = ACTION_BY_WORD.get(content.lower()) if content.isascii() else None
    return ParseFailure(FailureReason.UNKNOWN_ACTION) if action is None else action


def _read_tuple(content: str) -> Action | ParseFailure:
    match = _TUPLE.fullmatch(content)
    if match is None:
        pair_like = _PAIR_LIKE.fullmatch(content) is not None
        return ParseFailure(FailureReason.NOT_A_PAIR if pair_like else FailureReason.NO_ACTION)
    name = match[1] or match[2]
    word, number = match[3] or match[4], match[5]
    if name == "stop":
        return Action.STOP if word == "stop" else ParseFailure(FailureReason.OUT_OF_RANGE)
    if name != "move":
        return ParseFailure(FailureReason.UNKNOWN_ACTION)
    if number is None or not 0 <= int(number) < len(MOVES):
        return ParseFailure(FailureReason.OUT_OF_RANGE)
    return MOVES[int(number)]


def _read_json(content: str) -> Action | ParseFailure:
    try:
        call = json.loads(content, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        looks_like = content.startswith("{")
        return ParseFailure(FailureReason.MALFORMED if looks_like else FailureReason.NO_ACTION)
    if not isinstance(call, dict) or not set(call) <= {"name", "arguments"}:
        return ParseFailure(FailureReason.MALFORMED)
    name, arguments = call.get("name"), call.get("arguments", {})
    if not isinstance(arguments, dict):
        return ParseFailure(FailureReason.MALFORMED)
    if name == "stop":
        return Action.STOP if not arguments else ParseFailure(FailureReason.OUT_OF_RANGE)
    if name != "move":
        return ParseFailure(FailureReason.UNKNOWN_ACTION)
    direction = arguments.get("direction")
    action = ACTION_BY_WORD.get(direction) if isinstance(direction, str) else None
    if set(arguments) != {"direction"} or action is None or action is Action.STOP:
        return ParseFailure(FailureReason.OUT_OF_RANGE)
    return action


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


_DIALECTS = {
    "tag": (_OPEN, _CLOSE, False, _read_word),
    "tuple": (_OPEN, _CLOSE, True, _read_tuple),
    "json": (_TOOL_OPEN, _TOOL_CLOSE, True, _read_json),
}
DIALECTS: tuple[str, ...] = tuple(_DIALECTS)
"""Names of the dialects."""


def spell(action: Action, dialect: str = "tag") -> str:
    """Write ``action`` the way that :func:`parse` reads it."""
    if dialect == "tag":
        return f"{_OPEN}{action.word}{_CLOSE}"
    if dialect == "tuple":
        return "('stop', 'stop')" if action is Action.STOP else f"('move', {int(action)})"
    if dialect == "json":
        if action is Action.STOP:
            return '{"name": "stop", "arguments": {}}'
        return f'{{"name": "move", "arguments": {{"direction": "{action.word}"}}}}'
    raise ValueError(f"unknown dialect {dialect!r}; known: {', '.join(DIALECTS)}")
