"""What could a model say that breaks something? Hostile answers, drawn from a seed."""

from __future__ import annotations

import numpy as np

from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.dialogue.parsing import spell
from visgym_maze.world.dynamics import Action

_VALID = [spell(action, dialect) for dialect in DIALECTS for action in Action]
_TAGS = [
    "<action>",
    "</action>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<observation>",
    "</observation>",
    "<justification>",
    "</reasoning>",
    "<action ",
    "</action >",
    "<ACTION>",
    "<action/>",
    '<action id="1">',
    "<<action>>",
    "<|im_end|>",
    "<|im_start|>assistant\n",
    "<|vision_start|><|image_pad|>",
]
_WORDS = [
    "left",
    "right",
    "up",
    "down",
    "stop",
    "Left",
    "LEFT",
    " left",
    "left ",
    "left,right",
    "left right",
    "lef",
    "\uff4c\uff45\uff46\uff54",
    "\u217ceft",
    "le\u0301ft",
    "l\u200beft",
    "left\u0000",
    "move",
    "go",
    "0",
    "-1",
    "4",
    "1e9",
]
_CALLS = [
    "('move', 2)",
    "('stop', 'stop')",
    "('move', 9)",
    "('move', True)",
    "('move', 0x1)",
    "[('move', 1)]",
    '{"name": "move", "arguments": {"direction": "left"}}',
    '{"name": "move"}',
    '{"name": null}',
    '{"name": "move", "name": "stop"}',
    "[]",
    "[[]]",
    "{}",
    "null",
    "NaN",
    "1e400",
    '"left"',
]
_ODD = [
    "\u202eleft\u202c",
    "\u2066",
    "\ufeff",
    "\u200d",
    "\ud800",
    "\udfff",
    "\x00",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b[31m",
    "\r",
    "\x08\x08",
    "\x7f",
    "\x85",
    "\u2028",
    "\U0001f600",
    "\U000e0041",
    "\ufffe",
]
_MARKUP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "]]>",
    "<!--",
    "-->",
    "&lt;",
    "</script>",
    "<svg/onload=1>",
    "javascript:1",
    "[link](http://x)",
    "| a | b |",
    "```",
    "[bold]x[/bold]",
    "[/]",
]
_FORMATS = [
    "%s%n%x",
    "{0}",
    "{__class__}",
    "${PATH}",
    "$feedback",
    "$$",
    "{{7*7}}",
    "\\u0000",
    "\\x1b",
    "'",
    '"',
    "\\",
]
_SPACE = [" ", "\n", "\t", "\u00a0", "\u3000", "\r\n", "\v", "\f"]
_ALL = [_VALID, _TAGS, _WORDS, _CALLS, _ODD, _MARKUP, _FORMATS, _SPACE]


def answer(rng: np.random.Generator, longest: int = 1_000_000) -> str:
    """One answer: valid, mutilated, a mixture, or something repeated up to ``longest`` characters."""
    kind = rng.random()
    if kind < 0.08:
        return _pick(rng, _VALID)
    if kind < 0.35:
        return _mutilated(rng, _pick(rng, _VALID))
    if kind < 0.9:
        return "".join(_pick(rng, _ALL[rng.integers(len(_ALL))]) for _ in range(rng.integers(0, 12)))
    if kind < 0.95:
        return "".join(map(chr, rng.integers(0, 0x2FFF, size=rng.integers(0, 200)))) + _pick(rng, _VALID)
    unit = _pick(rng, [*_TAGS, *_CALLS, *_ODD, "[", "(", "{", '{"a":', "<", "left "])
    # Most are short, few are as long as allowed.
    length = int(longest ** rng.random())
    body = unit * (length // len(unit) + 1)
    return _pick(rng, ["", "<action>", "{"]) + body[:length] + _pick(rng, ["", "</action>", *_VALID[:5]])


def _pick(rng: np.random.Generator, choices: list[str]) -> str:
    return choices[rng.integers(len(choices))]


def _mutilated(rng: np.random.Generator, text: str) -> str:
    """Cut out, double, or insert somewhere, one to three times."""
    for _ in range(rng.integers(1, 4)):
        start, end = sorted(rng.integers(0, len(text) + 1, size=2))
        how = rng.integers(3)
        if how == 0:
            text = text[:start] + text[end:]
        elif how == 1:
            text = text[:end] + text[start:]
        else:
            text = text[:start] + _pick(rng, _ALL[rng.integers(len(_ALL))]) + text[start:]
    return text
