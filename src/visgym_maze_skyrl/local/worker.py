"""How do SkyRL's FSDP workers run in the same process, on a CPU, without Ray?"""

from __future__ import annotations

import time
from typing import Any, cast

import torch
from loguru import logger
from skyrl.backends.skyrl_train.distributed.dispatch import MeshRank, WorkerOutput
from skyrl.backends.skyrl_train.workers.fsdp.fsdp_worker import FSDPPolicyWorkerBase, FSDPRefWorkerBase
from torch._C._distributed_c10d import HashStore

from visgym_maze_skyrl.local.fast import speed_up


class _InProcess:
    """What every local worker does instead of talking to other ranks and devices."""

    device_mesh: Any
    mesh_rank: Any
    model: Any

    def init_worker_process_group(self) -> None:
        """A process group of one, over an in-memory store: no port, no network."""
        device, groups = ("cuda", "cpu:gloo,cuda:nccl") if torch.cuda.is_available() else ("cpu", "gloo")
        if not torch.distributed.is_initialized():
            store = HashStore()
            torch.distributed.init_process_group(groups, store=store, rank=0, world_size=1)
        self.device_mesh = torch.distributed.device_mesh.init_device_mesh(
            device, mesh_shape=(1, 1), mesh_dim_names=("dp", "sp")
        )
        self.mesh_rank = MeshRank(dp=0, sp=0, tp=0, pp=0, world_size=1, dp_size=1, pp_size=1)

    @property
    def hf_model(self) -> Any:
        """The Hugging Face model inside SkyRL's wrapper."""
        return self.model.model

    def _made(self) -> None:
        """Make the model's forward pass faster (same numbers); all of it moves to the GPU if there is one."""
        speed_up(self.hf_model)
        if torch.cuda.is_available():
            self.hf_model.to(torch.cuda.current_device())

    def _set_numa_affinity(self, rank: int) -> None:
        """Leave the threads where they are."""


class LocalReferenceWorker(_InProcess, FSDPRefWorkerBase):
    """SkyRL's reference worker as a plain object: the policy as it was, for the KL term."""

    def init_model(self, model_path: str) -> None:
        """Load the model as SkyRL does, then finish it."""
        super().init_model(model_path)
        self._made()


class LocalPolicyWorker(_InProcess, FSDPPolicyWorkerBase):
    """SkyRL's policy worker as a plain object: same model wrapper, loss, optimiser and checkpoints."""

    def init_model(self, model_path: str, num_training_steps: int | None = None) -> None:
        """Load the model as SkyRL does, then finish it."""
        super().init_model(model_path, cast("Any", num_training_steps))
        self._made()
        self.strategy.print = _log

    async def init_weight_sync_state(self, inference_engine_client: Any, inference_engine_cfg: Any) -> None:
        """There is nothing to connect: the engine lives in this process."""
        self._weight_sync_inference_client = inference_engine_client

    async def _sync_weights_to_inference_engines(
        self, inference_engine_client: Any, inference_engine_cfg: Any
    ) -> None:
        """Hand the full weights over by reference; used when no adapter is trained."""
        await inference_engine_client.update_named_weights(
            {name: _full(tensor) for name, tensor in self.hf_model.state_dict().items()}
        )


def _log(*texts: object) -> None:
    logger.info(" ".join(map(str, texts)))


def _full(tensor: Any) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


class LocalDispatch:
    """What SkyRL's trainer asks of its workers, answered in this process.

    Args:
        worker: The policy worker.
        reference: The reference worker, if there is a KL term.
        cfg: SkyRL's configuration.
        client: The inference client that gets the new weights.
    """

    def __init__(
        self, worker: LocalPolicyWorker, reference: LocalReferenceWorker | None, cfg: Any, client: Any
    ) -> None:
        self.worker = worker
        self.reference = reference
        self.cfg = cfg
        self.client = client
        self.last_weight_sync_seconds = 0.0

    def get_lcm_dp_size(self) -> int:
        """One data-parallel rank."""
        return 1

    def dp_size(self, model: str) -> int:
        """One data-parallel rank."""
        return 1

    def forward(self, model: str, data: Any, **kwargs: Any) -> WorkerOutput:
        """Log-probabilities of a batch, of the policy or of the reference."""
        if model == "ref":
            assert self.reference is not None
            return self.reference.forward(data)
        return self.worker.forward(data, **kwargs)

    def stage_data(self, model: str, data: Any, mini_batch_boundaries: list[tuple[int, int]]) -> list[Any]:
        """Mini-batches, by reference."""
        return [data[start:end] for start, end in mini_batch_boundaries]

    def forward_from_staged(self, model: str, chunk_refs: Any, **kwargs: Any) -> WorkerOutput:
        """Log-probabilities of a staged mini-batch."""
        return self.worker.forward(chunk_refs, **kwargs)

    def forward_backward_from_staged(self, model: str, chunk_refs: Any, **kwargs: Any) -> WorkerOutput:
        """Gradients of a staged mini-batch."""
        return self.worker.forward_backward(chunk_refs, **kwargs)

    def optim_step(self, model: str, model_id: str | None = None) -> float | None:
        """Apply the gradients."""
        return self.worker.optim_step()

    def save_checkpoint(self, model: str, ckpt_dir: str, tokenizer: Any = None) -> None:
        """Write weights, optimiser, scheduler and random state."""
        self.worker.save_checkpoint(ckpt_dir, tokenizer)

    def load_checkpoint(self, model: str, ckpt_dir: str, **kwargs: Any) -> Any:
        """Read what :meth:`save_checkpoint` wrote."""
        return self.worker.load_checkpoint(ckpt_dir, **kwargs)

    def save_hf_model(self, model: str, export_dir: str, tokenizer: Any) -> None:
        """Write an export that inference servers load: the adapter, or the whole model."""
        self.worker.save_hf_model(export_dir, tokenizer)

    def finalize_pending_saves(self, model: str) -> None:
        """Nothing is written in the background."""

    def empty_cache(self, model: str | None = None) -> None:
        """Nothing is cached."""

    def init_weight_sync_state(self, inference_engine_client: Any) -> None:
        """Nothing to connect."""

    def get_timing_metrics(self) -> dict[str, float]:
        """Seconds of the last weight sync."""
        return {"sync_weights_only_transfer": self.last_weight_sync_seconds}

    async def save_weights_for_sampler(self, model_id: str | None = None) -> None:
        """Bring the policy's weights into the engine."""
        started = time.monotonic()
        await self.worker.broadcast_to_inference_engines(self.client, self.cfg.generator.inference_engine)
        self.client.increment_weight_version()
        self.last_weight_sync_seconds = time.monotonic() - started
