"""Would a model or a checkpoint run code of its own when it is loaded? Asked before SkyRL loads either.

SkyRL loads models with ``trust_remote_code`` and checkpoints with unrestricted pickle, so whoever can write
to one of these folders could run anything.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from torch.serialization import get_unsafe_globals_in_checkpoint
from transformers.utils.hub import cached_file

from visgym_maze_skyrl.recipe import RecipeError

_CONFIGURATIONS = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)
_ARRAYS = {
    "numpy.ndarray",
    "numpy.dtype",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray._reconstruct",
}
"""What states of random generators are made of."""


def check_model(model: str, *, allowed: bool) -> None:
    """Refuse a model that brings code along, unless that is allowed.

    Args:
        model: Folder or Hub id.
        allowed: Whether its code may run.

    Raises:
        RecipeError: If one of its configuration files names code of its own (``auto_map``).
    """
    if allowed:
        return
    for name in _CONFIGURATIONS:
        path = cached_file(
            model,
            name,
            _raise_exceptions_for_gated_repo=False,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        if path is None and name == "config.json":
            return  # no such model or no connection: loading it will say so
        if path is not None and _names_code(Path(path)):
            raise RecipeError(
                f"model={model} brings code of its own ({name} has an auto_map), which SkyRL would run; "
                "set trust_remote_code=true if you have read it"
            )


def _names_code(path: Path) -> bool:
    try:
        return "auto_map" in json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False  # loading it will say so


def check_checkpoint(folder: Path) -> None:
    """Refuse a checkpoint that holds more than tensors, numbers and texts.

    Args:
        folder: ``checkpoints/global_step_N`` of a run.

    Raises:
        RecipeError: If one of its files names something that could run code.
    """
    importlib.import_module("torch.distributed.tensor")  # registers distributed tensors as harmless
    for path in sorted(folder.rglob("*.pt")):
        unsafe = set(get_unsafe_globals_in_checkpoint(path)) - _ARRAYS
        if unsafe:
            raise RecipeError(
                f"{path} would run code when it is loaded ({', '.join(sorted(unsafe))}), which no checkpoint "
                "of this package does; delete that checkpoint, and resume from the one before"
            )
