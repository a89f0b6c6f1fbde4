"""Which maze does a seed play where a trainer hands over nothing but a seed?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import check_seed


def numbered(levels: Sequence[Layout], seed: SupportsIndex) -> Layout:
    """The maze with that number, so a seed names one maze and two seeds two of them.

    Args:
        levels: The mazes, for example a :class:`~visgym_maze.world.splits.Split`.
        seed: 0 for the first.

    Raises:
        TypeError: If the seed is no integer.
        ValueError: If it is negative, or there is no such maze. It never wraps round: that would
            play a maze twice without a word.
    """
    number = check_seed(seed)
    if number >= len(levels):
        raise ValueError(f"there are {len(levels)} mazes, so seeds go up to {len(levels) - 1}; got {number}")
    return levels[number]
