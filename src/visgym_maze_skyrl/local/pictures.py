"""How does a picture's URL become what the vision tower reads?"""

from __future__ import annotations

import base64
import hashlib
import io
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import torch
from PIL import Image
from transformers import Qwen2VLImageProcessorPil


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture, ready for the vision tower.

    Attributes:
        key: Names the content; equal for equal URLs.
        pixel_values: float32 of shape ``(patches, channels * frames * patch * patch)``.
        grid_thw: int64 of shape ``(1, 3)``: frames, rows and columns of patches.
    """

    key: str
    pixel_values: torch.Tensor
    grid_thw: torch.Tensor

    @property
    def grid(self) -> tuple[int, int, int]:
        """``grid_thw`` as integers."""
        frames, rows, columns = self.grid_thw[0].tolist()
        return frames, rows, columns


class PictureReader:
    """Reads data URIs with the picture settings of a model folder, and remembers the latest.

    Sizes, patches and colour scaling come from the folder's own processor files, so any Qwen3-VL
    folder works. A picture whose sides are multiples of a visual token is not resized.

    Args:
        folder: Model folder or Hub id.
        capacity: Number of pictures to remember; one of 128x128 pixels takes 0.4 MB.
    """

    def __init__(self, folder: str | Path, capacity: int = 2048) -> None:
        self._processor = Qwen2VLImageProcessorPil.from_pretrained(folder)
        self._merged = self._processor.merge_size**2
        self._capacity = capacity
        self._pictures: OrderedDict[str, Picture] = OrderedDict()
        self._lock = Lock()

    def __call__(self, uri: str) -> Picture:
        """Read ``data:image/...;base64,...``.

        Raises:
            ValueError: If it is another kind of URL or holds no picture.
        """
        key = hashlib.blake2b(uri.encode(), digest_size=16).hexdigest()
        with self._lock:
            if (known := self._pictures.get(key)) is not None:
                self._pictures.move_to_end(key)
                return known
        inputs = self._processor(_decode(uri), return_tensors="pt")
        picture = Picture(key, inputs["pixel_values"], inputs["image_grid_thw"])
        with self._lock:
            self._pictures[key] = picture
            if len(self._pictures) > self._capacity:
                self._pictures.popitem(last=False)
        return picture

    def tokens(self, picture: Picture) -> int:
        """How many visual tokens a picture takes."""
        return int(picture.grid_thw.prod()) // self._merged


def _decode(uri: str) -> Image.Image:
    head, _, data = uri.partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        raise ValueError(f"a picture must be a URI data:image/...;base64,..., got {uri[:40]!r}")
    try:
        return Image.open(io.BytesIO(base64.b64decode(data, validate=True))).convert("RGB")
    except (ValueError, OSError) as error:
        raise ValueError(f"this data URI holds no picture: {uri[:40]!r}... ({error})") from error
