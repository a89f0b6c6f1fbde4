"""How is a picture shown in a terminal? Two pixels per character, one above the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.text import Text


def blocks(picture: NDArray[np.uint8], columns: int) -> Text:
    """Draw a picture with half blocks in 24-bit colours.

    Args:
        picture: uint8 of shape ``(height, width, 3)``, RGB.
        columns: Width in characters; a picture with fewer pixels is drawn pixel by pixel.
    """
    columns = min(columns, picture.shape[1])
    rows = 2 * max(1, round(picture.shape[0] * columns / picture.shape[1] / 2))
    small: NDArray[Any] = np.asarray(Image.fromarray(picture).resize((columns, rows), Image.Resampling.BOX))
    text = Text()
    for above, below in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        for up, down in zip(above, below, strict=True):
            text.append("▀", style=f"rgb({up[0]},{up[1]},{up[2]}) on rgb({down[0]},{down[1]},{down[2]})")
        text.append("\n")
    return text
