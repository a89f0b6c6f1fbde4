"""How do commands speak? Results on standard output, everything else on standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

results = Console()
errors = Console(stderr=True)


class CommandError(Exception):
    """Something that went wrong although the input was good; the message says what to do."""


def answer(data: dict[str, Any], as_json: bool, *shown: RenderableType) -> None:
    """Print the result of a command.

    Args:
        data: All of it; JSON-ready.
        as_json: Whether to print ``data``, and nothing else.
        shown: What people get to see.
    """
    if as_json:
        print(json.dumps(data, indent=1))
        return
    for part in shown:
        results.print(part, highlight=False, soft_wrap=isinstance(part, str))


def note(text: str) -> None:
    """Say something on standard error."""
    errors.print(plain(text), markup=False, highlight=False, soft_wrap=True)


def plain(text: str) -> str:
    """One line that can't steer a terminal: what isn't printable is spelled out.

    Servers and files have a say in messages.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextmanager
def progress(what: str, total: int | None = None) -> Generator[Callable[[int, int], None]]:
    """A bar on standard error, if that is a terminal.

    Args:
        what: Stands in front of it.
        total: How many there are; None shows that something is going on.

    Yields:
        A function of how many are done and how many there are.
    """
    if not errors.is_terminal:
        yield lambda done, count: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, count: bar.update(task, completed=done, total=count)
