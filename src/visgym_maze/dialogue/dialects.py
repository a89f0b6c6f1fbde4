"""How are actions spelled? The three dialects: reading and writing.

A reader gets the text of the one place in an answer where actions may stand, and returns all actions
in it, or why it can't. Every reader works in time linear in the length of that text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from visgym_maze.world.dynamics import ACTION_BY_WORD, MOVES, Action


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


Actions = tuple[Action, ...]


class Dialect(NamedTuple):
    """One way to spell actions.

    Attributes:
        open_tag: Stands in front of the actions.
        close_tag: Stands behind them.
        bare: Whether an answer may also consist of the actions alone, without tags.
        read: From the text of the actions to the actions, at least one, or a reason.
        write: From actions to a whole answer.
    """

    open_tag: str
    close_tag: str
    bare: bool
    read: Callable[[str], Actions | FailureReason]
    write: Callable[[Sequence[Action]], str]


def _read_words(content: str) -> Actions | FailureReason:
    if not content:
        return FailureReason.NO_ACTION
    # Without the check for ASCII, lower() would also take look-alikes such as the Kelvin sign.
    words = [word.strip().lower() for word in content.split(",")] if content.isascii() else [""]
    if not all(word in ACTION_BY_WORD for word in words):
        return FailureReason.UNKNOWN_ACTION
    return tuple(ACTION_BY_WORD[word] for word in words)


def _write_words(actions: Sequence[Action]) -> str:
    return f"<action>{', '.join(action.word for action in actions)}</action>"


# No part of these patterns can match the same text in two ways, so matching is linear.
_PAIR = re.compile(
    r"""\(\s* (?:'([a-z]{1,16})'|"([a-z]{1,16})")
        \s*,\s* (?:'([a-z]{1,16})'|"([a-z]{1,16})"|(0|-?[1-9][0-9]{0,8}))
        \s*(?:,\s*)?\)""",
    re.ASCII | re.VERBOSE,
)
_COMMA = re.compile(r"\s*,\s*", re.ASCII)


def _read_pairs(content: str) -> Actions | FailureReason:
    if content.startswith("[") and content.endswith("]"):
        return _read_pair_list(content[1:-1].strip())
    match = _PAIR.fullmatch(content)
    if match is None:
        pair_like = content.startswith("(") and content.endswith(")")
        return FailureReason.NOT_A_PAIR if pair_like else FailureReason.NO_ACTION
    action = _pair_action(match)
    return action if isinstance(action, FailureReason) else (action,)


def _read_pair_list(inner: str) -> Actions | FailureReason:
    if not inner:
        return FailureReason.NO_ACTION
    actions: list[Action] = []
    position = 0
    while match := _PAIR.match(inner, position):
        action = _pair_action(match)
        if isinstance(action, FailureReason):
            return action
        actions.append(action)
        if match.end() == len(inner):
            return tuple(actions)
        comma = _COMMA.match(inner, match.end())
        if comma is None:
            return FailureReason.MALFORMED
        position = comma.end()
    return FailureReason.NOT_A_PAIR


def _pair_action(match: re.Match[str]) -> Action | FailureReason:
    name = match[1] or match[2]
    word, number = match[3] or match[4], match[5]
    if name == "stop":
        return Action.STOP if word == "stop" else FailureReason.OUT_OF_RANGE
    if name != "move":
        return FailureReason.UNKNOWN_ACTION
    if number is None or not 0 <= int(number) < len(MOVES):
        return FailureReason.OUT_OF_RANGE
    return MOVES[int(number)]


def _write_pairs(actions: Sequence[Action]) -> str:
    pairs = ["('stop', 'stop')" if a is Action.STOP else f"('move', {int(a)})" for a in actions]
    return pairs[0] if len(pairs) == 1 else f"[{', '.join(pairs)}]"


def _read_calls(content: str) -> Actions | FailureReason:
    try:
        value = json.loads(content, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        return FailureReason.MALFORMED if content[:1] in ("{", "[") else FailureReason.NO_ACTION
    actions: list[Action] = []
    for call in value if isinstance(value, list) else [value]:
        action = _call_action(call)
        if isinstance(action, FailureReason):
            return action
        actions.append(action)
    return tuple(actions) or FailureReason.NO_ACTION


def _call_action(call: Any) -> Action | FailureReason:
    if not isinstance(call, dict) or not set(call) <= {"name", "arguments"}:
        return FailureReason.MALFORMED
    name, arguments = call.get("name"), call.get("arguments", {})
    if not isinstance(arguments, dict):
        return FailureReason.MALFORMED
    if name == "stop":
        return FailureReason.OUT_OF_RANGE if arguments else Action.STOP
    if name != "move":
        return FailureReason.UNKNOWN_ACTION
    direction = arguments.get("direction")
    action = ACTION_BY_WORD.get(direction) if isinstance(direction, str) else None
    if set(arguments) != {"direction"} or action is None or action is Action.STOP:
        return FailureReason.OUT_OF_RANGE
    return action


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


def _write_calls(actions: Sequence[Action]) -> str:
    calls = [
        {"name": "stop", "arguments": {}}
        if action is Action.STOP
        else {"name": "move", "arguments": {"direction": action.word}}
        for action in actions
    ]
    return json.dumps(calls[0] if len(calls) == 1 else calls)


DIALECTS: dict[str, Dialect] = {
    "tag": Dialect("<action>", "</action>", False, _read_words, _write_words),
    "tuple": Dialect("<action>", "</action>", True, _read_pairs, _write_pairs),
    "json": Dialect("<tool_call>", "</tool_call>", True, _read_calls, _write_calls),
}
"""The dialects by name."""


def dialect_named(name: str) -> Dialect:
    """Look a dialect up.

    Raises:
        ValueError: If there is none of that name.
    """
    if name not in DIALECTS:
        raise ValueError(f"unknown dialect {name!r}; known: {', '.join(DIALECTS)}")
    return DIALECTS[name]


def spell(actions: Action | Sequence[Action], dialect: str = "tag") -> str:
    """Write an action, or several for one turn, the way that :func:`~visgym_maze.parse` reads them.

    Raises:
        ValueError: If the dialect is unknown or there is no action.
    """
    several = (Action(actions),) if isinstance(actions, int) else tuple(Action(a) for a in actions)
    if not several:
        raise ValueError("an answer names at least one action")
    return dialect_named(dialect).write(several)
