"""Where is the checkpoint that ships with the package?"""

from __future__ import annotations

from pathlib import Path


def tiny_model_folder() -> Path:
    """Folder of the tiny Qwen3-VL that the default run starts from, in Hugging Face form."""
    return Path(__file__).parent / "tiny-maze-7x7"
