"""What does SkyRL's policy worker need to run in this process, on a CPU or on one GPU, in float32?

Its FSDP worker names CUDA devices in a handful of places, computes in bfloat16, and imports ``flash_attn``
for packing, which the local backend never uses. :func:`install` puts stand-ins there. It is the only place
of the package that patches another library.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

import torch

_installed = False


def install() -> None:
    """Install the stand-ins once; those for CUDA only where there is none."""
    global _installed
    if _installed:
        return
    stand_in_for_flash_attn()
    _full_precision()
    if not torch.cuda.is_available():
        _cuda_functions()
        _fsdp_device_mesh()
    _installed = True


def stand_in_for_flash_attn() -> None:
    """Let ``flash_attn.bert_padding`` be imported where it is not installed; calling it is an error.

    SkyRL imports it even when it is configured not to pack sequences, which is all that it is for.
    """
    if "flash_attn" in sys.modules or importlib.util.find_spec("flash_attn") is not None:
        return

    def absent(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("flash_attn is not installed; set trainer.remove_microbatch_padding=false")

    package = types.ModuleType("flash_attn")
    padding = types.ModuleType("flash_attn.bert_padding")
    for module in (package, padding):
        # Libraries look for the package with importlib.util.find_spec, which needs a spec.
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    for name in ("pad_input", "unpad_input", "index_first_axis", "rearrange"):
        setattr(padding, name, absent)
    package.bert_padding = padding  # type: ignore[attr-defined]
    sys.modules["flash_attn"] = package
    sys.modules["flash_attn.bert_padding"] = padding


def _cuda_functions() -> None:
    """The current device is the CPU; setting and awaiting it does nothing."""
    torch.cuda.current_device = lambda: torch.device("cpu")  # type: ignore[assignment]
    for name in ("set_device", "synchronize", "manual_seed_all"):
        setattr(torch.cuda, name, _nothing)


def _full_precision() -> None:
    original = torch.autocast
    here = "cuda" if torch.cuda.is_available() else "cpu"

    class NoAutocast(original):  # type: ignore[misc, valid-type]
        """Autocast for CUDA is off: trainer and engine of the local backend both compute in float32."""

        def __init__(self, device_type: str = "cpu", **kwargs: Any) -> None:
            if device_type == "cuda":
                super().__init__(here, dtype=torch.bfloat16, enabled=False)
            else:
                super().__init__(device_type, **kwargs)

    torch.autocast = NoAutocast  # type: ignore[misc]


def _fsdp_device_mesh() -> None:
    from skyrl.backends.skyrl_train.distributed import fsdp_utils
    from torch.distributed import device_mesh

    original = device_mesh.init_device_mesh

    def on_cpu(device_type: str, *args: Any, **kwargs: Any) -> Any:
        return original("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    device_mesh.init_device_mesh = on_cpu
    torch.distributed.device_mesh.init_device_mesh = on_cpu
    fsdp_utils.init_device_mesh = on_cpu
    # It moves every non-persistent buffer to CUDA and back to share it among ranks; there is one rank.
    fsdp_utils._sync_non_persistent_buffers = _nothing


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Stands in for what has nothing to do on a CPU."""
