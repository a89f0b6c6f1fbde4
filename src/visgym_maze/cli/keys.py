"""Which key was pressed? One at a time, arrows included."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

import typer

# An arrow is a sequence of characters; who types fast sends several keys at once.
_KEY = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)


@contextmanager
def keyboard() -> Generator[Callable[[], str]]:
    """Take keys as they are pressed, without echo; Ctrl-C still interrupts.

    Yields:
        A function that waits for a key; an empty string once there are no more.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield typer.getchar
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    pressed: deque[str] = deque()

    def key() -> str:
        if not pressed:
            pressed.extend(_KEY.findall(os.read(handle, 64).decode(errors="replace")) or [""])
        return pressed.popleft()

    # For the whole time: what is typed between two questions must not be lost.
    tty.setcbreak(handle)
    try:
        yield key
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
