"""What do the policy workers on GPUs do differently from SkyRL's?"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import ray
import torch
from transformers import AutoTokenizer

from visgym_maze_skyrl.local.shims import stand_in_for_flash_attn
from visgym_maze_skyrl.masking import forbid

stand_in_for_flash_attn()
from skyrl.backends.skyrl_train.workers.fsdp.fsdp_worker import FSDPPolicyWorkerBase  # noqa: E402


class MazePolicyWorkerBase(FSDPPolicyWorkerBase):
    """SkyRL's FSDP policy worker that masks forbidden tokens and never overwrites an adapter in use."""

    _syncs = 0

    def init_model(self, model_path: str, num_training_steps: Any = None) -> None:
        """Load the model as SkyRL does, and mask what the engines never sample."""
        super().init_model(model_path, num_training_steps)
        model: Any = self.model.model
        forbid(model, AutoTokenizer.from_pretrained(model_path))

    async def _save_lora_adapters_and_sync(
        self, peft_model: Any, lora_sync_path: str, inference_engine_client: Any, *name: str, **named: Any
    ) -> None:
        """Write each adapter into a folder of its own, so that no engine ever reads a half of it."""
        folder = Path(lora_sync_path)
        old = folder / f"sync_{self._syncs:06d}"
        self._syncs += 1
        new = folder / f"sync_{self._syncs:06d}"
        await super()._save_lora_adapters_and_sync(
            peft_model, str(new), inference_engine_client, *name, **named
        )
        if torch.distributed.get_rank() == 0:
            shutil.rmtree(old, ignore_errors=True)


MazePolicyWorker = ray.remote(num_gpus=1)(MazePolicyWorkerBase)
