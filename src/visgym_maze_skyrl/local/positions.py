"""Where does each token stand? Qwen3-VL's three-axis positions, computed as a history grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]


@lru_cache(maxsize=64)
def _grid_offsets(frames: int, rows: int, columns: int) -> Positions:
    """Time, row and column of each visual token of a picture, int64 of shape ``(3, tokens)``."""
    return np.indices((frames, rows, columns)).reshape(3, -1)


def rope_positions(
    ids: Sequence[int], grids: Iterator[tuple[int, int, int]], start: int, image_id: int, merge: int
) -> tuple[Positions, int]:
    """Positions of the next part of a history.

    A text token takes the next number on all three axes. The tokens of a picture share a start and
    differ by their place in the grid; afterwards the count goes on behind the picture's longer side.

    Args:
        ids: Tokens of this part; it begins and ends outside of pictures.
        grids: Gives frames, rows and columns of patches of each picture in it, in order.
        start: Position of the first token.
        image_id: Token that stands for a piece of a picture.
        merge: Side of a visual token in patches.

    Returns:
        int64 array of shape ``(3, len(ids))`` (time, height, width), and the position that follows.
    """
    tokens = np.asarray(ids, dtype=np.int64)
    positions = np.empty((3, len(tokens)), dtype=np.int64)
    is_image = np.flatnonzero(tokens == image_id)
    here = 0
    while here < len(tokens):
        later = is_image[is_image >= here] if len(is_image) else is_image
        until = int(later[0]) if len(later) else len(tokens)
        positions[:, here:until] = np.arange(start, start + until - here)
        start += until - here
        here = until
        if here < len(tokens):
            frames, rows, columns = next(grids)
            offsets = _grid_offsets(frames, rows // merge, columns // merge)
            positions[:, here : here + offsets.shape[1]] = start + offsets
            start += max(rows, columns) // merge
            here += offsets.shape[1]
    return positions, start
