"""Which actions does an answer name? Strict, linear in the length of the text, and it says why not.

An answer must name its action in the one place that the dialect reserves for it. Whatever could be
read in two ways is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from visgym_maze.dialogue.dialects import DIALECTS, Dialect, FailureReason, dialect_named, spell
from visgym_maze.world.dynamics import Action

__all__ = [
    "DIALECTS",
    "MAX_LENGTH",
    "FailureReason",
    "ParseFailure",
    "Parsed",
    "ParsedAction",
    "parse",
    "spell",
]

MAX_LENGTH = 262_144
"""Characters; longer answers are refused unread."""

_MAX_CONTENT = 4096  # characters between the tags
_SHORT = 256  # characters; what the parser said about short answers is remembered
_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"
_WORDS = tuple(action.word for action in Action)
_PREAMBLE_TAGS = ("observation", "justification", "reasoning")


class ParsedAction(NamedTuple):
    """What an answer asks for.

    Attributes:
        actions: The actions, in order; a single one unless a turn may hold several.
        well_formed: Whether the answer consists of nothing but what the format asks for: an
            optional thought or the named preamble tags, then the action, then nothing.
    """

    actions: tuple[Action, ...]
    well_formed: bool = True

    @property
    def action(self) -> Action:
        """The first action."""
        return self.actions[0]

    @property
    def word(self) -> str:
        """The action's word; those of several are joined by commas."""
        if len(self.actions) == 1:
            return _WORDS[self.actions[0]]
        return ",".join(_WORDS[action] for action in self.actions)


class ParseFailure(NamedTuple):
    """An answer that names no action, and why."""

    reason: FailureReason


Parsed = ParsedAction | ParseFailure


def parse(text: str, dialect: str = "tag", max_actions: int = 1) -> Parsed:
    """Read the action from a model's answer.

    Args:
        text: The answer, without special tokens.
        dialect: ``"tag"``: ``<action>left</action>``. ``"tuple"``: ``('move', 2)`` or
            ``('stop', 'stop')``, alone or between action tags, with the numbers 0 right, 1 up,
            2 left, 3 down. ``"json"``: ``{"name": "move", "arguments": {"direction": "left"}}``,
            alone or between ``<tool_call>`` tags.
        max_actions: How many actions one answer may name. Several are written
            ``<action>left, up</action>``, ``[('move', 2), ('move', 1)]``, or as a JSON list of
            calls; ``stop`` may only be the last.

    Returns:
        The action, or the reason why there is none. Text inside ``<think>...</think>`` is never
        read as an action.

    Raises:
        TypeError: If the answer is no string.
        ValueError: If the dialect is unknown.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"an answer is a string, got {type(text).__name__}")
    return (
        _parse_short(text, dialect, max_actions)
        if len(text) <= _SHORT
        else _parse(text, dialect, max_actions)
    )


def _parse(text: str, dialect: str, max_actions: int) -> Parsed:
    syntax = dialect_named(dialect)
    if len(text) > MAX_LENGTH:
        return ParseFailure(FailureReason.TOO_LONG)
    answer = _without_thought(text)
    if answer is None:
        return ParseFailure(FailureReason.UNCLOSED_TAG)
    if not answer or answer.isspace():
        return ParseFailure(FailureReason.EMPTY)
    found = _locate(answer, syntax)
    if isinstance(found, FailureReason):
        return ParseFailure(found)
    content, well_formed = found
    if len(content) > _MAX_CONTENT:
        return ParseFailure(FailureReason.TOO_LONG if not syntax.bare else FailureReason.NO_ACTION)
    actions = syntax.read(content)
    if isinstance(actions, FailureReason):
        return ParseFailure(actions)
    if len(actions) > max_actions:
        return ParseFailure(FailureReason.SEVERAL_ACTIONS)
    if Action.STOP in actions[:-1]:
        return ParseFailure(FailureReason.MALFORMED)
    return ParsedAction(actions, well_formed)


# Untrained models give one of few short answers, trained ones one of five.
_parse_short = lru_cache(maxsize=4096)(_parse)


def _without_thought(text: str) -> str | None:
    """Drop one leading ``<think>...</think>``; None if the thought doesn't end or there is another."""
    if _THINK_OPEN not in text and _THINK_CLOSE not in text:
        return text
    if text.count(_THINK_OPEN) > 1 or text.count(_THINK_CLOSE) != 1:
        return None
    before, answer = text.split(_THINK_CLOSE)
    # Chat templates that open the thought themselves leave a lone closing tag in the answer.
    if _THINK_OPEN in answer or (_THINK_OPEN in before and not before.lstrip().startswith(_THINK_OPEN)):
        return None
    return answer


def _locate(answer: str, syntax: Dialect) -> tuple[str, bool] | FailureReason:
    """The text that holds the actions, and whether there is nothing else around it."""
    open_tag, close_tag = syntax.open_tag, syntax.close_tag
    opened, closed = answer.count(open_tag), answer.count(close_tag)
    if not opened and not closed:
        return (answer.strip(), True) if syntax.bare else FailureReason.NO_ACTION
    if opened > 1 or closed > 1:
        return FailureReason.SEVERAL_ACTIONS
    start, end = answer.find(open_tag), answer.find(close_tag)
    if start < 0 or end < start:
        return FailureReason.UNCLOSED_TAG
    before, after = answer[:start], answer[end + len(close_tag) :]
    if any(before.count(f"<{tag}>") > before.count(f"</{tag}>") for tag in _PREAMBLE_TAGS):
        return FailureReason.UNCLOSED_TAG  # an action within an observation is only talked about
    content = answer[start + len(open_tag) : end].strip()
    return content, not after.strip() and _is_preamble(before)


def _is_preamble(before: str) -> bool:
    """Whether some text is empty, or made of the named tags in their order, each at most once."""
    rest = before.strip()
    for tag in _PREAMBLE_TAGS:
        start, end = f"<{tag}>", f"</{tag}>"
        if rest.startswith(start) and rest.count(start) == 1 and rest.count(end) == 1:
            inner, rest = rest[len(start) :].split(end)
            if not inner.strip() or "<" in inner:
                return False
            rest = rest.strip()
    return not rest
