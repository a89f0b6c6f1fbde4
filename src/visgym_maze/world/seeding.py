"""How does a seed become random numbers? One answer for the whole package."""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np

Seed = SupportsIndex | np.random.Generator | None
"""A non-negative integer of any size, a generator to draw from, or None for fresh entropy."""


def check_seed(seed: SupportsIndex) -> int:
    """Turn an integer-like seed into an int.

    Raises:
        TypeError: If ``seed`` is no integer.
        ValueError: If it is negative.
    """
    value = operator.index(seed)
    if value < 0:
        raise ValueError(f"a seed must be 0 or a positive integer, got {value}")
    return value


def as_generator(seed: Seed) -> np.random.Generator:
    """Return ``seed`` itself if it is a generator, else a new one started from it."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else check_seed(seed))


def child_generator(seed: SupportsIndex, *path: int) -> np.random.Generator:
    """The generator of one descendant of ``seed``, for example of level 17 of split 2.

    Neighbouring seeds and paths give unrelated streams (``numpy.random.SeedSequence``), which
    ``seed + index`` would not: there seed 1 with index 0 equals seed 0 with index 1.
    """
    return np.random.default_rng(np.random.SeedSequence(check_seed(seed), spawn_key=path))
