"""On what does a run train? Picks the backend by what the machine has, and says why."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from visgym_maze_skyrl.recipe import RecipeError

BACKENDS = ("auto", "local", "skyrl")
_NEEDED = ("skyrl", "skyrl_gym", "torch", "torchvision", "ray", "peft", "rich", "matplotlib")


def check_environment() -> None:
    """See that Python and the packages of the extra ``train`` are there.

    Raises:
        RecipeError: If not; it names what is missing and how to get it.
    """
    if sys.version_info < (3, 12):
        found = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise RecipeError(f"training needs Python 3.12 or newer (SkyRL 0.4.0 does), this is {found}")
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise RecipeError(
            f"training needs the package {missing[0]}; install the extra: pip install 'visgym-maze[train]'"
        )


def gpu_count() -> int:
    """NVIDIA GPUs of this machine, without loading CUDA."""
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


def choose_backend(wanted: str, *, gpus: int = 0) -> tuple[str, str]:
    """Decide between ``local`` and ``skyrl``.

    Args:
        wanted: ``"auto"`` or the name of a backend.
        gpus: How many GPUs the recipe asks for; 0 if it does not say.

    Returns:
        The backend and a sentence that says why.

    Raises:
        RecipeError: If ``skyrl``, or a recipe for GPUs, is asked for on a machine that can't run it.
    """
    found = gpu_count()
    # Inside a Ray job the GPUs are the cluster's: this machine may be a head that has none.
    on_cluster = bool(gpus and os.environ.get("RAY_ADDRESS"))
    has_vllm = importlib.util.find_spec("vllm") is not None
    if wanted == "skyrl":
        if not found and not on_cluster:
            raise RecipeError("the backend skyrl needs an NVIDIA GPU and none is here; use --backend local")
        if not has_vllm:
            raise RecipeError("the backend skyrl needs vLLM; see docs/gpu.md, or use --backend local")
        return "skyrl", f"as asked; {'GPUs of the Ray cluster' if on_cluster else f'{found} GPU(s)'}"
    if wanted == "local":
        return "local", "as asked; SkyRL's GRPO loop in this process on the CPU"
    if on_cluster and has_vllm:
        return "skyrl", "inside a Ray cluster, with vLLM"
    if found and has_vllm:
        return "skyrl", f"{found} NVIDIA GPU(s) and vLLM found"
    why = "no NVIDIA GPU found" if not found else "vLLM is not installed"
    if gpus:
        raise RecipeError(
            f"this recipe asks for gpus={gpus}, but {why}; --backend local trains it on the CPU "
            "all the same, --recipe tiny is made for that"
        )
    return "local", f"{why}; SkyRL's GRPO loop in this process on the CPU"
