"""How does a picture travel to a vLLM engine? As vLLM's own serialised item, made once per picture."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

import torch

from visgym_maze_skyrl.local.pictures import Picture


class PictureEncoder:
    """Serialises pictures for vLLM's token-in, token-out endpoint.

    Args:
        dtype: What pixel values are sent as: the engine's own precision, into which it would cast them.
        capacity: Number of pictures to remember.
    """

    def __init__(self, dtype: torch.dtype = torch.bfloat16, capacity: int = 4096) -> None:
        self.dtype = dtype
        # Pictures hash by identity, and the reader hands out one object per picture that it remembers.
        self._encode = lru_cache(maxsize=capacity)(self._serialise)

    def __call__(self, picture: Picture) -> str:
        """Base64 of the item."""
        return self._encode(picture)

    def _serialise(self, picture: Picture) -> str:
        # Imported on first use: vLLM is installed on GPU machines only.
        serde = import_module("vllm.entrypoints.scale_out.token_in_token_out.mm_serde")
        inputs = import_module("vllm.multimodal.inputs")
        fields = {
            "pixel_values": inputs.MultiModalFieldConfig.flat_from_sizes("image", picture.grid_thw.prod(-1)),
            "image_grid_thw": inputs.MultiModalFieldConfig.batched("image", keep_on_cpu=True),
        }
        values = {"pixel_values": picture.pixel_values.to(self.dtype), "image_grid_thw": picture.grid_thw}
        items = inputs.MultiModalKwargsItems.from_hf_inputs(values, fields)
        return serde.encode_mm_kwargs_item(items["image"][0])
